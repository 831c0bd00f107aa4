"""Many games at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from iglu_marl.text.game import ChatMessage, TextGame

Turn = tuple[list[ChatMessage], Any, float]
"""A chat, the reply to it, and its reward."""


@dataclass
class PlayedGame:
    """A finished game: the turns of all agents of the model, and the info after each."""

    seed: int
    turns: list[Turn] = field(default_factory=list)
    infos: list[dict[str, Any]] = field(default_factory=list)

    @property
    def info(self) -> dict[str, Any]:
        """The last info."""
        return self.infos[-1]

    @property
    def total(self) -> float:
        """The sum of the rewards."""
        return sum(reward for _, _, reward in self.turns)

    @property
    def traces(self) -> dict[str, list[Turn]]:
        """The turns of each agent, in which a reward is all that it gets until its next reply."""
        traces: dict[str, list[Turn]] = {}
        for (chat, reply, _), info in zip(self.turns, self.infos, strict=True):
            traces.setdefault(info["agent"], []).append((chat, reply, 0.0))
            for agent, turns in traces.items():
                turns[-1] = (*turns[-1][:2], turns[-1][2] + info["rewards"][agent])
        return traces


async def play_async(
    answer: Callable[[list[ChatMessage]], Awaitable[Any]],
    seeds: Iterable[int],
    *,
    at_once: int = 64,
    **options: Any,
) -> list[PlayedGame]:
    """Play a game for each seed, and return the games in the order of the seeds.

    Args:
        answer: coroutine that returns the reply to a chat; with observations="delta" it gets the whole chat of this
            agent so far.
        seeds: one per game.
        at_once: maximal number of games at the same time.
        options: those of `TextGame`.

    """
    room = asyncio.Semaphore(at_once)

    async def played(seed: int) -> PlayedGame:
        async with room:
            game, found = TextGame(**options), PlayedGame(seed)
            messages, chats, done = game.reset(seed), dict[str, list[ChatMessage]](), False
            while not done:
                agent = game.agent
                chat = [*chats.get(agent, ()), *messages] if game.observations == "delta" else messages
                reply = await answer(chat)
                messages, reward, done, info = game.step(reply)
                found.turns.append((chat, reply, reward))
                found.infos.append(info)
                said = reply if isinstance(reply, dict) and "content" in reply else str(reply)
                answered = said if isinstance(said, dict) else {"role": "assistant", "content": said}
                chats[agent] = [*chat, answered]
            return found

    return list(await asyncio.gather(*(played(seed) for seed in seeds)))
