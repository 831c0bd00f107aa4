"""The protocol: measure agents on a level, also without the message or the target (controls), and verify results."""

from __future__ import annotations

import gc
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.benchmark.batches import AgentBatch, is_batch, judged_many
from iglu_marl.benchmark.catalog import Level, find, make
from iglu_marl.benchmark.controls import Observing, Scheduled, alone, changes_of
from iglu_marl.benchmark.games import (
    BACKGROUND,
    Judged,
    background,
    judged,
    plays_itself,
    reference_env,
    team_of,
)
from iglu_marl.benchmark.results import FILE_SCHEMA, EpisodeRow, Recordings, Result, Run, means, read_result
from iglu_marl.benchmark.splits import SplitName, content_digest, digest_of, others, some_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError, ConfigError, DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.jobs import RAY_PARTS, do_jobs, each, slices
from iglu_marl.core.parsing import parse_json, wrap_errors
from iglu_marl.core.schema import Entries, Field, check, some_text
from iglu_marl.core.task import Task
from iglu_marl.core.versions import versions
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER
from iglu_marl.evaluation.selection import factory
from iglu_marl.recording.rollout import Trajectory
from iglu_marl.recording.values import from_json, name_of, player_of, to_json

Curve = Sequence[tuple[int, float]]


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
    controls: bool = True,
    command: str = "",
    output: str | os.PathLike[str] | None = None,
    record: bool = False,
    ray: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measure the agents of several training runs on a level.

    Scripted builders (given by name) use the game's own actions and observe pose and grid. All other builders play in
    `make(level, split, fold=seed)`. Without an architect, the level's scripted ones speak. On `partners` levels, each
    architect of a learned pair plays with the builders of the other runs. Every task meets every partner.

    Args:
        level: a level or its name.
        agents: one entry per training seed: a builder, or (architect, builder); or a builder alone. Each is a name of
            `iglu_marl.agents`, "module:attribute", a class with `for_env(env)`, or a function of the environment. That
            environment has the level's spaces and settings and tasks of the training split; the games are played in
            another one. A builder that is a `batches.BatchPlayer` plays all games of a run side by side. "background"
            in place of one: the level's frozen partners, each in turn.
        name: name of the agent in tables.
        split: split of the tasks.
        episodes: games per run. Tasks of a smaller split are repeated.
        seeds: seeds of the training runs, which determine what is held out of each; (): 0, 1, ….
        curves: for each run, [(environment steps, success rate)] during training.
        budget: environment steps of training.
        controls: whether to measure the same agents in the `Level.agent_controls`, too.
        command: command that trained and measured the agents.
        output: path of the result file.
        record: whether to keep all games, also of the controls, beside the result file, for `verify`.
        ray: address of a Ray cluster that plays the games, "auto" or "local" (see `core.jobs.do_jobs`); "": none. Does
            not change the result.
        progress: called with a line of text for each part of the games, and with the `Result.flags` that do not depend
            on chance.

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
        for field, value in {"name": name, "command": command, "budget": budget}.items():
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
    job = _Job(level, split, pairs, numbers, episodes, controls, record)
    ends = slices(episodes, max(1, RAY_PARTS // len(pairs)) if ray else 1)
    parts = [_Part(place, *end) for place in range(len(pairs)) for end in ends]
    done: dict[int, _Measured] = {}
    for number, measured in do_jobs(each(partial(_measure, job)), parts, ray=ray):
        done[number] = measured
        progress(f"{level.name} part {len(done)} of {len(parts)}")
    found, rows, tasks = [], [], []
    kinds = ("", *(level.agent_controls if controls else ()))
    for place, seed in enumerate(numbers):
        own = [done[place * len(ends) + number] for number in range(len(ends))]
        rows += [row for part in own for row in part.rows]
        tasks += [task for part in own for task in part.tasks]
        taken = {
            control: float(np.mean([won for part in own for won in part.controls[control]]))
            for control in own[0].controls
        }
        curve = tuple((int(steps), share) for steps, share in points[place]) if points else ()
        found.append(Run(seed, means(rows[-episodes:]), taken, curve))
    privileged = any(part.privileged for part in done.values())
    kept = None
    if record and output is not None:
        lines = [line for kind in kinds for part in range(len(parts)) for line in done[part].lines[kind]]
        text = "\n".join(lines) + "\n"
        path = write_text(Path(output).with_suffix(".games.jsonl"), text)
        kept = Recordings(path.name, hashlib.sha256(text.encode()).hexdigest(), len(lines))
    result = Result(
        level.name, level.digest, name, split, episodes, digest_of(tasks), budget, tuple(found), command, versions(),
        rows=tuple(rows), privileged=privileged, own_actions=own_actions.pop(), recordings=kept,
    )  # fmt: skip
    for flag in result.flags():
        progress(flag)
    if output is not None:
        result.write(output)
    return result


def cross_play(
    level: str | Level,
    architects: Mapping[str, Any],
    builders: Mapping[str, Any],
    *,
    games: int = 64,
    split: SplitName = "test",
    seed: int = 0,
) -> dict[str, dict[str, float]]:
    """Return the success rate of every architect with every builder: `result[architect][builder]`.

    Args:
        level: a two-agent level or its name.
        architects: by label, as in `run`; or a `batches.BatchPlayer` itself.
        builders: the same for builders.
        games: games per pair, on the same tasks.
        split: split of the tasks.
        seed: seed of tasks and agents.

    Raises:
        ConfigError: if the level has a single builder.

    """
    level = find(level)
    if not level.is_pair or level.is_team:
        raise ConfigError(f"level is {level.name!r}, expected one of pairs (architect and builder)")
    tasks = some_of(level.tasks(split), games, seed)
    chosen = [tasks[number % len(tasks)] for number in range(games)]
    schedule = [Scheduled(seed + number, task, task, 0) for number, task in enumerate(chosen)]
    rates: dict[str, dict[str, float]] = {name: {} for name in architects}
    for architect, builder in product(architects, builders):
        pair = (_maker(architects[architect], Role.ARCHITECT), _maker(builders[builder], Role.BUILDER))
        with SeatedAgents(level, split, [pair], [seed], 0) as table:
            outcomes = [outcome.success for outcome, _ in table.play(schedule, "")]
        rates[architect][builder] = float(np.mean(outcomes))
    return rates


def _maker(spec: Any, role: Role) -> Any:
    """Return what makes an agent. The name of an architect is this one alone, also where a level has several."""
    if is_batch(spec) and not isinstance(spec, type):
        return lambda env: spec
    return factory(spec, role) if role is Role.ARCHITECT else spec


class _Job(NamedTuple):
    """What all parts of a run share: the arguments of `run`."""

    level: Level
    split: SplitName
    pairs: list[tuple[Any, Any]]
    seeds: list[int]
    episodes: int
    controls: bool
    record: bool


class _Part(NamedTuple):
    """The games first..end - 1 of a training run."""

    place: int
    first: int
    end: int


class _Measured(NamedTuple):
    """Result of a part.

    rows: its episodes. tasks: their tasks. lines: recorded games by control ("": none). controls: successes by control.
    """

    rows: list[EpisodeRow]
    tasks: list[Task]
    lines: dict[str, list[str]]
    controls: dict[str, list[bool]]
    privileged: bool


def _measure(job: _Job, part: _Part) -> _Measured:
    """Play a part of a run."""
    seed = job.seeds[part.place]
    with SeatedAgents(job.level.fold(seed), job.split, job.pairs, job.seeds, part.place) as table:
        games = _scheduled(table.level, job.split, seed, job.episodes, len(table.partners))[
            part.first : part.end
        ]
        kinds = ("", *(job.level.agent_controls if job.controls else ()))
        played = {kind: list(table.play(games, kind, job.record)) for kind in kinds}
        rows = [
            EpisodeRow(
                seed,
                content_digest(game.task),
                table.partners[game.partner][0],
                game.number,
                **outcome._asdict(),
            )
            for (outcome, _), game in zip(played[""], games, strict=True)
        ]
        lines = {
            kind: [json.dumps(actions, separators=(",", ":")) for _, actions in own]
            for kind, own in played.items()
        }
        taken = {kind: [outcome.success for outcome, _ in played[kind]] for kind in kinds[1:]}
        return _Measured(rows, [game.task for game in games], lines, taken, table.privileged)


def _scheduled(level: Level, split: SplitName, seed: int, episodes: int, partners: int) -> list[Scheduled]:
    """Return the games of a run: every task with every partner, and again.

    Over repeated tasks, a control gets each of the other tasks in turn, and every other time dark pictures.
    """
    tasks = some_of(level.tasks(split), -(-episodes // partners))
    rest = others(tasks)
    first = np.random.default_rng(seed).integers([len(part) for part in rest])
    found = []
    for number in range(episodes):
        turn, place = divmod(number // partners, len(tasks))
        other = rest[place][(first[place] + turn) % len(rest[place])]
        found.append(Scheduled(number, tasks[place], other, number % partners, bool((turn + place) % 2)))
    return found


def _pair(level: Level, entry: Any) -> tuple[Any, Any]:
    """Return architect and builder of an entry. None as the architect: a scripted one, or the task's own dialogue."""
    architect, builder = entry if isinstance(entry, (tuple, list)) else (None, entry)
    strangers = [architect, builder].count(BACKGROUND)
    if strangers == 2:
        raise AgentError(f"architect and builder are both {BACKGROUND!r}, expected one agent to be measured")
    if strangers and not background(level):
        raise AgentError(f"{level.name} has no frozen partners for {BACKGROUND!r}")
    if architect is not None and not level.is_pair:
        raise AgentError(f"{level.name} has one builder, expected no architect, got {architect!r:.60}")
    if architect is None and level.is_pair and not level.architects:
        if "vocabulary" in level.game:
            raise AgentError(
                f"{level.name} is played by pairs, expected (architect, builder), got {builder!r:.60}"
            )
        architect = "scripted"
    return architect, builder


class SeatedAgents:
    """The environment of a run with its agents, made for an environment of the training split."""

    def __init__(
        self, level: Level, split: SplitName, pairs: Sequence[Any], seeds: Sequence[int], place: int
    ) -> None:
        architect, builder = pairs[place]
        self._made = reference_env if plays_itself(builder) else make
        self.level, self._split, twin = level, split, self._made(level, "train")
        self._envs: dict[tuple[int, bool], Any] = {}
        self._team = team_of(level, twin, architect, builder)
        two = hasattr(twin, "possible_agents") and not level.is_team
        found = _partners(level, split, pairs, seeds, place) if two else [("", None, builder)]
        specs = {} if level.is_team else {id(spec): spec for *_, spec in found}
        builders = {key: factory(spec, Role.BUILDER)(twin) for key, spec in specs.items()}
        self._together = any(map(is_batch, builders.values()))
        self.partners: list[tuple[str, Any, Any]] = [
            (name, _speaker(spec, twin, self._together), builders.get(id(other)))
            for name, spec, other in found
        ]
        agents = [*builders.values(), *(partner[1] for partner in self.partners), *self._team.values()]
        self.privileged = any(getattr(agent, "privileged", False) for agent in agents)
        self._used = [*agents, twin]

    def __enter__(self) -> SeatedAgents:
        self._frozen = gc.get_freeze_count()
        gc.freeze()  # else collections search through all modules and the grammar, time and again
        return self

    def __exit__(self, *_: object) -> None:
        if not self._frozen:
            gc.unfreeze()
        for part in (*self._used, *self._envs.values()):
            if hasattr(part, "close"):
                part.close()

    def _env(self, count: int = 0, second: bool = False) -> Any:
        """Return the environment of `count` games, or of single ones (0), or a second one like it."""
        if (count, second) not in self._envs:
            made = partial(make, num_envs=count, copy=False) if count else self._made
            self._envs[count, second] = made(self.level, self._split)
        return self._envs[count, second]

    def play(
        self, games: Sequence[Scheduled], control: str, record: bool = False
    ) -> Iterator[tuple[Judged, dict[str, list[Any]]]]:
        """Play games, and return each outcome with the actions by role (with `record`)."""
        if self._together:
            yield from self._play_together(games, control, record)
            return
        for game in games:
            _, architect, builder = self.partners[game.partner]
            pair: dict[Any, Any] = {Role.BUILDER: builder, Role.ARCHITECT: architect}
            agents = self._team or {player: agent for player, agent in pair.items() if agent is not None}
            if control == "alone":
                agents = alone(agents, self._env())
            changes = changes_of(control, [game], list(agents), partial(self._env, second=True))
            known = game.other if control == "blind" else None
            agents = {
                player: Observing(agent, changes[player], known) if player in changes else agent
                for player, agent in agents.items()
            }
            actions: dict[str, list[Any]] = {name_of(role): [] for role in agents if record}

            def keep(game: Trajectory, actions: dict[str, list[Any]] = actions) -> None:
                for turn in game.turns if actions else ():
                    actions[name_of(turn.role)].append(to_json(turn.action))

            task = game.heard(control, architect)
            yield judged(self.level, self._env(), agents, task, game.number, keep), actions

    def _play_together(
        self, games: Sequence[Scheduled], control: str, record: bool
    ) -> list[tuple[Judged, dict[str, list[Any]]]]:
        """Play the games of each partner side by side."""
        found: dict[int, tuple[Judged, dict[str, list[Any]]]] = {}
        for partner, (_, architect, builder) in enumerate(self.partners):
            numbers = [number for number, game in enumerate(games) if game.partner == partner]
            if not numbers:
                continue
            own = [games[number] for number in numbers]
            players = [BUILDER] if architect is None else [ARCHITECT, BUILDER]
            second_env = partial(self._env, len(own), second=True)
            change = changes_of(control, own, players, second_env, batch=True)
            env = self._env(len(own))
            tasks = [game.heard(control, architect) for game in own]
            seeds = [game.number for game in own]
            played = judged_many(self.level, env, architect, builder, tasks, seeds, change, record)
            found.update(zip(numbers, played, strict=True))
        return [found[number] for number in range(len(games))]


def _speaker(spec: Any, env: Any, together: bool) -> Any:
    """Return the architect of a single game, or a `BatchPlayer` for many games (`together`)."""
    if spec is None:
        return None
    architect = factory(spec, Role.ARCHITECT)(env)
    if not together or is_batch(architect):
        return architect
    return AgentBatch(spec, Role.ARCHITECT, env)


def _partners(
    level: Level, split: SplitName, pairs: Sequence[Any], seeds: Sequence[int], place: int
) -> list[tuple[str, Any, Any]]:
    """Return names, architects and builders of the pairs in which an agent of a run plays."""
    own, builder = pairs[place]
    if BACKGROUND in (own, builder):
        strangers = [name for name in background(level) if name not in (own, builder)]
        if own == BACKGROUND:
            return [(name, name, builder) for name in strangers]
        return [(name, own, name) for name in strangers]
    if own is None or own == "scripted":
        return [(name, name, builder) for name in level.architects.get(split, ("scripted",))]
    if level.family == "partners" and len(pairs) > 1:
        rest = zip(seeds, pairs, strict=True)
        return [(f"run {seed}", architect, builder) for seed, (architect, _) in rest if seed != seeds[place]]
    return [(own if isinstance(own, str) else "own", own, builder)]


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
        partners = list(dict.fromkeys(row.partner for row in rows))
        _expect_partners(place, own, result, partners, run.seed)
        games = _scheduled(own, result.split, run.seed, each, len(partners))
        tasks += [game.task for game in games]
        blocks = [lines[start + number * each :][:each] for start in range(0, len(lines), len(result.rows))]
        outcomes = _replay_all(place, own, result, games, blocks)
        for episode, (game, row) in enumerate(zip(games, rows, strict=True)):
            won = level.is_success(game.task, row.completed, row.changes)
            expected = row._replace(
                task=content_digest(game.task), partner=partners[game.partner], success=won
            )
            if outcomes:
                expected = expected._replace(**outcomes[0][episode]._asdict())
            if row != expected:
                raise DataError(f"{path}, episode {episode} of run {run.seed} is {row}, expected {expected}")
        for (control, share), played in zip(run.controls.items(), outcomes[1:], strict=False):
            if abs(share - float(np.mean([outcome.success for outcome in played]))) > 1e-9:
                raise DataError(f"{place}: {control} is {share}, expected that of its recorded games")
    if (found := digest_of(tasks)) != result.tasks:
        raise DataError(f"{path}: tasks is {result.tasks}, expected {found}")
    return len(lines)


def _replay_all(
    place: str, level: Level, result: Result, games: Sequence[Scheduled], blocks: Sequence[Sequence[str]]
) -> list[list[Judged]]:
    """Replay the recorded games of a run, a block for the episodes and for each control; return the outcomes."""
    if not blocks:
        return []
    found: list[list[Judged]] = []
    with closing((reference_env if result.own_actions else make)(level, result.split)) as env:
        for kind, lines in zip(("", *result.runs[0].controls), blocks, strict=False):
            found.append([])
            for game, line in zip(games, lines, strict=True):
                with wrap_errors(f"{place}, {kind or 'episode'} {game.number} cannot be replayed"):
                    found[-1].append(_replay(level, env, line, game.task, game.number))
    return found


def replayed(
    path: str | os.PathLike[str], number: int, on_step: Callable[[Any], None] = lambda env: None
) -> Judged:
    """Replay a recorded game of a result file and return its outcome.

    number: number of the episode in the file. on_step: as of `play`.

    Raises `DataError` if the game cannot be replayed.
    """
    result = read_result(path)
    row = result.rows[number]
    level, first = find(result.level).fold(row.run), number - row.seed
    partners = list(dict.fromkeys(other.partner for other in result.rows[first : first + result.episodes]))
    game = _scheduled(level, result.split, row.run, result.episodes, len(partners))[row.seed]
    env = (reference_env if result.own_actions else make)(level, result.split)
    with wrap_errors(f"{path}, episode {number} cannot be replayed"):
        found = _replay(level, env, _recorded(Path(path), result)[number], game.task, row.seed, on_step)
    env.close()
    return found


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
    outcome = judged(level, env, agents, task, seed, on_step=on_step)
    for name, agent in agents.items():
        if agent.left:
            raise DataError(f"the game is over before the last {agent.left} recorded actions of {name}")
    return outcome


def _expect_partners(place: str, level: Level, result: Result, partners: Sequence[str], seed: int) -> None:
    """Raise `DataError` unless a run met the partners that the level asks for."""
    known: list[tuple[str, ...]] = [("",)]
    if (level.is_pair and not level.is_team) or (level.is_live and result.own_actions):
        known = [level.architects.get(result.split, ("scripted",))]
        if partners[0] in (strangers := background(level)):
            met = tuple(name for name in strangers if name in partners)  # all but one that is measured itself
            known = [met if len(met) + 1 >= len(strangers) else strangers]
        elif level.family != "partners" or len(result.runs) == 1:
            known.append(tuple(partners[:1]))
        else:
            known.append(tuple(f"run {run.seed}" for run in result.runs if run.seed != seed))
    if tuple(partners) not in known:
        raise DataError(f"{place}: partners are {tuple(partners)}, expected {' or '.join(map(str, known))}")


def _recorded(path: Path, result: Result) -> list[str]:
    """Return the lines of the recorded games of a result: of its episodes, then of each control."""
    if result.recordings is None:
        return []
    games, expected = path.with_name(result.recordings.file), result.recordings.sha256
    with wrap_errors(f"{games} cannot be read"):
        content = games.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != expected:
        raise DataError(f"the SHA-256 of {games} is {found}, expected {expected}")
    lines = content.decode().splitlines()
    if len(lines) != result.recordings.games:
        raise DataError(f"{games} has {len(lines)} games, expected {result.recordings.games}")
    return lines
