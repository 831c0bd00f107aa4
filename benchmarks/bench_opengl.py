"""OpenGL's speed, and whether it is right: `python -m benchmarks.bench_opengl` prints a report of one machine.

The report names the driver and its devices, compares pictures with the painter's and the ray caster's, gives frames per
second of both engines alone and in batches, the cost of a context, its memory, and lets spawned and forked processes
draw. It needs PyOpenGL, NumPy, Numba and Pillow alone, and stands by itself; `python -m benchmarks` runs the
`bench_` functions with the others.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iglu_marl.core.errors import RenderError
from iglu_marl.rendering import Lens, Painter, paint_scenes
from iglu_marl.rendering.opengl import OpenGLRenderer, list_devices

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from witness import compare, heap, many_scenes  # the tests' own helper

BLOCKS = 30
PLAIN = Lens()


def worlds_of(count: int, blocks: int = BLOCKS, seed: int = 1) -> Any:
    """Worlds of heaps in the middle of the zone, seen from around them."""
    rng = np.random.default_rng(seed)
    poses = [
        (*rng.uniform(-4, 4, 1), 0.5, *rng.uniform(-4, 4, 1), rng.uniform(0, 360), rng.uniform(-40, 10))
        for _ in range(count)
    ]
    grids = np.stack([heap(rng, blocks) for _ in range(count)])
    return types.SimpleNamespace(grid=grids, pose=np.array(poses))


def seconds_per_frame(
    renderer: Any, count: int, size: tuple[int, int], blocks: int = BLOCKS, spent_s: float = 1.0
) -> float:
    """The median over rounds; a single frame goes through 64 different worlds."""
    worlds = worlds_of(max(count, 64), blocks)
    parts = [np.arange(first, first + count) for first in range(0, len(worlds.pose) - count + 1, count)]
    outs = np.empty((count, *size, 3), np.uint8)

    def run() -> float:
        began = time.perf_counter()
        for part in parts:
            renderer.render(worlds, part, size, outs)
        return (time.perf_counter() - began) / (count * len(parts))

    run()
    first = run()
    rounds = int(min(max(spent_s / (first * count * len(parts)), 3), 200))
    return float(np.median([run() for _ in range(rounds)]))


@pytest.mark.parametrize("count", [1, 64])
@pytest.mark.parametrize("blocks", [0, BLOCKS])
def bench_opengl_64(benchmark: Any, blocks: int, count: int) -> None:
    """Per frame, one or 64 frames a call."""
    from benchmarks.bench_measures import report

    renderer = OpenGLRenderer(PLAIN)
    benchmark.extra_info["driver"] = renderer.context.description
    report(benchmark, [seconds_per_frame(renderer, count, (64, 64), blocks) for _ in range(5)], "opengl")
    renderer.close()


# --- the report --------------------------------------------------------------------------------------------------


def say(text: str) -> None:
    print(text, flush=True)


def verdict(fine: bool) -> str:
    return "OK" if fine else "FAILED"


def report_driver() -> None:
    for device in list_devices():
        kind = "software" if device.software else "GPU"
        say(
            f"  EGL device {device.number}: {kind}, CUDA number {device.cuda}, uuid {device.uuid or 'not told'}"
        )
    say(f"  CUDA_VISIBLE_DEVICES: {os.environ.get('CUDA_VISIBLE_DEVICES', 'not set')}")
    began = time.perf_counter()
    renderer = OpenGLRenderer(PLAIN)
    context = renderer.context
    say(
        f"  {context.description}; software: {context.software}; opened in {time.perf_counter() - began:.3f} s"
    )
    times = []
    for _ in range(200):
        began = time.perf_counter()
        context.run(int)
        times.append(time.perf_counter() - began)
    say(f"  to make the context current and put it back: {1e6 * float(np.median(times)):.1f} µs")
    renderer.close()


def report_parity(scenes: int) -> bool:
    fine = True
    renderer = OpenGLRenderer(PLAIN)
    for size, share, every in (((64, 64), 1, 1), ((96, 64), 1, 4), ((256, 256), 4, 25)):
        found = many_scenes(np.random.default_rng(0), max(1, scenes // share))
        paint = partial(paint_scenes, lens=PLAIN)
        result = compare(renderer.render_scenes, paint, found, size, asked_every=every)
        good = result.agreement >= 0.9995 and not result.refuted
        fine &= good
        say(
            f"  {size[0]} x {size[1]}: {result.agreement:.5%} of {result.pixels} pixels are the painter's, worst "
            f"picture {result.worst:.3%}; the ray caster refutes {result.refuted} of {result.asked}: {verdict(good)}"
        )
    renderer.close()
    return fine


def report_speed(quick: bool) -> None:
    renderer, painter = OpenGLRenderer(PLAIN), Painter(PLAIN)
    say(f"  {'size':>11} {'frames a call':>13} {'OpenGL frames/s':>16} {'painter frames/s':>17}")
    cases = [(64, count) for count in (1, 8, 64, 256, 1024, 4096)]
    cases += [
        (128, 1),
        (128, 64),
        (256, 1),
        (256, 64),
        (256, 512),
        (512, 1),
        (512, 64),
        (1024, 1),
        (1024, 16),
    ]
    for side, count in cases[:3] if quick else cases:
        frames = [1 / seconds_per_frame(engine, count, (side, side)) for engine in (renderer, painter)]
        say(f"  {side:>4} x {side:>4} {count:>13} {frames[0]:>16,.0f} {frames[1]:>17,.0f}")
    renderer.close()


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def report_contexts(count: int) -> bool:
    grid, before, times = heap(np.random.default_rng(0), BLOCKS), 0.0, []
    pictures = set()
    for number in range(count + 30):
        began = time.perf_counter()
        renderer = OpenGLRenderer(PLAIN)
        pictures.add(renderer.render_grid(grid, (1, 0, 1, 30, 0), (64, 64)).tobytes())
        renderer.close()
        times.append(time.perf_counter() - began)
        if number == 29:
            before = resident_mb()
    grown = resident_mb() - before
    fine = grown <= 5.0 and len(pictures) == 1
    say(
        f"  {count} contexts opened, drawn with and closed, {1e3 * float(np.median(times)):.1f} ms each; memory grew "
        f"by {grown:.1f} MB after 30 of warm-up: {verdict(fine)}"
    )
    return fine


def agreement(seed: int) -> tuple[str, float]:
    """What a worker process drew with, and its share of the painter's pixels."""
    renderer = OpenGLRenderer(PLAIN)
    found = many_scenes(np.random.default_rng(seed), 12)
    result = compare(
        renderer.render_scenes, partial(paint_scenes, lens=PLAIN), found, (64, 64), asked_every=0
    )
    name = renderer.context.description
    renderer.close()
    return name, result.agreement


def report_spawned(count: int, limit_s: float) -> bool:
    pool = get_context("spawn").Pool(count)
    try:
        results = pool.map_async(agreement, range(count)).get(limit_s)
    except Exception as error:
        say(f"  {count} spawned workers: FAILED, {type(error).__name__} {error}")
        return False
    finally:
        pool.terminate()
    fine = min(share for _, share in results) >= 0.9995
    say(
        f"  {count} spawned workers, worst agreement {min(share for _, share in results):.5%}: {results[0][0]}"
    )
    return fine


def report_forked(count: int, limit_s: int) -> bool:
    """Forks of a process that has drawn. On a GPU they draw in software, or say that they cannot; none may hang."""
    parent = OpenGLRenderer(PLAIN)
    parent.render_grid(np.zeros((9, 11, 11)), (0, 0, 0, 0, 0), (64, 64))
    gpu = not parent.context.software
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            os._exit(_draw_in_fork(number, limit_s, gpu))
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    parent.close()
    fine = set(codes) <= {0, 4} if gpu else set(codes) == {0}
    names = {0: "right", 3: "wrong pictures", 4: "told that it cannot", 5: "failed", -signal.SIGALRM: "hung"}
    say(f"  {count} forks after drawing: {[names.get(code, code) for code in codes]}: {verdict(fine)}")
    return fine


def _draw_in_fork(number: int, limit_s: int, gpu: bool) -> int:
    signal.alarm(limit_s)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return 0 if agreement(number)[1] >= 0.9995 else 3
    except RenderError as error:
        say(f"    {error}")
        return 4 if gpu and "forked" in str(error) else 5
    except BaseException as error:
        say(f"    {type(error).__name__}: {error}")
        return 5


def main(arguments: list[str] | None = None) -> int:
    """Print the report; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_opengl", description=__doc__)
    parser.add_argument(
        "--scenes", type=int, default=400, help="scenes compared; a quarter in the largest size"
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--limit", type=int, default=120, help="seconds that worker processes may take")
    args = parser.parse_args(arguments)
    say(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    parts: list[tuple[str, Callable[[], bool | None]]] = [
        ("driver", report_driver),
        ("parity", lambda: report_parity(args.scenes)),
        (f"speed, scenes of {BLOCKS} blocks", lambda: report_speed(args.quick)),
        ("contexts", lambda: report_contexts(200)),
        ("processes", lambda: report_spawned(8, args.limit)),
        ("forks", lambda: report_forked(4, args.limit)),
    ]
    fine = True
    for name, part in parts:
        say(name)
        try:
            fine &= part() is not False
        except RenderError as error:
            say(f"  FAILED: {error}")
            fine = False
    say("all is well" if fine else "something is wrong")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
