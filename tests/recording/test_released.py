"""Files that released versions wrote (tests/golden/released): each is read, or refused with a reason."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from iglu_marl import DataError, Recorder, replay
from iglu_marl.benchmark import read_result
from iglu_marl.core.controls import CONTROLS
from iglu_marl.evaluation.results import row_from_json
from iglu_marl.recording import read_recording

RELEASED = Path(__file__).parents[1] / "golden" / "released"


LIVE = RELEASED / "0.3.0" / "live_team.jsonl"


def test_a_recording_without_hashes_is_refused_and_kept(tmp_path: Path) -> None:
    """Versions before 0.3 wrote none."""
    old = tmp_path / "old.jsonl"
    old.write_bytes(re.sub(rb',"chain":"[0-9a-f]{32}"', b"", LIVE.read_bytes()))
    content = old.read_bytes()
    for verify_hashes in (True, False):
        with pytest.raises(DataError, match=r"line 1: .*0\.3\.0 reads"):
            read_recording(old, verify=verify_hashes)
    with pytest.raises(DataError, match=r"cannot be appended to, .*line 1: .*0\.3\.0 reads"):
        Recorder(old)
    assert old.read_bytes() == content


def test_a_live_recording_of_0_3_0_replays() -> None:
    (recording,) = read_recording(LIVE)
    assert (recording.header["config"]["architects"], recording.header["config"]["builders"]) == (2, 2)
    assert len(recording.moves) == 30
    assert replay(LIVE).truncated


RECORDINGS = sorted((RELEASED / "0.3.0" / "recordings").glob("*.jsonl"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recordings_of_0_3_0_replay_bit_for_bit(path: Path) -> None:
    """One of each view, and an AEC game of each encoding of actions with each kind of chat."""
    (recording,) = read_recording(path)
    assert recording.header["versions"]["iglu_marl"] == "0.3.0"
    trajectory = replay(path)
    assert len(trajectory.turns) == sum(len(move.actions) for move in recording.moves)


def test_recordings_of_every_view_encoding_and_chat_are_kept() -> None:
    headers = [read_recording(path)[0].header for path in RECORDINGS]
    assert {header["view"] for header in headers} == {"aec", "parallel", "single"}
    games = {(header["controls"]["name"], header["config"]["chat"]) for header in headers}
    assert games >= set(itertools.product(CONTROLS, ("text", "tokens")))
    assert {header["controls"]["compat"] for header in headers} >= {None, "iglu2021", "iglu2022"}
    assert any(header["config"]["vocabulary"] == 8 for header in headers)


@pytest.mark.parametrize("release", ["0.2.0", "0.3.0"])
def test_a_benchmark_result_of_an_earlier_version_is_refused(release: str) -> None:
    with pytest.raises(DataError, match=f"iglu_marl {release} reads version"):
        read_result(RELEASED / release / "benchmark_result.json")


@pytest.mark.parametrize("version", ["0.2.0", "0.3.0"])
def test_the_log_of_an_evaluation_is_read(version: str) -> None:
    header, *rows = (RELEASED / version / "evaluation_games.jsonl").read_text("utf-8").splitlines()
    assert json.loads(header)["iglu_marl"] == version
    assert [row_from_json(json.loads(row))["completed"] for row in rows] == [True, True]
