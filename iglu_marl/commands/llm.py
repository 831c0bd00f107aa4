"""`iglu-marl llm`: training data with verifiable targets for language models, a quick check, and their benchmark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.corpora import CORPORA, open_corpus, source_argument
from iglu_marl.commands.output import print_json, printable, text_console
from iglu_marl.commands.predict import samples_of
from iglu_marl.core.errors import ConfigError, DataError, MissingExtraError
from iglu_marl.core.extras import extra
from iglu_marl.core.tables import Table, markdown_table
from iglu_marl.data.progress import track
from iglu_marl.data.splits import Split

SOURCES = (*CORPORA, "generated")
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
    as_json: opt.Json = False,
) -> None:
    """Write prompts with reference replies, start and target as a dataset for SFT and GRPO.

    Examples: iglu-marl llm export generated --count 100 -o prompts
    """
    from iglu_marl.text.export import generated_records, write_dataset

    if source in ("bundled", "generated") and data is not None:
        raise ConfigError(f"--data is given, but the source {source} reads none")
    wanted = [part.value for part in Split if split in ("all", part.value)]
    if source == "generated":
        seeds = track(range(seed, seed + (count or GENERATED)), "games", wanted=not as_json)
        made = generated_records(seeds, role=role, view=text_view)
        records: Iterator[Any] = (record for record in made if record["split"] in wanted)
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
    """Check quickly whether a model is good enough as builder or as architect.

    Exit code 1 if the service spoilt games.

    Examples: iglu-marl llm check MODEL --llm-endpoint http://localhost:8000/v1
    """
    from iglu_marl.agents.llm.named import NamedModel, check_server
    from iglu_marl.core.tables import Table, markdown_table
    from iglu_marl.text.check import check_model as check

    name = model if model == "llm" or model.startswith(NamedModel.PREFIX) else f"{NamedModel.PREFIX}{model}"
    maker = NamedModel(None, "", None) if name == "llm" else NamedModel.of(name, None)
    console, settings = text_console(as_json), maker.settings()
    check_server(settings.endpoint)
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
    models: Annotated[
        list[str],
        Argument(
            help="A model of Inspect AI (openai/gpt-5), of a server (NAME@https://host/v1), smollm2, or a player "
            "without a model (grammar, copy, silent, …). Several are run one after the other.",
        ),
    ],
    level: Annotated[list[str] | None, Option(help="A level; may be repeated. Default: all.")] = None,
    partner: Annotated[str, Option(help="Builder of games of two. Default: the model plays both.")] = "",
    games: Annotated[int | None, opt.integer(1, "Games of each level. Default: all.")] = None,
    seed: Annotated[int, opt.integer(0, "Seed of the tasks. 0: the public ones.")] = 0,
    greedy: Annotated[
        bool,
        Option(help="Temperature 0; otherwise the model's sampling, for servers that refuse a temperature."),
    ] = True,
    price: Annotated[
        str, Option(help="Dollars for a million tokens of prompts and of replies: 1.25,10.")
    ] = "",
    cost_limit: Annotated[
        float | None, Option(help="Dollars after which a game ends; it counts as failed.")
    ] = None,
    concurrency: Annotated[int | None, opt.integer(1, "Maximum number of requests at once.")] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Estimate requests, tokens and cost; send nothing.")
    ] = False,
    output: Annotated[Path, opt.output_folder("Folder for the logs.")] = Path("iglu-marl-models"),
) -> bool:
    """Run the benchmark of language models with Inspect AI.

    A thin form of `inspect eval iglu_marl/LEVEL --model MODEL`, whose other options are there. Exit code 1 after failed
    games: `inspect eval-retry LOG` plays them again.

    Examples: iglu-marl llm benchmark openai/gpt-5 --dry-run
    """
    from iglu_marl.benchmark.models import LEVELS, estimate, find_level, is_playable

    console = text_console(False)
    levels = [find_level(name) for name in level or ()] or [one for one in LEVELS if is_playable(one)]
    prices = _prices(price)
    if dry_run:
        rows = [estimate(one, games, *prices) for one in levels]
        total = {name: round(len(models) * sum(row[name] for row in rows), 4) for name in list(rows[0])[1:]}
        everything = {"level": f"all, {len(models)} models" if len(models) > 1 else "all", **total}
        table = Table(tuple(rows[0]), [list(row.values()) for row in [*rows, everything]])
        console.print(*markdown_table(table).split("\n"), sep="\n")
        return True
    with _inspect():
        from iglu_marl.benchmark.inspect_tasks import TASKS, find_model, run_tasks, set_prices
        from iglu_marl.benchmark.model_report import ModelResult, markdown
    players = [find_model(name) for name in models]
    for player in players if price else ():
        set_prices(player, *prices)
    logs = run_tasks(
        [TASKS[one.name](games=games, seed=seed, greedy=greedy) for one in levels],
        model=players,
        model_roles={"builder": find_model(partner)} if partner else None,
        cost_limit=cost_limit,
        max_connections=concurrency,
        log_dir=str(output),
        display="plain" if console.is_terminal else "none",
        max_tasks=1,
    )
    results = [ModelResult.of(log) for log in logs if log.samples]
    console.print(*markdown(results).split("\n"), sep="\n")
    spoilt = [log for log in logs if log.status != "success" or log.samples is None]
    for log in spoilt:
        faults = [log.error, *(sample.error for sample in log.samples or ())]
        reason = next((fault.message for fault in faults if fault is not None), log.status)
        console.print(f"{log.eval.task} of {log.eval.model}: {printable(reason)[:400]}")
        console.print(f"To play what is missing: inspect eval-retry {log.location}")
    return not spoilt


def report_models(
    logs: Annotated[
        list[Path], Argument(help="Logs of the benchmark of language models, or folders of logs.")
    ],
    verify: Annotated[bool, Option("--verify", help="Repeat all games from their replies first.")] = False,
) -> bool:
    """Print a table of models and levels with scores, costs and marks.

    Exit code 1 if a log does not agree with its games.

    Examples: iglu-marl llm report iglu-marl-models
    """
    with _inspect():
        from iglu_marl.benchmark.model_report import markdown, read_results
    console = text_console(False)
    results = read_results(logs)
    problems = [
        f"{result.level} of {result.model}: {problem}"
        for result in results
        for problem in (result.verify() if verify else ())
    ]
    console.print(*markdown(results).split("\n"), *problems, sep="\n")
    return not problems


@contextmanager
def _inspect() -> Iterator[None]:
    """Import Inspect AI in this block. Raises `MissingExtraError`."""
    if sys.version_info < (3, 11):
        raise MissingExtraError("Inspect AI needs Python 3.11 or later, and the extra inspect")
    with extra("inspect"):
        yield


def _prices(text: str) -> tuple[float, float]:
    """Return the prices of prompts and replies. Raises `ConfigError`."""
    try:
        prompts, replies = map(float, text.split(",")) if text else (0.0, 0.0)
    except ValueError:
        raise ConfigError(f"--price is {text!r:.40}, expected two numbers: 1.25,10") from None
    return prompts, replies


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
