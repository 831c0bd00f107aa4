"""Draw the pictures of docs/gallery.md and docs/environments/: every environment, every structure.

    python docs/assets/gallery.py            all of them
    python docs/assets/gallery.py bridge     those whose name contains this

The same code gives the same pictures; tests/test_docs.py draws some again and compares.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from PIL import Image

import iglu_marl
from iglu_marl.agents import ScriptedArchitect, ScriptedBuilder
from iglu_marl.core.task import Task
from iglu_marl.rendering import orbit_view
from iglu_marl.tasks import BundledTasks

FOLDER = Path(__file__).resolve().parents[1] / "images" / "gallery"
Picture = npt.NDArray[np.uint8]
Drawing = Callable[[], Picture]

SIDE = (240, 240)  # of a structure: height and width
SEEN = (240, 360)  # of what a lone builder sees
GAME = "bridge"  # what the scripted pair builds
COLORS = 200  # of a stored picture


def structures() -> dict[str, Task]:
    """The bundled structures by name."""
    return {str(task.task_id): task for task in BundledTasks(mode="structures")}


def drawings() -> dict[str, Drawing]:
    """How to draw each picture, by its name without the suffix."""
    found: dict[str, Drawing] = {}
    for name in ("architect-builder-aec", "architect-builder-parallel"):
        found[f"environment-{name}"] = partial(_game_of_two, name.endswith("parallel"))
    for name, make in (
        ("gridworld", partial(gym.make, "IGLUGridworld-v0", render_size=SEEN)),
        ("silent-builder-visual", partial(gym.make, "IGLUSilentBuilderVisual-v0", pov_size=SEEN)),
    ):
        found[f"environment-{name}"] = partial(_seen, make)
    found["environment-language-goal"] = _with_a_goal
    for name, id_ in (
        ("gridworld-vector", "IGLUGridworldVector-v0"),
        ("silent-builder", "IGLUSilentBuilder-v0"),
    ):
        found[f"environment-{name}"] = partial(_from_outside, id_)
    for name, task in structures().items():
        found[f"structure-{name}"] = partial(orbit_view, task.target_grid, size=SIDE, smoothing=3)
    return found


def _game_of_two(parallel: bool) -> Picture:
    """The onlooker's screen in the middle of a game of the scripted pair."""
    make: Any = iglu_marl.parallel_env if parallel else iglu_marl.env
    env = make(
        tasks=structures()["lighthouse" if parallel else GAME],
        controls="flying",
        builder_sees=("inventory", "dialog", "pose", "grid", "pov"),
        max_steps=None,
        max_turns=None,
        render_mode="rgb_array",
    )
    states: list[Any] = []
    agents: Any = {"architect": ScriptedArchitect(), "builder": ScriptedBuilder(controls="flying")}
    iglu_marl.play(env, agents, seed=0, on_step=lambda env: states.append(env.unwrapped.get_state()))
    env.unwrapped.set_state(states[2 * len(states) // 3])
    return _smaller(env.render(), 720)


def _reset(env: Any, pose: iglu_marl.Pose, grid: npt.NDArray[Any]) -> dict[str, Any]:
    """The observation of a builder that stands before a half-built structure."""
    task = Task("<Architect> Go on.", structures()["wishing-well"].target_grid, starting_grid=grid)
    observation, _ = env.reset(seed=0, options={"task": task, "pose": pose})
    return dict(observation)


_BEFORE = iglu_marl.Pose(-3.6, 1.2, 4.2, 35.0, -24.0)


def _lower_half() -> npt.NDArray[Any]:
    grid = structures()["wishing-well"].target_grid.copy()
    grid[2:] = 0
    return grid


def _seen(make: Callable[[], Any]) -> Picture:
    """The picture that a builder observes."""
    observation = _reset(make(), _BEFORE, _lower_half())
    return np.asarray(observation["pov"], np.uint8)


def _with_a_goal() -> Picture:
    """One of the worlds about which statements are made."""
    env: Any = gym.make("iglu_marl/LanguageGoal-v0", obs_type="image", pov_size=SEEN)
    observation, _ = env.reset(seed=3, options={"pose": iglu_marl.Pose(0.0, 1.5, 6.0, 0.0, -22.0)})
    return np.asarray(observation["pov"], np.uint8)


def _from_outside(id_: str) -> Picture:
    """The blocks and the pose that a builder observes, from outside."""
    _reset(gym.make(id_), _BEFORE, _lower_half())
    return orbit_view(_lower_half(), size=SEEN, pose=_BEFORE, smoothing=3)


def _smaller(picture: Picture, width: int) -> Picture:
    frame = Image.fromarray(picture)
    return np.asarray(frame.resize((width, width * frame.height // frame.width), Image.Resampling.LANCZOS))


def as_stored(picture: Picture) -> Image.Image:
    """A picture with few colours, so that it is small."""
    return Image.fromarray(picture).quantize(
        COLORS, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE
    )


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, draw in drawings().items():
        if wanted in name:
            as_stored(draw()).save(FOLDER / f"{name}.png", optimize=True)
            print(name)
