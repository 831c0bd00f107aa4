"""Action logs: the events that the browser tool recorded while a person built, and the worlds they lead to.

A world file of the IGLU packs holds the final world and the log of its builder's actions, one event per line:
`<index> <verb> <arguments>`. `read_action_log` reads such a file, `parse_action_log` reads a log alone.

Both recorder versions are read. The older one wrote the cells of `block_change` with a wrong stride; this module
corrects them. Cells and positions are in the coordinates of the voxel engine: a block fills [x, x + 1), and y = 63 is
the layer on the ground. `iglu_marl.data.iglu.trajectory` converts them to this project's coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import Block, in_zone
from iglu_marl.core.parsing import wrap_errors
from iglu_marl.core.text import plain_number
from iglu_marl.data.iglu.world_files import (
    COLOR_OF_VOXEL,
    FLOOR_Y,
    LOG_KEY,
    PREVIOUS_KEY,
    Voxel,
    VoxelWorld,
    parse_world,
    read_voxels,
)
from iglu_marl.data.report import Report, Skipped, SkipReason

Point = tuple[float, float, float]

KEYS = ("step_forward", "step_backward", "step_left", "step_right")


class RecorderVersion(str, Enum):
    """Version of the recorder that wrote a log, inferred from the form of its placements and removals."""

    OLDER = "older"  # wrong stride in `block_change`
    NEWER = "newer"  # camera and view vector with every placement and removal
    UNKNOWN = "unknown"  # no placement or removal; read as the newer version

    __str__ = str.__str__


class CameraRay(NamedTuple):
    """Aim of an action: position of the third-person camera, 4 cells behind the eye, and unit view vector."""

    camera: Point
    view: Point


class VoxelChange(NamedTuple):
    """Change of one cell, with the voxel ids before and after; 0 is air."""

    cell: Voxel
    old: int
    new: int


class AvatarMoved(NamedTuple):
    """New position of the avatar's feet."""

    tick: int
    position: Point


class Looked(NamedTuple):
    """New gaze of the avatar in radians: pitch up positive, yaw 0 = north and counter-clockwise."""

    tick: int
    pitch: float
    yaw: float


class Changed(NamedTuple):
    """Changes of cells in one tick."""

    tick: int
    changes: tuple[VoxelChange, ...]


class Placed(NamedTuple):
    """Action of placing a block: voxel id, cell, and (newer recorder) the aim."""

    tick: int
    voxel: int
    cell: Voxel
    aim: CameraRay | None


class Broke(NamedTuple):
    """Action of removing a block."""

    tick: int
    cell: Voxel
    aim: CameraRay | None


class Pressed(NamedTuple):
    """Key press, one of `KEYS`, including repeats. `AvatarMoved` has the resulting position."""

    tick: int
    key: str


class SetUp(NamedTuple):
    """Start or end of the tool's set-up of the given world."""

    tick: int
    finished: bool


Event = AvatarMoved | Looked | Changed | Placed | Broke | Pressed | SetUp


class LogProblem(SkipReason, unit="line"):
    """Why a line of a log is skipped or changed."""

    UNKNOWN_LINE = "not an event of a known recorder"
    BAD_NUMBERS = "a wrong number of arguments, or an argument that is not a finite number"
    BACKWARDS = "an index smaller than the one before; the line is used"
    MIXED = "short and long forms of actions in one log; cells are used unchanged"
    UNLIKE = "a cell that did not hold what the change says; the change is used"


def undo_stride(cell: Voxel) -> Voxel:
    """Return the true cell for one that the older recorder wrote in a `block_change`."""
    x, y, z = cell
    index = (z + 5) + 9 * (y - 63) + 99 * (x + 5)
    return index // 99 - 5, index % 99 // 11 + 63, index % 99 % 11 - 5


@dataclass(frozen=True)
class ActionLog:
    """A parsed action log: its events in order, the recorder's version, and the lines with a problem."""

    events: tuple[Event, ...]
    recorder: RecorderVersion = RecorderVersion.UNKNOWN
    skipped: tuple[Skipped[LogProblem], ...] = ()

    def worlds(self, until: int | None = None) -> Iterator[tuple[Changed, VoxelWorld]]:
        """Yield each change (up to index `until`) with the world after it, a dict that is updated in place."""
        world: VoxelWorld = {}
        for event in self.events:
            if isinstance(event, Changed) and (until is None or event.tick <= until):
                for change in event.changes:
                    _put(world, change)
                yield event, world

    def world(self, until: int | None = None) -> VoxelWorld:
        """Return the world after all changes up to index `until` (default: all), from an empty world."""
        world: VoxelWorld = {}
        for _, changed in self.worlds(until):
            world = changed
        return world

    def set_up_until(self, previous: VoxelWorld | None = None) -> int:
        """Return the index at which the given world is complete and the person's work begins.

        It is the first of these that exists: the end marker; the first index at which the world equals `previous`;
        the end of the actions that follow the start marker without a gap; 0.
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


def _put(world: VoxelWorld, change: VoxelChange) -> None:
    if change.new:
        world[change.cell] = change.new
    else:
        world.pop(change.cell, None)


def _finite(parts: Iterable[str], *counts: int) -> list[float]:
    """Parse one of these counts of finite numbers. Raises `ValueError` for anything else."""
    numbers = [float(part) for part in parts]
    if len(numbers) not in counts or not all(abs(number) < 1e9 for number in numbers):  # False for nan
        raise ValueError(numbers)
    return numbers


def _point(text: str, count: int) -> list[float]:
    """Parse "(1, 2.5, -3)"."""
    if not (text.startswith("(") and text.endswith(")")):
        raise ValueError(text)
    return _finite(text[1:-1].split(","), count)


def _whole(numbers: list[float]) -> list[int]:
    integers = [int(number) for number in numbers]
    if integers != numbers:
        raise ValueError(numbers)
    return integers


def _aim(numbers: list[float]) -> CameraRay | None:
    if not numbers:
        return None
    cx, cy, cz, vx, vy, vz = numbers
    return CameraRay((cx, cy, cz), (vx, vy, vz))


def _event(tick: int, verb: str, text: str) -> Event | None:
    """Parse an event; None if it is unknown. Raises `ValueError` for wrong numbers."""
    if verb == "pos_change":
        x, y, z = _point(text, 3)
        return AvatarMoved(tick, (x, y, z))
    if verb == "set_look":
        pitch, yaw = _point(text, 2)
        return Looked(tick, pitch, yaw)
    if verb == "block_change":
        changes = []
        for change in text.strip().removeprefix("(").removesuffix(")").split(") ("):
            i, j, k, old, new = _whole(_point(f"({change})", 5))
            changes.append(VoxelChange((i, j, k), old, new))
        return Changed(tick, tuple(changes))
    return _action(tick, *text.split()) if verb == "action" and text.strip() else None


def _action(tick: int, name: str, *arguments: str) -> Event | None:
    if name in KEYS and not arguments:
        return Pressed(tick, name)
    if name in ("start_recover_world_state", "finish_recover_world_state") and not arguments:
        return SetUp(tick, name.startswith("finish"))
    if name == "select_and_place_block":
        numbers = _finite(arguments, 4, 10)
        voxel, x, y, z = _whole(numbers[:4])
        return Placed(tick, voxel, (x, y, z), _aim(numbers[4:]))
    if name == "break":
        numbers = _finite(arguments, 3, 9)
        x, y, z = _whole(numbers[:3])
        return Broke(tick, (x, y, z), _aim(numbers[3:]))
    return None


def parse_action_log(text: str) -> ActionLog:
    """Parse an action log. Lines that cannot be read are listed in `ActionLog.skipped`.

    Raises `DataError` if `text` is not a string.
    """
    if not isinstance(text, str):
        raise DataError(f"an action log is {text!r:.80}, expected text with one event per line")
    events: list[Event] = []
    report = Report[LogProblem]()
    last = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        index, _, rest = line.partition(" ")
        verb, _, arguments = rest.partition(" ")
        tick = plain_number(index)
        problem = LogProblem.UNKNOWN_LINE
        try:
            event = None if tick is None else _event(tick, verb, arguments)
        except (ValueError, OverflowError):
            event, problem = None, LogProblem.BAD_NUMBERS
        if event is None:
            report.skip(problem, "", number, line[:120])
            continue
        if event.tick < last:
            report.skip(LogProblem.BACKWARDS, "", number, line[:120])
        last = event.tick
        events.append(event)
    forms = {event.aim is None for event in events if isinstance(event, (Placed, Broke))}
    recorder = RecorderVersion.NEWER if forms else RecorderVersion.UNKNOWN
    if len(forms) == 2:
        report.skip(LogProblem.MIXED)
    elif forms == {True}:
        recorder = RecorderVersion.OLDER
        events = [_decoded(event) for event in events]
    _compare(events, report)
    return ActionLog(tuple(events), recorder, tuple(report.skipped))


def _decoded(event: Event) -> Event:
    if not isinstance(event, Changed):
        return event
    return event._replace(
        changes=tuple(change._replace(cell=undo_stride(change.cell)) for change in event.changes)
    )


def _compare(events: list[Event], report: Report[LogProblem]) -> None:
    """Report changes of cells that did not hold the old block that the log names."""
    world: VoxelWorld = {}
    for event in events:
        if isinstance(event, Changed):
            for change in event.changes:
                if world.get(change.cell, 0) != change.old:
                    report.skip(LogProblem.UNLIKE, detail=f"index {event.tick}: {tuple(change)}")
                _put(world, change)


@dataclass(frozen=True)
class BuildRecording:
    """A world file with its action log."""

    name: str  # the file
    log: ActionLog  # the builder's actions
    ending: Mapping[Voxel, int]  # the final world in the file, voxel ids by cell
    previous: VoxelWorld | None  # the world before the step; only some files have it

    @property
    def reproduces(self) -> bool:
        """Whether the changes in the log lead from an empty world to the final world in the file."""
        return self.log.world() == self.ending

    @property
    def start(self) -> int:
        """Index at which the person's work begins (see `ActionLog.set_up_until`)."""
        return self.log.set_up_until(self.previous)


def to_block(cell: Voxel, voxel: int) -> Block | None:
    """Convert a voxel to a block (x, y, z, color id) in this project's coordinates; color 0 for air.

    None if it is outside the zone or has an unknown id.
    """
    x, y, z = cell[0], cell[1] - FLOOR_Y, cell[2]
    color = int(COLOR_OF_VOXEL.get(voxel, 0))
    return (x, y, z, color) if in_zone(x, y, z) and (color or not voxel) else None


def to_blocks(world: Mapping[Voxel, int]) -> list[Block]:
    """Convert a voxel world to sorted blocks (x, y, z, color id) in this project's coordinates.

    Blocks outside the zone or with an unknown id are left out.
    """
    return sorted(filter(None, (to_block(cell, voxel) for cell, voxel in world.items())))


def read_action_log(content: str | bytes | Mapping[str, Any], *, name: str = "world") -> BuildRecording:
    """Read a world file with its action log, which may be missing.

    Args:
        content: JSON text, or the parsed object.
        name: name of the file, for errors and for `BuildRecording.name`.

    Raises:
        DataError: if this is not a world file.

    """
    with wrap_errors(name):
        world = parse_world(content, name)
        text = world.get(LOG_KEY)
        previous = world.get(PREVIOUS_KEY)
        return BuildRecording(
            name,
            parse_action_log("" if text is None else text),
            read_voxels(world.get("worldEndingState"), name),
            None if previous is None else read_voxels(previous, name),
        )
