"""The five action encodings: their spaces, and what each action does in the world."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from probing import IDS

from iglu_marl import Task, parallel_env, raw_env
from iglu_marl.core.actions import Action
from iglu_marl.core.controls import CONTROLS, Controls
from iglu_marl.core.conventions import IGLU2021
from iglu_marl.core.worlds import Worlds
from iglu_marl.game.episode import EVENTS
from iglu_marl.planning.support import supported_cells

WHY = ("nothing in reach", "none left", "builder in the way")
FAR_AWAY = [(5, 7, 5, 1), (-5, 7, -5, 2), (5, 6, -5, 3)]  # a target that nobody builds by chance


def box(limit: float, *shape: int) -> Box:
    return Box(-limit, limit, shape, np.float32)


HANDS = {"attack": Discrete(2), "use": Discrete(2), "hotbar": Discrete(7)}
SPACES: dict[str, Any] = {
    "walking": Discrete(18),
    "flying": Dict(movement=box(1, 3), camera=box(5, 2), inventory=Discrete(7), placement=Discrete(3)),
    "human-level": Dict(
        **HANDS,
        **{key: Discrete(2) for key in ("forward", "back", "left", "right", "jump")},
        camera=box(180, 2),
    ),
    "discrete": Dict(**HANDS, move=Discrete(3), strafe=Discrete(3), jump=Discrete(2), camera=box(180, 2)),
    "continuous": Dict(**HANDS, move_x=box(1), move_y=box(1), move_z=box(1), camera=box(180, 2)),
}


@pytest.mark.parametrize("controls", CONTROLS)
@pytest.mark.parametrize("name", IDS)
def test_spaces_of_one_agent(name: str, controls: str) -> None:
    assert gym.make(name, action_space=controls).action_space == SPACES[controls]
    assert gym.make(name, controls=controls).action_space == SPACES[controls]


def test_default_spaces() -> None:
    assert gym.make("IGLUGridworld-v0").action_space == Discrete(18)
    assert gym.make("IGLUGridworldVector-v0").action_space == Discrete(18)
    assert gym.make("IGLUSilentBuilder-v0").action_space == SPACES["human-level"]
    assert gym.make("IGLUSilentBuilderVisual-v0").action_space == SPACES["human-level"]
    keys = gym.make("IGLUGridworld-v0", discretize=False).action_space
    assert keys == Dict({**SPACES["human-level"].spaces, "camera": box(5, 2)})


@pytest.mark.parametrize("controls", CONTROLS)
@pytest.mark.parametrize("make", [raw_env, parallel_env])
def test_spaces_of_the_builder(make: Any, controls: str) -> None:
    space = make(controls=controls).action_space("builder_0")
    if controls == "walking":
        expected: Any = Discrete(19)
    else:
        expected = Dict({**SPACES[controls].spaces, "yield": Discrete(2)})
    assert space == expected
    asking = make(controls=controls, builder_can_ask=True)
    assert asking.action_space("builder_0") == Dict(act=expected, say=asking.action_space("architect_0"))


class Hand:
    """An environment for one builder, read through its observations."""

    def __init__(
        self, controls: str, pose: Any = (0, -0.25, 0, 0, 0), blocks: Any = (), **options: Any
    ) -> None:
        task = Task("", FAR_AWAY, starting_grid=list(blocks) or None, ids="iglu")
        self.env = gym.make("IGLUGridworldVector-v0", action_space=controls, tasks=task, **options)
        self.seen, _ = self.env.reset(seed=0, options={"pose": pose})
        self.before = dict(self.seen)
        self.controls = controls
        self.info: dict[str, Any] = {}

    def __call__(self, action: Any = None, /, **keys: Any) -> Hand:
        if self.controls != "walking":
            action = {
                key: np.zeros(space.shape, space.dtype)[()] for key, space in self.env.action_space.items()
            }
            action |= {key: np.float32(value) if np.ndim(value) else value for key, value in keys.items()}
        self.before = self.seen
        self.seen, _, _, _, self.info = self.env.step(0 if action is None else action)
        return self

    @property
    def position(self) -> list[float]:
        return self.seen["agentPos"][:3].tolist()

    @property
    def moved(self) -> list[float]:
        return (self.seen["agentPos"] - self.before["agentPos"])[:3].round(5).tolist()

    @property
    def pitch_yaw(self) -> list[float]:
        return self.seen["agentPos"][3:].tolist()

    @property
    def blocks(self) -> list[tuple[int, int, int, int]]:
        grid = self.seen["grid"]
        return [(x - 5, y - 1, z - 5, int(grid[y, x, z])) for y, x, z in np.argwhere(grid).tolist()]


NORTH, EAST, SOUTH, WEST = (0, 0, -1), (1, 0, 0), (0, 0, 1), (-1, 0, 0)
COMPASS = {0: NORTH, 90: EAST, 180: SOUTH, 270: WEST}
AHEAD = {yaw: tuple(map(int, np.add((0, -1, 0), way))) for yaw, way in COMPASS.items()}  # seen at pitch -45
DOWN = (0, -0.25, 0, 0, -45)


def times(way: tuple[int, ...], amount: float) -> list[float]:
    return [part * amount + 0.0 for part in way]


def turned(way: tuple[int, int, int], quarters: int) -> tuple[int, int, int]:
    """A direction after so many quarter turns to the right."""
    x, y, z = way
    for _ in range(quarters % 4):
        x, z = -z, x
    return x, y, z


# ----------------------------------------------------------------------------------------------- walking


@pytest.mark.parametrize("yaw", COMPASS)
@pytest.mark.parametrize(("action", "quarters"), [(1, 0), (2, 2), (3, 3), (4, 1)])
def test_walking_moves_a_quarter_of_a_cell(yaw: int, action: int, quarters: int) -> None:
    hand = Hand("walking", (0, -0.25, 0, yaw, 0))(action)
    assert hand.moved == times(turned(COMPASS[yaw], quarters), 0.25)
    assert hand(0).moved == [0, 0, 0]


def test_walking_jumps() -> None:
    hand = Hand("walking")
    heights = [hand(5 if step == 0 else 0).position[1] for step in range(20)]
    assert 0.8 < max(heights) < 0.9
    assert heights[-1] == -0.25
    assert hand.position[::2] == [0, 0]


@pytest.mark.parametrize(("action", "pitch_yaw"), [(12, [0, 355]), (13, [0, 5]), (14, [5, 0]), (15, [-5, 0])])
def test_walking_looks_around(action: int, pitch_yaw: list[float]) -> None:
    hand = Hand("walking")(action)
    assert hand.pitch_yaw == pitch_yaw
    assert hand.moved == [0, 0, 0]


def test_looking_up_and_down_is_swapped_for_2022() -> None:
    assert Hand("walking", compat="iglu2022")(14).pitch_yaw == [-5, 0]
    assert Hand("walking", compat="iglu2022")(15).pitch_yaw == [5, 0]


def test_walking_places_and_breaks() -> None:
    hand = Hand("walking", DOWN)(17)
    assert hand.blocks == [(*AHEAD[0], 1)]
    assert hand.seen["inventory"].tolist() == [19, 20, 20, 20, 20, 20]
    assert hand(16).blocks == []
    assert hand.seen["inventory"].tolist() == [20] * 6


def test_pitch_stops_and_yaw_goes_round() -> None:
    hand = Hand("walking", (0, -0.25, 0, 0, 85))
    assert hand(14)(14)(14).pitch_yaw[0] == 90
    for _ in range(73):
        hand(13)
    assert hand.pitch_yaw[1] == 5
    assert hand.seen["compass"].tolist() == [5]


@pytest.mark.parametrize(
    ("yaw", "compass"), [(0, 0), (90, 90), (180, 180), (185, -175), (270, -90), (355, -5)]
)
def test_the_compass_shows_north(yaw: int, compass: int) -> None:
    assert Hand("walking", (0, -0.25, 0, yaw, 0)).seen["compass"].tolist() == [compass]
    old = Hand("walking", (0, -0.25, 0, yaw, 0), compat="iglu2022")
    assert old.seen["compass"].tolist() == [yaw - 180]


def test_the_compass_of_2022_is_computed_in_double() -> None:
    """From the yaw itself; from the one that is seen, it is another number here."""
    yaw = 190.1
    assert float(np.float32(yaw) - np.float32(180)) != float(np.float32(yaw - 180))
    old = Hand("walking", (0, -0.25, 0, yaw, 0), compat="iglu2022")
    assert old.seen["compass"].tolist() == [float(np.float32(yaw - 180))]


@pytest.mark.parametrize("controls", ["flying", "human-level", "discrete", "continuous"])
def test_the_camera_of_minerl_is_pitch_and_yaw_and_pitch_goes_down(controls: Any) -> None:
    """For one and for many."""
    own, minerl = Controls(controls), Controls(controls, conventions=IGLU2021)
    assert own.space == minerl.space
    action = {key: space.sample() for key, space in own.space.items()}  # type: ignore[attr-defined]
    for camera, meant in (((5, 0), (0, -5)), ((0, 5), (5, 0)), ((-2, 3), (3, 2))):
        records, index = minerl.encode({**action, "camera": np.array(camera, np.float32)})
        assert tuple(records[index]["camera"]) == meant
        batch = {key: np.array([value] * 3) for key, value in {**action, "camera": camera}.items()}
        records, numbers = minerl.encode_many(batch, 3)
        assert (records["camera"][numbers] == meant).all()


# -------------------------------------------------------------------------------------------- human-level


@pytest.mark.parametrize("yaw", COMPASS)
def test_keys(yaw: int) -> None:
    pose = (0, -0.25, 0, yaw, 0)
    for keys, quarters in (("forward", 0), ("right", 1), ("back", 2), ("left", 3)):
        assert Hand("human-level", pose)(**{keys: 1}).moved == times(turned(COMPASS[yaw], quarters), 0.25)
    assert Hand("human-level", pose)(forward=1, back=1).moved == [0, 0, 0]
    assert Hand("human-level", pose)(forward=1, back=1, left=1, right=1).moved == [0, 0, 0]
    both = np.add(COMPASS[yaw], turned(COMPASS[yaw], 1)) * (0.25 / np.sqrt(2))
    assert Hand("human-level", pose)(forward=1, right=1).moved == pytest.approx(both.tolist(), abs=1e-5)
    assert Hand("human-level", pose)(jump=1).moved[1] > 0


def test_keys_climb_one_block() -> None:
    hand = Hand("human-level", blocks=[(0, -1, -1, 1), (0, -1, -2, 1)])
    for _ in range(3):
        hand(forward=1)
    assert hand.position == pytest.approx([0, -0.25, -0.25])  # it is in the way
    hand(forward=1, jump=1)
    for _ in range(4):
        hand(forward=1)
    for _ in range(15):
        hand()
    assert hand.position[1] == 0.75
    assert hand.position[2] < -0.5


# -------------------------------------------------------------------------------- what all dicts share

DICTS = [name for name in CONTROLS if name != "walking"]


def hotbar(controls: str, color: int) -> dict[str, int]:
    return {"inventory" if controls == "flying" else "hotbar": color}


def put(controls: str) -> dict[str, int]:
    return {"placement": 1} if controls == "flying" else {"use": 1}


def take(controls: str) -> dict[str, int]:
    return {"placement": 2} if controls == "flying" else {"attack": 1}


@pytest.mark.parametrize("controls", DICTS)
def test_camera_is_yaw_and_pitch(controls: str) -> None:
    assert Hand(controls)(camera=[5, 0]).pitch_yaw == [0, 5]
    assert Hand(controls)(camera=[-5, 0]).pitch_yaw == [0, 355]
    assert Hand(controls)(camera=[0, 5]).pitch_yaw == [5, 0]
    assert Hand(controls)(camera=[3, -4]).pitch_yaw == [-4, 3]
    if controls != "flying":
        assert Hand(controls)(camera=[-170, 50]).pitch_yaw == [50, 190]
        assert Hand(controls)(camera=[0, 180]).pitch_yaw == [90, 0]


@pytest.mark.parametrize("color", range(7))
@pytest.mark.parametrize("controls", DICTS)
def test_a_colour_can_be_chosen_and_placed_at_once(controls: str, color: int) -> None:
    hand = Hand(controls, DOWN)(**hotbar(controls, color), **put(controls))
    assert hand.blocks == [(*AHEAD[0], color or 1)]  # blue is active at the start
    assert hand(**hotbar(controls, 3)).blocks == [(*AHEAD[0], color or 1)]
    assert hand(**take(controls)).blocks == []


@pytest.mark.parametrize("controls", [name for name in DICTS if name != "flying"])
def test_both_hands_do_nothing(controls: str) -> None:
    hand = Hand(controls, DOWN)(use=1)
    assert hand(use=1, attack=1).blocks == [(*AHEAD[0], 1)]
    assert hand.info["event"] == "both hands"


@pytest.mark.parametrize("controls", DICTS)
def test_the_camera_turns_before_the_hands_act(controls: str) -> None:
    hand = Hand(controls, (0, -0.25, 0, 0, -43))(camera=[5, -2], **put(controls))
    assert hand.pitch_yaw == [-45, 5]
    assert hand.blocks == [(*AHEAD[0], 1)]
    if controls != "flying":
        assert Hand(controls, DOWN)(camera=[90, 0], **put(controls)).blocks == [(*AHEAD[90], 1)]


@pytest.mark.parametrize("controls", CONTROLS)
def test_select_and_place(controls: str) -> None:
    hand = Hand(controls, DOWN, select_and_place=True)
    block = (*AHEAD[0], 4)
    if controls == "walking":
        assert hand(5 + 4).blocks == [block]
        assert hand(16).blocks == []
        assert hand(17).blocks == [block]  # placing still works, with the active colour
        return
    assert hand(**hotbar(controls, 4)).blocks == [block]
    assert hand(**take(controls)).blocks == []
    assert hand(**put(controls)).blocks == [block]


@pytest.mark.parametrize("controls", DICTS)
def test_select_and_place_cancels_a_break(controls: str) -> None:
    """The colour that was chosen goes in front of the block that a break would have taken."""
    pose, start = (0, -0.25, 0, 0, -15), [(0, -1, -3, 1)]
    both = {**hotbar(controls, 2), **take(controls)}
    assert Hand(controls, pose, start, select_and_place=True)(**both).blocks == [
        (0, -1, -3, 1),
        (0, -1, -2, 2),
    ]
    assert Hand(controls, pose, start)(**both).blocks == []
    none = {**hotbar(controls, 0), **take(controls)}
    assert Hand(controls, pose, start, select_and_place=True)(**none).blocks == []


@pytest.mark.parametrize("controls", CONTROLS)
def test_without_select_and_place_choosing_does_nothing_else(controls: str) -> None:
    hand = Hand(controls, DOWN)
    assert (hand(5 + 4) if controls == "walking" else hand(**hotbar(controls, 4))).blocks == []
    assert hand.info["event"] == "nothing"


# ------------------------------------------------------------------------------------------------ flying


@pytest.mark.parametrize("yaw", COMPASS)
def test_flying(yaw: int) -> None:
    pose = (0, 3, 0, yaw, 0)
    ahead = COMPASS[yaw]
    for movement, way in (([-1, 0, 0], 0), ([0, 1, 0], 1), ([1, 0, 0], 2), ([0, -1, 0], 3)):
        assert Hand("flying", pose)(movement=movement).moved == pytest.approx(
            times(turned(ahead, way), 0.75), abs=1e-5
        )
    assert Hand("flying", pose)().moved == [0, 0, 0]  # nobody falls
    assert Hand("flying", pose)(movement=[0, 0, 1]).moved[1] > 0
    assert Hand("flying", pose)(movement=[0, 0, -1]).moved[1] < 0


def test_flying_goes_where_one_looks() -> None:
    up = Hand("flying", (0, 3, 0, 0, 90))(movement=[-1, 0, 0])
    assert up.moved == pytest.approx([0, 0.75, 0], abs=1e-5)
    assert up(movement=[1, 0, 0]).moved == pytest.approx([0, -0.75, 0], abs=1e-5)
    small = Hand("flying", (0, 3, 0, 0, 0))(movement=[-0.01, 0, 0])
    assert small.moved == pytest.approx([0, 0, -0.75], abs=1e-5)  # only the direction counts


# ---------------------------------------------------------------------------------------------- discrete


@pytest.mark.parametrize("off", [-44, -10, 0, 30, 44])
@pytest.mark.parametrize("yaw", COMPASS)
def test_discrete_moves_along_the_nearest_direction(yaw: int, off: int) -> None:
    pose = (0, -0.25, 0, (yaw + off) % 360, 0)
    for keys, quarters in (({"move": 1}, 0), ({"strafe": 1}, 1), ({"move": 2}, 2), ({"strafe": 2}, 3)):
        hand = Hand("discrete", pose)(**keys)
        assert hand.position == [
            *turned(COMPASS[yaw], quarters)[:1],
            -0.25,
            turned(COMPASS[yaw], quarters)[2],
        ]
    both = np.add(COMPASS[yaw], turned(COMPASS[yaw], 1)).tolist()
    assert Hand("discrete", pose)(move=1, strafe=1).moved == both


AHEAD_BLOCK = (0, -1, -1, 1)
UP = {"move": 1, "jump": 1}
STAIR = [AHEAD_BLOCK, (0, -1, -2, 1), (0, 0, -2, 1)]
AROUND = [(1, -1, 0, 1), (-1, -1, 0, 1), (0, -1, 1, 1)]
HERE = [0, -0.25, 0]


@pytest.mark.parametrize(
    ("pose", "blocks", "actions", "positions"),
    [
        ((1.4, 0, -2.4, 0, 0), [], [{}], [[1, -0.25, -2]]),  # in the middle of cells
        (HERE, [], [{"camera": [90, 0], "move": 1}], [[1, -0.25, 0]]),  # turns before it moves
        (HERE, [AHEAD_BLOCK], [{"move": 1}], [HERE]),
        (HERE, [(0, 0, -1, 1)], [{"move": 1}, UP], [HERE, HERE]),  # at the height of the head
        # one block up, and from two blocks down in one step; two blocks are too high
        (
            HERE,
            STAIR,
            [UP, {"move": 1}, UP, {"move": 1}, {"move": 2, "jump": 1}],
            [[0, 0.75, -1], [0, 0.75, -1], [0, 1.75, -2], [0, -0.25, -3], [0, -0.25, -3]],
        ),
        (HERE, AROUND, [{"strafe": 1, "jump": 1}], [[1, 0.75, 0]]),
        (HERE, AROUND, [{"strafe": 2, "jump": 1}], [[-1, 0.75, 0]]),
        (HERE, AROUND, [{"move": 2, "jump": 1}], [[0, 0.75, 1]]),
        # only where there is room for the body
        (HERE, [AHEAD_BLOCK, (0, 0, -1, 1)], [UP], [HERE]),
        (HERE, [AHEAD_BLOCK, (0, 1, -1, 1)], [UP], [HERE]),
        (HERE, [AHEAD_BLOCK, (0, 1, 0, 1)], [UP], [HERE]),
        ((0, 6, 0, 0, 0), [], [{"jump": 1}] * 2, [HERE, HERE]),  # lands within the step
    ],
)
def test_discrete_steps(pose: Any, blocks: list[Any], actions: list[Any], positions: list[Any]) -> None:
    hand = Hand("discrete", (*pose, 0, 0)[:5], blocks)
    assert [hand(**action).position for action in actions] == positions


@pytest.mark.parametrize("yaw", COMPASS)
def test_discrete_stops_at_the_walls(yaw: int) -> None:
    hand = Hand("discrete", (0, -0.25, 0, yaw, 0))
    for _ in range(8):
        hand(move=1, jump=1)
    assert hand.position == [5 * COMPASS[yaw][0], -0.25, 5 * COMPASS[yaw][2]]


# -------------------------------------------------------------------------------------------- continuous


@pytest.mark.parametrize("yaw", [0, 37, 90, 200])
def test_continuous_moves_along_the_axes_of_the_map(yaw: int) -> None:
    pose = (0, 3, 0, yaw, 20)
    assert Hand("continuous", pose)(move_x=1.0).moved == [1, 0, 0]
    assert Hand("continuous", pose)(move_y=-1.0).moved == [0, -1, 0]
    assert Hand("continuous", pose)(move_z=0.5).moved == [0, 0, 0.5]
    assert Hand("continuous", pose)(move_x=-0.25, move_y=0.75, move_z=-1.0).moved == [-0.25, 0.75, -1]
    assert Hand("continuous", pose)().moved == [0, 0, 0]  # nobody falls


def test_continuous_passes_through_blocks() -> None:
    hand = Hand("continuous", blocks=[(1, -1, 0, 1), (1, 0, 0, 1), (2, -1, 0, 1), (2, 0, 0, 1)])
    assert [hand(move_x=0.5).position[0] for _ in range(6)] == [0.5, 1, 1.5, 2, 2.5, 3]


@pytest.mark.parametrize(
    ("key", "amount", "end"),
    [("move_x", 1, [5, 2, 0]), ("move_x", -1, [-5, 2, 0]), ("move_z", 1, [0, 2, 5]), ("move_z", -1, [0, 2, -5]),
     ("move_y", -1, [0, -0.25, 0])],
)  # fmt: skip
def test_continuous_stops_at_floor_and_walls(key: str, amount: float, end: list[float]) -> None:
    hand = Hand("continuous", (0, 2, 0, 0, 0))
    for _ in range(9):
        hand(**{key: 0.75 * amount})
    assert hand.position == end


def test_continuous_stops_at_the_top() -> None:
    hand = Hand("continuous")
    for _ in range(15):
        hand(move_y=1.0)
    top = hand.position[1]
    assert 7.5 < top < 10
    assert hand(move_y=1.0).position[1] == top


# ------------------------------------------------------------------------------------------ ending a turn


def full_act(space: Any, **more: Any) -> Any:
    """An action that does as much as it can: it moves, turns, chooses a colour and places."""
    action = {}
    for key, part in space.items():
        action[key] = int(part.n) - 1 if isinstance(part, Discrete) else part.high.copy()[()]
    action |= {key: 0 for key in ("back", "left", "attack") if key in action}
    if "placement" in action:
        action["placement"] = 1
    return action | more


@pytest.mark.parametrize("controls", CONTROLS)
def test_a_yield_costs_a_step_cancels_the_act_and_ends_the_turn(controls: str) -> None:
    task = Task("", FAR_AWAY)
    games = []
    for yields in (True, False):
        game = raw_env(tasks=task, controls=controls, step_cost=0.5)
        game.reset(seed=1, options={"pose": DOWN})
        game.step("hello")
        space = game.action_space("builder_0")
        if controls == "walking":
            game.step(18 if yields else 0)
        else:
            game.step(full_act(space, **{"yield": 1}) if yields else space_zero(space))
        games.append(game)
    assert [game.agent_selection for game in games] == ["architect_0", "builder_0"]
    assert [game.rewards for game in games] == [{"architect_0": -0.5, "builder_0": -0.5}] * 2
    yielded, waited = (game.episode.worlds.get_state() for game in games)
    assert yielded["steps"][0] == waited["steps"][0] == 1
    assert yielded["floor"][0] != waited["floor"][0]
    yielded["floor"] = waited["floor"]
    assert yielded.tobytes() == waited.tobytes()  # in all else it is a step of waiting


def space_zero(space: Any) -> Any:
    return {key: np.zeros(part.shape, part.dtype)[()] for key, part in space.items()}


@pytest.mark.parametrize("controls", [name for name in CONTROLS if name != "walking"])
def test_the_act_that_a_yield_cancels(controls: str) -> None:
    """What `full_act` does without a yield, to know that there was something to cancel."""
    game = raw_env(tasks=Task("", FAR_AWAY), controls=controls)
    game.reset(seed=1, options={"pose": (0, -0.25, 0, 0, -50)})
    game.step("hello")
    action = full_act(game.action_space("builder_0"), **{"yield": 0})
    action["camera"] = np.float32([5, 5])
    game.step(action)
    worlds = game.episode.worlds
    assert worlds.blocks[0] == 1
    assert worlds.active[0] == 6
    assert worlds.pose[0, 3:].tolist() == [5, -45]
    assert game.agent_selection == "builder_0"


# --- who owns what an action is translated to ------------------------------------------------------------------


def test_acting_on_cells_follows_the_rules_of_hands_but_for_reach() -> None:
    """Against the rules written down plainly, in worlds that fill up and in which colours run out."""
    count, rng = 6, np.random.default_rng(4)
    worlds, controls = Worlds(count), Controls("cells")
    for index in range(count):
        worlds.spawn(index, Task("", FAR_AWAY), pose=(index - 3, -0.25, 0, 0, 0))
    expected, stock = np.zeros((count, 9, 11, 11), np.int8), np.full((count, 7), 20)
    events = set()
    for _ in range(500):
        actions = rng.integers(0, (3, 11, 11, 7), (count, 4))
        assert all(action in controls.space for action in actions)
        worlds.step(controls.encode_many(actions, count)[0])
        for index, (y, x, z, color) in enumerate(actions.tolist()):
            grid, old = expected[index], int(expected[index, y, x, z])
            held = old or supported_cells(grid != 0)[y, x, z]
            body = (x, z) == (index + 2, 5) and y < 2
            if color == 0 or (old != color and held and stock[index, color] > 0 and not body):
                grid[y, x, z] = color
                stock[index, old] += 1
                stock[index, color] -= 1
            events.add(EVENTS[worlds.event[index]])
        assert (worlds.grid == expected).all()
        assert (worlds.inventory == stock[:, 1:]).all()
        assert (worlds.pose[:, [0, 2]] == [(index - 3, 0) for index in range(count)]).all()
    assert events == {
        "nothing",
        "placed",
        "removed",
        *(f"place: {why}" for why in WHY),
        "remove: nothing in reach",
    }


def test_actions_have_names() -> None:
    assert len(Action) == Controls(can_yield=True).space.n == Controls().space.n + 1  # type: ignore[attr-defined]
    assert [Action.hotbar(color) for color in range(1, 7)] == list(range(6, 12))
    assert [action.color for action in Action] == [0] * 6 + [1, 2, 3, 4, 5, 6] + [0] * 7
    table, place = Controls(can_yield=True).encode(Action.PLACE)
    assert np.flatnonzero(table["place"]).tolist() == [place] == [17]
    assert np.flatnonzero(table["remove"]).tolist() == [Action.BREAK]
    assert np.flatnonzero(table["yields"]).tolist() == [Action.YIELD]
