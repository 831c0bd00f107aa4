"""Games of several architects and builders: one world, and who sees, hears and holds what."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from probing import TEAM, Player, frozen
from team_referee import TeamReferee

import iglu_marl
from iglu_marl import (
    ConfigError,
    GameConfig,
    PoseError,
    StateError,
    Task,
    env,
    parallel_env,
    raw_env,
)
from iglu_marl.core.actions import Action
from iglu_marl.core.dialogue import Dialogue, Role, Utterance, decode_dialogue, speakers_of
from iglu_marl.core.grid import blocks_to_grid, color_id
from iglu_marl.game.knowledge import Parts, side_view
from iglu_marl.game.team import SHARED
from iglu_marl.language.goals import GoalSpace, GoalTasks
from iglu_marl.tasks import RandomTasks

STEPS = int(os.environ.get("IGLU_MARL_TEAM_STEPS", "9000"))  # of the referee, over all team sizes
PLAIN = ("inventory", "compass", "dialog", "pose", "grid")
NORTH, SOUTH = (0.0, 0.0, 1.0, 0.0, -60.0), (0.0, 0.0, -3.0, 180.0, -60.0)  # both aim at the same cell
BODY = (0.0, 0.0, 0.0, 0.0, 0.0)


def sampled(seed: int, **options: Any) -> Task:
    return RandomTasks(max_blocks=8, height_levels=3, max_dist=3, num_colors=6, **options).sample(
        np.random.default_rng(seed)
    )


def rows(game: Any) -> Any:
    return game.unwrapped.episode.worlds


def stepped(game: Any, **actions: Any) -> Any:
    """Step a parallel game; architects are silent and builders stand still unless given here."""
    idle = {agent: "" if agent.startswith("architect") else int(Action.NOOP) for agent in game.agents}
    return game.step({**idle, **actions})


# --- one world ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("builders", [2, 3, 4])
def test_a_team_agrees_with_a_referee_in_plain_python(builders: int) -> None:
    """Grid, score, inventories, rewards and the end, after each act of random games with many edits."""
    rng = np.random.default_rng(builders)
    names = [f"builder_{number}" for number in range(builders)]
    stocks = [[20] * 6, [20, 0, 3, 1, 20, 20], [5] * 6, [0, 0, 0, 0, 0, 20]][:builders]
    game = raw_env(
        builders=builders, builder_sees=PLAIN, turn_steps=7, max_steps=150, max_turns=None,
        inventories=dict(zip(names[1:], stocks[1:], strict=True)),
    )  # fmt: skip
    weights = np.array([1, 6, 3, 3, 3, 1, *[1] * 6, 4, 4, 2, 4, 12, 24, 1], float)
    edits = ends = refused = 0
    referee = TeamReferee(Task("", np.zeros((9, 11, 11), np.int8)), stocks)
    for number in range(STEPS // 3):
        if number == 0 or not game.agents or any((*game.terminations.values(), *game.truncations.values())):
            near = rng.uniform((-1.5, 0, -1.5, 0, -80), (1.5, 0, 1.5, 360, -20), (builders, 5))
            target = sampled(number).target_grid
            kept = target * (rng.random(target.shape) < 0.7) if number % 2 else np.zeros_like(target)
            if np.array_equal(kept, target):  # complete at its start
                kept = np.zeros_like(target)
            task = Task("", target, starting_grid=kept, invariant=bool(number % 3))
            game.reset(seed=number, options={"task": task, "pose": near.tolist()})
            referee = TeamReferee(task, stocks)
        agent, worlds = game.agent_selection, rows(game)
        if agent == "architect_0":
            game.step("")
            continue
        builder, action = names.index(agent), int(rng.choice(19, p=weights / weights.sum()))
        poses, before = worlds.pose.copy(), referee.grid.copy()
        waiting = game.episode.worlds.floor == 0
        reward = referee.act(builder, action, poses)
        edits += (before != referee.grid).any()
        game.step(action)
        assert not waiting[builder], "a builder that has ended its turn is not asked"
        assert (worlds.grid == referee.grid).all()
        assert (worlds.best == referee.best).all()
        assert (worlds.blocks == np.count_nonzero(referee.grid)).all()
        assert worlds.inventory.tolist() == referee.held
        assert set(game.rewards.values()) == {reward}
        assert game.terminations[agent] == referee.complete
        used = [
            [n - placed for n, placed in zip(*pair, strict=True)]
            for pair in zip(stocks, referee.placed, strict=True)
        ]
        started = np.bincount(task.start_grid.ravel(), minlength=7)[1:]
        assert worlds.inventory.tolist() == (np.array(used) - started).tolist(), (
            "each keeps account of its own blocks"
        )
        for name in SHARED:
            assert (worlds.state[name] == worlds.state[name][:1]).all(), name
        refused += worlds.event[builder] == 7
        ends += referee.complete
    assert edits > STEPS / 30
    assert refused > 0


def test_builders_act_in_their_order_within_a_step() -> None:
    game = parallel_env(builders=2, builder_sees=PLAIN)
    game.reset(options={"task": sampled(1), "pose": [NORTH, SOUTH]})
    aimed = rows(game)
    _, _, _, _, infos = stepped(game, builder_0=17, builder_1=17)
    assert aimed.change[0].tolist()[:3] != aimed.change[1].tolist()[:3]
    assert infos["architect_0"]["events"] == {"builder_0": "placed", "builder_1": "placed"}
    assert np.count_nonzero(aimed.grid[0]) == np.count_nonzero(aimed.grid[1]) == 2
    stepped(game, builder_0=16)
    *_, infos = stepped(game, builder_0=16, builder_1=16)
    assert np.count_nonzero(aimed.grid[0]) <= 1


def test_bodies_do_not_block_the_way() -> None:
    game = parallel_env(builders=2, builder_sees=PLAIN)
    for other in (BODY, (4.0, 0.0, 4.0, 0.0, 0.0)):
        game.reset(options={"task": sampled(1), "pose": [(0.0, 0.0, 2.0, 0.0, 0.0), other]})
        for _ in range(12):
            stepped(game, builder_0=1)
        assert rows(game).pose[0, 2] < -0.5


def test_a_builder_that_ended_its_turn_waits_for_the_others() -> None:
    game = raw_env(architects=2, builders=2, builder_sees=PLAIN, turn_steps=4)
    game.reset(seed=0)
    order = []
    for action in ("a", "b", 18, 1, 1, 18, "", "", 1, 1):
        order.append(game.agent_selection)
        game.step(action)
    builders = ["builder_0", "builder_1", "builder_1", "builder_1"]
    assert order == [
        "architect_0",
        "architect_1",
        *builders,
        "architect_0",
        "architect_1",
        "builder_0",
        "builder_1",
    ]
    assert rows(game).steps.tolist() == [4, 4]
    assert rows(game).turns.tolist() == [2, 2]
    lines = game.episode.dialogue.text
    assert lines == "<Architect 0> a\n<Architect 1> b"


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [("shared", [1.0, 1.5, 1.5, 1.5]), ("builder", [-0.5, 0.0, 1.5, 1.5]), ("own", [1.0, 1.5, 2.0, -0.5])],
)
def test_who_gets_which_reward(rewards: Any, expected: list[float]) -> None:
    """Two blocks in one step: one of the target, one beside it. Words are paid by who says them."""
    target = blocks_to_grid([(0, -1, 0, 1), (3, -1, 3, 2)])
    game = parallel_env(
        architects=2, builders=2, builder_sees=PLAIN, rewards=rewards, message_cost=0.25, wrong_scale=0.5
    )
    task = Task("", target, invariant=False)
    game.reset(options={"task": task, "pose": [(0, 0, 1, 0, -45), (-3, 0, 3, 0, -45)]})
    _, got, *_ = stepped(game, architect_0="two words", builder_0=17, builder_1=17)
    assert list(got.values()) == expected


def test_the_end_comes_with_the_act_that_completes() -> None:
    target = blocks_to_grid([(0, -1, 0, 1)])
    game = parallel_env(builders=2, builder_sees=PLAIN, completion_reward=10)
    poses = [(0, 0, 1, 0, -45), (0, 0, 1, 0, -45)]
    game.reset(options={"task": Task("", target, invariant=False), "pose": poses})
    _, rewards, ends, _, _ = stepped(game, builder_0=17, builder_1=16)
    assert set(ends.values()) == {True}
    assert set(rewards.values()) == {12.0}
    assert np.array_equal(rows(game).grid[1], target), "what would come after the end does not happen"


def test_a_progressive_task_changes_its_turn_for_every_agent() -> None:
    first, second = blocks_to_grid([(0, -1, 0, 1)]), blocks_to_grid([(0, -1, 0, 1), (3, -1, 3, 2)])
    tasks = iglu_marl.Subtasks(["one", "two"], [first, second], progressive=True)
    game = parallel_env(
        builders=3, builder_sees=PLAIN, sees={"builder_2": "color:yellow"}, completion_reward=10
    )
    seen, _ = game.reset(seed=0, options={"pose": (0, 0, 1, 0, -45), "task": next(iter(tasks))})
    assert not seen["builder_2"]["target_grid"].any()
    seen, rewards, ends, *_ = stepped(game, builder_1=17)
    assert set(rewards.values()) == {12.0}
    assert not any(ends.values())
    assert (rows(game).target == second).all()
    assert rows(game).best.tolist() == [1, 1, 1]
    assert np.unique(seen["builder_2"]["target_grid"]).tolist() == [0, 2]


def test_a_best_build_is_paid_once_to_a_team() -> None:
    game = parallel_env(builders=2, builder_sees=PLAIN, size_reward=True)
    task = Task("", blocks_to_grid([(0, -1, 0, 1), (3, -1, 3, 2)]), invariant=False)
    game.reset(options={"task": task, "pose": (0, 0, 1, 0, -45)})
    steps: list[dict[str, int]] = [{"builder_0": 17}, {"builder_1": 16}, {"builder_1": 17}]
    assert [stepped(game, **step)[1]["builder_0"] for step in steps] == [1.0, 0.0, 0.0]


# --- who sees, hears and holds what ----------------------------------------------------------------------------


def hidden_swaps(rng: np.random.Generator, target: np.ndarray, part: str) -> np.ndarray:
    """A target that looks the same in this part, and differs elsewhere."""
    other = rng.integers(0, 7, target.shape) * (rng.random(target.shape) < 0.3)
    kind, _, which = part.partition(":")
    if kind == "side":
        axis, back = {"north": (2, 1), "south": (2, -1), "west": (1, 1), "east": (1, -1)}[which]
        lines, others = np.moveaxis(target, axis, 2), np.moveaxis(other, axis, 2)
        lines, others = lines[:, :, ::back], others[:, :, ::back]
        seen = np.maximum.accumulate(lines != 0, axis=2)
        first = seen & ~np.pad(seen, ((0, 0), (0, 0), (1, 0)))[:, :, :-1]
        moved = np.where(first | ~seen, lines, others)[:, :, ::back]
        return np.moveaxis(moved, 2, axis).astype(np.int8)
    known = Parts((part,)).mask(target).astype(bool)
    if kind == "color":
        other[other == color_id(which)] = 0
    return np.where(known, target, other).astype(np.int8)


PARTS = (
    "none", "layers:0-2", "layers:3-8", "color:red", "color:blue", "side:north", "side:east", "side:south",
    "side:west", "half:north", "half:east", "half:south", "half:west", "half:lower", "half:upper",
)  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_what_an_agent_must_not_see_changes_nothing(part: str) -> None:
    """Of architects and builders: observations and infos, over a game in which a target is swapped for another."""
    rng, chat = np.random.default_rng(len(part)), ("text", "tokens")[PARTS.index(part) % 2]
    target = (rng.integers(0, 7, (9, 11, 11)) * (rng.random((9, 11, 11)) < 0.4)).astype(np.int8)
    swapped = hidden_swaps(rng, target, part)
    assert not np.array_equal(target, swapped)
    sights = ("target_grid", "grid", "dialog", "pose", "target_view", "grid_view", "goal", "goal_program")
    stories: list[dict[str, list[Any]]] = []
    for played in (target, swapped):
        game = parallel_env(
            architects=2, builders=2, chat=chat, architect_sees=sights, pov_size=(8, 8), rewards="own", shaping=True,
            builder_sees=("pov", *PLAIN, "aim", "egocentric", "hotbar"),
            sees={"architect_0": part, "architect_1": "all", "builder_1": part},
        )  # fmt: skip
        player = Player(game, 3)
        seen, infos = game.reset(seed=3, options={"task": Task("", played, invariant=False)})
        story = {agent: [frozen((seen[agent], infos[agent]))] for agent in game.agents}
        for _ in range(12):
            moves = {agent: player.spaces[agent].sample() for agent in game.agents}
            seen, *_, infos = game.step(moves)
            for agent, told in story.items():
                told.append(frozen((seen[agent], infos[agent])))
        stories.append(story)
    one, other = stories
    for agent in ("architect_0", "builder_0", "builder_1"):
        assert one[agent] == other[agent], agent
    assert one["architect_1"] != other["architect_1"], "who sees all of it sees the difference"
    if part == "none":
        assert "target_grid" not in game.observation_space("builder_1").spaces


def test_parts_together_are_the_whole() -> None:
    target = np.random.default_rng(0).integers(0, 7, (9, 11, 11))
    for names in (
        ("half:north", "half:south"),
        ("half:east", "half:west"),
        ("half:lower", "half:upper"),
        ("layers:0-4", "layers:5-8"),
        ("all",),
    ):
        assert Parts(names).mask(target).all(), names
        assert not names[1:] or not Parts(names[:1]).mask(target).all()
    colors = [f"color:{name}" for name in ("blue", "yellow", "green", "orange", "purple", "red")]
    assert (sum(Parts((name,)).mask(target) for name in colors) == (target != 0)).all()


def test_a_side_as_it_looks_from_there() -> None:
    """A red block in the north-east, a blue one right behind it to the south, a green one in the south-west corner."""
    red, blue, green = map(color_id, ("red", "blue", "green"))
    grid = blocks_to_grid([(4, -1, -2, red), (4, -1, -1, blue), (-5, 2, 5, green)])
    expected = {
        "north": {(0, 1): red, (3, 10): green},
        "south": {(0, 9): blue, (3, 0): green},
        "east": {(0, 7): red, (0, 6): blue, (3, 0): green},
        "west": {(0, 3): red, (0, 4): blue, (3, 10): green},
    }
    for side, blocks in expected.items():
        view = side_view(grid, side)
        assert view.shape == (9, 11)
        assert {tuple(map(int, cell)): int(view[tuple(cell)]) for cell in np.argwhere(view)} == blocks


def test_an_assistant_sees_nothing_beside_one_who_sees() -> None:
    game = parallel_env(builders=2, builder_sees=PLAIN, sees={"builder_0": "all", "architect_0": "none"})
    seen, infos = game.reset(seed=1)
    assert np.array_equal(seen["builder_0"]["target_grid"], rows(game).target[0])
    assert seen["builder_0"]["target_mask"].all()
    assert "target_grid" not in seen["builder_1"]
    assert not seen["architect_0"]["target_grid"].any()
    assert set(infos["architect_0"]) == {"events"}


def test_a_goal_in_words_is_for_who_sees_the_whole_and_paid_to_all() -> None:
    tasks = GoalTasks(
        GoalSpace(["There is a blue block."]), scenes=lambda rng: np.zeros((9, 11, 11), np.int8)
    )
    game = parallel_env(
        architects=2, builders=2, tasks=tasks, builder_sees=PLAIN,
        architect_sees=("goal", "goal_program"), sees={"architect_0": "half:north"},
    )  # fmt: skip
    seen, _ = game.reset(seed=0, options={"pose": (0, 0, 1, 0, -45)})
    assert seen["architect_0"] == {"goal": "", "goal_program": ""}
    assert "blue" in seen["architect_1"]["goal"]
    _, rewards, ends, *_ = stepped(game, builder_1=17)
    assert set(rewards.values()) == {1.0}
    assert set(ends.values()) == {True}


@pytest.mark.parametrize("chat", ["text", "tokens"])
def test_only_the_hearers_of_an_agent_read_its_messages(chat: Any) -> None:
    hearers = {"architect_0": "architect_1", "architect_1": ("builder_0",), "builder_1": ()}
    game = parallel_env(
        architects=2, builders=2, builder_sees=PLAIN, builder_can_ask=True, hearers=hearers, chat=chat
    )
    game.reset(seed=1)
    codec = game.episode.chat.codec if chat == "tokens" else None

    def said(text: str) -> Any:
        if codec is None:
            return text
        tokens = codec.encode(text)
        return np.array([*tokens, *[0] * (16 - len(tokens))])

    build = {"act": 0}
    seen, *_ = game.step(
        {
            "architect_0": said("red"),
            "architect_1": said("blue"),
            "builder_0": {**build, "say": said("green")},
            "builder_1": {**build, "say": said("orange")},
        }
    )
    heard = {}
    for agent, observation in seen.items():
        dialog = observation["dialog"]
        speakers = speakers_of(2, 2)
        dialogue = Dialogue.parse(dialog) if codec is None else decode_dialogue(dialog, codec, speakers)
        heard[agent] = [part.text for part in dialogue]
    assert heard == {
        "architect_0": ["red", "green"],
        "architect_1": ["red", "blue", "green"],
        "builder_0": ["blue", "green"],
        "builder_1": ["green", "orange"],
    }


def test_the_text_of_a_team_comes_back_and_cannot_be_imitated() -> None:
    dialogue = Dialogue().say(Role.ARCHITECT, "one\n<Architect 1> two", 0).say("builder", "three", 12)
    assert dialogue.text == "<Architect 0> one\n <Architect 1> two\n<Builder 12> three"
    assert Dialogue.parse(dialogue.text) == dialogue
    assert Dialogue.parse("<builder 3> x")[0] == Utterance(Role.BUILDER, "x", 3)
    assert dialogue[0] != Utterance(Role.ARCHITECT, dialogue[0].text)


def test_inventories_by_builder() -> None:
    stocks = {"builder_0": {"red": 2}, "builder_1": (1, 2, 3, 4, 5, 6)}
    game = parallel_env(builders=3, builder_sees=PLAIN, inventories=stocks)
    task = Task("", blocks_to_grid([(0, -1, 0, 1)]), starting_grid=[(3, -1, 3, color_id("red"))])
    seen, _ = game.reset(seed=1, options={"task": task})
    assert [seen[f"builder_{k}"]["inventory"].tolist() for k in range(3)] == [
        [0, 0, 0, 0, 0, 1], [1, 2, 3, 4, 5, 5], [20, 20, 20, 20, 20, 19],
    ]  # fmt: skip


def test_each_sees_where_the_others_are() -> None:
    game = parallel_env(builders=3, builder_sees=PLAIN)
    poses = [(0, 0, 1, 10, -45), (2, 0, 1, 20, -45), (3, 0, 1, 30, -45)]
    seen, _ = game.reset(seed=1, options={"pose": poses})
    yaw = {
        agent: observation["others"][:, 4].tolist()
        for agent, observation in seen.items()
        if "others" in observation
    }
    assert yaw == {"builder_0": [20, 30], "builder_1": [10, 30], "builder_2": [10, 20]}
    assert seen["architect_0"]["agentPos"][:, 4].tolist() == [10, 20, 30]
    with pytest.raises(PoseError, match="a pose for each of builder_0, builder_1, builder_2"):
        game.reset(options={"pose": poses[:2]})
    for wrong in ([], [1, [2]], [poses[0], [0, [1]], poses[2]]):
        with pytest.raises(PoseError):
            game.reset(options={"pose": wrong})


# --- contracts -------------------------------------------------------------------------------------------------


def test_a_state_of_another_team_is_refused() -> None:
    configs = [GameConfig(**{**TEAM, "builders": builders}) for builders in (3, 2)]
    made, smaller = map(parallel_env, configs)
    for game in (made, smaller):
        game.reset(seed=5)
    with pytest.raises(StateError):
        made.set_state(smaller.get_state())
    state = made.get_state()
    state.episode.world["grid"][1, 0, 0, 0] ^= 1
    with pytest.raises(StateError, match="grid differ between the builders"):
        made.set_state(state)
    with pytest.raises(StateError, match="turn is 9"):
        made.set_state(state._replace(episode=state.episode._replace(turn=9)))


# --- by name ---------------------------------------------------------------------------------------------------


def test_the_four_teams() -> None:
    sizes = {"craft": (3, 1), "division": (1, 2), "assistant": (0, 2), "relay": (2, 1)}
    craft, division, assistant, relay = teams = [parallel_env(name) for name in sizes]
    assert [(team.config.architects, team.config.builders) for team in teams] == [*sizes.values()]
    for seed in range(20):
        craft.reset(seed=seed)
        target = rows(craft).target[0]
        views = [craft.episode.view(agent).sides for agent in craft.possible_agents[:3]]
        assert [[int(k) for k in range(4) if (view[k] >= 0).all()] for view in views] == [[3], [0], [1]]
        blocks = np.argwhere(target)
        assert 21 <= len(blocks) <= 25
        assert (np.ptp(blocks, axis=0) <= 2).all()
        assert (target[:-1][target[1:] != 0] != 0).all(), "nothing floats"
    seen, _ = division.reset(seed=0)
    held = [seen[f"builder_{k}"]["inventory"] for k in range(2)]
    assert (np.minimum(*held) == 0).all()
    assert (np.maximum(*held) == 20).all()
    three = GameConfig.of("division", {"builders": 3}).inventories
    assert three is not None
    assert [sum(count > 0 for count in stock) for stock in three.values()] == [2, 2, 2]
    seen, _ = assistant.reset(seed=0)
    assert [("target_grid" in seen[agent]) for agent in assistant.agents] == [True, False]
    relay.reset(seed=0)
    acts = {"act": 0, "say": "what?"}
    seen, *_ = relay.step({"architect_0": "red", "architect_1": "blue", "builder_0": acts})
    assert seen["builder_0"]["dialog"] == "<Architect 1> blue\n<Builder> what?"
    assert seen["architect_0"]["dialog"] == "<Architect 0> red\n<Architect 1> blue"
    assert not seen["architect_1"]["target_grid"].any()
    for wrong in ("team", ""):
        with pytest.raises(ConfigError, match="expected a GameConfig or one of 'craft', 'division'"):
            env(wrong)


def test_turns_without_architects_follow_each_other() -> None:
    game = raw_env(architects=0, builders=2, turn_steps=2, max_turns=3, max_steps=None, builder_sees=PLAIN)
    game.reset(seed=0)
    order = []
    while not any(game.truncations.values()):
        order.append(game.agent_selection[-1])
        game.step(18 if len(order) in (1, 4) else 0)
    assert "".join(order) == "011" + "011" + "0101", "in the first two turns one of them yields"
