"""The compiled drawing of builders as figures in the pictures of others, whatever drew these pictures.

A figure is four boxes and two eyes. Its faces that are turned to the camera are filled from the feet up, with corners
in whole pixels, on a layer of their own. The layer is copied to the picture where no block in front of the figure
covers it. Farther figures come first. The kernel is serial and releases the GIL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import CELLS
from iglu_marl.rendering import palette
from iglu_marl.rendering.kernels import LANES, camera, draw_block, frustum

# From the feet up: height of the centre above the eye, half width, half height, half depth, in cells; and colour.
_BOXES = (
    (-0.93, (0.19, 0.32, 0.13), (58, 74, 122)),
    (-0.43, (0.25, 0.19, 0.15), (0, 170, 160)),
    (-0.01, (0.23, 0.23, 0.23), (242, 201, 160)),
    (0.20, (0.25, 0.08, 0.25), (94, 62, 40)),
)
_EYES = ((-0.15, -0.05), (0.05, 0.15))  # from left to right, in cells
_EYE_COLOR = (40, 48, 70)
_BELOW, _ABOVE = np.array((0.27, 1.25, 0.27)), np.array((0.27, 0.3, 0.27))  # the figure's extent from its eye
_LEAST_DEPTH = 0.1  # cells: less than this may be left of a figure that is turned


def _shape():
    """Return the corners and faces of a figure.

    Corners: float64[40, 3], cells right of, above and before the eye. Faces in drawing order, the last two are eyes:
    their corners int64[26, 4], the axis int64[26] (0 right, 1 up, 2 forward) and side float64[26] (±1) of the front,
    the colour float64[26, 3].
    """
    corners: list[tuple[float, float, float]] = []
    faces: list[tuple[Sequence[int], int, int, tuple[int, int, int]]] = []
    for lift, half, color in _BOXES:
        first = len(corners)
        corners += [
            (x * half[0], lift + y * half[1], z * half[2]) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)
        ]
        for axis in range(3):
            at, across, along = (
                4 >> (axis + k) % 3 for k in range(3)
            )  # what these axes add to a corner's number
            for side in (0, 1):
                start = first + side * at
                faces.append(
                    (
                        (start, start + across, start + across + along, start + along),
                        axis,
                        2 * side - 1,
                        color,
                    )
                )
    for left, right in _EYES:
        first = len(corners)
        corners += [(left, -0.06, 0.235), (right, -0.06, 0.235), (right, 0.05, 0.235), (left, 0.05, 0.235)]
        faces.append((range(first, first + 4), 2, 1, _EYE_COLOR))
    numbers, axes, sides, colors = zip(*faces, strict=True)
    return (
        np.array(corners),
        np.array(numbers),
        np.array(axes),
        np.array(sides, float),
        np.array(colors, float),
    )


_CORNERS, _FACES, _AXES, _SIDES, _COLORS = _shape()
_COVERING = np.ones(palette.FIRST_BLOCK + palette.ENTRIES_PER_COLOR, np.uint32)
_NOWHERE = np.float32(1e30)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_DRAWN = 1 << 24  # set in pixels of the figure


@jit
def _rounded(x):
    """Return the nearest integer; halves are rounded away from 0."""
    return np.float32(math.floor(abs(x) + _HALF)) * (_ONE if x >= 0.0 else -_ONE)


@jit
def _edge(x0, y0, x1, y1):
    """Return an edge: its first and last row, a point of it, and columns per row; without rows if it is level."""
    if y0 == y1:
        return 1, 0, y0, np.float32(x0), np.float32(0.0)
    return min(y0, y1), max(y0, y1), y0, np.float32(x0), np.float32(x1 - x0) / np.float32(y1 - y0)


@jit
def _span(edges, row):
    """Return where edges meet a row: the leftmost and the rightmost column."""
    left, right = _NOWHERE, -_NOWHERE
    for first, last, y, start, slope in edges:
        x = np.float32(row - y) * slope + start
        met = first <= row <= last
        left = x if met and x < left else left
        right = x if met and x > right else right
    return left, right


@jit
def _corner_span(edges, row, inner):
    """Return the span of an outer row; that of a single corner is lengthened until it touches the next row's."""
    left, right = _span(edges, row)
    next_left, next_right = _span(edges, inner)
    if left == right and left > next_right + _ONE:
        left = _rounded(next_right) + _ONE
    elif left == right and right < next_left - _ONE:
        right = _rounded(next_left) - _ONE
    return left, right


@jit
def _fill(layer, ramp, height, width, x, y, color):
    """Fill a convex polygon with the corners (x[k], y[k]), edges included."""
    top, bottom = min(y[0], y[1], y[2], y[3]), max(y[0], y[1], y[2], y[3])
    leftmost, rightmost = min(x[0], x[1], x[2], x[3]), max(x[0], x[1], x[2], x[3])
    stride = ramp.size
    first, last = max(leftmost, 0) // LANES * LANES, (min(rightmost, width - 1) // LANES + 1) * LANES
    across = ramp[first:last]
    edges = (
        _edge(x[0], y[0], x[1], y[1]),
        _edge(x[1], y[1], x[2], y[2]),
        _edge(x[2], y[2], x[3], y[3]),
        _edge(x[3], y[3], x[0], y[0]),
    )
    level = max(abs(edges[0][4]), abs(edges[1][4]), abs(edges[2][4]), abs(edges[3][4])) > _ONE
    for row in range(max(top, 0), min(bottom, height - 1) + 1):
        left, right = _span(edges, row)
        if top == bottom:
            left, right = np.float32(leftmost), np.float32(rightmost)
        elif level and not top < row < bottom:
            left, right = _corner_span(edges, row, row + 1 if row == top else row - 1)
        # pixels whose middle is nearer than half a pixel; halves are rounded towards 0
        start, end = left - _HALF, right + _HALF if right != -_HALF else _HALF
        pixels = layer[row * stride + first : row * stride + last]
        for j in range(across.size):
            pixels[j] = color if (across[j] > start) & (across[j] < end) else pixels[j]


@jit
def _packed(face, light):
    color = np.uint32(_DRAWN)
    for channel in range(3):
        color |= np.uint32(np.rint(light * _COLORS[face, channel])) << np.uint32(8 * channel)
    return color


@jit
def _draw_body(layer, ramp, height, width, figure, pose, axes, scale, scratch, box):
    """Draw a figure as if there were no blocks, and write the box that it covers: rows and columns."""
    columns, rows, x, y, body, turned = scratch
    yaw = math.radians(figure[3])
    sin_yaw, cos_yaw = math.sin(yaw), math.cos(yaw)
    body[0, 0], body[0, 1], body[0, 2] = cos_yaw, 0.0, sin_yaw
    body[1, 0], body[1, 1], body[1, 2] = 0.0, 1.0, 0.0
    body[2, 0], body[2, 1], body[2, 2] = sin_yaw, 0.0, -cos_yaw
    dx, dy, dz = figure[0] - pose[0], figure[1] - pose[1], figure[2] - pose[2]
    for a in range(3):
        # the camera's axes and the way from the camera to the eye, along the axes of the body
        for b in range(3):
            turned[a, b] = axes[a, 0] * body[b, 0] + axes[a, 1] * body[b, 1] + axes[a, 2] * body[b, 2]
        turned[3, a] = body[a, 0] * dx + body[a, 1] * dy + body[a, 2] * dz
    for k in range(columns.size):
        a, b, c = turned[3, 0] + _CORNERS[k, 0], turned[3, 1] + _CORNERS[k, 1], turned[3, 2] + _CORNERS[k, 2]
        per_cell = scale / (turned[2, 0] * a + turned[2, 1] * b + turned[2, 2] * c)
        columns[k] = int(0.5 * width + per_cell * (turned[0, 0] * a + turned[0, 1] * b + turned[0, 2] * c))
        rows[k] = int(0.5 * height - per_cell * (turned[1, 0] * a + turned[1, 1] * b + turned[1, 2] * c))
    top, bottom, left, right = rows[0], rows[0], columns[0], columns[0]
    for k in range(columns.size):
        top, bottom = min(top, rows[k]), max(bottom, rows[k])
        left, right = min(left, columns[k]), max(right, columns[k])
    box[0], box[1] = max(top, 0), min(bottom + 1, height)
    box[2], box[3] = max(left, 0), min(right + 1, width)
    if box[0] >= box[1] or box[2] >= box[3]:
        return False
    for face in range(_AXES.size):
        axis, corners = _AXES[face], _FACES[face]
        if _SIDES[face] * (turned[3, axis] + _CORNERS[corners[0], axis]) >= 0.0:
            continue  # its back is turned to the camera
        for k in range(4):
            x[k], y[k] = columns[corners[k]], rows[corners[k]]
        shaded = axis != 1 and face < _AXES.size - 2
        light = 0.9 - 0.25 * abs(body[axis, 0]) if shaded else 1.0
        _fill(layer, ramp, height, width, x, y, _packed(face, light))
    return True


@jit
def _find_blocks_in_front(grid, figure, pose, front, found):
    """Fill front[9, 11, 11] with the blocks that may cover a figure: those that no plane puts behind it.

    Write their indices to found[1089], and return how many there are.
    """
    cells, covering, count = grid.reshape(CELLS), front.reshape(CELLS), 0
    covering[:] = 0
    words = cells[: CELLS // 8 * 8].view(np.uint64)
    for word in range(CELLS // 8 + 1):
        if word < CELLS // 8 and words[word] == 0:
            continue
        for index in range(word * 8, min(word * 8 + 8, CELLS)):
            if cells[index] == 0:
                continue
            center = (index // 11 % 11 + MIN_X, index // 121 + MIN_Y, index % 11 + MIN_Z)
            behind = False
            for a in range(3):
                behind |= center[a] - 0.5 >= figure[a] + _ABOVE[a] and pose[a] < center[a] - 0.5
                behind |= center[a] + 0.5 <= figure[a] - _BELOW[a] and pose[a] > center[a] + 0.5
            if not behind:
                covering[index] = 1
                found[count] = index
                count += 1
    return count


@jit
def _remove_covered(layer, cover, ramp, height, width, blocks, pose, lens, tans, axes, rays, planes, box):
    """Remove the pixels of a figure that blocks (a grid and their indices in it) cover."""
    stride, (front, indices) = ramp.size, blocks
    clip = (1.0 / lens[2], 1.0 / lens[1])
    reach = 0.5 + lens[1] * math.sqrt(1.0 + tans[0] ** 2 + tans[1] ** 2)
    window = (box[0], box[1], box[2] // LANES * LANES, (box[3] + LANES - 1) // LANES * LANES)
    across, up = 2.0 * tans[0] / width, 2.0 * tans[1] / height  # of a pixel
    left, right = (box[2] - 1) * across - tans[0], (box[3] + 1) * across - tans[0]
    below, above = tans[1] - (box[1] + 1) * up, tans[1] - (box[0] - 1) * up
    frustum(axes, left, right, below, above, planes)
    for index in indices:
        cell = (index // 121, index // 11 % 11, index % 11)
        x, y, z = cell[1] + MIN_X - pose[0], cell[0] + MIN_Y - pose[1], cell[2] + MIN_Z - pose[2]
        seen = True
        for k in range(5):
            seen &= planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z + planes[k, 3] >= 0.0
        if seen:
            draw_block(
                cover,
                ramp,
                height,
                width,
                window,
                tans,
                clip,
                axes,
                rays,
                front,
                cell,
                pose,
                reach,
                _COVERING,
            )
    for row in range(window[0], window[1]):
        for i in range(row * stride + window[2], row * stride + window[3]):
            layer[i] = layer[i] if cover[i] == 0 else np.uint32(0)
            cover[i] = 0


@jit
def _copy_figure(layer, stride, width, out, box):
    """Copy the figure's pixels to a picture, and clear the layer."""
    count = box[3] - box[2]
    for row in range(box[0], box[1]):
        pixels = layer[row * stride + box[2] : row * stride + box[3]]
        at = row * width + box[2]
        target = out[3 * at : 3 * (at + count)]
        for j in range(count):
            color = pixels[j]
            drawn = color != 0
            target[3 * j] = np.uint8(color & np.uint32(255)) if drawn else target[3 * j]
            target[3 * j + 1] = (
                np.uint8((color >> np.uint32(8)) & np.uint32(255)) if drawn else target[3 * j + 1]
            )
            target[3 * j + 2] = (
                np.uint8((color >> np.uint32(16)) & np.uint32(255)) if drawn else target[3 * j + 2]
            )
        pixels[:] = 0


@jit
def _figure_planes(axes, tans, height, width, planes):
    """Fill planes[5, 4] as `frustum`, with a margin of two pixels and the radius of a figure."""
    wider = 1.0 + 4.0 / min(height, width)  # corners are rounded to whole pixels
    tan_x, tan_y = tans[0] * wider, tans[1] * wider
    frustum(axes, -tan_x, tan_x, -tan_y, tan_y, planes)
    for k in range(5):
        radius = 0.0
        for a in range(3):
            radius += 0.5 * (_BELOW[a] + _ABOVE[a]) * abs(planes[k, a])
        planes[k, 3] = radius


@jit
def _in_view(figure, pose, planes, lens):
    """Return whether a figure is wholly between the near and the far plane, and may be in the picture."""
    x = figure[0] - pose[0] + 0.5 * (_ABOVE[0] - _BELOW[0])
    y = figure[1] - pose[1] + 0.5 * (_ABOVE[1] - _BELOW[1])
    z = figure[2] - pose[2] + 0.5 * (_ABOVE[2] - _BELOW[2])
    nearest = planes[4, 0] * x + planes[4, 1] * y + planes[4, 2] * z - planes[4, 3]
    seen = max(lens[1], _LEAST_DEPTH) < nearest < lens[2]
    for k in range(4):
        seen &= planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z + planes[k, 3] >= 0.0
    return seen


@jit
def paint_figures(grids, eyes, chosen, team, lens, height, width, out, first, last):
    """Draw the other builders of its team into each of the pictures i = chosen[first..last-1].

    eyes float64[n, 5]: x, y, z (cells), yaw, pitch (degrees), members of a team one after the other; grids
    int8[n, 9, 11, 11]: the blocks that may cover figures; lens float64[5] and out uint8[n, bytes of a picture]
    as in `paint`. A figure that is not wholly between the near and the far plane is left out.
    """
    stride = (width + LANES - 1) // LANES * LANES
    ramp = np.arange(stride).astype(np.float32)
    layer, cover = np.zeros(height * stride, np.uint32), np.zeros(height * stride, np.uint32)
    axes, rays, planes, sides = np.empty((3, 3)), np.empty((3, 3)), np.empty((5, 4)), np.empty((5, 4))
    front, found = np.empty_like(grids[0]), np.empty(CELLS, np.int64)
    box, distances = np.empty(4, np.int64), np.empty(team)
    columns, rows = np.empty(len(_CORNERS), np.int64), np.empty(len(_CORNERS), np.int64)
    x, y = np.empty(4, np.int64), np.empty(4, np.int64)
    scratch = columns, rows, x, y, np.empty((3, 3)), np.empty((4, 3))
    tans = (lens[0] * width / height, lens[0])
    scale = 0.5 * height / lens[0]
    for number in range(first, last):
        frame = chosen[number]
        pose, begin, left = eyes[frame], frame - frame % team, 0
        camera(pose, lens, height, width, axes, rays)
        _figure_planes(axes, tans, height, width, sides)
        for k in range(team):
            figure = eyes[begin + k]
            distances[k] = -1.0
            if begin + k != frame and _in_view(figure, pose, sides, lens):
                dx, dy, dz = figure[0] - pose[0], figure[1] - pose[1], figure[2] - pose[2]
                distances[k] = dx * dx + dy * dy + dz * dz
                left += 1
        for _ in range(left):
            farthest = 0
            for k in range(1, team):
                farthest = k if distances[k] > distances[farthest] else farthest
            distances[farthest] = -1.0
            figure = eyes[begin + farthest]
            if not _draw_body(layer, ramp, height, width, figure, pose, axes, scale, scratch, box):
                continue
            count = _find_blocks_in_front(grids[frame], figure, pose, front, found)
            if count > 0:
                blocks = (front, found[:count])
                _remove_covered(
                    layer, cover, ramp, height, width, blocks, pose, lens, tans, axes, rays, planes, box
                )
            _copy_figure(layer, stride, width, out[frame], box)
