"""The levels of the benchmark: splits that share no content, environments that work, no target for a builder."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from requirements import shared_folder

from iglu_marl import ConfigError, DataError, Pose, Task
from iglu_marl.benchmark import Level, find, levels, make
from iglu_marl.benchmark.catalog import FAMILIES
from iglu_marl.benchmark.contents import (
    AROUND,
    GROUND,
    MOST_LISTED,
    PinnedInstructions,
    PlacedBlocks,
    Spawned,
    Turned,
)
from iglu_marl.benchmark.splits import (
    SPLITS,
    HeldOut,
    content_key,
    in_split,
    others,
    some_of,
    split_tasks,
)
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER

HUMAN = "human-turns-v2"  # needs a corpus
SPLIT_BY_TASK = [level for level in levels() if level.name != HUMAN and not level.is_repeated]
NAMES = [level.name for level in SPLIT_BY_TASK]
SPLIT_ONCE = {(level.content, level.held_out): level.name for level in SPLIT_BY_TASK}


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(shared_folder() / "data"))


def moved(task: Task) -> Iterator[Task]:
    """The task as it may be built as well: turned, and shifted as far as the zone allows."""
    for turns in range(4):
        grid = np.rot90(task.target_grid, turns, axes=(1, 2))
        for axis in (1, 2):
            filled = np.flatnonzero(grid.any(axis=tuple({0, 1, 2} - {axis})))
            yield task.replace(target_grid=np.roll(grid, -int(filled[0]), axis=axis))
            yield task.replace(target_grid=np.roll(grid, 10 - int(filled[-1]), axis=axis))


# ---------------------------------------------------------------------------------------------------------- splits


def check_disjoint(level: Level, count: int = 60) -> None:
    parts = {split: some_of(level.tasks(split), count, seed=3) for split in SPLITS}
    keys = {split: set(map(content_key, tasks)) for split, tasks in parts.items()}
    assert all(parts.values()), level.name
    assert not keys["train"] & (keys["validation"] | keys["test"]), level.name
    assert not keys["validation"] & keys["test"], level.name
    for split, tasks in parts.items():
        for task in tasks:
            assert in_split(task, level.held_out, split)
            assert not task.is_complete_at_start


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLIT_ONCE.values())
def test_splits_share_no_content_up_to_rotations_and_shifts(name: str) -> None:
    level = find(name)
    check_disjoint(level)
    for task in some_of(level.tasks("train"), 6) + some_of(level.tasks("test"), 6):
        if task.is_invariant:  # so that no rule lets a target in that is another one turned
            for other in moved(task):
                assert content_key(other) == content_key(task)
                assert [rule.splits(other) for rule in level.held_out] == [
                    rule.splits(task) for rule in level.held_out
                ]


@pytest.mark.slow
def test_what_people_asked_for_is_split_by_structure(corpus: None) -> None:
    level = find(HUMAN)
    check_disjoint(level, count=2000)
    seen, _ = make(HUMAN).reset(seed=0)
    assert isinstance(seen["dialog"], str)
    structures = [{task.task_id for task in level.tasks(split)} for split in SPLITS]
    assert len(set.union(*structures)) == sum(map(len, structures))
    assert min(map(len, structures)) > 3


def test_finite_splits_are_whole() -> None:
    two = find("symbols-two-v2")
    numbers = [len(two.tasks(split)) for split in SPLITS]  # type: ignore[arg-type]
    assert sum(numbers) == 4 * len(PlacedBlocks(AROUND, (1, 3, 6), 2).all() or ()) == 4 * 252  # directions
    assert all(0.1 < number / sum(numbers) < 0.3 for number in numbers[1:])
    for count in (numbers[1], 9999):
        assert some_of(two.tasks("validation"), count, seed=1) == list(two.tasks("validation"))


@pytest.mark.parametrize("name", NAMES)
def test_a_fold_has_thirty_contents_or_more(name: str) -> None:
    """So that an interval can tell a small success from none; one fold of `symbols-two-v2` has 28."""
    level = find(name)
    assert len({content_key(task) for task in some_of(level.tasks("test"), 80)}) >= 30
    if name == "symbols-two-v2":
        folds = [level.fold(fold).tasks("test") for fold in range(level.folds)]
        assert min(len(set(map(content_key, tasks))) for tasks in folds) == 28  # type: ignore[arg-type]


WALKING = [level.name for level in levels() if level.controls == "walking" and level.name != HUMAN]


@pytest.mark.parametrize("name", WALKING)
def test_starts_differ_from_game_to_game(name: str) -> None:
    poses = [task.pose for task in some_of(find(name).tasks("train"), 20)]
    assert len({(pose.x, pose.z) for pose in poses if isinstance(pose, Pose)}) == 20
    assert len({pose.yaw_deg for pose in poses if isinstance(pose, Pose)}) == 20


TASKS = {
    "see-ground-v2": "d96820",
    "see-few-v2": "f61fb8",
    "told-ground-v2": "0eca98",
    "told-shapes-v2": "f51fef",
    "pictures-ground-v2": "5c6df0",
    "pictures-layers-v2": "377cc6",
    "pictures-structures-v2": "79d86b",
    "symbols-two-v2": "bf0025",
    "symbols-ground-v2": "0ab054",
}


@pytest.mark.parametrize("name", TASKS)
def test_levels_keep_their_tasks(name: str) -> None:
    """Digests of targets, starts and poses: other tasks are another level, with another version in its name."""
    total = hashlib.sha256()
    for split in SPLITS:
        for task in some_of(find(name).tasks(split), 6, seed=3):
            total.update(np.stack([task.target_grid, task.start_grid]).astype(np.int8).tobytes())
            total.update(repr(task.pose).encode())
    assert total.hexdigest()[:6] == TASKS[name]


def test_tasks_are_listed_up_to_a_number() -> None:
    listed = PlacedBlocks(GROUND[: MOST_LISTED // 6])
    assert len(listed.all() or ()) == len(listed.cells) * 6
    assert PlacedBlocks(GROUND[: MOST_LISTED // 6 + 1]).all() is None
    assert dataclasses.replace(listed, wordings=2).all() is None


def test_rules_hold_out_what_they_say() -> None:
    tower = Task("<Architect> one two three", [(0, -1, 0, 1), (0, 0, 0, 1)], invariant=False)
    row = tower.replace(target_grid=[(0, -1, 0, 1), (1, -1, 0, 1)])
    other_row = tower.replace(target_grid=[(3, -1, 1, 2), (3, -1, 2, 5)])
    assert [HeldOut("larger", size).splits(tower) for size in (2, 3, 4)] == [
        ("test",),
        ("validation",),
        ("train",),
    ]
    assert HeldOut("sentences", 3).splits(tower) == ("validation", "test")
    assert HeldOut("sentences", 4).splits(tower) == ("train",)
    forms = [HeldOut("forms", 5, fold) for fold in range(5)]
    assert [rule.splits(row) for rule in forms] == [rule.splits(other_row) for rule in forms]
    assert [rule.splits(row) for rule in forms] != [rule.splits(tower) for rule in forms]
    removal = Task("", [], starting_grid=[(0, -1, 0, 6)], invariant=False)
    placement = Task("", [(0, -1, 0, 6)], invariant=False)
    squares = [HeldOut("squares", 6, fold) for fold in range(6)]
    assert [rule.splits(removal) for rule in squares] == [rule.splits(placement) for rule in squares]
    assert sorted(rule.splits(placement) for rule in squares) == [
        ("test",),
        *[("train",)] * 4,
        ("validation",),
    ]
    corpora = HeldOut("corpora")
    assert corpora.splits(tower.replace(task_id="C5")) == ("test",)
    assert corpora.splits(tower.replace(task_id="C3")) != ("test",)


def test_starting_blocks_are_part_of_the_content() -> None:
    one = Task("", [(0, -1, 0, 1), (1, -1, 0, 1)], starting_grid=[(0, -1, 0, 1)], invariant=True)
    other = one.replace(starting_grid=[(1, -1, 0, 1)])
    turned = one.replace(
        target_grid=[(2, -1, 2, 1), (2, -1, 3, 1)], starting_grid=[(2, -1, 2, 1)]
    )  # a quarter turn, and shifted
    assert (
        content_key(one) == content_key(other) == content_key(turned)
    )  # a half turn leads from one to the other
    bent = one.replace(target_grid=[(0, -1, 0, 1), (1, -1, 0, 2)])
    assert content_key(bent) != content_key(one)
    assert others([one, other, bent]) == [[bent], [bent], [one, other]]
    assert others([one]) == [[one]]


def test_splits_name_what_is_wrong() -> None:
    content, rules = PlacedBlocks(), (HeldOut("squares", 6),)
    for change, said in (
        (lambda: HeldOut("weather"), "rule is 'weather', expected one of squares"),
        (
            lambda: split_tasks(content, rules, "dev"),
            "split is 'dev', expected one of train, validation, test",
        ),  # type: ignore[arg-type]
        (lambda: find("see-everything-v9"), "level is 'see-everything-v9', expected one of see-ground-v2"),
        (lambda: levels("smell"), "family is 'smell', expected one of see"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ConfigError, match=said):
            change()


# ---------------------------------------------------------------------------------------------------- environments


def test_levels_are_of_version_2() -> None:
    assert len(levels()) == len({level.name for level in levels()}) == len({one.digest for one in levels()})
    assert {level.family for level in levels()} <= set(FAMILIES)
    assert all(level.name.endswith("-v2") and level.seeds >= 5 for level in levels())
    assert all(level.seeds % level.folds == 0 for level in levels())


CHANGED: dict[str, Any] = {
    "name": "see-ground-v3",
    "content": Turned(PlacedBlocks(AROUND)),
    "held_out": (HeldOut("squares", 5),),
    "controls": "walking",
    "sees": ("pose", "grid"),
    "max_steps": 25,
    "budget": 2_000_001,
    "spare": None,
    "seeds": 12,
    "sees_target": False,
    "game": {"wrong_scale": 0.0},
    "measure": "f1",
    "table": (None, (0, 5, 5, 1)),
    "vectors": {"crop": (1, 1)},
}


def test_a_digest_is_over_the_rules_and_not_over_prose() -> None:
    level = find("see-ground-v2")
    assert dataclasses.replace(level, about="One block, in other words.").digest == level.digest
    assert level.fold(3).digest == level.digest
    assert CHANGED.keys() == {part.name for part in dataclasses.fields(Level)} - {"about"}
    digests = {dataclasses.replace(level, **{rule: value}).digest for rule, value in CHANGED.items()}
    assert len(digests | {level.digest}) == len(CHANGED) + 1
    given = dataclasses.replace(level, measure="success", table=(), vectors={})  # as by default
    assert given.digest == level.digest
    level = find("told-ground-v2")
    content = level.content
    assert isinstance(content, Spawned)
    assert isinstance(content.content, PlacedBlocks)
    fewer = Spawned(dataclasses.replace(content.content, wordings=7))
    assert dataclasses.replace(level, content=fewer).digest != level.digest
    game = {**find("symbols-two-v2").game, "vocabulary": 13}
    assert dataclasses.replace(find("symbols-two-v2"), game=game).digest != find("symbols-two-v2").digest


def shown_alone(env: Any, actions: Any) -> list[tuple[Any, Any]]:
    """Observation and infos of an episode's start and of a step."""
    seen, infos = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    later, _, _, _, more = env.step(actions.sample())
    return [(seen, infos), (later, more)]


@pytest.mark.parametrize(
    "level",
    [level for level in levels() if level.name != HUMAN and level.family != "team"],
    ids=lambda level: level.name,
)
def test_every_level_shows_what_it_lists_and_nothing_else(level: Level) -> None:
    """Alone and in vectors, at the start and after a step: no other key in observations, no target in infos."""
    listed = {"pose": "agentPos", "target": "target_grid"}
    keys = {listed.get(name, name) for name in (*level.sees, *(("target",) * level.sees_target))}
    for env in (make(level, "test"), make(level, "test", 2)):
        if not level.is_pair:
            for seen, infos in shown_alone(env, env.action_space):
                assert set(seen) == keys
                assert infos == {}
            env.close()
            continue
        shown = [env.reset(seed=1)]
        space = getattr(env, "batched_action_space", env.action_space)
        step = env.step({agent: space(agent).sample() for agent in env.possible_agents})
        for seen, infos in (*shown, (step[0], step[4])):
            assert set(seen) == set(infos) == {ARCHITECT, BUILDER}
            assert set(seen[BUILDER]) == keys
            assert set(infos[BUILDER]) <= {"event"}
        env.close()


def test_the_corpus_of_a_level_is_pinned(corpus: None) -> None:
    with pytest.raises(
        DataError, match=r"checksum of the IGLU single-turn tasks is [0-9a-f]{12}, expected 0{12}"
    ):
        PinnedInstructions("0" * 12).all()


def test_what_is_asked_for_follows_from_the_seed() -> None:
    env, many = make("told-ground-v2", "test"), make("told-ground-v2", "test", 3)
    single = [env.reset(seed=4 + world)[0]["dialog"] for world in range(3)]
    assert np.array_equal(single, many.reset(seed=4)[0]["dialog"])
