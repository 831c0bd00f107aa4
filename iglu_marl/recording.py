"""Recording of episodes as JSON lines, and replay that simulates them again and compares bit for bit.

A recording is only ever appended to, a whole line at a time, so that of an interrupted game nothing is lost but the
line that was being written. One file may hold several episodes. The lines of an episode:

| line | keys |
|---|---|
| header | `format`, `version`, `view` ("aec", "parallel", "single"), `config`, `controls`, `seed`, `task` (grids as |
| | blocks x, y, z, id), `pose`, `recorded` (the dialogue is the task's own), `heard`, `agents`, `note`, `versions`, |
| | `layout`, `state` |
| move | `n`; `act`: actions by role; `rewards` by role, where not 0; `heard`: what a live architect said to a lone |
| | builder; `state` |
| controls | `controls`: the builder acts in another encoding from here on |
| end | `end`: moves, terminated, truncated, returns, intersection, target_blocks |

`state` is a checksum (BLAKE2b, 8 bytes, hexadecimal) of the world's record and of the dialogue, after the move.
Actions are JSON as they are; a NumPy array or number keeps its type: `{"~": "float32", "shape": [2], "v": [0.0, 5.0]}`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

import gymnasium
import numpy as np
from pettingzoo import AECEnv
from pettingzoo.utils import BaseParallelWrapper, BaseWrapper

from iglu_marl import __version__
from iglu_marl.core import rules
from iglu_marl.core.controls import Controls
from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import ConfigError, DataError, IgluMarlError, ReplayError, StateError
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.envs.single import SingleAgentEnv
from iglu_marl.game.config import GameConfig
from iglu_marl.game.episode import Episode
from iglu_marl.game.observing import gridworld_observer
from iglu_marl.rollout import Trajectory, Turn

FORMAT, VERSION = "iglu_marl recording", 1
LAYOUT = hashlib.blake2b(repr(rules.WORLD.descr).encode(), digest_size=8).hexdigest()
"""Of the world's record: checksums of another layout cannot be compared."""

_MARK = "~"  # the key of a NumPy value
_NOT_KEPT = ("tasks", "renderer", "render_mode", "vocabulary")  # fields of the config that are told otherwise


# ------------------------------------------------------------------------------------------------------- values


def to_json(value: Any, where: str = "action") -> Any:
    """An action as JSON: numbers, texts, dicts and NumPy values. Raises `DataError` for anything else."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, np.generic):
        return {_MARK: value.dtype.name, "v": value.item()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {_MARK: value.dtype.name, "shape": list(value.shape), "v": value.ravel().tolist()}
    if isinstance(value, float):
        return value
    if isinstance(value, Mapping) and _MARK not in value and all(isinstance(key, str) for key in value):
        return {key: to_json(part, f"{where}[{key!r}]") for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(part, f"{where}[{number}]") for number, part in enumerate(value)]
    raise DataError(
        f"{where} is {value!r:.80} ({type(value).__name__}), which cannot be recorded: expected numbers, texts, "
        "dicts with texts as keys, lists or arrays"
    )


def from_json(value: Any) -> Any:
    """What `to_json` was given; tuples come back as lists. Raises `DataError` for what it cannot have made."""
    if isinstance(value, list):
        return [from_json(part) for part in value]
    if not isinstance(value, dict):
        return value
    if _MARK not in value:
        return {key: from_json(part) for key, part in value.items()}
    try:
        dtype = np.dtype(value[_MARK])
        if dtype.kind not in "biuf":
            raise TypeError(dtype)
        if "shape" in value:
            return np.array(value["v"], dtype).reshape(value["shape"])
        return dtype.type(value["v"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{value!r:.80} is no value of a recording: {error}") from None


def _said(dialogue: Dialogue) -> list[list[str]]:
    return [[utterance.role.value, utterance.text] for utterance in dialogue]


def _heard(lines: Any) -> Dialogue:
    return Dialogue(Utterance(role, text) for role, text in lines)


def _blocks(grid: Any) -> Any:
    return None if grid is None else [list(block) for block in grid_to_blocks(grid)]


def _grid(blocks: Any) -> Any:
    return None if blocks is None else blocks_to_grid(blocks)


def _fields_of(task: Task) -> dict[str, Any]:
    return {
        "dialog": _said(task.dialogue),
        "instruction": task.instruction,
        "target_grid": _blocks(task.target_grid),
        "starting_grid": _blocks(task.starting_grid),
        "full_grid": _blocks(task.full_grid),
        "invariant": task.invariant,
        "task_id": task.task_id,
        "ids": task.ids,
    }


def task_to_json(task: Task) -> dict[str, Any]:
    """A task as JSON; of a progressive one, `next` has the turns that follow."""
    turns, following = [], task.next_task
    while following is not None:
        turns.append(_fields_of(following))
        following = following.next_task
    return {**_fields_of(task), "next": turns or None}


def task_from_json(told: Mapping[str, Any]) -> Task:
    """The task that `task_to_json` was given, as far as a game depends on it. Raises `DataError` for others."""
    try:
        task = _one_task(told)
        return (
            task if not told.get("next") else _progressive(task, [_one_task(part) for part in told["next"]])
        )
    except (KeyError, TypeError, ValueError, IgluMarlError) as error:
        raise DataError(f"the task of the recording cannot be read: {error!r:.200}") from None


def _one_task(told: Mapping[str, Any]) -> Task:
    return Task(
        _heard(told["dialog"]),
        _grid(told["target_grid"]),
        told["instruction"] or None,
        _grid(told["starting_grid"]),
        _grid(told["full_grid"]),
        told["invariant"],
        task_id=told["task_id"],
        ids=told["ids"],
    )


def _progressive(first: Task, others: list[Task]) -> Task:
    """The first of several turns that lead to each other."""
    tasks = [first, *others]
    known, said = 0, []
    for task in tasks:
        said.append(task.dialogue[known:])
        known = len(task.dialogue)
    session = Subtasks(
        said,
        [task.target_grid for task in tasks],
        starting_grid=first.starting_grid,
        progressive=True,
        invariant=others[0].invariant,
        task_id=first.task_id,
        ids=others[0].ids,
        full_grid=others[0].full_grid,
    )
    return session[0].replace(
        starting_grid=first.starting_grid,
        full_grid=first.full_grid,
        invariant=first.invariant,
        task_id=first.task_id,
        ids=first.ids,
    )


def checksum(episode: Episode) -> str:
    """The checksum of an episode's world and dialogue: 16 hexadecimal digits."""
    made = hashlib.blake2b(episode.worlds.state.tobytes(), digest_size=8)
    made.update(episode.dialogue.text.encode("utf-8", "surrogatepass"))
    return made.hexdigest()


def _versions() -> dict[str, str]:
    return {
        "iglu_marl": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        **{name: version(name) for name in ("numpy", "numba", "gymnasium", "pettingzoo")},
    }


def _config_to_json(config: GameConfig) -> dict[str, Any]:
    kept = {
        item.name: getattr(config, item.name)
        for item in dataclasses.fields(config)
        if item.name not in _NOT_KEPT
    }
    vocabulary = config.vocabulary
    if not isinstance(vocabulary, (str, int)):
        vocabulary = {"name": vocabulary.name, "version": vocabulary.version, "size": vocabulary.size}  # type: ignore[assignment]
    return {**kept, "vocabulary": vocabulary}


def _controls_to_json(controls: Controls) -> dict[str, Any]:
    return {
        "name": controls.name,
        "select_and_place": controls.select_and_place,
        "camera_limit": controls.camera_limit,
        "can_yield": controls.can_yield,
        "iglu2022": controls.iglu2022,
    }


# ------------------------------------------------------------------------------------------------------- writing


def view_of(env: Any) -> str:
    """Which view an environment is: "aec", "parallel" or "single". Raises `StateError` for another object."""
    game = getattr(env, "unwrapped", env)
    if not isinstance(getattr(game, "episode", None), Episode):
        raise StateError(f"env is {env!r:.80}, expected an environment of iglu_marl")
    if isinstance(game, gymnasium.Env):
        return "single"
    return "aec" if isinstance(game, AECEnv) else "parallel"


class Recorder:
    """Writes every move of the games it is shown to a file, a line each, at once.

    Two ways to use it: `play(env, agents, on_step=recorder)`, or `env = recorder.wrap(env)` and then any loop. Each
    reset begins a new episode in the file. An existing recording is gone on with. agents: names for the header, by
    role.

    Lines are handed to the operating system as they come; `close` closes the file, and so does a `with` block. Raises
    `DataError` when the file cannot be written or holds something else.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, agents: Mapping[str, str] | None = None, note: str = ""
    ) -> None:
        self.path = Path(path)
        self.agents, self.remark = dict(agents or {}), note
        self.episodes = 0
        self._trajectory: Trajectory | None = None
        self._taken = -1  # turns of the trajectory that are in the file; -1: not yet begun
        self._open_episode = False
        self._moves = self._turns = 0
        self._said = 0
        self._live = False
        self._returns: dict[str, float] = {}
        self._file: IO[str] | None = self._opened()

    def _opened(self) -> IO[str]:
        try:
            known = self.path.exists() and self.path.stat().st_size > 0
            if known:
                with self.path.open("rb") as file:
                    first = file.readline()
                    file.seek(-1, os.SEEK_END)
                    whole = file.read(1) == b"\n"
                if FORMAT.encode() not in first and whole:
                    raise DataError(f"{self.path} is not empty and no recording; nothing was written to it")
            file_ = self.path.open("a", encoding="utf-8")
            if known and not whole:
                file_.write("\n")  # after a line that was cut off
        except OSError as error:
            raise DataError(f"{self.path} cannot be written: {error.strerror or error}") from None
        return file_

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is None:
            raise StateError(f"the recorder of {self.path} is closed")
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()

    # -- as on_step

    def follow(self, trajectory: Trajectory) -> None:
        """Called by `play` when an episode begins: the moves are read off the trajectory."""
        self._trajectory, self._taken = trajectory, -1

    def __call__(self, env: Any) -> None:
        """Write what is new in the followed game. Called after the reset and after each step."""
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
        rewards = {turn.role: turn.reward for turn in new}
        if view_of(env) == "aec":
            rewards = {Role(name.removesuffix("_0")): value for name, value in env.unwrapped.rewards.items()}
        self.note(env, {turn.role: turn.action for turn in new}, rewards)

    # -- the lines

    def begin(self, env: Any, seed: int | None) -> None:
        """Write the header of the episode that `env.reset(seed)` has begun."""
        view, episode = view_of(env), env.unwrapped.episode
        worlds = episode.worlds
        self._live = view == "single" and not episode.recorded
        self._moves, self._turns, self._said = 0, int(worlds.turns[0]), len(episode.dialogue)
        self._returns, self._open_episode = {}, True
        self.episodes += 1
        heard = [part.text for part in episode.dialogue] if self._live else None
        self._write(
            {
                "format": FORMAT,
                "version": VERSION,
                "view": view,
                "config": _config_to_json(episode.config),
                "controls": _controls_to_json(episode.controls),
                "seed": None if seed is None else int(seed),
                "task": task_to_json(episode.task),
                "pose": worlds.pose[0].tolist(),
                "recorded": episode.recorded,
                "heard": heard,
                "agents": self.agents,
                "note": self.remark,
                "versions": _versions(),
                "layout": LAYOUT,
                "state": checksum(episode),
            }
        )

    def note(
        self, env: Any, actions: Mapping[Role, Any], rewards: Mapping[Role, float] | None = None
    ) -> None:
        """Write the move that was just made; rewards: by default those of the AEC environment.

        Raises `StateError` before `begin`, and `DataError` for actions that cannot be recorded.
        """
        if rewards is None:
            rewards = {Role(name.removesuffix("_0")): paid for name, paid in env.unwrapped.rewards.items()}
        self.write_move(env, {role: to_json(action) for role, action in actions.items()}, rewards)

    def write_move(self, env: Any, told: Mapping[Role, Any], rewards: Mapping[Role, float]) -> None:
        """`note` for actions that `to_json` has been applied to."""
        if not self._open_episode:
            raise StateError("the recorder has not seen the reset that began this episode")
        episode = env.unwrapped.episode
        worlds = episode.worlds
        line: dict[str, Any] = {"n": self._moves, "act": {role.value: act for role, act in told.items()}}
        paid = {role.value: float(value) for role, value in rewards.items() if value}
        for name, value in paid.items():
            self._returns[name] = self._returns.get(name, 0.0) + value
        if paid:
            line["rewards"] = paid
        if self._live and int(worlds.turns[0]) != self._turns:
            self._turns = int(worlds.turns[0])
            line["heard"] = "\n".join(part.text for part in episode.dialogue[self._said :])
        self._said = len(episode.dialogue)
        line["state"] = checksum(episode)
        self._write(line)
        self._moves += 1
        if worlds.terminated[0] or worlds.truncated[0]:
            self.end(env)

    def switch(self, env: Any) -> None:
        """The game goes on, as it stands, in an environment whose builder acts in another encoding."""
        self._write({"controls": _controls_to_json(env.unwrapped.episode.controls)})

    def end(self, env: Any) -> None:
        """Write the last line of an episode: by itself when it is over, or when it is left."""
        if not self._open_episode:
            return
        worlds = env.unwrapped.episode.worlds
        facts = {
            "moves": self._moves,
            "terminated": bool(worlds.terminated[0]),
            "truncated": bool(worlds.truncated[0]),
            "returns": self._returns,
            "intersection": int(worlds.best[0]),
            "target_blocks": int(worlds.target_blocks[0]),
        }
        self._write({"end": facts})
        self._open_episode = False

    # -- as a wrapper

    def wrap(self, env: Any) -> Any:
        """The environment, recording: an AEC, parallel or Gymnasium wrapper that changes nothing else."""
        view = view_of(env)
        wrapper = {"aec": _AECRecording, "parallel": _ParallelRecording, "single": _SingleRecording}[view]
        return wrapper(env, self)

    def close(self) -> None:
        """Close the file. May be called more than once."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _AECRecording(BaseWrapper):  # type: ignore[misc]
    """An AEC environment whose moves are recorded."""

    def __init__(self, env: Any, recorder: Recorder) -> None:
        super().__init__(env)
        self.recorder = recorder

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed=seed, options=options)
        self.recorder.begin(self, seed)

    def step(self, action: Any) -> None:
        role = Role(self.env.agent_selection.removesuffix("_0"))
        told = to_json(action)  # before the step: the array may be used again
        super().step(action)
        if action is not None:
            paid = self.env.unwrapped.rewards
            self.recorder.write_move(self, {role: told}, {each: paid[f"{each.value}_0"] for each in Role})


class _ParallelRecording(BaseParallelWrapper):  # type: ignore[misc]
    """A parallel environment whose moves are recorded."""

    def __init__(self, env: Any, recorder: Recorder) -> None:
        super().__init__(env)
        self.recorder = recorder

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        begun = super().reset(seed=seed, options=options)
        self.recorder.begin(self, seed)
        return begun

    def step(self, actions: Any) -> Any:
        told = {Role(str(name).removesuffix("_0")): to_json(action) for name, action in dict(actions).items()}
        done = super().step(actions)
        self.recorder.write_move(self, told, {role: done[1][f"{role.value}_0"] for role in told})
        return done


class _SingleRecording(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A lone builder's environment whose moves are recorded."""

    def __init__(self, env: Any, recorder: Recorder) -> None:
        super().__init__(env)
        self.recorder = recorder

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        begun = super().reset(seed=seed, options=options)
        self.recorder.begin(self, seed)
        return begun

    def step(self, action: Any) -> Any:
        told = to_json(action)
        done = super().step(action)
        self.recorder.write_move(self, {Role.BUILDER: told}, {Role.BUILDER: float(done[1])})
        return done


# ------------------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True)
class Move:
    """A recorded move: where it stands in the file, actions and rewards by role, what was heard, the checksum.

    controls: the builder's new encoding, where it changed before this move.
    """

    line: int
    actions: dict[Role, Any]
    rewards: dict[Role, float]
    heard: str | None
    state: str
    controls: dict[str, Any] | None = None


@dataclass
class Recording:
    """One episode of a file, as it was written. `end` is None when the game was broken off."""

    path: Path
    line: int
    header: dict[str, Any]
    moves: list[Move] = field(default_factory=list)
    end: dict[str, Any] | None = None

    @property
    def view(self) -> str:
        """One of "aec", "parallel" and "single"."""
        return str(self.header["view"])

    @property
    def seed(self) -> int | None:
        """The seed that the environment was reset with."""
        return cast("int | None", self.header["seed"])

    @property
    def task(self) -> Task:
        """The task of the episode, at its start."""
        return task_from_json(self.header["task"])

    def make_env(self, *, vocabulary: Any = None, render_mode: str | None = None) -> Any:
        """A bare environment in which the moves can be made again, not yet reset.

        vocabulary: the codec, where the recorded one was an object. Raises `ConfigError` without it.
        """
        return _make_env(self, vocabulary, render_mode)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The lines of a file, numbered from 1; None for one that was cut off while it was written."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    rows = content.split(b"\n")
    if rows and not rows[-1]:
        rows.pop()
    parsed: list[dict[str, Any] | None] = []
    for row in rows:
        try:
            value = json.loads(row)
        except (ValueError, RecursionError):
            value = None
        parsed.append(value if isinstance(value, dict) else None)
    for number, line in enumerate(parsed, start=1):
        if line is None:
            following = parsed[number] if number < len(parsed) else {"format": FORMAT}
            if following is None or "format" not in following:
                raise DataError(f"{path}, line {number}: no JSON object: {rows[number - 1][:60]!r}")
        yield number, line


def read_recording(path: str | os.PathLike[str]) -> list[Recording]:
    """The episodes of a file. A last line that was cut off is left out.

    Raises `DataError`, naming file and line, for a file that is no recording, or of a later version.
    """
    file = Path(path)
    found: list[Recording] = []
    controls = None
    for number, line in _lines(file):
        if line is None:
            continue
        place = f"{file}, line {number}"
        if "format" in line:
            _check_header(line, place)
            found.append(Recording(file, number, line))
        elif not found:
            raise DataError(f"{place}: expected a header with format {FORMAT!r}, got {str(line)[:60]}")
        elif "end" in line:
            found[-1].end = line["end"]
        elif "controls" in line:
            controls = line["controls"]
        else:
            found[-1].moves.append(_move(line, number, len(found[-1].moves), place, controls))
            controls = None
    if not found:
        raise DataError(f"{file} holds no episode of a recording")
    return found


_HEADER_KEYS = ("view", "config", "controls", "seed", "task", "pose", "recorded", "layout", "state")


def _check_header(line: dict[str, Any], place: str) -> None:
    if line["format"] != FORMAT:
        raise DataError(f"{place}: format is {line['format']!r:.60}, expected {FORMAT!r}")
    if line.get("version") != VERSION:
        raise DataError(f"{place}: version is {line.get('version')!r:.20}, expected {VERSION}")
    if missing := [key for key in _HEADER_KEYS if key not in line]:
        raise DataError(f"{place}: the header lacks {', '.join(missing)}")
    if line["view"] not in ("aec", "parallel", "single"):
        raise DataError(f"{place}: view is {line['view']!r:.20}, expected aec, parallel or single")


def _move(line: dict[str, Any], number: int, count: int, place: str, controls: Any) -> Move:
    if line.get("n") != count:
        raise DataError(f"{place}: move {line.get('n')!r:.20}, expected move {count}")
    try:
        return Move(
            number,
            {Role(name): from_json(action) for name, action in line["act"].items()},
            {Role(name): float(value) for name, value in line.get("rewards", {}).items()},
            line.get("heard"),
            str(line["state"]),
            controls,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{place}: no move of a recording: {error!r:.100}") from None


# ------------------------------------------------------------------------------------------------------- replaying


class _Tape:
    """A live architect's words, as they were heard."""

    def __init__(self, episode: Callable[[], Episode]) -> None:
        self._episode = episode
        self.words = ""

    def reset(self, role: Role, seed: int | None) -> None:
        """Nothing begins anew: the words are told move by move."""

    def act(self, observation: Any) -> Any:
        """What was heard at this moment, in the form of the chat."""
        chat: Any = self._episode().chat
        if isinstance(chat.silence, str):
            return self.words
        tokens = chat.codec.encode(self.words)
        return np.array([*tokens, *[0] * (chat.message_length - len(tokens))], dtype=np.int64)

    def close(self) -> None:
        """Nothing is held."""


def _make_env(recording: Recording, vocabulary: Any, render_mode: str | None) -> Any:
    told = dict(recording.header["config"])
    if isinstance(told.get("vocabulary"), dict):
        wanted = told["vocabulary"]
        if vocabulary is None:
            raise ConfigError(
                f"{recording.path} was recorded with the codec {wanted.get('name')!r}, version "
                f"{wanted.get('version')!r}; pass it as vocabulary"
            )
        told["vocabulary"] = vocabulary
    try:
        fields = {key: tuple(value) if isinstance(value, list) else value for key, value in told.items()}
        config = GameConfig.of(None, {**fields, "render_mode": render_mode})
        if recording.view != "single":
            return (raw_env if recording.view == "aec" else parallel_env)(config)
        controls = dict(recording.header["controls"])
        tape: list[_Tape] = []
        if not recording.header["recorded"]:
            tape.append(_Tape(lambda: env.episode))
        env = SingleAgentEnv(
            config,
            Controls(controls.pop("name"), **controls),
            lambda episode: gridworld_observer(
                episode, render=False, vector_state=True, target_in_obs=False, iglu2022=False
            ),
            architect=tape[0] if tape else None,
        )
        env.tape = tape[0] if tape else None  # type: ignore[attr-defined]
    except (TypeError, AttributeError, IgluMarlError) as error:
        raise DataError(
            f"{recording.path}, line {recording.line}: the header cannot be used: {error}"
        ) from error
    return env


class _Player:
    """Makes the moves of a recording again."""

    def __init__(self, recording: Recording, env: Any, verify: bool) -> None:
        self.recording, self.env, self.verify = recording, env, verify
        self.trajectory = Trajectory(recording.task, recording.seed)

    def _differs(self, line: int, what: str) -> ReplayError:
        written = self.recording.header.get("versions", {})
        return ReplayError(
            f"{self.recording.path}, line {line}: {what}; recorded with iglu_marl {written.get('iglu_marl')} on "
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
                "its checksums are of another layout of the world's record and cannot be compared "
                "(verify=False simulates without)",
            )
        if getattr(self.env, "tape", None) is not None:
            self.env.tape.words = "\n".join(header.get("heard") or [])
        try:
            self.env.reset(
                seed=self.recording.seed, options={"task": self.recording.task, "pose": header["pose"]}
            )
        except IgluMarlError as error:
            raise self._differs(self.recording.line, f"the episode cannot begin: {error}") from error
        self.trajectory.task = self.env.episode.task
        self._compare(self.recording.line, header["state"], "at the start")

    def move(self, number: int, move: Move) -> None:
        try:
            rewards = self._act(move)
        except IgluMarlError as error:
            raise self._differs(move.line, f"move {number} cannot be made: {error}") from error
        for role, value in rewards.items():
            self.trajectory.returns[role] = self.trajectory.returns.get(role, 0.0) + value
        paid = {role: value for role, value in rewards.items() if value}
        if self.verify and paid != move.rewards:
            got, kept = ({role.value: value for role, value in each.items()} for each in (paid, move.rewards))
            raise self._differs(move.line, f"move {number} was paid {kept}, now {got}")
        for role, action in move.actions.items():
            self.trajectory.turns.append(Turn(role, action, rewards.get(role, 0.0)))
        self._compare(move.line, move.state, f"after move {number}")

    def _switch(self, controls: dict[str, Any]) -> None:
        """Go on in the same game with another encoding."""
        old = self.env
        if self.recording.view == "single":
            raise StateError("a lone builder's game has one encoding")
        make = raw_env if self.recording.view == "aec" else parallel_env
        self.env = make(
            dataclasses.replace(
                old.config, controls=controls["name"], select_and_place=controls["select_and_place"]
            )
        )
        self.env.reset(options={"task": self.recording.task})
        self.env.set_state(old.get_state())
        old.close()

    def _act(self, move: Move) -> dict[Role, float]:
        if move.controls is not None:
            self._switch(move.controls)
        env, actions = self.env, move.actions
        if self.recording.view == "single":
            if env.tape is not None:
                env.tape.words = move.heard or ""
            return {Role.BUILDER: float(env.step(actions[Role.BUILDER])[1])}
        if self.recording.view == "parallel":
            paid = env.step({f"{role.value}_0": action for role, action in actions.items()})[1]
        else:
            ((role, action),) = actions.items()
            if env.agent_selection != f"{role.value}_0":
                raise StateError(f"it is the turn of {env.agent_selection}, not of the {role.value}")
            env.step(action)
            paid = env.rewards
        return {Role(name.removesuffix("_0")): float(value) for name, value in paid.items()}

    def end(self) -> Trajectory:
        self.trajectory._finish(self.env.episode)
        ended = self.recording.end
        if self.verify and ended is not None:
            for name in ("terminated", "truncated", "intersection", "target_blocks"):
                now = getattr(self.trajectory, name)
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
    """Simulate a recorded episode again, and return what happened.

    path: the file, or an episode that `read_recording` gave. episode: which one of the file, from 0; -1 is the last.
    verify: compare the state after every move, bit for bit, and the rewards. on_step: called with the environment at
    the start and after every move, as by `play`. vocabulary: the codec, where the recorded one was an object.

    A game that was broken off is replayed as far as it goes. Raises `ReplayError`, naming line and move, at the first
    difference, `DataError` for a file that is no recording, and `ConfigError` for an episode that it does not have.
    """
    if isinstance(path, Recording):
        recording = path
    else:
        recordings = read_recording(path)
        if not -len(recordings) <= episode < len(recordings):
            raise ConfigError(f"episode is {episode}, but {os.fspath(path)} has {len(recordings)}")
        recording = recordings[episode]
    watchers = [on_step] if callable(on_step) else list(on_step)
    env = recording.make_env(vocabulary=vocabulary, render_mode=render_mode)
    player = _Player(recording, env, verify)
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
