"""Who sees what: one table per kind of environment, from which both the observation and its space are built.

This is the only information barrier: the tables of the two-agent builder hold nothing that reads the target.
A *sight* is one entry of an observation: its key, its space, and a function that reads it from the episode into
memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.conventions import OWN, Conventions
from iglu_marl.core.grid import BLOCKS_PER_COLOR, ZONE_SHAPE
from iglu_marl.core.kernels.sights import AIM_LENGTH, Sights, see_many
from iglu_marl.core.worlds import POSE_HIGH, POSE_LOW
from iglu_marl.game.chat import Chat, ChatText
from iglu_marl.game.config import GameConfig
from iglu_marl.game.episode import Episode

Array = npt.NDArray[Any]
PROGRAM_LENGTH = 8000  # characters of an observed program, more than any has
GRIDS = ("grid", "target_grid", "egocentric", "target_egocentric")  # keys of arrays of colour ids
# The space of `aim`: the eye is in the space of poses, and sees less than 8 cells far.
_CELL_LOW, _CELL_HIGH = (-16, -3, -16), (16, 8, 16)
AIM_LOW = np.array([0, *_CELL_LOW, *_CELL_LOW, 0], np.float32)
AIM_HIGH = np.array([1, *_CELL_HIGH, *_CELL_HIGH, 8], np.float32)


class Sight(NamedTuple):
    """One entry of an observation."""

    key: str
    space: spaces.Space[Any]
    read: Callable[[Episode], Any]


class Observer:
    """Builds an observation and its space from one list of sights."""

    def __init__(self, sights: Iterable[Sight]) -> None:
        ordered = sorted(sights, key=lambda sight: sight.key)  # as spaces.Dict sorts its keys
        self.space = spaces.Dict({sight.key: sight.space for sight in ordered})
        self._readers = tuple((sight.key, sight.read) for sight in ordered)

    def observe(self, episode: Episode, without: Collection[str] = ()) -> dict[str, Any]:
        """The observation now, or all of it but some keys; shares no memory with the episode or other observations."""
        return {key: read(episode) for key, read in self._readers if key not in without}


# --- readers ---------------------------------------------------------------------------------------------------
# Functions of the module, not lambdas: environments are pickled.


def _pov(size: tuple[int, int], episode: Episode) -> Array:
    return episode.renderer.render(episode.worlds, (0,), size)[0]


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


def _agent_pos_told(conventions: Conventions, episode: Episode) -> Array:
    x, y, z, yaw, pitch = episode.worlds.pose[0].tolist()
    told = x, y + conventions.lift, z, 0.0 - pitch if conventions.minerl_camera else pitch, yaw
    return np.array(told, np.float32)


def _grid(field: str, ids: Array | None, episode: Episode) -> Array:
    grid: Array = getattr(episode.worlds, field)[0]
    return grid.astype(np.int32) if ids is None else ids.take(grid)


def _seen(name: str, sights: dict[str, Any], episode: Episode) -> Array:
    out = make_sights(1, **sights)
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


def make_sights(
    count: int,
    *,
    aim: bool = False,
    egocentric: bool = False,
    target_egocentric: bool = False,
    radius: int = 1,
    conventions: Conventions = OWN,
    dtype: npt.DTypeLike = np.int32,
) -> Sights:
    """Room for what the kernel `see_many` writes of `count` worlds: those that are wanted."""
    side = 2 * radius + 1
    return Sights(
        np.zeros((count if aim else 0, AIM_LENGTH), np.float32),
        np.zeros((count if egocentric else 0, side, side, side), dtype),
        np.zeros((count if target_egocentric else 0, side, side, side), dtype),
        np.array((*conventions.shown, conventions.outside), dtype),
    )


# --- sights ----------------------------------------------------------------------------------------------------


def pov_sight(size: tuple[int, int]) -> Sight:
    """`pov`: uint8 [height, width, 3], what the builder sees."""
    return Sight("pov", spaces.Box(0, 255, (*size, 3), np.uint8), partial(_pov, size))


def inventory_sight(conventions: Conventions = OWN) -> Sight:
    """`inventory`: float32 [6], blocks left by colour (a negative stock shows as 0)."""
    space = spaces.Box(0, BLOCKS_PER_COLOR, (6,), np.float32)
    return Sight("inventory", space, partial(_inventory, np.array(conventions.slots)))


def compass_sight(conventions: Conventions = OWN) -> Sight:
    """`compass`: float32 [1] in degrees, 0 = facing north, 90 = east (2022: half a turn off)."""
    read = _compass_half_turned if conventions.half_turn else _compass
    return Sight("compass", spaces.Box(-180, 180, (1,), np.float32), read)


def angle_sight() -> Sight:
    """`compass` as `Dict(angle)`: float32 [] in degrees."""
    return Sight("compass", spaces.Dict({"angle": spaces.Box(-180, 180, (), np.float32)}), _angle)


def agent_pos_sight(conventions: Conventions = OWN) -> Sight:
    """`agentPos`: float32 [5], eye x, y, z in cells; pitch, yaw in degrees (2021: feet above the floor, pitch down)."""
    lift = np.array([0, conventions.lift, 0, 0, 0], np.float32)
    own = not (conventions.lift or conventions.minerl_camera)  # read faster
    read = _agent_pos if own else partial(_agent_pos_told, conventions)
    return Sight("agentPos", spaces.Box(POSE_LOW + lift, POSE_HIGH + lift, dtype=np.float32), read)


def grid_sight(key: str, conventions: Conventions = OWN, margin: int = 0) -> Sight:
    """`grid` or `target_grid`: int32 [9, 11, 11] of colour ids; the space allows `margin` more at either end."""
    field, ids = "target" if key == "target_grid" else "grid", np.array(conventions.shown, np.int32)
    space = spaces.Box(ids.min() - margin, ids.max() + margin, ZONE_SHAPE, np.int32)
    plain = conventions.shown == OWN.shown  # read faster
    return Sight(key, space, partial(_grid, field, None if plain else ids))


def aim_sight() -> Sight:
    """`aim`: float32 [8], where the hands would act: 1, the cell hit, the cell to place in, the distance in cells.

    All zeros where nothing is in reach. Cells are x, y, z of the map. From inside a block both are that block's own.
    """
    return Sight("aim", spaces.Box(AIM_LOW, AIM_HIGH, dtype=np.float32), partial(_seen, "aim", {"aim": True}))


def egocentric_sight(key: str, radius: int, conventions: Conventions = OWN) -> Sight:
    """`egocentric` or `target_egocentric`: int32 [side, side, side] of colour ids around the cell of the eye.

    side is 2 * radius + 1; the axes are up, right and back from the builder, by the nearest quarter turn of its yaw:
    facing north, those of `grid`. Cells outside the zone have the id after the last colour's. The target lies as the
    score aligns it with the build at the moment.
    """
    shape = (2 * radius + 1,) * 3
    space = spaces.Box(min(conventions.shown), conventions.outside, shape, np.int32)
    return Sight(key, space, partial(_seen, key, {key: True, "radius": radius, "conventions": conventions}))


def dialog_sight(chat: Chat, key: str = "dialog") -> Sight:
    """`dialog`: the conversation as text or tokens."""
    return Sight(key, chat.observation_space(), _dialog_as_written if chat.verbatim else _dialog)


def goal_sight(chat: Chat) -> Sight:
    """`goal`: what the game is about in words, as text or tokens; empty when it is about the target."""
    return Sight("goal", chat.observation_space(), _goal)


def goal_program_sight() -> Sight:
    """`goal_program`: the same as a compact program text."""
    return Sight("goal_program", ChatText(PROGRAM_LENGTH), _goal_program)


def view_sight(key: str, size: tuple[int, int], draw: Callable[..., Array]) -> Sight:
    """`grid_view` or `target_view`: uint8 [height, width, 3], an orbit view; `draw(grid, size=…)` makes it."""
    field = "target" if key == "target_view" else "grid"
    return Sight(key, spaces.Box(0, 255, (*size, 3), np.uint8), partial(_view, field, size, draw))


# --- tables ----------------------------------------------------------------------------------------------------


def architect_observer(config: GameConfig, chat: Chat, draw_view: Callable[..., Array]) -> Observer:
    """What the architect sees, as the configuration says."""
    makers: dict[str, Callable[[], Sight]] = {
        "target_grid": lambda: grid_sight("target_grid"),
        "grid": lambda: grid_sight("grid"),
        "dialog": lambda: dialog_sight(chat),
        "pose": agent_pos_sight,
        "target_view": lambda: view_sight("target_view", config.pov_size, draw_view),
        "grid_view": lambda: view_sight("grid_view", config.pov_size, draw_view),
        "goal": lambda: goal_sight(chat),
        "goal_program": goal_program_sight,
    }
    return Observer(makers[name]() for name in config.architect_sees)


def builder_observer(config: GameConfig, chat: Chat) -> Observer:
    """What the builder of the two-agent game sees. Nothing here may read the target."""
    makers: dict[str, Callable[[], Sight]] = {
        "pov": lambda: pov_sight(config.pov_size),
        "inventory": inventory_sight,
        "compass": compass_sight,
        "dialog": lambda: dialog_sight(chat),
        "pose": agent_pos_sight,
        "grid": lambda: grid_sight("grid"),
    }
    plain = [makers[name]() for name in config.builder_sees if name in makers]
    return Observer([*plain, *_computed_sights(config, OWN)])


def _computed_sights(config: GameConfig, conventions: Conventions) -> list[Sight]:
    """Of `builder_sees`, what follows from pose and grid. Lone builders are shown these as well."""
    makers: dict[str, Callable[[], Sight]] = {
        "aim": aim_sight,
        "egocentric": lambda: egocentric_sight("egocentric", config.egocentric_radius, conventions),
    }
    return [make() for name, make in makers.items() if name in config.builder_sees]


def gridworld_observer(
    config: GameConfig,
    chat: Chat,
    conventions: Conventions,
    *,
    render: bool,
    vector_state: bool,
    target_in_obs: bool,
    target_egocentric: bool = False,
) -> Observer:
    """The ids `IGLUGridworld-v0` and `IGLUGridworldVector-v0` (IGLU 2022)."""
    sights = [inventory_sight(conventions), compass_sight(conventions), dialog_sight(chat)]
    if render:
        sights.append(pov_sight(config.pov_size))
    if vector_state:
        sights += [agent_pos_sight(conventions), grid_sight("grid", conventions, margin=1)]
    if target_in_obs:
        sights.append(grid_sight("target_grid", conventions, margin=1))
    if target_egocentric:
        sights.append(egocentric_sight("target_egocentric", config.egocentric_radius, conventions))
    return Observer([*sights, *_computed_sights(config, conventions)])


def silent_builder_observer(
    config: GameConfig, chat: Chat, conventions: Conventions, *, visual: bool
) -> Observer:
    """The ids `IGLUSilentBuilder-v0` and, with `visual`, `IGLUSilentBuilderVisual-v0` (IGLU 2021)."""
    sights = [
        pov_sight(config.pov_size),
        inventory_sight(conventions),
        angle_sight(),
        dialog_sight(chat, "chat"),
    ]
    if not visual:
        sights += [agent_pos_sight(conventions), grid_sight("grid", conventions)]
    return Observer([*sights, *_computed_sights(config, conventions)])


def target_info(conventions: Conventions) -> Callable[[Episode], Array]:
    """What reads `info["target_grid"]` of single-agent environments: a copy, in the representation of `grid`."""
    return cast(Callable[[Episode], Array], grid_sight("target_grid", conventions).read)
