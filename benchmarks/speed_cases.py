"""The measurements of `python -m benchmarks.speed`: each case prepares a round of work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt

import iglu_marl.envs.registration  # noqa: F401 (registers the ids)
from iglu_marl.core.actions import Action
from iglu_marl.core.scoring import maximal_intersection
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Worlds
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.envs.vector_game import VectorGame
from iglu_marl.envs.wrappers import align, discretize, flatten, mask
from iglu_marl.tasks import RandomTasks

COUNTS = (1, 16, 64, 256, 1024, 4096, 16384)
FULL = np.ones((9, 11, 11), np.int8)  # a target that is never completed
NO_END = 10**9  # steps
# Two of seven steps edit a block: place, look to the right and back, break, look to the left and back, wait.
_LEFT, _RIGHT = Action.TURN_LEFT, Action.TURN_RIGHT
BUSY = [int(action) for action in (Action.PLACE, _RIGHT, _LEFT, Action.BREAK, _LEFT, _RIGHT, Action.NOOP)]
BUSY_POSE = (0.0, -0.25, 0.0, 0.0, -35.0)

Grid = npt.NDArray[np.int8]


class Workload(NamedTuple):
    """One round of a case: a function, and the units of work of one call."""

    run: Callable[[], Any]
    units: int


class BenchCase(NamedTuple):
    """A measurement: `prepare()` returns a round."""

    group: str
    name: str
    prepare: Callable[[], Workload]
    quick: bool = True  # measured with --quick
    count: int = 1  # worlds


# ------------------------------------------------------------------------------------------------------ scenes


def scene(blocks: int, seed: int = 0) -> Grid:
    """Return random columns of blocks in the middle of the zone."""
    rng = np.random.default_rng(seed)
    grid = np.zeros((9, 11, 11), np.int8)
    while np.count_nonzero(grid) < blocks:
        x, z = rng.integers(2, 9, 2)
        column = grid[:, x, z]
        height = np.count_nonzero(column)
        if height < 4:
            column[height] = rng.integers(1, 7)
    return grid


def scenes(blocks: int, count: int = 50) -> list[Task]:
    """Return tasks that start with a scene and never end."""
    return [Task("", FULL, starting_grid=scene(blocks, seed), invariant=True) for seed in range(count)]


def targets(count: int = 50) -> list[Task]:
    """Return tasks with an empty zone and scenes of 12 to 20 blocks to build."""
    return [Task("", scene(12 + seed % 9, seed)) for seed in range(count)]


def walk(shape: Any, edits: bool = True) -> Any:
    """Return uniform walking actions; without edits, PLACE and BREAK are replaced by NOOP."""
    actions = np.random.default_rng(0).integers(Action.YIELD, size=shape)
    return actions if edits else np.where(actions >= Action.BREAK, Action.NOOP, actions)


# ------------------------------------------------------------------------------------------------------ single


def _env_round(env: Any, actions: list[Any]) -> Workload:
    def run() -> None:
        step = env.step
        for action in actions:
            step(action)

    return Workload(run, len(actions))


def _single(blocks: int = 0, **options: Any) -> Workload:
    env = gym.make("IGLUGridworld-v0", max_steps=NO_END, **options)
    env.reset(seed=0, options={"task": scenes(blocks, 1)[0]})
    return _env_round(env, walk(2000, edits=blocks == 0).tolist())


def _busy(**options: Any) -> Workload:
    env = gym.make("IGLUGridworld-v0", max_steps=NO_END, **options)
    env.reset(
        seed=0, options={"task": Task("", scene(20), starting_grid=[], invariant=True), "pose": BUSY_POSE}
    )
    return _env_round(env, BUSY * 300)


def _busy_flier() -> Workload:
    env = gym.make("IGLUGridworld-v0", action_space="flying", render=False, max_steps=NO_END)
    env.reset(options={"task": Task("", scene(20)), "pose": (0, 2, 0, 0, -60)})
    env.action_space.seed(0)
    return _env_round(env, [env.action_space.sample() for _ in range(2000)])


def _reset(max_cache: int) -> Workload:
    tasks = RandomTasks(max_blocks=20, max_dist=8, num_colors=6, max_cache=max_cache)
    env = gym.make("IGLUGridworld-v0", render=False, tasks=tasks)
    env.reset(seed=0)

    def run() -> None:
        for _ in range(500):
            env.reset()

    return Workload(run, 500)


SINGLE = [
    BenchCase("single", "step, state only", partial(_single, render=False)),
    BenchCase("single", "step, busy builder (29 % edits), state only", partial(_busy, render=False)),
    BenchCase("single", "step, busy flier (Dict actions), state only", _busy_flier),
    BenchCase("single", "step, pixels 64×64, 20 blocks", partial(_single, 20)),
    BenchCase("single", "reset, a new random task", partial(_reset, 0)),
    BenchCase("single", "reset, prepared task", partial(_reset, 100)),
]

# ------------------------------------------------------------------------------------------------------- score


def _intersection() -> Workload:
    pairs = [(scene(20, seed), scene(20, seed + 100)) for seed in range(20)]

    def run() -> None:
        for grid, target in pairs:
            maximal_intersection(grid, target)

    return Workload(run, len(pairs))


SCORE = [BenchCase("score", "maximal_intersection from scratch, 20 blocks", _intersection)]

# -------------------------------------------------------------------------------------------------- two agents


def _aec() -> Workload:
    env = raw_env(tasks=Task("", FULL), turn_steps=1, max_steps=None, max_turns=None)
    line = "place a red block on the ground at the centre, then two blue ones to the right of it, please; "
    script = list(zip([f"{line * 2}{i}"[:200] for i in range(100)], walk(100).tolist(), strict=True))

    def run() -> None:
        env.reset(seed=0)
        for utterance, action in script:
            env.step(utterance)
            env.step(action)

    return Workload(run, 2 * len(script))


def _parallel() -> Workload:
    env = parallel_env(tasks=Task("", FULL), builder_sees=("inventory", "compass", "dialog"), max_turns=None)
    actions = walk(200).tolist()

    def run() -> None:
        env.reset(seed=0)
        for action in actions:
            env.step({"architect_0": "", "builder_0": action})

    return Workload(run, len(actions))


def _games(count: int) -> Workload:
    games = VectorGame(
        count, tasks=targets(), builder_sees=("inventory", "compass", "dialog"), copy=False, max_steps=200
    )
    games.reset(0)
    rng = np.random.default_rng(0)
    said = rng.integers(1, 100, (8, count, 16)) * (rng.random((8, count, 1)) < 0.1)
    script = list(zip(said, walk((8, count)), strict=True))

    def run() -> None:
        for words, actions in script:
            games.step({"architect_0": words, "builder_0": actions})

    return Workload(run, 8 * count)


def _pictures(builders: int) -> Workload:
    """Play games in which every builder sees pictures. A unit is a picture: a step of one builder."""
    games = VectorGame(
        64,
        tasks=targets(),
        builders=builders,
        builder_sees=("pov", "pose", "dialog"),
        copy=False,
        max_steps=200,
        max_turns=None,
    )
    games.reset(0)
    spaces = {agent: games.batched_action_space(agent) for agent in games.agents}
    for seed, space in enumerate(spaces.values()):
        space.seed(seed)
    script = [{agent: space.sample() for agent, space in spaces.items()} for _ in range(256)]
    for actions in script:  # the builders start at one place
        games.step(actions)

    def run() -> None:
        for actions in script:
            games.step(actions)

    return Workload(run, len(script) * 64 * builders)


TWO_AGENTS = [
    BenchCase("two agents", "AEC agent step, text of 200 characters", _aec),
    BenchCase("two agents", "parallel step of both, with observations", _parallel),
    BenchCase("two agents", "VectorGame step of both, N = 1,024", partial(_games, 1024), count=1024),
    *(
        BenchCase(
            "two agents",
            f"{name} with pictures, 64 games, per builder",
            partial(_pictures, builders),
            True,
            64,
        )
        for name, builders in (("pair", 1), ("team of 2", 2), ("team of 4", 4))
    ),
]

# ------------------------------------------------------------------------------------------------------ vector


def _vector(count: int, tasks: list[Task], edits: bool = True, **options: Any) -> Workload:
    """Step a vector environment whose episodes last 200 steps."""
    env = gym.make_vec(
        "IGLUGridworld-v0", num_envs=count, tasks=tasks, **{"max_steps": 200, "copy": False, **options}
    )
    env.reset(seed=0)
    worlds: Worlds = env.unwrapped.worlds  # type: ignore[attr-defined]
    for delay in range(0, count, max(1, count // 200)):  # episodes end at different steps
        worlds.steps[delay : delay + max(1, count // 200)] = delay * 199 // count
    actions = list(walk((64, count), edits))

    def run() -> None:
        for batch in actions:
            env.step(batch)

    return Workload(run, len(actions) * count)


def _state(count: int, **options: Any) -> Workload:
    return _vector(count, targets(), render=False, vector_state=True, **options)


def _pixels(count: int, blocks: int = 20, **options: Any) -> Workload:
    return _vector(count, scenes(blocks), edits=False, **options)


def _pixel_case(name: str, count: int = 1024, quick: bool = False, **options: Any) -> BenchCase:
    return BenchCase("vector pixels", name, partial(_pixels, count, **options), quick, count)


VECTOR = [
    *(BenchCase("vector state", f"N = {n:,}", partial(_state, n), n <= 1024, n) for n in COUNTS),
    *(
        BenchCase("vector state, copied", f"N = {n:,}", partial(_state, n, copy=True), n == 1024, n)
        for n in COUNTS
    ),
    *(
        BenchCase("vector state, 2 threads", f"N = {n:,}", partial(_state, n, num_threads=2), False, n)
        for n in COUNTS
        if n >= 4096
    ),
    *(_pixel_case(f"N = {n:,}", n, n == 64) for n in COUNTS[:-1]),
    _pixel_case("N = 1,024, 2 threads", num_threads=2),
    *(_pixel_case(f"N = 64, {side}×{side}", 64, render_size=(side, side)) for side in (32, 128, 256)),
]

# ---------------------------------------------------------------------------------------------------- wrappers


def _wrapped(wrap: Callable[[Any], Any], controls: Any = "discrete", **options: Any) -> Workload:
    """Play 1,024 games of a pair; `wrap` changes the environment."""
    count = 1024
    game: dict[str, Any] = {
        "tasks": targets(),
        "vocabulary": 8,
        "max_message_length": 2,
        "dialog_length": 3,
        "controls": controls,
        "builder_sees": ("grid", "pose", "dialog"),
        "max_steps": 200,
        "max_turns": None,
        "copy": False,
    }
    games = wrap(VectorGame(count, **{**game, **options}))
    games.reset(0)
    actions = {agent: games.batched_action_space(agent) for agent in games.possible_agents}
    for space in actions.values():
        space.seed(0)
    script = [{agent: space.sample() for agent, space in actions.items()} for _ in range(8)]

    def run() -> None:
        for chosen in script:
            games.step(chosen)

    return Workload(run, len(script) * count)


def _same(env: Any) -> Any:
    return env


def _wrapper_case(
    name: str, wrap: Callable[[Any], Any] = _same, quick: bool = False, **options: Any
) -> BenchCase:
    return BenchCase("wrappers", name, partial(_wrapped, wrap, **options), quick, 1024)


_SIGHTS = ("grid", "pose", "dialog")
_SEES_ALL: dict[str, Any] = {"builders": 1, "sees": {"builder_0": "all"}}
_OBSERVATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("aim", {"builder_sees": (*_SIGHTS, "aim")}),
    ("hotbar", {"builder_sees": (*_SIGHTS, "hotbar")}),
    ("egocentric, radius 2", {"builder_sees": (*_SIGHTS, "egocentric"), "egocentric_radius": 2}),
    ("target_grid", {"builder_sees": _SIGHTS, **_SEES_ALL}),
    ("wrong_cells", {"builder_sees": (*_SIGHTS, "wrong_cells"), **_SEES_ALL}),
)

WRAPPERS = [
    _wrapper_case("none, walking", controls="walking", quick=True),
    _wrapper_case("none, whole cells"),
    _wrapper_case("none, whole cells, copy=True", copy=True),
    _wrapper_case("none, whole cells, SameStep, 6 steps", autoreset_mode="SameStep", max_steps=6),
    _wrapper_case("discretize", discretize),
    _wrapper_case("flatten", lambda env: flatten(discretize(env)), quick=True),
    _wrapper_case("flatten, copy=True", lambda env: flatten(discretize(env)), copy=True),
    _wrapper_case(
        "flatten, uint8, copy=True", lambda env: flatten(discretize(env), dtype="uint8"), copy=True
    ),
    _wrapper_case("align", lambda env: align(discretize(env))),
    _wrapper_case("mask, walking", mask, controls="walking"),
    _wrapper_case("mask, whole cells", lambda env: mask(discretize(env)), quick=True),
    *(_wrapper_case(f"observation {name}", **options) for name, options in _OBSERVATIONS),
    _wrapper_case("shaping", shaping=True),
]

# ---------------------------------------------------------------------------------------------------- language

_QUESTIONS = (
    "exist(relate(unique(filter_color(filter_shape(scene(),tower),blue)),on))",
    "greater_than(count(filter_color(filter_shape(scene(),block),red)),"
    "count(filter_color(filter_shape(scene(),block),blue)))",
)


def _answers(batched: bool) -> Workload:
    """Answer two typical programs in turn, each about its own world."""
    from iglu_marl.language import answer
    from iglu_marl.language.scene.interpreter import Programs

    programs = Programs(_QUESTIONS)
    grids = np.stack([scene(20, seed) for seed in range(100)])
    which = np.arange(100) % 2

    def one_by_one() -> None:
        for grid, number in zip(grids, which, strict=True):
            answer(programs[int(number)], grid)

    return Workload((lambda: programs.ask_each(grids, which)) if batched else one_by_one, 100)


LANGUAGE = [
    BenchCase("language", "answer a program, one world", partial(_answers, False)),
    BenchCase("language", "answer a program, 100 worlds at once", partial(_answers, True), count=100),
]

CASES = [*SINGLE, *SCORE, *TWO_AGENTS, *VECTOR, *WRAPPERS, *LANGUAGE]
