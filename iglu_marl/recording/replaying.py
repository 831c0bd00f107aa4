"""Replay of recorded games with a bit-for-bit comparison."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

from iglu_marl._version import __version__
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, IgluMarlError, ReplayError, StateError
from iglu_marl.core.task import as_task
from iglu_marl.core.text import fix_surrogates
from iglu_marl.envs.live import from_actions
from iglu_marl.game.episode import WorldEdit
from iglu_marl.game.seats import players_of
from iglu_marl.recording.reading import RecordedMove, Recording, read_recording
from iglu_marl.recording.rollout import Player, Trajectory, Turn
from iglu_marl.recording.values import LAYOUT, checksum, name_of


class _Player:
    def __init__(self, recording: Recording, env: Any, verify: bool) -> None:
        self.recording, self.env, self.verify = recording, env, verify
        self.trajectory = Trajectory(recording.task, recording.seed)

    def _differs(self, line: int, what: str) -> ReplayError:
        written = self.recording.header.get("versions", {})
        return ReplayError(
            f"{self.recording.path}, line {line}: {fix_surrogates(what):.500}; "
            f"recorded with iglu_marl {written.get('iglu_marl')} on "
            f"{written.get('platform')}, replayed with {__version__}"
        )

    def _compare(self, line: int, recorded: str, when: str) -> None:
        if self.verify and (now := checksum(self.env.episode)) != recorded:
            raise self._differs(line, f"{when} the checksum of the state is {now}, recorded is {recorded}")

    def begin(self) -> None:
        header = self.recording.header
        if self.verify and header["layout"] != LAYOUT:
            raise self._differs(
                self.recording.line,
                "its checksums have another layout of the world's record and cannot be compared "
                "(verify=False skips the comparison)",
            )
        if self.recording.view == "single" and self.env.heard is not None:
            self.env.heard.words = "\n".join(header.get("heard") or [])
        self.env.setup.check = as_task  # also one that asks for no change
        try:
            self.env.reset(
                seed=self.recording.seed, options={"task": self.recording.task, "pose": header["pose"]}
            )
        except IgluMarlError as error:
            raise self._differs(self.recording.line, f"the episode cannot begin: {error}") from error
        self.trajectory.task = self.env.episode.task
        self._compare(self.recording.line, header["state"], "at the start")

    def move(self, number: int, move: RecordedMove) -> None:
        try:
            rewards = self._act(move)
        except IgluMarlError as error:
            raise self._differs(move.line, f"move {number} cannot be made: {error}") from error
        for role, value in rewards.items():
            self.trajectory.returns[role] = self.trajectory.returns.get(role, 0.0) + value
        paid = {role: value for role, value in rewards.items() if value}
        if self.verify and paid != move.rewards:
            got, kept = (
                {name_of(one): value for one, value in each.items()} for each in (paid, move.rewards)
            )
            raise self._differs(move.line, f"move {number} was paid {kept}, now {got}")
        for role, action in move.actions.items():
            self.trajectory.turns.append(Turn(role, action, rewards.get(role, 0.0)))
        self._compare(move.line, move.state, f"after move {number}")

    def _switch(self, controls: dict[str, Any]) -> None:
        old = self.env
        if self.recording.view == "single":
            raise StateError("the encoding changes, expected the same encoding in a single-agent game")
        self.env = type(old)(
            dataclasses.replace(
                old.config, controls=controls["name"], select_and_place=controls["select_and_place"]
            )
        )
        self.env.setup.check = as_task  # also one that asks for no change
        self.env.reset(options={"task": self.recording.task})
        self.env.set_state(old.get_state())
        old.close()

    def edit(self, edits: Sequence[WorldEdit]) -> None:
        """Change the world as it was changed from outside."""
        for edit in edits:
            self.env.edit(edit.blocks, builder=edit.builder)

    def _act(self, move: RecordedMove) -> dict[Player, float]:
        if move.controls is not None:
            self._switch(move.controls)
        self.edit(move.edits)
        env, actions = self.env, move.actions
        if self.recording.view == "single":
            if env.heard is not None:
                env.heard.words = move.heard or ""
            return {Role.BUILDER: float(env.step(actions[Role.BUILDER])[1])}
        if self.recording.view == "live":
            return dict(env.tick(*from_actions(dict[Any, Any](actions))).rewards)
        players = players_of(env)
        if self.recording.view == "parallel":
            paid = env.step({name: actions[player] for name, player in players.items() if player in actions})[
                1
            ]
        else:
            ((player, action),) = actions.items()
            if players[env.agent_selection] != player:
                raise StateError(f"it is the turn of {env.agent_selection}, not of the {name_of(player)}")
            env.step(action)
            paid = env.rewards
        return {players[name]: float(value) for name, value in paid.items()}

    def end(self) -> Trajectory:
        try:
            self.edit(self.recording.last_edits)
        except IgluMarlError as error:
            raise self._differs(self.recording.line, f"the last edit cannot be made: {error}") from error
        self.trajectory._finish(self.env.episode)
        ended = self.recording.end
        if self.verify and ended is not None:
            names = ("terminated", "truncated", "intersection", "target_blocks")
            facts: dict[str, Any] = {name: getattr(self.trajectory, name) for name in names}
            facts["moves"] = len(self.recording.moves)
            if self.trajectory.edits or "edits" in ended:
                facts["edits"] = self.trajectory.edits
            facts["returns"] = {
                name_of(player): self.trajectory.returns.get(player, 0.0)
                for player in players_of(self.env).values()
                if any(player in move.rewards for move in self.recording.moves)
            }
            for name, now in facts.items():
                if ended.get(name) != now:
                    raise self._differs(
                        self.recording.line, f"{name} is {now} at the end, recorded is {ended.get(name)}"
                    )
        return self.trajectory


def replay(
    path: str | os.PathLike[str] | Recording,
    *,
    episode: int = 0,
    verify: bool = True,
    on_step: Callable[[Any], None] | Sequence[Callable[[Any], None]] = (),
    vocabulary: Any = None,
    render_mode: str | None = None,
) -> Trajectory:
    """Simulate a recorded episode again, and return its trajectory. An unfinished game is replayed to its last move.

    Args:
        path: the file, or a result of `read_recording`.
        episode: number in the file, from 0; -1 is the last.
        verify: compare the hash of each line, and the state bit for bit and the rewards after each move.
        on_step: called with the environment after the reset and after each move, as by `play`.
        vocabulary: the codec, if the recorded one was an object.
        render_mode: as for the environments.

    Raises:
        ReplayError: at the first difference; names line and move.
        DataError: if the file is not a recording, or a line was changed after it was written.
        ConfigError: if the file has no such episode.

    """
    if isinstance(path, Recording):
        recording = path
    else:
        recordings = read_recording(path, verify=verify)
        if not -len(recordings) <= episode < len(recordings):
            raise ConfigError(f"episode is {episode}, but {os.fspath(path)} has {len(recordings)}")
        recording = recordings[episode]
    watchers = [on_step] if callable(on_step) else list(on_step)
    player = _Player(recording, recording.make_env(vocabulary=vocabulary, render_mode=render_mode), verify)
    try:
        player.begin()
        for watcher in watchers:
            watcher(player.env)
        for number, move in enumerate(recording.moves):
            player.move(number, move)
            for watcher in watchers:
                watcher(player.env)
        return player.end()
    finally:
        player.env.close()


def resumed(recording: Recording, *, vocabulary: Any = None) -> Any:
    """Return the environment of an unfinished game, as it was after its last move.

    Only the last state is compared. Raises like `replay`.
    """
    player = _Player(recording, recording.make_env(vocabulary=vocabulary), verify=False)
    try:
        player.begin()
        for number, move in enumerate(recording.moves):
            player.move(number, move)
        player.verify = True
        line, state = recording.line, recording.header["state"]
        if recording.moves:
            line, state = recording.moves[-1].line, recording.moves[-1].state
        player._compare(line, state, "after the last move")
        player.edit(recording.last_edits)
    except BaseException:
        player.env.close()
        raise
    return player.env
