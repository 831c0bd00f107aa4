"""Builder action prediction: what does a builder do next, after all that was said?

A `Sample` is a `Situation` (what a builder knows: dialogue, world, pose, its own earlier actions) and what a person
then did. `predict_actions(...)` asks a predictor for its net actions in each situation and counts them against the
person's: `bap_samples` makes samples of the Minecraft Dialogue Corpus, `task_samples` of any tasks (IGLU turns).

A predictor is a function from a situation to edits or to the world afterwards. It is given nothing else: a situation
holds copies, and no way leads from it to the session, the target or the actions. `AgentPredictor` lets any builder
with the `Agent` protocol predict, by what it really does in a game that begins in the situation.

The scores of the field have names, see `PROTOCOLS`. Each prediction is written with its sample's id (session, number,
and the session's states in which the person acted), so that anybody can score it again: `published`.

Source of the task and its micro-averaged F1: Jayannavar, Narayan-Chen and Hockenmaier, Learning to Execute Instructions
in a Minecraft Dialogue (ACL 2020).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.dialogue import Dialogue, Role
from iglu_marl.core.errors import (
    AgentError,
    ConfigError,
    DataError,
    GridError,
    PoseError,
    ServiceError,
    ServiceRefusedError,
)
from iglu_marl.core.files import made_folder, write_text
from iglu_marl.core.grid import COLOR_NAMES, MAX_Y, BlockGrid, NetAction, as_grid, color_at, in_zone, index_of
from iglu_marl.core.parsing import MIB, parse_json, read_file, reading
from iglu_marl.core.task import Task
from iglu_marl.data.mdc.action_sequences import action_sequences
from iglu_marl.data.mdc.corpus import Session
from iglu_marl.envs.aec import raw_env
from iglu_marl.evaluation.in_flight import PerThread, in_flight
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.metrics import (
    Counts,
    Interval,
    bootstrap,
    change_counts,
    micro,
    net_actions,
    skills,
)
from iglu_marl.game.agent import Agent, add_counts, begin, check_service, counts_of
from iglu_marl.game.config import GameConfig

__all__ = [
    "BASELINES",
    "KINDS",
    "PROTOCOLS",
    "RULES",
    "AgentPredictor",
    "Prediction",
    "Predictions",
    "Predictor",
    "Protocol",
    "Sample",
    "Situation",
    "bap_samples",
    "nothing",
    "one_more",
    "predict_actions",
    "published",
    "task_samples",
]

FORMAT, VERSION = "iglu_marl action prediction", 3
LOG_LIMIT = 1024 * MIB  # bytes
LOG = "predictions.jsonl"
KINDS = ("acted", "placed", "removed", "changed", "aligned", "types", "colors", "cells", "near", "counted")
"""What is counted of a prediction; see `Prediction`."""
RULES = ("net", "acl2020")
"""What is a sample of the Minecraft Dialogue Corpus; see `bap_samples`."""
_NONE = Counts(0, 0, 0)
_UNREACHABLE = np.ones((9, 11, 11), np.int8)  # more blocks than a builder has


# --------------------------------------------------------------------------------------------------- the samples


@dataclass(frozen=True)
class Situation:
    """All that a builder knows before it acts.

    dialogue: everything said so far. grid: the world, int8 [9, 11, 11], read-only. new_from: the first utterance of
    the dialogue since the builder last did something. pose: eye x, y, z in cells, yaw and pitch in degrees; None if
    unknown. history: the builder's net actions so far, one tuple for each time it acted, oldest first; () if unknown.

    Raises `GridError` for a grid that is none.
    """

    dialogue: Dialogue
    grid: BlockGrid
    new_from: int = 0
    pose: tuple[float, float, float, float, float] | None = None
    history: tuple[tuple[NetAction, ...], ...] = ()

    def __post_init__(self) -> None:
        grid = as_grid(self.grid, "grid").astype(np.int8)
        grid.setflags(write=False)
        object.__setattr__(self, "grid", grid)


@dataclass(frozen=True)
class Sample:
    """A situation, and the world that a person made of it.

    unit: what samples that are not independent have in common (a session). actions: the person's, in their order.
    tags: what to break results down by. invariant: whether changes count up to a rotation and shift (see
    `change_counts`); actions never do. states: of a recorded session, the first and the last in which the person acted.
    """

    name: str
    unit: str
    situation: Situation
    target: BlockGrid
    actions: tuple[NetAction, ...]
    structure: str = ""
    tags: tuple[str, ...] = ()
    invariant: bool = False
    states: tuple[int, int] | None = None


def bap_samples(sessions: Iterable[Session], *, rules: str = "net") -> Iterator[Sample]:
    """The samples of sessions of the Minecraft Dialogue Corpus; see `data.mdc.action_sequences`.

    rules: "net": every stretch of building with a net edit. "acl2020": as the paper's published code has it, also those
    in which everything was undone, and none in which blocks stood outside the zone.
    tags: the skills (`iglu_marl.evaluation.metrics.skills`) that the session's structure needs, or "plain".

    Raises `ConfigError` for other rules.
    """
    if rules not in RULES:
        raise ConfigError(f"rules is {rules!r}, expected one of {', '.join(RULES)}")
    for session in sessions:
        tags = () if session.gold is None else (skills(session.gold) or ("plain",))
        history: tuple[tuple[NetAction, ...], ...] = ()
        for sequence in action_sequences(session, empty=rules == "acl2020"):
            if rules == "acl2020" and sequence.leaves_zone:
                history = (*history, sequence.actions)
                continue
            yield Sample(
                name=sequence.name,
                unit=session.name,
                situation=Situation(
                    sequence.dialogue,
                    sequence.before,
                    sequence.new_from,
                    sequence.pose,
                    history,
                ),
                target=edited(sequence.before, sequence.actions),
                actions=sequence.actions,
                structure=session.structure,
                tags=tags,
                states=(sequence.first_state, sequence.last_state),
            )
            history = (*history, sequence.actions)


def task_samples(tasks: Iterable[Task]) -> Iterator[Sample]:
    """Tasks as samples: the dialogue of each, its starting world, and the world that it asks for.

    Of a session's turns each is a sample of its own, begun in the world that the person had left. Tasks of one id are
    told apart by a number: "bridge-1", "bridge-1/1", "bridge-1/2".
    """
    known: Counter[str] = Counter()
    for number, given in enumerate(tasks):
        task = given.in_ids("iglu")
        start, target = task.start_grid, task.target_grid
        unit = task.task_id or f"task-{number}"
        name = f"{unit}/{known[unit]}" if known[unit] else unit
        known[unit] += 1
        found = sorted(net_actions(start, target), key=lambda one: (one.place, one.y, one.x, one.z))
        yield Sample(
            name=name,
            unit=unit,
            situation=Situation(task.dialogue, start, max(0, len(task.dialogue) - 1)),
            target=target,
            actions=tuple(found),
            tags=skills(target, start) or ("plain",),
            invariant=task.is_invariant,
        )


def edited(grid: BlockGrid, actions: Iterable[tuple[bool, int, int, int, int]]) -> BlockGrid:
    """A grid after actions, in their order; a removal empties its cell, whatever is there.

    Raises `GridError` for a cell outside the zone or a colour outside 1..6.
    """
    after = grid.copy()
    for place, x, y, z, color in actions:
        if not in_zone(x, y, z):
            raise GridError(f"action at {x, y, z} lies outside the build zone (x, z in -5..5, y in -1..7)")
        if place and color not in range(1, 7):
            raise GridError(f"action at {x, y, z} places colour {color!r}, expected 1..6")
        after[index_of((x, y, z))] = color if place else 0
    return after


# ------------------------------------------------------------------------------------------------ who predicts

Predictor = Callable[[Situation], "Iterable[tuple[bool, int, int, int, int]] | npt.NDArray[Any]"]
"""From a situation to actions (place, x, y, z, color), or to the whole world afterwards [9, 11, 11]."""


def nothing(situation: Situation) -> list[NetAction]:
    """The baseline that does nothing."""
    return []


def one_more(situation: Situation) -> list[NetAction]:
    """The baseline that does the most frequent thing: one block on top of the one that was placed last.

    Its colour is the one named last, else that of the block below. Without earlier placements: at the centre.
    """
    placed = [one for part in situation.history for one in part if one.place]
    named = [word for said in situation.dialogue for word in said.text.lower().split()]
    spoken = [
        COLOR_NAMES.index(word) for word in (word.strip(".,!?") for word in named) if word in COLOR_NAMES[1:]
    ]
    x, y, z, color = (placed[-1].x, placed[-1].y, placed[-1].z, placed[-1].color) if placed else (0, -1, 0, 6)
    while y <= MAX_Y and color_at(situation.grid, (x, y, z)):
        y += 1
    return [NetAction(True, x, y, z, spoken[-1] if spoken else color)] if y <= MAX_Y else []


BASELINES: dict[str, Predictor] = {"nothing": nothing, "one-more": one_more}


SEES = ("dialog", "inventory", "pose", "grid")


class AgentPredictor:
    """Lets a builder predict by acting: one turn in a game that begins in the situation.

    make: a function of the environment (such as `ScriptedBuilder.for_env`). controls: the action encoding. sees: what
    the builder observes. max_steps: of the turn; it ends earlier when the builder yields or speaks. seed: of the agent,
    the same in each situation.

    The game's own target is a dummy that nobody can build: the person's world is not in it. A pose outside the game's
    space is replaced by the usual start and counted in `poses_replaced`. Raises `AgentError` for agents that have to be
    told the target. Each thread that predicts has an agent and a game of its own.
    """

    def __init__(
        self,
        make: Callable[[Any], Agent],
        *,
        controls: str = "flying",
        sees: Sequence[str] = SEES,
        max_steps: int = 500,
        seed: int = 0,
    ) -> None:
        if max_steps < 1:
            raise ConfigError(f"max_steps is {max_steps!r}, expected 1 or more")
        options = {
            "controls": controls,
            "builder_can_ask": True,
            "builder_sees": tuple(sees),
            "turn_steps": max_steps,
            "max_steps": max_steps,
            "max_turns": None,
        }

        def begun() -> tuple[Any, Agent]:
            env = raw_env(GameConfig.of(None, options))
            return env, make(env)

        self._games = PerThread(begun)
        _, agent = self._games.get()
        if getattr(agent, "privileged", False):
            raise AgentError(f"{type(agent).__name__} has to be told the target, which nobody knows here")
        self.controls, self._seed = controls, seed
        self.poses_replaced = 0

    def __call__(self, situation: Situation) -> npt.NDArray[np.int8]:
        """The world after the agent's turn, int8 [9, 11, 11]."""
        env, agent = self._games.get()
        task = Task("", _UNREACHABLE, starting_grid=situation.grid, invariant=False)
        try:
            env.reset(seed=self._seed, options={"task": task, "pose": situation.pose})
        except PoseError:
            self.poses_replaced += 1
            env.reset(seed=self._seed, options={"task": task})
        state = env.get_state()
        env.set_state(state._replace(episode=state.episode._replace(dialogue=situation.dialogue)))
        begin(agent, Role.BUILDER, self._seed, task)
        env.step("")  # the architect has said it all
        while env.agent_selection == "builder_0":
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            env.step(agent.act(observation))
            check_service([agent])
        built: npt.NDArray[np.int8] = env.episode.worlds.grid[0].copy()
        return built

    @property
    def counts(self) -> dict[str, Any]:
        """What the agent has counted in the last prediction of this thread, where it counts (LLM agents)."""
        return counts_of(self._games.get()[1])

    def close(self) -> None:
        """Release the agents and their games."""
        for env, agent in self._games.made:
            agent.close()
            env.close()


# ------------------------------------------------------------------------------------------------- one sample


@dataclass(frozen=True)
class Prediction:
    """What was predicted for a sample, and how it counts.

    name: the sample's id. placed, removed: net placements and removals; acted: both. changed: cells, as in
    `change_counts`. made: the predicted actions. error: what the predictor raised, "" if nothing; then it did nothing.
    scored: False where something failed that the predictor runs on: then this is no prediction, and in no average.
    model: what an LLM agent has counted.

    Less strictly: aligned: actions, at the best shift and quarter turn where the world was empty before. types, colors:
    actions of the same type (and colour), wherever. cells: actions of the same type and cell, whatever the colour.

    What stands in the way: near: a neighbouring cell counts as the right one (of 26, each action for one other).
    counted: only as many actions as the person did, the first ones (where the order of the predicted is known).
    """

    name: str
    unit: str
    structure: str
    tags: tuple[str, ...]
    placed: Counts
    removed: Counts
    changed: Counts
    made: tuple[tuple[bool, int, int, int, int], ...]
    error: str = ""
    aligned: Counts = _NONE
    types: Counts = _NONE
    colors: Counts = _NONE
    cells: Counts = _NONE
    near: Counts = _NONE
    counted: Counts = _NONE
    states: tuple[int, int] | None = None
    scored: bool = True
    model: Mapping[str, Any] = field(default_factory=dict)

    @property
    def acted(self) -> Counts:
        """Net actions of both types."""
        return micro([self.placed, self.removed])

    def to_json(self) -> dict[str, Any]:
        """As a JSON-ready dict."""
        return {name: list(part) if isinstance(part, tuple) else part for name, part in vars(self).items()}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Prediction:
        """The inverse of `to_json`. Raises `DataError` for numbers and names that are none, and others (`reading`)."""
        counts = {name: Counts(*row[name]) for name in KINDS if name != "acted"}
        made = tuple((bool(place), x, y, z, color) for place, x, y, z, color in row["made"])
        states = row["states"]
        numbers = [number for part in (*counts.values(), *made, states or ()) for number in part]
        texts = [row[name] for name in ("name", "unit", "structure", "error")] + row["tags"]
        if not all(type(n) in (int, bool) and abs(n) < 1e9 for n in numbers) or not all(
            isinstance(text, str) for text in texts
        ):
            raise DataError(f"{row!s:.80} is no prediction")
        return cls(
            row["name"],
            row["unit"],
            row["structure"],
            tuple(row["tags"]),
            **counts,
            made=made,
            error=row["error"],
            states=None if states is None else tuple(states),
            scored=bool(row.get("scored", True)),
            model=dict(row.get("model", {})),
        )


def judged(
    sample: Sample,
    built: BlockGrid,
    error: str = "",
    *,
    scored: bool = True,
    model: Mapping[str, Any] | None = None,
    order: Sequence[Any] | None = None,
) -> Prediction:
    """How a predicted world counts against a person's. order: the actions that led to it, where they are known."""
    before = sample.situation.grid
    asked, made = net_actions(before, sample.target), net_actions(before, built)
    first = made if order is None else net_actions(before, edited(before, order[: len(asked)]))

    def alike(key: Callable[[NetAction], Any]) -> Counts:
        """Actions that are alike in something, each counted once."""
        told, done = Counter(map(key, asked)), Counter(map(key, made))
        return Counts((told & done).total(), len(made), len(asked))

    placed, removed = (
        Counts(
            sum(one.place == place for one in asked & made),
            sum(one.place == place for one in made),
            sum(one.place == place for one in asked),
        )
        for place in (True, False)
    )
    acted = micro([placed, removed])
    return Prediction(
        name=sample.name,
        unit=sample.unit,
        structure=sample.structure,
        tags=sample.tags,
        placed=placed,
        removed=removed,
        changed=change_counts(before, sample.target, built, invariant=sample.invariant),
        made=tuple(sorted((one.place, one.x, one.y, one.z, one.color) for one in made)),
        error=error,
        aligned=acted if before.any() else change_counts(before, sample.target, built, invariant=True),
        types=alike(lambda one: one.place),
        colors=alike(lambda one: (one.place, one.color)),
        cells=alike(lambda one: (one.place, one.cell)),
        near=Counts(_matched(asked, made), len(made), len(asked)),
        counted=Counts(len(asked & first), len(first), len(asked)),
        states=sample.states,
        scored=scored,
        model=model or {},
    )


def _matched(asked: Iterable[NetAction], made: Iterable[NetAction]) -> int:
    """How many asked actions can have a made one each, of the same type and colour, in the same cell or beside it."""
    partners: dict[NetAction, list[NetAction]] = {
        one: [
            other
            for other in made
            if (one.place, one.color) == (other.place, other.color)
            and max(abs(a - b) for a, b in zip(one.cell, other.cell, strict=True)) <= 1
        ]
        for one in asked
    }
    taken: dict[NetAction, NetAction] = {}

    def found(one: NetAction, seen: set[NetAction]) -> bool:
        """Whether there is one for it, perhaps after another asked action has changed to a different one."""
        for other in partners[one]:
            if other not in seen:
                seen.add(other)
                if other not in taken or found(taken[other], seen):
                    taken[other] = one
                    return True
        return False

    return sum(found(one, set()) for one in partners)


def _predicted(predict: Predictor, sample: Sample, on_error: str) -> Prediction:
    """A prediction for one sample. Edits are applied in their order, so what is undone again does not count.

    What the predictor runs on may fail: then the prediction counts for nothing, unless it always will: that is raised.
    """
    before = sample.situation.grid
    try:
        made = predict(sample.situation)
        order = None if isinstance(made, np.ndarray) else list(made)
        built = as_grid(made, "prediction") if isinstance(made, np.ndarray) else edited(before, order or ())
    except ServiceRefusedError:
        raise
    except Exception as fault:
        scored = not isinstance(fault, ServiceError)
        if scored and on_error == "raise":
            raise
        error = f"{type(fault).__name__}: {fault}"[:300]
        return judged(sample, before, error, scored=scored, model=getattr(predict, "counts", None))
    return judged(sample, built, model=getattr(predict, "counts", None), order=order)


# --------------------------------------------------------------------------------------------------- all samples


class Protocol(NamedTuple):
    """A score of the field: the micro F1 of counts of a kind.

    open: what of it is not published, or not at hand, and what was chosen instead.
    """

    kind: str
    source: str
    open: str


PROTOCOLS = {
    "acl2020": Protocol(
        "acted",
        "Jayannavar, Narayan-Chen and Hockenmaier, Learning to Execute Instructions in a Minecraft Dialogue (ACL 2020)",
        "with bap_samples(rules='acl2020') there are 3,707 and 1,330 samples in train and val; the paper has 3,709 and "
        "1,331, and by the default rules there are 3,702 and 1,321",
    ),
    "v2": Protocol(
        "aligned",
        "Jayannavar et al., BAP v2: An Enhanced Task Framework for Instruction Following in Minecraft Dialogues (2025)",
        "the cleaned test samples and the definition of the fairer metrics are not at hand; chosen here: where the "
        "world is empty, any shift and quarter turn counts; with types, colors and cells beside it",
    ),
}
"""The scores of the field, by name."""


@dataclass
class Predictions:
    """Predictions for many samples. Intervals are 95 % bootstraps over units (sessions), whose samples go together.

    Those in which something failed that the predictor runs on are in no average (`scored`).
    """

    settings: dict[str, Any]
    rows: list[Prediction] = field(default_factory=list)
    resamples: int = 1000

    @property
    def scored(self) -> list[Prediction]:
        """The rows that count."""
        return [row for row in self.rows if row.scored]

    def model(self) -> dict[str, Any]:
        """What an LLM agent has counted in all predictions; empty for others."""
        total: dict[str, Any] = {}
        for row in self.rows:
            add_counts(total, row.model)
        return total

    def micro(self, kind: str = "acted", rows: Iterable[Prediction] | None = None) -> Counts:
        """The summed counts of a kind, one of `KINDS`."""
        return micro(getattr(row, kind) for row in (self.scored if rows is None else rows))

    def interval(
        self, measure: str = "f1", kind: str = "acted", rows: Sequence[Prediction] | None = None
    ) -> Interval:
        """The micro average of "f1", "precision" or "recall", with its interval."""
        by_unit: dict[str, list[Counts]] = {}
        for row in self.scored if rows is None else rows:
            by_unit.setdefault(row.unit, []).append(getattr(row, kind))
        sums = np.array([micro(counts) for counts in by_unit.values()], np.float64).reshape(-1, 3)
        right, made, asked = sums.T
        above, below = {
            "f1": (2 * right, made + asked), "precision": (right, made), "recall": (right, asked),
        }[measure]  # fmt: skip
        if not len(above) or not below.sum():
            value = getattr(micro(Counts(*map(int, row)) for row in sums), measure)
            return Interval(value, value, value)
        return bootstrap(above, below, resamples=self.resamples)

    def score(self, protocol: str = "acl2020") -> Interval:
        """The F1 that a protocol of the field asks for, with its interval. Raises `ConfigError` for another name."""
        if protocol not in PROTOCOLS:
            raise ConfigError(f"protocol is {protocol!r}, expected one of {', '.join(PROTOCOLS)}")
        return self.interval("f1", PROTOCOLS[protocol].kind)

    def mean_f1(self, kind: str = "changed") -> Interval:
        """The mean over samples of each sample's F1, with its interval over units."""
        by_unit: dict[str, list[float]] = {}
        for row in self.scored:
            by_unit.setdefault(row.unit, []).append(getattr(row, kind).f1)
        return bootstrap(
            [sum(values) for values in by_unit.values()], [len(values) for values in by_unit.values()],
            resamples=self.resamples,
        )  # fmt: skip

    def by(self, what: str) -> dict[str, list[Prediction]]:
        """The scored rows of each "tag" or "structure", sorted; a row with several tags is in several groups."""
        found: dict[str, list[Prediction]] = {}
        for row in self.scored:
            for key in row.tags if what == "tag" else (getattr(row, what),):
                found.setdefault(key, []).append(row)
        return dict(sorted(found.items()))

    def to_json(self) -> dict[str, Any]:
        """Settings and tables, JSON-ready."""
        groups = {"all": self.scored, **self.by("tag")}
        model = self.model()
        return {
            "settings": self.settings,
            "samples": len(self.scored),
            "failed": len(self.rows) - len(self.scored),
            "units": len({row.unit for row in self.scored}),
            "errors": dict(Counter(row.error.split(":")[0] for row in self.rows if row.error)),
            "scores": {
                name: {**protocol._asdict(), "f1": list(self.score(name))}
                for name, protocol in PROTOCOLS.items()
            },
            "mean_change_f1": list(self.mean_f1()) if self.scored else None,
            **({"model": model} if model else {}),
            "tables": {
                group: {
                    kind: {
                        "counts": list(self.micro(kind, rows)),
                        **{
                            name: list(self.interval(name, kind, rows))
                            for name in ("f1", "precision", "recall")
                        },
                    }
                    for kind in KINDS
                }
                for group, rows in groups.items()
            },
        }


def predict_actions(
    predict: Predictor,
    samples: Iterable[Sample],
    *,
    name: str = "",
    output: Path | str | None = None,
    on_error: str = "raise",
    settings: Mapping[str, Any] | None = None,
    concurrency: int = 1,
    on_done: Callable[[], None] = lambda: None,
) -> Predictions:
    """Let a predictor predict, and count.

    name: of the predictor. output: a folder for `predictions.jsonl` (a line for each sample, as soon as it is there)
    and `predictions.json` (tables); started again with it, what is there is not predicted again. on_error: "raise"
    what a predictor raises, or "count" it as doing nothing. settings: anything else that tells this run from others.
    concurrency: samples under way at once, in threads; the rows are the same for any number. on_done: called for each.

    A sample at which something failed that the predictor runs on is in no average, and predicted again by the next
    call. Raises `ConfigError` for other arguments or an output of other settings, `GridError` for edits that are none,
    and `ServiceRefusedError` where nothing can be predicted.
    """
    if on_error not in ("raise", "count"):
        raise ConfigError(f"on_error is {on_error!r}, expected 'raise' or 'count'")
    result = Predictions({"predictor": name, **(settings or {})})
    log: RowLog[Prediction] | None = None
    if output is not None:
        log = RowLog(
            made_folder(output) / LOG,
            result.settings,
            form=(FORMAT, VERSION),
            what="predictions",
            from_json=Prediction.from_json,
            to_json=Prediction.to_json,
        )
    known = {row.name: row for row in (log.rows if log else []) if row.scored}
    rows: dict[int, Prediction] = {}  # by the number of the sample

    def left() -> Iterator[tuple[int, Sample]]:
        for number, sample in enumerate(samples):
            if sample.name in known:
                rows[number] = known[sample.name]
                on_done()
            else:
                yield number, sample

    def predicted(numbered: tuple[int, Sample]) -> Prediction:
        return _predicted(predict, numbered[1], on_error)

    try:
        for (number, _), row in in_flight(predicted, left(), concurrency):
            rows[number] = row
            if log is not None:
                log.add(row)
            on_done()
        result.rows = [rows[number] for number in sorted(rows)]
    finally:
        if log is not None:
            log.close()
    if output is not None:
        write_text(Path(output, "predictions.json"), json.dumps(result.to_json(), indent=1) + "\n")
    return result


def published(path: Path | str, samples: Iterable[Sample]) -> Predictions:
    """Predictions that somebody has written (`predictions.jsonl`), scored anew against the samples of those ids.

    Of a line, "name" and "made" are read; a sample without a line was answered with nothing. Raises `DataError` for
    another file, a line without an id or with actions that are none, and an id that no sample has or that comes twice.
    """
    made = _lines_of(Path(path))
    result = Predictions({"predictor": str(path)})
    for sample in samples:
        try:
            built = edited(sample.situation.grid, made.pop(sample.name, ()))
        except GridError as error:
            raise DataError(f"{path}: sample {sample.name!r}: {error}") from None
        result.rows.append(judged(sample, built))
    if made:
        raise DataError(f"{path}: {len(made)} ids are of no sample here, {next(iter(made))!r} for one")
    return result


def _lines_of(path: Path) -> dict[str, list[tuple[bool, int, int, int, int]]]:
    """The actions of a log of predictions, by the samples' ids."""
    header, *lines = read_file(path, LOG_LIMIT).splitlines() or [b""]
    with reading(str(path)):
        if parse_json(header, str(path))["format"] != FORMAT:
            raise DataError("it is no log of predictions")
    found: dict[str, list[tuple[bool, int, int, int, int]]] = {}
    for number, line in enumerate(lines, 2):
        with reading(f"{path}, line {number}"):
            row = parse_json(line, f"{path}, line {number}")
            if row.get("scored", True) is False:
                continue
            name, actions = row["name"], [(bool(place), *rest) for place, *rest in row["made"]]
            if not all(len(one) == 5 and all(type(value) is int for value in one[1:]) for one in actions):
                raise DataError(f"actions are {row['made']!r:.80}, expected [place, x, y, z, colour] of each")
            if not isinstance(name, str) or name in found:
                raise DataError(f"the id is {name!r:.80}, expected a text, and each once")
            found[name] = actions
    return found
