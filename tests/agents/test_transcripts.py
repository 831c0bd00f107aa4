"""Conversations with the scripted builder, as they are read.

In a transcript (builder_transcripts.txt) "A:" is said by the architect, "B:" by the builder; what changes in the world
stands in parentheses: "+" is placed, "-" removed, by colour and cell, or counted where there are five or more.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from talkers import Instructor

from iglu_marl.core.grid import color_name

Blocks = set[tuple[int, int, int, int]]
TEXT = (Path(__file__).parent / "builder_transcripts.txt").read_text("utf-8")
TRANSCRIPTS = dict(part.split("\n", 1) for part in TEXT.split("## ")[1:])


def listed(cells: Blocks) -> str:
    if len(cells) < 5:
        return ", ".join(f"{color_name(color)} {x} {y} {z}" for x, y, z, color in sorted(cells))
    return ", ".join(f"{n} {color_name(color)}" for color, n in sorted(Counter(c for *_, c in cells).items()))


def change(before: Blocks, now: Blocks) -> list[str]:
    parts = [f"{sign} {listed(cells)}" for sign, cells in (("+", now - before), ("-", before - now)) if cells]
    return [f"({'; '.join(parts)})"] if parts else []


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_conversation_is_followed(name: str) -> None:
    instructor = Instructor()
    lines = TRANSCRIPTS[name].strip().splitlines()
    played: list[str] = []
    before: Blocks = set()
    for line in lines:
        if line.startswith("A: "):
            replies = instructor.says(line[3:])
            now = set(instructor.blocks)
            played += [line, *(f"B: {reply}" for reply in replies), *change(before, now)]
            before = now
    assert played == lines


def test_they_have_ten_turns_with_corrections_questions_and_names() -> None:
    assert len(TRANSCRIPTS) == 10
    assert all(text.count("A: ") >= 10 for text in TRANSCRIPTS.values())
