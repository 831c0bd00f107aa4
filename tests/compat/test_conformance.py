"""The table of conformance leaves out nothing that the documents of the tools name, and proves what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conformance import KEYWORDS, SOURCES, Row
from requirements import ROOT

from benchmarks import conformance

ALL = [*(row for _, rows in SOURCES.values() for row in rows), *KEYWORDS]

# What looks like a name of the tools in a document: code-like words, keywords in calls, attributes, calls, quoted keys.
_NAMES = (
    r"\b(?:[a-z]+_\w+|[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}\w*_\w+)\b",
    r"\b([a-z_]\w*)\s?=[^=]",
    r"\.([A-Za-z]\w+)\b",
    r"\b([A-Za-z]\w+)\(",
    r"[\"'](\w+)[\"']",
)
_OUTSIDE = (
    r"^C\d+: .*$|https?://\S+|@\w+\{.*?\n\}|git\+\S+|\S+@\S+"  # the list of tasks, addresses, citations
)

# Names in the documents that are no item: variables of their examples, the examples' own classes, NumPy, prose.
NO_ITEMS = {
    "gridworld": """
        action Box data dataset Dict diff Discrete done env grid_size high info js keys low make max max_int maximum
        my_dataset my_session my_task_id ndarray NeurIPS num_blocks obs prev_grid prev_grid_size prev_max_int print py
        range rotate_y_axis run_env session shape shifted_grid sign step String structure_id subtask sum super task_id
        tasks translate turns yml grid builtstarting_grid instructionlast_instruction intersection choice csv sample
        flying walking
    """,
    "iglu-datasets": """
        dataset diff g grid grid_size js json keys max max_int maximum my_dataset my_session my_task_id ndarray
        num_blocks prev_grid prev_grid_size prev_max_int print py range rotate_y_axis session shifted_grid sign
        structure_id subtask sum super task_id tasks translate turns builtstarting_grid thequestion_bank intersection
        underinitial_world_states choice csv
    """,
    "iglu-envs": "Box Dict Discrete env high low make MineRL_ png shape String reset",
    "iglu-tasks": "action custom_grid done env info items join make obs print range zeros const",
    "clevr-robot": """
        achieved_goal_program achieved_goal_text action current_descriptions current_full_descriptions env goal info obs
        OpenAI sample OpenCV e step reset
    """,
}


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def names(text: str) -> set[str]:
    """What looks like a name in a text."""
    kept = re.sub(_OUTSIDE, "", text, flags=re.MULTILINE | re.DOTALL)
    found = {name for pattern in _NAMES for name in re.findall(pattern, kept)}
    return {name for name in found if not name.isdigit() and not re.fullmatch(r"_+\w*_*|[A-Z]\w?\d?", name)}


@pytest.mark.parametrize("source", SOURCES)
def test_every_name_of_a_document_has_a_row(source: str, shared: Path) -> None:
    file, rows = SOURCES[source]
    text = (shared / "seeds" / file).read_text(encoding="utf-8")
    told = set().union(*(words(row.item) for row in rows))
    no_items = words(NO_ITEMS[source])
    assert names(text) - told - no_items == set(), "neither in a row nor known as no item"
    assert no_items - words(text) == set(), "no longer in the document"


@pytest.mark.parametrize("source", SOURCES)
def test_no_row_is_made_up(source: str, shared: Path) -> None:
    """What a row gives as code stands in the document."""
    file, rows = SOURCES[source]
    text = (shared / "seeds" / file).read_text(encoding="utf-8")
    quoted = {name for row in rows for code in re.findall("`([^`]+)`", row.item) for name in words(code)}
    assert {name for name in quoted if name not in text} == set()


@pytest.mark.parametrize("row", ALL, ids=lambda row: re.sub(r"\W+", "-", row.item)[:50].strip("-"))
def test_rows(row: Row) -> None:
    assert row.verdict in ("same", "as documented", "differs", "refused")
    assert row.how or row.verdict in ("same", "as documented"), "how it differs, or what to use instead"
    assert "|" not in row.item + row.how
    file, _, name = row.test.partition("::")
    assert f"\ndef {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), (
        f"{file} has no test {name}"
    )


def test_rows_are_stated_once() -> None:
    for rows in (*(rows for _, rows in SOURCES.values()), KEYWORDS):
        items = [row.item for row in rows]
        assert len(items) == len(set(items))


# ------------------------------------------------------------------------------------------- measured

TOOLS = list(conformance.MARKS)


@pytest.mark.parametrize("tool", TOOLS)
def test_every_probe_has_a_recorded_answer(tool: str) -> None:
    found = conformance.recorded()[tool]
    assert conformance.probes(tool).keys() <= found["there"].keys()
    assert found["there"].keys() - conformance.probes(tool).keys() == found["here"].keys(), (
        "documents and examples"
    )
    text = conformance.HERE.joinpath("probes.md").read_text("utf-8")
    assert text.count("\n## ") == sum(len(conformance.probes(one)) for one in TOOLS) > 50


@pytest.mark.parametrize(
    ("there", "here", "expected"),
    [
        ([1], [1], "same"),
        ([1], [2], "differs"),
        ([None], [1], "fails there"),
        ([1], [None], "refused"),
        ([None], [None], "both fail"),
        ([1], [], "not measured"),
        ([1, None], [1, 2], "fails there"),
    ],
)
def test_the_verdict_is_that_of_the_results(there: list[Any], here: list[Any], expected: str) -> None:
    results = [[{"error": "E"} if one is None else {"value": one} for one in part] for part in (there, here)]
    assert conformance.verdict(*results) == expected


def test_each_tool_has_rows_that_are_the_same_and_notes_for_the_others() -> None:
    words = [sys.executable, "-m", "benchmarks.conformance", "--json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    rows = json.loads(done.stdout)
    assert [row for row in rows if row["verdict"] != "same" and not row["note"]] == []
    assert {row["tool"] for row in rows if row["verdict"] == "same"} == {*TOOLS}
    assert not {"refused", "both fail", "not measured"} & {row["verdict"] for row in rows}


@pytest.mark.skipif("IGLU_MARL_CHECKOUTS" not in os.environ, reason="no checkouts of the tools")
@pytest.mark.parametrize("tool", TOOLS)
def test_the_tools_still_answer_as_recorded(tool: str) -> None:
    """`IGLU_MARL_CHECKOUTS` has a folder for each tool, `IGLU_MARL_TOOLS_PYTHON` an interpreter for them."""
    checkout = Path(os.environ["IGLU_MARL_CHECKOUTS"], tool)
    python = os.environ.get("IGLU_MARL_TOOLS_PYTHON", sys.executable)
    assert conformance.record(conformance.tool_of(checkout), checkout, python) == conformance.recorded()[tool]


def test_public_programs_give_what_they_gave_with_the_tool() -> None:
    """`programs.json` was recorded with the checkouts of gridworld; other programs need their own checkouts."""
    recorded = json.loads(conformance.HERE.joinpath("programs.json").read_text("utf-8"))
    assert conformance.run_script("programs.py", ["gridworld", "."]) == recorded["gridworld"]
    assert [len(recorded["iglu-2022-rl-baseline"][name]) for name in ("returns", "lengths")] == [60, 60]
    checkout = Path(os.environ.get("IGLU_MARL_CHECKOUTS", "none"), "iglu-2022-rl-baseline")
    if checkout.is_dir():
        words = [checkout.name, str(checkout)]
        assert conformance.run_script("programs.py", words) == recorded[checkout.name]
