"""Builder action prediction: what does a builder do next, given the dialogue?

A `Sample` is a `Situation` (dialogue, world, pose, earlier actions of the builder) and the actions of a person in it.
`predict_actions` lets a predictor act in each situation and counts its net actions against the person's. `bap_samples`
makes samples of the Minecraft Dialogue Corpus, `task_samples` of any tasks (such as IGLU turns).

A predictor is a function from a situation to edits, or to the world afterwards. Situations hold copies, without
references to the session, the target or the actions. `AgentPredictor` turns any builder with the `Agent` protocol into
a predictor.

Predictions are written with the sample's id (session, number, and states of the session), so that they can be scored
again: `published`.

Source of the task and its micro-averaged F1: Jayannavar, Narayan-Chen and Hockenmaier, Learning to Execute
Instructions in a Minecraft Dialogue (ACL 2020).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.arguments import check_option
from iglu_marl.core.dialogue import Role
from iglu_marl.core.edits import edited, net_actions, net_edits
from iglu_marl.core.errors import (
    AgentError,
    ConfigError,
    DataError,
    GridError,
    PoseError,
)
from iglu_marl.core.files import json_ready, made_folder, write_text
from iglu_marl.core.grid import COLOR_NAMES, MAX_Y, BlockGrid, NetAction, as_grid, color_at
from iglu_marl.core.jobs import PerThread, each
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors
from iglu_marl.core.scoring import Counts, micro
from iglu_marl.core.task import Task
from iglu_marl.data.mdc.action_sequences import action_sequences
from iglu_marl.data.mdc.bap_files import read_bap
from iglu_marl.data.mdc.corpus import Session
from iglu_marl.data.situations import Predictor, Sample, Situation
from iglu_marl.data.splits import structure_id
from iglu_marl.envs.aec import raw_env
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.metrics import (
    Interval,
    about_skills,
    change_counts,
    clustered,
    clusters_text,
    iglu2022_counts,
    skills,
)
from iglu_marl.evaluation.run import row_error, run
from iglu_marl.evaluation.selection import without_unbuilt
from iglu_marl.game.agent import Agent, add_counts, begin, check_service, counts_of
from iglu_marl.game.config import GameConfig

__all__ = [
    "BASELINES",
    "KINDS",
    "RULES",
    "SCORED_KINDS",
    "AgentPredictor",
    "Prediction",
    "Predictions",
    "bap_samples",
    "nothing",
    "one_more",
    "oracle",
    "predict_actions",
    "published",
    "task_samples",
]

FORMAT, VERSION = "iglu_marl action prediction", 4
LOG_LIMIT = 1024 * MIB  # bytes
LOG = "predictions.jsonl"
KINDS = ("acted", "placed", "removed", "changed", "iglu2022", "iglu2022_corrected")
"""Counts of a prediction; see `Prediction`."""
SCORED_KINDS = {"changes": "changed", "iglu2022": "iglu2022", "iglu2022-corrected": "iglu2022_corrected"}
"""Headline counts by name of the scoring, as in `iglu_marl.evaluation.metrics.SCORINGS`."""
RULES = ("net", "acl2020")
"""Rules for the samples of the Minecraft Dialogue Corpus; see `bap_samples`."""
_NONE = Counts(0, 0, 0)
_UNREACHABLE = np.ones((9, 11, 11), np.int8)  # more blocks than a builder has


# --------------------------------------------------------------------------------------------------- the samples


def bap_samples(sessions: Iterable[Session], *, rules: str = "net") -> Iterator[Sample]:
    """Yield the samples of sessions of the Minecraft Dialogue Corpus; see `data.mdc.action_sequences`.

    Tags are the skills of the session's structure (`iglu_marl.evaluation.metrics.skills`), or "plain".

    sessions: sessions of the corpus. rules: "net": all action sequences with a net edit. "acl2020": as the paper's
    code, also sequences without one, but none with blocks outside the zone.

    Raises `ConfigError` if `rules` is unknown.
    """
    if rules not in RULES:
        raise ConfigError(f"rules is {rules!r}, expected one of {', '.join(RULES)}")
    for session in sessions:
        tags = (
            () if session.gold is None else (skills(session.gold, structure=session.structure) or ("plain",))
        )
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
    """Yield tasks as samples: dialogue, starting world and target of each.

    Each turn of a session is a sample that starts in the world that the person left. Tasks with the same id are
    numbered: "bridge-1", "bridge-1/1", "bridge-1/2".
    """
    known: Counter[str] = Counter()
    for number, given in enumerate(tasks):
        task = given.in_ids("iglu")
        start, target = task.start_grid, task.target_grid
        unit = task.task_id or f"task-{number}"
        name = f"{unit}/{known[unit]}" if known[unit] else unit
        known[unit] += 1
        yield Sample(
            name=name,
            unit=unit,
            situation=Situation(task.dialogue, start, max(0, len(task.dialogue) - 1)),
            target=target,
            actions=tuple(net_edits(start, target)),
            structure=structure_id(task.structure),
            tags=skills(target, start, task.structure) or ("plain",),
            invariant=task.is_invariant,
            unbuilt=task.unbuilt,
        )


# ------------------------------------------------------------------------------------------------ who predicts


def nothing(situation: Situation) -> list[NetAction]:
    """Baseline: do nothing."""
    return []


def one_more(situation: Situation) -> list[NetAction]:
    """Baseline: place a block on top of the last placed one, which is the most frequent action.

    Its colour is the last one named, else that of the block below. Without earlier placements, it is placed at the
    centre.
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
    """Turns a builder into a predictor: it plays one turn in a game that starts in the situation.

    The game's own target is a dummy that cannot be built. A pose outside the game's space is replaced by the usual
    start and counted in `poses_replaced`. Each thread has an agent and a game of its own.

    Args:
        make: function of the environment (such as `ScriptedBuilder.for_env`).
        controls: action encoding.
        sees: observation fields of the builder.
        max_steps: steps of the turn, which ends earlier when the builder yields or speaks.
        all_steps: whether the game goes on then, with a silent architect.
        seed: seed of the agent, the same in each situation.

    Raises:
        AgentError: if the agent needs the target.

    """

    def __init__(
        self,
        make: Callable[[Any], Agent],
        *,
        controls: str = "flying",
        sees: Sequence[str] = SEES,
        max_steps: int = 500,
        all_steps: bool = False,
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
            raise AgentError(
                f"{type(agent).__name__} needs the target, which is unknown in action prediction"
            )
        self.controls, self._seed, self._all_steps = controls, seed, all_steps
        self.poses_replaced = 0

    def __call__(self, situation: Situation) -> npt.NDArray[np.int8]:
        """Return the world after the agent's turn, int8 [9, 11, 11]."""
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
        env.step("")  # the architect's turn: the dialogue is complete
        while self._all_steps or env.agent_selection == "builder_0":
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            env.step(agent.act(observation) if env.agent_selection == "builder_0" else "")
            check_service([agent])
        built: npt.NDArray[np.int8] = env.episode.worlds.grid[0].copy()
        return built

    @property
    def counts(self) -> dict[str, Any]:
        """Counts of an LLM agent in the last prediction of this thread."""
        return counts_of(self._games.get()[1])

    def close(self) -> None:
        """Close the agents and their games."""
        for env, agent in self._games.made:
            agent.close()
            env.close()


# ------------------------------------------------------------------------------------------------- one sample


@dataclass(frozen=True)
class Prediction:
    """The predicted actions for a sample, and their counts.

    | count | what is right |
    |---|---|
    | placed, removed, acted | net placements, removals, both: type, cell and colour |
    | changed | changed cells (`change_counts`) |
    | iglu2022, iglu2022_corrected | as changed, by the score of the IGLU 2022 competition (`iglu2022_counts`) |

    name: id of the sample. made: the predicted actions. error: exception of the predictor, which then counts as doing
    nothing; "" if none. scored: False if a service that the predictor needs failed; the prediction is then in no
    average. model: counts of an LLM agent.
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
    iglu2022: Counts = _NONE
    iglu2022_corrected: Counts = _NONE
    states: tuple[int, int] | None = None
    scored: bool = True
    model: Mapping[str, Any] = field(default_factory=dict)

    @property
    def acted(self) -> Counts:
        """Counts of net placements and removals together."""
        return micro([self.placed, self.removed])

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {name: list(part) if isinstance(part, tuple) else part for name, part in vars(self).items()}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Prediction:
        """Read the dict that `to_json` returns. Raises `DataError` if a number or a text is invalid."""
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
) -> Prediction:
    """Count a predicted world against a person's."""
    before = sample.situation.grid
    asked, made = net_actions(before, sample.target), net_actions(before, built)
    placed, removed = (
        Counts(
            sum(one.place == place for one in asked & made),
            sum(one.place == place for one in made),
            sum(one.place == place for one in asked),
        )
        for place in (True, False)
    )
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
        iglu2022=iglu2022_counts(before, sample.target, built),
        iglu2022_corrected=iglu2022_counts(before, sample.target, built, corrected=True),
        states=sample.states,
        scored=scored,
        model=model or {},
    )


def _predicted(predict: Predictor, sample: Sample, on_error: str) -> Prediction:
    """Predict one sample. Edits are applied in their order, so undone edits do not count."""
    before = sample.situation.grid
    try:
        made = predict(sample.situation)
        built = as_grid(made, "prediction") if isinstance(made, np.ndarray) else edited(before, made)
    except Exception as fault:
        error, scored = row_error(fault, on_error)
        return judged(sample, before, error, scored=scored, model=getattr(predict, "counts", None))
    return judged(sample, built, model=getattr(predict, "counts", None))


# --------------------------------------------------------------------------------------------------- all samples


@dataclass
class Predictions:
    """Predictions for many samples. Intervals are 95 % bootstraps over structures, or sessions if these are unknown.

    Predictions with `scored=False` are in no average. scoring: chooses the headline counts, one of `SCORED_KINDS`.
    """

    settings: dict[str, Any]
    rows: list[Prediction] = field(default_factory=list)
    resamples: int = 1000
    scoring: str = "changes"

    @property
    def scored(self) -> list[Prediction]:
        """Rows that count in averages."""
        return [row for row in self.rows if row.scored]

    def model(self) -> dict[str, Any]:
        """Return the summed counts of an LLM agent; empty for others."""
        total: dict[str, Any] = {}
        for row in self.rows:
            add_counts(total, row.model)
        return total

    def micro(self, kind: str = "acted", rows: Iterable[Prediction] | None = None) -> Counts:
        """Return the summed counts of a kind, one of `KINDS`."""
        return micro(getattr(row, kind) for row in (self.scored if rows is None else rows))

    def interval(
        self, measure: str = "f1", kind: str = "acted", rows: Sequence[Prediction] | None = None
    ) -> Interval:
        """Return the micro average of "f1", "precision" or "recall", with its interval."""
        used = self.scored if rows is None else rows
        counts = np.array([getattr(row, kind) for row in used], np.float64).reshape(-1, 3)
        right, made, asked = counts.T
        above, below = {
            "f1": (2 * right, made + asked), "precision": (right, made), "recall": (right, asked),
        }[measure]  # fmt: skip
        if not below.any():
            value = getattr(self.micro(kind, used), measure)
            return Interval(value, value, value)
        return clustered(above, below, map(_cluster, used), resamples=self.resamples)

    def mean_f1(self, kind: str | None = None, rows: Sequence[Prediction] | None = None) -> Interval:
        """Return the mean of the samples' F1 of a kind, with its interval; default: the headline's kind."""
        used = self.scored if rows is None else rows
        values = [getattr(row, kind or SCORED_KINDS[self.scoring]).f1 for row in used]
        return clustered(values, [1.0] * len(values), map(_cluster, used), resamples=self.resamples)

    def clusters(self) -> str:
        """Return what the intervals are drawn over, such as "8 structures"."""
        return clusters_text((row.structure, row.unit) for row in self.scored)

    def to_json(self) -> dict[str, Any]:
        """Return settings and tables, JSON-ready."""
        tags = sorted({tag for row in self.scored for tag in row.tags})
        groups = {
            "all": self.scored,
            **{tag: [row for row in self.scored if tag in row.tags] for tag in tags},
        }
        model = self.model()
        content = {
            "samples": len(self.scored),
            "failed": len(self.rows) - len(self.scored),
            "units": len({row.unit for row in self.scored}),
            "scoring": self.scoring,
            "intervals_over": self.clusters(),
            "errors": dict(Counter(row.error.split(":")[0] for row in self.rows if row.error)),
            "mean_f1": {name: self.mean_f1(kind) for name, kind in SCORED_KINDS.items()}
            if self.scored
            else {},
            **({"model": model} if model else {}),
            "about_skills": about_skills(groups),
            "tables": {
                group: {
                    kind: {
                        "counts": self.micro(kind, rows),
                        "mean_f1": self.mean_f1(kind, rows) if rows else None,
                        **{name: self.interval(name, kind, rows) for name in ("f1", "precision", "recall")},
                    }
                    for kind in KINDS
                }
                for group, rows in groups.items()
            },
        }
        return {"settings": self.settings, **json_ready(content)}


def _cluster(row: Prediction) -> str:
    return row.structure or row.unit


def predict_actions(
    predict: Predictor,
    samples: Iterable[Sample],
    *,
    name: str = "",
    scoring: str = "changes",
    keep_unbuilt: bool = False,
    output: Path | str | None = None,
    on_error: str = "raise",
    settings: Mapping[str, Any] | None = None,
    concurrency: int = 1,
    on_done: Callable[[], None] = lambda: None,
) -> Predictions:
    """Let a predictor act in all samples, and count its actions.

    Args:
        predict: the predictor.
        samples: the samples.
        name: name of the predictor.
        scoring: headline of the tables, one of `SCORED_KINDS`. The rows have all counts.
        keep_unbuilt: whether samples stay in which nobody built what was asked for; nothing is right then.
        output: folder for `predictions.jsonl` (a line per sample) and `predictions.json` (tables). Existing
            predictions in it are not repeated.
        on_error: "raise" exceptions of the predictor, or "count" them as doing nothing.
        settings: other settings that identify the run.
        concurrency: samples in progress at once, in threads; does not change the rows.
        on_done: called after each sample.

    If a service that the predictor needs fails, the sample is in no average and is predicted again by the next call.

    `settings["left_out"]` of the result counts the samples that were left out.

    Raises:
        ConfigError: if an argument is invalid or `output` has other settings.
        GridError: if an edit is invalid.
        TaskError: if all samples are left out.
        ServiceRefusedError: if a service refuses all requests.

    """
    if on_error not in ("raise", "count"):
        raise ConfigError(f"on_error is {on_error!r}, expected 'raise' or 'count'")
    check_option("scoring", scoring, tuple(SCORED_KINDS))
    used, left_out = without_unbuilt(samples, lambda sample: sample.unbuilt, keep_unbuilt)
    result = Predictions(
        {"predictor": name, **(settings or {}), **_as_setting(left_out)},
        scoring=scoring,
    )
    log: RowLog[Prediction] = RowLog(
        None if output is None else made_folder(output) / LOG,
        result.settings,
        form=(FORMAT, VERSION),
        what="predictions",
        from_json=Prediction.from_json,
        to_json=Prediction.to_json,
    )
    result.rows = run(
        each(partial(_predicted, predict, on_error=on_error)),
        used,
        log,
        job_id=lambda sample: sample.name,
        row_id=lambda row: row.name,
        is_done=lambda sample, row: row.scored,
        concurrency=concurrency,
        on_done=on_done,
    )
    if output is not None:
        write_text(Path(output, "predictions.json"), json.dumps(result.to_json(), indent=1) + "\n")
    return result


def published(
    path: Path | str,
    samples: Iterable[Sample],
    *,
    scoring: str = "changes",
    keep_unbuilt: bool = False,
) -> Predictions:
    """Score the predictions in a file against the samples with the same ids.

    Of `predictions.jsonl` the keys "name" and "made" are read; a .json file is one of `data.mdc.bap_files`. Samples
    without a line count as no action; lines of unbuilt samples are left out with them. scoring, keep_unbuilt: as of
    `predict_actions`.

    Raises `DataError` if the file has another format, or a line an unknown id, a repeated id or invalid actions.
    """
    made, given = _lines_of(Path(path)), list(samples)

    def built(sample: Sample) -> BlockGrid:
        try:
            return edited(sample.situation.grid, made.get(sample.name, ()))
        except GridError as error:
            raise DataError(f"{path}: sample {sample.name!r}: {error}") from None

    result = _score_worlds(str(path), given, built, scoring, keep_unbuilt)
    unknown = made.keys() - {sample.name for sample in given}
    if unknown:
        raise DataError(f"{path}: {len(unknown)} ids are of no sample here, {min(unknown)!r} for one")
    return result


def oracle(samples: Iterable[Sample], *, scoring: str = "changes", keep_unbuilt: bool = False) -> Predictions:
    """Score the worlds that the persons made: the upper bound. scoring, keep_unbuilt: as of `predict_actions`."""
    return _score_worlds("oracle", samples, lambda sample: sample.target, scoring, keep_unbuilt)


def _score_worlds(
    name: str,
    samples: Iterable[Sample],
    built: Callable[[Sample], BlockGrid],
    scoring: str,
    keep_unbuilt: bool,
) -> Predictions:
    """Return the predictions whose worlds are known, without a predictor."""
    check_option("scoring", scoring, tuple(SCORED_KINDS))
    used, left_out = without_unbuilt(samples, lambda sample: sample.unbuilt, keep_unbuilt)
    rows = [judged(sample, built(sample)) for sample in used]
    return Predictions({"predictor": name, **_as_setting(left_out)}, rows, scoring=scoring)


def _as_setting(left_out: dict[str, int]) -> dict[str, Any]:
    return {"left_out": left_out} if left_out else {}


def _lines_of(path: Path) -> Mapping[str, Sequence[tuple[bool, int, int, int, int]]]:
    """Return the actions in a log of predictions, or in a file of `read_bap`, by the samples' ids."""
    if path.suffix == ".json":
        return {sample.name: list(sample.actions) for sample in read_bap(path)}
    header, *lines = read_file(path, LOG_LIMIT).splitlines() or [b""]
    with wrap_errors(str(path)):
        if parse_json(header, str(path))["format"] != FORMAT:
            raise DataError("it is no log of predictions")
    found: dict[str, list[tuple[bool, int, int, int, int]]] = {}
    for number, line in enumerate(lines, 2):
        with wrap_errors(f"{path}, line {number}"):
            row = parse_json(line, f"{path}, line {number}")
            if row.get("scored", True) is False:
                continue
            name, actions = row["name"], [(bool(place), *rest) for place, *rest in row["made"]]
            if not all(len(one) == 5 and all(type(value) is int for value in one[1:]) for one in actions):
                raise DataError(f"actions are {row['made']!r:.80}, expected [place, x, y, z, color] of each")
            if not isinstance(name, str) or name in found:
                raise DataError(f"the id is {name!r:.80}, expected a text, and each once")
            found[name] = actions
    return found
