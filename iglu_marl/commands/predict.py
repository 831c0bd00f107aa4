"""`iglu-marl predict`: score builders that predict the next actions of people."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.output import new_path, printable, progress_bar, score, text_console
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import DataError
from iglu_marl.core.tables import Table

if TYPE_CHECKING:
    from iglu_marl.data.situations import Predictor, Sample
    from iglu_marl.evaluation.action_prediction import Predictions


def predict(
    builder: Annotated[
        list[str] | None,
        Option(
            help="Builder: nothing, one-more, oracle, or an agent by name or FILE.py:Class; may be repeated."
        ),
    ] = None,
    trained: Annotated[
        list[Path] | None, Option(help="Trained model, by folder or name; may be repeated.")
    ] = None,
    grammar: Annotated[
        bool, Option("--grammar", help="Use the grammar, and the models for texts that it does not parse.")
    ] = False,
    predictions: Annotated[
        list[Path] | None,
        Option(help="A predictions.jsonl, or BAP samples (.json), to score; may be repeated."),
    ] = None,
    baselines: opt.Baselines = True,
    scoring: Annotated[
        str, opt.choice("changes", "iglu2022", "iglu2022-corrected", about="headline measure")
    ] = "changes",
    keep_unbuilt: opt.KeepUnbuilt = False,
    corpus: Annotated[
        str, opt.choice("mdc", "iglu-singleturn", "bundled", about="source of the samples")
    ] = "mdc",
    data: opt.PackPath = None,
    split: Annotated[str, opt.choice("train", "val", "test", about="part of the corpus")] = "val",
    count: Annotated[int | None, opt.integer(1, "Maximum number of samples.")] = None,
    samples: Annotated[str, opt.choice("net", "acl2020", about="definition of a sample of mdc")] = "net",
    controls: Annotated[
        str | None,
        Option(help=f"Action encoding of agents. {opt.AS_TRAINED} flying.", callback=opt.known_controls),
    ] = None,
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    concurrency: opt.Concurrency = None,
    max_steps: opt.MaxSteps = 500,
    keep_going: opt.KeepGoing = False,
    output: Annotated[
        Path | None,
        opt.output_folder(
            "Output folder. Predictions in it are resumed. Default: a new one in iglu-marl-predictions/."
        ),
    ] = None,
    form: opt.TableForm = None,
    as_json: opt.Json = False,
) -> bool:
    """Score builders on the next actions of people (builder action prediction).

    Exit code 1 after errors.

    Examples: iglu-marl predict --corpus bundled --builder scripted
    """
    from iglu_marl.core.tables import tables_as
    from iglu_marl.data.splits import SPLIT_VERSION
    from iglu_marl.evaluation.action_prediction import AgentPredictor, oracle, predict_actions, published
    from iglu_marl.evaluation.report import by_kind
    from iglu_marl.evaluation.results import BASELINE_BUILDERS
    from iglu_marl.evaluation.selection import described, games_at_once, left_out_text, without_unbuilt

    console = text_console(as_json)
    builders = builder or ([] if trained or predictions else ["one-more", "scripted"])
    output = output or new_path("iglu-marl-predictions", *builders[:1])
    builders = list(dict.fromkeys([*(BASELINE_BUILDERS if baselines else ()), *builders]))
    found = samples_of(corpus, data, split, samples)
    asked, left_out = without_unbuilt(found, lambda sample: sample.unbuilt, keep_unbuilt)
    asked, unbuilt = asked[:count], [sample for sample in found if sample.unbuilt and not keep_unbuilt]
    how: Any = {"scoring": scoring, "keep_unbuilt": keep_unbuilt}
    results: dict[str, Predictions] = {}
    of_agents: Any = {"controls": controls, "max_steps": max_steps}
    with_oracle = "oracle" in builders
    builders = [name for name in builders if name != "oracle"]
    with _predictors(builders, trained or [], grammar, **of_agents) as predictors:
        for name, predictor in predictors.items():
            settings = {
                "corpus": corpus,
                "split": split,
                "split_version": SPLIT_VERSION,
                "count": len(asked),
                "samples": samples,
            }
            if hasattr(predictor, "fingerprint"):
                settings |= {"model": predictor.fingerprint, "grammar": grammar}
            at_once = 1
            if isinstance(predictor, AgentPredictor):
                settings |= {
                    **of_agents,
                    "controls": predictor.controls,
                    **described({"agent": name}, Role.BUILDER),
                }
                at_once = concurrency or games_at_once({name: name}, Role.BUILDER)
            with progress_bar(as_json) as progress:
                bar = progress.add_task(printable(name), total=len(asked))
                results[name] = predict_actions(
                    predictor,
                    asked,
                    name=name,
                    output=output / re.sub(r"[^\w.-]+", "-", name),
                    on_error="count" if keep_going else "raise",
                    settings={**settings, "left_out": left_out},
                    **how,
                    concurrency=at_once,
                    on_done=partial(progress.advance, bar),
                )
    if with_oracle:
        results["oracle"] = oracle(asked, **how)
    for path in predictions or []:
        results[str(path)] = published(path, [*asked, *unbuilt], **how)
    if as_json:
        print(json.dumps({name: result.to_json() for name, result in results.items()}))
    elif form:
        print(tables_as(form, tables(results)))
    else:
        console.print(*tables_as("markdown", tables(results)).split("\n"), sep="\n")
        if text := left_out_text(left_out):
            console.print(f"Samples {text}")
        for name, result in results.items():
            if (failed := len(result.rows) - len(result.scored)) > 0:
                console.print(
                    f"{name}: {failed} failed and are in no average; the same command with --output {output} "
                    "predicts them again"
                )
            if counts := result.model():
                console.print(
                    f"{name}: {counts['requests']} requests; failures: {by_kind(counts['failures'])}"
                )
        console.print(f"Every prediction: {output}")
    return not any(row.error for result in results.values() for row in result.rows)


def samples_of(corpus: str, data: Path | None, split: str, rules: str = "net") -> list[Sample]:
    """Return the samples of a split, or of a .json file of `read_bap`; rules: see `bap_samples`.

    Raises `DataError` if there are none.
    """
    from iglu_marl.data import bundled
    from iglu_marl.data.mdc.bap_files import read_bap
    from iglu_marl.data.mdc.corpus import Corpus
    from iglu_marl.data.splits import Split
    from iglu_marl.evaluation.action_prediction import bap_samples, task_samples
    from iglu_marl.tasks import SessionTasks

    if data is not None and data.suffix == ".json":
        found = read_bap(data)
    elif corpus == "mdc":
        sessions = Corpus.open(data).sessions.values()
        found = list(bap_samples((session for session in sessions if session.split == split), rules=rules))
    elif corpus == "iglu-singleturn":
        from iglu_marl.evaluation.prediction_samples import singleturn_part

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
) -> Iterator[dict[str, Predictor]]:
    """Yield the predictors by name, and close agents afterwards."""
    from iglu_marl.agents.learned.builder import load_model
    from iglu_marl.agents.learned.hybrid import Hybrid
    from iglu_marl.agents.registry import game_options
    from iglu_marl.evaluation.action_prediction import BASELINES, SEES, AgentPredictor
    from iglu_marl.evaluation.selection import factory

    found: dict[str, Predictor] = {}
    with contextlib.ExitStack() as stack:
        for name in builders:
            if name in BASELINES:
                found[name] = BASELINES[name]
            else:
                walks = name == "random"  # as in games: its steps are cheap, and its turns end at random
                own = {"controls": "walking" if walks else "flying", "builder_sees": SEES}
                game = game_options({Role.BUILDER: [name]}, own, {"controls": controls})
                sees = game["builder_sees"]
                make = factory(name, Role.BUILDER)
                agent = AgentPredictor(
                    make,
                    controls=game["controls"],
                    sees=sees,
                    max_steps=max_steps,
                    all_steps=walks,
                )
                stack.callback(agent.close)
                found[name] = agent
        for folder in models:
            model = load_model(folder, threads=1)
            found[f"model-{folder.name}"] = Hybrid(model) if grammar else model
        yield found


def tables(results: dict[str, Predictions]) -> list[Table]:
    """Return the averages by builder, and what the net actions got right."""
    first = next(iter(results.values()))
    headline = "F1 of changes" if first.scoring == "changes" else f"F1 ({first.scoring})"
    samples = max(len(result.scored) for result in results.values())
    averages, actions = [], []
    for name, result in results.items():
        averages.append([name, result.mean_f1().text(), result.interval().text()])
        measures = [("precision", "acted"), ("recall", "acted"), ("f1", "placed"), ("f1", "removed")]
        asked = {kind: any(getattr(row, kind).asked for row in result.scored) for _, kind in measures}
        values = (result.interval(*measure).value if asked[measure[1]] else math.nan for measure in measures)
        actions.append([name, *map(score, values)])
    notes = [f"In brackets: 95% intervals over {first.clusters()}"]
    kinds = ["precision", "recall", "placing", "removing"]
    return [
        Table(
            ["builder", headline, "F1 of net actions (acl2020)"],
            averages,
            f"{samples} samples: mean {headline}; net actions as micro averages",
            notes,
        ),
        Table(["builder", *kinds], actions, "Net actions: precision, recall, and F1 of parts"),
    ]
