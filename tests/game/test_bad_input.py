"""Bad input: a clear error of ours, nothing changed, and the environment goes on working."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from probing import CHATS, IDS, TWO_AGENT_VIEWS, VIEWS, Player, begun, frozen, short_of, story_options

from iglu_marl import (
    ActionError,
    AgentError,
    ConfigError,
    GameConfig,
    GridError,
    IgluMarlError,
    PoseError,
    StateError,
    Subtasks,
    Task,
    TaskError,
    Worlds,
    from_iglu2022_ids,
    to_iglu2022_ids,
)
from iglu_marl.core.arguments import as_flag, as_number
from iglu_marl.core.controls import CONTROLS, Controls, at_rest
from iglu_marl.core.grid import as_grid, blocks_to_grid, color_id, color_name, grid_to_blocks
from iglu_marl.core.task import as_task
from iglu_marl.envs import GridworldEnv

NAN, INF = float("nan"), float("inf")
AIR = np.zeros((9, 11, 11), dtype=np.int8)


def everything(game: Any) -> bytes:
    """All that an environment is, saved state and attributes."""
    return pickle.dumps((game.unwrapped.get_state(), frozen(vars(game.unwrapped).get("_cut", {}))))


def refuses(
    call: Callable[[], Any], error: type[IgluMarlError], *words: str, game: Any = None, expects: bool = True
) -> None:
    """The call raises exactly this kind of error, its message has the words, and the game is as it was."""
    before = None if game is None else everything(game)
    with pytest.raises(IgluMarlError) as caught:
        call()
    assert type(caught.value) is error, caught.value
    message = str(caught.value)
    for word in (*words, "expected") if expects else words:
        assert word in message, message
    if game is not None:
        assert everything(game) == before


# --------------------------------------------------------------------------------------- grids and tasks


def with_cell(value: Any, dtype: Any = np.int64) -> np.ndarray:
    grid = np.zeros((9, 11, 11), dtype=dtype)
    grid[2, 7, 4] = value
    return grid


BAD_GRIDS = {
    "a layer": (np.zeros((11, 11)), ("(11, 11)", "(9, 11, 11)")),
    "other axes": (np.zeros((11, 9, 11), np.int8), ("(11, 9, 11)", "(9, 11, 11)")),
    "one more": (np.zeros((9, 11, 12), np.int8), ("(9, 11, 12)",)),
    "id 7": (with_cell(7), ("7", "(2, 1, -1)", "0..6")),
    "id -1": (with_cell(-1), ("-1", "(2, 1, -1)", "0..6")),
    "id -1 as int8": (with_cell(-1, np.int8), ("-1", "(2, 1, -1)")),
    "id 263": (with_cell(263), ("263",)),  # 7 as int8
    "a fraction": (with_cell(1.5, float), ("1.5", "(2, 1, -1)")),
    "nan": (with_cell(NAN, float), ("nan", "(2, 1, -1)")),
    "inf": (with_cell(INF, float), ("inf",)),
    "complex": (with_cell(1, complex), ("complex128",)),
    "texts": (np.full((9, 11, 11), "red"), ("<U3",)),
    "objects": (np.full((9, 11, 11), None), ("object",)),
}


@pytest.mark.parametrize("bad", BAD_GRIDS)
def test_grids(bad: str) -> None:
    grid, words = BAD_GRIDS[bad]
    refuses(lambda: as_grid(grid, "my grid"), GridError, "my grid", *words)
    refuses(lambda: Task("", grid, task_id="T9"), TaskError, "target_grid", "'T9'", *words)


BAD_BLOCKS = {
    "outside to the east": ([(6, 0, 0, 1)], ("(6, 0, 0)", "-5..5")),
    "in the ground": ([(0, -2, 0, 1)], ("(0, -2, 0)", "-1..7")),
    "too high": ([(0, 8, 0, 1)], ("(0, 8, 0)", "-1..7")),
    "air": ([(1, 2, 3, 0)], ("(1, 2, 3)", "0", "1..6")),
    "colour 7": ([(1, 2, 3, 7)], ("(1, 2, 3)", "7", "1..6")),
    "a colour's name": ([(1, 2, 3, "red")], ("'red'", "four integers")),
    "twice": ([(1, 2, 3, 1), (0, 0, 0, 1), (1, 2, 3, 2)], ("(1, 2, 3)", "[2]")),
    "three numbers": ([(1, 2, 3)], ("(1, 2, 3)", "four integers")),
    "half a cell": ([(0.5, 2, 3, 1)], ("0.5", "four integers")),
    "nan": ([(NAN, 2, 3, 1)], ("nan", "four integers")),
    "inf": ([(INF, 2, 3, 1)], ("inf", "four integers")),
}


@pytest.mark.parametrize("bad", BAD_BLOCKS)
def test_blocks(bad: str) -> None:
    blocks, words = BAD_BLOCKS[bad]
    refuses(lambda: blocks_to_grid(blocks), GridError, *words, expects=False)
    refuses(lambda: Task("", blocks, task_id="T8"), TaskError, "'T8'", *words, expects=False)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: color_id("pink"), GridError, ("'pink'", "red")),
        (lambda: color_id(3), GridError, ("3",)),  # type: ignore[arg-type]
        (lambda: color_name(7), GridError, ("7", "0..6")),
        (lambda: color_name(-1), GridError, ("-1", "0..6")),
        (lambda: grid_to_blocks(np.zeros(5)), GridError, ("(5,)", "(9, 11, 11)")),
        (lambda: to_iglu2022_ids(np.array([7])), GridError, ("7", "0..6")),
        (lambda: from_iglu2022_ids(np.array([-1])), GridError, ("-1", "0..6")),
        (lambda: from_iglu2022_ids(np.array([0.5])), GridError, ("float64",)),
    ],
)
def test_values(call: Callable[[], Any], error: type[IgluMarlError], words: tuple[str, ...]) -> None:
    refuses(call, error, *words)


# ------------------------------------------------------------------------------------------------- poses

BAD_POSES = {
    "nan": ((0, NAN, 0, 0, 0), ("y", "nan")),
    "nan yaw": ((0, 0, 0, NAN, 0), ("yaw", "nan")),
    "east": ((8.01, 0, 0, 0, 0), ("x", "8.01", "-8..8")),
    "above": ((0, 12.5, 0, 0, 0), ("y", "12.5", "12")),
    "pitch": ((0, 0, 0, 0, 91), ("pitch", "91", "-90..90")),
    "six": ((0, 0, 0, 0, 0, 0), ("five",)),
    "text": ("00000", ("'00000'", "five")),
    "words": (("a", "b", "c", "d", "e"), ("'a'", "five")),
    "a number": (5, ("5", "five")),
    "none inside": ((0, None, 0, 0, 0), ("None", "five")),
}


@pytest.mark.parametrize(
    ("view", "bad"), [*(("raw_env", bad) for bad in BAD_POSES), *((view, "nan yaw") for view in VIEWS)]
)
def test_poses(view: str, bad: str) -> None:
    pose, words = BAD_POSES[bad]
    game = begun(view, 1, **story_options(view))
    player = Player(game, 1)
    player.moves(game, 4)
    refuses(lambda: game.reset(options={"pose": pose}), PoseError, "pose", *words, game=game)
    if isinstance(game, gym.Env):
        refuses(lambda: game.initialize_world([], pose), PoseError, "pose", *words, game=game)
    player.moves(game, 10)


@pytest.mark.parametrize("controls", ["walking", "human-level", "discrete"])
def test_poses_below_the_floor_are_refused_where_builders_fall(controls: str) -> None:
    game = begun("IGLUGridworldVector-v0", 1, action_space=controls)
    refuses(lambda: game.reset(options={"pose": (0, -2, 0, 0, 0)}), PoseError, "-2", "-1.25", game=game)
    game.reset(options={"pose": (0, -1.25, 0, 0, 0)})


@pytest.mark.parametrize("limit", [NAN, INF, -1.0, 1e308, 10**400, "5", True, np.zeros(2)])
def test_camera_limits(limit: Any) -> None:
    refuses(lambda: Controls("flying", camera_limit=limit), ConfigError, "camera_limit", "0..360")


def test_messages_can_be_shown_everywhere() -> None:
    assert str(ConfigError("the name \ud800")).encode() == rb"the name \ud800"


# ----------------------------------------------------------------------------------------------- actions

NO_INTEGERS: list[Any] = [
    None,
    "1",
    1.0,
    np.float32(1),
    True,
    np.bool_(True),
    np.array(True),
    [1],
    np.array([1]),
    1j,
]
NO_VECTORS: list[Any] = [
    None,
    "ab",
    [0.0],
    [0.0] * 4,
    [[0.0, 0.0, 0.0]],
    0.0,
    {},
    [True, False],
    ["0", "0"],
    [None, 1],
]


def number_of(space: gym.spaces.Discrete) -> int:
    return int(space.n)


def bad_actions(controls: str, limit: float | None = None, can_yield: bool = False) -> list[tuple[str, Any]]:
    """(the place that the message has to name, an action outside the space)."""
    space = Controls(controls, camera_limit=limit, can_yield=can_yield).space  # type: ignore[arg-type]
    if isinstance(space, gym.spaces.Discrete):
        outside = [-1, number_of(space), 10**30, -(10**30), np.int64(99), np.array(-3)]
        return [("action", bad) for bad in [*outside, *NO_INTEGERS, {"movement": 0}]]
    noop = at_rest(space)
    bad: list[tuple[str, Any]] = [
        ("action", value) for value in (None, 0, "noop", [], {}, list(noop.items()))
    ]
    bad.append(("action", {**noop, "fly": 1}))
    for key, part in space.spaces.items():
        missing = dict(noop)
        del missing[key]
        bad.append((key, missing))
        values: list[Any]
        if isinstance(part, gym.spaces.Discrete):
            values = [-1, number_of(part), 10**30, *NO_INTEGERS]
        else:
            assert isinstance(part, gym.spaces.Box)
            high = float(part.high.flat[0])
            numbers = [NAN, INF, -INF, float(np.nextafter(np.float32(high), np.float32(INF))), -high - 0.5]
            size = part.shape[0] if part.shape else 0
            values = [[number, *[0.0] * (size - 1)] for number in numbers] if size else list(numbers)
            values += NO_VECTORS if size == 3 else [*NO_VECTORS, [0.0] * 3]
            if not size:
                values = [value for value in values if value != 0.0 and np.shape(value) != (1,)]
        bad += [(key, {**noop, key: value}) for value in values]
    return bad


@pytest.mark.parametrize("controls", CONTROLS)
def test_actions_of_one_agent(controls: str) -> None:
    for name in (*IDS, None):
        options = {"discretize": False} if name is None else {}
        if name is None and controls != "walking":
            continue
        game = begun(name or IDS[1], 1, action_space=controls, max_steps=30, **options)
        player = Player(game, 2)
        player.moves(game, 7)
        kind = "human-level" if options else controls
        for place, action in bad_actions(kind, 5.0 if options else None):
            refuses(lambda game=game, action=action: game.step(action), ActionError, place, game=game)
        player.moves(game, 60)


@pytest.mark.parametrize(
    ("view", "controls", "asks"),
    [
        *(("raw_env", controls, False) for controls in CONTROLS),
        *(("parallel_env", controls, True) for controls in CONTROLS),
        ("env", "flying", True),
    ],
)
def test_actions_of_the_builder(view: str, controls: str, asks: bool) -> None:
    game = begun(
        view, 1, **{**short_of(view), "controls": controls, "builder_can_ask": asks, "strict": False}
    )
    player = Player(game, 2)
    player.moves(game, 1)
    if view != "parallel_env":
        assert game.agent_selection == "builder_0"
    act = player.spaces["builder_0"].sample()
    bad = bad_actions(controls, can_yield=True)
    if asks:
        bad = [(place, {"act": action, "say": ""}) for place, action in bad]
        bad += [("keys", {"act": act["act"]}), ("keys", {"say": ""}), ("keys", 3), ("say", {**act, "say": 3})]
    for place, action in bad:
        refuses(lambda action=action: step(game, "x" * 300, action), ActionError, place, game=game)
    player.moves(game, 60)


def step(game: Any, said: Any, action: Any) -> Any:
    if hasattr(game, "agent_iter"):
        return game.step(said if game.agent_selection == "architect_0" else action)
    return game.step({"architect_0": said, "builder_0": action})


TEXTS: list[Any] = [None, 5, b"hello", ["hello"], np.array([1]), {"text": "hello"}, 1.0]
TOKENS: list[Any] = [
    None,
    5,
    "hello",
    [[1, 2]],
    [1.0],
    [True],
    np.array(["a"]),
    {},
    [0, -1],
    [0, 10**6],
    [1, [2]],
]


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("view", TWO_AGENT_VIEWS)
def test_utterances(view: str, chat: str) -> None:
    game = begun(view, 1, **{**short_of(view), **CHATS[chat], "builder_can_ask": True})
    player = Player(game, 2)
    noop = {"act": 0, "say": player.spaces["builder_0"]["say"].sample()}
    for wrong in TEXTS if chat == "text" else TOKENS:
        refuses(lambda wrong=wrong: step(game, wrong, noop), ActionError, "architect_0", game=game)
        if view == "parallel_env":
            silence = "" if chat == "text" else np.zeros(16, np.int64)
            spoken = {"act": 0, "say": wrong}
            refuses(lambda a=silence, b=spoken: step(game, a, b), ActionError, "'say'", game=game)
    player.moves(game, 60)


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("view", TWO_AGENT_VIEWS)
def test_long_utterances(view: str, chat: str) -> None:
    """Strict mode refuses them; else they are cut, and the info of the one who spoke says so."""
    short, long = ("ab", "abc") if chat == "text" else ([1, 2], [1, 2, 3])
    options = {**short_of(view), **CHATS[chat], "max_message_length": 2, "builder_can_ask": True}
    game = begun(view, 1, **options)
    noop = {"act": 0, "say": "" if chat == "text" else [0, 0]}
    refuses(lambda: step(game, long, noop), ActionError, "architect_0", "3", "2", game=game)
    step(game, short, noop)
    asked = {"act": 0, "say": long}
    said = noop["say"]
    refuses(lambda: step(game, said, asked), ActionError, "say", "3", "2", game=game)

    loose, strict = begun(view, 1, **options, strict=False), begun(view, 1, **options)
    cut = info_of(loose, step(loose, long, noop), "architect_0")
    whole = info_of(strict, step(strict, short, noop), "architect_0")
    assert cut.pop("message_cut") is True
    assert cut == whole
    assert loose.unwrapped.episode.dialogue == strict.unwrapped.episode.dialogue
    end = info_of(loose, step(loose, said, {"act": 0, "say": long}), "builder_0")
    assert end["message_cut"] is True
    step(strict, said, {"act": 0, "say": short})
    assert loose.unwrapped.episode.dialogue == strict.unwrapped.episode.dialogue


def info_of(game: Any, shown: Any, agent: str) -> dict[str, Any]:
    return dict(game.infos[agent] if shown is None else shown[4][agent])


# ------------------------------------------------------------------------- agents, order, reset, tasks


@pytest.mark.parametrize("view", TWO_AGENT_VIEWS)
def test_agents(view: str) -> None:
    game = begun(view, 1)
    for wrong in ("builder", "architect_1", None, 0):
        refuses(
            lambda wrong=wrong: game.observation_space(wrong),
            AgentError,
            repr(wrong),
            "architect_0",
            game=game,
        )
        refuses(lambda wrong=wrong: game.action_space(wrong), AgentError, repr(wrong), "builder_0", game=game)
        if view != "parallel_env":
            refuses(lambda wrong=wrong: game.observe(wrong), AgentError, repr(wrong), "builder_0", game=game)
    if view == "parallel_env":
        silent = {"architect_0": "", "builder_0": 0}
        for wrong_actions in ({}, {"builder_0": 0}, {**silent, "builder_1": 0}, None, 3, [("builder_0", 0)]):
            refuses(lambda w=wrong_actions: game.step(w), ActionError, "architect_0", "builder_0", game=game)


@pytest.mark.parametrize("view", ["raw_env", "parallel_env", *IDS])
def test_step_before_reset(view: str) -> None:
    game = VIEWS[view](**story_options(view))
    for _ in range(2):
        with pytest.raises(StateError, match=r"reset\(\)"):
            step(game, "", 0) if view in TWO_AGENT_VIEWS else game.step(0)
    game.reset(seed=1)
    assert Player(game, 1).moves(game, 30) == Player(game, 1).moves(begun(view, 1, **story_options(view)), 30)


@pytest.mark.parametrize("view", ["raw_env", "parallel_env", *IDS])
@pytest.mark.parametrize("way", ["terminated", "truncated"])
def test_step_after_the_end(view: str, way: str) -> None:
    task = Task("", [(0, -1, 0, 1)], starting_grid=[(0, -1, 0, 1)] if way == "terminated" else None)
    options = {"tasks": task, "max_steps": 1, "controls": "walking"}
    game = VIEWS[view](**options)
    game.unwrapped.setup.check = as_task  # a task that is complete at its start ends at once
    game.reset(seed=1)
    two = view in TWO_AGENT_VIEWS
    step(game, "hello", 0) if two else game.step(0)
    if view == "raw_env":
        step(game, "hello", 0)
        assert all(game.terminations.values()) == (way == "terminated")
        refuses(lambda: game.step(0), ActionError, "over", "None", game=game)
        game.step(None)
        game.step(None)
        assert game.agents == []
    for action in (0, None):
        before = everything(game)
        with pytest.raises(StateError, match=r"reset\(\)"):
            step(game, action, action) if two else game.step(action)
        assert everything(game) == before
    game.reset(seed=2)
    step(game, "hello", 0) if two else game.step(0)


@pytest.mark.parametrize("view", VIEWS)
def test_reset_arguments(view: str) -> None:
    game = begun(view, 1, **story_options(view))
    player = Player(game, 1)
    player.moves(game, 5)
    for seed in (-1, 1.5, "1", [1]):
        refuses(lambda seed=seed: game.reset(seed=seed), ConfigError, "seed", repr(seed), game=game)
    for options in (5, "task", [("task", None)]):
        refuses(
            lambda options=options: game.reset(options=options), ConfigError, "options", "dict", game=game
        )
    for task in (5, "red", AIR, ("a", AIR), [], Subtasks(["a"], [[(0, 0, 0, 1)]])):
        refuses(lambda task=task: game.reset(options={"task": task}), TaskError, "task", game=game)
        refuses(lambda task=task: game.reset(seed=3, options={"task": task}), TaskError, game=game)
    player.moves(game, 50)
    assert frozen(game.reset(seed=np.int64(7))) == frozen(game.reset(seed=7))


BAD_TASKS: list[Any] = [5, "C8", AIR, [], {}, [5], [Task("", AIR), "C8"], Task, object()]


@pytest.mark.parametrize("bad", range(len(BAD_TASKS)))
def test_task_sources(bad: int) -> None:
    wrong = BAD_TASKS[bad]
    for make in VIEWS.values():
        refuses(lambda make=make: make(tasks=wrong), ConfigError, "tasks")
    for name in IDS:
        game = begun(name, 1, max_steps=20)
        player = Player(game, 1)
        player.moves(game, 3)
        for method in (game.set_task_generator, game.update_taskset):
            refuses(lambda method=method: method(wrong), ConfigError, "tasks", game=game)
        error = ConfigError if isinstance(wrong, str) else TaskError  # of a name
        refuses(lambda game=game, error=error: game.set_task(wrong), error, "task", game=game)
        player.moves(game, 40)  # resets draw from the source that was there


@pytest.mark.parametrize("view", VIEWS)
def test_sources_that_fail_while_they_are_used(view: str) -> None:
    good = Task("", [(0, -1, 0, 1)])
    answers: list[Any] = [good, None, good, 5, Task("", AIR)]
    game = VIEWS[view](tasks=lambda: answers[0])
    game.reset(seed=1)
    for answer in answers[1:]:
        answers[0] = answer
        before = game.unwrapped.get_state().episode
        if answer is good:
            game.reset()
        else:
            refuses(game.reset, TaskError, expects=answer is None or answer == 5)
            assert game.unwrapped.get_state().episode.world.tobytes() == before.world.tobytes()
            assert game.unwrapped.task is good
            Player(game, 3).moves(game, 2)


@pytest.mark.parametrize("name", IDS)
def test_initial_worlds(name: str) -> None:
    game = begun(name, 1)
    for wrong in (5, "red", np.zeros(4), [(0, 0, 0)], [(0, -2, 0, 1)], [(0, 0, 0, 1)] * 2, with_cell(9)):
        refuses(
            lambda wrong=wrong: game.initialize_world(wrong),
            TaskError,
            "starting_grid",
            game=game,
            expects=False,
        )
    game.reset(seed=1, options={"task": Task("", [(0, -1, 0, 1)])})
    assert not game.unwrapped.episode.worlds.start.any()


# ------------------------------------------------------------------------------------------- saved states


@pytest.mark.parametrize("view", VIEWS)
def test_states(view: str) -> None:
    options = story_options(view)
    game = begun(view, 1, **options)
    player = Player(game, 1)
    player.moves(game, 5)
    state = game.unwrapped.get_state()
    episode = state.episode
    foreign = begun("parallel_env" if view != "parallel_env" else "raw_env", 1).unwrapped.get_state()
    short = episode.world.view(np.uint8)[:-1]
    wrong = [
        None,
        5,
        {},
        (),
        tuple(state),
        episode,
        foreign,
        state._replace(episode=None),
        state._replace(episode=tuple(episode)),
        state._replace(view=5),
        state._replace(episode=episode._replace(world=None)),
        state._replace(episode=episode._replace(world=short)),
        state._replace(episode=episode._replace(world=np.repeat(episode.world, 2))),
        state._replace(episode=episode._replace(world=np.zeros(1))),
        state._replace(episode=episode._replace(dialogue="hello")),
        state._replace(episode=episode._replace(task=5)),
    ]
    Player(game, 2).moves(game, 9)
    for bad in wrong:
        refuses(lambda bad=bad: game.unwrapped.set_state(bad), StateError, game=game, expects=False)
    game.unwrapped.set_state(state)
    assert player.moves(game, 40)


def test_states_of_worlds() -> None:
    worlds = Worlds(3)
    before = worlds.get_state().tobytes()
    for wrong in (None, 5, worlds.get_state()[:2], worlds.get_state().tobytes(), np.zeros(3), [1, 2, 3]):
        refuses(lambda wrong=wrong: worlds.set_state(wrong), StateError, "WORLD[3]")
    for controls in (None, np.zeros(3), Controls().encode_batch([0, 0]), [0, 0, 0]):
        refuses(lambda controls=controls: worlds.step(controls), StateError, "CONTROL[3]")
    assert worlds.get_state().tobytes() == before
    for n in (0, -1, 1.5, True, "3", None):
        refuses(lambda n=n: Worlds(n), StateError, repr(n))
    refuses(lambda: worlds.spawn(0, "C8"), TaskError, "'C8'")  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------- configuration

NO_TEXTS: list[Any] = ["", "Walking", 5, None, ["walking"], b"walking", {}]
NO_FLAGS: list[Any] = [None, 1, 0, "True", np.array([True]), []]
NO_COSTS: list[Any] = [None, -0.1, NAN, INF, "1", True, [1.0], 1j, 10**400]
NO_COUNTS: list[Any] = [0, -1, 1.5, "5", True, 2**31, NAN, [5]]
NO_SIGHTS: list[Any] = [
    None,
    "pov",
    5,
    (),
    ("pov", "pov"),
    ("sky",),
    ("target",),
    (5,),
    [None],
    ("target_view", "x"),
]
BY_CHECK: dict[Any, list[Any]] = {as_flag: NO_FLAGS, as_number: NO_COSTS}
BAD_CONFIGS: dict[str, list[Any]] = {
    **{
        item.name: BY_CHECK[check]
        for item in fields(GameConfig)
        if (check := item.metadata["check"]) in BY_CHECK
    },
    "controls": NO_TEXTS,
    "chat": [*NO_TEXTS, "words"],
    "vocabulary": ["", "english", 0, -3, 2.5, None, True, [], 10**6, float],
    "max_message_length": [value for value in NO_COUNTS if value != 2**31] + [10**7],
    "dialog_length": [value for value in NO_COUNTS if value != 2**31] + [10**8],
    "turn_steps": NO_COUNTS,
    "max_steps": NO_COUNTS,
    "max_turns": NO_COUNTS,
    "architect_sees": NO_SIGHTS,
    "builder_sees": [*NO_SIGHTS, ("pov", "target_grid"), ("target_view",), ("pov", "intersection")],
    "egocentric_radius": [*NO_COUNTS, None, 21],
    "max_wrong_cells": [*NO_COUNTS, None, 1090],
    "wrong_scale": [*NO_COSTS, lambda at: 1.0, ((0, 1),)],
    "shaping": [{}, {"speed": 1}, {"yaw": -1}, {"yaw": float("nan")}, {"yaw": True}, "yaw", 1, ["yaw"]],
    "shaping_scale": [*NO_COSTS, lambda at: 1.0, ((0, 1),)],
    "rewards": [*NO_TEXTS, "architect"],
    "completion": [*NO_TEXTS, "partial"],
    "shifts": [*NO_TEXTS, "none"],
    "pov_size": [
        None,
        64,
        "64",
        (64,),
        (64, 64, 3),
        (0, 64),
        (64, -1),
        (64.0, 64.0),
        (5000, 64),
        (True, True),
    ],
    "renderer": ["", "opengl2", None, 5, object()],
    "render_mode": ["", "depth", 5, ["human"], True],
    "tasks": [5, "C8", [], object()],
    "architects": [-1, 17, 1.5, "2", True, None],
    "builders": [0, -1, 17, 1.5, "2", True, None],
    "sees": [
        "all",
        {"architect_1": "all"},
        {5: "all"},
        *(
            {"architect_0": part}
            for part in ("", "some", "layers:2-1", "layers:0-9", "color:air", "side:up", None, 5)
        ),
        {"architect_0": ("all", ["none"])},
    ],
    "hearers": ["all", {"builder_1": ()}, {"architect_0": "everybody"}, {"architect_0": (5,)}],
    "inventories": [
        5,
        {"architect_0": {"red": 1}},
        *(
            {"builder_0": blocks}
            for blocks in (5, None, {"pink": 1}, {"red": -1}, {"red": 21}, [1] * 5, "123456")
        ),
    ],
}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size_reward": True}, "size_reward is True, expected False with sparse_reward=True"),
        ({"completion_reward": 10}, "completion_reward is 10.0, expected 0 with sparse_reward=True"),
    ],
)
def test_sparse_reward_stands_alone(options: dict[str, Any], message: str) -> None:
    refuses(lambda: GameConfig(sparse_reward=True, **options), ConfigError, message)
    for view in TWO_AGENT_VIEWS:
        refuses(lambda view=view: VIEWS[view](sparse_reward=True, **options), ConfigError, message)


def test_every_field_is_tried() -> None:
    assert set(BAD_CONFIGS) == set(GameConfig.__dataclass_fields__)


@pytest.mark.parametrize("field", BAD_CONFIGS)
def test_config(field: str) -> None:
    for wrong in BAD_CONFIGS[field]:
        if field != "tasks":  # sources are tried where they are used
            refuses(lambda wrong=wrong: GameConfig(**{field: wrong}), ConfigError, field, repr(wrong)[:10])
        view = TWO_AGENT_VIEWS[len(repr(wrong)) % len(TWO_AGENT_VIEWS)]
        refuses(lambda wrong=wrong, view=view: VIEWS[view](**{field: wrong}), ConfigError, field)
        if field == "render_mode":  # Gymnasium warns of its own
            refuses(lambda wrong=wrong: GridworldEnv(render_mode=wrong), ConfigError, field)
        else:
            refuses(lambda wrong=wrong: gym.make(IDS[0], **{field: wrong}), ConfigError, field)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("IGLUGridworld-v0", {"action_space": "swimming"}),
        ("IGLUGridworld-v0", {"compat": "iglu2021"}),
        ("IGLUGridworld-v0", {"render": "no"}),
        ("IGLUGridworld-v0", {"vector_state": 1}),
        ("IGLUGridworld-v0", {"target_in_obs": "yes"}),
        ("IGLUGridworld-v0", {"discretize": None}),
        ("IGLUGridworld-v0", {"architect": 5}),
        ("IGLUGridworld-v0", {"config": {"max_steps": 5}}),
        ("IGLUGridworld-v0", {"max_step": 5}),
        ("IGLUSilentBuilder-v0", {"vector_state": True}),
        ("IGLUSilentBuilder-v0", {"visual": 1}),
    ],
    ids=str,
)
def test_keyword_arguments_of_one_agent(name: str, options: dict[str, Any]) -> None:
    refuses(lambda: gym.make(name, **options), AgentError if "architect" in options else ConfigError)
