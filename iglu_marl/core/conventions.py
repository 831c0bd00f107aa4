"""Conventions of older tools: ids of colours and air, the compass, the camera, heights, and texts.

The package uses its own conventions inside. An environment translates actions, observations and tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from iglu_marl.core.grid import IGLU2022_ID_OF_IGLU, IGLU_ID_OF_IGLU2022


@dataclass(frozen=True)
class Conventions:
    """How an environment numbers colours and measures directions.

    ids: the table of colour ids, "iglu" or "iglu2022": in actions, the inventory, grids, and tasks without `ids`.
    air: the id of air in observed grids; the colours follow it.
    half_turn: whether the compass is the yaw minus 180 degrees.
    up_looks_down: whether the walking actions 14 and 15 are swapped.
    minerl_camera: whether camera changes are (pitch, yaw), with pitch down positive, also in agentPos.
    eye_offset: height in agentPos minus height of the eye, in cells.
    verbatim: whether a recorded conversation is shown as it was written.
    """

    ids: str = "iglu"
    air: int = 0
    half_turn: bool = False
    up_looks_down: bool = False
    minerl_camera: bool = False
    eye_offset: float = 0.0
    verbatim: bool = False

    @cached_property
    def color_of_action_id(self) -> tuple[int, ...]:
        """Colour by action id 0..6."""
        return tuple(range(7)) if self.ids == "iglu" else tuple(IGLU_ID_OF_IGLU2022.tolist())

    @cached_property
    def obs_id_of_color(self) -> tuple[int, ...]:
        """Id in observed grids by colour 0..6."""
        table = range(7) if self.ids == "iglu" else IGLU2022_ID_OF_IGLU.tolist()
        return tuple(number + self.air for number in table)

    @property
    def outside(self) -> int:
        """Id of cells outside the zone: the one after the last colour's."""
        return max(self.obs_id_of_color) + 1

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """Index in this project's inventory of each of the six observed entries."""
        return tuple(color - 1 for color in self.color_of_action_id[1:])


FEET_ABOVE_FLOOR = 0.25
"""A standing builder's eye is 1.25 above its feet, and the floor lies at y = -1.5: feet on the floor are at 0."""

OWN = Conventions()
IGLU2022 = Conventions(ids="iglu2022", half_turn=True, up_looks_down=True, verbatim=True)
SILENT_BUILDER_2021 = Conventions(air=-1)
IGLU2021 = Conventions(air=-1, minerl_camera=True, eye_offset=FEET_ABOVE_FLOOR, verbatim=True)
