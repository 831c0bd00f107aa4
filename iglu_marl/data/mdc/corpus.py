"""The Minecraft Dialogue Corpus: sessions with their timelines, and the gold structures.

`Corpus.open(path)` reads a pack (see `find_pack`) or its parsed cache. A session is a sequence of world states, about
one per second of activity: time, the builder's pose and inventory, blocks, and dialogue. `corpus.gold` has the
structures that the architects saw.

Coordinates and color ids are this project's, with y = -1 on the ground. In the corpus a block fills [X, X + 1), the
layer on the ground is Y = 1, and the builder's X, Y, Z are those of its feet.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import ZONE_SHAPE, Block, BlockGrid, in_zone, index_of
from iglu_marl.core.parsing import parse_json, wrap_errors
from iglu_marl.data.mdc.reader import (
    GOLD_LIMIT,
    SESSION_LIMIT,
    Columns,
    CorpusSkip,
    SessionReader,
    State,
    read_gold,
)
from iglu_marl.data.packs.archive import Pack
from iglu_marl.data.packs.cache import Arrays, cached, read_json
from iglu_marl.data.packs.store import find_pack
from iglu_marl.data.progress import track
from iglu_marl.data.report import Report
from iglu_marl.data.situations import EYE_HEIGHT
from iglu_marl.data.splits import Split

VERSION = "4"  # of the cached arrays; increase it when they change
SPLITS = tuple(split.value for split in Split)
HUMAN_EYE_HEIGHT = 1.62  # cells above the feet, the camera of the corpus's pictures

_STATES = re.compile(r"data/logs/(data-[^/]+)/logs/([^/]+)/postprocessed-observations\.json")
_SESSION = re.compile(r"B([0-9]{1,18})-A([0-9]{1,18})-(C[0-9]{1,18})-([0-9]{1,18})")
_GOLD = re.compile(r"data/gold-configurations/(C[0-9]{1,18})\.xml")
_FEW = 12  # structures: up to this number, sessions are read directly instead of caching the whole corpus


def _utterance(text: str) -> Utterance:
    """Parse an entry of a chat. An entry without a speaker is the architect's."""
    for role in Role:
        if text.startswith(role.tag):
            return Utterance(role, text[len(role.tag) :])
    return Utterance(Role.ARCHITECT, text)


class Session:
    """One dialogue of an architect and a builder, with its timeline.

    Attributes:
        name: name in the corpus.
        group: folder of its day.
        builder: number of the person.
        architect: number of the person.
        structure: id of the structure, such as "C73".
        split: "train", "val" or "test"; None if the structure is in no split.
        started_ms: start of the recording, ms since 1970.
        gold: structure that the architect saw; None if unknown.

    """

    def __init__(self, corpus: Corpus, number: int, name: str, group: str, structure: str) -> None:
        self._arrays, self._number = corpus._arrays, number
        self.name, self.group, self.structure = name, group, structure
        match = _SESSION.fullmatch(name)
        assert match is not None  # checked when it was read
        self.builder, self.architect, self.started_ms = (int(match.group(i)) for i in (1, 2, 4))
        self.split = corpus.splits.get(structure)
        self.gold = corpus.gold.get(structure)
        self._corpus = corpus

    def _rows(self, first: str) -> slice:
        bounds = self._arrays[first]
        return slice(int(bounds[self._number]), int(bounds[self._number + 1]))

    @cached_property
    def dialogue(self) -> Dialogue:
        """All utterances, including the system's "Mission has started."."""
        return Dialogue(map(_utterance, self._corpus._utterances[self._rows("first_utterance")]))

    @property
    def heard(self) -> npt.NDArray[np.int64]:
        """Number of utterances so far in each state, int64 [states]."""
        return self._arrays["numbers"][self._rows("first_state"), 1]

    @property
    def timestamps(self) -> npt.NDArray[np.datetime64]:
        """Times of the recorder's clock, datetime64[s] [states]; NaT if unknown."""
        times = self._arrays["numbers"][self._rows("first_state"), 0]
        return np.where(times < 0, np.datetime64("NaT"), times.astype("datetime64[s]"))

    @property
    def times_s(self) -> npt.NDArray[np.float64]:
        """Seconds since the first state that has a time, float64 [states]; NaN if unknown."""
        times = self._arrays["numbers"][self._rows("first_state"), 0].astype(np.float64)
        times[times < 0] = np.nan
        return times - (np.nanmin(times) if np.isfinite(times).any() else 0.0)

    @property
    def inventories(self) -> npt.NDArray[np.int64]:
        """The builder's stock of each color, int64 [states, 6]; -1 if unknown."""
        return self._arrays["numbers"][self._rows("first_state"), 2:]

    def poses(self, eye_height: float = EYE_HEIGHT) -> npt.NDArray[np.float64]:
        """Return eye x, y, z (cells), yaw, pitch (degrees; 0 is north, up is positive), float64 [states, 5].

        NaN if unknown. The default eye height is that of this project's builder; `HUMAN_EYE_HEIGHT` is the corpus's.
        """
        poses = self._arrays["poses"][self._rows("first_state")].copy()
        poses[:, 1] += eye_height
        return poses

    @property
    def edits(self) -> npt.NDArray[np.int32]:
        """Changes of cells, also outside the zone: state, x, y, z, color before, color after, int32 [n, 6]."""
        return self._arrays["edits"][self._rows("first_edit")]

    @cached_property
    def grids(self) -> npt.NDArray[np.int8]:
        """The zone in each state, int8 [states, 9, 11, 11], read-only."""
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

    def outside(self, state: int = -1) -> list[Block]:
        """Return the sorted blocks outside the zone in a state."""
        last = range(len(self))[state]
        found: State = {}
        for at, x, y, z, _, new in self.edits.tolist():
            if at <= last and not in_zone(x, y, z):
                found[x, y, z] = new
        return sorted((x, y, z, color) for (x, y, z), color in found.items() if color)

    def __len__(self) -> int:
        bounds = self._rows("first_state")
        return bounds.stop - bounds.start

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("grids", "dialogue")}

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        return self  # immutable

    def __repr__(self) -> str:
        return f"Session({self.name!r}, {len(self)} states, {len(self.dialogue)} utterances)"


class Corpus:
    """The sessions and gold structures of a pack.

    Attributes:
        sessions: sessions by name, in the order of the pack.
        gold: structures by id, int8 [9, 11, 11].
        splits: split of each structure that is in one.
        location: the zip or folder.

    """

    def __init__(
        self, pack: Pack, *, structures: Iterable[str] | None = None, progress: bool | None = None
    ) -> None:
        wanted: frozenset[str] | None = None
        if structures is not None:
            wanted = frozenset([structures] if isinstance(structures, str) else structures)
        if wanted is not None and len(wanted) <= _FEW:
            arrays = _read_sessions(pack, wanted, progress)
        else:
            arrays = cached(pack, "mdc", VERSION, lambda: _read_sessions(pack, None, progress))
        for array in arrays.values():
            array.setflags(write=False)
        self._arrays = arrays
        self._utterances: list[str] = read_json(arrays["utterances"])
        self._report = report = Report.from_json(read_json(arrays["report"]), CorpusSkip)
        report.files += pack.left_out
        self.location = pack.location
        self.splits, self.gold = _splits(pack, report), _read_gold(pack, wanted, report)
        self.sessions = {
            name: Session(self, number, name, group, structure)
            for number, (name, group, structure) in enumerate(read_json(arrays["sessions"]))
            if wanted is None or structure in wanted
        }
        if wanted is not None:
            kept = {*wanted, ""}
            report.skipped = [entry for entry in report.skipped if _structure(entry.name) in kept]
        report.sessions = len(self.sessions)
        report.states = sum(map(len, self.sessions.values()))
        for session in self.sessions.values():
            if session.split is None:
                report.skip(CorpusSkip.NO_SPLIT, session.name)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        structures: Iterable[str] | None = None,
        fetch: bool = True,
        progress: bool | None = None,
    ) -> Corpus:
        """Read the corpus from a zip or folder.

        Args:
            path: a zip or folder; by default see `find_pack`.
            structures: ids of structures; only their sessions are read.
            fetch: whether the pack may be downloaded.
            progress: whether to show a progress bar (default: on a terminal).

        Raises:
            DataError: if there is no pack, or it has no session.

        """
        with find_pack("mdc", path, fetch, progress=progress) as pack:
            return cls(pack, structures=structures, progress=progress)

    def report(self) -> Report[CorpusSkip]:
        """Return the counts of what was read, and of what is skipped or missing."""
        return self._report

    @property
    def structures(self) -> dict[str, list[Session]]:
        """Sessions by structure, in the order of the structures' numbers."""
        found: dict[str, list[Session]] = {}
        for session in self.sessions.values():
            found.setdefault(session.structure, []).append(session)
        return {name: found[name] for name in sorted(found, key=lambda name: int(name[1:]))}

    def __deepcopy__(self, memo: dict[int, Any]) -> Corpus:
        return self

    def __repr__(self) -> str:
        return f"Corpus({self.location!r}, {len(self.sessions)} sessions, {len(self.gold)} gold structures)"


def _read_sessions(pack: Pack, structures: frozenset[str] | None, progress: bool | None) -> Arrays:
    columns, report = Columns(), Report[CorpusSkip]()
    found = [match for match in map(_STATES.fullmatch, pack.names()) if match]
    if not found:
        raise DataError(f"{pack.location} has no session of the Minecraft Dialogue Corpus{pack.links}")
    chosen = []
    for match in found:
        named = _SESSION.fullmatch(match.group(2))
        if not named:
            report.skip(CorpusSkip.BAD_NAME, match.group(2))
        elif structures is None or named.group(3) in structures:
            chosen.append((match, named.group(3)))
    for match, structure in track(chosen, "reading the Minecraft Dialogue Corpus", len(chosen), progress):
        group, name = match.groups()
        try:
            with wrap_errors(name):
                session = SessionReader(name, pack.read(match.group(0), SESSION_LIMIT))
        except DataError as error:
            report.skip(CorpusSkip.BAD_SESSION, name, None, str(error)[:200])
            continue
        columns.add([name, group, structure], session)
        report.skipped += session.skipped
    return columns.arrays(report)


def _structure(name: str) -> str:
    """Return the structure in a session's name; another name is returned unchanged."""
    match = _SESSION.fullmatch(name)
    return match.group(3) if match else name


def _splits(pack: Pack, report: Report[CorpusSkip]) -> dict[str, str]:
    place = "data/logs/splits.json"
    try:
        with wrap_errors(place):
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
                with wrap_errors(match.group(1)):
                    content = pack.read(match.group(0), GOLD_LIMIT)
                    gold[match.group(1)] = read_gold(content, match.group(1), report)
            except DataError as error:
                report.skip(CorpusSkip.BAD_GOLD, match.group(1), None, str(error)[:200])
    return {name: gold[name] for name in sorted(gold, key=lambda name: int(name[1:]))}
