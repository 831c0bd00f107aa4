"""What readers and writers of data tell about what they cannot use: one `Report`, one kind of entry."""

from __future__ import annotations

import json

import pytest

from iglu_marl.data.report import Report, Skipped, SkipReason


class Why(SkipReason, unit="page"):
    """Reasons of a made-up reader."""

    TORN = "a page that is torn"
    EMPTY = "nothing on it"


def made() -> Report[Why]:
    report = Report[Why](rows=3, repeated_rows=1)
    report.skip(Why.TORN, "book", 4, "half of it")
    report.skip(Why.EMPTY, "book")
    report.skip(Why.EMPTY, "no\nname", 0)
    report.skip(Why.TORN)
    return report


def test_a_report_counts_and_explains() -> None:
    report = made()
    assert report.counts == {"torn": 2, "empty": 2}
    assert (report.file_counts, Report(files=[Skipped(Why.EMPTY, "a.txt")]).file_counts) == ({}, {"empty": 1})
    assert not report.exact
    assert Report[Why](tasks=2).exact
    assert str(report) == "3 rows, 1 repeated rows; left out: 2 empty, 2 torn"
    assert str(Report()) == "nothing; left out: nothing"
    assert list(map(str, report.skipped)) == [
        "book page 4: a page that is torn (half of it)",
        "book: nothing on it",
        "'no\\nname' page 0: nothing on it",
        "the data: a page that is torn",
    ]


def test_a_report_comes_back_from_json() -> None:
    report = made()
    report.files = [Skipped(Why.EMPTY, "a.txt", None, "?")]
    assert Report.from_json(json.loads(json.dumps(report.to_json())), Why) == report
    with pytest.raises(KeyError):
        Report.from_json({**report.to_json(), "skipped": [["GONE", "", None, ""]]}, Why)
