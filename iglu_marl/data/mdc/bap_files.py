"""Samples of builder action prediction as JSON, in the fields of the BAP models' data (Jayannavar et al., ACL 2020).

A file is a list of samples:

| field | content |
|---|---|
| `prev_utterances` | the dialogue so far: `{"speaker": "Builder" or "Architect", "utterance": [token, ...]}` |
| `next_builder_actions` | `{"action_type": "placement" or "removal", "block": {x, y, z, type}}` |
| `builder_action_history` | all actions before, in the same form |
| `prev_config`, `built_config` | blocks before and after the actions |
| `prev_builder_position` | x, y, z of the feet, yaw, pitch; null: unknown |
| `orig_experiment_id`, `sample_id` | the session, and the number of the state |

Coordinates are those of the Minecraft corpus, where the layer on the ground is y = 1. `gold_config` (the target, which
no builder sees) and `perspective_coordinates` are neither written nor read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.edits import edited
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import atomic_write
from iglu_marl.core.grid import BlockGrid, NetAction, blocks_to_grid, color_id, color_name, grid_to_blocks
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors
from iglu_marl.data.situations import EYE_HEIGHT, Sample, Situation

FILE_LIMIT = 1024 * MIB  # bytes
_GROUND = 2  # their y of our y = 0
_TOKEN = re.compile(r"\w+(?:'\w+)?|[^\w\s]")
_KINDS = {True: "placement", False: "removal"}


def write_bap(path: str | os.PathLike[str], samples: Iterable[Sample]) -> int:
    """Write samples as JSON, whole or not at all. Return their number."""
    rows = [_fields(sample) for sample in samples]
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    return len(rows)


def read_bap(path: str | os.PathLike[str]) -> list[Sample]:
    """Return the samples of a file, with the id `SESSION/STATE`.

    Raises `DataError` if it is no such file, or a sample's blocks or actions are impossible; it names the sample.
    """
    file = Path(path)
    with wrap_errors(str(file)):
        rows = parse_json(read_file(file, FILE_LIMIT), str(file))
        if not isinstance(rows, list):
            raise DataError("it is not a list, expected one of samples")
    samples: list[Sample] = []
    for number, row in enumerate(rows):
        with wrap_errors(f"{file}, sample {number}"):
            before = samples[-1] if samples else None
            samples.append(_sample(row, before))
    return samples


def _fields(sample: Sample) -> dict[str, Any]:
    situation = sample.situation
    said = [(utterance.role.value.title(), utterance.text) for utterance in situation.dialogue]
    return {
        "prev_utterances": [{"speaker": who, "utterance": _TOKEN.findall(text)} for who, text in said],
        "builder_action_history": [_action(action) for part in situation.history for action in part],
        "next_builder_actions": [_action(action) for action in sample.actions],
        "prev_config": _blocks(situation.grid),
        "built_config": _blocks(sample.target),
        "prev_builder_position": _position(situation.pose),
        "orig_experiment_id": sample.unit,
        "sample_id": 0 if sample.states is None else sample.states[0],
        "from_aug_data": False,
    }


def _action(action: NetAction) -> dict[str, Any]:
    return {"action_type": _KINDS[action.place], "block": _block(*action.cell, action.color)}


def _block(x: int, y: int, z: int, color: int) -> dict[str, Any]:
    return {"x": x, "y": y + _GROUND, "z": z, "type": color_name(color)}


def _blocks(grid: BlockGrid) -> list[dict[str, Any]]:
    return [_block(*block) for block in grid_to_blocks(grid)]


def _position(pose: Any) -> dict[str, float] | None:
    if pose is None:
        return None
    x, y, z, yaw, pitch = pose
    feet = {"x": x + 0.5, "y": y - EYE_HEIGHT + _GROUND + 0.5, "z": z + 0.5}
    return {**feet, "yaw": yaw % 360.0 - 180.0, "pitch": -pitch}


def _sample(row: Mapping[str, Any], before: Sample | None) -> Sample:
    unit, number = str(row["orig_experiment_id"]), int(row["sample_id"])
    said = [
        Utterance(Role(str(part["speaker"]).lower()), " ".join(part["utterance"]))
        for part in row["prev_utterances"]
    ]
    grid = _read_grid(row["prev_config"])
    actions = tuple(map(_read_action, row["next_builder_actions"]))
    continued = before is not None and before.unit == unit
    situation = Situation(
        Dialogue(said),
        grid,
        len(before.situation.dialogue) if before is not None and continued else 0,
        _read_position(row.get("prev_builder_position")),
        tuple((action,) for action in map(_read_action, row["builder_action_history"])),
    )
    structure = re.search(r"-(C\d+)-", unit)
    return Sample(
        name=f"{unit}/{number}",
        unit=unit,
        situation=situation,
        target=edited(grid, actions),
        actions=actions,
        structure=structure.group(1) if structure else "",
        states=(number, number),
    )


def _read_block(block: Mapping[str, Any]) -> tuple[int, int, int, int]:
    return block["x"], block["y"] - _GROUND, block["z"], color_id(block["type"])


def _read_action(entry: Mapping[str, Any]) -> NetAction:
    kind = {name: place for place, name in _KINDS.items()}[entry["action_type"]]
    return NetAction(kind, *_read_block(entry["block"]))


def _read_grid(blocks: Iterable[Mapping[str, Any]]) -> BlockGrid:
    return blocks_to_grid([_read_block(block) for block in blocks])


def _read_position(position: Any) -> tuple[float, float, float, float, float] | None:
    if position is None:
        return None
    x, y, z, yaw, pitch = (float(position[name]) for name in ("x", "y", "z", "yaw", "pitch"))
    return x - 0.5, y - _GROUND - 0.5 + EYE_HEIGHT, z - 0.5, (yaw + 180.0) % 360.0, -pitch
