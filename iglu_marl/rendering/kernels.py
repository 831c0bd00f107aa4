"""The compiled painter: pictures of worlds from back to front, without a GPU or a window.

One kernel, `paint`, draws a batch of worlds: sky and ground, then cells from far to near, so that nearer faces
overwrite farther ones. It draws only faces that are turned to the eye and not covered by a neighbour. For every pixel
of a face's bounding box, it intersects the pixel's ray with the face's plane. The ray's coordinates there are
u = p / w and v = q / w, with p, q and w linear in row and column:

    |p|, |q| <= w / 2           inside the face
    |p|, |q| <= w (1/2 - 1/16)  inside its fill, else on its border
    1/far <= w <= 1/near        between the clipping planes (w is 1 / depth)

This needs no division and compiles to straight SIMD code. Pixels are uint32 (red in the lowest byte) until they are
packed to RGB at the end. The kernel is serial and releases the GIL.
"""

from __future__ import annotations

import math

import numpy as np

from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z, ZONE_SHAPE
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import CELLS
from iglu_marl.core.kernels.records import GROUND_Y
from iglu_marl.rendering import palette

GROUND_SURFACE = GROUND_Y + 0.5  # y of the ground's upper side, in cells

_COUNT_Y, _COUNT_X, _COUNT_Z = ZONE_SHAPE
WORDS = CELLS // 8
LANES = 16  # rows are padded to whole vectors of this many pixels

# A pixel exactly on an upright edge belongs to the face at its right: samples lie right of the centre.
_TIE = 1e-4  # pixels

_FIRST_BLOCK = palette.FIRST_BLOCK
_PER_COLOR = palette.ENTRIES_PER_COLOR
_HALF = np.float32(0.5)
_BLOCK_FILL = np.float32(0.5 - 1 / 16)  # a block's border is 1/16 of its face wide
_GROUND_FILL = np.float32(0.5 - 1 / 32)  # a ground line is 1/32 cell wide on each side of every cell
_ON_SEAM = 1e-9  # cells
_SUBPIXELS = 256.0  # corners are snapped to this fraction of a pixel
_WHITE_EDGE = np.float32(5.5)
# cell borders lie at k + 0.5; this makes coordinates on the ground positive, so truncation is floor
_POSITIVE = np.float32(32.5)

# Neighbours of the ground's textures in the atlas of IGLU Gridworld: borders of ±x sides.
_RED_SIDE = palette.block_index(6, palette.SHADE_X, palette.BORDER)
_ORANGE_SIDE = palette.block_index(4, palette.SHADE_X, palette.BORDER)
_BLUE_SIDE = palette.block_index(1, palette.SHADE_X, palette.BORDER)


@jit
def camera(pose, lens, height, width, axes, rays):
    """Fill axes[3, 3] = right, up, forward; rays[3, 3] = ray of pixel (0, 0), change per row, per column."""
    yaw, pitch = math.radians(pose[3]), math.radians(pose[4])
    sin_yaw, cos_yaw = math.sin(yaw), math.cos(yaw)
    sin_pitch, cos_pitch = math.sin(pitch), math.cos(pitch)
    axes[0, 0], axes[0, 1], axes[0, 2] = cos_yaw, 0.0, sin_yaw
    axes[1, 0], axes[1, 1], axes[1, 2] = -sin_yaw * sin_pitch, cos_pitch, cos_yaw * sin_pitch
    axes[2, 0], axes[2, 1], axes[2, 2] = sin_yaw * cos_pitch, sin_pitch, -cos_yaw * cos_pitch
    tan_y = lens[0]
    tan_x = tan_y * width / height
    left = (1.0 + 2.0 * _TIE) / width - 1.0
    top = 1.0 - 1.0 / height
    for a in range(3):
        rays[0, a] = axes[2, a] + left * tan_x * axes[0, a] + top * tan_y * axes[1, a]
        rays[1, a] = -2.0 / height * tan_y * axes[1, a]
        rays[2, a] = 2.0 / width * tan_x * axes[0, a]


@jit
def frustum(axes, left, right, low, high, planes):
    """Fill planes[5, 4]: inward normals of the four sides and the front of the view, with a cube's radius.

    left, right, low, high: the sides, in cells right of or above the line of sight at a depth of 1.
    """
    for a in range(3):
        planes[0, a] = axes[0, a] - left * axes[2, a]
        planes[1, a] = right * axes[2, a] - axes[0, a]
        planes[2, a] = axes[1, a] - low * axes[2, a]
        planes[3, a] = high * axes[2, a] - axes[1, a]
        planes[4, a] = axes[2, a]
    for k in range(5):
        planes[k, 3] = 0.5 * (abs(planes[k, 0]) + abs(planes[k, 1]) + abs(planes[k, 2]))


@jit
def _ground_row(row, ramp, x, dx, z, dz, edge, colors):
    sky, white, white_line, grey, grey_line = colors[0], colors[1], colors[2], colors[3], colors[4]
    for j in range(ramp.size):
        at_x = x + dx * ramp[j]
        at_z = z + dz * ramp[j]
        from_border_x = at_x + _POSITIVE
        from_border_z = at_z + _POSITIVE
        in_x = abs(from_border_x - np.float32(np.int32(from_border_x)) - _HALF)
        in_z = abs(from_border_z - np.float32(np.int32(from_border_z)) - _HALF)
        in_cell = in_x if in_x > in_z else in_z
        out_x = abs(at_x)
        out_z = abs(at_z)
        out = out_x if out_x > out_z else out_z
        fill = white if out <= _WHITE_EDGE else grey
        line = white_line if out <= _WHITE_EDGE else grey_line
        color = line if in_cell > _GROUND_FILL else fill
        row[j] = color if out <= edge else sky


@jit
def _depth(point, pose, axes):
    x, y, z = point[0] - pose[0], point[1] - pose[1], point[2] - pose[2]
    return axes[2, 0] * x + axes[2, 1] * y + axes[2, 2] * z


@jit
def _snapped(point, pose, axes, tan_y, height, width):
    """Return column and row of a point in front of the eye, rounded to subpixels."""
    x, y, z = point[0] - pose[0], point[1] - pose[1], point[2] - pose[2]
    scale = 0.5 * height / tan_y / _depth(point, pose, axes)
    column = 0.5 * (width - 1) + scale * (axes[0, 0] * x + axes[0, 2] * z)
    row = 0.5 * (height - 1) - scale * (axes[1, 0] * x + axes[1, 1] * y + axes[1, 2] * z)
    return math.floor(column * _SUBPIXELS + 0.5) / _SUBPIXELS, math.floor(row * _SUBPIXELS + 0.5) / _SUBPIXELS


@jit
def _seams(row, i, height, depth, pose, lens, axes, rays, colors):
    """Colour pixels whose ray meets the ground exactly between two cells, as a GPU with a texture atlas does.

    IGLU Gridworld draws each ground cell as a quad whose corners are snapped to 1/256 pixel. If the snapped seam leaves
    such a pixel to the cell with the lower coordinate, its texture coordinate is exactly 1, where the next texture of
    the atlas begins. It happens on round coordinates, with a view along an axis.
    """
    limit = lens[3] - 0.25
    for axis in range(0, 3, 2):
        other = 2 - axis
        step, other_step = depth * rays[2, axis], depth * rays[2, other]
        start = pose[axis] + depth * (rays[0, axis] + i * rays[1, axis]) - _TIE * step
        other_start = pose[other] + depth * (rays[0, other] + i * rays[1, other]) - _TIE * other_step
        if abs(step) < 1e-9:
            continue  # a whole row on a seam needs an eye that misses every resting height
        end = start + step * (row.size - 1)
        low, high = max(min(start, end), -limit), min(max(start, end), limit)
        for cell in range(math.floor(low), math.floor(high) + 1):
            column = (cell + 0.5 - start) / step
            j = math.floor(column + 0.5)
            if abs(column - j) * abs(step) > _ON_SEAM or not 0 <= j < row.size:
                continue
            across = other_start + j * other_step
            if abs(across) < limit and _lower_cell_wins(
                i, j, axis, cell, across, height, row.size, pose, lens, axes
            ):
                white = max(abs(cell + 0.5), abs(across)) < 5.5
                if axis == 0:
                    row[j] = colors[_RED_SIDE if white else _ORANGE_SIDE]
                else:
                    row[j] = colors[palette.GREY_LINE if white else _BLUE_SIDE]


@jit
def _lower_cell_wins(i, j, axis, cell, across, height, width, pose, lens, axes):
    """Return whether the snapped seam between `cell` and the next one leaves pixel (i, j) to `cell`."""
    low = math.floor(across + 0.5) - 0.5
    seam = cell + 0.5
    first = (seam, GROUND_SURFACE, low) if axis == 0 else (low, GROUND_SURFACE, seam)
    last = (seam, GROUND_SURFACE, low + 1.0) if axis == 0 else (low + 1.0, GROUND_SURFACE, seam)
    if min(_depth(first, pose, axes), _depth(last, pose, axes)) < lens[1]:
        return False
    a = _snapped(first, pose, axes, lens[0], height, width)
    b = _snapped(last, pose, axes, lens[0], height, width)
    turn = (b[0] - a[0]) * (i - a[1]) - (b[1] - a[1]) * (j - a[0])
    return turn > 1e-7 if axis == 0 else turn < -1e-7


@jit
def _background(pixels, ramp, height, width, pose, lens, axes, rays, colors):
    """Draw sky and ground. The camera never rolls, so all pixels of a row see the ground at one depth."""
    stride = ramp.size
    drop = GROUND_SURFACE - pose[1]
    edge = np.float32(lens[3])
    seams = lens[4] != 0.0 and min(abs(axes[0, 0]), abs(axes[0, 2])) < 1e-12  # the view is along an axis
    for i in range(height):
        row = pixels[i * stride : (i + 1) * stride]
        down = rays[0, 1] + i * rays[1, 1]
        depth = drop / down if drop < 0.0 and down < 0.0 else -1.0
        if lens[1] <= depth <= lens[2]:
            x = np.float32(pose[0] + depth * (rays[0, 0] + i * rays[1, 0]))
            z = np.float32(pose[2] + depth * (rays[0, 2] + i * rays[1, 2]))
            dx, dz = np.float32(depth * rays[2, 0]), np.float32(depth * rays[2, 2])
            _ground_row(row, ramp, x, dx, z, dz, edge, colors)
            if seams:
                _seams(row[:width], i, height, depth, pose, lens, axes, rays, colors)
        else:
            row[:] = colors[0]


@jit
def _far_to_near(eye, count, order, rank):
    """Order the indices of one axis, the farthest from `eye` (an index) first; rank is order's inverse."""
    low, high = 0, count - 1
    for place in range(count):
        if eye - low > high - eye:
            order[place], rank[low] = low, place
            low += 1
        else:
            order[place], rank[high] = high, place
            high -= 1


@jit
def _sort_blocks(cells, pose, far, planes, ranks, slots):
    """Mark the blocks in view in slots[1089 + 7], which is in drawing order (rank y, rank x, rank z)."""
    words = cells[: WORDS * 8].view(np.uint64)
    for word in range(WORDS + 1):
        if word < WORDS and words[word] == 0:
            continue
        for index in range(word * 8, min(word * 8 + 8, CELLS)):
            if cells[index] == 0:
                continue
            iy, ix, iz = index // 121, index // 11 % 11, index % 11
            x, y, z = ix + MIN_X - pose[0], iy + MIN_Y - pose[1], iz + MIN_Z - pose[2]
            seen = planes[4, 0] * x + planes[4, 1] * y + planes[4, 2] * z - planes[4, 3] <= far
            for k in range(5):
                seen &= planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z + planes[k, 3] >= 0.0
            if seen:
                slots[(ranks[0, iy] * 11 + ranks[1, ix]) * 11 + ranks[2, iz]] = 1


@jit
def _fill_face(pixels, ramp, rows, columns, p, q, w, clip, fill, border):
    """Colour the pixels of a box (rows, columns: first and last + 1, in whole vectors) that see the face.

    p, q, w: (value at pixel (0, 0), change per row, change per column); clip: smallest and largest w.
    """
    stride = ramp.size
    first = columns[0]
    count = columns[1] - first
    across = ramp[first : columns[1]]
    nearest, farthest = np.float32(clip[1]), np.float32(clip[0])
    dp, dq, dw = np.float32(p[2]), np.float32(q[2]), np.float32(w[2])
    for i in range(rows[0], rows[1]):
        p_row = np.float32(p[0] + i * p[1])
        q_row = np.float32(q[0] + i * q[1])
        w_row = np.float32(w[0] + i * w[1])
        row = pixels[i * stride + first : i * stride + first + count]
        for j in range(count):
            column = across[j]
            scale = w_row + dw * column
            a = abs(p_row + dp * column)
            b = abs(q_row + dq * column)
            largest = a if a > b else b
            color = fill if largest <= _BLOCK_FILL * scale else border
            inside = (largest <= _HALF * scale) & (scale >= farthest) & (scale <= nearest)
            row[j] = color if inside else row[j]


@jit
def _face_box(axes, center, u, v, tan_x, tan_y, height, width):
    """Return rows and columns (first, last + 1) that a face may touch; the whole picture if it passes the eye."""
    left, right, top, bottom = 1e9, -1e9, 1e9, -1e9
    for k in range(4):
        du, dv = 0.5 - (k & 1), 0.5 - (k >> 1)
        depth = axes[2, 0] * center[0] + axes[2, 1] * center[1] + axes[2, 2] * center[2]
        depth += du * axes[2, u] + dv * axes[2, v]
        if depth < 1e-3:
            return (0, height), (0, (width + LANES - 1) // LANES * LANES)
        across = axes[0, 0] * center[0] + axes[0, 2] * center[2] + du * axes[0, u] + dv * axes[0, v]
        above = axes[1, 0] * center[0] + axes[1, 1] * center[1] + axes[1, 2] * center[2]
        above += du * axes[1, u] + dv * axes[1, v]
        column, row = across / depth, above / depth
        left, right = min(left, column), max(right, column)
        top, bottom = min(top, -row), max(bottom, -row)
    half_width, half_height = 0.5 * width, 0.5 * height
    first_column = min(max(half_width * (left / tan_x + 1.0) - 1.0, 0.0), float(width))
    last_column = min(max(half_width * (right / tan_x + 1.0) + 1.0, 0.0), float(width))
    first_row = min(max(half_height * (top / tan_y + 1.0) - 1.0, 0.0), float(height))
    last_row = min(max(half_height * (bottom / tan_y + 1.0) + 1.0, 0.0), float(height))
    columns = int(first_column) // LANES * LANES, (int(last_column) + LANES - 1) // LANES * LANES
    return (int(first_row), int(last_row)), columns


@jit
def draw_block(pixels, ramp, height, width, window, tans, clip, axes, rays, grid, cell, pose, reach, colors):
    """Draw the faces of one block that are turned to the eye, unless a neighbour covers them.

    window: the first row, last + 1, first column, last + 1 (in whole vectors) that may be drawn.
    """
    color = grid[cell[0], cell[1], cell[2]]
    relative = (cell[1] + MIN_X - pose[0], cell[0] + MIN_Y - pose[1], cell[2] + MIN_Z - pose[2])
    for axis in range(3):
        if abs(relative[axis]) <= 0.5:
            continue
        side = -1 if relative[axis] > 0.0 else 1
        iy = cell[0] + (side if axis == 1 else 0)
        ix = cell[1] + (side if axis == 0 else 0)
        iz = cell[2] + (side if axis == 2 else 0)
        if 0 <= iy < _COUNT_Y and 0 <= ix < _COUNT_X and 0 <= iz < _COUNT_Z and grid[iy, ix, iz] != 0:
            # a block around the eye, or cut open by the near plane, hides nothing
            gap = max(abs(ix + MIN_X - pose[0]), abs(iy + MIN_Y - pose[1]), abs(iz + MIN_Z - pose[2]))
            if gap > reach:
                continue
        u, v = (axis + 1) % 3, (axis + 2) % 3
        distance = relative[axis] + 0.5 * side
        center = (
            relative[0] if axis != 0 else distance,
            relative[1] if axis != 1 else distance,
            relative[2] if axis != 2 else distance,
        )
        rows, columns = _face_box(axes, center, u, v, tans[0], tans[1], height, width)
        rows = max(rows[0], window[0]), min(rows[1], window[1])
        columns = max(columns[0], window[2]), min(columns[1], window[3])
        inverse = 1.0 / distance
        w = (rays[0, axis] * inverse, rays[1, axis] * inverse, rays[2, axis] * inverse)
        cu, cv = relative[u], relative[v]
        p = (rays[0, u] - cu * w[0], rays[1, u] - cu * w[1], rays[2, u] - cu * w[2])
        q = (rays[0, v] - cv * w[0], rays[1, v] - cv * w[1], rays[2, v] - cv * w[2])
        shade = 2 if axis == 0 else 1 if axis == 2 else 0 if side > 0 else 3
        index = _FIRST_BLOCK + _PER_COLOR * (color - 1) + 2 * shade
        _fill_face(pixels, ramp, rows, columns, p, q, w, clip, colors[index], colors[index + 1])


@jit
def _pack(pixels, stride, height, width, out):
    """Write the pixels to out uint8[height * width * 3]."""
    for i in range(height):
        row = pixels[i * stride : i * stride + width]
        target = out[i * width * 3 : (i + 1) * width * 3]
        for j in range(width):
            color = row[j]
            target[3 * j] = np.uint8(color & np.uint32(255))
            target[3 * j + 1] = np.uint8((color >> np.uint32(8)) & np.uint32(255))
            target[3 * j + 2] = np.uint8((color >> np.uint32(16)) & np.uint32(255))


@jit
def paint(grids, poses, chosen, lens, colors, height, width, out, first, last):
    """Draw the worlds i = chosen[first..last-1]: grids[i] seen from poses[i], to out[i].

    grids int8[n, 9, 11, 11]; poses float64[n, 5]: x, y, z (cells), yaw, pitch (degrees); chosen int64[k]; lens
    float64[5]: tangent of half the vertical field of view, near and far plane (depths along the view axis), half the
    ground's width (cells), seams; colors uint32[n]: packed palette; out uint8[n, bytes of a picture]. All arrays are
    C-contiguous and writable; blocks whose id the palette lacks are not drawn.
    """
    stride = (width + LANES - 1) // LANES * LANES
    ramp = np.arange(stride).astype(np.float32)
    pixels = np.empty(height * stride, np.uint32)
    axes, rays, planes = np.empty((3, 3)), np.empty((3, 3)), np.empty((5, 4))
    order, rank = np.empty((3, 11), np.int64), np.empty((3, 11), np.int64)
    slots = np.zeros(WORDS * 8 + 8, np.uint8)
    slot_words = slots.view(np.uint64)
    window = (0, height, 0, stride)
    tans = (lens[0] * width / height, lens[0])
    clip = (1.0 / lens[2], 1.0 / lens[1])
    reach = 0.5 + lens[1] * math.sqrt(1.0 + tans[0] ** 2 + tans[1] ** 2)
    known = (colors.size - _FIRST_BLOCK) // _PER_COLOR
    for number in range(first, last):
        frame = chosen[number]
        pose, grid = poses[frame], grids[frame]
        camera(pose, lens, height, width, axes, rays)
        _background(pixels, ramp, height, width, pose, lens, axes, rays, colors)
        frustum(axes, -tans[0], tans[0], -tans[1], tans[1], planes)
        _far_to_near(pose[1] - MIN_Y, _COUNT_Y, order[0], rank[0])
        _far_to_near(pose[0] - MIN_X, _COUNT_X, order[1], rank[1])
        _far_to_near(pose[2] - MIN_Z, _COUNT_Z, order[2], rank[2])
        _sort_blocks(grid.reshape(CELLS), pose, lens[2], planes, rank, slots)
        for word in range(slot_words.size):
            if slot_words[word] == 0:
                continue
            for slot in range(word * 8, word * 8 + 8):
                if slots[slot] == 0:
                    continue
                cell = (order[0, slot // 121], order[1, slot // 11 % 11], order[2, slot % 11])
                if 0 < grid[cell] <= known:
                    draw_block(
                        pixels,
                        ramp,
                        height,
                        width,
                        window,
                        tans,
                        clip,
                        axes,
                        rays,
                        grid,
                        cell,
                        pose,
                        reach,
                        colors,
                    )
            slot_words[word] = 0
        _pack(pixels, stride, height, width, out[frame])
