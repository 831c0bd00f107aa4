"""Changes of a running world from outside: score and stock follow, nobody is paid, and every API agrees."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from probing import PAIR_VIEWS, driven

import iglu_marl
from iglu_marl import (
    AgentError,
    ConfigError,
    GridError,
    StateError,
    Subtasks,
    Task,
    maximal_intersection,
    parallel_env,
    raw_env,
)
from iglu_marl.core.actions import Action
from iglu_marl.core.grid import blocks_to_grid, index_of
from iglu_marl.envs import LiveGame, VectorGame

GRID = [(0, -1, -2, 6), (1, -1, -2, 1), (1, 0, -2, 2)]
TASK = Task("", GRID)
SEES = ("inventory", "dialog", "pose", "grid")
PLACES = {"task": TASK, "pose": (0, -0.25, 0, 0, -35)}  # it looks at the ground to its north, 2 cells ahead
AHEAD = (0, -1, -2)  # where it places a block

# ------------------------------------------------------------------------------------------- score and stock follow


def cells() -> Any:
    near = st.integers(-2, 2)
    return st.tuples(near, st.integers(-1, 1), near, st.integers(0, 6))


def check_state(worlds: Any, task: Task, stock: int = 20) -> None:
    """Score and counts equal their definitions, and blocks are neither made nor lost."""
    grid = worlds.grid[0]
    free = bool(worlds.invariant[0])
    assert worlds.best[0] == maximal_intersection(grid, task.target_grid, invariant=free)
    assert worlds.blocks[0] == np.count_nonzero(grid)
    asked = task.start_grid != task.target_grid
    assert worlds.missing[0] == np.count_nonzero(asked & (grid != task.target_grid))
    placed = [np.count_nonzero(grid == color) for color in range(1, 7)]
    assert (worlds.inventory.sum(axis=0) + placed).tolist() == [stock] * 6
    assert np.array_equal(worlds.seen_inventory, worlds.inventory.clip(min=0))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(cells(), max_size=6, unique_by=lambda cell: cell[:3]), min_size=1, max_size=6),
    st.booleans(),
)
def test_score_and_stock_equal_their_definitions(edits: Any, start: bool) -> None:
    task = TASK.replace(starting_grid=[(2, -1, 2, 3), (0, -1, -2, 1)]) if start else TASK
    rng = np.random.default_rng(0)
    env = gym.make("IGLUGridworldVector-v0", max_steps=None)
    env.reset(options={**PLACES, "task": task})
    worlds = env.unwrapped.episode.worlds
    for blocks in edits:
        env.unwrapped.edit(blocks)
        for x, y, z, color in blocks:
            assert worlds.grid[0][index_of((x, y, z))] == color
        check_state(worlds, task)
        for action in rng.choice([Action.PLACE, Action.BREAK, Action.TURN_LEFT, Action.HOTBAR_3], 4):
            if any(env.step(int(action))[2:4]):
                return
            check_state(worlds, task)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(cells(), max_size=6, unique_by=lambda cell: cell[:3]), st.booleans()), max_size=6
    )
)
def test_a_team_conserves_its_blocks(edits: Any) -> None:
    env = parallel_env(builders=2, builder_sees=SEES, max_steps=None, max_turns=None)
    env.reset(options={"task": TASK, "pose": [PLACES["pose"], (3, -0.25, 3, 90, -50)]})
    worlds, rng = env.episode.worlds, np.random.default_rng(1)
    for blocks, second in edits:
        env.unwrapped.edit(blocks, builder=f"builder_{int(second)}")
        check_state(worlds, TASK, 40)
        env.set_state(env.get_state())  # refused unless all rows have one world
        if not env.agents:
            return
        acts = {one: int(rng.choice([Action.PLACE, Action.BREAK])) for one in env.possible_agents[1:]}
        env.step({"architect_0": "", **acts})


def test_stock_is_taken_and_given_back() -> None:
    env = raw_env(builder_sees=SEES, tasks=TASK)
    env.reset(seed=0)
    env.unwrapped.edit([(3, -1, 3, 6), (3, 0, 3, 6), (2, -1, 3, 1)])
    assert env.observe("builder_0")["inventory"].tolist() == [19, 20, 20, 20, 20, 18]
    env.unwrapped.edit([(3, 0, 3, 0), (3, -1, 3, 1)])
    assert env.observe("builder_0")["inventory"].tolist() == [18, 20, 20, 20, 20, 20]
    env.unwrapped.edit(np.zeros((9, 11, 11)))
    assert env.observe("builder_0")["inventory"].tolist() == [20] * 6


def test_a_lone_stock_may_be_overdrawn_as_by_starting_blocks() -> None:
    env = raw_env(builder_sees=SEES, tasks=TASK)
    env.reset(seed=0)
    env.edit([(x, -1, z, 4) for x in range(5) for z in range(5)])
    assert env.episode.worlds.inventory[0, 3] == -5
    assert env.observe("builder_0")["inventory"][3] == 0


def test_the_stock_of_a_team_is_that_of_the_named_builder() -> None:
    env = parallel_env(builders=2, builder_sees=SEES, tasks=TASK, inventories={"builder_1": {"red": 2}})
    env.reset(seed=0)
    env.edit([(3, -1, 3, 6), (3, 0, 3, 6)], builder="builder_1")
    assert env.episode.worlds.inventory[:, 5].tolist() == [20, 0]
    before = env.get_state()
    with pytest.raises(StateError):
        env.edit([(3, 1, 3, 6)], builder="builder_1")
    assert env.episode.worlds.get_state().tobytes() == before.episode.world.tobytes()
    env.edit([(3, 1, 3, 6)])
    env.edit([(3, 1, 3, 0), (3, 2, 3, 6)], builder="builder_1")  # it gives one and gets one
    assert env.episode.worlds.inventory[:, 5].tolist() == [19, 0]


def test_what_has_its_color_already_is_no_edit() -> None:
    env = raw_env(tasks=TASK)
    env.reset(seed=0)
    before = env.get_state().episode.world.tobytes()
    env.edit([])
    env.edit([(3, -1, 3, 0)])
    env.edit(np.zeros((9, 11, 11), np.int8))
    assert env.get_state().episode.world.tobytes() == before
    assert env.episode.edits == []


# ------------------------------------------------------------------------------------------------- nobody is paid


@pytest.mark.parametrize(
    ("pay", "steps"),
    [
        ({}, [0.0, 2.0, 0.0]),
        ({"wrong_scale": 3}, [0.0, 2.0, 0.0]),
        ({"size_reward": True}, [0.0, 0.0, 0.0]),
        ({"step_cost": 0.5}, [-0.5, 1.5, -0.5]),
    ],
)
def test_an_edit_pays_nobody(pay: Any, steps: list[float]) -> None:
    """Two blocks are given, one taken; the builder puts that one back; then all but it are taken."""
    env = gym.make("IGLUGridworldVector-v0", **pay)
    env.reset(options={**PLACES, "task": TASK.replace(invariant=False)})
    env.step(int(Action.HOTBAR_6))
    game, paid = env.unwrapped, []
    game.edit(GRID[:2])
    game.edit([(*AHEAD, 0), (3, -1, 3, 3)])
    for action, edit in (
        (Action.NOOP, []),
        (Action.PLACE, [(1, -1, -2, 0), (3, -1, 3, 0)]),
        (Action.NOOP, []),
    ):
        paid.append(env.step(int(action))[1])
        game.edit(edit)
    assert paid == steps
    assert game.episode.worlds.grid[0][index_of(AHEAD)] == 6


@pytest.mark.parametrize(
    "pay", [{}, {"completion_reward": 10}, {"sparse_reward": True}, {"size_reward": True}]
)
@pytest.mark.parametrize("completion", ["exact", "cover"])
def test_a_target_completed_by_an_edit_ends_with_the_next_step_unpaid(pay: Any, completion: str) -> None:
    env = parallel_env(tasks=TASK, completion=completion, **pay)
    env.reset(seed=0)
    env.edit(GRID)
    assert env.agents
    _, rewards, terminated, truncated, infos = env.step({"architect_0": "", "builder_0": 0})
    assert rewards == {"architect_0": 0.0, "builder_0": 0.0}
    assert all(terminated.values())
    assert not any(truncated.values())
    assert infos["architect_0"]["intersection"] == 3
    with pytest.raises(StateError):
        env.edit([])


def test_who_completes_after_an_edit_is_paid() -> None:
    env = gym.make("IGLUGridworldVector-v0", completion_reward=10)
    env.reset(options={**PLACES, "task": TASK.replace(invariant=False)})
    env.unwrapped.edit(GRID)
    env.unwrapped.edit([(*AHEAD, 0)])
    env.step(int(Action.HOTBAR_6))
    _, reward, terminated, _, _ = env.step(int(Action.PLACE))
    assert (reward, terminated) == (12.0, True)


def test_a_session_continues_after_an_edit() -> None:
    session = Subtasks(["one", "two"], [GRID[:1], GRID], progressive=True)
    env = gym.make("IGLUGridworldVector-v0", tasks=session[0])
    env.reset(seed=0)
    env.unwrapped.edit(GRID[:1])
    observation, reward, terminated, _, _ = env.step(0)
    assert (reward, terminated) == (0.0, False)
    assert "two" in observation["dialog"]
    env.unwrapped.edit(GRID)
    assert env.step(0)[2]


# ----------------------------------------------------------------------------------------------- every API agrees

SCRIPT = [
    Action.HOTBAR_6,
    Action.PLACE,
    Action.NOOP,
    Action.BREAK,
    Action.PLACE,
    Action.LOOK_DOWN,
    Action.PLACE,
] * 2
EDITS: dict[int, Any] = {
    0: [(3, -1, 3, 1)],
    2: [(*AHEAD, 2), (0, 0, -2, 5)],  # the cell that it has just set, and one above
    4: [(*AHEAD, 0), (0, 0, -2, 0)],
    9: blocks_to_grid([(1, -1, -2, 1), (3, -1, 3, 4), (0, -1, 0, 3)]),
}


def story(step: Any, edit: Any) -> list[Any]:
    facts = []
    for number, action in enumerate(SCRIPT):
        if number in EDITS:
            edit(EDITS[number])
        facts.append(step(int(action)))
    return facts


def seen(observation: Any, reward: Any, terminated: Any, pick: Any = lambda value: value) -> Any:
    keys = ("inventory", "agentPos", "grid")
    return [pick(observation[key]).tolist() for key in keys], float(pick(reward)), bool(pick(terminated))


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    env = gym.make("IGLUGridworldVector-v0")
    env.reset(options=PLACES)
    return story(lambda action: seen(*env.step(action)[:3]), env.unwrapped.edit)


@pytest.mark.parametrize("view", PAIR_VIEWS)
def test_games_of_two_agree(view: str, expected: Any) -> None:
    game, act = driven(view, PLACES, builder_sees=SEES)

    def step(action: int) -> Any:
        observation, paid, terminated, *_ = act(action)
        return seen(observation, paid["builder_0"], terminated)

    index = [1] if view == "games" else []
    assert story(step, lambda blocks: game.unwrapped.edit(blocks, *index)) == expected


@pytest.mark.parametrize(
    ("index", "copies"), [(1, True), ([1, 2], False), (np.array([1]), True), (None, False)]
)
def test_the_edited_worlds_of_a_batch_agree(index: Any, copies: bool, expected: Any) -> None:
    many = gym.make_vec("IGLUGridworldVector-v0", num_envs=3, copy=copies)
    plain = gym.make("IGLUGridworldVector-v0")
    for env in (many, plain):
        env.reset(options=PLACES)
    untouched: list[Any] = []

    def step(action: int) -> Any:
        observation, reward, terminated, *_ = many.step(np.full(3, action))
        untouched.append(seen(observation, reward, terminated, lambda value: value[0]))
        return seen(observation, reward, terminated, lambda value: value[1])

    assert story(step, lambda blocks: many.unwrapped.edit(blocks, index)) == expected
    alone = [seen(*plain.step(int(action))[:3]) for action in SCRIPT]
    assert untouched == (expected if index is None else alone)


def test_arrays_that_are_not_copied_show_it_at_once() -> None:
    many = gym.make_vec("IGLUGridworld-v0", num_envs=2, render_size=(24, 24), vector_state=True, copy=False)
    seen_before, _ = many.reset(options=PLACES)
    picture = seen_before["pov"].copy()
    many.unwrapped.edit([(0, -1, -2, 6)], 1)
    assert (seen_before["grid"] != 0).sum(axis=(1, 2, 3)).tolist() == [0, 1]
    assert [np.array_equal(*pair) for pair in zip(picture, seen_before["pov"], strict=True)] == [True, False]


def test_an_observation_shows_it_at_once() -> None:
    env = iglu_marl.env(tasks=TASK, builder_sees=SEES)
    env.reset(seed=0)
    env.unwrapped.edit(GRID[:2])
    for agent in env.possible_agents:
        assert np.count_nonzero(env.observe(agent)["grid"]) == 2
    _, _, _, _, info = env.last()
    assert (info["intersection"], info["target_blocks"], info["blocks"]) == (2, 3, 2)
    assert env.unwrapped.infos["builder_0"] == {"event": "nothing"}
    state = env.unwrapped.state()
    assert np.count_nonzero(state[-2178:-1089]) == 2


def test_ids_are_those_of_the_environment() -> None:
    """3 is red in the 2022 tools, and green here."""
    env = gym.make("IGLUGridworldVector-v0", compat="iglu2022", tasks=TASK)
    env.reset(seed=0)
    env.unwrapped.edit([(3, -1, 3, 3), (2, -1, 3, 1)])
    observation = env.step(0)[0]
    assert observation["grid"][index_of((3, -1, 3))] == 3
    assert env.unwrapped.episode.worlds.grid[0][index_of((3, -1, 3))] == 6
    world = np.zeros((9, 11, 11))
    world[0, 0, 0] = 6  # yellow
    env.unwrapped.edit(world)
    assert env.unwrapped.episode.worlds.grid[0].ravel()[[0]].tolist() == [2]
    assert env.unwrapped.episode.worlds.blocks[0] == 1


def test_a_block_may_be_put_where_the_builder_stands() -> None:
    """As a starting block may be there; the builder can walk away."""
    env = gym.make("IGLUGridworldVector-v0", tasks=TASK)
    env.reset(seed=0)
    env.unwrapped.edit([(0, -1, 0, 1), (0, 0, 0, 1)])
    for _ in range(12):
        observation = env.step(int(Action.FORWARD))[0]
    assert observation["agentPos"][2] < -1


def test_a_goal_that_holds_after_an_edit_pays_in_the_next_step() -> None:
    env = gym.make("iglu_marl/LanguageGoal-v0", scenes="empty", obs_type="order_invariant")
    env.reset(seed=0, options={"goal": "There is a red block."})
    game = env.unwrapped
    assert "red" not in str([record for record in game.full_descriptions if record["answer"]])
    game.edit([(3, -1, 3, 6)])
    assert game.answer_question("There is a red block.") is True
    with pytest.raises(StateError):
        game.edit(np.ones((9, 11, 11)))
    observation, reward, terminated, _, _ = game.step(0, record_achieved_goal=True)
    assert (reward, terminated) == (1.0, True)
    assert observation["blocks"][0].tolist() == [3, -1, 3, 6]
    assert game.get_achieved_goals() == [], "not achieved by this step"


def test_a_player_is_sent_the_change_with_the_next_tick() -> None:
    game = LiveGame(tasks=TASK, builder_sees=SEES)
    game.reset(seed=0)
    game.tick()
    for player in game.agent_of:
        game.snapshot(player)
    game.edit(GRID[:2])
    assert np.count_nonzero(game.observe("builder_0")["grid"]) == 2
    game.tick()
    for player in game.agent_of:
        delta = game.delta(player, 1)
        assert sorted(delta["grid"]) == [list(block) for block in GRID[:2]]
    assert game.delta(next(iter(game.agent_of)), 1)["score"] == [2, 3]


# --------------------------------------------------------------------------------------------------------- errors

WRONG = [
    [(0, 8, 0, 1)],
    [(0, 0, 0, 7)],
    [(0, 0, 0, -1)],
    [(0, 0, 0)],
    [(0, 0, 0.5, 1)],
    [(1, 0, 0, 1), (1, 0, 0, 0)],
    (0, -1, 0, 1),
    np.zeros((9, 11, 10)),
    np.full((9, 11, 11), 7),
    None,
    "red",
    5,
]


@pytest.mark.parametrize("blocks", WRONG, ids=[str(index) for index in range(len(WRONG))])
def test_wrong_blocks_change_nothing(blocks: Any) -> None:
    envs: list[Any] = [
        raw_env(),
        parallel_env(builders=2),
        LiveGame(),
        gym.make("IGLUSilentBuilder-v0"),
        VectorGame(2),
    ]
    for env in envs:
        env.reset(seed=0)
        game = env.unwrapped
        worlds = game.worlds if hasattr(game, "worlds") else game.episode.worlds
        before = worlds.get_state().tobytes()
        mixed = [(4, -1, 4, 1), *blocks] if isinstance(blocks, list) else blocks
        with pytest.raises(GridError):
            game.edit(mixed)
        assert worlds.get_state().tobytes() == before


@pytest.mark.parametrize("builder", ["builder_1", "architect_0", 0])
def test_an_unknown_builder_is_refused(builder: Any) -> None:
    for env in (
        raw_env(),
        gym.make("IGLUGridworldVector-v0"),
        gym.make_vec("IGLUGridworldVector-v0", num_envs=2),
    ):
        env.reset(seed=0)
        with pytest.raises(AgentError):
            env.unwrapped.edit([(0, 0, 0, 1)], builder=builder)


@pytest.mark.parametrize("index", [2, -1, "0", 0.5, [], [0, 0], [[0]], [0, 2]])
def test_an_unknown_world_is_refused(index: Any) -> None:
    for env in (gym.make_vec("IGLUGridworldVector-v0", num_envs=2), VectorGame(2)):
        env.reset(seed=0)
        with pytest.raises(ConfigError, match="index is"):
            env.unwrapped.edit([(0, 0, 0, 1)], index)
        assert not env.unwrapped.worlds.edits.any()


def test_a_game_that_is_over_or_not_begun_is_refused() -> None:
    for env in (raw_env(), parallel_env(), gym.make("IGLUGridworldVector-v0"), VectorGame(2), LiveGame()):
        with pytest.raises(StateError):
            env.unwrapped.edit([(0, 0, 0, 1)])  # type: ignore[attr-defined]
    many = gym.make_vec("IGLUGridworldVector-v0", num_envs=2, tasks=TASK, max_steps=5)
    many.reset(seed=0)
    many.unwrapped.edit(GRID, 0)
    many.step([0, 0])
    before = many.unwrapped.worlds.get_state().tobytes()
    with pytest.raises(StateError):
        many.unwrapped.edit([(0, 0, 0, 1)])  # world 0 waits for its reset
    assert many.unwrapped.worlds.get_state().tobytes() == before
    many.unwrapped.edit([(0, 0, 0, 1)], 1)
    many.step([0, 0])
    assert many.unwrapped.worlds.edits.tolist() == [0, 1]
