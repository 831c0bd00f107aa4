"""Wrappers for learning libraries: what they show is what was there, what they do is what was meant, in every view."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from probing import frozen

import iglu_marl
from iglu_marl import ActionError, ConfigError, Controls, Task
from iglu_marl.core.controls import CONTROLS
from iglu_marl.envs import VectorGame
from iglu_marl.envs.language import LanguageGoal
from iglu_marl.envs.wrappers import action_table, align, discretize, flatten, mask
from iglu_marl.tasks import RandomTasks

ARCHITECT, BUILDER = "architect_0", "builder_0"
TASKS = RandomTasks(max_blocks=4, num_colors=3)
GAME: dict[str, Any] = {
    "tasks": TASKS,
    "chat": "tokens",
    "vocabulary": 5,
    "max_message_length": 2,
    "dialog_length": 9,
    "builder_sees": ("inventory", "compass", "dialog", "pose", "grid"),
    "max_steps": 25,
}
SYMBOL = {**GAME, "max_message_length": 1}


def lone(name: str = "IGLUGridworldVector-v0", **options: Any) -> Any:
    return gym.make(name, **{"tasks": TASKS, "max_steps": 30, **options})


def played(env: Any, count: int, seed: int = 0) -> list[Any]:
    """Observations and infos of random play in a Gymnasium environment, all of which lie in their space."""
    env.action_space.seed(seed)
    shown = [env.reset(seed=seed)]
    for _ in range(count):
        observation, _, terminated, truncated, info = env.step(env.action_space.sample())
        shown.append((observation, info))
        if terminated or truncated:
            shown.append(env.reset())
    for observation, _ in shown:
        assert env.observation_space.contains(observation)
    return shown


def entries(env: Any, vector: Any, agent: str = BUILDER) -> dict[str, Any]:
    """The parts of a vector by the last key of their paths."""
    while "layout" not in vars(change := getattr(env.changes[agent], "seen", env.changes[agent])):
        env = env.env
    return {path[-1]: vector[..., first:last] for path, first, last in change.layout}


# ------------------------------------------------------------------------------------------------------ observations


@pytest.mark.parametrize(
    "name",
    ["IGLUGridworld-v0", "IGLUGridworldVector-v0", "IGLUSilentBuilder-v0", "IGLUSilentBuilderVisual-v0"],
)
@pytest.mark.parametrize("style", [{}, {"words": "one-hot"}])
def test_every_vector_lies_in_its_box(name: str, style: dict[str, Any]) -> None:
    options: dict[str, Any] = {"target_in_obs": True} if "Gridworld" in name else {}
    if name != "IGLUGridworldVector-v0":
        options["pov_size"] = (8, 8)
    env = flatten(lone(name, chat="tokens", dialog_length=6, **options), **style)
    assert env.observation_space.dtype == np.float32
    shown = played(env, 60)
    assert np.std([observation for observation, _ in shown], axis=0).any()
    assert all(isinstance(info["event"], int) for _, info in shown)


@pytest.mark.parametrize("name", ["IGLUGridworldVector-v0", "IGLUSilentBuilder-v0"])
def test_a_vector_holds_what_was_observed(name: str) -> None:
    """Every entry can be read back, air and colours of either numbering included."""
    plain = lone(name, chat="tokens", vocabulary=6, dialog_length=4, tasks=Task("s3 s6 s3", [(0, -1, -2, 4)]))
    wrapped = flatten(copy.deepcopy(plain), words="one-hot")
    start = [(x, -1, -3, color) for x, color in zip(range(-3, 3), range(1, 7), strict=True)]
    options = {"task": Task("s3 s6 s3", [(0, -1, -2, 4)], starting_grid=start), "pose": (1, 2, 3, 270, -15)}
    observation, vector = plain.reset(options=options)[0], wrapped.reset(options=options)[0]
    found, inner = entries(wrapped, vector), plain.observation_space

    air = -1 if "Silent" in name else 0
    planes = found["grid"].reshape(9, 11, 11, 6)
    assert planes.sum() == 6
    colors = np.where(planes.any(axis=-1), planes.argmax(axis=-1) + 1 + air, air)
    np.testing.assert_array_equal(colors, observation["grid"])

    low, high = inner["agentPos"].low, inner["agentPos"].high
    np.testing.assert_allclose(found["agentPos"] * (high - low) + low, observation["agentPos"], atol=1e-4)
    np.testing.assert_allclose(found["inventory"] * 20, observation["inventory"])
    words = observation["chat" if "Silent" in name else "dialog"]
    rows = found["chat" if "Silent" in name else "dialog"].reshape(4, 8)
    np.testing.assert_array_equal(np.where(rows.any(axis=1), rows.argmax(axis=1) + 1, 0), words)
    if "Silent" in name:  # a Dict in the Dict
        np.testing.assert_allclose(found["angle"], (observation["compass"]["angle"] + 180) / 360)


def test_counted_words() -> None:
    env = flatten(lone(chat="tokens", vocabulary=4, dialog_length=8))
    vector = env.reset(options={"task": Task("<Architect> s2 s2 s4\n<Builder> s1", [(0, -1, 0, 1)])})[0]
    # s1, s2, s3, s4, the architect's mark, the builder's
    assert entries(env, vector)["dialog"].tolist() == [1, 2, 0, 1, 1, 1]


def test_vectors_of_bytes() -> None:
    """Zeros, ones and counts as they are, fractions in steps of 1/255."""
    envs = [flatten(lone(chat="tokens", dialog_length=6), dtype=dtype) for dtype in ("float32", "uint8")]
    numbers, small = ([seen for seen, _ in played(env, 20)] for env in envs)
    assert {seen.dtype for seen in small} == {np.dtype(np.uint8)}
    for one, two in zip(numbers, small, strict=True):
        wide, narrow = (entries(env, seen) for env, seen in zip(envs, (one, two), strict=True))
        for key in ("grid", "dialog"):
            np.testing.assert_array_equal(wide[key], narrow[key])
        for key in ("agentPos", "inventory", "compass"):
            np.testing.assert_array_equal(np.rint(wide[key] * 255), narrow[key])
    with pytest.raises(ConfigError, match="300 tokens of 'dialog'"):
        flatten(lone(chat="tokens", dialog_length=300), dtype="uint8")
    with pytest.raises(ConfigError, match="dtype is 'int8'"):
        flatten(lone(chat="tokens"), dtype="int8")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_vectors_that_are_used_again_show_each_step(mode: str) -> None:
    """`copy=False`: the same arrays in every step, with the numbers of new ones, also after episodes and resets."""
    options: dict[str, Any] = {**GAME, "max_steps": 5, "autoreset_mode": mode, "controls": "flying"}
    options["architect_sees"] = ("target_grid", "dialog", "grid", "pose")
    fresh, again = (align(discretize(VectorGame(4, **options, copy=copy))) for copy in (True, False))
    rng, firsts = np.random.default_rng(0), []
    for seed in (1, 2):
        shown = [env.reset(seed=seed)[0] for env in (fresh, again)]
        for _ in range(20):
            for agent in fresh.possible_agents:
                np.testing.assert_array_equal(shown[0][agent], shown[1][agent])
            firsts.append(shown[1][BUILDER])
            high = fresh.action_space(BUILDER).nvec
            actions = {agent: rng.integers(high, size=(4, len(high))) for agent in fresh.possible_agents}
            shown = [env.step(actions)[0] for env in (fresh, again)]
    assert len({id(vector) for vector in firsts}) == 1


def test_flattening_refuses_what_has_no_place() -> None:
    with pytest.raises(ConfigError, match=r"'dialog' is text.*chat='tokens'"):
        flatten(lone())
    with pytest.raises(ConfigError, match="leaves nothing"):
        flatten(lone(), drop=("dialog", "grid", "agentPos", "compass", "inventory"))
    with pytest.raises(ConfigError, match="drop is 'dialog'"):
        flatten(lone(), drop="dialog")
    with pytest.raises(ConfigError, match="words is 'letters'"):
        flatten(lone(), drop=("dialog",), words="letters")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="expected a Dict"):
        flatten(flatten(lone(), drop=("dialog",)))
    with pytest.raises(ConfigError, match="env is 3"):
        flatten(3)


def test_masks_of_language_goals_read_actions_as_the_innermost_environment_does() -> None:
    """Wrappers may lie outside of them, and inside."""
    inside = LanguageGoal(discretize(lone(action_space="human-level")), scenes="empty")
    outside = discretize(gym.make("iglu_marl/LanguageGoal-v0", controls="human-level", scenes="empty"))
    masks = [mask(env).reset(seed=0)[1]["action_mask"] for env in (inside, outside)]
    assert masks[0].tolist() == masks[1].tolist()
    assert 0 < masks[0].sum() < len(masks[0])


# ------------------------------------------------------------------------------------------------------------ actions


@pytest.mark.parametrize("kind", ["discrete", "multidiscrete"])
@pytest.mark.parametrize("controls", CONTROLS)
def test_numbers_stand_for_actions_of_the_space(controls: str, kind: Any) -> None:
    inner = lone(action_space=controls)
    env = discretize(inner, kind, camera_deg=4.0)
    change, space = env.changes[BUILDER], inner.action_space
    if controls == "walking":
        assert env.action_space == space
        return
    env.action_space.seed(0)
    if kind == "discrete":
        actions = [change.act(number) for number in range(env.action_space.n)]
        assert len({repr(frozen(action)) for action in actions}) == len(actions)
        moved = [sum(np.any(part != 0) for part in action.values()) for action in actions]
        assert moved == [0] + [1] * (len(actions) - 1), "one thing at a time, and nothing first"
    else:
        actions = [change.act(env.action_space.sample()) for _ in range(100)]
        nothing = change.act(np.zeros_like(env.action_space.nvec))
        assert not any(np.any(part) for part in nothing.values())
    assert all(space.contains(action) for action in actions)
    for key, part in space.items():  # every entry reaches both its ends
        seen = np.array([np.asarray(action[key]) for action in actions])
        reach = 4 if key == "camera" else part.n - 1 if isinstance(part, spaces.Discrete) else part.high.max()
        assert seen.max() == reach
        assert seen.min() == (0 if isinstance(part, spaces.Discrete) else -reach)


def test_whole_cells_turn_by_quarters() -> None:
    env = discretize(lone(action_space="discrete"))
    cameras = [tuple(row["camera"]) for row in env.changes[BUILDER].table if "camera" in row]
    assert cameras == [(-90, 0), (90, 0), (0, -45), (0, 45)]
    right = next(number for number, row in enumerate(env.changes[BUILDER].table) if "camera" in row) + 1
    env.reset(seed=0, options={"pose": (0, 0, 0, 0, 0)})
    env.step(right)
    assert env.unwrapped.episode.worlds.pose[0, 3] == 90
    narrow = action_table(Controls("discrete", camera_limit=30).space)  # type: ignore[arg-type]
    assert max(np.abs(row["camera"]).max() for row in narrow if "camera" in row) == 30
    given = action_table(lone(action_space="discrete").action_space, 10)
    assert max(np.abs(row["camera"]).max() for row in given if "camera" in row) == 10


def test_an_action_by_number_does_what_the_action_does() -> None:
    for options in (
        {"table": [{}, {"placement": 1, "inventory": 3}, {"movement": (1, 0, -1), "camera": (3, -2)}]},
        {},
    ):
        plain = lone(action_space="flying")
        env = discretize(copy.deepcopy(plain), **options)
        table = env.changes[BUILDER].table
        plain.reset(seed=3)
        env.reset(seed=3)
        for number in np.random.default_rng(0).integers(len(table), size=30).tolist():
            action = {"movement": np.zeros(3), "camera": np.zeros(2), "inventory": 0, "placement": 0}
            whole = {**action, **{key: np.asarray(value) for key, value in table[number].items()}}
            one, two = plain.step(whole), env.step(number)
            assert frozen(one) == frozen(two)
            if one[2] or one[3]:
                break
    assert table == [row if number else {} for number, row in enumerate(table)]


def test_a_builder_that_asks_acts_in_digits() -> None:
    for controls, acts in (("walking", [19]), ("flying", [20])):
        env = discretize(iglu_marl.parallel_env(**GAME, controls=controls, builder_can_ask=True))
        assert env.action_space(BUILDER) == spaces.MultiDiscrete([*acts, 6, 6])
        env.reset(seed=0)
        observations = env.step({ARCHITECT: np.array([3, 0]), BUILDER: np.array([1, 0, 4])})[0]
        assert observations[ARCHITECT]["dialog"].tolist() == [6, 3, 7, 4, 0, 0, 0, 0, 0]
    with pytest.raises(ConfigError, match="asks in text"):
        discretize(iglu_marl.parallel_env(controls="flying", builder_can_ask=True))


@pytest.mark.parametrize("bad", [-1, 20, 1.0, "1", None, [[1]], True])
def test_a_wrong_number_changes_nothing(bad: Any) -> None:
    env = discretize(lone(action_space="flying"))
    env.reset(seed=0)
    before = env.unwrapped.episode.worlds.get_state().tobytes()
    with pytest.raises(ActionError, match="action"):
        env.step(bad)
    assert env.unwrapped.episode.worlds.get_state().tobytes() == before


def test_wrong_tables() -> None:
    env = lone(action_space="flying")
    for table, message in (
        ([], "empty"),
        ([{"jump": 1}], r"table\[0\]"),
        ([{}, {"placement": 3}], r"table\[1\].*outside"),
        ([5], r"table\[0\] is 5"),
    ):
        with pytest.raises(ConfigError, match=message):
            discretize(env, table=table)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="camera_deg is 6"):
        discretize(env, camera_deg=6)
    with pytest.raises(ConfigError, match="kind is 'one'"):
        discretize(env, "one")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="table is given"):
        discretize(env, "multidiscrete", table=[{}])
    assert action_table(env.action_space)[0] == {}


# --------------------------------------------------------------------------------------------------------- both alike


def aligned_story(env: Any, seed: int, count: int) -> list[Any]:
    """Random parallel play of an aligned game; checks that the two have the same spaces."""
    boxes, moves = (
        [space(agent) for agent in env.possible_agents] for space in (env.observation_space, env.action_space)
    )
    assert boxes[0] == boxes[1]
    assert moves[0] == moves[1]
    rng, shown = np.random.default_rng(seed), [env.reset(seed=seed)]
    for _ in range(count):
        if not env.agents:
            shown.append(env.reset())
        space = moves[0]
        high = space.nvec if isinstance(space, spaces.MultiDiscrete) else space.n
        actions = {agent: rng.integers(high) for agent in env.possible_agents}
        shown.append(env.step(actions))
        for agent, box in zip(env.possible_agents, boxes, strict=True):
            assert box.contains(shown[-1][0][agent])
    return shown


@pytest.mark.parametrize("controls", CONTROLS)
@pytest.mark.parametrize("asks", [False, True])
def test_both_agents_alike(controls: str, asks: bool) -> None:
    env = iglu_marl.parallel_env(**GAME, controls=controls, builder_can_ask=asks)
    shown = aligned_story(align(discretize(env) if controls != "walking" else env), 1, 40)
    env = align(discretize(iglu_marl.parallel_env(**SYMBOL, controls=controls)), actions="discrete")
    aligned_story(env, 2, 40)
    assert set(shown[0][1][ARCHITECT]) == set(shown[0][1][BUILDER]) == {"event"}


@pytest.mark.parametrize("masked", [False, True])
def test_the_target_does_not_reach_the_builder(masked: bool) -> None:
    """Another target with the same words and acts: all that the builder is given stays the same."""
    stories = []
    for block in ((3, 1, 3, 1), (-3, -1, 2, 5)):
        options = {**SYMBOL, "tasks": Task("", [block, (5, 7, 5, 2)]), "rewards": "builder"}
        env = align(iglu_marl.parallel_env(**options), actions="discrete")
        env = mask(env) if masked else env
        shown = aligned_story(env, 5, 60)
        stories.append([(part[0][BUILDER], part[-1][BUILDER]) for part in shown])
        assert any(np.ptp(observation) > 0 for observation, _ in stories[-1])
    assert frozen(stories[0]) == frozen(stories[1])


def test_each_uses_its_own_digits() -> None:
    env = align(iglu_marl.parallel_env(**GAME, builder_can_ask=True), words="one-hot")
    assert env.action_space(ARCHITECT) == spaces.MultiDiscrete([6, 6, 19])
    env.reset(seed=0)
    env.step({ARCHITECT: np.array([2, 5, 18]), BUILDER: np.array([0, 0, 13])})
    assert env.unwrapped.episode.dialogue.text == "<Architect> s2 s5"
    assert env.unwrapped.episode.worlds.pose[0, 3] == 5  # turned right
    env.step({ARCHITECT: np.array([0, 0, 3]), BUILDER: np.array([1, 0, 13])})
    assert env.unwrapped.episode.dialogue.text == "<Architect> s2 s5\n<Builder> s1"
    for wrong in ([6, 0, 0], [0, 0, 19], [0, 0], 3):
        with pytest.raises(ActionError, match="action of architect_0"):
            env.step({ARCHITECT: np.array(wrong), BUILDER: np.zeros(3, int)})


def test_one_number_each() -> None:
    env = align(iglu_marl.raw_env(**{**SYMBOL, "vocabulary": 30}), actions="discrete")
    assert env.action_space(BUILDER) == spaces.Discrete(31)
    env.reset(seed=0)
    env.step(30)
    assert env.unwrapped.episode.dialogue.text == "<Architect> s30"
    twin = copy.deepcopy(env)
    env.step(30)  # no such move
    twin.step(0)
    assert frozen(env.unwrapped.get_state()) == frozen(twin.unwrapped.get_state())
    with pytest.raises(ConfigError, match="max_message_length=1"):
        align(iglu_marl.parallel_env(**GAME), actions="discrete")
    with pytest.raises(ConfigError, match="actions is 'both'"):
        align(env, actions="both")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="one agent"):
        align(lone(chat="tokens"))
    with pytest.raises(ConfigError, match="discretize"):
        align(iglu_marl.parallel_env(**GAME, controls="flying"))


# -------------------------------------------------------------------------------------------------------------- masks


def with_effect(env: Any, play: Callable[[int], Any], count: int) -> np.ndarray:
    """Which of `count` actions lead elsewhere than doing nothing (0), now or while time passes."""
    state, stories = env.unwrapped.get_state(), []
    for number in range(count):
        env.unwrapped.set_state(state)
        shown = [play(number), *(play(0) for _ in range(3))]
        worlds = env.unwrapped.episode.worlds
        body = [getattr(worlds, name).copy() for name in ("active", "pose", "speed", "slices")]
        stories.append(frozen([shown, body]))
    env.unwrapped.set_state(state)
    return np.array([story != stories[0] for story in stories])


@pytest.mark.slow
@pytest.mark.parametrize("controls", CONTROLS)
def test_a_masked_action_changes_nothing_and_others_do(controls: str) -> None:
    """Against the environment itself: from a saved state, play each action and let time pass."""
    env = mask(
        discretize(lone(action_space=controls, max_steps=None, tasks=Task("", [(5, 7, 5, 1), (5, 6, 5, 2)])))
    )
    rng, masked, count = np.random.default_rng(2), set(), int(env.action_space.n)
    _, info = env.reset(seed=0, options={"pose": (0, -0.25, 0, 0, -40)})
    for _ in range(40):
        changes = with_effect(env, lambda number: env.step(number)[0], count)
        np.testing.assert_array_equal(info["action_mask"][1:], changes[1:])
        assert info["action_mask"][0] == 1
        masked |= set(np.flatnonzero(info["action_mask"] == 0).tolist())
        info = env.step(int(rng.integers(count)))[4]
    assert masked


def test_masks_of_hands() -> None:
    """Walking: 6..11 choose a colour, 16 breaks, 17 places."""
    many = [(x, -1, z, 1) for x in range(-5, 0) for z in range(4)]  # all 20 blue blocks
    task = Task("", [(5, 7, 5, 1)], starting_grid=many)
    env = mask(lone(tasks=task))
    assert env.reset(seed=0)[1]["action_mask"][[6, 16, 17]].tolist() == [0, 0, 0]  # nothing in reach
    down = env.reset(seed=0, options={"pose": (3, -0.25, 0, 0, -50)})[1]["action_mask"]
    assert down[[6, 7, 16, 17]].tolist() == [0, 1, 0, 0]  # blue in hand, none left; the ground does not break
    down = env.step(7)[4]["action_mask"]
    assert down[[6, 7, 17]].tolist() == [1, 0, 1]
    np.testing.assert_array_equal(env.action_masks(), down.astype(bool))
    assert not hasattr(flatten(lone(), drop=("dialog",)), "action_masks")


def test_yielding_has_an_effect_where_there_are_turns() -> None:
    env = mask(iglu_marl.raw_env(**GAME, turn_steps=3))
    env.reset(seed=0)
    env.step(np.zeros(2, int))
    assert env.agent_selection == BUILDER
    assert env.last()[4]["action_mask"][18] == 1
    env.step(0)
    env.step(0)
    assert env.last()[4]["action_mask"][18] == 0  # the turn ends with this step in any case
    assert "action_mask" not in env.infos[ARCHITECT]  # it speaks in rows
    both = mask(iglu_marl.parallel_env(**GAME))
    assert both.reset(seed=0)[1][BUILDER]["action_mask"][18] == 0


def test_masks_of_aligned_agents() -> None:
    env = mask(align(iglu_marl.parallel_env(**SYMBOL), actions="discrete"))
    infos = env.reset(seed=0)[1]
    assert infos[ARCHITECT]["action_mask"].tolist() == [1] * 6 + [0] * 13
    with pytest.raises(ConfigError, match="discretize"):
        mask(lone(action_space="flying"))


def test_an_action_in_disguise_is_masked() -> None:
    table = [{}, {"inventory": 2}, {"inventory": 2}, {}]
    env = mask(discretize(lone(action_space="flying"), table=table))
    assert env.reset(seed=0)[1]["action_mask"].tolist() == [1, 1, 0, 0]


def test_a_table_without_a_pause_always_leaves_a_choice() -> None:
    env = mask(discretize(lone(action_space="flying"), table=[{"placement": 1}, {"placement": 2}]))
    assert env.reset(seed=0)[1]["action_mask"].tolist() == [1, 1]


# -------------------------------------------------------------------------------------------------- contracts, copies


SEES = {"architect_0": ("half:north", "side:west"), "builder_1": "color:red"}
TEAMS: dict[str, dict[str, Any]] = {
    "1x2": {"builders": 2},
    "2x1": {"architects": 2, "sees": {"architect_1": "none"}},
    "2x2": {"architects": 2, "builders": 2, "sees": SEES, "inventories": {"builder_1": {"red": 2}}},
    "0x2": {"architects": 0, "builders": 2, "sees": {"builder_0": "all"}},
    "1x3": {"builders": 3, "hearers": {"builder_2": ()}},
    "16x16": {"architects": 16, "builders": 16, "max_steps": 5},
}


def game_of(team: str, **more: Any) -> dict[str, Any]:
    """The options of a game of a team; without the length of messages where nobody speaks."""
    options = {**GAME, **TEAMS.get(team, {}), **more}
    if not options.get("architects", 1) and not options.get("builder_can_ask"):
        del options["max_message_length"]
    return options


def numbers_only(info: dict[str, Any]) -> bool:
    return all(np.asarray(value).dtype.kind in "biuf" for value in info.values())


@pytest.mark.parametrize("team", ["1x1", *TEAMS])
def test_what_the_agents_of_a_team_see_lies_at_the_same_place(team: str) -> None:
    """In `align`, each agent has the numbers of `flatten` at the places that the layout names, and 0 elsewhere."""
    alike, own = (wrap(iglu_marl.parallel_env(**game_of(team))) for wrap in (align, flatten))
    rng = np.random.default_rng(1)
    seen, alone = alike.reset(seed=2)[0], own.reset(seed=2)[0]
    agents = alike.possible_agents
    assert (
        len({alike.observation_space(agent) == alike.observation_space(agents[0]) for agent in agents}) == 1
    )
    for _ in range(5):
        for number, agent in enumerate(agents):
            vector = seen[agent].copy()
            assert alike.observation_space(agent).contains(vector)
            assert entries(alike, vector, agent)["role"].tolist() == np.eye(len(agents))[number].tolist()
            vector[-len(agents) :] = 0
            mine = entries(own, alone[agent], agent)
            for key, numbers in entries(alike, vector, agent).items():
                if key in mine:
                    np.testing.assert_array_equal(numbers[: len(mine[key])], mine[key])
                    numbers[: len(mine[key])] = 0
            assert not vector.any()
        actions = {agent: rng.integers(alike.action_space(agent).nvec) for agent in agents}
        seen = alike.step(actions)[0]
        parts = {
            agent: row[:-1] if agent.startswith("architect") else row[-1] for agent, row in actions.items()
        }
        alone = own.step(parts)[0]


@pytest.mark.parametrize(
    ("team", "kind"),
    [
        ("1x1", "multidiscrete"),
        ("1x1", "discrete"),
        ("1x2", "discrete"),
        ("0x2", "discrete"),
        ("2x2", "discrete"),
    ],
)
def test_many_games_of_a_team_are_wrapped_as_one_is(team: str, kind: Any) -> None:
    controls = "flying" if team == "1x1" else "walking"
    options = game_of(team, max_message_length=1, max_steps=6, controls=controls)
    masked = kind == "discrete"

    def wrapped(env: Any) -> Any:
        env = align(discretize(env, kind) if controls == "flying" else env, actions=kind)
        return mask(env) if masked else env

    many = wrapped(VectorGame(2, **options, autoreset_mode="SameStep"))
    ones = [wrapped(iglu_marl.parallel_env(**options)) for _ in range(2)]
    agents = many.possible_agents
    seen, infos = many.reset(seed=4)
    shown = [one.reset(seed=4 + number) for number, one in enumerate(ones)]
    ended = 0
    for number, agent in enumerate(agents):
        many.batched_action_space(agent).seed(number)
    for _ in range(20):
        for number in range(2):
            for agent in agents:
                np.testing.assert_array_equal(seen[agent][number], shown[number][0][agent])
                assert many.batched_observation_space(agent).contains(seen[agent])
                if masked:
                    own = shown[number][1][agent]["action_mask"]
                    np.testing.assert_array_equal(infos[agent]["action_mask"][number], own)
        actions = {agent: many.batched_action_space(agent).sample() for agent in agents}
        seen, rewards, _, _, infos = many.step(actions)
        assert all(
            numbers_only({key: value for key, value in info.items() if "final" not in key})
            for info in infos.values()
        )
        for number, one in enumerate(ones):
            last, paid, *_, info = one.step({agent: actions[agent][number] for agent in agents})
            assert all(rewards[agent][number] == paid[agent] for agent in agents)
            shown[number] = last, info
            if not one.agents:
                ended += 1
                for agent in agents:
                    np.testing.assert_array_equal(infos[agent]["final_obs"][number], last[agent])
                    assert numbers_only(infos[agent]["final_info"])
                shown[number] = one.reset()
    assert ended


def test_masks_of_a_team() -> None:
    """An action is masked if it has no effect in a step in which the other builders do nothing."""
    task = Task("", [(5, 7, 5, 1), (5, 6, 5, 2)])
    poses = {
        "builder_0": (0, -0.25, 0, 0, -50),
        "builder_1": (0, -0.25, -1, 180, -40),
        "builder_2": (4, 0, 4, 0, 0),
    }
    options = {
        **GAME,
        "builders": 3,
        "tasks": task,
        "max_steps": None,
        "inventories": {"builder_1": {"blue": 1}},
    }
    env = mask(iglu_marl.parallel_env(**options))
    _, infos = env.reset(seed=0, options={"pose": poses})
    builders = ("builder_0", "builder_1", "builder_2")
    still = {ARCHITECT: np.zeros(2, int), **dict.fromkeys(builders, 0)}
    rng, masked = np.random.default_rng(2), set()
    assert infos["builder_0"]["action_mask"][17] == 0, "builder_1 stands there"
    assert infos["builder_1"]["action_mask"][17] == 0, "builder_0 stands there"
    for _ in range(12):
        for agent in builders:
            changes = with_effect(env, lambda number, agent=agent: env.step({**still, agent: number})[0], 19)
            np.testing.assert_array_equal(infos[agent]["action_mask"][1:], changes[1:])
            masked |= set(np.flatnonzero(~changes[1:]).tolist())
        acts = {agent: int(rng.choice([1, 2, 3, 7, 13, 15, 16, 17])) for agent in builders}
        infos = env.step({**still, **acts})[4]
    assert len(masked) > 3
