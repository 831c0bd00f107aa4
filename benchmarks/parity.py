"""How far painter, OpenGL and a ray caster agree: `python -m benchmarks.parity` (2,000 scenes in three sizes).

The scenes put the eye in blocks, under the ground, at and beyond the zone's edge, straight up and down. The ray
caster, which knows neither, is asked about every picture of the smaller sizes and every 20th of the largest.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from iglu_marl.rendering import Lens, paint_scenes
from iglu_marl.rendering.opengl import OpenGLRenderer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from witness import compare, many_scenes  # the tests' own helper

SIZES = ((64, 64), (96, 64), (256, 256))
LIMIT = 0.9995


def measure(count: int, size: tuple[int, int], seed: int, asked_every: int) -> str:
    """One line of the report; raises `SystemExit` below the limit."""
    lens = Lens()
    renderer = OpenGLRenderer(lens)
    began = time.perf_counter()
    paint = partial(paint_scenes, lens=lens)
    result = compare(
        renderer.render_scenes,
        paint,
        many_scenes(np.random.default_rng(seed), count),
        size,
        asked_every=asked_every,
    )
    renderer.close()
    line = (
        f"{size[0]} x {size[1]}: {count} scenes, {result.agreement:.5%} of pixels equal "
        f"({result.different} of {result.pixels} differ), worst picture {result.worst:.4%}; "
        f"ray caster refutes {result.refuted} of {result.asked}; {time.perf_counter() - began:.0f} s"
    )
    if result.agreement < LIMIT or result.refuted:
        raise SystemExit(f"FAILED: {line}; {result.worst_scenes[-1]}")
    return line


def main(arguments: list[str] | None = None) -> int:
    """Print the report; exits with a message when the engines disagree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parity", description=__doc__)
    parser.add_argument("--scenes", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--witness", type=int, default=1, help="ask the ray caster about every n-th scene; 0 = none"
    )
    args = parser.parse_args(arguments)
    renderer = OpenGLRenderer()
    print(renderer.context.description, flush=True)
    for size in SIZES:
        every = args.witness * (20 if size[0] > 128 else 1)
        print(measure(args.scenes, size, args.seed, every), flush=True)
    renderer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
