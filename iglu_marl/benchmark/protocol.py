"""The protocol: measure agents on a level, also without the message or the target (controls), and verify results."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.agents.registry import factory, seated
from iglu_marl.benchmark import strangers
from iglu_marl.benchmark.catalog import Level, find, make
from iglu_marl.benchmark.games import (
    Resting,
    Scheduled,
    controlled,
    judged,
    learner,
    plays_itself,
    reference_env,
    silenced,
)
from iglu_marl.benchmark.results import (
    FILE_SCHEMA,
    SUPERVISION,
    EpisodeRow,
    Recordings,
    Result,
    Run,
    read_result,
)
from iglu_marl.benchmark.splits import SplitName, content_digest, others, some_of
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.errors import AgentError, ConfigError, DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.jobs import do_jobs, each, slices
from iglu_marl.core.parsing import MIB, decoded, parse_json, read_file, wrap_errors
from iglu_marl.core.schema import check
from iglu_marl.core.versions import versions
from iglu_marl.evaluation.selection import digest_of
from iglu_marl.game.agent import Agent
from iglu_marl.game.seats import players_of
from iglu_marl.recording.values import from_json, player_of

Curve = Sequence[tuple[int, float]]
_Game = tuple[EpisodeRow, str]
"""Outcome of a game with its recorded line."""


def run(
    level: str | Level,
    agents: Sequence[Any],
    *,
    name: str = "agent",
    split: SplitName = "test",
    episodes: int = 200,
    curves: Sequence[Curve] = (),
    budget: int = 0,
    supervision: Sequence[str] = (),
    controls: bool = True,
    command: str = "",
    output: str | os.PathLike[str] | None = None,
    record: bool = False,
    processes: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measure the agents of several training runs on a level.

    Scripted builders (given by name) use the game's own actions and observe pose and grid. All other builders play in
    `make(level, split, fold=seed)`. Of several pairs with symbols, each architect also plays with the builder of the
    next run (`cross-play`, kept with the controls).

    Args:
        level: a level or its name.
        agents: one entry per training seed 0, 1, …: a builder, or (architect, builder); or a builder alone. Each is a
            name of `iglu_marl.agents`, "module:attribute", a class with `for_env(env)`, or a function of the
            environment. That environment has the level's spaces and settings and tasks of the training split; the games
            are played in another one. With strangers, an agent is reset once a sitting.
        name: name of the agent in tables.
        split: split of the tasks.
        episodes: games per run. Tasks of a smaller split are repeated.
        curves: for each run, [(environment steps, success rate)] during training.
        budget: environment steps of training.
        supervision: names of `results.SUPERVISION`, what the agents had; (): that of agents of this package, by name.
        controls: whether to measure the same agents in the `Level.agent_controls`, too.
        command: command that trained and measured the agents.
        output: path of the result file.
        record: whether to keep all games, also of the controls, beside the result file, for `verify`.
        processes: number of worker processes, for which `agents` must be picklable; does not change the result.
        progress: called with a line of text for each part of the games, and with the `Result.flags`.

    Raises:
        ConfigError: if `agents`, `episodes` or `curves` do not fit together, or `record` has no `output`.
        AgentError: if an entry of `agents` does not fit the level.

    """
    level = find(level)
    agents = agents if isinstance(agents, (list, tuple)) else [agents]
    pairs = [_pair(level, entry) for entry in agents]
    own_actions = {plays_itself(builder) for _, builder in pairs}
    count, numbers = len(agents), range(len(agents))
    unit = strangers.GAMES if level.is_repeated else 1
    for is_wrong, text in (
        (episodes < 1 or not agents, f"there are {count} agents, {episodes} episodes, expected some"),
        (episodes % unit, f"episodes is {episodes}, expected a multiple of {unit}, a sitting"),
        (curves and len(curves) != count, f"there are {len(curves)} curves, expected {count}"),
        (record and output is None, "record is True without output, expected the path of the result file"),
        (len(own_actions) > 1, "agents mixes scripted builders, given by name, with others"),
    ):
        if is_wrong:
            raise ConfigError(text)
    given = {"name": name, "command": command, "budget": int(budget), "supervision": list(supervision)}
    points: list[Any] = [[[int(steps), float(share)] for steps, share in curve] for curve in curves]
    with wrap_errors("the result file", ConfigError):  # before hours of games
        check({key: FILE_SCHEMA[key] for key in given}, given)
        check([FILE_SCHEMA["runs"][0]["curve"]], points, "curves")
    kinds = ("", *(level.agent_controls if controls else ()))
    if controls and level.family == "symbols" and count > 1 and own_actions == {False}:
        kinds = (*kinds, "cross-play")
    games = [_scheduled(level.fold(seed), split, seed, episodes) for seed in numbers]
    jobs = [
        (level.fold(seed), split, pairs, seed, kinds, games[seed][unit * first : unit * end])
        for seed in numbers
        for first, end in slices(episodes // unit, processes)
    ]
    played = [{kind: list[_Game]() for kind in kinds} for _ in numbers]
    had = {*(supervision or _supervision(pairs))}
    for number, (part, privileged) in do_jobs(each(_measure), jobs, processes=processes, in_order=True):
        had |= {"target"} if privileged else set()
        for kind, own in part.items():
            played[jobs[number][3]][kind] += own
        progress(f"{level.name} part {number + 1} of {len(jobs)}")
    kept = None
    if record and output is not None:
        lines = [line for kind in kinds for own in played for _, line in own[kind]]
        text = "\n".join(lines) + "\n"
        path = write_text(Path(output).with_suffix(".games.jsonl"), text)
        kept = Recordings(path.name, hashlib.sha256(text.encode()).hexdigest(), len(lines))
    architects = [architect if isinstance(architect, str) else "own" for architect, _ in pairs]
    outcomes = [{kind: [outcome for outcome, _ in own[kind]] for kind in kinds} for own in played]
    runs, rows = _figures(level, numbers, architects, outcomes)
    if points:
        runs = [run._replace(curve=tuple(map(tuple, own))) for run, own in zip(runs, points, strict=True)]
    tasks = digest_of(game.task for own in games for game in own)
    result = Result(
        level.name, level.digest, name, split, tasks, int(budget), tuple(runs), command, versions(),
        rows=tuple(rows), supervision=tuple(name for name in SUPERVISION if name in had),
        own_actions=own_actions.pop(), recordings=kept,
    )  # fmt: skip
    for flag in result.flags():
        progress(flag)
    if output is not None:
        result.write(output)
    return result


def _measure(job: Sequence[Any]) -> tuple[dict[str, list[_Game]], bool]:
    """Play some games of a run, by control, and return whether an agent gets the task.

    job: arguments of `_Seats`, and the games.
    """
    *about, games = job
    with closing(_Seats(*about)) as seats:
        return {kind: list(seats.play(games, kind)) for kind in about[-1]}, seats.privileged


def _figures(
    level: Level,
    seeds: Sequence[int],
    architects: Sequence[str],
    outcomes: Sequence[Mapping[str, Sequence[EpisodeRow]]],
) -> tuple[list[Run], list[EpisodeRow]]:
    """Return the runs, without curves, and the rows of their games.

    architects: of each run. outcomes: of each run by control.
    """
    runs, rows = list[Run](), list[EpisodeRow]()
    for seed, architect, played in zip(seeds, architects, outcomes, strict=True):
        partner = architect if level.family == "symbols" else ""
        for row in played[""]:
            stranger = f"stranger {row.seed // strangers.GAMES}" if level.is_repeated else partner
            rows.append(row._replace(run=seed, partner=stranger))
        measured = {kind: [getattr(row, level.measure) for row in part] for kind, part in played.items()}
        runs.append(Run(seed, {kind: float(np.mean(part)) for kind, part in measured.items() if kind}))
    return runs, rows


def _scheduled(level: Level, split: SplitName, seed: int, episodes: int) -> list[Scheduled]:
    """Return the games of a run: every task, and again; ten with each stranger, the same in all runs.

    Over repeated tasks, a control gets each of the other tasks in turn, and every other time dark pictures.
    """
    if level.is_repeated:
        tasks = strangers.tasks_of(-(-episodes // strangers.GAMES))[:episodes]
        return [Scheduled(number, task, task) for number, task in enumerate(tasks)]
    tasks = some_of(level.tasks(split), episodes)
    rest = others(tasks)
    first = np.random.default_rng(seed).integers([len(part) for part in rest])
    found = []
    for number in range(episodes):
        turn, place = divmod(number, len(tasks))
        other = rest[place][(first[place] + turn) % len(rest[place])]
        found.append(Scheduled(number, tasks[place], other, bool((turn + place) % 2)))
    return found


def _pair(level: Level, entry: Any) -> tuple[Any, Any]:
    """Return architect and builder of an entry; None as the architect: the task's own dialogue."""
    architect, builder = entry if isinstance(entry, (tuple, list)) else (None, entry)
    for is_wrong, players in (
        (level.is_repeated and plays_itself(builder), "an agent that learns codes"),
        (architect is not None and not level.is_pair, "a builder alone"),
        (architect is None and "vocabulary" in level.game, "pairs (architect, builder)"),
    ):
        if is_wrong:
            raise AgentError(f"{level.name} is played by {players}, got {entry!r:.60}")
    return architect, builder


class _Seats:
    """The agents of a run, made for an environment of the training split, and those that they play in."""

    def __init__(
        self, level: Level, split: SplitName, pairs: Sequence[Any], run: int, kinds: Sequence[str]
    ) -> None:
        architect, builder = pairs[run]
        self._make = reference_env if plays_itself(builder) else make
        self.level, self._split, twin = level, split, self._make(level, "train")
        specs = {Role.BUILDER: builder, Role.ARCHITECT: architect}
        self._agents: dict[Any, Agent]
        if level.is_repeated:
            self._agents = {learner(level): factory(builder, learner(level))(twin)}
        else:
            players = players_of(twin).items()
            self._agents = {player: seated(specs[role_of(seat)], twin, seat) for seat, player in players}
        following = pairs[(run + 1) % len(pairs)][1]
        self._next = factory(following, Role.BUILDER)(twin) if "cross-play" in kinds else None
        self.privileged = any(getattr(agent, "privileged", False) for agent in self._agents.values())
        self._twin, self._envs = twin, dict[str, Any]()

    def close(self) -> None:
        """Close the agents and the environments."""
        for part in (*self._agents.values(), self._next, self._twin, *self._envs.values()):
            if part is not None:
                part.close()

    def _env(self, name: str = "") -> Any:
        """Return the environment of the games, that of a control, or a "second" one like the first."""
        if name not in self._envs:
            level = silenced(self.level) if name == "muted" and self.level.vectors else self.level
            options: dict[str, Any] = {"control": name} if level.is_repeated else {}
            self._envs[name] = self._make(level, self._split, **options)
        return self._envs[name]

    def play(self, games: Sequence[Scheduled], control: str) -> Iterator[_Game]:
        """Play games, and return each outcome with its recorded line."""
        level = self.level
        team = dict(self._agents)
        if self._next is not None and control == "cross-play":
            team[Role.BUILDER] = self._next
        by_env = level.is_repeated or (control == "muted" and level.vectors)
        env = self._env(control if by_env else "")
        for game in games:
            agents, task = team, game.task
            if not by_env:
                agents = controlled(control, game, team, env, partial(self._env, "second"))
            if control == "scrambled" and not level.is_pair:
                task = task.replace(dialog=game.other.dialog)
            outcome, actions = judged(level, env, agents, task, game.number)
            yield outcome, json.dumps(actions, separators=(",", ":"))


def _supervision(pairs: Sequence[tuple[Any, Any]]) -> set[str]:
    """Return what agents of this package had, by their names."""
    had: set[str] = set()
    for _, name in pairs:
        if name in ("random", "nothing"):
            had.add("nothing")
        elif plays_itself(name) and ("llm" in name or name == "learned"):
            had.add("pretrained")
        elif plays_itself(name) and name != "oracle":
            had |= {"grammar", "planner"}
    return had


# ---------------------------------------------------------------------------------------------------- verification


class Repeating(Resting):
    """An agent that repeats recorded actions."""

    def __init__(self, actions: Sequence[Any]) -> None:
        self.left = [from_json(action) for action in reversed(actions)]

    @property
    def idle(self) -> bool:  # type: ignore[override]
        """Whether at most one action is left, after which a game that stood still ends."""
        return len(self.left) <= 1

    def act(self, observation: Any) -> Any:
        """Return the next action. Raises `DataError` after the last one."""
        if not self.left:
            raise DataError("the game goes on after its recorded actions")
        return self.left.pop()


def verify(path: str | os.PathLike[str], watch: Mapping[int, Callable[[Any], None]] = {}) -> int:
    """Check a result file against its level, replay its recorded games, and return their number.

    Tasks and successes must follow from level, seeds and number of episodes. Recorded games must have the outcomes of
    the file, and those of controls its success rates. Returns 0 if no games were recorded. What a file lacks is no
    error: see `Result.faults`.

    Args:
        path: the result file.
        watch: by number of an episode in the file, `on_step` of `play` for its replay.

    Raises:
        DataError: if anything differs.

    """
    result = read_result(path)
    level, seeds, first = (
        find(result.level),
        [run.seed for run in result.runs],
        result.rows[:: result.episodes],
    )
    lines = _recorded(Path(path), result)
    games = [_scheduled(level.fold(seed), result.split, seed, result.episodes) for seed in seeds]
    outcomes = [_outcomes(path, result, at, own, lines, watch) for at, own in enumerate(games)]
    runs, rows = _figures(level, seeds, [row.partner for row in first], outcomes)
    for row, expected in zip(result.rows, rows, strict=True):
        if row != expected:
            raise DataError(f"{path}, episode {row.seed} of run {row.run} is {row}, expected {expected}")
    for run, played in zip(result.runs, runs, strict=True):
        shares = {name: run.controls[name] for name in played.controls}
        if any(abs(share - played.controls[name]) > 1e-9 for name, share in shares.items()):
            raise DataError(f"{path}, run {run.seed}: controls are {shares}, expected {played.controls}")
    if (digest := digest_of(game.task for own in games for game in own)) != result.tasks:
        raise DataError(f"{path}: tasks is {result.tasks}, expected {digest}")
    return len(lines)


def _outcomes(
    path: str | os.PathLike[str],
    result: Result,
    at: int,
    games: Sequence[Scheduled],
    lines: Sequence[str],
    watch: Mapping[int, Callable[[Any], None]],
) -> dict[str, list[EpisodeRow]]:
    """Replay the recorded games of a run, and return their outcomes by control ("": none).

    Without recordings, the outcomes of its rows count, by the level's rule. at: number of the run.
    """
    run, first = result.runs[at], at * result.episodes
    level = find(result.level).fold(run.seed)
    if not lines:
        rows = []
        for game, row in zip(games, result.rows[first:], strict=False):
            success = level.is_success(game.task, row.completed, row.changes)
            rows.append(row._replace(task=content_digest(game.task), success=success))
        return {"": rows}
    outcomes: dict[str, list[EpisodeRow]] = {}
    starts = range(first, len(lines), len(result.rows))
    for kind, start in zip(("", *run.controls), starts, strict=True):
        options: dict[str, Any] = {"control": kind} if level.is_repeated else {}
        make_env = reference_env if result.own_actions else make
        with closing(make_env(level, result.split, **options)) as env:
            for game, line in zip(games, lines[start:][: len(games)], strict=True):
                place = f"{path}, run {run.seed}, {kind or 'episode'} {game.number}"
                with wrap_errors(f"{place} cannot be replayed"):
                    content = parse_json(line, f"the game {game.number}")
                    agents = {player_of(name): Repeating(part) for name, part in content.items()}
                    on_step = watch.get(start + game.number, lambda env: None)
                    outcome, actions = judged(level, env, agents, game.task, game.number, on_step)
                    if actions != content:
                        raise DataError("the game is over before its last recorded action")
                outcomes.setdefault(kind, []).append(outcome)
    return outcomes


def _recorded(path: Path, result: Result) -> list[str]:
    """Return the lines of the recorded games of a result: of its episodes, then of each control."""
    if result.recordings is None:
        return []
    games, expected = path.with_name(result.recordings.file), result.recordings.sha256
    content = read_file(games, 4096 * MIB)
    if (found := hashlib.sha256(content).hexdigest()) != expected:
        raise DataError(f"the SHA-256 of {games} is {found}, expected {expected}")
    lines = decoded(content, str(games)).splitlines()
    if len(lines) != result.recordings.games:
        raise DataError(f"{games} has {len(lines)} games, expected {result.recordings.games}")
    return lines
