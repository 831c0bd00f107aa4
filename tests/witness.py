"""An independent witness for renderers: a slow ray caster, scenes to compare them on, and the comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.core.grid import blocks_to_grid, from_iglu2022_ids
from iglu_marl.rendering import palette
from iglu_marl.rendering.renderer import Lens

PLAIN = Lens()


def cast(grid, pose, size, lens=PLAIN):
    """A slow, independent witness: every pixel's ray is cut with every face that looks at the eye.

    Returns the picture and a mask of the pixels whose ray passes within 1e-3 of an edge (either answer is right).
    """
    height, width = size
    eye = np.array(pose[:3])
    yaw, pitch = np.radians(pose[3:])
    right = np.array([np.cos(yaw), 0, np.sin(yaw)])
    forward = np.array([np.sin(yaw) * np.cos(pitch), np.sin(pitch), -np.cos(yaw) * np.cos(pitch)])
    tangent = np.tan(np.radians(lens.fov_deg) / 2)
    across = (2 * (np.arange(width) + 0.5) / width - 1) * tangent * width / height
    above = (1 - 2 * (np.arange(height) + 0.5) / height) * tangent
    rays = forward + across[None, :, None] * right + above[:, None, None] * np.cross(right, forward)
    index = np.full(size, palette.SKY)
    nearest = np.full(size, np.inf)
    doubtful = np.zeros(size, bool)

    def lay(depth, inside, distance_to_edge, entry, reach):
        shown = inside & (depth >= lens.near) & (depth <= lens.far) & (depth < nearest)
        index[shown] = entry[shown]
        nearest[shown] = depth[shown]
        slack = 1e-3 * np.maximum(depth, 1)
        touched = (
            (distance_to_edge < slack)
            | (np.abs(depth - lens.near) < 1e-4)
            | (np.abs(depth - lens.far) < 1e-2)
        )
        doubtful[touched & (depth > 0) & (reach < 0.6)] = True

    with np.errstate(all="ignore"):
        if eye[1] > -1.5:
            depth = (-1.5 - eye[1]) / rays[..., 1]
            x, z = eye[0] + depth * rays[..., 0], eye[2] + depth * rays[..., 2]
            in_cell = np.maximum(np.abs(x - np.rint(x)), np.abs(z - np.rint(z)))
            out = np.maximum(np.abs(x), np.abs(z))
            line = in_cell > 0.5 - 1 / 32
            white = np.where(line, palette.WHITE_LINE, palette.WHITE_FILL)
            grey = np.where(line, palette.GREY_LINE, palette.GREY_FILL)
            edge = np.minimum(np.abs(in_cell - 0.5 + 1 / 32), np.abs(out - lens.ground))
            edge = np.minimum(edge, np.abs(out - 5.5))
            lay(depth, out <= lens.ground, edge, np.where(out <= 5.5, white, grey), np.zeros(size))
        for iy, ix, iz in np.argwhere(grid):
            center = np.array([ix - 5, iy - 1, iz - 5], float)
            for axis in range(3):
                for side in (-1, 1):
                    plane = center[axis] + 0.5 * side
                    if (eye[axis] - plane) * side <= 0:
                        continue
                    depth = (plane - eye[axis]) / rays[..., axis]
                    hit = eye + depth[..., None] * rays - center
                    hit[..., axis] = 0
                    reach = np.abs(hit).max(axis=-1)
                    shade = {0: palette.SHADE_X, 2: palette.SHADE_Z}.get(
                        axis, palette.SHADE_TOP if side > 0 else palette.SHADE_BOTTOM
                    )
                    entry = palette.block_index(int(grid[iy, ix, iz]), shade, palette.FILL)
                    entry = entry + (reach > 0.5 - 1 / 16)
                    edge = np.minimum(np.abs(reach - 0.5), np.abs(reach - 0.5 + 1 / 16))
                    lay(depth, reach <= 0.5, edge, entry, reach)
    return palette.RGB[index], doubtful


def random_grid(rng, blocks):
    grid = np.zeros((9, 11, 11), np.int8)
    cells = rng.choice(grid.size, blocks, replace=False)
    grid.reshape(-1)[cells] = rng.integers(1, 7, blocks)
    return grid


def scenes(rng):
    """(kind, grid, pose): ordinary places and awkward ones."""
    for number in range(6):
        grid = random_grid(rng, int(rng.integers(0, 90)))
        yaw, pitch = rng.uniform(0, 360), rng.uniform(-90, 90)
        x, z = rng.uniform(-5, 5, 2)
        yield f"free {number}", grid, (x, rng.uniform(-1, 7), z, yaw, pitch)
        yield f"outside {number}", grid, (rng.choice((-7.0, 7.0)), rng.uniform(-1, 9), z, yaw, pitch / 2)
        yield f"below {number}", grid, (x, rng.uniform(-3, -1.55), z, yaw, abs(pitch))
        iy, ix, iz = np.argwhere(random_grid(rng, 1))[0]
        crowded = grid.copy()
        crowded[max(iy - 1, 0) : iy + 2, max(ix - 1, 0) : ix + 2, max(iz - 1, 0) : iz + 2] = 3
        eye = np.array([ix - 5, iy - 1, iz - 5]) + rng.uniform(-0.49, 0.49, 3)
        yield f"inside {number}", crowded, (*eye, yaw, pitch)
        edge = rng.choice((-5.51, 5.51))
        yield f"edge {number}", grid, (edge, -0.25, z, yaw, pitch / 3)
    yield "straight down", random_grid(rng, 40), (0.3, 7.9, 0.2, 33.0, -90.0)
    yield "straight up", random_grid(rng, 40), (0.3, -0.25, 0.2, 33.0, 90.0)


def heap(rng, blocks):
    """Blocks stacked on the ground, in the middle of the zone."""
    grid = np.zeros((9, 11, 11), np.int8)
    while np.count_nonzero(grid) < blocks:
        x, z = rng.integers(2, 9, 2)
        height = np.count_nonzero(grid[:, x, z])
        if height < 4:
            grid[height, x, z] = rng.integers(1, 7)
    return grid


def many_scenes(rng, count):
    """As `scenes`, as many as are asked for, with a person's walk around a heap among them."""

    def endless():
        while True:
            yield from scenes(rng)
            for number in range(6):
                x, z, yaw = *rng.uniform(-5.5, 5.5, 2), rng.uniform(0, 360)
                yield (
                    f"walk {number}",
                    heap(rng, int(rng.integers(1, 60))),
                    (x, -0.25, z, yaw, rng.uniform(-60, 20)),
                )

    yield from islice(endless(), count)


@dataclass
class Comparison:
    """How far two renderers agree, and what the ray caster says where they do not."""

    pixels: int = 0
    different: int = 0
    worst: float = 1.0  # the smallest share of equal pixels in a picture
    refuted: int = (
        0  # pixels in which the renderer is wrong, by the ray caster, beyond 1e-3 cells of any edge
    )
    asked: int = 0  # pixels that the ray caster was asked about
    worst_scenes: list[str] = field(default_factory=list)

    @property
    def agreement(self) -> float:
        """The share of equal pixels."""
        return 1.0 - self.different / self.pixels


def compare(
    render: Callable[..., Any],
    paint: Callable[..., Any],
    found: Iterator[tuple[str, Any, Any]],
    size: tuple[int, int],
    *,
    lens: Lens = PLAIN,
    asked_every: int = 1,
    batch: int = 32,
) -> Comparison:
    """Compare pictures of two functions (grids, poses, size) -> uint8[k, height, width, 3].

    Every `asked_every`-th scene (0: none) is also cast, and all pixels of `render` are held against the result.
    """
    result, number = Comparison(), 0
    while group := list(islice(found, batch)):
        grids, poses = (
            np.stack([grid for _, grid, _ in group]),
            np.array([pose for _, _, pose in group], float),
        )
        first, second = render(grids, poses, size), paint(grids, poses, size)
        for (kind, grid, pose), one, other in zip(group, first, second, strict=True):
            wrong = (one != other).any(axis=2)
            result.pixels += wrong.size
            result.different += int(wrong.sum())
            if 1.0 - wrong.mean() < result.worst:
                result.worst = 1.0 - float(wrong.mean())
                result.worst_scenes.append(f"{kind} {pose}")
            if asked_every and number % asked_every == 0:
                truth, doubtful = cast(grid, pose, size, lens)
                result.refuted += int(((one != truth).any(axis=2) & ~doubtful).sum())
                result.asked += wrong.size
            number += 1
    return result


def check_golden_frames(shared: Path, size: int, renderer: Any) -> None:
    """The recorded pictures of IGLU Gridworld, pixel by pixel, but for seams."""
    data = np.load(shared / "golden" / f"pov{size}.npz")
    shares = []
    for number, golden in enumerate(data["frames"]):
        blocks = data["blocks"][data["offsets"][number] : data["offsets"][number + 1]]
        grid = from_iglu2022_ids(blocks_to_grid(blocks.tolist()))
        pose = np.concatenate([data["position"][number], data["yawpitch"][number]])
        drawn = renderer.render_grid(grid, pose, (size, size))
        shares.append((np.abs(drawn.astype(int) - golden.astype(int)) <= 12).all(axis=2).mean())
    assert np.mean(shares) >= 0.999
    assert min(shares) >= 0.99
