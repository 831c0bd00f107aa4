"""Reader of the files of the Minecraft Dialogue Corpus: sessions into columns, gold configurations into grids.

`iglu_marl.data.mdc.corpus` describes the result. What cannot be used is an entry of a `Report`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from typing import Any

import numpy as np

from iglu_marl.core.errors import DataError, GridError
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid, color_at, color_id, in_zone, index_of
from iglu_marl.core.parsing import MIB, parse_json
from iglu_marl.data.packs.cache import Arrays, json_array
from iglu_marl.data.report import Report, Skipped, SkipReason

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
    """The states of sessions as columns. Edits are changes from state to state."""

    sessions: list[list[str]] = field(default_factory=list)  # name, group, structure
    first_state: list[int] = field(default_factory=lambda: [0])
    first_edit: list[int] = field(default_factory=lambda: [0])
    first_utterance: list[int] = field(default_factory=lambda: [0])
    # Time (s since 1970, -1: unknown), number of utterances, 6 x inventory.
    numbers: list[list[int]] = field(default_factory=list)
    poses: list[list[float]] = field(default_factory=list)
    edits: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)  # state, x, y, z, old, new
    utterances: list[str] = field(default_factory=list)

    def arrays(self, report: Report[CorpusSkip]) -> Arrays:
        """Return the columns and the report as arrays for the cache."""
        return {
            "sessions": json_array(self.sessions),
            "first_state": np.array(self.first_state, np.int64),
            "first_edit": np.array(self.first_edit, np.int64),
            "first_utterance": np.array(self.first_utterance, np.int64),
            "numbers": np.array(self.numbers, np.int64).reshape(-1, 8),
            "poses": np.array(self.poses, np.float64).reshape(-1, 5),
            "edits": np.array(self.edits, np.int32).reshape(-1, 6),
            "utterances": json_array(self.utterances),
            "report": json_array(report.to_json()),
        }

    def add(self, session: list[str], read: SessionReader) -> None:
        """Add a session (name, group, structure) that was read."""
        self.sessions.append(session)
        self.numbers += read.numbers
        self.poses += read.poses
        self.edits += read.edits
        self.utterances += read.chat
        self.first_state.append(len(self.numbers))
        self.first_edit.append(len(self.edits))
        self.first_utterance.append(len(self.utterances))


class SessionReader:
    """Reads one session. Raises `DataError` if it cannot be read; `skipped` are the pieces that cannot."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.numbers: list[list[int]] = []
        self.poses: list[list[float]] = []
        self.edits: list[tuple[int, int, int, int, int, int]] = []
        self.chat: list[str] = []
        self.skipped: list[Skipped[CorpusSkip]] = []
        self._number = 0  # of the state in the file
        self._before: State = {}
        parsed = parse_json(content, name)
        states = parsed.get("WorldStates") if isinstance(parsed, Mapping) else None
        if not isinstance(states, list) or not states:
            raise DataError("it has no WorldStates")
        for self._number, state in enumerate(states):
            self._add(state)
        if not self.numbers:
            raise DataError("none of its WorldStates can be read")

    def _skip(self, reason: CorpusSkip, detail: str = "") -> None:
        self.skipped.append(Skipped(reason, self.name, self._number, detail))

    def _add(self, state: Any) -> None:
        blocks = state.get("BlocksInGrid") if isinstance(state, Mapping) else None
        said = state.get("ChatHistory") if isinstance(state, Mapping) else None
        if not isinstance(blocks, list) or not isinstance(said, list):
            self._skip(CorpusSkip.BAD_STATE)
            return
        before = self._before
        if state.get("BuilderPosition") is None and state.get("BuilderInventory") is None and not blocks:
            self._skip(CorpusSkip.DROPOUT)  # where a person cleared the world, there is a builder
        else:
            self._before = self._world(blocks)
        for cell in sorted(before.keys() | self._before.keys()):
            old, new = before.get(cell, 0), self._before.get(cell, 0)
            if old != new:
                self.edits.append((len(self.numbers), *cell, old, new))
        self._hear(said)
        time, inventory = self._time(state.get("Timestamp")), self._inventory(state.get("BuilderInventory"))
        self.numbers.append([time, len(self.chat), *inventory])
        self.poses.append(self._pose(state.get("BuilderPosition")))
        if not isinstance(state.get("ScreenshotPath"), str):
            self._skip(CorpusSkip.NO_PICTURE)

    def _world(self, blocks: list[Any]) -> State:
        world: State = {}
        outside = 0
        for block in blocks:
            try:
                at = block["AbsoluteCoordinates"]
                x, y, z = at["X"], at["Y"], at["Z"]
                color = _color(block["Type"])
                good = (
                    type(x) is int and type(y) is int and type(z) is int and max(map(abs, (x, y, z))) < 1000
                )
            except (KeyError, TypeError, GridError):
                good = False
            if not good or (x, y - 2, z) in world:
                self._skip(CorpusSkip.BAD_BLOCK, repr(block)[:100])
                continue
            world[x, y - 2, z] = color
            outside += not in_zone(x, y - 2, z)
        if outside:
            self._skip(CorpusSkip.OUTSIDE_ZONE, f"{outside} blocks")
        return world

    def _hear(self, said: list[Any]) -> None:
        """Add the new entries of the chat."""
        if said[: len(self.chat)] != self.chat:
            self._skip(CorpusSkip.CHANGED_CHAT)
        for utterance in said[len(self.chat) :]:
            if not isinstance(utterance, str) or not utterance.startswith(("<Architect>", "<Builder>")):
                self._skip(CorpusSkip.BAD_UTTERANCE, repr(utterance)[:100])
            self.chat.append(utterance if isinstance(utterance, str) else str(utterance))

    def _time(self, text: Any) -> int:
        try:
            time = datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)
        except (TypeError, ValueError):
            self._skip(CorpusSkip.NO_TIME)
            return -1
        return int(time.timestamp())

    def _inventory(self, items: Any) -> list[int]:
        try:
            counts = [0] * 7
            for item in items:
                counts[_color(item["Type"])] += int(item["Quantity"])
            good = max(map(abs, counts)) < 1000
        except (KeyError, TypeError, ValueError, OverflowError):  # GridError is a ValueError
            good = False
        if not good:
            self._skip(CorpusSkip.NO_INVENTORY)
            return [-1] * 6
        return counts[1:]

    def _pose(self, position: Any) -> list[float]:
        """Return the feet in our coordinates, and yaw and pitch in degrees; NaN if unknown."""
        try:
            x, y, z, yaw, pitch = (float(position[key]) for key in ("X", "Y", "Z", "Yaw", "Pitch"))
            good = all(abs(value) < 1e6 for value in (x, y, z, yaw, pitch))  # False for nan
        except (KeyError, TypeError, ValueError, OverflowError):
            good = False
        if not good:
            self._skip(CorpusSkip.NO_POSE)
            return [float("nan")] * 5
        # Yaw 0 looks along +z there, and a positive pitch looks down.
        return [x - 0.5, y - 2.5, z - 0.5, (yaw + 180.0) % 360.0, -pitch]


@cache
def _color(kind: Any) -> int:
    """Return the color id of a block type. Raises `GridError` or `TypeError` for anything else."""
    match = _BLOCK_TYPE.fullmatch(kind)
    if not match:
        raise GridError(f"unknown block type {kind!r}")
    return color_id(match.group(1))


def read_gold(text: bytes, name: str, report: Report[CorpusSkip]) -> BlockGrid:
    """Read a gold configuration (a `<DrawBlock .../>` per block, without a root element) as int8 [9, 11, 11].

    Invalid blocks (unknown color, outside the zone, cell used twice) are skipped and counted in `report`. Raises
    `DataError` for text without a block.
    """
    grid = np.zeros(ZONE_SHAPE, np.int8)
    found = _DRAW.findall(text.decode("utf-8-sig", "replace"))
    if not found:
        raise DataError(f"{name} has no <DrawBlock .../>, expected one per block")
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
            report.skip(CorpusSkip.BAD_GOLD, name, None, attributes.strip(" /"))
    grid.setflags(write=False)
    return grid
