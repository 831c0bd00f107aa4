"""`iglu-marl llm`: prompts, answers and verifiable targets to train language models with, and their benchmark."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from iglu_marl.commands.corpora import CORPORA, open_corpus
from iglu_marl.commands.options import (
    Concurrency,
    Json,
    LLMEndpoint,
    LLMModel,
    PackPath,
    Processes,
    Seed,
    an_agent,
    at_least,
    choice,
    one_of,
)
from iglu_marl.commands.output import stoppable, text_console
from iglu_marl.commands.predict import samples_of
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.data.splits import Split

SOURCES = (*CORPORA, "generated", "transcript")
GENERATED = 200  # games


def export_prompts(
    source: Annotated[str, Argument(metavar="SOURCE", help=", ".join(SOURCES), callback=one_of(*SOURCES))],
    output: Annotated[Path, Option("--output", "-o", help="New folder for JSON lines and a data card.")],
    data: PackPath = None,
    split: Annotated[str, choice("all", "train", "val", "test")] = "all",
    role: Annotated[
        str, choice("builder", "architect", about="of generated games: who is asked")
    ] = "builder",
    view: Annotated[str, choice("layers", "coordinates", "auto", about="how builds are told")] = "layers",
    count: Annotated[
        int | None,
        Option(help="So many records of a split (or generated games) at most.", callback=at_least(1)),
    ] = None,
    seed: Seed = 0,
    transcript: Annotated[
        Path | None, Option(help="Of transcript: the file that LLM agents have written.")
    ] = None,
    games: Annotated[
        Path | None, Option(help="And the games.jsonl of its evaluation, for the outcomes.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Prompts with good answers, and start and target to verify any other, as a dataset for SFT and GRPO."""
    from iglu_marl.text.export import generated_records, transcript_records, write_dataset

    if source in ("bundled", "generated", "transcript") and data is not None:
        raise ConfigError(f"--data is given, but {source} needs none")
    wanted = [part.value for part in Split if split in ("all", part.value)]
    if source == "transcript":
        if transcript is None:
            raise ConfigError("--transcript is missing: the file that LLM agents have written")
        records: Iterator[Any] = islice(transcript_records(transcript, games), count)
    elif source == "generated":
        seeds = range(seed, seed + (count or GENERATED))
        made = generated_records(seeds, role=role, view=view)
        records = (record for record in made if record["split"] in wanted)
    else:
        records = _recorded(source, data, wanted, view, count)
    about = {
        "source": source,
        "view": view,
        "role": role if source == "generated" else "builder",
        "seed": seed,
    }
    found = write_dataset(records, output, about)
    if as_json:
        print(json.dumps({"output": str(output), "records": found}))
    console = text_console(as_json)
    told = ", ".join(f"{number:,} {name}" for name, number in found.items())
    console.print(f"{told}: {output}")


def run_benchmark(
    agent: Annotated[
        str, Argument(help="llm, llm:MODEL@ENDPOINT, or any other by name.", autocompletion=an_agent)
    ] = "llm",
    rung: Annotated[list[str] | None, Option(help="A rung; several times for several. Default: all.")] = None,
    name: Annotated[str, Option(help="What the agent is called in tables.")] = "",
    episodes: Annotated[int, Option(help="Games of each rung.", callback=at_least(1))] = 20,
    model: LLMModel = None,
    endpoint: LLMEndpoint = None,
    concurrency: Concurrency = None,
    processes: Processes = 1,
    seed: Seed = 0,
    beside: Annotated[
        bool, Option("--beside/--alone", help="Also show players without sense, and scripted ones.")
    ] = True,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder for result files and games; it is gone on with.")
    ] = Path("iglu-marl-models"),
    as_json: Json = False,
) -> bool:
    """Play the benchmark of language models. Exit code 1 where games failed; the same command plays them again."""
    from iglu_marl.benchmark import reference_results, run_models
    from iglu_marl.benchmark.report import model_table

    console = text_console(as_json)
    kept = f"The games that were played are in {output}; the same command goes on with them."
    with stoppable(lambda: kept):
        results = run_models(
            agent,
            rung or (),
            name=name,
            episodes=episodes,
            seed=seed,
            output=output,
            processes=processes,
            concurrency=concurrency,
            command=" ".join(["iglu-marl", *sys.argv[1:]]),
            progress=lambda text: console.print(text, style="dim", markup=False),
        )
    if as_json:
        print(json.dumps([result.to_json() for result in results]))
    played = {result.rung for result in results}
    rows = [row for row in reference_results() if row.rung in played] if beside else []
    console.print(model_table([*rows, *results]), markup=False)
    return not any(result.models["failed"] or result.models["errors"] for result in results)


def _recorded(
    source: str, data: Path | None, splits: list[str], view: str, count: int | None
) -> Iterator[Any]:
    """The records of a corpus, split by split; a split without samples is left out."""
    from iglu_marl.evaluation.action_prediction import task_samples
    from iglu_marl.tasks import SessionTasks
    from iglu_marl.text.export import sample_records

    corpus: Any = open_corpus(source, data) if source == "iglu-multiturn" else None
    for split in splits:
        try:
            if corpus is None:
                samples = samples_of(source, data, split)
            else:
                samples = list(task_samples(SessionTasks(corpus.split(split).tasks)))
        except DataError:
            if len(splits) == 1:
                raise
            continue
        yield from islice(sample_records(samples, source=source, split=split, view=view), count)
