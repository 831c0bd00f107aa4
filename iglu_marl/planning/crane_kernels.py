"""What one builder can do from one place by turning the head only: the compiled part of `planning/crane.py`.

Grids are flat here, int8 [1089] by y, x, z. Aims are numbers: yaw step * rows + pitch step. Costs
are in actions. n beginnings are looked at in one call.
"""

from __future__ import annotations

from iglu_marl.core.jit import jit

AIR, GROUND, END = -1, -2, -3  # in rays: outside the zone, and what follows the last cell
YAWS = 72  # camera steps around
FAR = 1e6


@jit
def sample_cells(eye, ways, samples, per_cell, ground_y, ground_radius, rays):
    """The cells that rays from an eye along unit vectors [k, 3] come through, one after the other, into rays [k, n]."""
    for k in range(len(ways)):
        x, y, z = eye[0], eye[1], eye[2]
        count, last = 0, END
        for _ in range(samples):
            cx, cy, cz = round(x), round(y), round(z)
            level = max(abs(cx), abs(cz))
            cell = AIR
            if level <= 5 and -1 <= cy <= 7:
                cell = ((cy + 1) * 11 + cx + 5) * 11 + cz + 5
            elif cy == ground_y and level <= ground_radius:
                cell = GROUND
            if cell != last:
                rays[k, count] = last = cell
                count += 1
            if cell == GROUND:
                break
            x, y, z = x + ways[k, 0] / per_cell, y + ways[k, 1] / per_cell, z + ways[k, 2] / per_cell
        if last == AIR:
            count -= 1
        rays[k, count] = END


@jit
def apart(yaw, pitch, other_yaw, other_pitch):
    """Camera actions from one aim to another."""
    around = abs(yaw - other_yaw) % YAWS
    return min(around, YAWS - around) + abs(pitch - other_pitch)


@jit
def survey(grid, held, now, left, want, loose, keep, rays, blocked, rows, price, aims, seen):
    """What can be done now, by cell: the price and the aim; and which cells may still come to be placed (`seen`)."""
    price[:] = FAR
    seen[:] = False
    active = now[2]
    for aim in range(rays.shape[0]):
        if rays[aim, 0] == END:
            continue
        turns = apart(aim // rows, aim % rows, now[0], now[1])
        last = AIR
        for number in range(rays.shape[1]):
            cell = rays[aim, number]
            if cell == END:
                break
            if cell == GROUND or (cell >= 0 and grid[cell] != 0):
                if last >= 0:
                    seen[last] = True
                    color = want[last]
                    if color == 0 and loose[last] and left > 0:
                        color = active
                    cost = turns + 1.0 + (color != active)
                    if color != 0 and not blocked[last] and held[color - 1] > 0 and cost < price[last]:
                        price[last], aims[last] = cost, aim
                if cell >= 0 and grid[cell] != want[cell] and not keep[cell]:
                    if turns + 1.0 < price[cell] and (left == 0 or not loose[cell]):
                        price[cell], aims[cell] = turns + 1.0, aim
                break
            if cell >= 0 and last >= 0 and want[cell] != 0:
                seen[last] = True
            last = cell


@jit
def survey_all(grids, held, now, left, want, loose, keep, rays, blocked, rows, price, aims, seen):
    """`survey` of n beginnings: grids [n, cells], held [n, 6], now [n, 3] = yaw step, pitch step, active color."""
    for i in range(len(grids)):
        survey(
            grids[i], held[i], now[i], left[i], want, loose, keep, rays, blocked, rows, price[i], aims[i], seen[i]
        )  # fmt: skip


@jit
def tour(cells, colors, count, yaws, pitches, now, ratio, near, done):
    """Roughly the camera actions and choices of a colour that lead past all cells: a shortest tree from here."""
    for i in range(count):
        cell = cells[i]
        near[i] = apart(now[0], now[1], yaws[cell], pitches[cell]) * ratio + (colors[i] != now[2])
        done[i] = False
    total = 0.0
    for _ in range(count):
        best = -1
        for i in range(count):
            if not done[i] and (best < 0 or near[i] < near[best]):
                best = i
        done[best] = True
        total += near[best]
        here = cells[best]
        for i in range(count):
            if not done[i]:
                step = apart(yaws[here], pitches[here], yaws[cells[i]], pitches[cells[i]]) * ratio
                near[i] = min(near[i], step + (colors[i] != colors[best]))
    return total


@jit
def outlook(grid, now, seen, changed, order, bearings, weights, scratch):
    """Roughly the actions until all is done, the cells out of sight at a price; `changed` is done just now.

    order: want, loose, keep. bearings: yaw and pitch steps of the cells. weights: of a camera step between cells, of a
    cell out of sight, of a scaffold to be removed. scratch: for `tour`.
    """
    (want, loose, keep), (yaws, pitches), (cells, colors, near, done) = order, bearings, scratch
    left, hidden, count, scaffolds = 0, 0, 0, 0
    for cell in range(len(grid)):
        if keep[cell]:
            continue
        if loose[cell]:
            scaffolds += grid[cell] != 0
        elif grid[cell] != want[cell]:
            left += 1
            if grid[cell] == 0 and cell != changed and not seen[cell]:
                hidden += 1
            else:
                cells[count], colors[count] = cell, want[cell]
                count += 1
    for cell in range(len(grid)):  # scaffolds: to be placed, while they are needed; then to be removed
        if loose[cell] and not keep[cell] and (grid[cell] != 0) == (left == 0):
            cells[count], colors[count] = cell, now[2]
            count += 1
    if left == 0:
        scaffolds = 0
    ahead = tour(cells, colors, count, yaws, pitches, now, weights[0], near, done)
    return ahead + count + weights[1] * hidden + weights[2] * scaffolds


@jit
def outlooks(grids, now, seen, order, bearings, weights, scratch, ahead):
    """`outlook` of n beginnings."""
    for i in range(len(grids)):
        ahead[i] = outlook(grids[i], now[i], seen[i], -1, order, bearings, weights, scratch)


@jit
def kids_of(grids, now, price, aims, seen, order, bearings, rows, weights, scratch, kids, value):
    """All acts after n beginnings: kids [k, 4] = beginning, cell, color (0 = break), aim; value [k]. Returns k."""
    want, count = order[0], 0
    for i in range(len(grids)):
        grid, here = grids[i], now[i]
        yaw, pitch, active = here[0], here[1], here[2]
        for cell in range(len(grid)):
            if price[i, cell] >= FAR or count == len(kids):
                continue
            before, aim = grid[cell], aims[i, cell]
            color = 0
            if before == 0:
                color = want[cell] if want[cell] != 0 else active
            here[0], here[1], grid[cell] = aim // rows, aim % rows, color
            if color != 0:
                here[2] = color
            ahead = outlook(grid, here, seen[i], cell, order, bearings, weights, scratch)
            here[0], here[1], here[2], grid[cell] = yaw, pitch, active, before
            kids[count, 0], kids[count, 1], kids[count, 2], kids[count, 3] = i, cell, color, aim
            value[count] = price[i, cell] + ahead
            count += 1
    return count
