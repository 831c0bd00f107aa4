"""Constants under the names of the IGLU tools.

The ids are those of the IGLU documentation. The 2022 tools number the same colours differently; their
table is here too, and `iglu_marl.to_iglu2022_ids` / `from_iglu2022_ids` translate grids.
"""

from __future__ import annotations

from iglu_marl.core.grid import (
    BLOCKS_PER_COLOR,
    COLOR_NAMES,
    IGLU_ID_OF_IGLU2022,
    MAX_CORNER,
    MIN_CORNER,
    ZONE_SHAPE,
    Color,
)
from iglu_marl.core.kernels.records import EYE_HEIGHT, PLACED, REMOVED, STEP_S, WALK_SPEED

id2color: dict[int, str] = dict(enumerate(COLOR_NAMES))
"""Colour names by id: {0: 'air', 1: 'blue', 2: 'yellow', 3: 'green', 4: 'orange', 5: 'purple', 6: 'red'}."""

color2id: dict[str, int] = {name: number for number, name in id2color.items()}
"""Ids by colour name."""

id2color_iglu2022: dict[int, str] = {
    number: COLOR_NAMES[color] for number, color in enumerate(IGLU_ID_OF_IGLU2022.tolist())
}
"""Colour names by the ids of the 2022 tools: blue, green, red, orange, purple, yellow."""

BUILD_ZONE_SIZE = (11, 9, 11)
"""Cells of the build zone along x, y and z."""

__all__ = [
    "BLOCKS_PER_COLOR",
    "BUILD_ZONE_SIZE",
    "EYE_HEIGHT",
    "MAX_CORNER",
    "MIN_CORNER",
    "PLACED",
    "REMOVED",
    "STEP_S",
    "WALK_SPEED",
    "ZONE_SHAPE",
    "Color",
    "color2id",
    "id2color",
    "id2color_iglu2022",
]
