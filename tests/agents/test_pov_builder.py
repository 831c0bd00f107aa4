"""The builder that sees pictures: what it knows of its body, where it believes to be, and its games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from probing import weighed

torch = pytest.importorskip("torch")

import iglu_marl  # noqa: E402
from iglu_marl import AgentError, Role, Task  # noqa: E402
from iglu_marl.agents.learned import pov_senses as senses  # noqa: E402
from iglu_marl.agents.learned import zoo  # noqa: E402
from iglu_marl.agents.learned.pov_builder import Landmark, PovBuilder, encode, model_of, words_known  # noqa: E402
from iglu_marl.agents.learned.pov_model import PLACE, REMOVE, PovModel, best_places  # noqa: E402
from iglu_marl.core.actions import Action  # noqa: E402
from iglu_marl.core.controls import Controls  # noqa: E402
from iglu_marl.core.worlds import Worlds  # noqa: E402
from iglu_marl.rendering import palette  # noqa: E402
from iglu_marl.rendering.painter import paint_scenes  # noqa: E402


@pytest.fixture(scope="module")
def model() -> PovModel:
    """Untrained."""
    torch.manual_seed(0)
    words = 2 + len(words_known())
    return PovModel(words, words).eval()


def step(world: Worlds, action: int) -> None:
    table, row = Controls("walking").encode(action)
    world.step(table[[row]])


# --- senses ----------------------------------------------------------------------------------------------


def test_a_body_knows_how_it_moves_from_its_own_actions() -> None:
    world, odometry, rng = Worlds(1), senses.Odometry(1), np.random.default_rng(3)
    world.pose[0, 1] = senses.EYE_Y
    for _ in range(150):
        action = int(rng.integers(0, 16))
        yaw = world.pose[:, 3].astype(np.float32)
        odometry.act(np.array([action]), yaw)
        step(world, action)
        odometry.look(np.array([True]))
        if np.abs(world.pose[0, [0, 2]]).max() > 6.5:
            break
        assert odometry.way[0] == pytest.approx(world.pose[0, [0, 2]], abs=1e-4)
        assert odometry.pitch[0] == pytest.approx(world.pose[0, 4])
        assert odometry.eye_y[0] == pytest.approx(world.pose[0, 1], abs=1e-5)
        assert odometry.active[0] == world.active[0]


def test_a_step_that_leaves_the_picture_as_it_was_is_none() -> None:
    odometry = senses.Odometry(2)
    odometry.act(np.array([Action.FORWARD] * 2), np.zeros(2, np.float32))
    odometry.look(np.array([True, False]))
    assert odometry.way.tolist() == [[0.0, -0.25], [0.0, 0.0]]
    assert odometry.blocked.tolist() == [False, True]


def test_pictures_become_palette_indices() -> None:
    grids, poses = np.zeros((1, 9, 11, 11), np.int8), np.array([[0.0, -0.25, 3.0, 0.0, -10.0]])
    grids[0, :3, 3:7, 5] = np.arange(1, 5)
    pov = paint_scenes(grids, poses, (64, 64))
    indices = senses.palette_indices(pov)
    assert (palette.RGB[indices] == pov).all()
    assert len(np.unique(indices)) > 10


@pytest.mark.parametrize("yaw", [0.0, 35.0, 200.0])
def test_the_position_is_recovered_from_the_ground(yaw: float) -> None:
    start, way = np.array([1.3, -2.6]), np.array([[0.5, -0.25]], np.float32)
    pose = np.array([[*(start + way[0]), 0.0]])[:, [0, 2, 1]]
    pose[0, 1] = senses.EYE_Y
    poses = np.concatenate([pose, [[yaw, -25.0]]], 1)
    pictures = senses.palette_indices(paint_scenes(np.zeros((1, 9, 11, 11), np.int8), poses, (64, 64)))
    yaw_deg, pitch_deg, eye_y = poses[:, [3, 4, 1]].T.astype(np.float32)
    found = senses.seen_ground(pictures, yaw_deg, pitch_deg, eye_y, way, 0)[0]
    for at, (axis, sign) in enumerate(((0, 1), (0, -1), (1, 1), (1, -1))):
        if white := found[3 * at]:
            assert sign * start[axis] + white - senses.NONE <= 5.5 + 1e-4
    for axis in range(2):
        sine, cosine = found[senses.REACHES + 2 * axis : senses.REACHES + 2 * axis + 2]
        line = 0.5 - np.arctan2(sine, cosine) / (2 * np.pi) - start[axis]
        assert abs(line - round(line)) < 0.1


def test_a_block_is_glimpsed_where_it_stands() -> None:
    grids = np.zeros((1, 9, 11, 11), np.int8)
    grids[0, 1, 7, 4] = 6  # at (2, 0, -1)
    poses = np.array([[0.3, -0.25, 2.1, 35.0, -20.0]])
    pictures = senses.palette_indices(paint_scenes(grids, poses, (64, 64)))
    offset = np.array([[2.0, 0.0, -1.0]], np.float32) - poses[:, :3].astype(np.float32)
    seen = senses.glimpses(pictures, senses.axes(*poses[:, 3:].T.astype(np.float32)), offset)[0]
    red = (seen - palette.FIRST_BLOCK) // palette.ENTRIES_PER_COLOR == 5
    centre = len(senses.AROUND) // 2
    assert red[centre]
    assert red[len(senses.AROUND) :][: len(senses.FACES)].all()
    assert seen.shape == (senses.GLIMPSES,)


# --- games -----------------------------------------------------------------------------------------------


def game(**options: Any) -> Any:
    target = np.zeros((9, 11, 11), np.int8)
    target[0, 5, 2] = 3
    task = Task("Place a green block on the ground, 3 north of the centre.", target, invariant=False)
    return iglu_marl.env(tasks=task, max_steps=60, **options)


def played(env: Any, builder: PovBuilder) -> list[int]:
    env.reset(seed=0)
    builder.reset(Role.BUILDER, 5)
    actions, told = [], False
    for name in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
        elif name.startswith("builder"):
            assert set(observation) == {"pov", "dialog", "inventory", "compass"}
            actions.append(builder.act(observation))
            env.step(actions[-1])
        else:
            env.step("" if told else "Place a green block on the ground, 3 north of the centre.")
            told = True
    return actions


def test_it_plays_by_pictures_words_hands_and_compass_alone(model: PovModel) -> None:
    env = game()
    builder = PovBuilder.for_env(env, model=model)
    first = played(env, builder)
    assert len(first) > 5
    assert set(first) <= set(range(19))
    assert played(env, builder) == first  # the seed decides


def test_it_says_what_it_lacks(model: PovModel) -> None:
    builder = PovBuilder.for_env(game(), model=model)
    builder.reset(Role.BUILDER, 0)
    with pytest.raises(AgentError, match="the PovBuilder needs 'pov'"):
        builder.act({"dialog": "", "inventory": np.zeros(6), "compass": np.zeros(1)})
    with pytest.raises(AgentError, match="controls is 'flying'"):
        PovBuilder.for_env(game(controls="flying"), model=model)
    with pytest.raises(AgentError, match="cannot play the architect"):
        builder.reset(Role.ARCHITECT, 0)


# --- released weights ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def walker() -> PovModel:
    return model_of(zoo.pretrained("pov-walker-v2").tensors)


def test_released_weights_read_requests(walker: PovModel) -> None:
    texts = ["place a green block on the ground, 3 north and 2 east of the centre.", "remove the red block"]
    with torch.no_grad():
        read = walker.reader(torch.from_numpy(encode(texts)))
    likeliest = [part.argmax(1).tolist() for part in read]
    assert likeliest[:3] == [[PLACE, REMOVE], [0, 6], [3, 0]]
    assert [part[0] for part in likeliest[3:]] == [2 + 5, 0, -3 + 5]


@pytest.mark.parametrize(
    ("text", "requests"),
    [
        ("Put a red block two to the north of the blue cube.", [(PLACE, 6, (0, 0, -2), 1)]),
        (
            "Break the green one. Then add a purple block on top of the orange box.",
            [(REMOVE, 3, (0, 0, 0), 3), (PLACE, 5, (0, 1, 0), 4)],
        ),
        ("Place a red block on the ground, one east of the centre.", [(PLACE, 6, (1, -1, 0), 0)]),
        ("Place a red block two north of the middle.", [(PLACE, 6, (0, -1, -2), 0)]),
        ("Place a red block two to the north of the red block.", [(PLACE, 6, (0, 0, -2), 6)]),
    ],
)
def test_a_landmark_is_a_block_whose_colour_is_said(walker: PovModel, text: str, requests: list[Any]) -> None:
    builder = PovBuilder(walker)
    builder._hear(text)
    assert builder._requests == requests


@pytest.mark.parametrize("turned_deg", [-10.0, 0.0, 20.0])
def test_released_weights_find_a_block_in_a_picture(walker: PovModel, turned_deg: float) -> None:
    grid = np.zeros((1, 9, 11, 11), np.int8)
    grid[0, 0, 7, 2] = 5  # 2 east and 3 north of the centre
    yaw, pitch, eye_y = (np.array([value], np.float32) for value in (turned_deg, -10.0, senses.EYE_Y))
    pose = np.array([[0.0, senses.EYE_Y, 0.0, turned_deg % 360, -10.0]])
    seen = senses.palette_indices(paint_scenes(grid, pose, (senses.SIDE, senses.SIDE)))
    for color, there in ((5, True), (2, False)):
        outline, bearing, found = senses.outlines(seen, np.array([color]), yaw, pitch, eye_y)
        assert found.tolist() == [there]
        if there:
            assert turned_deg + bearing[0] == pytest.approx(np.degrees(np.arctan2(2, 3)), abs=3)
            with torch.no_grad():
                place, _ = walker.finder(torch.from_numpy(outline))
            assert float(place[0, :2].norm()) == pytest.approx(np.hypot(2, 3), abs=0.3)
            assert float(place[0, 2]) == pytest.approx(-1 - senses.EYE_Y, abs=0.2)


def test_sharper_estimates_of_a_landmark_count_more() -> None:
    landmark = Landmark()
    landmark.see(np.array([4.0, -1.0, 0.0]), 1.0)
    landmark.see(np.array([3.0, -1.0, 0.0]), 0.1)
    assert landmark.place == pytest.approx([3.01, -1, 0], abs=0.01)


def test_words_that_came_later_are_unknown_words(walker: PovModel) -> None:
    words = torch.tensor([[walker.reader.words.num_embeddings + 5, 3, 0], [1, 3, 0], [2, 3, 0]])
    with torch.no_grad():
        read = walker.reader(words)
    assert all(torch.equal(part[0], part[1]) for part in read)
    assert not torch.equal(read.verb[0], read.verb[2])


def test_released_weights_answer_as_they_did(walker: PovModel) -> None:
    rng = np.random.default_rng(0)
    with torch.no_grad():
        memory = torch.from_numpy(rng.random((2, senses.GROUND)).astype(np.float32))
        memory[1] = 0
        belief = walker.localiser(memory)
        features = torch.from_numpy(rng.normal(size=(2, senses.FEATURES)).astype(np.float32))
        glimpses = torch.from_numpy(rng.integers(0, 40, (2, senses.GLIMPSES)).astype(np.uint8))
        logits = walker.policy(features, glimpses, torch.tensor([1, 6]))
        read = walker.reader(torch.tensor([[3, 40, 7, 0], [5, 0, 0, 0]]))
        places, doubt = best_places(belief)
    assert weighed(*belief, places, doubt) == pytest.approx(24.2921, abs=0.01)
    assert weighed(logits) == pytest.approx(363.8416, abs=0.01)
    assert weighed(*read) == pytest.approx(77.7209, abs=0.01)


def test_features_stay_what_the_weights_were_trained_on() -> None:
    """Weighted sums, as recorded, of what 40 random walkers see."""
    rng, n = np.random.default_rng(1), 40
    odometry = senses.Odometry(n)
    for _ in range(3):
        odometry.act(rng.integers(0, senses.ACTIONS, n), rng.uniform(0, 360, n).astype(np.float32))
        odometry.look(rng.random(n) < 0.8)
    odometry.pitch = rng.uniform(-60, 60, n).astype(np.float32)
    assert weighed(odometry.way, odometry.active, odometry.air, odometry.eye_y) == pytest.approx(
        -8.7503, abs=1e-3
    )
    offset, yaw = rng.normal(size=(n, 3)).astype(np.float32) * 3, rng.uniform(0, 360, n).astype(np.float32)
    request = np.stack([rng.integers(0, 3, n), rng.integers(0, 7, n)], 1)
    gained = rng.integers(-1, 2, (n, 6)).astype(np.float32)
    table = senses.features(odometry, yaw, offset, rng.random(n), request, gained)
    assert weighed(table) == pytest.approx(6.0189, abs=0.01)
    pictures = rng.integers(0, palette.SIZE, (n, 64, 64)).astype(np.uint8)
    frame = senses.axes(yaw, odometry.pitch)
    assert weighed(senses.glimpses(pictures, frame, offset)) == pytest.approx(-3186.1564, abs=0.01)
    seen = [
        senses.seen_ground(pictures, yaw, odometry.pitch, odometry.eye_y, odometry.way, turn)
        for turn in (0, 1)
    ]
    assert weighed(*seen, senses.remembered(*seen), senses.slipped(*seen)) == pytest.approx(
        -2125.8509, abs=0.01
    )
