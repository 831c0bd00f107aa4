"""`iglu-marl questions`: score when and what to ask on the clarifying questions of IGLU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Column, Table
from typer import Option

from iglu_marl.commands.options import Json, PackPath, choice, expect, output_file
from iglu_marl.commands.output import score, text_console
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import write_text

if TYPE_CHECKING:
    from iglu_marl.evaluation.clarification import QuestionScores


def questions(
    when: Annotated[
        str | None, Option(help="When to ask: always, never, not-understood, or module:function of the game.")
    ] = None,
    what: Annotated[
        str | None,
        Option(help="What to ask: bm25, in-order, or module:function that makes a ranker of the bank."),
    ] = None,
    data: PackPath = None,
    split: Annotated[str, choice("train", "val", "test", "all", about="part of the corpus")] = "test",
    protocol: Annotated[str, choice("games", "iglu2022", about="scoring protocol")] = "games",
    output: Annotated[
        Path | None, output_file("File for the predictions (JSON lines, one per game).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Score when to ask (F1) and what to ask (MRR@20) on the clarifying questions of IGLU.

    Examples: iglu-marl questions --when not-understood --what bm25 --data iglu-singleturn.zip
    """
    from iglu_marl.data.iglu.clarifying_questions import clarifying_questions, question_bank
    from iglu_marl.data.splits import Split
    from iglu_marl.evaluation.clarification import ASKERS, RANKERS, predict_questions

    if (when, what) == (None, None):
        when, what = "not-understood", "bm25"
    asks, make = _named("--when", when, ASKERS), _named("--what", what, RANKERS)
    bank = question_bank(data)
    games = [
        game
        for game in clarifying_questions(data)
        if split == "all" or Split.of(game.structure or game.start) == split
    ]
    if not games:
        raise DataError(f"the split {split!r} has no instructions in this pack")
    result = predict_questions(games, bank, asks=asks, ranks=make and make(bank), protocol=protocol)
    if output is not None:
        write_text(output, "".join(json.dumps(row.to_json()) + "\n" for row in result.rows))
    if as_json:
        print(json.dumps({"split": split, "when_by": when, "what_by": what, **result.to_json()}))
        return
    console = text_console()
    console.print(_table(result, when, what, f"{len(games)} games of {split}, protocol {protocol}"))
    if output is not None:
        console.print(f"Every prediction: {output}")


def _named(option: str, name: str | None, known: Mapping[str, Any]) -> Any:
    """Return a baseline or an imported function by name, None for None."""
    from iglu_marl.core.imports import imported

    if name is None or name in known:
        return None if name is None else known[name]
    expected = f"one of {', '.join(known)}, or module:attribute"
    expect(option, name, ":" in name, expected)
    try:
        found = imported(name)
    except (ImportError, AttributeError, ValueError) as error:
        expect(option, name, False, f"{expected} ({error})")
    expect(option, name, callable(found), f"{expected}, a function")
    return found


def _table(result: QuestionScores, when: str | None, what: str | None, title: str) -> Table:
    shown = Table(Column("score", no_wrap=True), "of", Column("value", no_wrap=True), title=title)
    if result.when is not None:
        counts = result.when.unclear
        shown.add_row("F1, unclear", f"when: {when}", score(result.when.f1))
        shown.add_row("F1, clear", "", score(result.when.clear_f1))
        shown.add_row("asked rightly, asked, unclear", "", f"{counts.right}, {counts.made}, {counts.asked}")
    if result.mrr is not None:
        shown.add_row("MRR@20", f"what: {what}", f"{result.mrr:.4f}")
        shown.add_row("ranked for", "", f"{result.ranked} unclear ones")
        for reason, count in result.odd.items():
            shown.add_row("odd", reason.replace("_", " "), str(count))
    return shown
