"""What `iglu-marl predict` does: builders predict what people did next, and are counted against them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from iglu_marl.action_prediction import (
    BASELINES,
    AgentPredictor,
    Predictions,
    Predictor,
    Sample,
    bap_samples,
    predict_actions,
    task_samples,
)
from iglu_marl.commands.train import need_torch, singleturn_part
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.data.mdc import SPLITS, Corpus
from iglu_marl.evaluation import factory
from iglu_marl.tasks import BundledTasks

CORPORA = ("mdc", "iglu-singleturn", "bundled")


@dataclass(frozen=True)
class PredictOptions:
    """The options of the command."""

    builders: list[str]
    models: list[Path]
    corpus: str = "mdc"
    data: Path | None = None
    split: str = "val"
    count: int | None = None
    decoding: str = "threshold"
    controls: str = "flying"
    max_steps: int = 500
    keep_going: bool = False
    output: Path = Path("iglu-marl-predictions")
    json: bool = False


def samples_of(corpus: str, data: Path | None, split: str) -> list[Sample]:
    """The samples of a split of a corpus. Raises `ConfigError` for other names, `DataError` for an empty split."""
    if corpus not in CORPORA or split not in SPLITS:
        raise ConfigError(
            f"corpus {corpus!r}, split {split!r}: expected {', '.join(CORPORA)}; {', '.join(SPLITS)}"
        )
    if corpus == "mdc":
        sessions = Corpus.open(data).sessions.values()
        found = list(bap_samples(session for session in sessions if session.split == split))
    elif corpus == "iglu-singleturn":
        if data is None:
            raise ConfigError("--data is missing: the zip or folder of the single-turn data")
        found = list(singleturn_part(data, split))
    else:
        found = list(task_samples(BundledTasks(mode="turns")))
    if not found:
        raise DataError(f"the split {split!r} of {corpus} has no samples in this pack")
    return found


@contextlib.contextmanager
def _predictors(options: PredictOptions) -> Iterator[dict[str, Predictor]]:
    """The predictors by name; agents are closed in the end."""
    found: dict[str, Predictor] = {}
    with contextlib.ExitStack() as stack:
        for name in options.builders:
            if name in BASELINES:
                found[name] = BASELINES[name]
            else:
                agent = AgentPredictor(
                    factory(name, Role.BUILDER), controls=options.controls, max_steps=options.max_steps
                )
                stack.callback(agent.close)
                found[name] = agent
        for folder in options.models:
            need_torch("a trained model")
            from iglu_marl.agents.learned.trained import TrainedModel

            decoding: Any = options.decoding
            found[f"model-{folder.name}"] = TrainedModel.load(folder, decoding=decoding, threads=1)
        yield found


def run(options: PredictOptions) -> dict[str, Predictions]:
    """Predict what is missing, write the files, show the averages."""
    console = Console(quiet=options.json, highlight=False)
    samples = samples_of(options.corpus, options.data, options.split)[: options.count]
    results: dict[str, Predictions] = {}
    with _predictors(options) as predictors:
        for name, predict in predictors.items():
            settings = {
                "corpus": options.corpus, "split": options.split, "count": len(samples),
                **({"decoding": options.decoding, "model": predict.fingerprint}
                   if hasattr(predict, "fingerprint") else {}),
                **({"controls": options.controls, "max_steps": options.max_steps}
                   if isinstance(predict, AgentPredictor) else {}),
            }  # fmt: skip
            results[name] = predict_actions(
                predict,
                track(samples, name, console=console, transient=True),
                name=name,
                output=options.output / name.replace(":", "-"),
                on_error="count" if options.keep_going else "raise",
                settings=settings,
            )
    if options.json:
        print(json.dumps({name: result.to_json() for name, result in results.items()}))
    else:
        console.print(table(results))
        console.print(f"Every prediction: {options.output}", soft_wrap=True)
    return results


def table(results: dict[str, Predictions]) -> Table:
    """The averages of each builder."""
    wide = [Column(title, no_wrap=True) for title in ("builder", "F1")]
    samples = max(len(result.rows) for result in results.values())
    titles = ("precision", "recall", "placing", "removing", "changes")
    shown = Table(
        *wide, *titles, title=f"Net actions of {samples} samples, micro averages; mean F1 of changes"
    )
    for name, result in results.items():
        f1 = result.interval()
        cells: list[Any] = [f"{f1.value:.3f} ({f1.low:.3f}-{f1.high:.3f})"]
        cells += [f"{result.interval(measure).value:.3f}" for measure in ("precision", "recall")]
        cells += [f"{result.interval('f1', kind).value:.3f}" for kind in ("placed", "removed")]
        shown.add_row(name, *cells, f"{result.mean_f1().value:.3f}")
    return shown
