"""`iglu_marl/Recorded-v0`: one player's part in a recorded game, as a Gymnasium environment.

The partner repeats its recorded actions, or is an agent. Offline datasets of recordings come from this environment: an
episode's options and actions reproduce its observations and rewards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from iglu_marl.agents import registry as pairing
from iglu_marl.core.controls import at_rest
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError, ConfigError, StateError
from iglu_marl.core.parsing import parse_json, wrap_errors
from iglu_marl.core.task import Task, as_task
from iglu_marl.envs.live import from_actions
from iglu_marl.envs.single import SingleAgentEnv
from iglu_marl.envs.two_agent import BUILDER, ROLES
from iglu_marl.game.agent import Agent, begin
from iglu_marl.game.episode import AGENTS
from iglu_marl.recording.games import GAME_KEYS, make_game
from iglu_marl.recording.reading import Recording
from iglu_marl.recording.values import from_json, task_from_json, task_to_json, to_json
from iglu_marl.tasks.source import open_task

_PART = 60_000  # characters; HDF5 limits attributes to 64 KiB


@dataclass(frozen=True)
class Script:
    """The start of an episode, and the partner's part in it.

    `partner` has its actions in order. For the live architect of a single-agent game these are the utterances before
    each step, for a real-time game an action per tick or None.
    """

    seed: int | None = None
    task: Task | None = None
    pose: Sequence[float] | None = None
    heard: str = ""
    partner: tuple[Any, ...] = ()


def script_options(recording: Recording, agent: str) -> dict[str, Any]:
    """Return the reset options with which `RecordedEnv` plays a recording for `agent`.

    Raises `DataError` if its world was edited from outside.
    """
    recording.check_unedited("a game of players alone")
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
    task: Task,
    pose: Sequence[float] | None,
    seed: int | None = None,
    heard: str = "",
    partner: Sequence[Any] = (),
) -> dict[str, Any]:
    """Return the reset options for a task, a start pose and the partner's part as JSON (see `Script`)."""
    script = {"seed": seed, "task": task_to_json(task), "pose": pose, "heard": heard, "partner": partner}
    text = json.dumps(script, separators=(",", ":"))
    parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
    return {"recording": {str(number): part for number, part in enumerate(parts)}}


def read_script(parts: Any) -> Script:
    """Parse the value of `script_options(...)["recording"]`. Raises `DataError` for anything else."""
    place = "the option 'recording' cannot be read (expected that of an episode of a dataset)"
    with wrap_errors(place):
        text = (
            parts if isinstance(parts, str) else "".join(parts[str(number)] for number in range(len(parts)))
        )
        fields = parse_json(text, place, verbatim=True)
        return Script(
            fields["seed"],
            task_from_json(fields["task"]),
            fields["pose"],
            str(fields["heard"]),
            tuple(None if action is None else from_json(action) for action in fields["partner"]),
        )


class RecordedEnv(gymnasium.Env[Any, Any]):
    """One player's part in games of one kind, with a recorded partner.

    `reset(options={"recording": …})` starts a recorded episode, with the options of `script_options`. Without it, a
    task is sampled or given as `options["task"]`. After its last recorded action, the partner is silent or yields.

    A step lasts until the player's next turn. Its reward is the sum of the rewards in that time, and in the first step
    also of those before. In a real-time game a step is a tick, where silence and standing still are actions.

    Args:
        game: the `iglu_marl.recording.games.GAME_KEYS` of a recording's header.
        agent: the player, "builder_0" or "architect_0"; "builder_0" in a single-agent game.
        partner: name of an agent that plays the other part, as for `agents_for`; None: the recorded actions.
        sees: what the player observes, if other than recorded (see `make_game`).
        vocabulary: the codec, if the recorded one was an object.
        render_mode: as for the other environments.

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
        if missing := [key for key in GAME_KEYS if key not in game]:
            raise ConfigError(f"game lacks {', '.join(missing)}, expected the keys {', '.join(GAME_KEYS)}")
        known = (BUILDER,) if game["view"] == "single" else AGENTS
        if agent not in known:
            raise AgentError(f"there is no agent {agent!r} in this game, expected {' or '.join(known)}")
        if partner is not None and game["view"] == "single":
            raise AgentError(f"partner is {partner!r}, expected None in a single-agent game")
        self.view, self.agent = str(game["view"]), agent
        self.game = make_game(
            game, vocabulary=vocabulary, render_mode=render_mode, sees=sees, role=ROLES[agent]
        )
        self.game.config.check_pair("RecordedEnv")
        self.metadata, self.render_mode = self.game.metadata, render_mode
        self.observation_space, self.action_space = self.game.observation_space, self.game.action_space
        self.partner: Agent | None = None
        self.ran_out = False  # whether the partner's recorded actions have ended
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
        """The episode: worlds, dialogue, task. Read-only."""
        return self.game.episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see the class for `options["recording"]`, `options["task"]` and `options["pose"]`."""
        options = dict(options or {})
        script = read_script(options.pop("recording")) if "recording" in options else Script()
        self.game.setup.check = open_task if script.task is None else as_task
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
        """Make the player's move, and play until its next one."""
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
        """Make a step in real time. If both speak, the architect is first."""
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
        """Step the AEC game to the player's turn, or to its end."""
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
        """Return the composed frame (uint8 [height, width, 3]) or a text; None if it is shown in a window."""
        return self.game.render()

    def close(self) -> None:
        """Close window, renderer and partner."""
        self.game.close()
        if self.partner is not None:
            self.partner.close()
