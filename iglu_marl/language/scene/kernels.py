"""Compiled kernels of the scene graph: things in a grid, their relations, and execution of programs.

This is the only definition of shapes, relations and functions: `answer`, its trace, goal rewards, batches and the
references of instructions run this code. `graph` and `program` name the numbers below.

A *thing* is one row of a table int16 [n, 15]: shape, attributes and box of cells (see the columns). Blocks come first.
"""

from __future__ import annotations

import numpy as np

from iglu_marl.core.jit import jit

# --- things ----------------------------------------------------------------------------------------------------

BLOCK, ROW, TOWER, SQUARE, GROUP = 1, 2, 3, 4, 5
RECTANGLE, WALL, L, T, PLUS, STAIRCASE, DIAGONAL, U, RING = 6, 7, 8, 9, 10, 11, 12, 13, 14
MIXED = 0  # colour of a thing of several colours
SEVERAL = 1  # bit of `wanted`: things of several colours, or WHOLE, are needed

# columns of the table of things
SHAPE, COLOR, SIZE = 0, 1, 2  # size in blocks
HEIGHT, LEVEL, LAYERS = 3, 4, 5  # highest and lowest layer, 1 = on the ground; number of layers
X0, X1, Y0, Y1, Z0, Z1 = 6, 7, 8, 9, 10, 11  # the box of cells, as grid indices, ends included
WHOLE = 12  # 1 = not part of a larger thing of its shape
LABEL = 13  # connected set of any colours
PART = 14  # of a block: connected set of its colour
COLUMNS = 15

HEIGHTS, WIDTH = 9, 11
CELLS = HEIGHTS * WIDTH * WIDTH
THINGS_PER_BLOCK = 8  # maximum: 1 block, 2 rows, 1 tower, 1 group, 1 diagonal, shapes of 3 or 4 blocks
MAX_THINGS = THINGS_PER_BLOCK * CELLS
_LONGEST = 11
_FORMS = sum(1 << shape for shape in (SQUARE, GROUP, RECTANGLE, WALL, L, T, PLUS, STAIRCASE, U, RING))
# Sets are found in a zone padded by one cell; steps there over faces, then over edges.
_ROW = WIDTH + 2
_LAYER = _ROW * _ROW
_SIDES = np.array(
    [sign * step for step in (_LAYER, _ROW, 1) for sign in (1, -1)]
    + [sign * (a + b) for a, b in ((_LAYER, _ROW), (_LAYER, 1), (_ROW, 1)) for sign in (1, -1)]
    + [sign * (a - b) for a, b in ((_LAYER, _ROW), (_LAYER, 1), (_ROW, 1)) for sign in (1, -1)],
    np.int16,
)

# --- relations: the map's frame, the builder's frame, and what lies on what -------------------------------------

NORTH, EAST, SOUTH, WEST = 0, 1, 2, 3
BEHIND, RIGHT, FRONT, LEFT = 4, 5, 6, 7  # for a builder that looks north: the same as the four above
ABOVE, BELOW, ON, NEXT_TO = 8, 9, 10, 11
UP, DOWN, MIDDLE = 8, 9, 10  # of extremes; the other directions have the numbers of their relations

# --- programs --------------------------------------------------------------------------------------------------

# One row of code is (operation, first input, second input, value); inputs are earlier rows.
SCENE, FILTER, RELATE, SAME, UNIQUE, UNION, INTERSECT, COUNT, EXIST, QUERY = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
EQUAL, LESS, GREATER, CONSTANT, NOT, EXTREME, NEAREST = 10, 11, 12, 13, 14, 15, 16


@jit
def add_thing(things, n, shape, color, size, x0, x1, y0, y1, z0, z1, whole, label):
    """Write one row of the table; return the number of rows."""
    row = things[n]
    row[SHAPE], row[COLOR], row[SIZE] = shape, color, size
    row[HEIGHT], row[LEVEL], row[LAYERS] = y1 + 1, y0 + 1, y1 - y0 + 1
    row[X0], row[X1], row[Y0], row[Y1], row[Z0], row[Z1] = x0, x1, y0, y1, z0, z1
    row[WHOLE], row[LABEL], row[PART] = whole, label, label
    return n + 1


@jit
def add_runs(grid, wanted, things, n, b, shape, dy, dx, dz):
    """Append the lines of two or more blocks that begin at a block: of its colour, and of several colours."""
    y, x, z, color = int(things[b, Y0]), int(things[b, X0]), int(things[b, Z0]), int(things[b, COLOR])
    before = grid[y - dy, x - dx, z - dz] if y >= dy and x >= dx and z >= dz else 0
    if before == color:
        return n
    room = HEIGHTS - y if dy else WIDTH - x if dx else WIDTH - z
    k = 1
    while k < room and grid[y + k * dy, x + k * dx, z + k * dz] == color:
        k += 1
    after = grid[y + k * dy, x + k * dx, z + k * dz] if k < room else 0
    if k > 1:
        i = k - 1
        whole = before == 0 and after == 0
        n = add_thing(things, n, shape, color, k, x, x + i * dx, y, y + i * dy, z, z + i * dz, whole, 0)
    if before == 0 and after != 0 and wanted & SEVERAL:
        while k < room and grid[y + k * dy, x + k * dx, z + k * dz] != 0:
            k += 1
        i = k - 1
        n = add_thing(things, n, shape, MIXED, k, x, x + i * dx, y, y + i * dy, z, z + i * dz, True, 0)
    return n


@jit
def flood(things, index, places, labels, label, sides, same_color, members):
    """Label the blocks connected to `members[0]`; return their number.

    index: number of the block at each place of the padded zone, -1 for none. places: of the blocks. labels: of the
    blocks, 0 = not yet labelled. sides: 6 faces, or 18 with edges. members: receives all of them.
    """
    color = things[members[0], COLOR]
    labels[members[0]] = label
    head, tail = 0, 1
    while head < tail:
        place = places[members[head]]
        head += 1
        for side in range(sides):
            b = index[place + _SIDES[side]]
            if b >= 0 and labels[b] == 0 and not (same_color and things[b, COLOR] != color):
                labels[b] = label
                members[tail] = b
                tail += 1
    return tail


@jit
def box_of(things, members, n, box):
    """Write the box of blocks into `box` int16 [3, 2]: the least and largest y, x and z."""
    for axis, column in ((0, Y0), (1, X0), (2, Z0)):
        low = high = things[members[0], column]
        for i in range(1, n):
            low, high = min(low, things[members[i], column]), max(high, things[members[i], column])
        box[axis, 0], box[axis, 1] = low, high


@jit
def exact_shapes(things, members, n, box):
    """Return the shapes that n different blocks with a box (see `box_of`) are exactly, as bits `1 << shape`.

    All shapes but rows and towers fill two sides of their box: the numbers of blocks per line along each side
    determine them.
    """
    a, b, wide, longest = 0, 0, 0, 0
    for axis in range(3):
        span = box[axis, 1] - box[axis, 0] + 1
        longest = max(longest, span)
        if span > 1:
            wide += 1
            a, b = b, axis
    if wide == 1 and n == longest:
        return 1 << (TOWER if b == 0 else ROW)
    if wide != 2 or longest > _LONGEST:
        return 0
    p, q = box[a, 1] - box[a, 0] + 1, box[b, 1] - box[b, 0] + 1
    upright = a == 0
    if n == p * q:
        return (1 << RECTANGLE) | (int(p == q) << SQUARE) | (int(upright) << WALL)
    counts = np.zeros((2, _LONGEST), np.int16)  # of blocks in each line
    rising, falling = 0, 0
    for i in range(n):
        u = things[members[i], Y0 if upright else X0] - box[a, 0]
        v = things[members[i], X0 if b == 1 else Z0] - box[b, 0]
        counts[0, u] += 1
        counts[1, v] += 1
        rising += u == v
        falling += u + v == q - 1
    shapes = bent_shapes(counts, p, q, n)
    if p == q == n and (rising == n or falling == n):
        shapes |= 1 << DIAGONAL
    if upright and p == q and 2 * n == p * (p + 1):
        shapes |= int(is_staircase(counts, p)) << STAIRCASE
    return shapes


@jit
def is_staircase(counts, p):
    """Return whether the numbers of blocks in p layers and columns are those of a staircase."""
    up, down, layers = True, True, True
    for i in range(p):
        layers &= counts[0, i] == p - i
        up &= counts[1, i] == i + 1
        down &= counts[1, i] == p - i
    return layers and (up or down)


@jit
def bent_shapes(counts, p, q, n):
    """Return which of L, T, plus, U and ring n blocks are, whose numbers per line of p and q are `counts`."""
    # full lines at the ends of one side, and of the other; and those in the middle
    ends = int(counts[0, 0] == q) + int(counts[0, p - 1] == q)
    others = int(counts[1, 0] == p) + int(counts[1, q - 1] == p)
    middle_p, middle_q = p % 2 == 1 and counts[0, p // 2] == q, q % 2 == 1 and counts[1, q // 2] == p
    shapes = 0
    if n == p + q - 1:
        shapes |= int(ends >= 1 and others >= 1) << L
        shapes |= int((ends >= 1 and middle_q) or (others >= 1 and middle_p)) << T
        shapes |= int(p == q and middle_p and middle_q) << PLUS
    along_p = n == p + 2 * (q - 1) and p > 2 and ends == 2 and others >= 1
    along_q = n == q + 2 * (p - 1) and q > 2 and others == 2 and ends >= 1
    shapes |= int(along_p or along_q) << U
    if min(p, q) > 2 and n == 2 * (p + q) - 4 and ends == 2 == others:
        shapes |= 1 << RING
    return shapes


@jit
def find_sets(things, blocks, index, places, sides, wanted, labels, first, found):
    """Fill `found` with the connected sets of two or more blocks, of any colours and of one; return their number.

    Rows are those of the table, with shape bits as SHAPE, and as WHOLE the bits of the surrounding set of any
    colours. labels: int16 [2, blocks], receives the set of any colours and of one colour of each block, numbered
    from `first`.
    """
    members, box = np.empty(blocks, np.int16), np.empty((3, 2), np.int16)
    forms = np.zeros(2 * blocks, np.int16)  # shapes of each set
    labels[:] = 0
    count, label = 0, first
    for b in range(blocks):
        for one in range(0 if wanted & SEVERAL else 1, 2):
            if labels[one, b] != 0:
                continue
            members[0] = b
            size = flood(things, index, places, labels[one], label, sides, one == 1, members)
            color = things[b, COLOR]
            for i in range(1, size):
                if things[members[i], COLOR] != color:
                    color = MIXED
            if one == 0 and color != MIXED:
                for i in range(size):
                    labels[1, members[i]] = label
            if size > 1:
                box_of(things, members, size, box)
                shapes = 1 << GROUP
                if wanted & ~SEVERAL != shapes:
                    shapes = wanted & (shapes | exact_shapes(things, members, size, box))
                forms[label - first] = shapes
                around = forms[labels[0, b] - first] if one == 1 and wanted & SEVERAL else 0
                x0, x1, y0, y1, z0, z1 = box[1, 0], box[1, 1], box[0, 0], box[0, 1], box[2, 0], box[2, 1]
                count = add_thing(found, count, shapes, color, size, x0, x1, y0, y1, z0, z1, around, label)
            label += 1
    return count


@jit
def find_things(grid, wanted, things):
    """Fill the table with blocks and each other shape s with `wanted & (1 << s)`; return the number of rows.

    The order is by shape, then by first cell (y, x, z). Without `wanted & SEVERAL`, there are only things of one
    colour, and WHOLE is unknown.
    """
    n = 0
    for y in range(HEIGHTS):
        for x in range(WIDTH):
            for z in range(WIDTH):
                if grid[y, x, z] != 0:
                    n = add_thing(things, n, BLOCK, grid[y, x, z], 1, x, x, y, y, z, z, 1, 0)
    blocks = n
    if wanted & (1 << ROW):
        for b in range(blocks):
            n = add_runs(grid, wanted, things, n, b, ROW, 0, 1, 0)
            n = add_runs(grid, wanted, things, n, b, ROW, 0, 0, 1)
    if wanted & (1 << TOWER):
        for b in range(blocks):
            n = add_runs(grid, wanted, things, n, b, TOWER, 1, 0, 0)
    if wanted >> SQUARE:
        n = add_sets(grid, wanted, things, blocks, n)
    return n


@jit
def add_sets(grid, wanted, things, blocks, n):
    """Append the things that are connected sets of blocks; return the number of rows."""
    index, places = np.full((HEIGHTS + 2) * _LAYER, -1, np.int16), np.empty(blocks, np.int16)
    for b in range(blocks):
        places[b] = (things[b, Y0] + 1) * _LAYER + (things[b, X0] + 1) * _ROW + things[b, Z0] + 1
        index[places[b]] = b
    labels, found = np.empty((2, blocks), np.int16), np.empty((2 * blocks, COLUMNS), np.int16)
    sets = 0
    if wanted & _FORMS:
        sets = find_sets(things, blocks, index, places, 6, wanted & (_FORMS | SEVERAL), labels, 1, found)
        for b in range(blocks):
            things[b, LABEL], things[b, PART] = labels[0, b], labels[1, b]
    if wanted & (1 << DIAGONAL):
        before, first, lines = sets, 2 * blocks + 1, wanted & (1 << DIAGONAL | SEVERAL)
        sets += find_sets(things, blocks, index, places, 18, lines, labels, first, found[sets:])
        for s in range(before, sets):  # no face of its blocks touches another set
            if found[s, SHAPE]:
                for b in range(blocks):
                    for one in range(2):
                        if labels[one, b] == found[s, LABEL]:
                            things[b, LABEL + one] = found[s, LABEL]
    for shape in range(SQUARE, RING + 1):
        for s in range(sets if wanted >> shape & 1 else 0):
            if found[s, SHAPE] >> shape & 1:
                things[n] = found[s]
                things[n, SHAPE] = shape
                things[n, WHOLE] = 1 - (found[s, WHOLE] >> shape & 1)
                n += 1
    return n


# --- relations -------------------------------------------------------------------------------------------------


@jit
def fills_box(thing):
    """Return whether a thing fills its box."""
    return thing[SHAPE] <= SQUARE or thing[SHAPE] == RECTANGLE or thing[SHAPE] == WALL


@jit
def holds(thing, block):
    """Return whether a block belongs to a thing."""
    if not fills_box(thing):
        return block[LABEL] == thing[LABEL] or block[PART] == thing[LABEL]
    return gap(thing, block, X0) + gap(thing, block, Y0) + gap(thing, block, Z0) == 0


@jit
def gap(a, b, low):
    """Return the number of steps along an axis between the boxes of two things, 0 if they overlap."""
    return max(0, a[low] - b[low + 1], b[low] - a[low + 1])


@jit
def distance(things, count, a, b):
    """Return the steps between the nearest blocks of two things (0 for a common one), and whether side faces touch."""
    dx, dy, dz = gap(things[a], things[b], X0), gap(things[a], things[b], Y0), gap(things[a], things[b], Z0)
    if fills_box(things[a]) and fills_box(things[b]):
        return dx + dy + dz, dy == 0 and dx + dz == 1
    least, side = 9999, False
    for p in range(count):
        if things[p, SHAPE] != BLOCK:
            break
        if holds(things[a], things[p]):
            for q in range(count):
                if things[q, SHAPE] != BLOCK:
                    break
                if holds(things[b], things[q]):
                    level = things[p, Y0] == things[q, Y0]
                    steps = abs(things[p, X0] - things[q, X0]) + abs(things[p, Z0] - things[q, Z0])
                    side |= level and steps == 1
                    least = min(least, steps + abs(things[p, Y0] - things[q, Y0]))
    return least, side


@jit
def related(things, count, quarter, relation, a, b):
    """Return whether thing a is in a relation to thing b; `quarter` is the view: 0 north, 1 east, 2 south, 3 west.

    A thing is north of another if all of it is; above, if all of it is higher and their boxes share a column.
    """
    one, other = things[a], things[b]
    if relation <= LEFT:
        way = relation if relation <= WEST else (relation - BEHIND + quarter) % 4
        if way == NORTH:
            return one[Z1] < other[Z0]
        if way == SOUTH:
            return one[Z0] > other[Z1]
        if way == EAST:
            return one[X0] > other[X1]
        return one[X1] < other[X0]
    dx, dy, dz = gap(one, other, X0), gap(one, other, Y0), gap(one, other, Z0)
    if relation == NEXT_TO:
        if dx + dy + dz > 1 or (dy == 1):
            return False
        steps, side = distance(things, count, a, b)
        return steps > 0 and side
    if dx + dz > 0:
        return False
    if relation == BELOW:
        return one[Y1] < other[Y0]
    if relation == ABOVE:
        return one[Y0] > other[Y1]
    return one[Y0] == other[Y1] + 1 and distance(things, count, a, b)[0] == 1


@jit
def reach(quarter, direction, thing):
    """Return how far a thing reaches in a direction; up and down by its top, as "higher" and "lower" compare."""
    if direction >= UP:
        return int(thing[Y1] if direction == UP else -thing[Y1])
    way = direction if direction <= WEST else (direction - BEHIND + quarter) % 4
    if way == NORTH:
        return int(-thing[Z0])
    if way == SOUTH:
        return int(thing[Z1])
    return int(thing[X1] if way == EAST else -thing[X0])


# --- running a program -----------------------------------------------------------------------------------------


@jit
def first_of(members, count):
    """Return the first member."""
    for t in range(count):
        if members[t]:
            return t
    return -1


@jit
def size_of(members, count):
    """Return the number of members."""
    total = 0
    for t in range(count):
        total += members[t] != 0
    return total


@jit
def relate(things, count, quarter, relation, given, shapes, out):
    """Write the things, of shapes with bits `1 << shape`, in a relation to any of the given ones."""
    out[:count] = 0
    for b in range(count):
        if given[b]:
            for a in range(count):
                of_shape = shapes >> things[a, SHAPE] & 1
                if of_shape and out[a] == 0 and a != b and related(things, count, quarter, relation, a, b):
                    out[a] = 1


@jit
def nearest(things, count, quarter, relation, given, others, out):
    """Write the given things in a relation to any of the others, with the fewest steps between."""
    out[:count] = 0
    least = 9999
    for a in range(count):
        for b in range(count if given[a] else 0):
            if others[b] and a != b and related(things, count, quarter, relation, a, b):
                steps, _ = distance(things, count, a, b)
                if steps < least:
                    least = steps
                    out[:count] = 0
                if steps == least:
                    out[a] = 1


@jit
def extreme(things, count, quarter, direction, rank, given, out):
    """Write the given things that reach furthest in a direction; with `rank` 2, 3, ... the second, third furthest."""
    out[:count] = 0
    best = 9999
    for _ in range(rank):
        bound, best = best, -9999
        for t in range(count):
            if given[t] and best < reach(quarter, direction, things[t]) < bound:
                best = reach(quarter, direction, things[t])
    for t in range(count):
        out[t] = given[t] != 0 and reach(quarter, direction, things[t]) == best


@jit
def middle(things, count, given, out):
    """Write the middle of an odd number of things whose boxes begin in a line along an axis, else none."""
    out[:count] = 0
    total, first, along, axes = size_of(given, count), first_of(given, count), X0, 0
    for column in (X0, Y0, Z0):
        differs = False
        for t in range(count):
            differs |= given[t] != 0 and things[t, column] != things[first, column]
        if differs:
            along = column
            axes += 1
    for t in range(count if total % 2 == 1 and axes < 2 else 0):
        before, up_to = 0, 0
        for other in range(count):
            before += given[other] != 0 and things[other, along] < things[t, along]
            up_to += given[other] != 0 and things[other, along] <= things[t, along]
        out[t] = given[t] != 0 and before <= total // 2 < up_to


@jit
def alike(things, count, column, one, out):
    """Write the things that share no block with a thing but have the same attribute."""
    for a in range(count):
        out[a] = 0
        if a != one and things[a, column] == things[one, column]:
            out[a] = distance(things, count, a, one)[0] > 0


@jit
def execute(things, count, quarter, code, length, sets, values):
    """Run a program on a table of things. Return the number of rows done: fewer than `length` without an answer.

    code: int16 [length, 4]. sets: uint8, row i at [i * count, (i + 1) * count): the things of row i (of `unique`, the
    one). values: int32 [length], other outputs of row i: numbers, colours, shapes, truth; of `unique`, its index.
    """
    for i in range(length):
        operation, a, b, value = int(code[i, 0]), int(code[i, 1]), int(code[i, 2]), int(code[i, 3])
        out = sets[i * count : (i + 1) * count]
        one, two = sets[a * count : (a + 1) * count], sets[b * count : (b + 1) * count]
        if operation == UNIQUE:
            if size_of(one, count) != 1:
                return i
            out[:] = one
            values[i] = first_of(one, count)
        elif operation == FILTER:
            for t in range(count):
                out[t] = one[t] != 0 and things[t, b] == value
        elif operation == RELATE:
            relate(things, count, quarter, value, one, b, out)
        elif operation == SAME:
            alike(things, count, value, values[a], out)
        elif operation == QUERY:
            values[i] = things[values[a], value]
        elif operation == EXTREME and value == MIDDLE:
            middle(things, count, one, out)
        elif operation == EXTREME:
            extreme(things, count, quarter, value, values[b], one, out)
        elif operation == NEAREST:
            nearest(things, count, quarter, value, one, two, out)
        elif operation == SCENE:
            out[:] = 1
        elif operation in (UNION, INTERSECT):
            for t in range(count):
                out[t] = one[t] | two[t] if operation == UNION else one[t] & two[t]
        else:
            values[i] = number(count, operation, one, values[a], values[b], value)
    return length


@jit
def number(count, operation, one, a, b, value):
    """Return what an operation makes of a set or of two numbers; `value` if it is none."""
    if operation == COUNT:
        return size_of(one, count)
    if operation == EXIST:
        return int(first_of(one, count) >= 0)
    if operation == EQUAL:
        return int(a == b)
    if operation == LESS:
        return int(a < b)
    if operation == GREATER:
        return int(a > b)
    return 1 - a if operation == NOT else value


@jit
def ask_all(grids, quarters, codes, lengths, wanted, answers, answered):
    """Run every program on every world.

    grids int8 [n, 9, 11, 11], quarters int8 [n], codes int16 [p, l, 4], lengths int32 [p]; writes answers int32 [n,
    p] and answered bool [n, p].
    """
    things = np.empty((MAX_THINGS, COLUMNS), np.int16)
    sets = np.empty(codes.shape[1] * MAX_THINGS, np.uint8)
    values = np.empty(codes.shape[1], np.int32)
    for w in range(grids.shape[0]):
        count = find_things(grids[w], wanted, things)
        for p in range(codes.shape[0]):
            length = lengths[p]
            done = execute(things, count, quarters[w], codes[p], length, sets, values)
            answered[w, p] = done == length
            answers[w, p] = values[length - 1] if done == length else 0


@jit
def ask_each(grids, quarters, which, codes, lengths, wanted, answers, answered):
    """Run on world w program which[w]. Shapes as in `ask_all`; answers and answered are [n]."""
    things = np.empty((MAX_THINGS, COLUMNS), np.int16)
    sets = np.empty(codes.shape[1] * MAX_THINGS, np.uint8)
    values = np.empty(codes.shape[1], np.int32)
    for w in range(grids.shape[0]):
        p = which[w]
        count = find_things(grids[w], wanted[p], things)
        length = lengths[p]
        done = execute(things, count, quarters[w], codes[p], length, sets, values)
        answered[w] = done == length
        answers[w] = values[length - 1] if done == length else 0


@jit
def ask_one(grid, quarter, code, wanted, answers, answered):
    """Run one program on one world; answers int32 [1, 1], answered bool [1, 1]."""
    blocks = 0
    for y in range(HEIGHTS):
        for x in range(WIDTH):
            for z in range(WIDTH):
                blocks += grid[y, x, z] != 0
    things = np.empty((THINGS_PER_BLOCK * blocks + 1, COLUMNS), np.int16)
    count = find_things(grid, wanted, things)
    length = code.shape[0]
    sets, values = np.empty(length * count, np.uint8), np.empty(length, np.int32)
    done = execute(things, count, quarter, code, length, sets, values)
    answered[0, 0] = done == length
    answers[0, 0] = values[length - 1] if done == length else 0
