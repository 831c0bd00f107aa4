"""`iglu-marl llm`: training data with verifiable targets for language models, a quick check, and their benchmark."""

from __future__ import annotations

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
from iglu_marl.data.progress import track
from iglu_marl.data.splits import Split

SOURCES = (*CORPORA, "generated", "transcript")
GENERATED = 200  # games


def export_prompts(
    source: Annotated[str, source_argument(*SOURCES)],
    output: Annotated[Path, opt.output_folder("New folder for JSON lines and a data card.")],
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
    """Write prompts with reference replies, start and target as a dataset for SFT and GRPO.

    Examples: iglu-marl llm export generated --count 100 -o prompts
    """
    from iglu_marl.text.export import generated_records, transcript_records, write_dataset

    if source in ("bundled", "generated", "transcript") and data is not None:
        raise ConfigError(f"--data is given, but the source {source} reads none")
    wanted = [part.value for part in Split if split in ("all", part.value)]
    if source == "transcript":
        if transcript is None:
            raise ConfigError("--transcript is missing, expected the file of the LLM agents")
        records: Iterator[Any] = islice(transcript_records(transcript, outcomes), count)
    elif source == "generated":
        seeds = track(range(seed, seed + (count or GENERATED)), "games", wanted=not as_json)
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


def check_model(
    model: Annotated[str, Argument(help="Model name, llm:MODEL@ENDPOINT, or llm for the usual one.")] = "llm",
    role: Annotated[str, opt.choice("builder", "architect", about="role of the model")] = "builder",
    count: Annotated[
        int | None, opt.integer(1, "Number of requests (default: 60), or structures (20).")
    ] = None,
    seed: opt.Seed = 0,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    concurrency: opt.Concurrency = None,
    as_json: opt.Json = False,
) -> bool:
    """Check quickly whether a model is good enough as builder, as reader of the scripted builder, or as architect.

    Exit code 1 if the service spoilt games.

    Examples: iglu-marl llm check MODEL --llm-endpoint http://localhost:8000/v1
    """
    from iglu_marl.agents.llm.named import NamedModel
    from iglu_marl.core.tables import Table, markdown_table
    from iglu_marl.text.check import check_model as check

    name = model if model == "llm" or model.startswith(NamedModel.PREFIX) else f"{NamedModel.PREFIX}{model}"
    maker = NamedModel(None, "", None) if name == "llm" else NamedModel.of(name, None)
    console, settings = text_console(as_json), maker.settings()
    checked = check(settings, role, count, seed)
    stats = checked.stats
    about = {"model": settings.model, "role": role, **checked._asdict(), "stats": stats.as_dict()}
    print_json(as_json, about)
    heads = ["", *checked.shares["the model"]]
    rows = [[player, *(f"{share:.0%}" for share in row.values())] for player, row in checked.shares.items()]
    console.print(*markdown_table(Table(heads, rows)).split("\n"), sep="\n")
    console.print(
        f"{stats.requests} requests, {stats.prompt_tokens:,} tokens sent and {stats.completion_tokens:,} received, "
        f"cost {stats.cost:.4g}, {checked.seconds:.0f} s"
    )
    if stats.left_out:
        console.print(f"Left out, since the server rejects it: {', '.join(sorted(stats.left_out))}")
    if checked.failed:
        console.print(f"{checked.failed} failed: {', '.join(map(str, stats.failures))}")
    console.print(f"Advice: {checked.advice}.")
    return not checked.failed


def run_benchmark(
    agent: Annotated[
        str,
        Argument(
            help="llm, llm:MODEL@ENDPOINT, or a player without a model: oracle, reader, ask, guess, copy, silent.",
            autocompletion=opt.an_agent,
        ),
    ] = "llm",
    partner: Annotated[str, Option(help="Builder of games of two. Default: the agent plays both.")] = "",
    level: Annotated[list[str] | None, Option(help="A level; may be repeated. Default: all.")] = None,
    name: Annotated[str, Option(help="Name of the agent in tables.")] = "",
    episodes: Annotated[int | None, opt.integer(1, "Games of each level. Default: all.")] = None,
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    concurrency: opt.Concurrency = None,
    max_requests: Annotated[int, opt.integer(0, "Maximum number of requests of a game. 0: the level's.")] = 0,
    seed: Annotated[int, opt.integer(0, "Seed of the tasks. 0: the public ones.")] = 0,
    salt: Annotated[str, Option(help="For another seed: salt of the commitment that stands for it.")] = "",
    dry_run: Annotated[
        bool, Option("--dry-run", help="Estimate requests, tokens and cost; send nothing.")
    ] = False,
    references: Annotated[
        bool, Option("--references/--no-references", help="Also play ask, guess and silent, for comparison.")
    ] = False,
    output: Annotated[Path, opt.output_folder("Output folder. An existing run in it is resumed.")] = Path(
        "iglu-marl-models"
    ),
    as_json: opt.Json = False,
) -> bool:
    """Run the benchmark of language models.

    Exit code 1 after failed games; the same command plays them again.

    Examples: iglu-marl llm benchmark llm:MODEL@https://host/v1 --dry-run
    """
    from iglu_marl.agents.llm.settings import LLMSettings
    from iglu_marl.benchmark.model_report import markdown
    from iglu_marl.benchmark.models import estimate, run_models
    from iglu_marl.core.tables import Table, markdown_table

    console = text_console(as_json)
    if dry_run:
        settings = LLMSettings.from_environment(**({} if model else {"model": agent}))
        found = list(estimate(level or (), games=episodes, settings=settings))
        print_json(as_json, found)
        heads = tuple(found[0]) if found else ("level",)
        table = Table(heads, [list(row.values()) for row in found])
        console.print(*markdown_table(table).split("\n"), sep="\n")
        return True
    kept = f"Finished games are in {output}; the same command resumes the run."
    options: dict[str, Any] = {"games": episodes, "seed": seed, "salt": salt, "max_requests": max_requests}
    command = " ".join(["iglu-marl", *sys.argv[1:]])
    with stoppable(lambda: kept):
        results = run_models(
            agent,
            level or (),
            partner=partner,
            name=name,
            output=output,
            concurrency=concurrency,
            command=command,
            progress=lambda text: console.print(text, style="dim"),
            **options,
        )
        for player in ("ask", "guess", "silent") if references else ():
            results += run_models(player, level or (), output=output / player, command=command, **options)
    print_json(as_json, [result.to_json() for result in results])
    console.print(*markdown(results).split("\n"), sep="\n")
    return not any(result.failed for result in results)


def report_models(
    files: Annotated[list[Path], Argument(help="Result files of the benchmark of language models.")],
    verify: Annotated[bool, Option("--verify", help="Repeat all games from their replies first.")] = False,
    seed: Annotated[int | None, opt.integer(0, "Seed of the tasks, once it is published.")] = None,
    salt: Annotated[str, Option(help="Salt of the commitment, once it is published.")] = "",
) -> bool:
    """Print a table of results, and paired differences of models on the same tasks.

    Exit code 1 if a file does not agree with its games.

    Examples: iglu-marl llm report result.json
    """
    from iglu_marl.benchmark.model_report import markdown
    from iglu_marl.benchmark.models import ModelResult

    console = text_console(False)
    results = [ModelResult.read(path) for path in files]
    found = [
        f"{path}: {problem}"
        for path, result in zip(files, results, strict=True)
        for problem in (result.verify(seed, salt) if verify else ())
    ]
    console.print(*markdown(results).split("\n"), *found, sep="\n")
    return not found


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
