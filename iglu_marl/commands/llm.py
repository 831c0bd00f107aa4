"""`iglu-marl llm`: training data with verifiable targets for language models, and their benchmark."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.corpora import CORPORA, open_corpus, source_argument
from iglu_marl.commands.output import print_json, stoppable, text_console
from iglu_marl.commands.predict import samples_of
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.data.splits import Split

SOURCES = (*CORPORA, "generated", "transcript")
GENERATED = 200  # games


def export_prompts(
    source: Annotated[str, source_argument(*SOURCES)],
    output: Annotated[Path, opt.output_to("New folder for JSON lines and a data card.")],
    data: opt.PackPath = None,
    split: Annotated[str, opt.choice("all", "train", "val", "test", about="part of the source")] = "all",
    role: Annotated[
        str, opt.choice("builder", "architect", about="role of the model, for generated")
    ] = "builder",
    text_view: opt.TextView = "layers",
    count: Annotated[
        int | None, opt.integer(1, "Maximum number of records of a split, or of generated games.")
    ] = None,
    seed: opt.Seed = 0,
    transcript: Annotated[Path | None, Option(help="For transcript: the file of the LLM agents.")] = None,
    outcomes: Annotated[Path | None, Option(help="For transcript: games.jsonl of the evaluation.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Write prompts with reference replies, start and target as a dataset for SFT and GRPO."""
    from iglu_marl.text.export import generated_records, transcript_records, write_dataset

    if source in ("bundled", "generated", "transcript") and data is not None:
        raise ConfigError(f"--data is given, but the source {source} reads none")
    wanted = [part.value for part in Split if split in ("all", part.value)]
    if source == "transcript":
        if transcript is None:
            raise ConfigError("--transcript is missing, expected the file of the LLM agents")
        records: Iterator[Any] = islice(transcript_records(transcript, outcomes), count)
    elif source == "generated":
        seeds = range(seed, seed + (count or GENERATED))
        made = generated_records(seeds, role=role, view=text_view)
        records = (record for record in made if record["split"] in wanted)
    else:
        records = _recorded(source, data, wanted, text_view, count)
    about = {
        "source": source,
        "view": text_view,
        "role": role if source == "generated" else "builder",
        "seed": seed,
    }
    found = write_dataset(records, output, about)
    print_json(as_json, {"output": str(output), "records": found})
    console = text_console(as_json)
    counts = ", ".join(f"{number:,} {name}" for name, number in found.items())
    console.print(f"{counts}: {output}")


def run_benchmark(
    agent: Annotated[
        str, Argument(help="Agent: llm, llm:MODEL@ENDPOINT, or another name.", autocompletion=opt.an_agent)
    ] = "llm",
    level: Annotated[list[str] | None, Option(help="A level; may be repeated. Default: all.")] = None,
    name: Annotated[str, Option(help="Name of the agent in tables.")] = "",
    episodes: Annotated[int, opt.integer(1, "Games of each level.")] = 20,
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    concurrency: opt.Concurrency = None,
    processes: opt.Processes = 1,
    seed: opt.Seed = 0,
    references: Annotated[
        bool, Option("--references/--no-references", help="Also show random and scripted agents.")
    ] = True,
    output: Annotated[Path, opt.output_to("Output folder. An existing run in it is resumed.")] = Path(
        "iglu-marl-models"
    ),
    as_json: opt.Json = False,
) -> bool:
    """Run the benchmark of language models.

    Exit code 1 after failed games; the same command plays them again.
    """
    from iglu_marl.benchmark import reference_results, run_models
    from iglu_marl.benchmark.report import model_table

    console = text_console(as_json)
    kept = f"Finished games are in {output}; the same command resumes the run."
    with stoppable(lambda: kept):
        results = run_models(
            agent,
            level or (),
            name=name,
            episodes=episodes,
            seed=seed,
            output=output,
            processes=processes,
            concurrency=concurrency,
            command=" ".join(["iglu-marl", *sys.argv[1:]]),
            progress=lambda text: console.print(text, style="dim"),
        )
    if as_json:
        print(json.dumps([result.to_json() for result in results]))
    played = {result.level for result in results}
    rows = [row for row in reference_results() if row.level in played] if references else []
    console.print(*model_table([*rows, *results]).split("\n"), sep="\n")
    return not any(result.models["failed"] or result.models["errors"] for result in results)


def _recorded(
    source: str, data: Path | None, splits: list[str], view: str, count: int | None
) -> Iterator[Any]:
    """Yield the records of a corpus by split; splits without samples are skipped."""
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
