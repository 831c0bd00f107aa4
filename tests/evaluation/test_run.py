"""The driver of jobs with a log: what is there is not done again, and other files are left alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from iglu_marl import ConfigError, DataError
from iglu_marl.core.jobs import each
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.run import run

Row = dict[str, Any]


def do(
    path: Path | None, numbers: Iterable[int], failing: frozenset[int] = frozenset(), seed: int = 0
) -> Any:
    """Square numbers; return the rows, and the numbers that were squared now."""
    squared: list[int] = []

    def work(number: int) -> Row:
        squared.append(number)
        return {"number": number, "square": None if number in failing else number**2}

    log: RowLog[Row] = RowLog(
        path, {"seed": seed}, form=("squares", 1), what="squares", from_json=dict, to_json=dict
    )
    rows = run(
        each(work),
        numbers,
        log,
        job_id=lambda number: number,
        row_id=lambda row: row["number"],
        is_done=lambda number, row: row["square"] is not None,
    )
    return [row["square"] for row in rows], squared


@pytest.mark.parametrize("cut", [7, 20, 60, -1])
def test_a_log_that_was_cut_is_continued(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    assert do(path, range(5), frozenset({1})) == ([0, None, 4, 9, 16], [0, 1, 2, 3, 4])
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut] if cut > 0 else whole[:30])  # of the last rows, or of the header
    kept = [n for n in (0, 2, 3, 4) if f'"number":{n},"square":{n * n}}}\n' in path.read_text()]
    rows, squared = do(path, [5, *range(5)])
    assert rows == [25, 0, 1, 4, 9, 16]
    assert squared == [n for n in (5, 0, 1, 2, 3, 4) if n not in kept]
    assert do(path, range(6)) == ([0, 1, 4, 9, 16, 25], [])


@pytest.mark.parametrize("content", ["my diary", "my\ndiary\n", '{"format": "other"}\n', "[]\n"])
def test_another_file_is_left_alone(content: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match=r"no log of squares.*choose another folder"):
        do(path, range(3))
    assert path.read_text() == content


def test_a_log_with_other_settings_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    do(path, range(3))
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"begun with other settings: seed was 0, is 1; choose another"):
        do(path, range(3), seed=1)
    assert path.read_bytes() == before


def test_without_a_file_rows_are_only_returned() -> None:
    assert do(None, [3, 2]) == ([9, 4], [3, 2])
