"""The Minecraft Dialogue Corpus: every session with its whole timeline, and the structures that were to be built.

`Corpus.open(path)` reads a pack (see `find_pack`) or its parsed cache. A session is a row of world states, about one
per second of activity: time, the builder's pose and inventory, the blocks, and all that had been said. `corpus.gold`
has the structures that the architects saw.

Everything is in this project's terms: colours by name, blocks (x, y, z, color id) with y = -1 on the floor. In the
corpus a block fills [X, X + 1) and the floor's layer is Y = 1; the builder's X, Y, Z are those of its feet.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import ZONE_SHAPE, Block, BlockGrid, grid_to_blocks, in_zone, index_of
from iglu_marl.core.parsing import parse_json, reading
from iglu_marl.data.mdc.reader import (
    GOLD_LIMIT,
    SESSION_LIMIT,
    Columns,
    CorpusSkip,
    State,
    read_gold,
    read_session,
)
from iglu_marl.data.packs.archive import Pack
from iglu_marl.data.packs.cache import Arrays, cached, read_json
from iglu_marl.data.packs.store import find_pack
from iglu_marl.data.progress import track
from iglu_marl.data.report import Report
from iglu_marl.data.splits import Split

__all__ = [
    "EYE_HEIGHT",
    "HUMAN_EYE_HEIGHT",
    "SPLITS",
    "Corpus",
    "CorpusSkip",
    "Session",
    "WorldState",
    "read_gold",
]

VERSION = "3"  # of the cached arrays; changes whenever they do
SPLITS = tuple(split.value for split in Split)
EYE_HEIGHT = 1.25  # cells above the feet: the body of this project's builder, so that standing poses agree
HUMAN_EYE_HEIGHT = 1.62  # cells above the feet: where the corpus's own pictures were taken from

_STATES = re.compile(r"data/logs/(data-[^/]+)/logs/([^/]+)/postprocessed-observations\.json")
_SESSION = re.compile(r"B([0-9]{1,18})-A([0-9]{1,18})-(C[0-9]{1,18})-([0-9]{1,18})")
_GOLD = re.compile(r"data/gold-configurations/(C[0-9]{1,18})\.xml")
_FEW = 12  # structures: so many are read directly, without making the cache of all


# -------------------------------------------------------------------------------------------------------- the sessions


def _utterance(text: str) -> Utterance:
    """One entry of a chat; one without a speaker is the architect's."""
    for role in Role:
        if text.startswith(role.tag):
            return Utterance(role, text[len(role.tag) :])
    return Utterance(Role.ARCHITECT, text)


@dataclass(frozen=True)
class WorldState:
    """One moment of a session.

    index: its number in the session. time: as the recorder's clock showed it, None if unknown. feet: x, y, z in
    cells, None if unknown. yaw_deg, pitch_deg: 0 looks north, 90 east; pitch up positive. inventory: six counts, None
    if unknown. grid: int8 [9, 11, 11]. outside: blocks that lie outside the zone. heard: number of utterances so far.
    picture: the file name of the picture that was taken, "" if none (pictures are not in the pack).
    """

    index: int
    time: datetime | None
    feet: tuple[float, float, float] | None
    yaw_deg: float
    pitch_deg: float
    inventory: tuple[int, ...] | None
    grid: BlockGrid
    outside: tuple[Block, ...]
    heard: int
    picture: str

    def pose(self, eye_height: float = EYE_HEIGHT) -> tuple[float, float, float, float, float] | None:
        """The eye (x, y, z in cells) and gaze (yaw, pitch in degrees), or None if unknown.

        By default the eye is where this project's builder has it; `HUMAN_EYE_HEIGHT` is where it really was.
        """
        if self.feet is None:
            return None
        x, y, z = self.feet
        return x, y + eye_height, z, self.yaw_deg, self.pitch_deg


class Session:
    """One dialogue of an architect and a builder, with its timeline.

    name: as in the corpus. group: the folder of its day. builder, architect: numbers of the people. structure: what
    was to be built, such as "C73". split: "train", "val", "test", or None for the few of no split. started_ms: start
    of the recording, ms since 1970. elapsed_s: its length. gold: the structure that the architect saw (None if
    unknown).
    """

    def __init__(self, corpus: Corpus, number: int, name: str, group: str, structure: str) -> None:
        self._arrays, self._number = corpus._arrays, number
        self.name, self.group, self.structure = name, group, structure
        match = _SESSION.fullmatch(name)
        assert match is not None  # checked when it was read
        self.builder, self.architect, self.started_ms = (int(match.group(i)) for i in (1, 2, 4))
        self.split = corpus.splits.get(structure)
        self.gold = corpus.gold.get(structure)
        self.elapsed_s = float(self._arrays["elapsed_s"][number])
        self._corpus = corpus

    def _rows(self, first: str) -> slice:
        bounds = self._arrays[first]
        return slice(int(bounds[self._number]), int(bounds[self._number + 1]))

    @cached_property
    def dialogue(self) -> Dialogue:
        """Everything said, the system's "Mission has started." included."""
        return Dialogue(map(_utterance, self._corpus._utterances[self._rows("first_utterance")]))

    @property
    def heard(self) -> npt.NDArray[np.int64]:
        """int64 [states]: how many utterances there had been in each state."""
        return self._arrays["numbers"][self._rows("first_state"), 1]

    @property
    def times_s(self) -> npt.NDArray[np.float64]:
        """float64 [states]: seconds since the first state that has a time; NaN where unknown."""
        times = self._arrays["numbers"][self._rows("first_state"), 0].astype(np.float64)
        times[times < 0] = np.nan
        return times - (np.nanmin(times) if np.isfinite(times).any() else 0.0)

    @property
    def inventories(self) -> npt.NDArray[np.int64]:
        """int64 [states, 6]: blocks left by colour; -1 where unknown."""
        return self._arrays["numbers"][self._rows("first_state"), 2:]

    def poses(self, eye_height: float = EYE_HEIGHT) -> npt.NDArray[np.float64]:
        """float64 [states, 5]: eye x, y, z (cells), yaw, pitch (degrees); NaN where unknown."""
        poses = self._arrays["poses"][self._rows("first_state")].copy()
        poses[:, 1] += eye_height
        return poses

    @property
    def edits(self) -> npt.NDArray[np.int32]:
        """int32 [n, 6]: state, x, y, z, color before, color after, for every cell that changed from state to state.

        Cells outside the zone are among them.
        """
        return self._arrays["edits"][self._rows("first_edit")]

    @cached_property
    def grids(self) -> npt.NDArray[np.int8]:
        """int8 [states, 9, 11, 11], read-only: the zone in each state."""
        grids = np.zeros((len(self), *ZONE_SHAPE), np.int8)
        for state, x, y, z, _, new in self.edits.tolist():
            if in_zone(x, y, z):
                grids[(slice(state, None), *index_of((x, y, z)))] = new
        grids.setflags(write=False)
        return grids

    @property
    def final_grid(self) -> BlockGrid:
        """The zone in the last state, int8 [9, 11, 11]."""
        return self.grids[-1]

    @property
    def final_blocks(self) -> list[Block]:
        """The blocks of the zone in the last state, sorted."""
        return grid_to_blocks(self.final_grid)

    def outside(self, state: int = -1) -> list[Block]:
        """The blocks outside the zone in a state, sorted."""
        last = range(len(self))[state]
        found: State = {}
        for at, x, y, z, _, new in self.edits.tolist():
            if at <= last and not in_zone(x, y, z):
                found[x, y, z] = new
        return sorted((x, y, z, color) for (x, y, z), color in found.items() if color)

    def __len__(self) -> int:
        bounds = self._rows("first_state")
        return bounds.stop - bounds.start

    def __getitem__(self, index: int) -> WorldState:
        number = range(len(self))[index]
        row = self._rows("first_state").start + number
        time, heard, *inventory = self._arrays["numbers"][row].tolist()
        x, y, z, yaw, pitch = self._arrays["poses"][row].tolist()
        return WorldState(
            index=number,
            time=None if time < 0 else datetime.fromtimestamp(time, timezone.utc).replace(tzinfo=None),
            feet=None if np.isnan(x) else (x, y, z),
            yaw_deg=yaw,
            pitch_deg=pitch,
            inventory=None if inventory[0] < 0 else tuple(inventory),
            grid=self.grids[number],
            outside=tuple(self.outside(number)),
            heard=heard,
            picture=self._corpus._pictures[row],
        )

    def __iter__(self) -> Iterator[WorldState]:
        return (self[index] for index in range(len(self)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("grids", "dialogue")}

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        return self  # nothing in it changes

    def __repr__(self) -> str:
        return f"Session({self.name!r}, {len(self)} states, {len(self.dialogue)} utterances)"


# ---------------------------------------------------------------------------------------------------------- the corpus


class Corpus:
    """The sessions and gold structures of a pack.

    sessions: by name, in the order of the pack. gold: structures by id, int8 [9, 11, 11]. splits: the split of each
    structure that has one. location: where it was read from.
    """

    def __init__(
        self,
        arrays: Arrays,
        gold: Mapping[str, BlockGrid],
        splits: Mapping[str, str],
        report: Report[CorpusSkip],
        location: str,
    ) -> None:
        for array in arrays.values():
            array.setflags(write=False)
        self._arrays = arrays
        self._utterances: list[str] = read_json(arrays["utterances"])
        self._pictures: list[str] = read_json(arrays["pictures"])
        self.gold, self.splits, self.location = dict(gold), dict(splits), location
        self.sessions = {
            name: Session(self, number, name, group, structure)
            for number, (name, group, structure) in enumerate(read_json(arrays["sessions"]))
        }
        self._report = report

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        structures: Iterable[str] | None = None,
        fetch: bool = True,
        follow_links: bool = False,
        progress: bool | None = None,
    ) -> Corpus:
        """The corpus in a zip or folder, or wherever `find_pack` finds it.

        structures: read the sessions of these alone. fetch: whether the pack may be downloaded. follow_links: see
        `find_pack`. progress: whether to show a bar (default: on a terminal). Raises `DataError` when there is no pack
        or it holds no session.
        """
        with find_pack("mdc", path, fetch, follow_links=follow_links, progress=progress) as pack:
            return cls.read(pack, structures=structures, progress=progress)

    @classmethod
    def read(
        cls, pack: Pack, *, structures: Iterable[str] | None = None, progress: bool | None = None
    ) -> Corpus:
        """The corpus in an opened pack; see `open`."""
        wanted = (
            None
            if structures is None
            else frozenset([structures] if isinstance(structures, str) else structures)
        )
        left_out = pack.left_out
        if wanted is not None and len(wanted) <= _FEW:
            arrays = _read_sessions(pack, wanted, progress)
        else:
            arrays = cached(pack, "mdc", VERSION, lambda: _read_sessions(pack, None, progress))
        report = Report.from_json(read_json(arrays["report"]), CorpusSkip)
        report.files += left_out
        splits, gold = _splits(pack, report), _read_gold(pack, wanted, report)
        corpus = cls(arrays, gold, splits, report, pack.location)
        if wanted is not None:
            corpus.sessions = {n: s for n, s in corpus.sessions.items() if s.structure in wanted}
            kept = {*wanted, ""}
            report.skipped = [entry for entry in report.skipped if _structure(entry.name) in kept]
        report.sessions = len(corpus.sessions)
        report.states = sum(len(session) for session in corpus.sessions.values())
        for session in corpus.sessions.values():
            if session.split is None:
                report.skip(CorpusSkip.NO_SPLIT, session.name)
        return corpus

    def report(self) -> Report[CorpusSkip]:
        """What was read, and everything left out, missing or kept apart."""
        return self._report

    @property
    def structures(self) -> dict[str, list[Session]]:
        """The sessions of each structure, in the order of the structures' numbers."""
        found: dict[str, list[Session]] = {}
        for session in self.sessions.values():
            found.setdefault(session.structure, []).append(session)
        return {name: found[name] for name in sorted(found, key=lambda name: int(name[1:]))}

    def __deepcopy__(self, memo: dict[int, Any]) -> Corpus:
        return self

    def __repr__(self) -> str:
        return f"Corpus({self.location!r}, {len(self.sessions)} sessions, {len(self.gold)} gold structures)"


def _read_sessions(pack: Pack, structures: frozenset[str] | None, progress: bool | None) -> Arrays:
    columns = Columns(Report())
    found = [match for match in map(_STATES.fullmatch, pack.names()) if match]
    if not found:
        raise DataError(f"{pack.location} holds no session of the Minecraft Dialogue Corpus{pack.links}")
    chosen = []
    for match in found:
        named = _SESSION.fullmatch(match.group(2))
        if not named:
            columns.report.skip(CorpusSkip.BAD_NAME, match.group(2))
        elif structures is None or named.group(3) in structures:
            chosen.append((match, named.group(3)))
    for match, structure in track(chosen, "reading the Minecraft Dialogue Corpus", len(chosen), progress):
        marks = len(columns.numbers), len(columns.edits), len(columns.report.skipped)
        try:
            with reading(match.group(2)):
                content = pack.read(match.group(0), SESSION_LIMIT)
                read_session(columns, match.group(2), match.group(1), structure, content)
        except DataError as error:
            for column, mark in zip(
                (columns.numbers, columns.edits, columns.report.skipped), marks, strict=True
            ):
                del column[mark:]  # type: ignore[attr-defined]
            del columns.poses[marks[0] :], columns.pictures[marks[0] :]
            columns.report.skip(CorpusSkip.BAD_SESSION, match.group(2), None, str(error)[:200])
    return columns.arrays()


def _structure(name: str) -> str:
    """The structure of a session's name; another name as it is."""
    match = _SESSION.fullmatch(name)
    return match.group(3) if match else name


def _splits(pack: Pack, report: Report[CorpusSkip]) -> dict[str, str]:
    """The split of each structure that has one."""
    place = "data/logs/splits.json"
    try:
        with reading(place):
            listed = parse_json(pack.read(place, GOLD_LIMIT), place)
            return {str(structure): name for name in SPLITS for structure in listed.get(name, ())}
    except DataError as error:
        report.skip(CorpusSkip.NO_SPLIT, "", None, str(error)[:200])
        return {}


def _read_gold(
    pack: Pack, structures: frozenset[str] | None, report: Report[CorpusSkip]
) -> dict[str, BlockGrid]:
    gold = {}
    for match in filter(None, map(_GOLD.fullmatch, pack.names())):
        if structures is None or match.group(1) in structures:
            try:
                with reading(match.group(1)):
                    content = pack.read(match.group(0), GOLD_LIMIT)
                    gold[match.group(1)] = read_gold(content, name=match.group(1), report=report)
            except DataError as error:
                report.skip(CorpusSkip.BAD_GOLD, match.group(1), None, str(error)[:200])
    return {name: gold[name] for name in sorted(gold, key=lambda name: int(name[1:]))}
