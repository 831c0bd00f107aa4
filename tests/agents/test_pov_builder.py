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
from iglu_marl.rendering import palette  # noqa: E402
from iglu_marl.rendering.painter import paint_scenes  # noqa: E402


@pytest.fixture(scope="module")
def model() -> PovModel:
    """Untrained."""
    torch.manual_seed(0)
    words = 2 + len(words_known())
    return PovModel(words, words).eval()


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
