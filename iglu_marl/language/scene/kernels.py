"""The compiled half of the scene graph: finding the things in a grid, their relations, and running programs.

All that a program can mean is decided here, and nowhere a second time: `answer`, its trace, goal rewards and batches
run this code. `language/scene.py` and `language/program.py` give the numbers below names.

A *thing* is one row of a table int16 [n, 12]: what it is, its attributes, and its box of cells (see the columns).
"""

from __future__ import annotations

import numpy as np

from iglu_marl.core.jit import jit

# --- things ----------------------------------------------------------------------------------------------------

BLOCK, ROW, TOWER, SQUARE, GROUP = 1, 2, 3, 4, 5
MIXED = 0  # the colour of a group of several colours

# columns of the table of things
SHAPE, COLOR, SIZE, HEIGHT = 0, 1, 2, 3  # size in blocks; height of the lowest layer, 1 = on the ground
X0, X1, Y0, Y1, Z0, Z1 = 4, 5, 6, 7, 8, 9  # the box of cells, as grid indices, ends included
LABEL = 10  # which connected group it belongs to, 0 while groups are not looked for
COLUMNS = 11

HEIGHTS, WIDTH = 9, 11
LAYER = WIDTH * WIDTH
CELLS = HEIGHTS * LAYER
MAX_THINGS = (
    4 * CELLS
)  # blocks, and at most 1/2 + 1/2 + 1/2 + 3/4 + 1/2 as many rows, towers, squares and groups

# --- relations: the map's frame, the builder's frame, and what lies on what -------------------------------------

NORTH, EAST, SOUTH, WEST = 0, 1, 2, 3
BEHIND, RIGHT, FRONT, LEFT = 4, 5, 6, 7  # seen by a builder who looks north: the same as the four above
ABOVE, BELOW, ON, NEXT_TO = 8, 9, 10, 11

# --- programs --------------------------------------------------------------------------------------------------

# One row of code is (operation, first input, second input, value); inputs are earlier rows.
SCENE, FILTER, RELATE, SAME, UNIQUE, UNION, INTERSECT, COUNT, EXIST, QUERY = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
EQUAL, LESS, GREATER, CONSTANT = 10, 11, 12, 13


@jit
def add_thing(things, n, shape, color, size, x0, x1, y0, y1, z0, z1, label):
    """Write one row of the table; returns the number of rows."""
    row = things[n]
    row[SHAPE], row[COLOR], row[SIZE], row[HEIGHT] = shape, color, size, y0 + 1
    row[X0], row[X1], row[Y0], row[Y1], row[Z0], row[Z1] = x0, x1, y0, y1, z0, z1
    row[LABEL] = label
    return n + 1


@jit
def run_length(grid, y, x, z, dy, dx, dz):
    """Blocks of one colour in a line from here on, if the line begins here; else 0."""
    color = grid[y, x, z]
    if y >= dy and x >= dx and z >= dz and grid[y - dy, x - dx, z - dz] == color:
        return 0
    length = 1
    while True:
        y, x, z = y + dy, x + dx, z + dz
        if y >= HEIGHTS or x >= WIDTH or z >= WIDTH or grid[y, x, z] != color:
            return length
        length += 1


@jit
def is_square(grid, y, x, z, uy, ux, uz, vy, vx, vz, k):
    """Whether a line of length k along u from here is one side of a k x k square that no block of its colour in
    its plane touches from outside.
    """
    color = grid[y, x, z]
    for j in range(k):
        sy, sx, sz = y + j * vy, x + j * vx, z + j * vz
        if sy >= HEIGHTS or sx >= WIDTH or sz >= WIDTH or grid[sy, sx, sz] != color:
            return False
        if run_length(grid, sy, sx, sz, uy, ux, uz) != k:
            return False
    for i in range(k):
        sy, sx, sz = y + i * uy, x + i * ux, z + i * uz
        if run_length(grid, sy, sx, sz, vy, vx, vz) != k:
            return False
    return True


@jit
def label_groups(grid, things, blocks, labels, queue):
    """Number the sets of blocks that hang together by faces, from 1; returns how many there are."""
    labels[:] = 0
    count = 0
    for b in range(blocks):
        y, x, z = int(things[b, Y0]), int(things[b, X0]), int(things[b, Z0])
        if labels[y * LAYER + x * WIDTH + z] == 0:
            count += 1
            labels[y * LAYER + x * WIDTH + z] = count
            queue[0] = y * LAYER + x * WIDTH + z
            head, tail = 0, 1
            while head < tail:
                cell = int(queue[head])
                head += 1
                cy, cx, cz = cell // LAYER, cell // WIDTH % WIDTH, cell % WIDTH
                for side in range(6):
                    step = 1 if side % 2 == 0 else -1
                    ny, nx, nz = cy, cx, cz
                    if side < 2:
                        ny += step
                    elif side < 4:
                        nx += step
                    else:
                        nz += step
                    if ny < 0 or nx < 0 or nz < 0 or ny >= HEIGHTS or nx >= WIDTH or nz >= WIDTH:
                        continue
                    other = ny * LAYER + nx * WIDTH + nz
                    if grid[ny, nx, nz] != 0 and labels[other] == 0:
                        labels[other] = count
                        queue[tail] = other
                        tail += 1
        things[b, LABEL] = labels[y * LAYER + x * WIDTH + z]
    return count


@jit
def add_groups(things, blocks, n, count, first):
    """Append a thing for each connected group of two blocks or more; returns the number of things."""
    first[: count + 1] = -1
    for b in range(blocks):
        label = int(things[b, LABEL])
        at = int(first[label])
        block = things[b]
        if at < 0:
            first[label] = n
            things[n] = block
            things[n, SHAPE] = GROUP
            n += 1
            continue
        row = things[at]
        row[SIZE] += 1
        if row[COLOR] != block[COLOR]:
            row[COLOR] = MIXED
        row[X0], row[X1] = min(row[X0], block[X0]), max(row[X1], block[X1])
        row[Y0], row[Y1] = min(row[Y0], block[Y0]), max(row[Y1], block[Y1])
        row[Z0], row[Z1] = min(row[Z0], block[Z0]), max(row[Z1], block[Z1])
    kept = n - count
    for i in range(n - count, n):
        if things[i, SIZE] > 1:
            things[kept] = things[i]
            kept += 1
    return kept


@jit
def find_things(grid, wanted, things, labels, queue):
    """Fill the table: blocks always, and each other shape s with `wanted & (1 << s)`.

    In the order of shapes, and within a shape by the first cell (y, x, z). Returns (things, blocks among them).
    """
    n = 0
    for y in range(HEIGHTS):
        for x in range(WIDTH):
            for z in range(WIDTH):
                if grid[y, x, z] != 0:
                    n = add_thing(things, n, BLOCK, grid[y, x, z], 1, x, x, y, y, z, z, 0)
    blocks = n
    groups = label_groups(grid, things, blocks, labels, queue) if wanted & (1 << GROUP) else 0
    if wanted & (1 << ROW):
        for b in range(blocks):
            y, x, z = int(things[b, Y0]), int(things[b, X0]), int(things[b, Z0])
            along_x, along_z = run_length(grid, y, x, z, 0, 1, 0), run_length(grid, y, x, z, 0, 0, 1)
            color, label = things[b, COLOR], things[b, LABEL]
            if along_x > 1:
                n = add_thing(things, n, ROW, color, along_x, x, x + along_x - 1, y, y, z, z, label)
            if along_z > 1:
                n = add_thing(things, n, ROW, color, along_z, x, x, y, y, z, z + along_z - 1, label)
    if wanted & (1 << TOWER):
        for b in range(blocks):
            y, x, z = int(things[b, Y0]), int(things[b, X0]), int(things[b, Z0])
            up = run_length(grid, y, x, z, 1, 0, 0)
            if up > 1:
                color, label = things[b, COLOR], things[b, LABEL]
                n = add_thing(things, n, TOWER, color, up, x, x, y, y + up - 1, z, z, label)
    if wanted & (1 << SQUARE):
        for b in range(blocks):
            y, x, z = int(things[b, Y0]), int(things[b, X0]), int(things[b, Z0])
            color, label = things[b, COLOR], things[b, LABEL]
            k = run_length(grid, y, x, z, 0, 1, 0)
            if k > 1 and is_square(grid, y, x, z, 0, 1, 0, 0, 0, 1, k):
                n = add_thing(things, n, SQUARE, color, k * k, x, x + k - 1, y, y, z, z + k - 1, label)
            if k > 1 and is_square(grid, y, x, z, 0, 1, 0, 1, 0, 0, k):
                n = add_thing(things, n, SQUARE, color, k * k, x, x + k - 1, y, y + k - 1, z, z, label)
            k = run_length(grid, y, x, z, 0, 0, 1)
            if k > 1 and is_square(grid, y, x, z, 0, 0, 1, 1, 0, 0, k):
                n = add_thing(things, n, SQUARE, color, k * k, x, x, y, y + k - 1, z, z + k - 1, label)
    if wanted & (1 << GROUP):
        n = add_groups(things, blocks, n, groups, queue)
    return n, blocks


# --- relations -------------------------------------------------------------------------------------------------


@jit
def overlap(a0, a1, b0, b1):
    """Whether two closed intervals have a point in common."""
    return a0 <= b1 and b0 <= a1


@jit
def apart(a, b):
    """Whether two things share no block."""
    if a[SHAPE] == GROUP or b[SHAPE] == GROUP:
        return a[LABEL] != b[LABEL]
    return not (
        overlap(a[X0], a[X1], b[X0], b[X1])
        and overlap(a[Y0], a[Y1], b[Y0], b[Y1])
        and overlap(a[Z0], a[Z1], b[Z0], b[Z1])
    )


@jit
def beside(a, b):
    """Whether two things without a common block share a side face of some of their blocks."""
    if a[SHAPE] == GROUP or b[SHAPE] == GROUP:
        return False  # what touches a group belongs to it
    if not overlap(a[Y0], a[Y1], b[Y0], b[Y1]):
        return False
    if overlap(a[Z0], a[Z1], b[Z0], b[Z1]):
        return a[X1] + 1 == b[X0] or b[X1] + 1 == a[X0]
    return overlap(a[X0], a[X1], b[X0], b[X1]) and (a[Z1] + 1 == b[Z0] or b[Z1] + 1 == a[Z0])


@jit
def related(quarter, relation, a, b):
    """Whether thing a stands in a relation to thing b; `quarter` is where the builder looks, 0 north, 1 east, …

    A thing is north of another when all of it is; above, when all of it is higher and their boxes share a column.
    """
    if relation <= LEFT:
        way = relation if relation <= WEST else (relation - BEHIND + quarter) % 4
        if way == NORTH:
            return a[Z1] < b[Z0]
        if way == SOUTH:
            return a[Z0] > b[Z1]
        if way == EAST:
            return a[X0] > b[X1]
        return a[X1] < b[X0]
    if relation == NEXT_TO:
        return beside(a, b)
    if not (overlap(a[X0], a[X1], b[X0], b[X1]) and overlap(a[Z0], a[Z1], b[Z0], b[Z1])):
        return False
    if relation == BELOW:
        return a[Y1] < b[Y0]
    if relation == ABOVE:
        return a[Y0] > b[Y1]
    return a[Y0] == b[Y1] + 1 and a[SHAPE] != GROUP and b[SHAPE] != GROUP


# --- running a program -----------------------------------------------------------------------------------------

NO_ANSWER = -1  # `execute` stops where `unique` meets no thing, or several


@jit
def first_of(members, count):
    """The first thing of a set."""
    for t in range(count):
        if members[t]:
            return t
    return -1


@jit
def size_of(members, count):
    """The number of things in a set."""
    total = 0
    for t in range(count):
        total += members[t] != 0
    return total


@jit
def relate(things, count, quarter, relation, given, out):
    """The things that stand in a relation to any of the given ones."""
    out[:count] = 0
    for b in range(count):
        if given[b]:
            for a in range(count):
                if out[a] == 0 and a != b and related(quarter, relation, things[a], things[b]):
                    out[a] = 1


@jit
def alike(things, count, column, one, out):
    """The things that share no block with a thing, and have the same attribute."""
    for a in range(count):
        same = things[a, column] == things[one, column]
        out[a] = same and a != one and apart(things[a], things[one])


@jit
def execute(things, count, quarter, code, length, sets, values):
    """Run a program over a table of things. Returns the number of rows done: fewer than `length` without an answer.

    code: int16 [length, 4]. sets: uint8, row i at [i * count, (i + 1) * count), the things that row i gave (of
    `unique`, the one). values: int32 [length], what row i gave otherwise: numbers, colours, shapes, truth; of
    `unique`, its index.
    """
    for i in range(length):
        operation, a, b, value = int(code[i, 0]), int(code[i, 1]), int(code[i, 2]), int(code[i, 3])
        out = sets[i * count : (i + 1) * count]
        one, two = sets[a * count : (a + 1) * count], sets[b * count : (b + 1) * count]
        if operation == SCENE:
            out[:] = 1
        elif operation == FILTER:
            for t in range(count):
                out[t] = one[t] != 0 and things[t, b] == value
        elif operation == RELATE:
            relate(things, count, quarter, value, one, out)
        elif operation == SAME:
            alike(things, count, value, values[a], out)
        elif operation == UNIQUE:
            if size_of(one, count) != 1:
                return i
            out[:] = one
            values[i] = first_of(one, count)
        elif operation == UNION:
            for t in range(count):
                out[t] = one[t] | two[t]
        elif operation == INTERSECT:
            for t in range(count):
                out[t] = one[t] & two[t]
        elif operation == COUNT:
            values[i] = size_of(one, count)
        elif operation == EXIST:
            values[i] = first_of(one, count) >= 0
        elif operation == QUERY:
            values[i] = things[values[a], value]
        elif operation == EQUAL:
            values[i] = values[a] == values[b]
        elif operation == LESS:
            values[i] = values[a] < values[b]
        elif operation == GREATER:
            values[i] = values[a] > values[b]
        else:
            values[i] = value
    return length


@jit
def ask_all(grids, quarters, codes, lengths, wanted, answers, answered):
    """Put every program to every world. grids int8 [n, 9, 11, 11], quarters int8 [n], codes int16 [p, l, 4], lengths
    int32 [p]; writes answers int32 [n, p] and answered bool [n, p].
    """
    things = np.empty((MAX_THINGS, COLUMNS), np.int16)
    labels, queue = np.empty(CELLS, np.int16), np.empty(CELLS + 1, np.int16)
    sets = np.empty(codes.shape[1] * MAX_THINGS, np.uint8)
    values = np.empty(codes.shape[1], np.int32)
    for w in range(grids.shape[0]):
        count, _ = find_things(grids[w], wanted, things, labels, queue)
        for p in range(codes.shape[0]):
            length = lengths[p]
            done = execute(things, count, quarters[w], codes[p], length, sets, values)
            answered[w, p] = done == length
            answers[w, p] = values[length - 1] if done == length else 0


@jit
def ask_each(grids, quarters, which, codes, lengths, wanted, answers, answered):
    """Put to every world w its own program, number which[w]. Shapes as in `ask_all`, answers and answered [n]."""
    things = np.empty((MAX_THINGS, COLUMNS), np.int16)
    labels, queue = np.empty(CELLS, np.int16), np.empty(CELLS + 1, np.int16)
    sets = np.empty(codes.shape[1] * MAX_THINGS, np.uint8)
    values = np.empty(codes.shape[1], np.int32)
    for w in range(grids.shape[0]):
        p = which[w]
        count, _ = find_things(grids[w], wanted[p], things, labels, queue)
        length = lengths[p]
        done = execute(things, count, quarters[w], codes[p], length, sets, values)
        answered[w] = done == length
        answers[w] = values[length - 1] if done == length else 0


@jit
def ask_one(grid, quarter, code, wanted, answers, answered):
    """Put one program to one world; answers int32 [1, 1], answered bool [1, 1]."""
    blocks = 0
    for y in range(HEIGHTS):
        for x in range(WIDTH):
            for z in range(WIDTH):
                blocks += grid[y, x, z] != 0
    things = np.empty((4 * blocks + 1, COLUMNS), np.int16)
    labels, queue = np.empty(CELLS, np.int16), np.empty(CELLS + 1, np.int16)
    count, _ = find_things(grid, wanted, things, labels, queue)
    length = code.shape[0]
    sets, values = np.empty(length * count, np.uint8), np.empty(length, np.int32)
    done = execute(things, count, quarter, code, length, sets, values)
    answered[0, 0] = done == length
    answers[0, 0] = values[length - 1] if done == length else 0
