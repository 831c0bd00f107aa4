"""The game in real time, for a window, a server and others that play with people.

The game advances by ticks, both agents may speak at any time, and the builder stands still without an act. Observations
of a role are JSON, complete or as changes since a tick.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import Unpack

from iglu_marl.core.dialogue import Role, Utterance
from iglu_marl.core.errors import ActionError, StateError
from iglu_marl.core.grid import cells_of, grid_to_blocks, index_of
from iglu_marl.envs.base import EnvState
from iglu_marl.envs.documentation import documented
from iglu_marl.envs.two_agent import TwoAgentGame
from iglu_marl.game.config import GameConfig, GameOptions
from iglu_marl.game.episode import AGENTS, EVENTS, Act

_GRIDS = ("grid", "target_grid", "ghost")
_LEFT_OUT = {"dialog", "pov", "grid_view", "target_view"}  # sent as utterances, or not at all: pictures
_STILL = {*_LEFT_OUT, *_GRIDS}  # not compared without an edit


class Tick(NamedTuple):
    """Result of a tick: rewards by role, edited cell (x, y, z, old and new colour id), utterances."""

    rewards: dict[Role, float]
    edit: tuple[int, int, int, int, int] | None
    utterances: tuple[Utterance, ...]
    terminated: bool
    truncated: bool


def as_actions(said: Mapping[Role, Any], act: Any) -> dict[Role, Any]:
    """Return the input of a tick as actions by role: the builder's is a dict with `act`, `say` or both."""
    actions: dict[Role, Any] = {
        role: {"say": words} if role == Role.BUILDER else words for role, words in said.items()
    }
    if act is not None:
        actions.setdefault(Role.BUILDER, {})["act"] = act
    return actions


def from_actions(actions: Mapping[Role, Any]) -> tuple[dict[Role, Any], Any]:
    """Invert `as_actions`. Raises `ActionError` if the builder's action is not a dict."""
    said: dict[Role, Any] = {}
    act = None
    for role, action in actions.items():
        if role != Role.BUILDER:
            said[role] = action
            continue
        if not isinstance(action, Mapping):
            raise ActionError(
                f"the builder's action is {action!r:.80}, expected a dict with act, say or both"
            )
        act = action.get("act")
        if "say" in action:
            said[role] = action["say"]
    return said, act


class _Shown:
    """A role's observations with the tick of the last change; for grids, the edits."""

    def __init__(self) -> None:
        self.first = self.last = -1  # ticks
        self.parts: dict[str, Any] = {}
        self.since: dict[str, int] = {}
        self.edits: dict[str, list[tuple[int, int, int, int, int]]] = {key: [] for key in _GRIDS}
        self.said: list[int] = []  # of each utterance

    def take(self, tick: int, seen: Mapping[str, Any], said: int) -> None:
        """Store the observations of a tick, and the number of utterances."""
        if self.first < 0:
            self.first = tick
        for key, value in seen.items():
            old = self.parts.get(key)
            if old is value or (old is not None and _same(old, value)):
                continue
            if key in _GRIDS and old is not None:
                self.edits[key] += [
                    (tick, *cell, int(value[index_of(cell)])) for cell in cells_of(value != old).tolist()
                ]
            self.parts[key], self.since[key] = value, tick
        self.said += [tick] * (said - len(self.said))
        self.last = tick


def _same(one: Any, other: Any) -> bool:
    """Return whether two values of one type are equal; arrays are compared bit for bit, which is fastest."""
    return one.tobytes() == other.tobytes() if isinstance(one, np.ndarray) else bool(one == other)


def _as_json(value: Any) -> Any:
    """Return a value for JSON, rounded to 4 digits."""
    if isinstance(value, (str, list)):
        return value
    plain = value.tolist()
    return [round(number, 4) for number in plain] if isinstance(plain, list) else round(plain, 4)


@documented
class LiveGame(TwoAgentGame):
    """Architect and builder act in real time: `tick` advances the game by a builder step (0.05 s).

    Both may speak, and the builder may act, at any tick. The turn passes to the builder when the architect has spoken,
    and to the architect when the builder ends it; it restricts nobody. `turn_steps` is None, and the builder can ask.
    Actions and observations are those of the other environments.
    """

    def __init__(self, config: GameConfig | None = None, **options: Unpack[GameOptions]) -> None:
        given = GameConfig.of(config, options)
        self._set_up(dataclasses.replace(given, turn_steps=None, builder_can_ask=True), teams=False)
        self.ticks = 0
        self._reset_shown()

    def _reset_shown(self) -> None:
        self._shown = {role: _Shown() for role in Role}
        self.edited = self.ticks  # when the grids were changed last, and with them what is made of them

    @property
    def unwrapped(self) -> LiveGame:
        """The game itself."""
        return self

    # -- course

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode. options: `task` (a `Task`) and `pose` (five numbers, see `Pose`)."""
        self._setup.start(seed, options)
        self.agents = list(AGENTS)
        self.ticks = 0
        self._reset_shown()

    def tick(self, said: Mapping[Role, str] | None = None, act: Any = None) -> Tick:
        """Advance by a builder step: utterances first, in the order of the mapping, then the act.

        Args:
            said: texts (in token chat: tokens) by role.
            act: of the builder's encoding; None: it stands still.

        Raises:
            ActionError: for a wrong utterance or act; nothing has happened then.
            StateError: if the game is over.

        """
        if not self.agents:
            raise StateError("the game is over or has not begun: call reset() before tick()")
        if not isinstance(said, Mapping | None):
            raise ActionError(f"said is {said!r:.80}, expected a dict of texts by role")
        texts: dict[Role, str] = {}
        for role, words in (said or {}).items():
            if role not in tuple(Role):
                raise ActionError(f"said has the key {role!r:.80}, expected 'architect' or 'builder'")
            texts[Role(role)] = self._episode.chat.read(words, f"what the {Role(role)} says")[0]
        controls = self._setup.controls
        move = Act(
            *(controls.noop() if act is None else controls.encode(act, out=self._control["builder_0"]))
        )
        heard, task = len(self._episode.dialogue), self._episode.task
        outcome = self._episode.tick(texts, move)
        self.ticks += 1
        if outcome.terminated or outcome.truncated:
            self.agents = []
        change = self._episode.worlds.change[0].tolist()
        edited = change[3] != change[4]
        if edited or self._episode.task is not task:
            self.edited = self.ticks
        return Tick(
            dict(zip(Role, outcome.rewards.values(), strict=True)),
            tuple(change) if edited else None,
            tuple(self._episode.dialogue[heard:]),
            outcome.terminated,
            outcome.truncated,
        )

    def observe(self, agent: str) -> dict[str, Any]:
        """Return an agent's observation; it shares no memory with the game."""
        return self.choose(agent, self._observers).observe(self._episode)

    # -- as JSON

    def snapshot(self, role: Role) -> dict[str, Any]:
        """Return all observations of a role, as `delta` from the start."""
        return self.delta(role, -1)

    def delta(self, role: Role, since: int) -> dict[str, Any]:
        """Return the changes of a role's observations since a tick, for JSON.

        | key | value |
        |---|---|
        | `tick` | ticks so far |
        | `whole` | whether this is everything |
        | `floor` | whose turn it is |
        | `said` | utterances [speaker, text] |
        | `grid`, `target_grid`, `ghost` | blocks [x, y, z, colour id], 0 for air unless `whole` |
        | other keys of the role's observations | changed numbers or lists; no pictures |
        | `score` | architect: matching blocks, blocks of the target; `ghost` is the aligned target |
        | `active`, `body` | builder: the colour in hand; vertical speed and slices of motion |
        | `event` | builder: tick and kind of the last placing or breaking |

        The builder's does not depend on the target.
        """
        shown = self._shown[role]
        if shown.last != self.ticks:
            seen = self._seen(role, shown.last < self.edited)
            shown.take(self.ticks, seen, len(self._episode.dialogue))
        whole = since < shown.first
        since = -1 if whole else since
        sent: dict[str, Any] = {"tick": self.ticks, "whole": whole, "floor": self._episode.floor.value}
        sees = self.config.architect_sees if role == Role.ARCHITECT else self.config.builder_sees
        if "dialog" in sees:
            heard = self._episode.dialogue.utterances[bisect_right(shown.said, since) :]
            sent["said"] = [[each.role.value, each.text] for each in heard]
        for key, tick in shown.since.items():
            if tick <= since:
                continue
            if key not in _GRIDS:
                sent[key] = _as_json(shown.parts[key])
            elif whole:
                sent[key] = [list(block) for block in grid_to_blocks(shown.parts[key])]
            else:
                edits = shown.edits[key]
                sent[key] = [
                    list(edit[1:]) for edit in edits[bisect_right(edits, since, key=lambda e: e[0]) :]
                ]
        return sent

    def _seen(self, role: Role, grids: bool) -> dict[str, Any]:
        """Return a role's observations, info and body; grids: whether to include what only edits change."""
        worlds = self._episode.worlds
        observer = self._observers[AGENTS[role == Role.BUILDER]]
        seen = observer.observe(self._episode, _LEFT_OUT if grids else _STILL)
        if role == Role.BUILDER:
            seen |= {"active": worlds.active[0], "body": [float(worlds.speed[0]), int(worlds.slices[0])]}
            if worlds.event[0]:
                seen["event"] = [self.ticks, EVENTS[worlds.event[0]]]
        elif "target_grid" in seen:
            score = [int(worlds.best[0]), int(worlds.target_blocks[0])]
            seen |= {"score": score, "ghost": worlds.aligned_target(0)}
        return seen

    # -- saving

    def get_state(self) -> EnvState:
        """Return everything needed to resume from here."""
        return self._setup.get_state()

    def set_state(self, state: EnvState) -> None:
        """Restore a state from `get_state`. Raises `StateError` if it does not fit."""
        self._setup.set_state(state)
        worlds = self._episode.worlds
        self.agents = [] if worlds.terminated[0] or worlds.truncated[0] else list(AGENTS)
        self.ticks = int(worlds.steps[0])
        self._reset_shown()
