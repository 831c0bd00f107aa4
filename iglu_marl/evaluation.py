"""Evaluation: every architect with every builder on the same tasks, over processes, resumable.

`evaluate(...)` plays, measures and averages. Each game is written to `games.jsonl` in the output folder as soon as it
is over; a killed evaluation, started again with the same arguments, plays what is missing and gives the same tables.
All that is random follows from the seed, the task and the number of the episode, so the order of the games and the
number of processes change nothing.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import multiprocessing
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.util import Finalize
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from iglu_marl import __version__
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError, ConfigError, DataError
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.core.task import Task
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.game.agent import Agent
from iglu_marl.game.config import GameConfig
from iglu_marl.metrics import Interval, bootstrap, game_metrics, skills
from iglu_marl.rollout import Trajectory, play
from iglu_marl.tasks import BundledTasks, StructureTasks, TaskSource, draw
from iglu_marl.tasks.random_tasks import RandomTasks

FORMAT, VERSION = "iglu_marl evaluation", 1
GAMES = "games.jsonl"
SEES = ("dialog", "inventory", "pose", "grid")
DEFAULTS: dict[str, Any] = {
    "builder_can_ask": True,
    "builder_sees": SEES,
    "max_turns": None,
    "max_steps": 5000,
}
"""Of the game, where `config` says nothing else."""
DRAWN = 20  # tasks of a source without an end

Factory = Callable[[Any], Agent]
Row = dict[str, Any]


class Measure(NamedTuple):
    """A column of the tables: what is summed, and what it is divided by, of each game."""

    title: str
    above: Callable[[Row], float]
    below: Callable[[Row], float]


def _mean(title: str, name: str) -> Measure:
    return Measure(title, lambda row: float(row[name]), lambda row: 1.0)


MEASURES: dict[str, Measure] = {
    "completed": _mean("completed", "completed"),
    "exact": _mean("exact", "exact"),
    "precision": _mean("precision", "precision"),
    "recall": _mean("recall", "recall"),
    "f1": _mean("F1", "f1"),
    "change_f1": _mean("F1 of changes", "change_f1"),
    "action_f1": Measure(
        "F1 of net actions (micro)",
        lambda row: 2.0 * row["actions"][0],
        lambda row: float(row["actions"][1] + row["actions"][2]),
    ),
    "steps": _mean("steps", "steps"),
    "turns": _mean("turns", "turns"),
    "steps_per_instruction": Measure(
        "steps per instruction",
        lambda row: float(row["steps"]),
        lambda row: float(row["instructions"]),
    ),
    "words_per_instruction": Measure(
        "words per instruction",
        lambda row: float(row["words"]),
        lambda row: float(row["instructions"]),
    ),
    "questions_per_instruction": Measure(
        "questions per instruction",
        lambda row: float(row["questions"]),
        lambda row: float(row["instructions"]),
    ),
    "return": _mean("return", "return"),
}


# -------------------------------------------------------------------------------------------------- who and what


def named(agents: Any, role: Role) -> dict[str, Any]:
    """Agents by name: from a name, a class or function, several of them, or a mapping from names to them.

    "partners" stands for all the names of `iglu_marl.agents.partners`.
    Raises `AgentError` for what makes no agent, and for two of one name.
    """
    if isinstance(agents, Mapping):
        found = dict(agents)
    else:
        listed = [agents] if isinstance(agents, str) or callable(agents) else list(agents)
        given = [part for entry in listed for part in (_partners(role) if entry == "partners" else [entry])]
        names = [part if isinstance(part, str) else getattr(part, "__name__", repr(part)) for part in given]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise AgentError(f"{role.value}s has {twice[0]!r} twice; a mapping can give them different names")
        found = dict(zip(names, given, strict=True))
    if not found:
        raise AgentError(f"{role.value}s is empty, expected at least one")
    for spec in found.values():
        factory(spec, role)
    return found


def _partners(role: Role) -> list[str]:
    from iglu_marl.agents import partners

    return list(partners.ARCHITECTS if role is Role.ARCHITECT else partners.BUILDERS)


def factory(spec: Any, role: Role) -> Factory:
    """What makes an agent for an environment. Raises `AgentError`.

    spec: a name of `iglu_marl.agents`, "module:attribute", a class with `for_env(env)`, or a function of the
    environment.
    """
    if isinstance(spec, str):
        from iglu_marl.agents import pairing

        known = pairing.ARCHITECTS if role is Role.ARCHITECT else pairing.BUILDERS
        if spec in known:
            spec = known[spec]
        elif ":" in spec:
            spec = _imported(spec, role)
        else:
            raise AgentError(
                f"{role.value} {spec!r} is unknown, expected one of {', '.join(known)}, or module:attribute"
            )
    if hasattr(spec, "for_env"):
        return spec.for_env
    if not callable(spec):
        raise AgentError(
            f"{role.value} is {spec!r:.80}, expected a name, a class with for_env, or a function of the environment"
        )
    return spec


def _imported(spec: str, role: Role) -> Any:
    module, _, attribute = spec.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise AgentError(f"{role.value} {spec!r} cannot be imported: {error}") from None


def tasks_of(tasks: Any, *, count: int | None = None, seed: int = 0) -> list[Task]:
    """The tasks to be played.

    tasks: "bundled" (structures), "turns" (those of the bundled sessions), "random" (up to 8 blocks, 3 levels, 6
    colours), the path of a file of structures; a `Task`, a session, a list, or any task source, which is seeded. count:
    that many of them at most; of a source without an end so many are drawn (default 20). Raises `ConfigError`
    when there are none.
    """
    if isinstance(tasks, (str, os.PathLike)):
        tasks = _tasks_by_name(os.fspath(tasks))
    if count is not None and count < 1:
        raise ConfigError(f"count is {count}, expected 1 or more")
    rng = np.random.default_rng(seed)
    if isinstance(tasks, TaskSource):
        tasks.seed(rng)
    if isinstance(tasks, Task):
        found = [tasks]
    elif _ends(tasks):
        found = list(tasks)
    else:
        found = [draw(tasks, rng) for _ in range(count or DRAWN)]
    if not found or not all(isinstance(task, Task) for task in found):
        raise ConfigError(f"tasks is {tasks!r:.80}, expected tasks, at least one")
    return found[:count]


def _ends(tasks: Any) -> bool:
    """Whether there are so many tasks, and no more."""
    try:
        return len(tasks) >= 0 and hasattr(tasks, "__iter__")
    except TypeError:
        return False


def _tasks_by_name(name: str) -> Any:
    if name == "bundled":
        return BundledTasks(mode="structures")
    if name == "turns":
        return BundledTasks(mode="turns")
    if name == "random":
        return RandomTasks(max_blocks=8, height_levels=3, num_colors=6)
    return StructureTasks(name)


def digest(task: Task) -> str:
    """A name for the content of a task: 12 hexadecimal digits."""
    made = hashlib.blake2b(digest_size=6)
    part: Task | None = task
    while part is not None:
        made.update(
            repr((part.dialog, part.instruction, part.is_invariant, part.ids)).encode("utf-8", "replace")
        )
        for grid in (part.target_grid, part.start_grid, part.full_grid):
            made.update(b"-" if grid is None else grid.tobytes())
        part = part.next_task
    return made.hexdigest()


class Job(NamedTuple):
    """One game to be played."""

    architect: str
    builder: str
    task: int
    key: str  # of the task: its digest, and which one it is of equal ones
    episode: int

    @property
    def id(self) -> tuple[str, str, str, int]:
        """What tells this game from the others, whatever else is played."""
        return self.architect, self.builder, self.key, self.episode


@dataclass(frozen=True)
class _Plan:
    """Everything that is needed to play any of the games; travels to the processes once."""

    architects: dict[str, Any]
    builders: dict[str, Any]
    tasks: list[Task]
    keys: list[str]
    episodes: int
    config: dict[str, Any]
    view: str
    seed: int
    examples: frozenset[int]
    on_error: str

    def jobs(self) -> Iterator[Job]:
        for architect in self.architects:
            for builder in self.builders:
                for task, key in enumerate(self.keys):
                    for episode in range(self.episodes):
                        yield Job(architect, builder, task, key, episode)

    def settings(self) -> dict[str, Any]:
        """What games have to have in common to stand in one table."""
        config = {
            name: list(value) if isinstance(value, tuple) else value for name, value in self.config.items()
        }
        return {"seed": self.seed, "view": self.view, "config": json.loads(json.dumps(config, default=repr))}

    def make_env(self) -> Any:
        make = parallel_env if self.view == "parallel" else raw_env
        return make(GameConfig.of(None, dict(self.config)))


# ------------------------------------------------------------------------------------------------------- playing


class _Arena:
    """Plays games of a plan; agents are made once and reset for each game."""

    def __init__(self, plan: _Plan) -> None:
        self.plan = plan
        self.env = plan.make_env()
        self._made: dict[tuple[Role, str], Agent] = {}

    def _agent(self, role: Role, name: str) -> Agent:
        if (role, name) not in self._made:
            specs = self.plan.architects if role is Role.ARCHITECT else self.plan.builders
            self._made[role, name] = factory(specs[name], role)(self.env)
        return self._made[role, name]

    def play(self, job: Job) -> Row:
        """One game and its measures, JSON-ready."""
        plan, task = self.plan, self.plan.tasks[job.task]
        sequence = np.random.SeedSequence([plan.seed, int(job.key.replace("/", ""), 16), job.episode])
        seed = int(sequence.generate_state(1)[0])
        agents = {
            Role.ARCHITECT: self._agent(Role.ARCHITECT, job.architect),
            Role.BUILDER: self._agent(Role.BUILDER, job.builder),
        }
        began, error = time.perf_counter(), ""
        try:
            game = play(self.env, agents, seed=seed, options={"task": task})
        except Exception as fault:
            if plan.on_error == "raise":
                raise
            error = f"{type(fault).__name__}: {fault}"[:300]
            game = Trajectory(task, seed)
            game._finish(self.env.unwrapped.episode)
        row = {
            **job._asdict(),
            "task": task.task_id or f"task-{job.task}",
            "seed": seed,
            "skills": list(skills(task.in_ids("iglu").target_grid, task.in_ids("iglu").start_grid)),
            **game_metrics(game, shifts=self.env.unwrapped.config.shifts),
            "error": error,
            "seconds": round(time.perf_counter() - began, 3),
        }
        if job.task in plan.examples and job.episode == 0:
            assert game.grid is not None
            row["dialogue"] = [[said.role.value, said.text] for said in game.dialogue]
            row["grid"] = [list(block) for block in grid_to_blocks(game.grid)]
        return row

    def close(self) -> None:
        for agent in self._made.values():
            agent.close()
        self.env.close()


_arena: _Arena | None = None  # of a process of the pool


def _start_process(plan: _Plan) -> None:
    global _arena
    _end_with_parent()
    _arena = _Arena(plan)
    Finalize(None, _arena.close, exitpriority=10)


def _end_with_parent() -> None:
    """A process of the pool ends when the one that started it was killed; else it would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _play_in_process(job: Job) -> Row:
    assert _arena is not None
    return _arena.play(job)


def _games(plan: _Plan, jobs: list[Job], processes: int) -> Iterator[Row]:
    """The rows of all jobs, in the order in which they are done."""
    if processes == 1 or len(jobs) < 2:
        arena = _Arena(plan)
        try:
            for job in jobs:
                yield arena.play(job)
        finally:
            arena.close()
        return
    pool = ProcessPoolExecutor(
        min(processes, len(jobs)),
        mp_context=multiprocessing.get_context("spawn"),  # forks inherit locks of threads
        initializer=_start_process,
        initargs=(plan,),
    )
    try:
        for future in as_completed([pool.submit(_play_in_process, job) for job in jobs]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


# ------------------------------------------------------------------------------------------------------- the file


class _Log:
    """The file to which each game is appended when it is over."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path, self.rows = path, list[Row]()
        header = {"format": FORMAT, "version": VERSION, "iglu_marl": __version__, "settings": settings}
        self._file: IO[str] | None = None
        whole = self._read(header) if path.exists() else 0
        self._file = path.open("r+" if path.exists() else "w", encoding="utf-8")
        self._file.truncate(whole)  # a line that was cut off is played again
        self._file.seek(whole)
        if not whole:
            self._append(header)

    def _read(self, header: dict[str, Any]) -> int:
        """Read the games that are there; the length of the whole lines in bytes."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].splitlines()
        if not lines:
            if content and not json.dumps(header).encode().startswith(content[:20]):
                raise DataError(f"{self.path} is no log of an evaluation; choose another output folder")
            return 0
        try:
            first, *rest = [json.loads(line) for line in lines]
            if first["format"] != FORMAT:
                raise KeyError("format")
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{self.path} is no log of an evaluation ({error!r:.60}); choose another output folder"
            ) from None
        known = {name: first.get(name) for name in header}
        if known != header:
            odd = [
                name for name in header["settings"] if known["settings"].get(name) != header["settings"][name]
            ]
            raise ConfigError(
                f"{self.path} was begun with other settings ({', '.join(odd) or 'another version'}): "
                f"{known['settings']!s:.300}; choose another output folder"
            )
        self.rows = rest
        return whole

    def _append(self, line: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()

    def add(self, row: Row) -> None:
        """Append a game."""
        self.rows.append(row)
        self._append(row)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


# ---------------------------------------------------------------------------------------------------- the result


@dataclass
class Evaluation:
    """What came of an evaluation: one row a game, in the order of agents, tasks and episodes.

    settings: what was played. `summary` averages over any grouping, `matrix` crosses architects and builders, `write`
    makes the files. Intervals are percentile bootstraps over tasks (all episodes of a task are drawn together).
    """

    settings: dict[str, Any]
    rows: list[Row]
    confidence: float = 0.95
    resamples: int = 1000
    tasks: list[Task] = field(default_factory=list, repr=False)

    def summary(self, *by: str) -> list[dict[str, Any]]:
        """Averages by columns such as "architect", "builder", "task"; "skill" counts a game for each of its skills.

        Each entry has the columns, `games`, `errors`, and for each of `MEASURES` an `Interval`.
        """
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            for key in _keys(row, by):
                groups.setdefault(key, []).append(row)
        return [{**dict(zip(by, key, strict=True)), **self._averages(rows)} for key, rows in groups.items()]

    def _averages(self, rows: list[Row]) -> dict[str, Any]:
        numbers = {key: number for number, key in enumerate(dict.fromkeys(row["key"] for row in rows))}
        where = np.array([numbers[row["key"]] for row in rows])
        found: dict[str, Any] = {"games": len(rows), "errors": sum(bool(row["error"]) for row in rows)}
        for name, measure in MEASURES.items():
            above = np.bincount(where, [measure.above(row) for row in rows], len(numbers))
            below = np.bincount(where, [measure.below(row) for row in rows], len(numbers))
            found[name] = bootstrap(
                above, below, confidence=self.confidence, resamples=self.resamples, rng=self.settings["seed"]
            )
        return found

    def matrix(self, measure: str = "completed") -> dict[str, dict[str, Interval]]:
        """A measure of every pair: `matrix()[architect][builder]`. Raises `ConfigError` for an unknown measure."""
        if measure not in MEASURES:
            raise ConfigError(f"measure is {measure!r}, expected one of {', '.join(MEASURES)}")
        crossed: dict[str, dict[str, Interval]] = {}
        for entry in self.summary("architect", "builder"):
            crossed.setdefault(entry["architect"], {})[entry["builder"]] = entry[measure]
        return crossed

    def to_json(self) -> dict[str, Any]:
        """Settings and all tables, JSON-ready; nothing in it depends on how long the games took."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "settings": self.settings,
            "confidence": self.confidence,
            "pairs": _plain(self.summary("architect", "builder")),
            "skills": _plain(self.summary("architect", "builder", "skill")),
            "structures": _plain(self.summary("task")),
        }

    def markdown(self) -> str:
        """The tables as Markdown."""
        from iglu_marl.reports import markdown

        return markdown(self)

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write evaluation.json, pairs.csv, games.csv, evaluation.md and evaluation.html; returns the paths."""
        from iglu_marl.reports import write

        return write(self, Path(folder))


def _keys(row: Row, by: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    found = row["skills"] or ["plain"] if "skill" in by else [""]
    for skill in found:
        yield tuple(skill if name == "skill" else str(row[name]) for name in by)


def _plain(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Intervals as lists, and nan as null."""

    def value(part: Any) -> Any:
        if isinstance(part, Interval):
            return [None if number != number else round(number, 6) for number in part]
        return part

    return [{name: value(part) for name, part in entry.items()} for entry in entries]


@contextmanager
def _progress(shown: bool | None, total: int, done: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr; None: where that is a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    disabled = not (console.is_terminal if shown is None else shown)
    with Progress(*columns, console=console, transient=True, disable=disabled) as progress:
        bar = progress.add_task("games", total=total, completed=done)
        yield lambda: progress.advance(bar)


def _checked(
    episodes: int, seed: int, processes: int, examples: int, view: str, on_error: str, resamples: int
) -> None:
    for name, value, least in (
        ("episodes", episodes, 1),
        ("seed", seed, 0),
        ("processes", processes, 1),
        ("examples", examples, 0),
        ("resamples", resamples, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ConfigError(f"{name} is {value!r}, expected an integer of {least} or more")
    for name, text, known in (
        ("view", view, ("aec", "parallel")),
        ("on_error", on_error, ("raise", "count")),
    ):
        if text not in known:
            raise ConfigError(f"{name} is {text!r}, expected one of {', '.join(known)}")


def _numbered(digests: Iterable[str]) -> list[str]:
    """Each digest, with a number where it comes again."""
    seen: Counter[str] = Counter()
    keys = []
    for name in digests:
        keys.append(f"{name}/{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return keys


def evaluate(
    architects: Any = "scripted",
    builders: Any = "scripted",
    tasks: Any = "bundled",
    *,
    count: int | None = None,
    episodes: int = 1,
    seed: int = 0,
    processes: int = 1,
    output: str | os.PathLike[str] | None = None,
    controls: str = "walking",
    chat: str = "text",
    view: str = "aec",
    config: Mapping[str, Any] | None = None,
    examples: int = 3,
    on_error: str = "raise",
    confidence: float = 0.95,
    resamples: int = 1000,
    progress: bool | None = None,
) -> Evaluation:
    """Play every architect with every builder on the same tasks, and measure.

    architects, builders: names of `iglu_marl.agents` ("scripted", "terse", "hasty", …), "module:attribute", classes
        with `for_env(env)`, functions of the environment; one, several, or a mapping from names to them. With several
        processes they have to be importable from there, and a script needs its `if __name__ == "__main__":`.
    tasks, count: see `tasks_of`. episodes: games of each pair on each task; they differ in their seeds.
    seed: decides everything random. The n-th game on a task has the same seeds for every pair.
    processes: how many to spread the games over; the result is the same for any number.
    output: a folder; finished games are kept there, and the reports. Started again it goes on where it was.
    controls, chat, view ("aec" or "parallel"), config: of the game; `config` has fields of `GameConfig`. By default
        the builder may ask, sees dialog, inventory, pose and grid, and has 5,000 steps.
    examples: how many tasks have their transcripts and builds kept for the report.
    on_error: "raise" what an agent raises, or "count" the game as it stands and go on.
    confidence, resamples: of the bootstrap intervals. progress: a bar on stderr; None: on terminals.

    Raises `ConfigError`, `AgentError` or `DataError` for arguments that cannot be used.
    """
    _checked(episodes, seed, processes, examples, view, on_error, resamples)
    found = tasks_of(tasks, count=count, seed=seed)
    fields = {**DEFAULTS, "controls": controls, "chat": chat, **dict(config or {})}
    GameConfig.of(None, dict(fields))
    chosen = np.linspace(0, len(found) - 1, min(examples, len(found))).astype(int).tolist()
    plan = _Plan(
        named(architects, Role.ARCHITECT),
        named(builders, Role.BUILDER),
        found,
        _numbered(digest(task) for task in found),
        episodes,
        fields,
        view,
        int(seed),
        frozenset(chosen),
        on_error,
    )
    rows = _played(plan, processes, None if output is None else Path(output), progress)
    settings = {
        **plan.settings(),
        "architects": list(plan.architects),
        "builders": list(plan.builders),
        "tasks": [task.task_id or f"task-{number}" for number, task in enumerate(found)],
        "episodes": episodes,
        "iglu_marl": __version__,
    }
    result = Evaluation(settings, rows, confidence, resamples, found)
    if output is not None:
        result.write(output)
    return result


def _played(plan: _Plan, processes: int, output: Path | None, progress: bool | None) -> list[Row]:
    """The rows of all games of a plan, in its order: those that are in the log, and those that are played now."""
    jobs = list(plan.jobs())
    log: _Log | None = None
    if output is not None:
        try:
            output.mkdir(parents=True, exist_ok=True)
            log = _Log(output / GAMES, plan.settings())
        except OSError as error:
            raise DataError(f"{output} cannot be used as a folder: {error.strerror or error}") from None
    known = {_id(row): row for row in (log.rows if log else [])}
    wanted = {job.id: job for job in jobs}
    left = [job for job in jobs if not _is_kept(known.get(job.id), job, plan)]
    rows = {id_: known[id_] for id_ in wanted if id_ in known}
    try:
        with _progress(progress, len(jobs), len(jobs) - len(left)) as advance:
            for row in _games(plan, left, processes):
                rows[_id(row)] = row
                if log is not None:
                    log.add(row)
                advance()
    finally:
        if log is not None:
            log.close()
    return [rows[job.id] for job in jobs]


def _id(row: Row) -> tuple[str, str, str, int]:
    return row["architect"], row["builder"], row["key"], row["episode"]


def _is_kept(row: Row | None, job: Job, plan: _Plan) -> bool:
    """Whether a game need not be played again: it is known, with its transcript where that is wanted."""
    wanted = job.task in plan.examples and job.episode == 0
    return row is not None and ("dialogue" in row or not wanted)
