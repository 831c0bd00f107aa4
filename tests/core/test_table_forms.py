"""Tables in forms for papers, pages and spreadsheets."""

from __future__ import annotations

import csv
import io

import pytest

from iglu_marl.core.tables import (
    Code,
    Markup,
    Table,
    csv_text,
    html_table,
    markdown_rows,
    markdown_table,
    tables_as,
)

HARD = r"50 % of a_b & {c} ~ \d | e <f> *g* `h` #1"
FIRST = Table(
    ("agent", "success"), [[HARD, "12.5 (8.0–17.0)"], [Code("plain"), "–"]], "Title & more", ["a *note*"]
)
SECOND = Table(("a", "b"), [["1", 2]])


def test_csv_has_the_plain_texts() -> None:
    first, second = tables_as("csv", (FIRST, SECOND)).split("\n\n")
    assert list(csv.reader(io.StringIO(first))) == [
        ["agent", "success"],
        [HARD, "12.5 (8.0–17.0)"],
        ["plain", "–"],
    ]
    assert second == "a,b\n1,2\n"


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1"]
)
def test_a_spreadsheet_calculates_nothing(cell: str) -> None:
    (line,) = csv.reader(io.StringIO(csv_text([[cell, "a\rb"]]), newline=""))
    assert line == ["'" + cell.replace("\r", "\n"), "a\nb"]


def test_numbers_stay_numbers() -> None:
    assert csv_text([["-1", "+1.5e-3", "-.5", -1, None, "-", "--1"]]) == "-1,+1.5e-3,-.5,-1,,'-,'--1\n"


def test_latex_escapes_what_has_a_meaning_there() -> None:
    first, second = tables_as("latex", (FIRST, SECOND)).split("\n\n")
    assert first.splitlines() == [
        "% Title & more",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"agent & success \\",
        r"\midrule",
        r"50 \% of a\_b \& \{c\} \textasciitilde{} \textbackslash{}d | e <f> *g* `h` \#1 & 12.5 (8.0--17.0) \\",
        r"plain & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert r"{lr}" in second


def test_markdown_shows_code_and_escapes_the_rest() -> None:
    escaped = r"50 % of a_b &amp; {c} \~ \\d \| e &lt;f&gt; \*g\* \`h\` #1"
    assert markdown_rows(FIRST) == [[escaped, "12.5 (8.0–17.0)"], ["`plain`", "–"]]
    assert markdown_rows(Table(("a",), [[Markup("*b*")]])) == [["*b*"]]
    assert markdown_table(SECOND) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    text = tables_as("markdown", (FIRST, SECOND))
    assert text.startswith("## Title &amp; more\n\n| agent | success |\n")
    assert text.endswith("\n\n- a \\*note\\*\n\n" + markdown_table(SECOND))


def test_html_escapes_all_but_what_is_html() -> None:
    table = Table(("<a>",), [["<b>"], [Markup("<b>")]])
    rows = "<tr><td>&lt;b&gt;</td></tr><tr><td><b></td></tr>"
    assert (
        html_table(table) == f"<table><thead><tr><th>&lt;a&gt;</th></tr></thead><tbody>{rows}</tbody></table>"
    )
