"""Tapes: the event stream that the browser tool recorded while somebody built, as typed events and as worlds.

A world file of the IGLU packs holds, besides the world at the end, everything that its builder did on the way
there: one line per event, `<index> <verb> <arguments>`. `read_recording` reads such a file; `parse_tape` reads
the stream alone. Both recorder versions are known: the older one wrote the cells of `block_change` through a
wrong stride, which is undone here. All cells and positions of events are the voxel engine's own (a block fills
[x, x + 1), and y = 63 is the layer on the floor); `iglu_marl.data.iglu.trajectory` has them in this project's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import Block, in_zone
from iglu_marl.core.parsing import reading
from iglu_marl.core.text import plain_number
from iglu_marl.data.iglu.multiturn import COLOR_OF_VOXEL, FLOOR_Y, parse_world
from iglu_marl.data.report import Report, Skipped, SkipReason

Voxel = tuple[int, int, int]
VoxelWorld = dict[Voxel, int]  # cell -> id, without air
Point = tuple[float, float, float]

KEYS = ("step_forward", "step_backward", "step_left", "step_right")


class RecorderVersion(str, Enum):
    """Which version of the recorder wrote a tape; told by the form of its placements and removals."""

    OLDER = "older"  # wrong stride in `block_change`
    NEWER = "newer"  # camera and view vector with every placement and removal
    UNKNOWN = "unknown"  # a tape without either; read as the newer one

    __str__ = str.__str__


class CameraRay(NamedTuple):
    """The line along which somebody pointed: the third-person camera, 4 behind the eye, and the unit view vector."""

    camera: Point
    view: Point


class VoxelChange(NamedTuple):
    """One cell that changed: the voxel ids before and after, 0 for air."""

    cell: Voxel
    old: int
    new: int


class AvatarMoved(NamedTuple):
    """The avatar's feet are elsewhere."""

    tick: int
    position: Point


class Looked(NamedTuple):
    """The avatar looks elsewhere: radians, pitch up positive, yaw 0 = north and counter-clockwise."""

    tick: int
    pitch: float
    yaw: float


class Changed(NamedTuple):
    """Cells that changed in one tick."""

    tick: int
    changes: tuple[VoxelChange, ...]


class Placed(NamedTuple):
    """A block is asked for: voxel id, cell, and in the newer recorder the aim."""

    tick: int
    voxel: int
    cell: Voxel
    aim: CameraRay | None


class Broke(NamedTuple):
    """A block's removal is asked for."""

    tick: int
    cell: Voxel
    aim: CameraRay | None


class Pressed(NamedTuple):
    """A key press, one of `KEYS`; repeats included. Where it led is told by `AvatarMoved`."""

    tick: int
    key: str


class SetUp(NamedTuple):
    """The tool starts to set up the given world, or has finished."""

    tick: int
    finished: bool


Event = AvatarMoved | Looked | Changed | Placed | Broke | Pressed | SetUp


class TapeProblem(SkipReason, unit="line"):
    """Why a line of a tape is not used, or not as it stands."""

    UNKNOWN_LINE = "not an event that the recorder is known to write"
    BAD_NUMBERS = "arguments that are no finite numbers, or too many or few of them"
    BACKWARDS = "an index smaller than the one before; the line is used"
    MIXED = "short and long forms of actions in one tape; its cells are taken as they stand"
    UNLIKE = "a cell that did not hold what the change says; the change is used"


def undo_stride(cell: Voxel) -> Voxel:
    """The true cell behind one that the older recorder wrote in a `block_change`."""
    x, y, z = cell
    index = (z + 5) + 9 * (y - 63) + 99 * (x + 5)
    return index // 99 - 5, index % 99 // 11 + 63, index % 99 % 11 - 5


# ---------------------------------------------------------------------------------------------- the event stream


@dataclass(frozen=True)
class Tape:
    """A parsed event stream.

    events: in the order of the lines. recorder: which version wrote it. skipped: lines with a problem.
    """

    events: tuple[Event, ...]
    recorder: RecorderVersion = RecorderVersion.UNKNOWN
    skipped: tuple[Skipped[TapeProblem], ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How often each verb occurs, under the names of the format ("pos_change", "action break", ...)."""
        return dict(Counter(_verb(event) for event in self.events))

    @property
    def last_tick(self) -> int:
        """The index of the last event; 0 of an empty tape."""
        return max((event.tick for event in self.events), default=0)

    def worlds(self) -> Iterator[tuple[Changed, VoxelWorld]]:
        """Each change of the world with the world after it; the same dict every time, updated."""
        world: VoxelWorld = {}
        for event in self.events:
            if isinstance(event, Changed):
                for cell, _, new in event.changes:
                    _put(world, cell, new)
                yield event, world

    def world(self, until: int | None = None) -> VoxelWorld:
        """The world after all changes up to the index `until` (default: all), from an empty one."""
        world: VoxelWorld = {}
        for event in self.events:
            if isinstance(event, Changed) and (until is None or event.tick <= until):
                for cell, _, new in event.changes:
                    _put(world, cell, new)
        return world

    def world_by_actions(self) -> VoxelWorld:
        """The world that the placements and removals alone give.

        It is the same but where a block changed its id without an action, which happens in a few tapes.
        """
        world: VoxelWorld = {}
        for event in self.events:
            if isinstance(event, Placed):
                world[event.cell] = event.voxel
            elif isinstance(event, Broke):
                world.pop(event.cell, None)
        return world

    def set_up_until(self, previous: VoxelWorld | None = None) -> int:
        """The index at which the given world stands and the person's work begins.

        That is the finish marker. Tapes without one: the first index at which the world is `previous` (the world
        before the step, where the file tells it); else the end of the actions that follow the start marker without
        a gap; else 0.
        """
        for event in self.events:
            if isinstance(event, SetUp) and event.finished:
                return event.tick
        if previous:
            for changed, world in self.worlds():
                if world == previous:
                    return changed.tick
        return self._unmarked_set_up()

    def _unmarked_set_up(self) -> int:
        start = next((event.tick for event in self.events if isinstance(event, SetUp)), None)
        if start is None:
            return 0
        end = start
        for event in self.events:
            if isinstance(event, (Placed, Changed)) and event.tick == end + 1:
                end = event.tick
                if isinstance(event, Changed):
                    return end
        return start


def _put(world: VoxelWorld, cell: Voxel, voxel: int) -> None:
    if voxel:
        world[cell] = voxel
    else:
        world.pop(cell, None)


def _verb(event: Event) -> str:
    if isinstance(event, Pressed):
        return f"action {event.key}"
    if isinstance(event, SetUp):
        return f"action {'finish' if event.finished else 'start'}_recover_world_state"
    return _VERBS[type(event)]


_VERBS: dict[type, str] = {
    AvatarMoved: "pos_change",
    Looked: "set_look",
    Changed: "block_change",
    Placed: "action select_and_place_block",
    Broke: "action break",
}


def _point(text: str) -> list[float]:
    """The numbers of "(1, 2.5, -3)"."""
    if not (text.startswith("(") and text.endswith(")")):
        raise ValueError(text)
    return [float(part) for part in text[1:-1].split(",")]


def _finite(numbers: list[float], count: int) -> list[float]:
    if len(numbers) != count or not all(abs(number) < 1e9 for number in numbers):  # nor nan
        raise ValueError(numbers)
    return numbers


def _whole(numbers: list[float]) -> list[int]:
    cells = [int(number) for number in numbers]
    if cells != numbers:
        raise ValueError(numbers)
    return cells


def _read_moved(tick: int, text: str) -> Event:
    x, y, z = _finite(_point(text), 3)
    return AvatarMoved(tick, (x, y, z))


def _read_looked(tick: int, text: str) -> Event:
    pitch, yaw = _finite(_point(text), 2)
    return Looked(tick, pitch, yaw)


def _read_changed(tick: int, text: str) -> Event:
    changes = []
    for part in text.strip().removeprefix("(").removesuffix(")").split(") ("):
        x, y, z, old, new = _whole(_finite(_point(f"({part})"), 5))
        changes.append(VoxelChange((x, y, z), old, new))
    return Changed(tick, tuple(changes))


def _aim(numbers: list[float]) -> CameraRay | None:
    if not numbers:
        return None
    cx, cy, cz, vx, vy, vz = _finite(numbers, 6)
    return CameraRay((cx, cy, cz), (vx, vy, vz))


def _read_action(tick: int, text: str) -> Event | None:
    name, *arguments = text.split()
    if name in KEYS and not arguments:
        return Pressed(tick, name)
    if name in ("start_recover_world_state", "finish_recover_world_state") and not arguments:
        return SetUp(tick, name.startswith("finish"))
    numbers = [float(argument) for argument in arguments]
    if name == "select_and_place_block":
        voxel, x, y, z = _whole(_finite(numbers[:4], 4))
        return Placed(tick, voxel, (x, y, z), _aim(numbers[4:]))
    if name == "break":
        x, y, z = _whole(_finite(numbers[:3], 3))
        return Broke(tick, (x, y, z), _aim(numbers[3:]))
    return None


_READERS: dict[str, Callable[[int, str], Event | None]] = {
    "pos_change": _read_moved,
    "set_look": _read_looked,
    "block_change": _read_changed,
    "action": _read_action,
}


def parse_tape(text: str) -> Tape:
    """The events of a tape. Lines that cannot be read are left out and stand in `Tape.skipped`.

    Raises `DataError` when `text` is not a string.
    """
    if not isinstance(text, str):
        raise DataError(f"a tape is {text!r:.80}, expected text with one event per line")
    events: list[Event] = []
    report = Report[TapeProblem]()
    last = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        index, _, rest = line.partition(" ")
        verb, _, arguments = rest.partition(" ")
        reader, tick = _READERS.get(verb), plain_number(index)
        try:
            event = reader(tick, arguments) if reader and tick is not None else None
        except (ValueError, OverflowError):
            report.skip(TapeProblem.BAD_NUMBERS, "", number, line[:120])
            continue
        if event is None:
            report.skip(TapeProblem.UNKNOWN_LINE, "", number, line[:120])
            continue
        if event.tick < last:
            report.skip(TapeProblem.BACKWARDS, "", number, line[:120])
        last = event.tick
        events.append(event)
    recorder = _recorder(events, report)
    if recorder is RecorderVersion.OLDER:
        events = [_decoded(event) for event in events]
    _compare(events, report)
    return Tape(tuple(events), recorder, tuple(report.skipped))


def _recorder(events: list[Event], report: Report[TapeProblem]) -> RecorderVersion:
    forms = {event.aim is None for event in events if isinstance(event, (Placed, Broke))}
    if len(forms) == 2:
        report.skip(TapeProblem.MIXED)
    if not forms:
        return RecorderVersion.UNKNOWN
    return RecorderVersion.OLDER if forms == {True} else RecorderVersion.NEWER


def _decoded(event: Event) -> Event:
    if not isinstance(event, Changed):
        return event
    return event._replace(
        changes=tuple(change._replace(cell=undo_stride(change.cell)) for change in event.changes)
    )


def _compare(events: list[Event], report: Report[TapeProblem]) -> None:
    """Notes changes of cells that held something else than the tape says."""
    world: VoxelWorld = {}
    for event in events:
        if isinstance(event, Changed):
            for change in event.changes:
                if world.get(change.cell, 0) != change.old:
                    report.skip(TapeProblem.UNLIKE, detail=f"index {event.tick}: {tuple(change)}")
                _put(world, change.cell, change.new)


# ---------------------------------------------------------------------------------------------- the world file


@dataclass(frozen=True)
class TapeRecording:
    """A world file with its tape.

    name: the file. tape: what was done. ending: the world at the end as the file tells it, voxel ids by cell.
    position, look: the avatar's feet and (pitch, yaw) at the end, None where the file does not tell.
    previous: the world before the step, which only some files tell.
    """

    name: str
    tape: Tape
    ending: Mapping[Voxel, int] = field(default_factory=dict)
    position: Point | None = None
    look: tuple[float, float] | None = None
    previous: Mapping[Voxel, int] | None = None

    @property
    def reproduces(self) -> bool:
        """Whether the tape's changes lead from an empty world to the world at the end."""
        return self.tape.world() == self.ending

    @property
    def start(self) -> int:
        """The index at which the given world stands and the person's work begins (see `Tape.set_up_until`)."""
        return self.tape.set_up_until(None if self.previous is None else dict(self.previous))

    @property
    def blocks(self) -> list[Block]:
        """The world at the end as sorted blocks (x, y, z, color id) in this project's terms."""
        return to_blocks(self.ending)[0]


Recording = TapeRecording  # its name in `iglu_marl.data`


def to_blocks(world: Mapping[Voxel, int]) -> tuple[list[Block], list[tuple[Voxel, int]]]:
    """A voxel world as sorted blocks (x, y, z, color id) in this project's terms, and what is no such block.

    The second list has (cell, voxel id) of blocks outside the zone or of an unknown id.
    """
    blocks, odd = [], []
    for (x, y, z), voxel in world.items():
        if voxel in COLOR_OF_VOXEL and in_zone(x, y - FLOOR_Y, z):
            blocks.append((x, y - FLOOR_Y, z, int(COLOR_OF_VOXEL[voxel])))
        else:
            odd.append(((x, y, z), voxel))
    return sorted(blocks), sorted(odd)


def read_recording(content: str | bytes | Mapping[str, Any], *, name: str = "world") -> TapeRecording:
    """A world file: JSON text, or what was parsed from it. A file without a tape has an empty one.

    Raises `DataError` for what is no world file; `name` names it there.
    """
    with reading(name):
        parsed = parse_world(content, name)
        if not isinstance(parsed, Mapping):
            raise DataError(f"{name} is {type(parsed).__name__}, expected an object with a tape")
        tape = parsed.get("tape")
        avatar = parsed.get("avatarInfo")
        place = avatar if isinstance(avatar, Mapping) else {}
        before = parsed.get("prevWorldEndingState")
        position, look = _numbers(place.get("pos"), 3), _numbers(place.get("look"), 2)
        return TapeRecording(
            name,
            parse_tape("" if tape is None else tape),
            _voxels(parsed.get("worldEndingState"), name),
            None if position is None else (position[0], position[1], position[2]),
            None if look is None else (look[0], look[1]),
            None if before is None else _voxels(before, name),
        )


def _numbers(value: Any, count: int) -> list[float] | None:
    good = isinstance(value, list) and len(value) == count
    good = good and all(type(v) in (int, float) and abs(v) < 1e9 for v in value)  # nor nan
    return [float(number) for number in value] if good else None


def _voxels(state: Any, name: str) -> VoxelWorld:
    entries = state.get("blocks") if isinstance(state, Mapping) else None
    if not isinstance(entries, list):
        raise DataError(f"{name} has no worldEndingState.blocks")
    world: VoxelWorld = {}
    for entry in entries:
        whole = isinstance(entry, list) and len(entry) == 4
        whole = whole and all(type(part) is int and abs(part) < 1e9 for part in entry)
        if not whole or tuple(entry[:3]) in world:
            raise DataError(
                f"{name} has the block {entry!r:.80}, expected [x, y, z, voxel id], each cell once"
            )
        world[entry[0], entry[1], entry[2]] = entry[3]
    return world
