"""`Recorder`: writes recordings, as `on_step` of `play` or as a wrapper of any environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
from pettingzoo import AECEnv
from pettingzoo.utils import BaseParallelWrapper, BaseWrapper

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, StateError
from iglu_marl.core.files import PRIVATE, JsonLines
from iglu_marl.core.versions import versions
from iglu_marl.envs.live import LiveGame, Tick, as_actions
from iglu_marl.envs.two_agent import BUILDER
from iglu_marl.game.episode import Episode, WorldEdit
from iglu_marl.game.seats import players_of
from iglu_marl.recording.games import observes
from iglu_marl.recording.reading import begin_appending, read_recording
from iglu_marl.recording.replaying import resumed
from iglu_marl.recording.rollout import Player, Trajectory, own_rewards
from iglu_marl.recording.values import (
    FORMAT,
    LAYOUT,
    VERSION,
    chained_line,
    checksum,
    config_to_json,
    controls_to_json,
    name_of,
    task_to_json,
    to_json,
)


def view_of(env: Any) -> str:
    """Return the view of an environment: "aec", "parallel", "live" or "single". Raises `StateError` for others."""
    game = getattr(env, "unwrapped", env)
    if not isinstance(getattr(game, "episode", None), Episode):
        raise StateError(f"env is {env!r:.80}, expected an environment of iglu_marl")
    if isinstance(game, gymnasium.Env):
        return "single"
    if isinstance(game, LiveGame):
        return "live"
    return "aec" if isinstance(game, AECEnv) else "parallel"


class Recorder:
    """Writes each move of a game to a file, one line per move.

    Use it as `play(env, agents, on_step=recorder)`, or as `env = recorder.wrap(env)` in any loop. Each reset starts a
    new episode in the file. An existing recording is appended to. Each line is written at once, and is on the disk at
    the end of its episode. The file is locked until `close`, which a `with` block calls.

    Args:
        path: the file.
        agents: names of the agents for the header, by role.
        note: text for the header.
        private: whether only the owner may read a new file.

    Raises:
        DataError: if the file cannot be written, is damaged or not a recording, or is locked by another process.

    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        agents: Mapping[str, str] | None = None,
        note: str = "",
        private: bool = False,
    ) -> None:
        names = {} if agents is None else agents
        if not isinstance(names, Mapping) or not all(
            isinstance(text, str) for text in (*names, *names.values())
        ):
            raise ConfigError(f"agents is {agents!r:.80}, expected names by role")
        if not isinstance(note, str):
            raise ConfigError(f"note is {note!r:.80}, expected a text")
        self.path = Path(path)
        self.agents, self.remark = dict(names), note
        self.episodes = 0
        self._trajectory: Trajectory | None = None
        self._taken = -1  # turns of the trajectory that are in the file; -1: no header yet
        self._open_episode = False
        self._moves = self._turns = 0
        self._said = 0
        self._live = False
        self._edits: list[WorldEdit] = []  # of the episode; those after `_edits_written` are not in the file
        self._edits_written = 0
        self._returns: dict[str, float] = {}
        self._file: JsonLines | None = JsonLines(self.path, PRIVATE if private else None)
        try:
            self._chain = begin_appending(self._file)  # of the last line
        except BaseException:
            self._file.close()
            raise

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is None:
            raise StateError(f"the recorder of {self.path} is closed")
        row, chain = chained_line(line, self._chain)
        self._file.append(row)
        self._chain = chain

    def follow(self, trajectory: Trajectory) -> None:
        """Follow a trajectory, whose turns are the moves to write. `play` calls this at the start of an episode."""
        self._trajectory, self._taken = trajectory, -1

    def __call__(self, env: Any) -> None:
        """Write the new moves of the followed game, after the reset and after each step."""
        game = self._trajectory
        if game is None:
            raise StateError(
                "this recorder follows no game: give it to play(env, agents, on_step=recorder), or use "
                "recorder.wrap(env)"
            )
        if self._taken < 0:
            self.begin(env, game.seed)
            self._taken = len(game.turns)
            return
        new = game.turns[self._taken :]
        self._taken = len(game.turns)
        rewards = None if view_of(env) == "aec" else {turn.role: turn.reward for turn in new}
        self.note(env, {turn.role: turn.action for turn in new}, rewards)

    def begin(self, env: Any, seed: int | None) -> None:
        """Write the header of an episode, after `env.reset(seed)`.

        Raises `StateError` if its world was edited since.
        """
        view, episode = view_of(env), env.unwrapped.episode
        worlds = episode.worlds
        self._write_edits()  # of an unfinished episode before
        if episode.edits:
            raise StateError("the world was edited before the recording began, expected edits after it")
        self._follow_edits(episode)
        self._live = view == "single" and not episode.recorded
        self._moves, self._turns, self._said = 0, int(worlds.turns[0]), len(episode.dialogue)
        self._returns, self._open_episode = {}, True
        self.episodes += 1
        heard = [part.text for part in episode.dialogue] if self._live else None
        previous, self._chain = self._chain, ""
        self._write(
            {
                "format": FORMAT,
                "version": VERSION,
                "previous": previous,
                "view": view,
                "config": config_to_json(episode.played_config),
                "controls": controls_to_json(episode.controls),
                "seed": None if seed is None else int(seed),
                "task": task_to_json(episode.task),
                "pose": worlds.pose[0].tolist() if len(worlds) == 1 else worlds.pose.tolist(),
                "recorded": episode.recorded,
                "observes": observes(env),
                "heard": heard,
                "agents": self.agents,
                "note": self.remark,
                "versions": versions(),
                "layout": LAYOUT,
                "state": checksum(episode),
            }
        )

    def resume(self, *, vocabulary: Any = None) -> Any:
        """Return the environment of the last game in the file, after its last move, to continue the game.

        `vocabulary` is the codec if the recorded one was an object. Raises `StateError` if the game is over, and
        otherwise like `replay`.
        """
        recording = read_recording(self.path)[-1]
        if recording.end is not None:
            raise StateError(f"the last game of {self.path} is over, expected an unfinished one")
        env = resumed(recording, vocabulary=vocabulary)
        episode = env.unwrapped.episode
        self.agents = dict(recording.header.get("agents") or {})
        self._live = recording.view == "single" and not episode.recorded
        self._moves, self._turns = len(recording.moves), int(episode.worlds.turns[0])
        self._said, self._open_episode = len(episode.dialogue), True
        self._returns, self._chain = {}, recording.chain
        self._follow_edits(episode)
        for move in recording.moves:
            self._add(move.rewards)
        self.episodes += 1
        return env

    def _follow_edits(self, episode: Episode) -> None:
        self._edits, self._edits_written = episode.edits, len(episode.edits)

    def _write_edits(self) -> None:
        """Write the edits since the last move."""
        for edit in self._edits[self._edits_written :]:
            self._write({"edit": [list(block) for block in edit.blocks], "builder": edit.builder})
        self._edits_written = len(self._edits)

    def _add(self, rewards: Mapping[Player, float]) -> dict[str, float]:
        """Add rewards to the returns; return those that are not 0, by name."""
        paid = {name_of(player): float(value) for player, value in rewards.items() if value}
        for name, value in paid.items():
            self._returns[name] = self._returns.get(name, 0.0) + value
        return paid

    def note(self, env: Any, actions: Mapping[Any, Any], rewards: Mapping[Any, float] | None = None) -> None:
        """Write the last move. The rewards default to those of the AEC environment.

        Raises `StateError` before `begin`, and `DataError` for actions that cannot be recorded.
        """
        if rewards is None:
            players = players_of(env)
            paid = own_rewards(env, env.unwrapped.rewards)
            rewards = {players[name]: reward for name, reward in paid.items()}
        self.write_move(env, {player: to_json(action) for player, action in actions.items()}, rewards)

    def write_move(self, env: Any, actions: Mapping[Any, Any], rewards: Mapping[Any, float]) -> None:
        """Write the last move, with actions as JSON (see `to_json`)."""
        if not self._open_episode:
            raise StateError("the recorder has not seen the reset that began this episode")
        episode = env.unwrapped.episode
        worlds = episode.worlds
        self._write_edits()
        line: dict[str, Any] = {
            "n": self._moves,
            "act": {name_of(player): act for player, act in actions.items()},
        }
        if paid := self._add(rewards):
            line["rewards"] = paid
        if self._live and int(worlds.turns[0]) != self._turns:
            self._turns = int(worlds.turns[0])
            line["heard"] = "\n".join(part.text for part in episode.dialogue[self._said :])
        self._said = len(episode.dialogue)
        line["state"] = checksum(episode)
        self._write(line)
        self._moves += 1
        if any(episode.ended):
            self.end(env)

    def end(self, env: Any) -> None:
        """Write the last line of an episode. It is called automatically when the episode is over."""
        if not self._open_episode:
            return
        worlds = env.unwrapped.episode.worlds
        terminated, truncated = env.unwrapped.episode.ended
        self._write_edits()
        facts: dict[str, Any] = {
            "moves": self._moves,
            "terminated": terminated,
            "truncated": truncated,
            "returns": self._returns,
            "intersection": int(worlds.best[0]),
            "target_blocks": int(worlds.target_blocks[0]),
        }
        if edits := int(worlds.edits[0]):
            facts["edits"] = edits
        self._write({"end": facts})
        self._open_episode = False
        if self._file is not None:
            self._file.sync()

    def wrap(self, env: Any) -> Any:
        """Wrap an environment (AEC, parallel, live or Gymnasium) so that its moves are recorded."""
        wrapper: Any = {
            "aec": _AECRecording,
            "parallel": _ParallelRecording,
            "live": _LiveRecording,
            "single": _SingleRecording,
        }[view_of(env)]
        return wrapper(env, self)

    def close(self) -> None:
        """Close the file. May be called more than once."""
        if self._file is not None:
            if self._file.is_owner:
                self._write_edits()
            self._file.close()
            self._file = None

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Recording:
    """A wrapper that begins an episode of a recording at each reset."""

    def __init__(self, env: Any, recorder: Recorder) -> None:
        super().__init__(env)  # type: ignore[call-arg]  # of the wrapper beside it
        self.recorder = recorder

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        begun = super().reset(seed=seed, options=options)  # type: ignore[misc]
        self.recorder.begin(self, seed)
        return begun


class _AECRecording(_Recording, BaseWrapper):  # type: ignore[misc]
    def step(self, action: Any) -> None:
        players, agent = players_of(self), self.env.agent_selection
        encoded = to_json(action)  # before the step, since the caller may reuse the array
        super().step(action)
        if action is not None:
            paid = own_rewards(self, self.env.unwrapped.rewards)
            rewards = {player: paid[name] for name, player in players.items()}
            self.recorder.write_move(self, {players[agent]: encoded}, rewards)


class _ParallelRecording(_Recording, BaseParallelWrapper):  # type: ignore[misc]
    def step(self, actions: Any) -> Any:
        encoded = {str(name): to_json(act) for name, act in dict(actions).items()}
        done = super().step(actions)
        players, paid = players_of(self), own_rewards(self, done[1])
        self.recorder.write_move(
            self,
            {players[name]: act for name, act in encoded.items()},
            {player: paid[name] for name, player in players.items()},
        )
        return done


class _LiveRecording:
    def __init__(self, env: LiveGame, recorder: Recorder) -> None:
        self.env, self.recorder = env, recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.env.reset(seed=seed, options=options)
        self.recorder.begin(self.env, seed)

    def tick(self, said: Mapping[Any, Any] | None = None, act: Any = None) -> Tick:
        encoded = to_json(as_actions(said or {}, act))
        done = self.env.tick(said, act)
        self.recorder.write_move(self.env, encoded, done.rewards)
        return done


class _SingleRecording(_Recording, gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action: Any) -> Any:
        encoded = to_json(action)
        done = super().step(action)
        paid = own_rewards(self, {BUILDER: float(done[1])})
        self.recorder.write_move(self, {Role.BUILDER: encoded}, {Role.BUILDER: paid[BUILDER]})
        return done
