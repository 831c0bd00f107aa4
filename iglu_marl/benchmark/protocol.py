"""The protocol: measure agents on a level, also without the message or the target (controls), and verify results."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
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
from iglu_marl.benchmark.controls import Observing, Scheduled, alone, changes_of, silenced
from iglu_marl.benchmark.games import Judged, judged, plays_itself, reference_env
from iglu_marl.benchmark.results import (
    FILE_SCHEMA,
    SUPERVISION,
    EpisodeRow,
    Recordings,
    Result,
    Run,
    means,
    read_result,
)
from iglu_marl.benchmark.splits import SplitName, content_digest, digest_of, others, some_of
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.errors import AgentError, ConfigError, DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.jobs import do_jobs, each, slices
from iglu_marl.core.parsing import MIB, decoded, parse_json, read_file, wrap_errors
from iglu_marl.core.schema import Entries, Field, check, some_text, whole
from iglu_marl.core.task import Task
from iglu_marl.core.versions import versions
from iglu_marl.envs.batch_observations import rows as rows_of
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
    if episodes < 1 or not agents or budget < 0:
        given = f"{len(agents)} agents, {episodes} episodes and a budget of {budget}"
        raise ConfigError(f"there are {given}, expected 1 or more agents and episodes, and 0 steps or more")
    if curves and len(curves) != len(agents):
        raise ConfigError(f"there are {len(curves)} curves, expected one for each of {len(agents)} agents")
    budget, points = int(budget), [[[int(steps), float(share)] for steps, share in curve] for curve in curves]
    with wrap_errors("the result file", ConfigError):  # before hours of games
        fields = {"name": name, "command": command, "budget": budget, "supervision": list(supervision)}
        for field, value in fields.items():
            check(FILE_SCHEMA[field], value, field)
        check([FILE_SCHEMA["runs"][0]["curve"]], points, "curves")
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
    job = _Job(level, split, pairs, numbers, episodes, kinds)
    ends = [(unit * first, unit * end) for first, end in slices(episodes // unit, processes)]
    parts = [(place, *end) for place in range(len(pairs)) for end in ends]
    done: dict[int, _Measured] = {}
    for number, measured in do_jobs(each(partial(_measure, job)), parts, processes=processes):
        done[number] = measured
        progress(f"{level.name} part {len(done)} of {len(parts)}")
    found, rows, tasks = [], [], []
    for place, seed in enumerate(numbers):
        own = [done[place * len(ends) + number] for number in range(len(ends))]
        rows += [row for part in own for row in part.rows]
        tasks += [task for part in own for task in part.tasks]
        taken = {
            control: float(np.mean([score for part in own for score in part.controls[control]]))
            for control in kinds[1:]
        }
        curve = tuple((int(steps), share) for steps, share in points[place]) if points else ()
        found.append(Run(seed, means(rows[-episodes:]), taken, curve))
    had = {*(supervision or _supervision(pairs))}
    if any(part.privileged for part in done.values()):
        had.add("target")
    kept = None
    if record and output is not None:
        lines = [line for kind in kinds for part in range(len(parts)) for line in done[part].lines[kind]]
        text = "\n".join(lines) + "\n"
        path = write_text(Path(output).with_suffix(".games.jsonl"), text)
        kept = Recordings(path.name, hashlib.sha256(text.encode()).hexdigest(), len(lines))
    result = Result(
        level.name, level.digest, name, split, episodes, digest_of(tasks), budget, tuple(found), command, versions(),
        rows=tuple(rows), supervision=tuple(name for name in SUPERVISION if name in had),
        own_actions=own_actions.pop(), recordings=kept,
    )  # fmt: skip
    for flag in result.flags():
        progress(flag)
    if output is not None:
        result.write(output)
    return result


class _Job(NamedTuple):
    """What all parts of a run share: the arguments of `run`."""

    level: Level
    split: SplitName
    pairs: list[tuple[Any, Any]]
    seeds: list[int]
    episodes: int
    kinds: tuple[str, ...]


class _Measured(NamedTuple):
    """Result of a part.

    rows: its episodes. tasks: their tasks. lines: recorded games by control ("": none). controls: the level's measure
    of each game, by control.
    """

    rows: list[EpisodeRow]
    tasks: list[Task]
    lines: dict[str, list[str]]
    controls: dict[str, list[float]]
    privileged: bool


def _measure(job: _Job, part: tuple[int, int, int]) -> _Measured:
    """Play a part of a run: the games first..end - 1 of the agents of a place."""
    place, first, end = part
    seed = job.seeds[place]
    level = job.level.fold(seed)
    games = _scheduled(level, job.split, seed, job.episodes)[first:end]
    with closing((_Sittings if level.is_repeated else _Seats)(level, job.split, job.pairs, place)) as seats:
        played = {kind: list(seats.play(games, kind)) for kind in job.kinds}
    rows = [
        EpisodeRow(
            seed, content_digest(game.task), _partner(level, game, seats.partner), game.number, *outcome
        )
        for (outcome, _), game in zip(played[""], games, strict=True)
    ]
    lines = {
        kind: [json.dumps(acts, separators=(",", ":")) for _, acts in own] for kind, own in played.items()
    }
    taken = {
        kind: [float(getattr(outcome, level.measure)) for outcome, _ in own] for kind, own in played.items()
    }
    return _Measured(rows, [game.task for game in games], lines, taken, seats.privileged)


def _partner(level: Level, game: Scheduled, architect: str) -> str:
    """Return the partner of a game as a row has it. architect: its name on a level with symbols."""
    if level.is_repeated:
        return f"stranger {game.number // strangers.GAMES}"
    return architect if level.is_pair and not level.is_team else ""


def _scheduled(level: Level, split: SplitName, seed: int, episodes: int) -> list[Scheduled]:
    """Return the games of a run: every task, and again; ten with each stranger, the same in all runs.

    Over repeated tasks, a control gets each of the other tasks in turn, and every other time dark pictures.
    """
    if level.is_repeated:
        blocks = strangers.blocks_of(kind_of(level.name), split, -(-episodes // strangers.GAMES))
        own = [strangers.TASKS[number] for number in blocks[:episodes]]
        return [Scheduled(number, task, task) for number, task in enumerate(own)]
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
        self.partner = architect if isinstance(architect, str) else "own"
        self._made = reference_env if plays_itself(builder) else make
        self.level, self._split, twin = level, split, self._made(level, "train")
        specs = {Role.BUILDER: builder, Role.ARCHITECT: architect}
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
            self._envs[name] = self._made(
                silenced(self.level) if name == "silent" else self.level, self._split
            )
        return self._envs[name]

    def play(self, games: Sequence[Scheduled], control: str) -> Played:
        """Play games, and return each outcome with the actions by role."""
        silent = control == "muted" and bool(self.level.vectors)
        env = self._env("silent" if silent else "games")
        for game in games:
            agents = dict(self._agents)
            if control == "cross-play" and self._next is not None:
                agents[Role.BUILDER] = self._next
            if control == "alone":
                agents = alone(agents, env)
            changes = changes_of("" if silent else control, game, list(agents), partial(self._env, "second"))
            known = game.other if control == "blind" else None
            agents = {
                player: Observing(agent, changes[player], known) if player in changes else agent
                for player, agent in agents.items()
            }
            task = game.task
            if control == "scrambled" and not self.level.is_pair:
                task = task.replace(dialog=game.other.dialog)
            outcome, played = judged(self.level, env, agents, task, game.number)
            actions: dict[str, list[Any]] = {name_of(role): [] for role in agents}
            for turn in played.turns:
                actions[name_of(turn.role)].append(to_json(turn.action))
            yield outcome, actions


class _Sittings:
    """The agent of a run on a level of strangers, which is reset for each sitting."""

    privileged, partner = False, ""

    def __init__(self, level: Level, split: SplitName, pairs: Sequence[Any], place: int) -> None:
        self._level, self._split, self._twin = level, split, make(level, "train")
        self._agent = factory(pairs[place][1], _role(level))(self._twin)

    def close(self) -> None:
        """Close the agent and its environment."""
        self._agent.close()
        self._twin.close()

    def play(self, games: Sequence[Scheduled], control: str) -> Played:
        """Play sittings, and return the outcome of each game with its action."""
        role, kind = _role(self._level), kind_of(self._level.name)
        for game in games[:: strangers.GAMES]:
            number = game.number // strangers.GAMES
            self._agent.reset(role, number)
            played = strangers.play(kind, self._split, self._act, [number], control)
            for outcome, action in zip(_outcomes(played), played.actions[0].tolist(), strict=True):
                yield outcome, {role.value: [action]}

    def _act(self, seen: Any) -> Any:
        return np.array([self._agent.act(rows_of(seen, 0))])


def _role(level: Level) -> Role:
    """Return the role of the agent on a level of strangers."""
    return Role.ARCHITECT if kind_of(level.name) == "listen" else Role.BUILDER


def _outcomes(played: strangers.SittingsRecord) -> list[Judged]:
    """Return the outcomes of all games, one sitting after the other."""
    pairs = zip(played.rewards.ravel().tolist(), played.changes.ravel().tolist(), strict=True)
    return [Judged(reward > 0, reward > 0, float(reward > 0), changes, 1) for reward, changes in pairs]


def _controls(level: Level, pairs: Sequence[tuple[Any, Any]]) -> tuple[str, ...]:
    """Return the controls of a run: those of the level, and cross-play of several pairs with symbols."""
    crossed = level.family == "symbols" and len(pairs) > 1 and not any(plays_itself(one) for _, one in pairs)
    return (*level.agent_controls, *(("cross-play",) * crossed))


def _supervision(pairs: Sequence[tuple[Any, Any]]) -> set[str]:
    """Return what agents of this package had, by their names."""
    if not all(plays_itself(builder) for _, builder in pairs):
        return set()
    names = {builder for _, builder in pairs}
    named = names - {"random", "nothing", "oracle"}
    trained = {
        name for name in named if name.startswith(NamedModel.PREFIX) or "llm" in name or name == "learned"
    }
    had = {*(("pretrained",) * bool(trained)), *(("grammar", "planner") * bool(named - trained))}
    return had if "oracle" in names or had else {"nothing"}


# ---------------------------------------------------------------------------------------------------- verification


class Repeating:
    """An agent that repeats recorded actions."""

    def __init__(self, actions: Sequence[Any]) -> None:
        self._actions, self._next = [from_json(action) for action in actions], 0

    @property
    def left(self) -> int:
        """Number of actions that are left."""
        return len(self._actions) - self._next

    @property
    def idle(self) -> bool:
        """Whether at most one action is left, after which a game that stood still ends."""
        return self.left <= 1

    def reset(self, role: Role, seed: int | None) -> None:
        """Do nothing."""

    def act(self, observation: Any) -> Any:
        """Return the next action. Raises `DataError` after the last one."""
        if self._next == len(self._actions):
            raise DataError(f"the game goes on after its {self._next} recorded actions")
        self._next += 1
        return self._actions[self._next - 1]

    def close(self) -> None:
        """Do nothing."""


def verify(path: str | os.PathLike[str]) -> int:
    """Check a result file against its level, replay its recorded games, and return their number.

    Tasks and successes must follow from level, seeds and number of episodes. Recorded games must have the outcomes of
    the file, and those of controls its success rates. Returns 0 if no games were recorded. What a file lacks is no
    error: see `Result.faults`.

    Raises:
        DataError: if anything differs.

    """
    result = read_result(path)
    level, each = find(result.level), result.episodes
    lines = _recorded(Path(path), result)
    tasks = []
    for number, run in enumerate(result.runs):
        place, own = f"{path}, run {run.seed}", level.fold(run.seed)
        rows = result.rows[number * each :][:each]
        games = _scheduled(own, result.split, run.seed, each)
        tasks += [game.task for game in games]
        starts = range(number * each, len(lines), len(result.rows))  # of the episodes, and of each control
        names = zip(("", *run.controls), starts, strict=False)
        outcomes = {
            name: _replay_all(place, own, result, games, lines[start:][:each], name) for name, start in names
        }
        for episode, (game, row) in enumerate(zip(games, rows, strict=True)):
            expected = row._replace(
                task=content_digest(game.task),
                partner=_partner(own, game, rows[0].partner),
                success=level.is_success(game.task, row.completed, row.changes),
            )
            if outcomes:
                expected = expected._replace(**outcomes[""][episode]._asdict())
            if row != expected:
                raise DataError(f"{path}, episode {episode} of run {run.seed} is {row}, expected {expected}")
        for control, share in run.controls.items():
            if control in outcomes:
                scores = [getattr(outcome, level.measure) for outcome in outcomes[control]]
                if abs(share - float(np.mean(scores))) > 1e-9:
                    raise DataError(f"{place}: {control} is {share}, expected that of its recorded games")
    if (found := digest_of(tasks)) != result.tasks:
        raise DataError(f"{path}: tasks is {result.tasks}, expected {found}")
    return len(lines)


def _replay_all(
    place: str, level: Level, result: Result, games: Sequence[Scheduled], lines: Sequence[str], control: str
) -> list[Judged]:
    """Replay the recorded games of a run or of a control, and return their outcomes."""
    if level.is_repeated:
        return _replay_sittings(place, level, result.split, lines, control)
    found = []
    with closing((reference_env if result.own_actions else make)(level, result.split)) as env:
        for game, line in zip(games, lines, strict=True):
            with wrap_errors(f"{place}, {control or 'episode'} {game.number} cannot be replayed"):
                found.append(_replay(level, env, line, game.task, game.number))
    return found


def _replay_sittings(
    place: str, level: Level, split: SplitName, lines: Sequence[str], control: str
) -> list[Judged]:
    """Play the actions of recorded games with strangers. Where these only listen, they are `muted` again."""
    role, actions = _role(level).value, []
    for number, line in enumerate(lines):
        with wrap_errors(f"{place}, {control or 'episode'} {number} cannot be replayed"):
            content = parse_json(line, f"the game {number}")
            check({role: ((whole(0, 3), whole(0, 5)),)}, content, "the game")
            actions.append(content[role][0])
    moves = iter(np.array(actions).reshape(-1, strangers.GAMES, 2).swapaxes(0, 1))
    sittings = range(len(lines) // strangers.GAMES)
    return _outcomes(strangers.play(kind_of(level.name), split, lambda seen: next(moves), sittings, control))


def replayed(
    path: str | os.PathLike[str], number: int, on_step: Callable[[Any], None] = lambda env: None
) -> Judged:
    """Replay a recorded game of a result file and return its outcome.

    number: number of the episode in the file. on_step: as of `play`.

    Raises `DataError` if the game cannot be replayed.
    """
    result = read_result(path)
    row = result.rows[number]
    level = find(result.level).fold(row.run)
    game = _scheduled(level, result.split, row.run, result.episodes)[row.seed]
    with (
        closing((reference_env if result.own_actions else make)(level, result.split)) as env,
        wrap_errors(f"{path}, episode {number} cannot be replayed"),
    ):
        return _replay(level, env, _recorded(Path(path), result)[number], game.task, row.seed, on_step)


def _replay(
    level: Level,
    env: Any,
    line: str,
    task: Task,
    seed: int,
    on_step: Callable[[Any], None] = lambda env: None,
) -> Judged:
    """Play the actions of a line of recorded games."""
    actions = parse_json(line, f"the game {seed}")
    check(Entries(some_text(20), [Field(lambda _: True, "an action")]), actions, "the game")
    agents = {player_of(name): Repeating(part) for name, part in actions.items()}
    outcome, _ = judged(level, env, agents, task, seed, on_step)
    for name, agent in agents.items():
        if agent.left:
            raise DataError(f"the game is over before the last {agent.left} recorded actions of {name}")
    return outcome


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
