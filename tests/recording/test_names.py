"""Exports under their earlier names."""

from __future__ import annotations

from importlib import import_module

import pytest

RENAMED = {
    "iglu_marl.tasks:draw": "iglu_marl.tasks:sample_task",
    "iglu_marl.tasks:FiniteSource": "iglu_marl.tasks.source:FiniteSource",
    "iglu_marl.tasks:load_structures": "iglu_marl.tasks.structures:load_structures",
    "iglu_marl.recording:checksum": "iglu_marl.recording.values:checksum",
    "iglu_marl.recording:Repaired": "iglu_marl.recording.reading:Repaired",
    "iglu_marl.recording:view_of": "iglu_marl.recording.writing:view_of",
    "iglu_marl.recording.tapes:write_tapes": "iglu_marl.recording.action_logs:write_action_logs",
    "iglu_marl.data:parse_tape": "iglu_marl.data.iglu.action_log:parse_action_log",
    "iglu_marl.data:Trajectory": "iglu_marl.data.iglu.trajectory:RecordedTrajectory",
}


@pytest.mark.parametrize("old", RENAMED)
def test_earlier_names_are_found_with_a_warning(old: str) -> None:
    (module, name), (new_module, new_name) = old.split(":"), RENAMED[old].split(":")
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{name} is now"):
        found = getattr(import_module(module), name)
    assert found is getattr(import_module(new_module), new_name)
