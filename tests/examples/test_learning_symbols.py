"""`examples/ppo_symbols.py` and the pair of the zoo: what is seen, said, held out, built."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from example_programs import load_example

import iglu_marl
from iglu_marl import AgentError, Role
from iglu_marl.agents.learned import symbols as arrays
from iglu_marl.agents.learned import zoo

TINY: dict[str, Any] = {"practice_updates": 1, "practice_games": 8, "updates": 1, "games": 16, "every": 1}


@pytest.fixture(scope="module")
def example(torch: Any) -> ModuleType:
    return load_example("ppo_symbols")


# -------------------------------------------------------------------------------------------- the game


def test_held_out_are_pairs_and_never_their_parts(example: ModuleType) -> None:
    split = example.meanings(example.Settings())
    assert (len(split.trained), len(split.held_out)) == (202, 50)
    assert not {row.tobytes() for row in split.trained} & {row.tobytes() for row in split.held_out}
    assert all((row > 0).sum() == 2 for row in np.concatenate(split))
    parts = {(cell, row[cell]) for row in split.trained for cell in np.flatnonzero(row)}
    assert parts == {(cell, color) for cell in range(8) for color in (1, 2, 3)}, "every colour in every cell"
    # No held-out build is a trained one shifted or turned: what counts is the cell itself.
    assert not any(example.task_of(row).is_invariant for row in split.held_out)


def test_a_quarter_turn_of_everything_changes_no_view() -> None:
    grid, turned = np.zeros((2, 9, 11, 11), np.int8)[:, None]
    (x, z), (further_x, further_z) = arrays.RING[1], arrays.RING[3]
    grid[0, 0, x + 5, z + 5] = turned[0, 0, further_x + 5, further_z + 5] = 4
    wish = np.array([[2, 0, 0, 3, 0, 0, 0, 1]])
    pose, then = np.array([[0.25, 0.0, -0.5, -15.0, 45.0]]), np.array([[0.5, 0.0, 0.25, -15.0, 135.0]])
    first, second = (
        arrays.body_view(pose, grid, wish),
        arrays.body_view(then, turned, np.roll(wish, 2, axis=1)),
    )
    assert first.shape == (1, 82)
    assert np.allclose(first, second, atol=1e-6)
    assert not np.allclose(first, arrays.body_view(then, turned, wish))


def test_the_body_does_what_the_numbers_say(example: ModuleType) -> None:
    settings = example.Settings()
    games = example.Games(settings, 2, 0)
    games.begin(np.array([[0, 2, 0, 0, 0, 0, 0, 0]] * 2))
    for action in (4, 4, 4):  # look down
        games.step(np.full(2, action))
    assert games.pose[:, 3].tolist() == [-45.0, -45.0]
    while (left := (1 - np.rint(games.pose[:, 4] / 45)) % 8).any():
        games.step(np.where(left > 0, 2, arrays.WAIT))  # turn right
    rewards, done = games.step(np.full(2, arrays.PLACE + 1))
    assert rewards.tolist() == [4.0, 4.0]  # a right block, and the completion
    assert done.all()
    assert not games.running.any()
    assert games.step(np.full(2, arrays.PLACE))[0].tolist() == [0.0, 0.0], "paid once"


@pytest.mark.parametrize("channel", ["open", "mute", "scrambled"])
def test_channels(example: ModuleType, channel: str) -> None:
    said = np.arange(20).reshape(4, 5) % 10
    carried = example.carried(said, channel, np.random.default_rng(0))
    if channel == "mute":
        assert not carried.any()
    else:
        same = [np.array_equal(row, token) for row, token in zip(said + 1, carried, strict=True)]
        assert all(same) if channel == "open" else not any(same)


def test_the_builder_hears_what_is_said_and_sees_no_target(example: ModuleType, torch: Any) -> None:
    settings = example.Settings()
    pair, rows = example.Pair(settings), np.concatenate(example.meanings(settings))
    games = example.Games(settings, len(rows), 0)
    talk = example.play(pair, games, rows)
    assert torch.equal(talk.heard, talk.messages + 1)
    assert len({tuple(row) for row in talk.seen.tolist()}) == 252
    hidden = example.Games(settings._replace(hidden=True), len(rows), 0)
    assert not example.play(pair, hidden, rows).seen.any()
    mute = example.Games(settings._replace(channel="mute"), len(rows), 0)
    assert not example.play(pair, mute, rows).heard.any()


# -------------------------------------------------------------------------------------------- learning


def test_the_same_seed_gives_the_same_pair(example: ModuleType, torch: Any) -> None:
    first, second, other = (
        example.train(example.Settings(**TINY, seed=seed), report=False) for seed in (3, 3, 4)
    )
    weights = [
        torch.cat([part.flatten() for part in pair.state_dict().values()])
        for pair, _ in (first, second, other)
    ]
    assert first[1] == second[1]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("view", [iglu_marl.raw_env, iglu_marl.parallel_env])
def test_the_pair_of_the_zoo_builds_what_it_was_trained_on(example: ModuleType, view: Any) -> None:
    model = zoo.pretrained("symbols-pair-v0")
    game = {
        name: tuple(part) if isinstance(part, list) else part for name, part in model.card["game"].items()
    }
    rows = example.meanings(example.Settings()).trained[::25]
    completed = []
    for seed, row in enumerate(rows):
        env = view(tasks=example.task_of(row), max_steps=60, **game)
        agents = {role: model.for_env(env, role) for role in (Role.ARCHITECT, Role.BUILDER)}
        completed.append(iglu_marl.play(env, agents, seed=seed).completed)
    assert np.mean(completed) >= 0.8


def test_the_pair_of_the_zoo_says_which_game_it_knows() -> None:
    model = zoo.pretrained("symbols-pair-v0")
    with pytest.raises(AgentError, match="plays with controls='human-level', the environment has 'walking'"):
        model.for_env(iglu_marl.raw_env(), Role.BUILDER)
