"""`iglu_marl/Recorded-v0`: one player's part in a recorded game, as a Gymnasium environment.

The other player does what it did in the recording, or an agent plays it. This is the environment that offline datasets
of recordings come from: with an episode's options and its actions, it goes through the same observations and rewards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from iglu_marl.agents import registry as pairing
from iglu_marl.core.actions import Action
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError, StateError
from iglu_marl.core.parsing import parse_json, reading
from iglu_marl.core.task import Task
from iglu_marl.envs.live import from_actions
from iglu_marl.envs.single import SingleAgentEnv
from iglu_marl.envs.two_agent import AGENTS, BUILDER, ROLES
from iglu_marl.game.agent import Agent, begin
from iglu_marl.recording.games import make_game
from iglu_marl.recording.reading import Recording
from iglu_marl.recording.values import from_json, task_from_json, task_to_json, to_json

_PART = 60_000  # characters: HDF5 keeps attributes of less than 64 KiB


# --------------------------------------------------------------------------------------------- the other's part


@dataclass(frozen=True)
class Script:
    """What an episode begins with, and the other player's part in it.

    partner: its actions in order; of a lone builder's live architect, the words that were heard before each step; of a
    game in real time, one for each tick, None where it did nothing.
    """

    seed: int | None = None
    task: Task | None = None
    pose: Sequence[float] | None = None
    heard: str = ""
    partner: tuple[Any, ...] = ()


def script_options(recording: Recording, agent: str) -> dict[str, Any]:
    """The reset options with which `RecordedEnv` plays a recording for `agent`: texts, none longer than 60,000."""
    header, own = recording.header, ROLES[agent]
    if recording.view == "single":
        partner: list[Any] = [move.heard for move in recording.moves] if not header["recorded"] else []
    elif recording.view == "live":
        (other,) = (role for name, role in ROLES.items() if name != agent)
        partner = [
            to_json(move.actions[other]) if other in move.actions else None for move in recording.moves
        ]
    else:
        partner = [
            to_json(action)
            for move in recording.moves
            for role, action in move.actions.items()
            if role is not own
        ]
    heard = "\n".join(header.get("heard") or [])
    return episode_options(recording.task, header["pose"], recording.seed, heard, partner)


def episode_options(
    task: Task, pose: Sequence[float], seed: int | None = None, heard: str = "", partner: Sequence[Any] = ()
) -> dict[str, Any]:
    """The reset options for a task, a first pose and, as JSON, the partner's part (see `Script`)."""
    told = {"seed": seed, "task": task_to_json(task), "pose": pose, "heard": heard, "partner": partner}
    text = json.dumps(told, separators=(",", ":"))
    parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
    return {"recording": {str(number): part for number, part in enumerate(parts)}}


def read_script(told: Any) -> Script:
    """The value of `script_options(...)["recording"]` again. Raises `DataError` for anything else."""
    place = "the option 'recording' cannot be read (expected that of an episode of a dataset)"
    with reading(place):
        text = told if isinstance(told, str) else "".join(told[str(number)] for number in range(len(told)))
        fields = parse_json(text, place, verbatim=True)
        return Script(
            fields["seed"],
            task_from_json(fields["task"]),
            fields["pose"],
            str(fields["heard"]),
            tuple(None if action is None else from_json(action) for action in fields["partner"]),
        )


# --------------------------------------------------------------------------------------------- the environment


class RecordedEnv(gymnasium.Env[Any, Any]):
    """One player's part in games of one kind, all of whose partners' moves are known beforehand.

    game: what the kind is: of a recording's header the entries `iglu_marl.recording.games.GAME_KEYS`.
    agent: whose part, "builder_0" or "architect_0"; a lone builder is "builder_0".
    partner: None, or the name of an agent that plays the other part, as `agents_for` knows them.
    sees: what the player observes, where that is something else than was recorded (see `make_game`).
    vocabulary: the codec, where the recorded one was an object.

    `reset(options={"recording": …})` begins a recorded episode, with options that `script_options` made. Without it a
    task is drawn, or given as `options["task"]`. A partner whose moves are at an end stays silent, or ends its turns.

    A step lasts until the player's next turn. Its reward is all that it was paid in that time, and in the first step
    also what came before. Of a game in real time, a step is a tick: silence and standing still are actions, too.
    """

    def __init__(
        self,
        game: Mapping[str, Any],
        agent: str = BUILDER,
        *,
        partner: str | None = None,
        sees: Sequence[str] = (),
        vocabulary: Any = None,
        render_mode: str | None = None,
    ) -> None:
        known = (BUILDER,) if game["view"] == "single" else AGENTS
        if agent not in known:
            raise AgentError(f"there is no agent {agent!r} in this game, expected {' or '.join(known)}")
        if partner is not None and game["view"] == "single":
            raise AgentError(f"partner is {partner!r}, expected None: a lone builder has none")
        self.view, self.agent = str(game["view"]), agent
        self.game = make_game(
            game, vocabulary=vocabulary, render_mode=render_mode, sees=sees, role=ROLES[agent]
        )
        self.metadata, self.render_mode = self.game.metadata, render_mode
        self.observation_space, self.action_space = self.game.observation_space, self.game.action_space
        self.partner: Agent | None = None
        self.ran_out = False  # whether the partner had to do more than was recorded
        self._moves: Iterator[Any] = iter(())
        self._paid = 0.0
        if not isinstance(self.game, SingleAgentEnv):
            self.other = AGENTS[1 - AGENTS.index(agent)]
            self.observation_space = self.game.observation_space(agent)
            self.action_space = self.game.action_space(agent)
            self._rest = at_rest(self.game.action_space(self.other), self.view != "live")
            if partner is not None:
                self.partner = pairing.agents_for(self.game, **{ROLES[self.other].value: partner})[
                    ROLES[self.other]
                ]

    @property
    def episode(self) -> Any:
        """The game itself: worlds, dialogue, task. For reading."""
        return self.game.episode

    # -- Gymnasium

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; `options["recording"]`, `options["task"]` and `options["pose"]`: see the class."""
        options = dict(options or {})
        script = read_script(options.pop("recording")) if "recording" in options else Script()
        if script.task is not None:
            options = {"task": script.task, "pose": script.pose, **options}
            seed = script.seed if seed is None else seed
        super().reset(seed=seed)
        self._moves = iter(script.partner)
        self.ran_out, self._paid = False, 0.0
        if self.view == "single":
            if self.game.heard is not None:
                self.game.heard.words = script.heard
            return self.game.reset(seed=seed, options=options)
        begun: Any = self.game.reset(seed=seed, options=options)
        if self.partner is not None:
            begin(self.partner, ROLES[self.other], int(self.np_random.integers(2**31)), self.game.task)
        if self.view == "parallel":
            self._seen = begun[0]
            return begun[0][self.agent], begun[1][self.agent]
        if self.view == "live":
            return self.game.observe(self.agent), {}
        self._others_turns()
        return self.game.observe(self.agent), self.game.infos[self.agent]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The player's move, and what happens until its next one."""
        if self.view == "single":
            if self.game.heard is not None:
                self.game.heard.words = next(self._moves, None) or ""
            return self.game.step(action)
        if self.view == "parallel":
            done = self.game.step({self.agent: action, self.other: self._others_action()})
            self._seen = done[0]
            return tuple(part[self.agent] for part in done)
        if self.view == "live":
            return self._tick(action)
        if self.game.agent_selection != self.agent or self._over:
            raise StateError("the episode is over or has not begun: call reset() before step()")
        self.game.step(action)
        self._paid += self.game.rewards[self.agent]
        self._others_turns()
        paid, self._paid = self._paid, 0.0
        terminated, truncated = self.game.terminations[self.agent], self.game.truncations[self.agent]
        return self.game.observe(self.agent), paid, terminated, truncated, self.game.infos[self.agent]

    def _tick(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """A step in real time; of two who speak in it, the architect is first."""
        chosen = {ROLES[self.agent]: action, ROLES[self.other]: self._others_action()}
        said, act = from_actions({role: chosen[role] for role in Role if chosen[role] is not None})
        spoken = {
            role: words
            for role, words in said.items()
            if (words if isinstance(words, str) else np.any(words))
        }
        done = self.game.tick(spoken, act)
        paid = float(done.rewards[ROLES[self.agent]])
        return self.game.observe(self.agent), paid, done.terminated, done.truncated, {}

    @property
    def _over(self) -> bool:
        return any(self.game.terminations.values()) or any(self.game.truncations.values())

    def _others_turns(self) -> None:
        """Move the AEC game on to the player's turn, or to its end."""
        while not self._over and self.game.agent_selection != self.agent:
            self.game.step(self._others_action())
            self._paid += self.game.rewards[self.agent]

    def _others_action(self) -> Any:
        if self.partner is not None:
            seen = self._seen[self.other] if self.view == "parallel" else self.game.observe(self.other)
            return self.partner.act(seen)
        for action in self._moves:
            return action
        self.ran_out = True
        return self._rest

    def render(self) -> Any:
        """The composed frame (uint8 [height, width, 3]), a text, or None after showing it in a window."""
        return self.game.render()

    def close(self) -> None:
        """Close window, renderer and partner."""
        self.game.close()
        if self.partner is not None:
            self.partner.close()


def at_rest(space: spaces.Space[Any], yields: bool = True) -> Any:
    """The action of doing nothing: silence, or the end of the turn (yields), or else standing still."""
    if isinstance(space, spaces.Dict):
        return {key: int(yields) if key == "yield" else at_rest(part, yields) for key, part in space.items()}
    if isinstance(space, spaces.Discrete):
        return int(Action.YIELD if yields and space.n > Action.YIELD else Action.NOOP)
    if isinstance(space, spaces.Text):
        return ""
    return np.zeros(space.shape or (), space.dtype)
