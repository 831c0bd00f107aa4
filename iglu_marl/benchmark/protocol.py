"""The protocol: measure agents on a level, also without the message or the target (controls), and verify results."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.registry import factory, seated
from iglu_marl.benchmark import strangers
from iglu_marl.benchmark.catalog import Level, find, make
from iglu_marl.benchmark.codes import kind_of
from iglu_marl.benchmark.controls import Resting, Scheduled, controlled, silenced
from iglu_marl.benchmark.games import Judged, judged, plays_itself, reference_env
from iglu_marl.benchmark.results import (
    FILE_SCHEMA,
    SUPERVISION,
    EpisodeRow,
    Recordings,
    Result,
    Run,
    read_result,
)
from iglu_marl.benchmark.splits import SplitName, content_digest, digest_of, others, some_of
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.errors import AgentError, ConfigError, DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.jobs import do_jobs, each, slices
from iglu_marl.core.parsing import MIB, decoded, parse_json, read_file, wrap_errors
from iglu_marl.core.schema import Entries, Field, check, some_text, whole
from iglu_marl.core.versions import versions
from iglu_marl.game.agent import Agent
from iglu_marl.recording.values import from_json, name_of, player_of, to_json

Curve = Sequence[tuple[int, float]]
Played = Iterator[tuple[Judged, dict[str, list[Any]]]]
"""Outcome of each game with the actions by role."""


def run(
    level: str | Level,
    agents: Sequence[Any],
    *,
    name: str = "agent",
    split: SplitName = "test",
    episodes: int = 200,
    seeds: Sequence[int] = (),
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
        agents: one entry per training seed: a builder, or (architect, builder); or a builder alone. Each is a name of
            `iglu_marl.agents`, "module:attribute", a class with `for_env(env)`, or a function of the environment. That
            environment has the level's spaces and settings and tasks of the training split; the games are played in
            another one. With strangers, an agent is reset once a sitting.
        name: name of the agent in tables.
        split: split of the tasks.
        episodes: games per run. Tasks of a smaller split are repeated.
        seeds: seeds of the training runs, which determine what is held out of each; (): 0, 1, ….
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
        ConfigError: if `agents`, `episodes`, `seeds` or `curves` do not fit together, or `record` has no `output`.
        AgentError: if an entry of `agents` does not fit the level.

    """
    level = find(level)
    agents = agents if isinstance(agents, (list, tuple)) else [agents]
    if episodes < 1 or not agents:
        raise ConfigError(
            f"there are {len(agents)} agents and {episodes} episodes, expected 1 or more of each"
        )
    if curves and len(curves) != len(agents):
        raise ConfigError(f"there are {len(curves)} curves, expected one for each of {len(agents)} agents")
    points = [[[int(steps), float(share)] for steps, share in curve] for curve in curves]
    given = {"name": name, "command": command, "budget": int(budget), "supervision": list(supervision)}
    with wrap_errors("the result file", ConfigError):  # before hours of games
        schema = {
            **{field: FILE_SCHEMA[field] for field in given},
            "curves": [FILE_SCHEMA["runs"][0]["curve"]],
        }
        check(schema, {**given, "curves": points})
    numbers = list(map(int, seeds or range(len(agents))))
    if len(set(numbers)) != len(agents) or min(numbers) < 0:
        raise ConfigError(f"seeds are {numbers}, expected {len(agents)} different ones of 0 or more")
    if record and output is None:
        raise ConfigError("record is True without output, expected the path of the result file")
    pairs = [_pair(level, entry) for entry in agents]
    own_actions = {plays_itself(builder) for _, builder in pairs}
    if len(own_actions) > 1:
        raise ConfigError("agents mixes scripted builders, given by name, with others; expected one kind")
    unit = strangers.GAMES if level.is_repeated else 1
    if episodes % unit:
        raise ConfigError(f"episodes is {episodes}, expected a multiple of {unit}, the games with a stranger")
    kinds = ("", *(_controls(level, pairs) if controls else ()))
    games = [_scheduled(level.fold(seed), split, seed, episodes) for seed in numbers]
    jobs = [
        (place, seed, games[place][unit * first : unit * end])
        for place, seed in enumerate(numbers)
        for first, end in slices(episodes // unit, processes)
    ]
    parts: list[_Part] = []
    work = partial(_measure, level, split, pairs, kinds)
    for _, part in do_jobs(each(work), jobs, processes=processes, in_order=True):
        parts.append(part)
        progress(f"{level.name} part {len(parts)} of {len(jobs)}")
    runs, rows = [], []
    for place, seed in enumerate(numbers):
        own = [part for part, job in zip(parts, jobs, strict=True) if job[0] == place]
        outcomes = {kind: [outcome for part in own for outcome, _ in part.played[kind]] for kind in kinds}
        architect = pairs[place][0] if isinstance(pairs[place][0], str) else "own"
        played = zip(games[place], outcomes.pop(""), strict=True)
        rows += [_row(level, seed, game, architect, outcome) for game, outcome in played]
        shares = {control: _mean(level, part) for control, part in outcomes.items()}
        curve = tuple((int(steps), share) for steps, share in points[place]) if points else ()
        runs.append(Run(seed, shares, curve))
    had = {*(supervision or _supervision(pairs))}
    if any(part.privileged for part in parts):
        had.add("target")
    kept = None
    if record and output is not None:
        lines = [line for kind in kinds for part in parts for _, line in part.played[kind]]
        text = "\n".join(lines) + "\n"
        path = write_text(Path(output).with_suffix(".games.jsonl"), text)
        kept = Recordings(path.name, hashlib.sha256(text.encode()).hexdigest(), len(lines))
    tasks = digest_of([game.task for part in games for game in part])
    result = Result(
        level.name, level.digest, name, split, episodes, tasks, int(budget), tuple(runs), command, versions(),
        rows=tuple(rows), supervision=tuple(name for name in SUPERVISION if name in had),
        own_actions=own_actions.pop(), recordings=kept,
    )  # fmt: skip
    for flag in result.flags():
        progress(flag)
    if output is not None:
        result.write(output)
    return result


class _Part(NamedTuple):
    """Games that were played.

    played: by control ("": none), outcome and recorded line of each game. privileged: whether an agent gets the task.
    """

    played: dict[str, list[tuple[Judged, str]]]
    privileged: bool


def _measure(
    level: Level,
    split: SplitName,
    pairs: Sequence[tuple[Any, Any]],
    kinds: Sequence[str],
    job: tuple[int, int, list[Scheduled]],
) -> _Part:
    """Play some games of a run. job: place and seed of its agents, and the games."""
    place, seed, games = job
    with closing(_Seats(level.fold(seed), split, pairs, place)) as seats:
        played = {
            kind: [
                (outcome, json.dumps(actions, separators=(",", ":")))
                for outcome, actions in seats.play(games, kind)
            ]
            for kind in kinds
        }
        return _Part(played, seats.privileged)


def _mean(level: Level, outcomes: Sequence[Judged]) -> float:
    """Return the mean of the level's measure."""
    return float(np.mean([getattr(outcome, level.measure) for outcome in outcomes]))


def _row(level: Level, seed: int, game: Scheduled, architect: str, outcome: Judged) -> EpisodeRow:
    """Return the row of a game. seed: of the run. architect: its name on a level with symbols."""
    partner = architect if level.is_pair and not level.is_team else ""
    if level.is_repeated:
        partner = f"stranger {game.number // strangers.GAMES}"
    return EpisodeRow(seed, content_digest(game.task), partner, game.number, *outcome)


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
    if level.is_repeated and plays_itself(builder):
        raise AgentError(f"{level.name} is played by an agent that learns codes, got {builder!r:.60}")
    if architect is not None and not level.is_pair:
        raise AgentError(f"{level.name} has one builder, expected no architect, got {architect!r:.60}")
    if architect is None and "vocabulary" in level.game:
        raise AgentError(
            f"{level.name} is played by pairs, expected (architect, builder), got {builder!r:.60}"
        )
    return architect, builder


class _Seats:
    """The agents of a run, made for an environment of the training split, and those that they play in."""

    def __init__(self, level: Level, split: SplitName, pairs: Sequence[Any], place: int) -> None:
        architect, builder = pairs[place]
        self._make = reference_env if plays_itself(builder) else make
        self.level, self._split, twin = level, split, self._make(level, "train")
        specs = {Role.BUILDER: builder, Role.ARCHITECT: architect}
        if level.is_repeated:
            specs = {_role(level): builder}
        self._agents: dict[Any, Agent] = {}
        if level.is_team:
            self._agents = {name: seated(specs[role_of(name)], twin, name) for name in twin.possible_agents}
        else:
            given = {role: spec for role, spec in specs.items() if spec is not None}
            self._agents = {role: factory(spec, role)(twin) for role, spec in given.items()}
        crossed = "cross-play" in _controls(level, pairs)
        self._next = factory(pairs[(place + 1) % len(pairs)][1], Role.BUILDER)(twin) if crossed else None
        self.privileged = any(getattr(agent, "privileged", False) for agent in self._agents.values())
        self._envs: dict[str, Any] = {"": twin}

    def close(self) -> None:
        """Close the agents and the environments."""
        for part in (*self._agents.values(), self._next, *self._envs.values()):
            if part is not None:
                part.close()

    def _env(self, name: str = "games") -> Any:
        """Return the environment of the games, a "second" one like it, or a "silent" one without messages."""
        if name not in self._envs:
            level = silenced(self.level) if name == "silent" else self.level
            self._envs[name] = self._make(level, self._split)
        return self._envs[name]

    def play(self, games: Sequence[Scheduled], control: str) -> Played:
        """Play games, and return each outcome with the actions by role."""
        if self.level.is_repeated:
            (agent,) = self._agents.values()
            yield from _sittings(self.level, self._split, agent, games, control)
            return
        silent = control == "muted" and bool(self.level.vectors)
        env = self._env("silent" if silent else "games")
        team: dict[Any, Any] = (
            {**self._agents, Role.BUILDER: self._next} if control == "cross-play" else self._agents
        )
        for game in games:
            agents = controlled("" if silent else control, game, team, env, partial(self._env, "second"))
            task = game.task
            if control == "scrambled" and not self.level.is_pair:
                task = task.replace(dialog=game.other.dialog)
            outcome, played = judged(self.level, env, agents, task, game.number)
            actions: dict[str, list[Any]] = {name_of(role): [] for role in agents}
            for turn in played.turns:
                actions[name_of(turn.role)].append(to_json(turn.action))
            yield outcome, actions


def _sittings(level: Level, split: SplitName, agent: Any, games: Sequence[Scheduled], control: str) -> Played:
    """Play games with strangers, for each of whom the agent is reset."""
    role, kind = _role(level), kind_of(level.name)
    env = strangers.Sitting(kind, split, control)
    for game in games:
        sitting, number = divmod(game.number, strangers.GAMES)
        if number == 0:
            agent.reset(role, sitting)
            seen, _ = env.reset(seed=sitting)
        action = np.asarray(agent.act(seen))
        seen, reward, *_ = env.step(action)
        changes = int(env.sittings.changes[0])
        yield Judged(reward > 0, reward > 0, float(reward > 0), changes, 1), {role.value: [action.tolist()]}


def _role(level: Level) -> Role:
    """Return the role of the agent on a level of strangers."""
    return Role.ARCHITECT if kind_of(level.name) == "listen" else Role.BUILDER


def _controls(level: Level, pairs: Sequence[tuple[Any, Any]]) -> tuple[str, ...]:
    """Return the controls of a run: those of the level, and cross-play of several pairs with symbols."""
    crossed = level.family == "symbols" and len(pairs) > 1 and not any(plays_itself(one) for _, one in pairs)
    return (*level.agent_controls, *(("cross-play",) * crossed))


def _supervision(pairs: Sequence[tuple[Any, Any]]) -> set[str]:
    """Return what agents of this package had, by their names."""
    if not all(plays_itself(builder) for _, builder in pairs):
        return set()
    had: set[str] = set()
    for _, name in pairs:
        if name in ("random", "nothing"):
            had.add("nothing")
        elif name.startswith(NamedModel.PREFIX) or "llm" in name or name == "learned":
            had.add("pretrained")
        elif name != "oracle":
            had |= {"grammar", "planner"}
    return had


# ---------------------------------------------------------------------------------------------------- verification


class Repeating(Resting):
    """An agent that repeats recorded actions."""

    def __init__(self, actions: Sequence[Any]) -> None:
        self.actions, self.next = [from_json(action) for action in actions], 0

    @property
    def idle(self) -> bool:  # type: ignore[override]
        """Whether at most one action is left, after which a game that stood still ends."""
        return self.next >= len(self.actions) - 1

    def act(self, observation: Any) -> Any:
        """Return the next action. Raises `DataError` after the last one."""
        if self.next == len(self.actions):
            raise DataError(f"the game goes on after its {self.next} recorded actions")
        self.next += 1
        return self.actions[self.next - 1]


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
    level, each = find(result.level), result.episodes
    lines = _recorded(Path(path), result)
    tasks = []
    for number, run in enumerate(result.runs):
        place, own, first = f"{path}, run {run.seed}", level.fold(run.seed), number * each
        games = _scheduled(own, result.split, run.seed, each)
        tasks += [game.task for game in games]
        starts = range(first, len(lines), len(result.rows))  # of the episodes, and of each control
        outcomes = {
            name: _replay_all(
                place, own, result, games, lines[start:][:each], name, {} if name else watch, first
            )
            for name, start in zip(("", *run.controls), starts, strict=False)
        }
        rows = result.rows[first:][:each]
        for at, (game, row) in enumerate(zip(games, rows, strict=True)):
            outcome = Judged(*(getattr(row, name) for name in Judged._fields))
            outcome = outcomes[""][at] if outcomes else outcome
            success = level.is_success(game.task, outcome.completed, outcome.changes)
            expected = _row(own, run.seed, game, rows[0].partner, outcome._replace(success=success))
            if row != expected:
                raise DataError(f"{path}, episode {at} of run {run.seed} is {row}, expected {expected}")
        for control, share in run.controls.items():
            if control in outcomes and abs(share - _mean(level, outcomes[control])) > 1e-9:
                raise DataError(f"{place}: {control} is {share}, expected that of its recorded games")
    if (digest := digest_of(tasks)) != result.tasks:
        raise DataError(f"{path}: tasks is {result.tasks}, expected {digest}")
    return len(lines)


def _replay_all(
    place: str,
    level: Level,
    result: Result,
    games: Sequence[Scheduled],
    lines: Sequence[str],
    control: str,
    watch: Mapping[int, Callable[[Any], None]],
    first: int,
) -> list[Judged]:
    """Replay recorded games, and return their outcomes. first: number of the first one."""
    moves, outcomes = [], []
    with closing((reference_env if result.own_actions else make)(level, result.split)) as env:
        for game, line in zip(games, lines, strict=True):
            with wrap_errors(f"{place}, {control or 'episode'} {game.number} cannot be replayed"):
                content = parse_json(line, f"the game {game.number}")
                if level.is_repeated:
                    check({_role(level).value: ((whole(0, 3), whole(0, 5)),)}, content, "the game")
                    moves.append(content[_role(level).value][0])
                    continue
                check(Entries(some_text(20), [Field(lambda _: True, "an action")]), content, "the game")
                agents = {player_of(name): Repeating(part) for name, part in content.items()}
                on_step = watch.get(first + game.number, lambda env: None)
                outcomes.append(judged(level, env, agents, game.task, game.number, on_step)[0])
                for name, agent in agents.items():
                    if left := len(agent.actions) - agent.next:
                        raise DataError(f"the game is over before the last {left} recorded actions of {name}")
    if level.is_repeated:
        played = _sittings(level, result.split, Repeating(moves), games[: len(lines)], control)
        outcomes = [outcome for outcome, _ in played]
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
