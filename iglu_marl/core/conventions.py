"""What older tools tell otherwise than this project: colours, air, the compass, the camera, heights, and texts.

Inside, everything is this project's. A `Conventions` says how it is told at the edge of an environment: by the
actions it takes, the observations it gives, and the tasks it plays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from iglu_marl.core.grid import IGLU2022_ID_OF_IGLU, IGLU_ID_OF_IGLU2022


@dataclass(frozen=True)
class Conventions:
    """How an environment tells colours and directions.

    ids: the table of colour ids ("iglu" or "iglu2022") in actions, in the inventory's order, in grids, and in tasks
        that do not say otherwise.
    air: the id of air in observed grids; the colours follow it.
    half_turn: whether the compass is the yaw less 180 degrees.
    up_looks_down: whether the walking actions 14 and 15 have changed places.
    minerl_camera: whether camera changes are (pitch, yaw), and pitch counts downwards there and in agentPos.
    lift: what the height in agentPos has more than that of the eye, in cells.
    verbatim: whether a recorded conversation is shown as it was written, rather than in this project's form.
    """

    ids: str = "iglu"
    air: int = 0
    half_turn: bool = False
    up_looks_down: bool = False
    minerl_camera: bool = False
    lift: float = 0.0
    verbatim: bool = False

    @cached_property
    def meant(self) -> tuple[int, ...]:
        """The colour that each id 0..6 of an action means."""
        return tuple(range(7)) if self.ids == "iglu" else tuple(IGLU_ID_OF_IGLU2022.tolist())

    @cached_property
    def shown(self) -> tuple[int, ...]:
        """How the id of each colour 0..6 is shown in grids."""
        table = range(7) if self.ids == "iglu" else IGLU2022_ID_OF_IGLU.tolist()
        return tuple(number + self.air for number in table)

    @property
    def outside(self) -> int:
        """How a cell outside the zone is shown: the id after the last colour's."""
        return max(self.shown) + 1

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """Which place of this project's inventory each of the six shown ones is."""
        return tuple(color - 1 for color in self.meant[1:])


FEET_ABOVE_FLOOR = 0.25
"""A standing builder's eye is 1.25 above its feet, and the floor lies at y = -1.5: feet on the floor are at 0."""

OWN = Conventions()
IGLU2022 = Conventions(ids="iglu2022", half_turn=True, up_looks_down=True, verbatim=True)
SILENT_BUILDER_2021 = Conventions(air=-1)
IGLU2021 = Conventions(air=-1, minerl_camera=True, lift=FEET_ABOVE_FLOOR, verbatim=True)
