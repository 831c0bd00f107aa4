"""Reader of the files of the Minecraft Dialogue Corpus: sessions into columns, gold configurations into grids.

`iglu_marl.data.mdc.corpus` describes the result. What cannot be used is an entry of a `Report`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import numpy as np

from iglu_marl.core.errors import DataError, GridError
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid, color_at, color_id, in_zone, index_of
from iglu_marl.core.parsing import MIB, parse_json
from iglu_marl.data.packs.cache import Arrays, json_array
from iglu_marl.data.report import Report, SkipReason

SESSION_LIMIT, GOLD_LIMIT = 256 * MIB, MIB  # bytes of a file; upstream's largest ones have 3 MB and 5 kB

_BLOCK_TYPE = re.compile(r"(?:cwcmod:)?cwc_(?:minecraft_)?([a-z]+)_rn")
_DRAW = re.compile(r"<DrawBlock\b([^<>]*)>")  # linear: an attribute holds no "<"
_ATTRIBUTE = re.compile(r"""\b(\w+)\s*=\s*["']([^"']*)["']""")


class CorpusSkip(SkipReason, unit="state"):
    """Why a piece of the corpus is skipped or missing."""

    BAD_NAME = "a session whose name lacks builder, architect or structure"
    BAD_SESSION = "a session that cannot be read"
    BAD_STATE = "a world state without a list of blocks or a chat; it is left out"
    DROPOUT = "a world state without position, inventory and blocks; the world before is used"
    OUTSIDE_ZONE = "a world state with blocks outside the 11 x 9 x 11 zone; they are listed separately"
    BAD_BLOCK = "a block of an unknown type, without whole coordinates, or in a cell used twice"
    CHANGED_CHAT = "a chat that does not continue the one before; its new entries are used"
    BAD_UTTERANCE = "an utterance without a known speaker; it counts as the architect's"
    NO_TIME = "a world state without a time"
    NO_POSE = "a world state without the builder's position"
    NO_INVENTORY = "a world state without the builder's inventory"
    NO_PICTURE = "a world state without a picture"
    BAD_GOLD = "a gold structure, or a block of one, that cannot be read"
    NO_SPLIT = "a session whose structure is in no split"


State = dict[tuple[int, int, int], int]  # our cell -> our color id, including cells outside the zone


@dataclass
class Columns:
    """The states of all sessions as columns. Edits are changes from state to state."""

    report: Report[CorpusSkip]
    sessions: list[list[str]] = field(default_factory=list)  # name, group, structure
    first_state: list[int] = field(default_factory=lambda: [0])
    first_edit: list[int] = field(default_factory=lambda: [0])
    first_utterance: list[int] = field(default_factory=lambda: [0])
    # Time (s since 1970, -1: unknown), number of utterances, 6 x inventory.
    numbers: list[list[int]] = field(default_factory=list)
    poses: list[list[float]] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    edits: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)  # state, x, y, z, old, new
    utterances: list[str] = field(default_factory=list)
    elapsed_s: list[float] = field(default_factory=list)

    def arrays(self) -> Arrays:
        """Return the columns as arrays for the cache."""
        return {
            "sessions": json_array(self.sessions),
            "first_state": np.array(self.first_state, np.int64),
            "first_edit": np.array(self.first_edit, np.int64),
            "first_utterance": np.array(self.first_utterance, np.int64),
            "numbers": np.array(self.numbers, np.int64).reshape(-1, 8),
            "poses": np.array(self.poses, np.float64).reshape(-1, 5),
            "pictures": json_array(self.pictures),
            "edits": np.array(self.edits, np.int32).reshape(-1, 6),
            "utterances": json_array(self.utterances),
            "elapsed_s": np.array(self.elapsed_s, np.float64),
            "report": json_array(self.report.to_json()),
        }


def read_session(columns: Columns, name: str, group: str, structure: str, content: bytes) -> None:
    """Add one session. Raises `DataError` if it cannot be read."""
    parsed = parse_json(content, name)
    states = parsed.get("WorldStates") if isinstance(parsed, Mapping) else None
    if not isinstance(states, list) or not states:
        raise DataError("it has no WorldStates")
    before: State = {}
    chat: list[str] = []
    count = 0
    for number, state in enumerate(states):
        blocks = state.get("BlocksInGrid") if isinstance(state, Mapping) else None
        said = state.get("ChatHistory") if isinstance(state, Mapping) else None
        if not isinstance(blocks, list) or not isinstance(said, list):
            columns.report.skip(CorpusSkip.BAD_STATE, name, number)
            continue
        if _is_dropout(state):
            columns.report.skip(CorpusSkip.DROPOUT, name, number)
            world = before
        else:
            world = _world(blocks, columns.report, name, number)
        for cell in sorted(before.keys() | world.keys()):
            old, new = before.get(cell, 0), world.get(cell, 0)
            if old != new:
                columns.edits.append((count, *cell, old, new))
        chat = _heard(chat, said, columns.report, name, number)
        columns.numbers.append(
            [_time(state.get("Timestamp"), columns.report, name, number), len(chat)]
            + _inventory(state.get("BuilderInventory"), columns.report, name, number)
        )
        columns.poses.append(_pose(state.get("BuilderPosition"), columns.report, name, number))
        picture = state.get("ScreenshotPath")
        if not isinstance(picture, str):
            columns.report.skip(CorpusSkip.NO_PICTURE, name, number)
        columns.pictures.append(picture if isinstance(picture, str) else "")
        before = world
        count += 1
    if not count:
        raise DataError("none of its WorldStates can be read")
    elapsed = parsed.get("TimeElapsed")
    known = isinstance(elapsed, (int, float)) and abs(elapsed) < 1e9
    columns.utterances += chat
    columns.sessions.append([name, group, structure])
    columns.first_state.append(columns.first_state[-1] + count)
    columns.first_edit.append(len(columns.edits))
    columns.first_utterance.append(len(columns.utterances))
    columns.elapsed_s.append(float(elapsed) if known else float("nan"))


def _is_dropout(state: Mapping[str, Any]) -> bool:
    """Whether the recorder had no data. A state in which a person cleared the world has a builder."""
    unknown = state.get("BuilderPosition") is None and state.get("BuilderInventory") is None
    return unknown and not state["BlocksInGrid"]


def _world(blocks: list[Any], report: Report[CorpusSkip], name: str, number: int) -> State:
    world: State = {}
    outside = 0
    for block in blocks:
        try:
            at = block["AbsoluteCoordinates"]
            x, y, z = at["X"], at["Y"], at["Z"]
            color = _color(block["Type"])
            good = type(x) is int and type(y) is int and type(z) is int and max(map(abs, (x, y, z))) < 1000
        except (KeyError, TypeError, GridError):
            good = False
        if not good or (x, y - 2, z) in world:
            report.skip(CorpusSkip.BAD_BLOCK, name, number, repr(block)[:100])
            continue
        world[x, y - 2, z] = color
        outside += not in_zone(x, y - 2, z)
    if outside:
        report.skip(CorpusSkip.OUTSIDE_ZONE, name, number, f"{outside} blocks")
    return world


_COLORS: dict[str, int] = {}


def _color(kind: Any) -> int:
    """Return the color id of a block type. Raises `GridError` or `TypeError` for anything else."""
    if kind not in _COLORS:
        match = _BLOCK_TYPE.fullmatch(kind)
        if not match:
            raise GridError(f"unknown block type {kind!r}")
        _COLORS[kind] = color_id(match.group(1))
    return _COLORS[kind]


def _heard(
    before: list[str], said: list[Any], report: Report[CorpusSkip], name: str, number: int
) -> list[str]:
    """Return the chat with the new entries of this state."""
    if said == before:
        return before
    if said[: len(before)] != before:
        report.skip(CorpusSkip.CHANGED_CHAT, name, number)
    kept = []
    for utterance in said[len(before) :]:
        if not isinstance(utterance, str) or not utterance.startswith(("<Architect>", "<Builder>")):
            report.skip(CorpusSkip.BAD_UTTERANCE, name, number, repr(utterance)[:100])
        kept.append(utterance if isinstance(utterance, str) else str(utterance))
    return [*before, *kept]


def _time(text: Any, report: Report[CorpusSkip], name: str, number: int) -> int:
    try:
        time = datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)
    except (TypeError, ValueError):
        report.skip(CorpusSkip.NO_TIME, name, number)
        return -1
    return int(time.timestamp())


def _inventory(items: Any, report: Report[CorpusSkip], name: str, number: int) -> list[int]:
    try:
        counts = [0] * 7
        for item in items:
            counts[_color(item["Type"])] += int(item["Quantity"])
        good = max(map(abs, counts)) < 1000
    except (KeyError, TypeError, ValueError, OverflowError):  # GridError is a ValueError
        good = False
    if not good:
        report.skip(CorpusSkip.NO_INVENTORY, name, number)
        return [-1] * 6
    return counts[1:]


def _pose(position: Any, report: Report[CorpusSkip], name: str, number: int) -> list[float]:
    """Return the feet in our coordinates, and yaw and pitch in degrees; NaN if unknown."""
    try:
        x, y, z, yaw, pitch = (float(position[key]) for key in ("X", "Y", "Z", "Yaw", "Pitch"))
        good = all(abs(value) < 1e6 for value in (x, y, z, yaw, pitch))  # False for nan
    except (KeyError, TypeError, ValueError, OverflowError):
        good = False
    if not good:
        report.skip(CorpusSkip.NO_POSE, name, number)
        return [float("nan")] * 5
    # Yaw 0 looks along +z there, and a positive pitch looks down.
    return [x - 0.5, y - 2.5, z - 0.5, (yaw + 180.0) % 360.0, -pitch]


def read_gold(
    text: str | bytes, *, name: str = "gold", report: Report[CorpusSkip] | None = None
) -> BlockGrid:
    """Read a gold configuration (a `<DrawBlock .../>` per block, without a root element) as int8 [9, 11, 11].

    Invalid blocks (unknown color, outside the zone, cell used twice) are skipped and counted in `report`. Raises
    `DataError` for text without a block, and without a `report` also for an invalid block.
    """
    noted = Report[CorpusSkip]() if report is None else report
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig", "replace")
    grid = np.zeros(ZONE_SHAPE, np.int8)
    found = _DRAW.findall(text)
    faults = []
    for attributes in found:
        values = dict(_ATTRIBUTE.findall(attributes))
        try:
            x, y, z = int(values["x"]) - 100, int(values["y"]) - 2, int(values["z"]) - 100
            color = _color(values["type"])
            good = in_zone(x, y, z) and not color_at(grid, (x, y, z))
        except (KeyError, ValueError):  # GridError is one
            good = False
        if good:
            grid[index_of((x, y, z))] = color
        else:
            faults.append(attributes.strip(" /"))
    if not found:
        raise DataError(f"{name} has no <DrawBlock .../>, expected one per block")
    for fault in faults:
        noted.skip(CorpusSkip.BAD_GOLD, name, None, fault)
    if faults and report is None:
        raise DataError(
            f"{name} has the block {faults[0]!r}, expected a known color and an unused cell of the zone"
        )
    grid.setflags(write=False)
    return grid
