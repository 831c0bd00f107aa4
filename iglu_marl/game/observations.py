"""Observations: one table per kind of environment, from which observations and spaces are built.

This is the only information barrier: no entry of the two-agent builder's table reads the target. An entry is an
`ObsField`: its key, its space, and a function that reads it from the episode into memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.arguments import as_count
from iglu_marl.core.conventions import OWN, Conventions
from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLORS, ZONE_SHAPE
from iglu_marl.core.kernels.sights import AIM_LENGTH, WRONG_CELL_LENGTH, Sights, see_many
from iglu_marl.core.worlds import POSE_HIGH, POSE_LOW
from iglu_marl.game.chat import Chat, ChatText
from iglu_marl.game.config import MAX_PIXELS, GameConfig
from iglu_marl.game.episode import Episode
from iglu_marl.game.knowledge import SIDES_SHAPE, UNSEEN

Array = npt.NDArray[Any]
PROGRAM_LENGTH = 8000  # characters of an observed program, more than any has
GRIDS = ("grid", "target_grid", "egocentric", "target_egocentric")  # keys of arrays of colour ids
# The space of `aim`: the eye is in the space of poses, and sees less than 8 cells far.
_CELL_LOW, _CELL_HIGH = (-16, -3, -16), (16, 8, 16)
AIM_LOW = np.array([0, *_CELL_LOW, *_CELL_LOW, 0], np.float32)
AIM_HIGH = np.array([1, *_CELL_HIGH, *_CELL_HIGH, 8], np.float32)
# The space of a row of `wrong_cells`: cells are in the zone, and the eye is in the space of poses.
WRONG_CELL_LOW = np.array([0, -15, -20, -20, -180, -180, 0, 0], np.float32)
WRONG_CELL_HIGH = np.array([2, 15, 20, 20, 180, 180, 6, 1], np.float32)


class ObsField(NamedTuple):
    """One entry of an observation."""

    key: str
    space: spaces.Space[Any]
    read: Callable[[Episode], Any]


class Observer:
    """Builds an observation and its space from a list of entries."""

    def __init__(self, sights: Iterable[ObsField]) -> None:
        self._sights = sorted(sights, key=lambda sight: sight.key)  # as spaces.Dict sorts its keys
        self.space = spaces.Dict({sight.key: sight.space for sight in self._sights})
        self._readers = tuple((sight.key, sight.read) for sight in self._sights)

    def observe(self, episode: Episode, without: Collection[str] = ()) -> dict[str, Any]:
        """Return the observation without some keys. It shares no memory with the episode or other observations."""
        return {key: read(episode) for key, read in self._readers if key not in without}


# --- readers ---------------------------------------------------------------------------------------------------
# Functions of the module, not lambdas: environments are pickled.


def _pov(size: tuple[int, int], episode: Episode) -> Array:
    return episode.renderer.render(episode.worlds, (0,), size)[0]


def _pov_of_team(size: tuple[int, int], view: Any) -> Array:
    from iglu_marl.rendering.avatar import draw_others

    eyes, grid = view.eyes, view.worlds.grid[0]
    frame = _pov(size, view)
    return draw_others(frame, grid, eyes[view.number], eyes[view.others], view.renderer)


def _inventory(slots: Array, episode: Episode) -> Array:
    counts: Array = episode.worlds.seen_inventory[0]
    return counts[slots]  # a copy; `take` is slower for so few


def _compass(episode: Episode) -> Array:
    return episode.worlds.seen_compass[0].copy()


def _compass_half_turned(episode: Episode) -> Array:
    return (episode.worlds.pose[0, 3:4] - 180.0).astype(np.float32)  # in double, as in 2022


def _angle(episode: Episode) -> dict[str, Array]:
    return {"angle": np.array(episode.worlds.seen_compass[0, 0])}


def _agent_pos(episode: Episode) -> Array:
    return episode.worlds.seen_pose[0].copy()


def _converted_agent_pos(conventions: Conventions, episode: Episode) -> Array:
    x, y, z, yaw, pitch = episode.worlds.pose[0].tolist()
    converted = x, y + conventions.eye_offset, z, 0.0 - pitch if conventions.minerl_camera else pitch, yaw
    return np.array(converted, np.float32)


def _grid(field: str, ids: Array | None, episode: Episode) -> Array:
    grid: Array = getattr(episode.worlds, field)[0]
    return grid.astype(np.int32) if ids is None else ids.take(grid)


def _seen(name: str, sights: dict[str, Any], episode: Episode) -> Array:
    out = make_sights(1, (name,), **sights)
    see_many(episode.worlds.state, out, 0, 1)
    seen: Array = getattr(out, name)[0]
    return seen


def _dialog(episode: Episode) -> Any:
    return episode.chat.show(episode.dialogue)


def _dialog_as_written(episode: Episode) -> Any:
    return episode.chat.show(episode.dialogue, episode.written)


def _goal(episode: Episode) -> Any:
    return episode.chat.show_text("" if episode.objective is None else episode.objective.text)


def _goal_program(episode: Episode) -> str:
    return "" if episode.objective is None else episode.objective.program


def _view(field: str, size: tuple[int, int], draw: Callable[..., Array], episode: Episode) -> Array:
    return draw(getattr(episode.worlds, field)[0], size=size)


def _all_poses(view: Any) -> Array:
    return view.poses.copy()


def _other_poses(view: Any) -> Array:
    others: Array = view.poses[view.others]  # a copy
    return others


def _target_mask(view: Any) -> Array:
    return view.mask.copy()


def _target_sides(view: Any) -> Array:
    return view.sides.astype(np.int32)


def make_sights(
    count: int,
    names: Collection[str],
    *,
    radius: int = 1,
    max_wrong_cells: int = 1,
    conventions: Conventions = OWN,
    dtype: npt.DTypeLike = np.int32,
) -> Sights:
    """Return output arrays of the kernel `see_many` for `count` worlds: the named fields of `Sights`."""
    side = 2 * radius + 1
    aim, egocentric, target_egocentric, hotbar, wrong_cells = (
        count if name in names else 0 for name in Sights._fields[:5]
    )
    return Sights(
        np.zeros((aim, AIM_LENGTH), np.float32),
        np.zeros((egocentric, side, side, side), dtype),
        np.zeros((target_egocentric, side, side, side), dtype),
        np.zeros((hotbar, 1), np.int32),
        np.zeros((wrong_cells, max_wrong_cells, WRONG_CELL_LENGTH), np.float32),
        np.array((*conventions.obs_id_of_color, conventions.outside), dtype),
    )


# --- entries ---------------------------------------------------------------------------------------------------


def pov_sight(size: tuple[int, int], builders: int = 1) -> ObsField:
    """`pov`: uint8 [height, width, 3], the builder's view, with the other builders as figures."""
    size = (as_count("height", size[0], 1, MAX_PIXELS), as_count("width", size[1], 1, MAX_PIXELS))
    reader = _pov if builders == 1 else _pov_of_team
    return ObsField("pov", spaces.Box(0, 255, (*size, 3), np.uint8), partial(reader, size))


def inventory_sight(conventions: Conventions = OWN, most: int = BLOCKS_PER_COLOR) -> ObsField:
    """`inventory`: float32 [6], blocks left by colour (a negative count shows as 0). most: of a color."""
    space = spaces.Box(0, most, (6,), np.float32)
    return ObsField("inventory", space, partial(_inventory, np.array(conventions.slots)))


def compass_sight(conventions: Conventions = OWN) -> ObsField:
    """`compass`: float32 [1] in degrees, 0 = facing north, 90 = east (2022: half a turn off)."""
    read = _compass_half_turned if conventions.half_turn else _compass
    return ObsField("compass", spaces.Box(-180, 180, (1,), np.float32), read)


def angle_sight() -> ObsField:
    """`compass` as `Dict(angle)`: float32 [] in degrees."""
    return ObsField("compass", spaces.Dict({"angle": spaces.Box(-180, 180, (), np.float32)}), _angle)


def agent_pos_sight(conventions: Conventions = OWN) -> ObsField:
    """`agentPos`: float32 [5], eye x, y, z in cells; pitch, yaw in degrees (2021: feet above the floor, pitch down)."""
    lift = np.array([0, conventions.eye_offset, 0, 0, 0], np.float32)
    own = not (conventions.eye_offset or conventions.minerl_camera)  # read faster
    read = _agent_pos if own else partial(_converted_agent_pos, conventions)
    return ObsField("agentPos", spaces.Box(POSE_LOW + lift, POSE_HIGH + lift, dtype=np.float32), read)


def grid_sight(key: str, conventions: Conventions = OWN, margin: int = 0) -> ObsField:
    """`grid` or `target_grid`: int32 [9, 11, 11] of colour ids; the space allows `margin` more at either end."""
    field, ids = "target" if key == "target_grid" else "grid", np.array(conventions.obs_id_of_color, np.int32)
    space = spaces.Box(ids.min() - margin, ids.max() + margin, ZONE_SHAPE, np.int32)
    plain = conventions.obs_id_of_color == OWN.obs_id_of_color  # read faster
    return ObsField(key, space, partial(_grid, field, None if plain else ids))


def aim_sight() -> ObsField:
    """`aim`: float32 [8], where the hands would act: 1, the cell hit, the cell to place in, the distance in cells.

    Zeros if nothing is in reach. Cells are x, y, z of the map. Inside a block, both are that block's.
    """
    return ObsField("aim", spaces.Box(AIM_LOW, AIM_HIGH, dtype=np.float32), partial(_seen, "aim", {}))


def egocentric_sight(key: str, radius: int, conventions: Conventions = OWN) -> ObsField:
    """`egocentric` or `target_egocentric`: int32 [side, side, side] of colour ids around the cell of the eye.

    side is 2 * radius + 1; the axes are up, right and back from the builder, by the nearest quarter turn of its yaw:
    facing north, those of `grid`. Cells outside the zone have the id after the last colour's. The target is
    aligned with the build as in the score.
    """
    shape = (2 * radius + 1,) * 3
    space = spaces.Box(min(conventions.obs_id_of_color), conventions.outside, shape, np.int32)
    return ObsField(key, space, partial(_seen, key, {"radius": radius, "conventions": conventions}))


def hotbar_sight(conventions: Conventions = OWN) -> ObsField:
    """`hotbar`: int32 [1], the colour in hand: 1..6, the number that selects it in an action."""
    read = partial(_seen, "hotbar", {"conventions": conventions})
    return ObsField("hotbar", spaces.Box(1, 6, (1,), np.int32), read)


def wrong_cells_sight(count: int, conventions: Conventions = OWN) -> ObsField:
    """`wrong_cells`: float32 [count, 8], a row for each of the next cells in which build and target differ.

    | column | |
    |---|---|
    | 0 | 1: place a block, 2: remove one, 0: no such cell (the row is zeros) |
    | 1, 2, 3 | offset of the cell from the eye: up, right and back, as the builder looks |
    | 4, 5 | yaw and pitch in degrees by which to turn to look at it |
    | 6 | wanted colour, as the number that selects it in an action; 0: air |
    | 7 | 1 if the hands would act on this cell |

    First are cells in which a block can be placed now, then blocks to remove, then cells without a neighbor to place a
    block at, each by distance. Looking at a cell is looking at the face to place the block at. The target is aligned
    with the build as in the score; with `completion="cover"`, only cells count that the task asks to change.
    """
    low, high = (np.tile(bound, (count, 1)) for bound in (WRONG_CELL_LOW, WRONG_CELL_HIGH))
    read = partial(_seen, "wrong_cells", {"max_wrong_cells": count, "conventions": conventions})
    return ObsField("wrong_cells", spaces.Box(low, high, dtype=np.float32), read)


def dialog_sight(chat: Chat, key: str = "dialog") -> ObsField:
    """`dialog`: the conversation as text or tokens."""
    return ObsField(key, chat.observation_space(), _dialog_as_written if chat.verbatim else _dialog)


def goal_sight(chat: Chat) -> ObsField:
    """`goal`: the objective in words, as text or tokens; empty if it is the target."""
    return ObsField("goal", chat.observation_space(), _goal)


def goal_program_sight() -> ObsField:
    """`goal_program`: the objective as program text."""
    return ObsField("goal_program", ChatText(PROGRAM_LENGTH), _goal_program)


def view_sight(key: str, size: tuple[int, int], draw: Callable[..., Array]) -> ObsField:
    """`grid_view` or `target_view`: uint8 [height, width, 3], an orbit view; `draw(grid, size=…)` makes it."""
    field = "target" if key == "target_view" else "grid"
    return ObsField(key, spaces.Box(0, 255, (*size, 3), np.uint8), partial(_view, field, size, draw))


def poses_sight(key: str, count: int) -> ObsField:
    """`agentPos` of a team or `others`: float32 [count, 5], a row as in `agent_pos_sight` for each builder in order."""
    low, high = (np.tile(bound, (count, 1)).astype(np.float32) for bound in (POSE_LOW, POSE_HIGH))
    return ObsField(
        key, spaces.Box(low, high, dtype=np.float32), _other_poses if key == "others" else _all_poses
    )


def part_sights() -> list[ObsField]:
    """`target_mask` and `target_sides`: what is seen of the target, see `iglu_marl.game.knowledge`.

    `target_mask`: int8 [9, 11, 11], 1 in cells that are seen. `target_sides`: int32 [4, 9, 11], the views from north,
    east, south and west; -1 in those that are not seen.
    """
    return [
        ObsField("target_mask", spaces.Box(0, 1, ZONE_SHAPE, np.int8), _target_mask),
        ObsField("target_sides", spaces.Box(UNSEEN, len(COLORS), SIDES_SHAPE, np.int32), _target_sides),
    ]


# --- tables ----------------------------------------------------------------------------------------------------


def architect_observer(config: GameConfig, chat: Chat, draw_view: Callable[..., Array]) -> Observer:
    """Return the architect's observer for a configuration."""
    makers: dict[str, Callable[[], ObsField]] = {
        "target_grid": lambda: grid_sight("target_grid"),
        "grid": lambda: grid_sight("grid"),
        "dialog": lambda: dialog_sight(chat),
        "pose": lambda: (
            agent_pos_sight() if config.builders == 1 else poses_sight("agentPos", config.builders)
        ),
        "target_view": lambda: view_sight("target_view", config.pov_size, draw_view),
        "grid_view": lambda: view_sight("grid_view", config.pov_size, draw_view),
        "goal": lambda: goal_sight(chat),
        "goal_program": goal_program_sight,
    }
    parts = part_sights() if config.sees is not None and "target_grid" in config.architect_sees else []
    return Observer([*(makers[name]() for name in config.architect_sees), *parts])


def builder_observer(config: GameConfig, chat: Chat, agent: str = "builder_0") -> Observer:
    """Return the observer of a builder. No entry may read the target, unless `sees` gives the builder a part of it."""
    makers: dict[str, Callable[[], ObsField]] = {
        "pov": lambda: pov_sight(config.pov_size, config.builders),
        "inventory": lambda: inventory_sight(most=BLOCKS_PER_COLOR * config.builders),
        "compass": compass_sight,
        "dialog": lambda: dialog_sight(chat),
        "pose": agent_pos_sight,
        "grid": lambda: grid_sight("grid"),
        **_computed_sights(config, OWN),
    }
    if config.sees_target(agent):
        makers |= _target_sights(config, OWN)
    sights = [makers[name]() for name in config.builder_sees if name in makers]
    if config.builders > 1:
        sights.append(poses_sight("others", config.builders - 1))
    if config.sees is not None and set(config.sees[agent]) != {"none"}:
        sights += [grid_sight("target_grid"), *part_sights()]
    return Observer(sights)


def _computed_sights(config: GameConfig, conventions: Conventions) -> dict[str, Callable[[], ObsField]]:
    """Return makers of the entries of `COMPUTED_SIGHTS`."""
    return {
        "aim": aim_sight,
        "egocentric": lambda: egocentric_sight("egocentric", config.egocentric_radius, conventions),
        "hotbar": lambda: hotbar_sight(conventions),
    }


def _target_sights(config: GameConfig, conventions: Conventions) -> dict[str, Callable[[], ObsField]]:
    """Return makers of the entries of `TARGET_SIGHTS`."""
    return {
        "target_egocentric": lambda: egocentric_sight(
            "target_egocentric", config.egocentric_radius, conventions
        ),
        "wrong_cells": lambda: wrong_cells_sight(config.max_wrong_cells, conventions),
    }


def gridworld_observer(
    config: GameConfig,
    chat: Chat,
    conventions: Conventions,
    *,
    target_in_obs: bool = False,
    target_egocentric: bool = False,
) -> Observer:
    """Return the observer of `IGLUGridworld-v0` and `IGLUGridworldVector-v0` (IGLU 2022)."""
    makers: dict[str, Callable[[], ObsField]] = {
        "pov": lambda: pov_sight(config.pov_size),
        "inventory": lambda: inventory_sight(conventions),
        "compass": lambda: compass_sight(conventions),
        "dialog": lambda: dialog_sight(chat),
        "pose": lambda: agent_pos_sight(conventions),
        "grid": lambda: grid_sight("grid", conventions, margin=1),
        **_computed_sights(config, conventions),
        **_target_sights(config, conventions),
        "target_grid": lambda: grid_sight("target_grid", conventions, margin=1),
    }
    flags = {"target_grid": target_in_obs, "target_egocentric": target_egocentric}
    names = dict.fromkeys((*config.builder_sees, *(name for name, is_shown in flags.items() if is_shown)))
    return Observer(makers[name]() for name in names)


def silent_builder_observer(config: GameConfig, chat: Chat, conventions: Conventions) -> Observer:
    """Return the observer of `IGLUSilentBuilder-v0` and `IGLUSilentBuilderVisual-v0` (IGLU 2021)."""
    makers: dict[str, Callable[[], ObsField]] = {
        "pov": lambda: pov_sight(config.pov_size),
        "inventory": lambda: inventory_sight(conventions),
        "compass": angle_sight,
        "dialog": lambda: dialog_sight(chat, "chat"),
        "pose": lambda: agent_pos_sight(conventions),
        "grid": lambda: grid_sight("grid", conventions),
        **_computed_sights(config, conventions),
    }
    return Observer(makers[name]() for name in config.builder_sees)


def target_info(conventions: Conventions) -> Callable[[Episode], Array]:
    """Return the reader of `info["target_grid"]` in single-agent environments: a copy, with the ids of `grid`."""
    return cast(Callable[[Episode], Array], grid_sight("target_grid", conventions).read)
