"""The course of a game: whose turn it is, budgets, pay, completion, sessions of several turns, live architects."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from probing import IDS, frozen

from iglu_marl import Role, Subtasks, Task, env, parallel_env, raw_env

ARCHITECT, BUILDER = "architect_0", "builder_0"
UNREACHABLE = Task("", [(5, 7, 5, 1), (-5, 7, -5, 2), (5, 7, -5, 3), (-5, 7, 5, 4)], invariant=False)
# The cells next to the builder that it sees at pitch -45, by its yaw.
CELL = {0: (0, -1, -1), 90: (1, -1, 0), 180: (0, -1, 1), 270: (-1, -1, 0)}
NORTH, EAST, SOUTH, WEST = CELL
DOWN = (0, -0.25, 0, 0, -45)
RED, BLUE, GREEN = 6, 1, 3


def block(yaw: int, color: int) -> tuple[int, int, int, int]:
    return (*CELL[yaw], color)


class Site:
    """A builder in the middle of four cells, which places and breaks by yaw; in any view."""

    def __init__(self, game: Any, task: Any = None) -> None:
        self.game, self.yaw = game, 0
        options: dict[str, Any] = {"pose": DOWN}
        if task is not None:
            options["task"] = task
        shown = game.reset(seed=1, options=options)
        self.seen = None if shown is None else shown[0]
        self.single = isinstance(game, gym.Env)

    def act(self, yaw: int, **keys: int) -> float:
        """One builder step; returns the builder's reward."""
        space = self.game.action_space if self.single else self.game.action_space(BUILDER)
        action = dict.fromkeys(space.spaces, 0) | keys
        turn = (yaw - self.yaw + 180) % 360 - 180
        action["camera"] = np.float32([turn, 0])
        self.yaw = yaw
        if self.single:
            self.seen, reward, self.terminated, self.truncated, _ = self.game.step(action)
            return reward
        if hasattr(self.game, "agent_iter"):
            if self.game.agent_selection == ARCHITECT:
                self.game.step("")
            self.game.step(action)
            rewards = self.game.rewards
            self.terminated, self.truncated = self.game.terminations[BUILDER], self.game.truncations[BUILDER]
        else:
            self.seen, rewards, ends, cuts, _ = self.game.step({ARCHITECT: "", BUILDER: action})
            self.terminated, self.truncated = ends[BUILDER], cuts[BUILDER]
        self.rewards = dict(rewards)
        return float(rewards[BUILDER])

    def place(self, yaw: int, color: int) -> float:
        before = self.game.unwrapped.episode.worlds.blocks[0]
        reward = self.act(yaw, hotbar=color, use=1)
        assert self.game.unwrapped.episode.worlds.blocks[0] == before + 1
        return reward

    def take(self, yaw: int) -> float:
        before = self.game.unwrapped.episode.worlds.blocks[0]
        reward = self.act(yaw, attack=1)
        assert self.game.unwrapped.episode.worlds.blocks[0] == before - 1
        return reward

    def wait(self) -> float:
        return self.act(self.yaw)


MAKERS: dict[str, Any] = {
    "raw_env": lambda **options: raw_env(controls="human-level", **options),
    "env": lambda **options: env(controls="human-level", **options),
    "parallel_env": lambda **options: parallel_env(controls="human-level", **options),
    IDS[1]: lambda **options: gym.make(IDS[1], action_space="human-level", **options),
    IDS[2]: lambda **options: gym.make(IDS[2], **options),
}


# ------------------------------------------------------------------------------------------------- floor


def speakers(game: Any, moves: list[Any]) -> list[str]:
    """Who was to move before each of these moves, and after the last."""
    seen = []
    for move in moves:
        seen.append(game.agent_selection)
        game.step(move)
    return [name.removesuffix("_0") for name in [*seen, game.agent_selection]]


def begun(make: Any = raw_env, **options: Any) -> Any:
    game = make(**{"tasks": UNREACHABLE, **options})
    game.reset(seed=1)
    return game


@pytest.mark.parametrize(
    ("turn_steps", "moves", "order"),
    [
        (1, ["", 1, "", 1, "", 1], "ab ab ab a"),
        (3, ["hi", 0, 0, 0, "", 0, 0, 0], "abbb abbb a"),
        (5, ["", 0, 18, "", 18, "", 0], "abb ab abb"),  # a yield ends a turn
        (None, ["go", *[0] * 300, 18], "a" + "b" * 301 + "a"),
    ],
)
def test_the_architect_speaks_and_then_the_builder_acts_for_its_turn(
    turn_steps: int | None, moves: list[Any], order: str
) -> None:
    game = begun(turn_steps=turn_steps, max_steps=None)
    assert "".join(name[0] for name in speakers(game, moves)) == order.replace(" ", "")
    assert game.episode.worlds.steps[0] == sum(isinstance(move, int) for move in moves)
    assert game.episode.worlds.turns[0] == sum(isinstance(move, str) for move in moves)


def test_a_turn_ends_early_by_saying() -> None:
    game = begun(turn_steps=5, builder_can_ask=True, step_cost=0.5)
    before = game.episode.worlds.pose[0].copy()
    moves = ["build", {"act": 1, "say": "  "}, {"act": 1, "say": "which colour?"}, "red"]
    assert speakers(game, moves) == ["architect", "builder", "builder", "architect", "builder"]
    assert game.episode.worlds.steps[0] == 2  # saying costs a step
    assert (
        before[2] - game.episode.worlds.pose[0, 2] == 0.25
    )  # and cancels the act: one step forward, not two
    expected = "<Architect> build\n<Builder> which colour?\n<Architect> red"
    assert game.observe(BUILDER)["dialog"] == game.observe(ARCHITECT)["dialog"] == expected


def test_in_parallel_both_act_and_words_come_first() -> None:
    game = parallel_env(tasks=UNREACHABLE, builder_can_ask=True)
    observations, _ = game.reset(seed=1, options={"pose": DOWN})
    assert observations[BUILDER]["dialog"] == ""
    for said, asked, dialog in (
        ("a", "", "<Architect> a"),
        ("", "b", "<Architect> a\n<Builder> b"),
        ("c", "d", "<Architect> a\n<Builder> b\n<Architect> c\n<Builder> d"),
    ):
        observations = game.step({ARCHITECT: said, BUILDER: {"act": 1, "say": asked}})[0]
        assert observations[BUILDER]["dialog"] == observations[ARCHITECT]["dialog"] == dialog
    assert game.episode.worlds.pose[0, 2] == -0.25  # two of the three steps were words
    assert game.episode.worlds.steps[0] == game.episode.worlds.turns[0] == 3


def test_silence_leaves_no_line() -> None:
    game = begun(turn_steps=1)
    for said in ("", "  ", "\n", "hello", ""):
        game.step(said)
        game.step(0)
    assert game.observe(BUILDER)["dialog"] == "<Architect> hello"
    assert game.episode.worlds.turns[0] == 5


def test_invisible_characters_are_removed_from_messages() -> None:
    game = begun(turn_steps=1)
    game.step("\x1b[2JA\tred\r\n\u202eblock\u2066 \ud800\ud83d\ude42\u200b")
    game.step(0)
    assert game.observe(BUILDER)["dialog"] == "<Architect> [2JA red\nblock \ufffd\U0001f642"
    loose = begun(turn_steps=1, strict=False, max_message_length=4)
    loose.step("a\x07bcdef")
    assert loose.observe(BUILDER)["dialog"] == "<Architect> abc"


def test_of_a_long_dialogue_the_latest_lines_are_seen() -> None:
    game = begun(turn_steps=1, dialog_length=40, max_turns=None)
    for number in range(30):
        game.step(f"line {number}\nand more")
        game.step(0)
        seen = game.observe(BUILDER)["dialog"]
        assert len(seen) <= 40
        assert seen.endswith(f"line {number}\nand more")
        assert seen.startswith("<Architect> ")
    game.step("x" * 100)
    assert game.observe(BUILDER)["dialog"] == "x" * 40
    assert len(game.episode.dialogue) == 31


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("vocabulary", ["templates", 1, 2, 40])
def test_tokens_are_heard_as_they_were_said(vocabulary: Any, asks: bool) -> None:
    """Any tokens at all, grammatical or not; zeros are padding, wherever they stand."""
    options = {"chat": "tokens", "vocabulary": vocabulary, "dialog_length": 60, "max_message_length": 9}
    game = begun(turn_steps=2, builder_can_ask=asks, max_turns=None, **options)
    size = int(game.action_space(ARCHITECT).nvec[0])
    rng = np.random.default_rng(1)
    expected: list[int] = []
    for _ in range(60):
        agent = game.agent_selection
        said = rng.integers(0, size, 9) * rng.integers(0, 2, 9)
        if agent == ARCHITECT:
            game.step(said)
        elif asks:
            game.step({"act": 0, "say": said})
        else:
            game.step(0)
            said *= 0
        if said.any():
            expected += [size + (agent == BUILDER), *said[said != 0].tolist()]
        for name in (ARCHITECT, BUILDER):
            seen = game.observe(name)["dialog"]
            assert seen.dtype == np.int32
            assert seen.tolist() == (expected[-60:] + [0] * 60)[:60]


# ----------------------------------------------------------------------------------------------- budgets


def until_over(game: Any, moves: dict[str, Any]) -> tuple[int, int]:
    """Builder steps and architect turns until the game is over."""
    steps = turns = 0
    while not any(game.truncations.values()):
        agent = game.agent_selection
        steps, turns = steps + (agent == BUILDER), turns + (agent == ARCHITECT)
        game.step(moves[agent])
        assert not any(game.terminations.values())
    assert all(game.truncations.values())
    return steps, turns


@pytest.mark.parametrize(
    ("options", "builds", "steps", "turns"),
    [
        ({"max_steps": 10, "turn_steps": 3}, 0, 10, 4),
        ({"max_steps": 9, "turn_steps": 3}, 0, 9, 3),
        ({"max_steps": 10, "turn_steps": 3}, 18, 10, 10),
        ({"max_steps": 1, "turn_steps": 3}, 0, 1, 1),
        ({"max_turns": 4, "turn_steps": 3}, 0, 12, 4),
        ({"max_turns": 4, "turn_steps": 3}, 18, 4, 4),
        ({"max_turns": 1, "turn_steps": None, "max_steps": 7}, 0, 7, 1),
        ({"max_turns": 2, "max_steps": 5, "turn_steps": 3}, 0, 5, 2),
        ({}, 0, 500, 10),
        ({}, 18, 100, 100),
    ],
)
@pytest.mark.parametrize("said", ["", "hello"])
def test_budgets(options: dict[str, Any], builds: int, steps: int, turns: int, said: str) -> None:
    """max_steps counts builder steps, max_turns the architect's turns, silent ones too."""
    assert until_over(begun(**options), {ARCHITECT: said, BUILDER: builds}) == (steps, turns)


@pytest.mark.parametrize(("options", "steps"), [({"max_steps": 6}, 6), ({"max_turns": 5}, 5), ({}, 100)])
def test_budgets_in_parallel(options: dict[str, Any], steps: int) -> None:
    game = begun(parallel_env, **options)
    for step in range(1, steps + 1):
        _, _, terminated, truncated, _ = game.step({ARCHITECT: "", BUILDER: 0})
        assert not any(terminated.values())
        assert list(truncated.values()) == [step == steps] * 2
    assert game.agents == []


@pytest.mark.parametrize("name", IDS)
def test_budgets_of_one_agent(name: str) -> None:
    game = gym.make(name, tasks=UNREACHABLE, max_steps=7, controls="walking")
    game.reset(seed=1)
    ends = [game.step(0)[2:4] for _ in range(7)]
    assert ends == [(False, False)] * 6 + [(False, True)]  # turns are the live architect's alone


def test_completion_in_the_last_step_counts() -> None:
    site = Site(begun(MAKERS["raw_env"], max_steps=1, tasks=Task("", [block(NORTH, RED)])))
    site.place(NORTH, RED)
    assert (site.terminated, site.truncated) == (True, True)


# --------------------------------------------------------------------------------------------------- pay


def lasts(game: Any, moves: list[Any]) -> list[tuple[str, float]]:
    """What `last()` delivered, and to whom (a or b), before each of these moves and after the last."""
    seen = []
    for move in moves:
        seen.append((game.agent_selection[0], game.last()[1]))
        game.step(move)
    return [*seen, (game.agent_selection[0], game.last()[1])]


THREE_TOKENS = np.array([5, 2, 7, *[0] * 13])
TOKENS = {"chat": "tokens", "message_cost": 0.5}


@pytest.mark.parametrize(
    ("options", "moves", "paid"),
    [
        # words, by the architect alone
        (
            {"turn_steps": 1, "message_cost": 0.5},
            ["place a red block", 0, "", 0, "  two\nwords  ", 0],
            [("a", 0), ("b", 0), ("a", -2), ("b", 0), ("a", 0), ("b", 0), ("a", -1)],
        ),
        *(
            (
                {"turn_steps": 1, "vocabulary": vocabulary, **TOKENS},
                [THREE_TOKENS, 0, THREE_TOKENS * 0, 0],
                [("a", 0), ("b", 0), ("a", -1.5), ("b", 0), ("a", 0)],
            )
            for vocabulary in ("templates", 9)
        ),
        (
            {"turn_steps": 2, "message_cost": 0.5, "builder_can_ask": True},
            ["go", {"act": 0, "say": "where to? I have no idea"}],
            [("a", 0), ("b", 0), ("a", -0.5)],
        ),
        # steps, by both
        (
            {"turn_steps": 3, "step_cost": 0.25},
            ["", 0, 0, 18, "", 0],
            [("a", 0), ("b", 0), ("b", -0.25), ("b", -0.25), ("a", -0.75), ("b", -0.25), ("b", -0.25)],
        ),
        (
            {"turn_steps": 2, "step_cost": 0.25, "rewards": "builder", "message_cost": 0.5},
            ["one two", 0, 0, ""],
            [("a", 0), ("b", 0), ("b", -0.25), ("a", -1), ("b", -0.25)],
        ),
    ],
)
def test_what_words_and_steps_cost(options: dict[str, Any], moves: list[Any], paid: list[Any]) -> None:
    assert lasts(begun(**options), moves) == paid


def test_words_in_parallel() -> None:
    game = begun(parallel_env, message_cost=0.5, step_cost=0.25)
    rewards = game.step({ARCHITECT: "a b c", BUILDER: 0})[1]
    assert rewards == {ARCHITECT: -1.75, BUILDER: -0.25}


PAY = Task("", [block(NORTH, RED), block(EAST, BLUE)], invariant=False)


@pytest.mark.parametrize("view", MAKERS)
def test_size_reward_pays_each_gain_once(view: str) -> None:
    site = Site(MAKERS[view](size_reward=True, step_cost=0.125), PAY)
    assert site.place(SOUTH, RED) == -0.125
    assert site.place(NORTH, RED) == 1 - 0.125
    assert site.take(NORTH) == -0.125
    assert site.place(NORTH, RED) == -0.125  # the record is not broken
    assert site.take(SOUTH) == -0.125
    assert site.place(EAST, BLUE) == 1 - 0.125
    assert site.terminated


# -------------------------------------------------------------------------------------------- completion


CORNER = [block(NORTH, RED), block(EAST, BLUE)]
AWAY = (4, -1, 4, GREEN)
SHIFTED = Task("", [(-4, -1, 3, RED), (-3, -1, 4, BLUE)])  # and turned
# Name -> task, what the builder does by yaw (a colour is placed, 0 takes a block away), what this
# pays, and how many of these acts complete the task exactly, and cover it (0: none).
COURSES: dict[str, tuple[Task, list[tuple[int, int]], list[int], int, int]] = {
    "one block too many": (
        PAY,
        [(NORTH, RED), (NORTH, 0), (SOUTH, GREEN), (NORTH, RED), (EAST, BLUE), (SOUTH, 0)],
        [2, -2, -1, 2, 2, 1], 6, 5,
    ),
    "removal": (
        Task("", CORNER[1:], starting_grid=CORNER),
        [(WEST, GREEN), (NORTH, 0), (WEST, 0)], [-1, 1, 1], 3, 2,
    ),
    "another colour": (
        Task("", [block(NORTH, GREEN), CORNER[1]], starting_grid=CORNER),
        [(NORTH, 0), (NORTH, BLUE), (NORTH, 0), (NORTH, GREEN)], [1, -1, 1, 2], 4, 4,
    ),
    "all is removed": (Task("", [], starting_grid=CORNER), [(NORTH, 0), (EAST, 0)], [1, 1], 2, 2),
    "starting blocks fix the frame": (
        Task("", [AWAY, CORNER[0]], starting_grid=[AWAY]),
        [(EAST, RED), (EAST, 0), (NORTH, RED)], [-1, 1, 2], 3, 3,
    ),
    "without them it may be elsewhere": (SHIFTED, [(NORTH, RED), (WEST, BLUE)], [2, 2], 2, 2),
    "but not of another shape": (
        Task("", [(-4, -1, 3, RED), (-4, 0, 3, BLUE)]), [(NORTH, RED), (WEST, BLUE)], [2, -1], 0, 0
    ),
}  # fmt: skip


@pytest.mark.parametrize("view", MAKERS)
@pytest.mark.parametrize("completion", ["exact", "cover"])
@pytest.mark.parametrize("course", COURSES)
def test_completion(view: str, completion: str, course: str) -> None:
    task, acts, rewards, exact, cover = COURSES[course]
    last = exact if completion == "exact" else cover
    site = Site(MAKERS[view](completion=completion), task)
    for number, ((yaw, color), reward) in enumerate(zip(acts, rewards, strict=True), 1):
        assert (site.place(yaw, color) if color else site.take(yaw)) == reward
        assert (site.terminated, site.truncated) == (number == last, False)
        if site.terminated:
            break


def test_all_blocks_of_a_colour_can_be_used_up() -> None:
    start = [(x, 7, z, RED) for x in range(-5, 5) for z in (-5, 5)]
    site = Site(MAKERS["raw_env"](), Task("", [block(NORTH, RED)], starting_grid=start))
    assert site.act(NORTH, hotbar=RED, use=1) == 0
    assert site.game.infos[BUILDER]["event"] == "place: none left"
    assert site.place(NORTH, BLUE) == -1


# ------------------------------------------------------------------------------ sessions of several turns

TURNS = [
    ["<Architect> a red block in the north"],
    ["<Builder> done", "<Architect> a blue one in the east"],
    ["<Architect> now take the red one away"],
]
WORLDS = [[block(NORTH, RED)], [block(NORTH, RED), block(EAST, BLUE)], [block(EAST, BLUE)]]
LINES = [line for turn in TURNS for line in turn]


def session(**options: Any) -> Subtasks:
    return Subtasks(TURNS, WORLDS, invariant=False, **{"progressive": True, **options})


def dialog(seen: dict[str, Any]) -> str:
    return seen["dialog"] if "dialog" in seen else seen["chat"]


@pytest.mark.parametrize("completion", ["exact", "cover"])
@pytest.mark.parametrize("view", [IDS[1], IDS[2]])
def test_a_session_is_replayed_live(view: str, completion: str) -> None:
    site = Site(MAKERS[view](completion=completion), session()[0])
    assert dialog(site.seen) == LINES[0]
    site.wait()
    assert dialog(site.seen) == LINES[0]
    assert site.place(NORTH, RED) == 2
    assert not site.terminated
    assert dialog(site.seen) == "\n".join(LINES[:3])
    assert site.game.task.instruction == "a blue one in the east"
    np.testing.assert_array_equal(site.game.episode.worlds.start[0], site.game.episode.worlds.grid[0])
    assert site.place(EAST, BLUE) == 2
    assert not site.terminated
    assert dialog(site.seen) == "\n".join(LINES)
    assert site.place(SOUTH, GREEN) == -1
    assert site.take(SOUTH) == 1
    assert site.take(NORTH) == 1
    assert site.terminated
    assert site.game.episode.worlds.steps[0] == 6  # one clock for the whole session


def test_a_session_can_begin_in_the_middle() -> None:
    site = Site(MAKERS[IDS[1]](), session()[1])
    assert dialog(site.seen) == "\n".join(LINES[:3])
    site.place(EAST, BLUE)
    assert dialog(site.seen) == "\n".join(LINES)
    site.take(NORTH)
    assert site.terminated


def test_baselines_of_size_reward_are_reset_with_the_episode() -> None:
    turns, worlds = ["a", "b", "c"], [[block(NORTH, RED)], [], [block(NORTH, RED)]]
    task = Subtasks(turns, worlds, invariant=False, progressive=True)[0]
    site = Site(MAKERS[IDS[1]](size_reward=True), task)
    assert [site.place(NORTH, RED), site.take(NORTH), site.place(NORTH, RED)] == [1, 0, 1]
    assert site.terminated


@pytest.mark.parametrize(
    ("options", "rewards"),
    [
        ({"completion_reward": 10}, [-1, 1, 12, 1, 12]),
        ({"sparse_reward": True}, [0, 0, 1, 0, 1]),
    ],
)
def test_completion_is_paid_in_each_turn(options: dict[str, Any], rewards: list[float]) -> None:
    turns, worlds = ["a", "b"], [[block(NORTH, RED)], [block(EAST, BLUE)]]
    task = Subtasks(turns, worlds, invariant=False, progressive=True)[0]
    site = Site(MAKERS[IDS[1]](completion="cover", **options), task)
    paid = [site.place(SOUTH, GREEN), site.take(SOUTH), site.place(NORTH, RED)]
    assert not site.terminated
    paid += [site.take(NORTH), site.place(EAST, BLUE)]
    assert site.terminated
    assert paid == rewards


@pytest.mark.parametrize("view", [IDS[1], IDS[2]])
def test_a_single_turn_ends_the_episode(view: str) -> None:
    site = Site(MAKERS[view](), session(progressive=False)[0])
    site.place(NORTH, RED)
    assert site.terminated
    assert dialog(site.seen) == LINES[0]


@pytest.mark.parametrize("completion", ["exact", "cover"])
def test_turns_without_a_change_are_over_with_their_words(completion: str) -> None:
    red, blue = [block(NORTH, RED)], [block(NORTH, RED), block(EAST, BLUE)]
    turns, worlds = ["red", "well done", "blue", "thank you", "bye"], [red, red, blue, blue, blue]
    task = Subtasks(turns, worlds, invariant=False, progressive=True)[0]
    site = Site(MAKERS[IDS[1]](completion=completion), task)
    site.place(NORTH, RED)
    assert not site.terminated
    assert dialog(site.seen).splitlines() == [f"<Architect> {said}" for said in turns[:3]]
    assert site.place(EAST, BLUE) == 2
    assert site.terminated
    assert dialog(site.seen).splitlines() == [f"<Architect> {said}" for said in turns]


def test_a_second_turn_follows_the_build_of_the_first() -> None:
    """A first turn without starting blocks may be built anywhere; the second then goes on from there."""
    task = Subtasks(TURNS[:2], WORLDS[:2], progressive=True)[0]
    site = Site(MAKERS[IDS[1]](), task)
    site.place(EAST, RED)  # a quarter turn off
    assert dialog(site.seen) == "\n".join(LINES[:3])
    assert site.place(SOUTH, BLUE) == 2
    assert site.terminated


@pytest.mark.parametrize("view", ["raw_env", "env", "parallel_env"])
def test_a_recorded_session_never_speaks_in_a_game_of_two(view: str) -> None:
    """There the architect is alive: what was recorded tells about the target."""
    options = {} if view == "parallel_env" else {"turn_steps": 1}
    site = Site(MAKERS[view](**options), session()[0])
    site.place(NORTH, RED)
    assert not site.terminated
    game = site.game.unwrapped
    assert game.task.instruction == "a blue one in the east"
    assert game._observers[BUILDER].observe(game.episode)["dialog"] == ""
    site.place(EAST, BLUE)
    site.take(NORTH)
    assert site.terminated
    assert str(game.episode.dialogue) == ""


def test_a_restored_session_plays_its_remaining_turns() -> None:
    site = Site(MAKERS[IDS[1]](), session()[0])
    state = site.game.get_state()
    site.place(NORTH, RED)
    later = site.game.get_state()
    site.game.set_state(state)
    assert site.game.task == session()[0]
    site.place(NORTH, RED)
    assert frozen(site.game.get_state().episode.dialogue.text) == frozen(later.episode.dialogue.text)
    for used in (True, False):
        other = Site(MAKERS[IDS[1]](), PAY)
        if not used:
            other.game = MAKERS[IDS[1]]()
        other.game.set_state(pickle.loads(pickle.dumps(later)))  # noqa: S301 (our own bytes)
        other.place(EAST, BLUE)
        assert dialog(other.seen) == "\n".join(LINES)


# --------------------------------------------------------------------------------------- live architects


class Counting:
    """An architect that counts its turns aloud and keeps what it was shown."""

    def __init__(self, silent: bool = False) -> None:
        self.silent, self.turn, self.shown, self.begun, self.closed = silent, 0, [], [], 0

    def reset(self, role: Role, seed: int | None) -> None:
        self.turn = 0
        self.begun.append((role, seed))

    def act(self, observation: Any) -> Any:
        self.turn += 1
        self.shown.append(observation)
        return "" if self.silent else f"turn {self.turn}"

    def close(self) -> None:
        self.closed += 1


class Knowing(Counting):
    privileged = True

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        super().reset(role, seed)
        self.task = task

    def act(self, observation: Any) -> Any:
        super().act(observation)
        return f"build {self.task.target_size} blocks"


def lines(*turns: int) -> str:
    return "\n".join(f"<Architect> turn {turn}" for turn in turns)


@pytest.mark.parametrize("name", IDS)
def test_a_live_architect(name: str) -> None:
    architect = Counting()
    task = UNREACHABLE.replace(dialog="<Architect> as it was recorded")
    game = gym.make(name, architect=architect, tasks=task, turn_steps=3, controls="walking", max_turns=3)
    observation, _ = game.reset(seed=1)
    assert dialog(observation) == lines(1)
    heard = [(dialog(shown[0]), *shown[2:4]) for shown in (game.step(0) for _ in range(9))]
    assert [text for text, _, _ in heard] == [lines(1)] * 2 + [lines(1, 2)] * 3 + [lines(1, 2, 3)] * 4
    assert [end for _, *end in heard] == [[False, False]] * 8 + [[False, True]]
    assert set(architect.shown[0]) == {"target_grid", "grid", "dialog", "agentPos"}
    assert [shown["dialog"] for shown in architect.shown] == ["", lines(1), lines(1, 2)]
    np.testing.assert_array_equal(architect.shown[0]["target_grid"], task.target_grid)
    assert game.reset()[0] is not None
    assert [role for role, _ in architect.begun] == [Role.ARCHITECT] * 2
    assert architect.begun[0][1] != architect.begun[1][1]
    game.close()
    assert architect.closed == 1


def test_a_privileged_architect_knows_the_task() -> None:
    game = gym.make(IDS[1], architect=Knowing(), tasks=UNREACHABLE)
    assert game.reset(seed=1)[0]["dialog"] == "<Architect> build 4 blocks"


def test_a_live_architect_and_a_session() -> None:
    """The recorded words stay out; the turns go on."""
    site = Site(MAKERS[IDS[1]](architect=Counting(), turn_steps=1), session()[0])
    site.place(NORTH, RED)
    assert site.seen["dialog"] == lines(1, 2)
    assert site.game.task.instruction == "a blue one in the east"
