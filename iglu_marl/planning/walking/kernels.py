"""Compiled aims of a walker, and the compiled part of `camera_search.py`.

Flat grids are int8 [1089] by y, x, z, and cells are indices of them. An aim is a number of camera steps from a gaze.
Costs are in actions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z, ZONE_SHAPE
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.body import in_the_way
from iglu_marl.core.kernels.cells import CELLS, flat_index, in_zone, solid
from iglu_marl.core.kernels.ray import cast, cells_along, gaze
from iglu_marl.core.kernels.records import DEGREES
from iglu_marl.planning.kernels import CAMERA_DEG, REACH

YAWS = 72  # camera steps around
ROWS = 18  # camera steps from level to straight up
FAR = 10**6
RADIUS = math.sqrt(3.0) / 2.0  # of the sphere around a cell


OUTSIDE, GROUND, END = -1, -2, -3  # markers in rays: outside the zone, the ground, end of the list

# Heuristic in actions: per camera step between cells, hidden cell, and scaffold.
TURN_PRICE, HIDDEN_PRICE, SCAFFOLD_PRICE = 0.7, 15.0, 3.0


@jit
def window(eye, yaw, cell, places):
    """Return in degrees the turn to a cell, its pitch, and the tolerances of both within which a ray can hit it.

    The tolerances are negative if no ray can: the cell is out of reach, or the builder stands in a cell to be filled.
    """
    dx, dy, dz = cell[0] - eye[0], cell[1] - eye[1], cell[2] - eye[2]
    level = math.sqrt(dx * dx + dz * dz)
    apart = math.sqrt(level * level + dy * dy)
    if apart > REACH + RADIUS or (places and in_the_way(eye[0], eye[1], eye[2], cell[0], cell[1], cell[2])):
        return 0.0, 0.0, -1.0, -1.0
    around = math.atan2(dz, dx) * DEGREES + 90.0 - yaw
    up = math.atan2(dy, level) * DEGREES
    yaw_slack = math.asin(RADIUS / level) * DEGREES if level > RADIUS else 180.0
    pitch_slack = math.asin(RADIUS / apart) * DEGREES if apart > RADIUS else 180.0
    return around, up, yaw_slack, pitch_slack


@jit
def best_aim(grid, eye, yaw, pitch, lowest, cell, places):
    """Return the fewest camera steps (sum, yaw, pitch) to an aim that places a block in the cell, or breaks it.

    eye: (x, y, z). lowest: lowest pitch in degrees. All are `FAR` if there is no aim.
    """
    best, best_yaw, best_pitch = FAR, FAR, FAR
    around, up, yaw_slack, pitch_slack = window(eye, yaw, cell, places)
    if pitch_slack < 0.0:
        return best, best_yaw, best_pitch
    hit, before = np.empty(3, np.int8), np.empty(3, np.int8)
    for j in range(-2 * ROWS, 2 * ROWS + 1):
        tilt = pitch + CAMERA_DEG * j
        if abs(tilt) > 90.0 or tilt < lowest or abs(tilt - up) > pitch_slack:
            continue
        for i in range(-YAWS // 2, YAWS // 2):
            off = CAMERA_DEG * i - around
            if abs(i) + abs(j) >= best or abs(off - 360.0 * np.rint(off / 360.0)) > yaw_slack:
                continue
            if cast(grid, eye, gaze(yaw + CAMERA_DEG * i, tilt), hit, before):
                met = before if places else hit
                if met[0] == cell[0] and met[1] == cell[1] and met[2] == cell[2]:
                    best, best_yaw, best_pitch = abs(i) + abs(j), i, j
    return best, best_yaw, best_pitch


# --- the search from one place

NODE = np.dtype(
    [
        ("grid", np.int8, CELLS),
        ("held", np.int16, 6),
        ("aim", np.int64),
        ("active", np.int64),  # colour
        ("spent", np.float64),
        ("left", np.int64),  # remaining required changes
        ("mark", np.int64),  # hash of the grid
        # By cell: price of an act there now, its aim, and whether a block can be placed there later.
        ("price", np.float64, CELLS),
        ("by", np.int64, CELLS),
        ("seen", np.int8, CELLS),
    ],
    align=True,
)
CHILD = np.dtype(
    [
        ("node", np.int64),
        ("cell", np.int64),
        ("color", np.int64),  # 0: break
        ("aim", np.int64),
        ("value", np.float64),
        ("mark", np.int64),
    ],
    align=True,
)


class Assignment(NamedTuple):
    """The desired colour of each cell, allowed places of scaffolds, and cells that must not change."""

    wanted: npt.NDArray[np.int8]
    scaffolds: npt.NDArray[np.bool_]
    fixed: npt.NDArray[np.bool_]


class RayTable(NamedTuple):
    """Rays from one eye."""

    rays: npt.NDArray[np.int16]  # int16 [aims, samples + 1], the cells along each aim
    blocked: npt.NDArray[np.bool_]  # bool [cells], whether the body is in the way
    yaws: npt.NDArray[np.int64]  # int [cells], camera steps to the centres
    pitches: npt.NDArray[np.int64]  # the same
    rows: int  # an aim is yaw steps * rows + pitch steps


@jit
def fill_ray_table(eye, yaw, pitch, table):
    """Fill the table of an eye (x, y, z); aim 0 has the given yaw and (lowest) pitch in degrees."""
    empty = np.zeros(ZONE_SHAPE, np.int8)
    for aim in range(len(table.rays)):
        ray, count, last = table.rays[aim], 0, END
        way = gaze(yaw + CAMERA_DEG * (aim // table.rows), pitch + CAMERA_DEG * (aim % table.rows))
        for x, y, z in cells_along(eye, way):
            cell = OUTSIDE
            if in_zone(x, y, z):
                cell = flat_index(x, y, z)
            elif solid(empty, x, y, z):
                cell = GROUND
            if cell != last:
                ray[count] = last = cell
                count += 1
            if cell == GROUND:
                break
        ray[count - (last == OUTSIDE)] = END
    for iy in range(ZONE_SHAPE[0]):
        for ix in range(ZONE_SHAPE[1]):
            for iz in range(ZONE_SHAPE[2]):
                x, y, z = ix + MIN_X, iy + MIN_Y, iz + MIN_Z
                cell = flat_index(x, y, z)
                dx, dy, dz = x - eye[0], y - eye[1], z - eye[2]
                around, level = math.atan2(dz, dx) * DEGREES + 90.0, math.sqrt(dx * dx + dz * dz)
                table.yaws[cell] = int(np.rint((around - yaw) / CAMERA_DEG)) % YAWS
                table.pitches[cell] = int(np.rint((math.atan2(dy, level) * DEGREES - pitch) / CAMERA_DEG))
                table.blocked[cell] = in_the_way(eye[0], eye[1], eye[2], x, y, z)


@jit
def camera_steps(yaw, pitch, other_yaw, other_pitch):
    """Return the camera actions from one aim to another."""
    around = abs(yaw - other_yaw) % YAWS
    return min(around, YAWS - around) + abs(pitch - other_pitch)


@jit
def price_acts(node, assignment, table):
    """Fill the fields `left`, `price`, `by` and `seen` of a node."""
    grid, price, by, seen, held = node["grid"], node["price"], node["by"], node["seen"], node["held"]
    wanted, scaffolds, fixed = assignment
    price[:] = FAR
    seen[:] = 0
    left = 0
    for cell in range(CELLS):
        left += grid[cell] != wanted[cell] and not fixed[cell] and not scaffolds[cell]
    node["left"] = left
    active, rows = node["active"], table.rows
    yaw, pitch = node["aim"] // rows, node["aim"] % rows
    for aim in range(len(table.rays)):
        ray, last = table.rays[aim], OUTSIDE
        if ray[0] == END:
            continue
        cost = camera_steps(aim // rows, aim % rows, yaw, pitch) + 1.0
        for number in range(len(ray)):
            cell = ray[number]
            if cell == END:
                break
            if cell == GROUND or (cell >= 0 and grid[cell] != 0):
                if last >= 0:
                    seen[last] = 1
                    color = wanted[last]
                    if color == 0 and scaffolds[last] and left > 0:
                        color = active
                    choice = cost + (color != active)
                    if (
                        color != 0
                        and not table.blocked[last]
                        and held[color - 1] > 0
                        and choice < price[last]
                    ):
                        price[last], by[last] = choice, aim
                if cell >= 0 and grid[cell] != wanted[cell] and not fixed[cell]:
                    if cost < price[cell] and (left == 0 or not scaffolds[cell]):
                        price[cell], by[cell] = cost, aim
                break
            if cell >= 0 and last >= 0 and wanted[cell] != 0:
                seen[last] = 1
            last = cell


@jit
def price_first_acts(nodes, assignment, table):
    """Call `price_acts` for the first node."""
    price_acts(nodes[0], assignment, table)


@jit
def tour(cells, colors, count, node, table):
    """Estimate the camera and select actions for all cells by a minimum spanning tree from the current aim."""
    near, done = np.empty(count), np.zeros(count, np.bool_)
    yaw, pitch = node["aim"] // table.rows, node["aim"] % table.rows
    for i in range(count):
        way = camera_steps(yaw, pitch, table.yaws[cells[i]], table.pitches[cells[i]])
        near[i] = way * TURN_PRICE + (colors[i] != node["active"])
    total = 0.0
    for _ in range(count):
        best = -1
        for i in range(count):
            if not done[i] and (best < 0 or near[i] < near[best]):
                best = i
        done[best] = True
        total += near[best]
        yaw, pitch = table.yaws[cells[best]], table.pitches[cells[best]]
        for i in range(count):
            if not done[i]:
                way = camera_steps(yaw, pitch, table.yaws[cells[i]], table.pitches[cells[i]])
                near[i] = min(near[i], way * TURN_PRICE + (colors[i] != colors[best]))
    return total


@jit
def ahead(node, changed, assignment, table):
    """Estimate the actions until everything is done; hidden cells have a price. `changed` is the cell of this act."""
    grid, seen = node["grid"], node["seen"]
    wanted, scaffolds, fixed = assignment
    cells, colors = np.empty(CELLS, np.int64), np.empty(CELLS, np.int64)
    left, hidden, count, standing = 0, 0, 0, 0
    for cell in range(CELLS):
        if fixed[cell]:
            continue
        if scaffolds[cell]:
            standing += grid[cell] != 0
        elif grid[cell] != wanted[cell]:
            left += 1
            if grid[cell] == 0 and cell != changed and seen[cell] == 0:
                hidden += 1
            else:
                cells[count], colors[count] = cell, wanted[cell]
                count += 1
    for cell in range(CELLS):  # scaffolds: to be placed while changes are left, then to be removed
        if scaffolds[cell] and not fixed[cell] and (grid[cell] != 0) == (left == 0):
            cells[count], colors[count] = cell, node["active"]
            count += 1
    price = HIDDEN_PRICE * hidden + (SCAFFOLD_PRICE * standing if left else 0.0)
    return tour(cells, colors, count, node, table) + count + price


@jit
def children_of(nodes, assignment, table, marks, children):
    """Write the acts after some nodes to `children`, as far as there is room, and return their number."""
    count = 0
    for i in range(len(nodes)):
        node = nodes[i]
        grid, aim, active = node["grid"], node["aim"], node["active"]
        for cell in range(CELLS):
            if node["price"][cell] >= FAR or count == len(children):
                continue
            before, color = grid[cell], 0
            if before == 0:
                color = assignment.wanted[cell] if assignment.wanted[cell] != 0 else active
                node["active"] = color
            grid[cell], node["aim"] = color, node["by"][cell]
            child = children[count]
            child["node"], child["cell"], child["color"], child["aim"] = i, cell, color, node["by"][cell]
            child["value"] = node["spent"] + node["price"][cell] + ahead(node, cell, assignment, table)
            child["mark"] = node["mark"] ^ marks[before, cell] ^ marks[color, cell]
            count += 1
            grid[cell], node["aim"], node["active"] = before, aim, active
    return count


@jit
def grow(nodes, chosen, assignment, table):
    """Apply the chosen act to each node, a copy of its parent."""
    for i in range(len(nodes)):
        node, child = nodes[i], chosen[i]
        cell, color = child["cell"], child["color"]
        before = node["grid"][cell]
        node["spent"] += node["price"][cell]
        node["grid"][cell], node["aim"], node["mark"] = color, child["aim"], child["mark"]
        if color != 0:
            node["held"][color - 1] -= 1
            node["active"] = color
        else:
            node["held"][before - 1] += 1
        price_acts(node, assignment, table)
