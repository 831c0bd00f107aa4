"""The builder that sees pictures: what it knows of its body, where it believes to be, its training, and its games."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import iglu_marl  # noqa: E402
from iglu_marl import AgentError, ConfigError, DataError, Role, Task  # noqa: E402
from iglu_marl.agents.learned import imitation, pov_training  # noqa: E402
from iglu_marl.agents.learned import pov_senses as senses  # noqa: E402
from iglu_marl.agents.learned.pov_builder import Body, PovBuilder, load, save, words_known  # noqa: E402
from iglu_marl.agents.learned.pov_model import PovModel  # noqa: E402
from iglu_marl.core.actions import Action  # noqa: E402
from iglu_marl.core.worlds import Worlds  # noqa: E402
from iglu_marl.language import CellEdit, parse  # noqa: E402
from iglu_marl.rendering import palette  # noqa: E402
from iglu_marl.rendering.painter import paint_scenes  # noqa: E402

TINY = pov_training.PovConfig(
    sentences=40, reading_steps=3, walks=84, labels=1000, shown=0, updates=1, batch=16, memory=2000
)


@pytest.fixture(scope="module")
def model() -> PovModel:
    """Untrained."""
    torch.manual_seed(0)
    return PovModel(2 + len(words_known())).eval()


def step(world: Worlds, action: int) -> None:
    world.step(imitation.controls_table()[[action]])


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
def test_the_ground_tells_where_one_is(yaw: float) -> None:
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


def test_memories_of_the_ground_are_mirrored_as_the_map_is() -> None:
    """What is seen from the mirrored place, with the mirrored gaze, is what `mirrored` makes of what was seen."""

    def memory(x: float, z: float, yaw: float) -> Any:
        poses = np.array([[x, senses.EYE_Y, z, yaw, -20.0]])
        pictures = senses.palette_indices(paint_scenes(np.zeros((1, 9, 11, 11), np.int8), poses, (64, 64)))
        yaw_deg, pitch_deg, eye_y = poses[:, [3, 4, 1]].T.astype(np.float32)
        way = np.zeros((1, 2), np.float32)
        return np.mean(
            [senses.seen_ground(pictures, yaw_deg, pitch_deg, eye_y, way, turn) for turn in (0, 1)], 0
        )[0]

    start = (1.3, -2.6)
    there = {(sx * start[0], sz * start[1]): yaw for sx, sz, yaw in ((1, 1, 35), (-1, 1, 325), (1, -1, 145))}
    there[-2.6, 1.3] = 55.0  # x and z exchanged: the yaw is told from the other axis
    expected = {place: memory(*place, yaw) for place, yaw in there.items() if place != (-2.6, 1.3)}
    seen = torch.from_numpy(np.tile(expected[start], (64, 1)).astype(np.float32))
    made, starts = pov_training.mirrored(seen, torch.tensor([start] * 64), np.random.default_rng(0))
    found = {
        tuple(place): row for place, row in zip(starts.numpy().round(4).tolist(), made.numpy(), strict=True)
    }
    assert len(found) == 8
    for place, row in expected.items():
        assert found[tuple(np.round(np.float32(place), 4).tolist())] == pytest.approx(row, abs=0.35)


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


def test_features_tell_what_to_select_and_what_is_done() -> None:
    odometry, none = senses.Odometry(1), np.zeros((1, 6), np.float32)
    offset = np.array([[0.0, -0.75, -2.0]], np.float32)
    gained = none.copy()
    gained[0, 1] = -1.0

    def last(request: list[int], hands: Any) -> list[float]:
        row = senses.features(odometry, np.zeros(1), offset, np.zeros(1), np.array([request]), hands)
        assert row.shape == (1, senses.FEATURES)
        return row[0, -9:].tolist()

    assert last([1, 2], none) == [0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert last([1, 2], gained)[-2:] == [1, 0]
    assert last([2, 2], none)[:6] == [0] * 6


# --- what is held out ------------------------------------------------------------------------------------


def test_pairs_and_wordings_for_tests_are_never_learned_from() -> None:
    rng = np.random.default_rng(0)
    for held_out in (False, True):
        for _ in range(30):
            grid, _, site = imitation.random_site(rng, held_out)
            assert imitation.is_held_out(site.cell, site.color) == held_out
            assert np.argwhere(grid != site.target).tolist() == [
                [site.cell[1] + 1, site.cell[0] + 5, site.cell[2] + 5]
            ]
            text = pov_training.edit_sentence(
                rng, site.cell, *((0, site.color) if site.verb == 1 else (site.color, 0)), held_out
            )
            assert pov_training.is_held_out_wording(text) == held_out
            assert parse(text).cell == site.cell  # type: ignore[union-attr]


def test_exchanged_colours_and_sides_change_what_is_asked_as_the_grammar_reads_it() -> None:
    rng = np.random.default_rng(1)
    told = pov_training.sentences_to_read(rng, 30, held_out=False)
    mixed = pov_training._mixed(told, np.arange(30), rng)
    names = {number: word for word, number in words_known().items()}
    changed = 0
    for sentence, asked in zip(mixed.sentences, mixed.asked, strict=True):
        if asked[0]:
            x, y, z = (asked[3:] - (5, 1, 5)).tolist()
            edit = parse(" ".join(names[word] for word in sentence if word) + ".")
            assert edit == CellEdit.between((x, y, z), *asked[1:3].tolist())
            changed += 1
    assert changed > 20


# --- school ----------------------------------------------------------------------------------------------


def test_a_teacher_takes_over_and_finishes(model: PovModel) -> None:
    school = imitation.School(6, model, np.random.default_rng(0))
    labels = np.concatenate([school.round().labels for _ in range(150)])
    assert school.plans > 3
    assert school.failed == 0
    assert {Action.FORWARD, imitation.DONE} <= set(labels.tolist())
    assert len({Action.PLACE, Action.BREAK} & set(labels.tolist()))


def test_short_lessons_leave_the_learner_to_try_again(
    model: PovModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imitation, "SHORT", 1.0)
    monkeypatch.setattr(imitation, "LESSON", 3)
    school = imitation.School(4, model, np.random.default_rng(0), alone=0.0)
    planned = [0, 0]
    for number in range(80):
        school.round()
        planned[number // 40] = school.plans
    assert planned[1] > planned[0] + 4  # new plans for the same requests, from where the learner came
    assert school.failed == 0


def test_a_teacher_alone_passes_its_own_test(model: PovModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The measure itself: who acts as the plans say completes all, and at the first try."""
    school = imitation.School(4, model, np.random.default_rng(1), teach=False, held_out=True, games=8)
    ways: dict[int, list[int]] = {}

    def as_planned(model: Any, seen: Any, *_: Any) -> Any:
        actions = []
        for index in range(4):
            if school.steps[index] == 0:
                world = Worlds(1)
                world.state[0] = school.worlds.state[index]
                ways[index] = imitation.plan(world, school.asked[index].target, teach=True).actions[::-1]
            actions.append(ways[index].pop() if ways[index] else 0)
        return np.array(actions)

    monkeypatch.setattr(imitation, "decide", as_planned)
    while len(school.outcomes) < 8:
        school.round()
    assert all(outcome.exact and outcome.first_try for outcome in school.outcomes)


@pytest.mark.parametrize("knows", ["pictures", "memoryless", "blind", "pose"])
def test_baselines_know_what_they_say(model: PovModel, knows: Any) -> None:
    body = Body(2, model, knows)
    hands, request = np.full((2, 6), 20, np.float32), np.array([[1, 3], [2, 4]])
    cells = np.array([[0, -1, -3], [2, 0, 2]], np.float32)
    body.forget(slice(None), hands)
    poses = np.array([[1.0, -0.25, 2.0, 0.0, 0.0]] * 2)
    pictures = senses.palette_indices(paint_scenes(np.zeros((2, 9, 11, 11), np.int8), poses, (64, 64)))
    body.act(np.array([1, 1]), np.zeros(2, np.float32))
    seen = body.see(pictures, np.zeros(2, np.float32), hands, request, cells, poses)
    assert (seen.glimpses == senses.NOWHERE).all() == (knows == "blind")
    assert (body.odometry.way == 0).all() == (knows == "memoryless")
    assert (body.error < 1e-6).all() == (knows == "pose")


# --- training and files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("begins", [False, True])
def test_a_run_is_gone_on_with_and_its_model_plays(tmp_path: Path, model: PovModel, begins: bool) -> None:
    rows: list[dict[str, Any]] = []
    pov_training.train(tmp_path, TINY, begin=model if begins else None, report=rows.append)
    with pytest.raises(ConfigError, match="holds a run already"):
        pov_training.train(tmp_path, TINY)
    more = pov_training.train(tmp_path, replace(TINY, labels=2000), resume=True)
    assert '"labels": 2000' in (tmp_path / "model.json").read_text()
    again = load(tmp_path / "model.npz")
    for name, part in more.state_dict().items():
        assert again.state_dict()[name].numpy() == pytest.approx(part.numpy(), abs=2e-3, rel=2e-3)
    assert len(pov_training.judge(again, 3, temperature=1.0)) == 3


def test_other_values_are_refused() -> None:
    with pytest.raises(ConfigError, match="labels is 0, expected more than 0"):
        pov_training.PovConfig(labels=0)
    with pytest.raises(ConfigError, match="knows is 'all'"):
        pov_training.PovConfig(knows="all")  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a zip", b"\x93NUMPY"])
def test_a_damaged_file_is_no_model(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "model.npz").write_bytes(damage)
    with pytest.raises(DataError, match="holds no model of this version"):
        load(tmp_path / "model.npz")
    with pytest.raises(DataError):
        load(tmp_path / "absent.npz")


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


def test_a_change_is_a_removal_and_a_placement(model: PovModel) -> None:
    builder = PovBuilder(model)
    asked = {"verb": 3, "before": 2, "after": 6, "x": 7, "y": 0, "z": 5}

    class Read(torch.nn.Module):
        def forward(self, words: Any) -> Any:
            sizes = (4, 7, 7, 11, 9, 11)
            return [
                torch.nn.functional.one_hot(torch.tensor([value]), size).float()
                for value, size in zip(asked.values(), sizes, strict=True)
            ]

    reader, model.reader = model.reader, Read()  # type: ignore[assignment]
    try:
        builder._hear("anything")
    finally:
        model.reader = reader
    assert builder._requests == [(2, 2, (2, -1, 0)), (1, 6, (2, -1, 0))]


def test_a_file_holds_plain_numbers_and_a_card(tmp_path: Path, model: PovModel) -> None:
    save(model, tmp_path / "m.npz", {"result": 1})
    with np.load(tmp_path / "m.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype == np.float16 for name in arrays.files)
    assert (tmp_path / "m.npz").stat().st_size < 2_500_000
    assert '"result": 1' in (tmp_path / "m.json").read_text()
