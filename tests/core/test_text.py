"""Tables in forms for papers, pages and spreadsheets; texts without control characters."""

from __future__ import annotations

import csv
import io

from iglu_marl.core.text import markdown_table, markdown_text, strip_control, tables_as

HARD = r"50 % of a_b & {c} ~ \d | e <f> *g* `h` #1"
DOCUMENT = f"""# Title

Text | with a bar.

{markdown_table(("agent", "success"), [[markdown_text(HARD), "12.5 (8.0–17.0)"], ["`plain`", "–"]])}
- note

{markdown_table(("a", "b"), [["1", "2"]])}"""


def test_csv_has_the_plain_texts() -> None:
    first, second = tables_as("csv", DOCUMENT).split("\n\n")
    assert list(csv.reader(io.StringIO(first))) == [
        ["agent", "success"],
        [HARD, "12.5 (8.0–17.0)"],
        ["plain", "–"],
    ]
    assert second == "a,b\n1,2\n"


def test_latex_escapes_what_has_a_meaning_there() -> None:
    first, second = tables_as("latex", DOCUMENT).split("\n\n")
    assert first.splitlines() == [
        "% Title",
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


def test_markdown_leaves_out_what_is_no_table() -> None:
    found = tables_as("markdown", DOCUMENT)
    assert (found.count("# Title"), found.count("| --- | --- |")) == (1, 2)
    assert not any(text in found for text in ("with a bar", "note"))


def test_control_characters_are_removed() -> None:
    assert strip_control("a\x1b[31mb\x00\u202ec\u061c\r\nd\ud800") == "a[31mbc\nd\ufffd"
    assert strip_control("Żółty 🙂\tok") == "Żółty 🙂 ok"
