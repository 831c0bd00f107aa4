"""`iglu-marl data export`: write sessions, tasks and recordings in formats of other tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from iglu_marl import data
from iglu_marl.commands.corpora import CORPORA, open_corpus, source_argument
from iglu_marl.commands.options import Json, PackPath, integer, one_of
from iglu_marl.commands.output import print_json, text_console
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import check_writable
from iglu_marl.core.parsing import PlaceholderError
from iglu_marl.data.dataset import Dataset
from iglu_marl.data.packs.archive import MemberError
from iglu_marl.data.packs.registry import PACKS
from iglu_marl.data.progress import track
from iglu_marl.data.report import Report

POV_SIZE = (64, 64)


def _world_files(
    name: str, path: Path | None, names: list[str], report: Report[Any], shown: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield the readable world files of an IGLU pack by name, and note the damaged ones in the report."""
    from iglu_marl.recording.action_logs import LogSkip

    with data.find_pack(name, path) as pack:
        for member in track(names, "files", len(names), None if shown else False):
            try:
                yield member, pack.read(member)
            except (MemberError, PlaceholderError) as error:
                report.skip(LogSkip.DAMAGED, member, None, str(error)[:200])


def _minari(
    name: str, path: Path | None, output: str, options: dict[str, Any], shown: bool
) -> dict[str, Any]:
    """Write the recordings of a pack as a Minari dataset, and return its counts."""
    corpus = open_corpus(name, path)
    assert isinstance(corpus, (data.MultiturnDataset, data.SingleturnDataset))
    from iglu_marl.recording.action_logs import write_action_logs

    names = [*corpus.worlds, *corpus.worlds.damaged]
    report: Report[Any] = Report()
    made = write_action_logs(
        _world_files(name, path, names, report, shown),
        output,
        tasks=corpus.tasks_by_file(),
        report=report,
        **options,
    )
    counts = {"episodes": int(made.total_episodes), "steps": int(made.total_steps)}
    return {**counts, "left_out": report.counts}


def export(
    source: Annotated[str, source_argument(*CORPORA)],
    output: Annotated[
        str,
        Option(
            "--output", "-o", help="File (tasks, bap), new folder (layout, parquet) or dataset id (minari)."
        ),
    ],
    form: Annotated[
        str,
        Option(
            "--format",
            help="tasks: JSON lines; layout: IGLU multi-turn files; parquet: tables; "
            "minari: offline dataset of the recorded actions; bap: samples of builder action prediction (mdc).",
            callback=one_of("tasks", "layout", "parquet", "minari", "bap"),
        ),
    ] = "tasks",
    path: PackPath = None,
    pixels: Annotated[bool, Option("--pixels", help="With minari: add a picture of each step.")] = False,
    processes: Annotated[int, integer(1, "With minari: number of processes.")] = 1,
    stride: Annotated[int, integer(1, "With minari: use every n-th frame of a recording.")] = 1,
    as_json: Json = False,
) -> None:
    """Write tasks, sessions or recordings of a corpus in a format of other tools.

    Examples: iglu-marl data export bundled -o tasks.jsonl; iglu-marl data export mdc --format parquet -o tables
    """
    console = text_console(as_json)
    if form != "minari":
        check_writable(output, folder=form not in ("tasks", "bap"))
    facts: dict[str, Any] = {"source": source, "format": form, "output": output}
    if form == "minari":
        if source not in ("iglu-multiturn", "iglu-singleturn"):
            raise ConfigError(f"--format minari needs recorded actions, which {source} does not have")
        options = {"pov_size": POV_SIZE if pixels else None, "processes": processes, "stride": stride}
        facts |= _minari(source, path, output, options, not as_json)
    elif form == "tasks":
        facts["tasks"] = data.write_tasks(output, open_corpus(source, path))
    elif form == "parquet":
        from iglu_marl.data.parquet import write_parquet

        facts |= write_parquet(output, open_corpus(source, path), info=PACKS.get(source))
    elif form == "bap":
        from iglu_marl.data.mdc.bap_files import write_bap
        from iglu_marl.evaluation.action_prediction import bap_samples

        if source != "mdc":
            raise ConfigError(f"--format bap needs timelines, which {source} does not have")
        facts["samples"] = write_bap(output, bap_samples(data.Corpus.open(path).sessions.values()))
    else:
        if source == "iglu-singleturn":
            raise ConfigError(
                "--format layout needs sessions of several turns, which iglu-singleturn does not have"
            )
        corpus = open_corpus(source, path)
        report = data.write_sessions(output, corpus.tasks if isinstance(corpus, Dataset) else corpus)
        facts |= {"sessions": report.sessions, "turns": report.turns, "noted": report.counts}
    if not print_json(as_json, facts):
        console.print(", ".join(f"{key} {_shown(value)}" for key, value in facts.items()))


def _shown(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return "(" + (", ".join(f"{count} {name}" for name, count in value.items()) or "nothing") + ")"
