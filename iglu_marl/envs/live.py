"""The game in real time, for a window, a server and others that play with people.

The game advances by ticks, all agents may speak at any time, and a builder stands still without an act. Observations
of a player are JSON, complete or as changes since a tick. Players are roles, or in a game of a team names of agents.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import Unpack

from iglu_marl.core.dialogue import Role, Utterance
from iglu_marl.core.errors import ActionError, StateError
from iglu_marl.core.grid import cells_of, grid_to_blocks, index_of
from iglu_marl.envs.base import EnvState
from iglu_marl.envs.documentation import PAIR, documented
from iglu_marl.envs.two_agent import BUILDER, TwoAgentGame
from iglu_marl.game.config import GameConfig, GameOptions
from iglu_marl.game.effects import Setting
from iglu_marl.game.episode import EVENTS, Act

_GRIDS = ("grid", "target_grid", "ghost")
_PARTS = ("target_mask", "target_sides")
_LEFT_OUT = {"dialog", "pov", "grid_view", "target_view"}  # sent as utterances, or not at all: pictures
_STILL = {*_LEFT_OUT, *_GRIDS, *_PARTS}  # not compared without an edit


class Tick(NamedTuple):
    """Result of a tick: rewards by player, edited cell (x, y, z, old and new colour id), utterances.

    In a game of several builders, the edit is the first of the tick.
    """

    rewards: dict[Role | str, float]
    edit: tuple[int, int, int, int, int] | None
    utterances: tuple[Utterance, ...]
    terminated: bool
    truncated: bool


def _builds(player: Any) -> bool:
    return isinstance(player, str) and player.startswith("builder")


def acts_by_player(act: Any) -> dict[Any, Any]:
    """Return acts by player, from the act of the only builder, None, or acts by player."""
    if isinstance(act, Mapping) and all(map(_builds, act)):
        return dict(act)
    return {} if act is None else {Role.BUILDER: act}


def as_actions(said: Mapping[Any, Any], act: Any) -> dict[Any, Any]:
    """Return the input of a tick as actions by player: a builder's is a dict with `act`, `say` or both."""
    actions = {player: {"say": words} if _builds(player) else words for player, words in said.items()}
    for player, one in acts_by_player(act).items():
        actions.setdefault(player, {})["act"] = one
    return actions


def from_actions(actions: Mapping[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Invert `as_actions`: return texts and acts by player.

    Raises `ActionError` if a builder's action is not a dict.
    """
    said, acts = {}, {}
    for player, action in actions.items():
        if not _builds(player):
            said[player] = action
            continue
        if not isinstance(action, Mapping):
            raise ActionError(
                f"the action of the {player} is {action!r:.80}, expected a dict with act, say or both"
            )
        acts[player] = action.get("act")
        if "say" in action:
            said[player] = action["say"]
    return said, acts


class Shown:
    """What a page shows of a player's observations, with the tick of the last change; for grids, the edits."""

    def __init__(self) -> None:
        self.first = self.last = -1  # ticks
        self.parts: dict[str, Any] = {}
        self.since_tick: dict[str, int] = {}
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
            self.parts[key], self.since_tick[key] = value, tick
        self.said += [tick] * (said - len(self.said))
        self.last = tick

    def since(self, tick: int) -> dict[str, Any]:
        """Return what changed after a tick as JSON: `whole`, numbers and lists, and blocks of grids.

        Grids are lists of blocks [x, y, z, colour id], 0 for air unless `whole`.
        """
        whole = tick < self.first
        sent: dict[str, Any] = {"whole": whole}
        for key, changed in self.since_tick.items():
            if changed <= tick and not whole:
                continue
            if key not in _GRIDS:
                sent[key] = _as_json(self.parts[key])
            elif whole:
                sent[key] = [list(block) for block in grid_to_blocks(self.parts[key])]
            else:
                edits = self.edits[key]
                sent[key] = [
                    list(edit[1:]) for edit in edits[bisect_right(edits, tick, key=lambda e: e[0]) :]
                ]
        return sent

    def heard_since(self, tick: int) -> int:
        """Return the number of utterances up to a tick; 0 before the first."""
        return 0 if tick < self.first else bisect_right(self.said, tick)


def _same(one: Any, other: Any) -> bool:
    """Return whether two values of one type are equal; arrays are compared bit for bit, which is fastest."""
    return one.tobytes() == other.tobytes() if isinstance(one, np.ndarray) else bool(one == other)


def _as_json(value: Any) -> Any:
    """Return a value for JSON: numbers of NumPy rounded to 4 digits, others as they are."""
    return _rounded(value.tolist()) if hasattr(value, "tolist") else value


def _rounded(plain: Any) -> Any:
    return [_rounded(part) for part in plain] if isinstance(plain, list) else round(plain, 4)


@documented(*PAIR)
class LiveGame(TwoAgentGame):
    """Architects and builders act in real time: `tick` advances the game by a builder step (0.05 s).

    All may speak, and the builders may act, at any tick. The turn passes to the builders when an architect has spoken,
    and to the architects when all builders have ended it; it restricts nobody. `turn_steps` is None, and builders can
    ask. Actions and observations are those of the other environments.
    """

    def __init__(self, config: GameConfig | str | None = None, **options: Unpack[GameOptions]) -> None:
        self._set_up(GameConfig.read(Setting("live", "LiveGame"), config, options))
        self.players = self.config.players  # by agent, and agents by player
        self.agent_of = {player: agent for agent, player in self.players.items()}
        self.speakers = self.config.speakers
        self.ticks = 0
        self._reset_shown()

    def _reset_shown(self) -> None:
        self._shown = {player: Shown() for player in self.agent_of}
        self.edited = self.ticks  # when the grids were changed last, and with them what is made of them

    @property
    def unwrapped(self) -> LiveGame:
        """The game itself."""
        return self

    # -- course

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode. options: `task` (a `Task`) and `pose` (five numbers, see `Pose`; or a dict by builder)."""
        self._setup.start(seed, options)
        self.agents = list(self.possible_agents)
        self.ticks = 0
        self._reset_shown()

    def tick(self, said: Mapping[Any, str] | None = None, act: Any = None) -> Tick:
        """Advance by a builder step: utterances first, in the order of the mapping, then the acts.

        Args:
            said: texts (in token chat: tokens) by player.
            act: of the builder's encoding, or a dict of acts by player. Builders without an act stand still.

        Raises:
            ActionError: for a wrong utterance or act; nothing has happened then.
            StateError: if the game is over.

        """
        if not self.agents:
            raise StateError("the game is over or has not begun: call reset() before tick()")
        if not isinstance(said, Mapping | None):
            raise ActionError(f"said is {said!r:.80}, expected a dict of texts by role")
        given, acts = said or {}, acts_by_player(act)
        for name, players in (("said", given), ("act", acts)):
            for player in players:
                if player not in self.agent_of:
                    expected = " or ".join(repr(str(one)) for one in self.agent_of)
                    raise ActionError(f"{name} has the key {player!r:.80}, expected {expected}")
        read, controls = self._episode.chat.read, self._setup.controls
        texts = {self.agent_of[one]: read(words, f"what the {one} says")[0] for one, words in given.items()}
        moves = []
        for builder in self._builders:
            one = acts.get(self.players[builder])
            out = self._control[builder]
            moves.append(Act(*(controls.noop() if one is None else controls.encode(one, out=out))))
        episode = self._episode
        heard, task = len(episode.dialogue), episode.task
        outcome = episode.tick(texts, moves)
        self.ticks += 1
        if outcome.terminated or outcome.truncated:
            self.agents = []
        edits = [tuple(change) for change in episode.worlds.change.tolist() if change[3] != change[4]]
        if edits or episode.task is not task:
            self.edited = self.ticks
        return Tick(
            {self.players[agent]: reward for agent, reward in outcome.rewards.items()},
            next(iter(edits), None),
            episode.dialogue.utterances[heard:],
            outcome.terminated,
            outcome.truncated,
        )

    def edit(self, blocks: Any, *, builder: str = BUILDER) -> None:
        """Change the world of the running game, see `TwoAgentGame.edit`. `delta` shows it from the next tick on."""
        super().edit(blocks, builder=builder)
        self.edited = self.ticks + 1

    def view_of(self, player: Role | str) -> Any:
        """Return what the observer of a player reads: `dialogue` is what it hears, `worlds` has one row."""
        return self._episode.view(self.agent_of[player])

    # -- as JSON

    def snapshot(self, player: Role | str) -> dict[str, Any]:
        """Return all observations of a player, as `delta` from the start."""
        return self.delta(player, -1)

    def delta(self, player: Role | str, since: int) -> dict[str, Any]:
        """Return the changes of a player's observations since a tick, for JSON.

        | key | value |
        |---|---|
        | `tick` | ticks so far |
        | `whole` | whether this is everything |
        | `floor` | whose turn it is |
        | `said` | utterances [speaker, text] that the player hears |
        | `grid`, `target_grid`, `ghost` | blocks [x, y, z, colour id], 0 for air unless `whole` |
        | other keys of the player's observations | changed numbers or lists; no pictures |
        | `score` | architect who sees the whole target: matching blocks, blocks of the target |
        | `ghost` | the same: the aligned target |
        | `active`, `body` | builder: the colour in hand; vertical speed and slices of motion |
        | `event` | builder: tick and kind of the last placing or breaking |

        It depends on the parts of the target alone that the player sees: a builder's usually not at all.
        """
        shown = self._shown[player]
        heard = self.view_of(player).dialogue.utterances
        if shown.last != self.ticks:
            seen = self._seen(self.agent_of[player], shown.last < self.edited)
            shown.take(self.ticks, seen, len(heard))
        sent = {"tick": self.ticks, "floor": self._episode.floor.value, **shown.since(since)}
        sees = self.config.builder_sees if _builds(player) else self.config.architect_sees
        if "dialog" in sees:
            sent["said"] = [[each.speaker, each.text] for each in heard[shown.heard_since(since) :]]
        return sent

    def _seen(self, agent: str, grids: bool) -> dict[str, Any]:
        """Return an agent's observations, info and body; grids: whether to include what only edits change."""
        episode, view = self._episode, self._episode.view(agent)
        seen = self._observers[agent].observe(view, _LEFT_OUT if grids else _STILL)
        if agent in self._builders:
            worlds = view.worlds
            seen |= {"active": worlds.active[0], "body": [float(worlds.speed[0]), int(worlds.slices[0])]}
            if worlds.event[0]:
                seen["event"] = [self.ticks, EVENTS[worlds.event[0]]]
        elif "target_grid" in seen and agent in self._scored:
            worlds = episode.worlds
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
        self.agents = [] if any(self._episode.ended) else list(self.possible_agents)
        self.ticks = int(self._episode.worlds.steps[0])
        self._reset_shown()
