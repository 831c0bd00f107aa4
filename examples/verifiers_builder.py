"""verifiers: a chat model at an endpoint builds what the scripted architect says; the reward is that of the game.

    python examples/verifiers_builder.py --endpoint https://host/v1 --model some-model --games 8

The module is a taskset, an environment and a harness at once, which verifiers finds by its name. The usual harness
starts a process for each turn of a game; the one here asks the model within this process. Tried with verifiers 0.4,
whose interface was new then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import typer

from iglu_marl.core.extras import extra
from iglu_marl.text import TextGame

with extra("verifiers", script=True):
    import verifiers.v1 as vf
    from openai import AsyncOpenAI
    from verifiers.v1.dialects.chat import message_to_wire
    from verifiers.v1.runtimes import ProgramResult, SubprocessConfig

__all__ = ["BuilderEnv", "BuilderTaskset", "InProcessHarness"]
NAME = "verifiers_builder"


class GameConfig(vf.TasksetConfig):
    """games: number of games, one per seed."""

    games: int = 100


class GameData(vf.TaskData):
    """A game."""

    seed: int


class GameTask(vf.Task[GameData, vf.State, vf.TaskConfig]):
    """One game."""


class BuilderTaskset(vf.Taskset[GameTask, GameConfig]):
    """A task per seed, with the rules of the game as system prompt."""

    def load(self) -> Iterator[GameTask]:
        """All tasks."""
        rules = TextGame().reset(0)[0]["content"]
        for seed in range(self.config.games):
            data = GameData(name=f"game {seed}", prompt=None, system_prompt=rules, seed=seed)
            yield GameTask(data, self.config.task)


class InProcessConfig(vf.HarnessConfig):
    """Settings of the harness below."""


class InProcessHarness(vf.Harness[InProcessConfig]):
    """Sends the chat and takes the reply within this process."""

    APPENDS_SYSTEM_PROMPT = SUPPORTS_RESUME = True
    EXECUTES_CODE = NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: Any, data: Any
    ) -> ProgramResult:
        """One reply. The endpoint is that of verifiers, which keeps what goes through."""
        system, messages = self.resolve_prompt(data)
        chat: list[Any] = [{"role": "system", "content": system}, *map(message_to_wire, messages or [])]
        async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
            await client.chat.completions.create(model=ctx.model, messages=chat)
        return ProgramResult(0, "", "")


class BuilderEnvConfig(vf.EnvConfig):
    """The builder, on this machine."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=SubprocessConfig())


class BuilderEnv(vf.Env[BuilderEnvConfig]):
    """Plays the game: each reply is a step, its result the next message."""

    async def run(self, task: Any, agents: Any) -> None:
        """One game."""
        game = TextGame(role="builder", partner="scripted", observations="delta")
        messages, total, done = game.reset(task.data.seed), 0.0, False
        async with agents.player.interaction(task) as interaction:
            while not done:
                segment = await interaction.turn(messages[-1]["content"])
                if segment.terminated:
                    break
                messages, reward, done, _ = game.step(segment.last_reply)
                total += reward
        interaction.trace.record_reward("game", total)


async def play(endpoint: str, model: str, games: int, at_once: int) -> list[float]:
    """The rewards of some games."""
    config = BuilderEnvConfig(taskset={"id": NAME, "games": games})
    env = BuilderEnv(config)
    context = vf.ModelContext(model, vf.EvalClientConfig(base_url=endpoint, api_key_var="OPENAI_API_KEY"))
    gate = asyncio.Semaphore(at_once)
    async with env.serving():
        slots = [slot for task in env.taskset for slot in env.slots(task)]
        episodes = await asyncio.gather(*(env.run_slot(slot, context, gate) for slot in slots))
    for part in (part for episode in episodes for part in (episode, *episode.traces)):
        for error in part.errors:
            raise SystemExit(f"{error.type}: {error.message}")
    return [episode.traces[0].rewards["game"].score for episode in episodes]


def main(endpoint: str, model: str, games: int = 8, at_once: int = 8) -> None:
    """Play, and print the rewards."""
    rewards = asyncio.run(play(endpoint, model, games, at_once))
    print("rewards", [round(reward, 2) for reward in rewards])
    print(f"mean reward {sum(rewards) / len(rewards):.2f}")


if __name__ == "__main__":
    from verifiers_builder import main as run  # by the name under which verifiers finds the classes

    typer.run(run)
