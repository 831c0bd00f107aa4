"""`iglu-marl predict`: builders predict what people did next, and are counted against them."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from rich.table import Column, Table
from typer import Option

from iglu_marl.commands.options import (
    AS_LEARNED,
    Concurrency,
    Json,
    LLMEndpoint,
    LLMModelLong,
    LLMView,
    PackPath,
    at_least,
    choice,
    known_controls,
)
from iglu_marl.commands.output import progress_bar, score
from iglu_marl.commands.train import need_torch, singleturn_part
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError

if TYPE_CHECKING:
    from iglu_marl.evaluation.action_prediction import Predictions, Predictor, Sample


def predict(
    builder: Annotated[
        list[str] | None,
        Option(help="nothing, one-more, an agent by name, or module:attribute; several times."),
    ] = None,
    model: Annotated[
        list[Path] | None,
        Option(help="Folder of a trained model, or its name in the zoo; several times for several."),
    ] = None,
    grammar: Annotated[
        bool, Option("--grammar", help="What the grammar understands, models leave to it.")
    ] = False,
    predictions: Annotated[
        list[Path] | None, Option(help="A predictions.jsonl to be scored again; several times for several.")
    ] = None,
    corpus: Annotated[str, choice("mdc", "iglu-singleturn", "bundled")] = "mdc",
    data: PackPath = None,
    split: Annotated[str, choice("train", "val", "test")] = "val",
    count: Annotated[int | None, Option(help="So many samples at most.", callback=at_least(1))] = None,
    samples: Annotated[str, choice("net", "acl2020", about="what is a sample of mdc")] = "net",
    protocol: Annotated[str, choice("acl2020", "v2", about="which F1 the table has first")] = "acl2020",
    decoding: Annotated[str, choice("threshold", "steps", about="how models decide")] = "threshold",
    controls: Annotated[
        str | None,
        Option(help=f"Of agents: their action encoding. {AS_LEARNED} flying.", callback=known_controls),
    ] = None,
    llm_model: LLMModelLong = None,
    endpoint: LLMEndpoint = None,
    llm_view: LLMView = None,
    concurrency: Concurrency = None,
    max_steps: Annotated[int, Option(help="Of agents: steps of a turn at most.", callback=at_least(1))] = 500,
    keep_going: Annotated[
        bool, Option("--keep-going", help="Count what a builder raises as doing nothing, and go on.")
    ] = False,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder for every prediction; it is gone on with.")
    ] = Path("iglu-marl-predictions"),
    as_json: Json = False,
) -> bool:
    """Builders predict what people did next; F1 of net actions (builder action prediction) and of changes.

    Exit code 1 after errors.
    """
    from iglu_marl.data.splits import SPLIT_VERSION
    from iglu_marl.evaluation.action_prediction import AgentPredictor, predict_actions, published
    from iglu_marl.evaluation.report import by_kind
    from iglu_marl.evaluation.selection import described, games_at_once

    console = Console(quiet=as_json, highlight=False)
    builders = builder or ([] if model or predictions else ["nothing", "one-more", "scripted"])
    asked = samples_of(corpus, data, split, samples)[:count]
    results: dict[str, Predictions] = {str(path): published(path, asked) for path in predictions or []}
    of_agents: Any = {"controls": controls, "max_steps": max_steps}
    with _predictors(builders, model or [], grammar, decoding=decoding, **of_agents) as predictors:
        for name, predictor in predictors.items():
            settings = {
                "corpus": corpus,
                "split": split,
                "split_version": SPLIT_VERSION,
                "count": len(asked),
                "samples": samples,
            }
            if hasattr(predictor, "fingerprint"):
                settings |= {"decoding": decoding, "model": predictor.fingerprint, "grammar": grammar}
            at_once = 1
            if isinstance(predictor, AgentPredictor):
                settings |= {
                    **of_agents,
                    "controls": predictor.controls,
                    **described({"agent": name}, Role.BUILDER),
                }
                at_once = concurrency or games_at_once({name: name}, Role.BUILDER)
            with progress_bar(as_json) as progress:
                bar = progress.add_task(name, total=len(asked))
                results[name] = predict_actions(
                    predictor,
                    asked,
                    name=name,
                    output=output / re.sub(r"[^\w.-]+", "-", name),
                    on_error="count" if keep_going else "raise",
                    settings=settings,
                    concurrency=at_once,
                    on_done=partial(progress.advance, bar),
                )
    if as_json:
        print(json.dumps({name: result.to_json() for name, result in results.items()}))
    else:
        console.print(table(results, protocol))
        console.print(oracles(results))
        for name, result in results.items():
            if (failed := len(result.rows) - len(result.scored)) > 0:
                console.print(
                    f"{name}: {failed} failed and are in no average; the same command predicts them again"
                )
            if counts := result.model():
                console.print(
                    f"{name}: {counts['requests']} requests; failures: {by_kind(counts['failures'])}"
                )
        console.print(f"Every prediction: {output}", soft_wrap=True)
    return not any(row.error for result in results.values() for row in result.rows)


def samples_of(corpus: str, data: Path | None, split: str, rules: str = "net") -> list[Sample]:
    """The samples of a split of a corpus; rules: see `bap_samples`. Raises `DataError` for an empty split."""
    from iglu_marl.data import bundled
    from iglu_marl.data.mdc.corpus import Corpus
    from iglu_marl.data.splits import Split
    from iglu_marl.evaluation.action_prediction import bap_samples, task_samples
    from iglu_marl.tasks import SessionTasks

    if corpus == "mdc":
        sessions = Corpus.open(data).sessions.values()
        found = list(bap_samples((session for session in sessions if session.split == split), rules=rules))
    elif corpus == "iglu-singleturn":
        if data is None:
            raise ConfigError("--data is missing: the zip or folder of the single-turn data")
        found = list(singleturn_part(data, split))
    else:
        sessions_of = bundled.load().items()
        found = list(
            task_samples(SessionTasks({name: own for name, own in sessions_of if Split.of(name) == split}))
        )
    if not found:
        raise DataError(f"the split {split!r} of {corpus} has no samples in this pack")
    return found


@contextlib.contextmanager
def _predictors(
    builders: list[str],
    models: list[Path],
    grammar: bool,
    *,
    controls: str | None,
    max_steps: int,
    decoding: str,
) -> Iterator[dict[str, Predictor]]:
    """The predictors by name; agents are closed in the end."""
    from iglu_marl.agents.registry import game_options
    from iglu_marl.evaluation import factory
    from iglu_marl.evaluation.action_prediction import BASELINES, SEES, AgentPredictor

    found: dict[str, Predictor] = {}
    with contextlib.ExitStack() as stack:
        for name in builders:
            if name in BASELINES:
                found[name] = BASELINES[name]
            else:
                own = {"controls": "flying", "builder_sees": SEES}
                game = game_options({Role.BUILDER: [name]}, own, {"controls": controls})
                sees = game["builder_sees"]
                make = factory(name, Role.BUILDER)
                agent = AgentPredictor(make, controls=game["controls"], sees=sees, max_steps=max_steps)
                stack.callback(agent.close)
                found[name] = agent
        for folder in models:
            need_torch("a trained model")
            from iglu_marl.agents.learned.checkpoint import TrainedModel
            from iglu_marl.agents.learned.hybrid import Hybrid

            how: Any = decoding
            trained = TrainedModel.named(folder, decoding=how, threads=1)
            found[f"model-{folder.name}"] = Hybrid(trained) if grammar else trained
        yield found


def oracles(results: dict[str, Predictions]) -> Table:
    """Where the loss is: what the F1 of net actions would be if something were known."""
    shown = Table(
        "builder", "F1", "their number known", "a cell beside it counts", title="What stands in the way"
    )
    for name, result in results.items():
        kinds = ("acted", "counted", "near")
        shown.add_row(name, *(score(result.interval("f1", kind).value) for kind in kinds))
    return shown


def table(results: dict[str, Predictions], protocol: str = "acl2020") -> Table:
    """The averages of each builder."""
    wide = [Column(title, no_wrap=True) for title in ("builder", f"F1 ({protocol})")]
    samples = max(len(result.scored) for result in results.values())
    titles = ("precision", "recall", "placing", "removing", "changes")
    shown = Table(
        *wide, *titles, title=f"Net actions of {samples} samples, micro averages; mean F1 of changes"
    )
    for name, result in results.items():
        f1 = result.score(protocol)
        cells: list[Any] = [f1.told()]
        cells += [score(result.interval(measure).value) for measure in ("precision", "recall")]
        cells += [score(result.interval("f1", kind).value) for kind in ("placed", "removed")]
        shown.add_row(name, *cells, score(result.mean_f1().value))
    return shown
