"""The protocol: measure agents on a level, also without the message or the target (controls), and verify results."""

from __future__ import annotations

import gc
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
from iglu_marl.benchmark import strangers
from iglu_marl.benchmark.batches import AgentBatch, is_batch, judged_many
from iglu_marl.benchmark.catalog import Level, find, make
from iglu_marl.benchmark.codes import kind_of
from iglu_marl.benchmark.controls import Observing, Scheduled, alone, changes_of, silenced
from iglu_marl.benchmark.games import (
    Judged,
    judged,
    plays_itself,
    reference_env,
    team_of,
)
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
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError, ConfigError, DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.jobs import do_jobs, each, slices
from iglu_marl.core.parsing import MIB, decoded, parse_json, read_file, wrap_errors
from iglu_marl.core.schema import Entries, Field, check, some_text, whole
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
    `make(level, split, fold=seed)`. Without an architect, the level's scripted ones speak, and every task meets each of
    them. Of several pairs with symbols, each architect also plays with the builder of the next run (`cross-play`, kept
    with the controls).

    Args:
        level: a level or its name.
        agents: one entry per training seed: a builder, or (architect, builder); or a builder alone. Each is a name of
            `iglu_marl.agents`, "module:attribute", a class with `for_env(env)`, or a function of the environment. That
            environment has the level's spaces and settings and tasks of the training split; the games are played in
            another one. A builder that is a `batches.BatchPlayer` plays all games of a run side by side.
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
    job = _Job(level, split, pairs, numbers, episodes, kinds, record)
    shares = slices(episodes // unit, processes)
    ends = [(unit * first, unit * end) for first, end in shares]
    parts = [_Part(place, *end) for place in range(len(pairs)) for end in ends]
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
            for control in own[0].controls
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
    record: bool


class _Part(NamedTuple):
    """The games first..end - 1 of a training run."""

    place: int
    first: int
    end: int


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


def _measure(job: _Job, part: _Part) -> _Measured:
    """Play a part of a run."""
    if job.level.is_repeated:
        return _measure_sittings(job, part)
    seed = job.seeds[part.place]
    with SeatedAgents(job.level.fold(seed), job.split, job.pairs, job.seeds, part.place) as table:
        games = _scheduled(table.level, job.split, seed, job.episodes, len(table.partners))[
            part.first : part.end
        ]
        played = {kind: list(table.play(games, kind, job.record)) for kind in job.kinds}
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
        measure = job.level.measure
        taken = {kind: [getattr(outcome, measure) for outcome, _ in played[kind]] for kind in job.kinds[1:]}
        return _Measured(rows, [game.task for game in games], lines, taken, table.privileged)


def _measure_sittings(job: _Job, part: _Part) -> _Measured:
    """Play a part of a run on a level of strangers, sittings side by side."""
    spec, role = job.pairs[part.place][1], _role(job.level)
    numbers = range(part.first // strangers.GAMES, part.end // strangers.GAMES)
    lines: dict[str, list[str]] = {}
    outcomes: dict[str, list[Judged]] = {}
    with closing(make(job.level, "train")) as twin:
        agent = factory(spec, role)(twin)
        player: Any = agent if is_batch(agent) else AgentBatch(spec, role, twin)
        for kind in job.kinds:
            player.begin(len(numbers), numbers[0])
            played = strangers.play(kind_of(job.level.name), job.split, player.act, numbers, kind)
            outcomes[kind] = _judged_sittings(played)
            actions = played.actions.reshape(-1, 2).tolist()
            lines[kind] = [json.dumps({role.value: [action]}, separators=(",", ":")) for action in actions]
        if hasattr(player, "close"):
            player.close()
    games = _with_strangers(job.level, job.split, part.end)[part.first :]
    rows = [
        EpisodeRow(
            job.seeds[part.place],
            content_digest(game.task),
            f"stranger {game.partner}",
            game.number,
            **outcome._asdict(),
        )
        for outcome, game in zip(outcomes[""], games, strict=True)
    ]
    taken = {kind: [float(outcome.success) for outcome in outcomes[kind]] for kind in job.kinds[1:]}
    return _Measured(rows, [game.task for game in games], lines, taken, privileged=False)


def _role(level: Level) -> Role:
    """Return the role of the agent on a level of strangers."""
    return Role.ARCHITECT if kind_of(level.name) == "listen" else Role.BUILDER


def _judged_sittings(played: strangers.SittingsRecord) -> list[Judged]:
    """Return the outcomes of all games, one sitting after the other."""
    pairs = zip(played.rewards.ravel().tolist(), played.changes.ravel().tolist(), strict=True)
    return [Judged(reward > 0, reward > 0, float(reward > 0), changes, 1) for reward, changes in pairs]


def _with_strangers(level: Level, split: SplitName, episodes: int) -> list[Scheduled]:
    """Return the games of a run with strangers: ten with each. All runs meet the same strangers."""
    numbers = range(-(-episodes // strangers.GAMES))
    nothing = np.zeros((len(numbers), 2), np.int64)
    played = strangers.play(kind_of(level.name), split, lambda seen: nothing, numbers)
    places, colors = played.blocks.reshape(-1, 2)[:episodes].T
    tasks = [strangers.TASKS[number] for number in (6 * places + colors).tolist()]
    return [Scheduled(number, task, task, number // strangers.GAMES) for number, task in enumerate(tasks)]


def _scheduled(level: Level, split: SplitName, seed: int, episodes: int, partners: int) -> list[Scheduled]:
    """Return the games of a run: every task with every partner, and again.

    Over repeated tasks, a control gets each of the other tasks in turn, and every other time dark pictures.
    """
    if level.is_repeated:
        return _with_strangers(level, split, episodes)
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
    if level.is_repeated and plays_itself(builder):
        raise AgentError(f"{level.name} is played by an agent that learns codes, got {builder!r:.60}")
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
        other = pairs[(place + 1) % len(pairs)][1]
        self.level, self._split, twin = level, split, self._made(level, "train")
        self._envs: dict[tuple[int, bool, bool], Any] = {}
        self._team = team_of(level, twin, architect, builder)
        two = hasattr(twin, "possible_agents") and not level.is_team
        speakers = _architects(level, split, architect) if two else {"": None}
        specs = (
            [] if level.is_team else [builder, *([other] if "cross-play" in _controls(level, pairs) else [])]
        )
        self._builders = [factory(spec, Role.BUILDER)(twin) for spec in specs]
        self._together = any(map(is_batch, self._builders))
        self.partners = [(name, _speaker(spec, twin, self._together)) for name, spec in speakers.items()]
        agents = [*self._builders, *(speaker for _, speaker in self.partners), *self._team.values()]
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

    def _env(self, count: int = 0, second: bool = False, silent: bool = False) -> Any:
        """Return the environment of `count` games, or of single ones (0), or a second one like it.

        silent: whether nobody hears anybody.
        """
        key = count, second, silent
        if key not in self._envs:
            made = partial(make, num_envs=count, copy=False) if count else self._made
            self._envs[key] = made(silenced(self.level) if silent else self.level, self._split)
        return self._envs[key]

    def play(
        self, games: Sequence[Scheduled], control: str, record: bool = False
    ) -> Iterator[tuple[Judged, dict[str, list[Any]]]]:
        """Play games, and return each outcome with the actions by role (with `record`)."""
        if self._together:
            yield from self._play_together(games, control, record)
            return
        silent = control == "muted" and bool(self.level.vectors)
        for game in games:
            _, architect = self.partners[game.partner]
            pair: dict[Any, Any] = {Role.BUILDER: self._builder(control), Role.ARCHITECT: architect}
            agents = self._team or {player: agent for player, agent in pair.items() if agent is not None}
            if control == "alone":
                agents = alone(agents, self._env())
            changed = "" if silent else control
            changes = changes_of(changed, [game], list(agents), partial(self._env, second=True))
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
            env = self._env(silent=silent)
            yield judged(self.level, env, agents, task, game.number, keep), actions

    def _builder(self, control: str) -> Any:
        """Return the builder; in cross-play, that of the next run."""
        return self._builders[-1 if control == "cross-play" else 0] if self._builders else None

    def _play_together(
        self, games: Sequence[Scheduled], control: str, record: bool
    ) -> list[tuple[Judged, dict[str, list[Any]]]]:
        """Play the games of each partner side by side."""
        found: dict[int, tuple[Judged, dict[str, list[Any]]]] = {}
        builder = self._builder(control)
        for partner, (_, architect) in enumerate(self.partners):
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


def _architects(level: Level, split: SplitName, own: Any) -> dict[str, Any]:
    """Return the architects with whom the builder of a run plays, by name."""
    if own is None or own == "scripted":
        return {name: name for name in level.architects.get(split, ("scripted",))}
    return {own if isinstance(own, str) else "own": own}


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
        partners = list(dict.fromkeys(row.partner for row in rows))
        _expect_partners(place, own, result, partners)
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
            if abs(share - float(np.mean([getattr(outcome, level.measure) for outcome in played]))) > 1e-9:
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
    if level.is_repeated:
        kinds = zip(("", *result.runs[0].controls), blocks, strict=False)
        return [_replay_sittings(place, level, result.split, lines, kind) for kind, lines in kinds]
    with closing((reference_env if result.own_actions else make)(level, result.split)) as env:
        for kind, lines in zip(("", *result.runs[0].controls), blocks, strict=False):
            found.append([])
            for game, line in zip(games, lines, strict=True):
                with wrap_errors(f"{place}, {kind or 'episode'} {game.number} cannot be replayed"):
                    found[-1].append(_replay(level, env, line, game.task, game.number))
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
    numbers = range(len(lines) // strangers.GAMES)
    played = strangers.play(kind_of(level.name), split, lambda seen: next(moves), numbers, control)
    return _judged_sittings(played)


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


def _expect_partners(place: str, level: Level, result: Result, partners: Sequence[str]) -> None:
    """Raise `DataError` unless a run met the partners that the level asks for."""
    known: list[tuple[str, ...]] = [("",)]
    if level.is_repeated:
        sittings = -(-result.episodes // strangers.GAMES)
        known = [tuple(f"stranger {number}" for number in range(sittings))]
    if (level.is_pair and not level.is_team) or (level.is_live and result.own_actions):
        known = [level.architects.get(result.split, ("scripted",)), tuple(partners[:1])]
    if tuple(partners) not in known:
        raise DataError(f"{place}: partners are {tuple(partners)}, expected {' or '.join(map(str, known))}")


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
