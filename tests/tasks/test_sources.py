"""Task sources: every parameter honoured, every way of giving tasks drawn from, files read strictly."""

import copy
import json
import pickle

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_packs import game, rebuilt_file, start_file, table, tower, world, write_zip

import iglu_marl
from iglu_marl import const
from iglu_marl.core.errors import ConfigError, DataError, TaskError
from iglu_marl.core.grid import ZONE_SHAPE, blocks_to_grid, grid_to_blocks
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.envs import VectorGame
from iglu_marl.envs.language import LanguageGoal
from iglu_marl.evaluation import tasks_of
from iglu_marl.tasks import (
    BundledTasks,
    CustomTasks,
    RandomTasks,
    SessionTasks,
    SpawnPoses,
    StructureTasks,
    TaskSet,
    TaskSource,
    sample_task,
)
from iglu_marl.tasks.named import as_source
from iglu_marl.tasks.source import MAX_SKIPS
from iglu_marl.tasks.structures import load_structures

# ruff: noqa: S301 - only what was pickled a moment ago is read

ONE = blocks_to_grid([(0, -1, 0, 1)])
TWO = blocks_to_grid([(0, -1, 0, 1), (0, 0, 0, 2)])
THREE = blocks_to_grid([(0, -1, 0, 1), (0, 0, 0, 2), (0, 1, 0, 3)])
EMPTY = np.zeros(ZONE_SHAPE)
TASK, OTHER = Task("a", ONE), Task("b", TWO)


def rng(seed=0):
    return np.random.default_rng(seed)


# -- random tasks

parameters = st.fixed_dictionaries(
    {
        "max_blocks": st.one_of(st.integers(1, 10), st.integers(1, 2000)),
        "height_levels": st.integers(1, 9),
        "allow_float": st.booleans(),
        "max_dist": st.one_of(st.integers(0, 4), st.integers(0, 30)),
        "num_colors": st.integers(1, 6),
    }
)


@settings(max_examples=200)
@given(parameters, st.integers(0, 2**32))
def test_random_tasks_honour_every_parameter(options, seed):
    task = RandomTasks(**options).sample(rng(seed))
    blocks = grid_to_blocks(task.target_grid)
    cells = np.array([block[:3] for block in blocks])
    counts = np.bincount([block[3] for block in blocks], minlength=7)
    assert 1 <= len(blocks) <= options["max_blocks"]
    assert (np.ptp(cells, axis=0) <= options["max_dist"]).all()  # = the largest pairwise Chebyshev distance
    assert cells[:, 1].max() - -1 < options["height_levels"]
    assert np.count_nonzero(counts) <= options["num_colors"]
    assert counts.max() <= 20
    if not options["allow_float"]:
        grid = task.target_grid
        assert not ((grid[1:] != 0) & (grid[:-1] == 0)).any()
    assert task.dialog == task.instruction == ""
    assert task.ids == "iglu"
    assert not task.is_complete_at_start


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_blocks": 1}, False),
        ({"max_blocks": 1, "max_cache": 3}, False),
        ({"max_blocks": 3}, True),
        ({"max_blocks": 3, "invariant": False}, False),
        ({"max_blocks": 1, "invariant": True}, True),
    ],
)
def test_where_random_structures_count(options, expected):
    assert {RandomTasks(**options).sample(rng(seed)).is_invariant for seed in range(9)} == {expected}


def test_random_tasks_use_their_whole_range():
    source = RandomTasks(max_blocks=5, height_levels=3, allow_float=True, max_dist=4, num_colors=3)
    generator = rng()
    grids = [source.sample(generator).target_grid for _ in range(4000)]
    cells = [np.argwhere(grid) for grid in grids]
    assert {len(found) for found in cells} == {1, 2, 3, 4, 5}
    assert max(np.ptp(found, axis=0).max() for found in cells) == 4
    assert set(np.concatenate(cells)[:, 0]) == {0, 1, 2}
    assert {len(np.unique(grid)) - 1 for grid in grids} == {1, 2, 3}
    assert set(np.unique(grids)) == set(range(7))
    everywhere = np.any(grids, axis=(0, 1))
    assert everywhere.all()  # every column of the zone is used
    assert any(((grid[1:] != 0) & (grid[:-1] == 0)).any() for grid in grids)  # and blocks do float


def test_same_generator_same_random_tasks():
    source = RandomTasks(max_blocks=6, num_colors=4)
    assert [source.sample(rng(3)) for _ in range(3)] == [source.sample(rng(3))] * 3
    source.seed(5)
    first = [source.reset(), source.sample_task(), source.sample()]
    source.seed(rng(5))
    assert [source.sample() for _ in range(3)] == first
    assert source.sample() != source.sample()


@pytest.mark.parametrize(
    "options",
    [
        {"max_blocks": 0},
        {"height_levels": 10},
        {"allow_float": "no"},
        {"max_cache": -1},
        {"invariant": 0},
    ],
)
def test_bad_parameters_are_named(options):
    ((name, value),) = options.items()
    with pytest.raises(TaskError, match=f"{name}={value!r}"):
        RandomTasks(**options)


def test_a_cache_is_a_fixed_stock():
    source, twin = RandomTasks(max_cache=5, max_blocks=6), RandomTasks(max_cache=5, max_blocks=6)
    generator = rng()
    drawn = {source.sample(generator) for _ in range(100)}
    assert drawn == set(source) == set(twin)
    assert len(source) == len(list(source)) == 5
    before = source.sample(rng(1))
    twin.seed(1)
    assert set(twin) != drawn
    assert source.sample(rng(1)) is before


def test_dump_and_load(tmp_path):
    source = RandomTasks(4, height_levels=3, num_colors=6, allow_float=True, max_cache=4, invariant=False)
    source.seed(8)
    path = tmp_path / "tasks.bin"
    source.dump(path)
    loaded = RandomTasks.load(path)
    assert list(loaded) == list(source)
    assert loaded.parameters == source.parameters
    loaded.seed(99)
    assert list(loaded) == list(source)
    assert [file.name for file in tmp_path.iterdir()] == ["tasks.bin"]
    with np.load(path, allow_pickle=False) as file:
        assert set(file) == {"grids", "about"}


def test_damaged_dumps_are_refused(tmp_path):
    path = tmp_path / "tasks.npz"
    with pytest.raises(DataError, match="does not exist"):
        RandomTasks.load(path)
    RandomTasks(max_cache=3).dump(path)
    with np.load(path) as file:
        about, grids = json.loads(str(file["about"])), file["grids"]
    later = {**about, "format": 99}
    for arrays in (
        {"grids": grids},
        {"grids": grids, "about": json.dumps(later)},
        {"grids": grids[:2], "about": json.dumps(about)},
        {"grids": grids + 5, "about": json.dumps(about)},
        {"grids": np.array([{}, {}, {}]), "about": json.dumps(about)},  # pickled objects
    ):
        np.savez(path, **arrays)
        with pytest.raises(DataError, match=path.name):
            RandomTasks.load(path)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match=path.name):
        RandomTasks.load(path)


# -- custom tasks


def test_custom_tasks_of_every_kind():
    session = Subtasks(["x", "y"], [ONE, TWO])
    source = CustomTasks([("a", ONE), TASK, session, ["b", TWO]], ids="iglu2022")
    assert len(source) == len(list(source)) == 5
    assert source[1] is TASK
    assert source[0].ids == source[4].ids == "iglu2022"
    assert {source.sample(rng(seed)) for seed in range(50)} == set(source)


@pytest.mark.parametrize("goals", [[], 5, [("a",)], ["ab", 3], [ONE], [("a", np.zeros((3, 3)))], [(3, ONE)]])
def test_bad_custom_tasks_are_refused(goals):
    with pytest.raises(TaskError):
        CustomTasks(goals)


# -- drawing from anything


class Sampling(TaskSource):
    def sample(self, rng=None):
        return TASK


class Resetting(TaskSource):
    def reset(self):
        return OTHER


class SampleTasking(RandomTasks):
    def sample_task(self):
        return OTHER


class ResettingSampling(Sampling):
    def reset(self):
        return OTHER


class Plain:
    def reset(self):
        return OTHER


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (TASK, TASK),
        (Sampling(), TASK),
        (Resetting(), OTHER),
        (SampleTasking(), OTHER),
        (ResettingSampling(), OTHER),
        (Plain(), OTHER),
        ([TASK], TASK),
        ((Resetting(),), OTHER),
        ({"c1": [Sampling()]}, TASK),
        (Subtasks(["a"], [ONE]), Subtasks(["a"], [ONE])[0]),
        (lambda: OTHER, OTHER),
        (lambda rng: TASK if isinstance(rng, np.random.Generator) else OTHER, TASK),
        (lambda generator: TASK if isinstance(generator, np.random.Generator) else OTHER, TASK),
        (lambda size=3: TASK if size == 3 else OTHER, TASK),
        (lambda: Subtasks(["a"], [ONE]), Subtasks(["a"], [ONE])[0]),
        (iter([TASK, OTHER]), TASK),
    ],
)
def test_draw_honours_whatever_gives_tasks(source, expected):
    assert as_source(source) is source
    assert sample_task(source, rng()) == expected


class ResettingAgent:
    def reset(self, role, seed):
        """Reset, as agents do."""


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ([(0, -1, 0, 1)], "tasks[0] is (0, -1, 0, 1)"),
        ([TASK, [TASK, (0, -1, 0, 1)]], "tasks[1][1] is (0, -1, 0, 1)"),
        ({"a": TASK, "b": (0, -1, 0, 1)}, "tasks['b'] is (0, -1, 0, 1)"),
        ((0, -1, 0, 1), "tasks[0] is 0"),
        ([TASK, []], "tasks[1] is [], expected at least one task"),
        ([], "tasks is [], expected at least one task"),
        ([ONE], "tasks[0] is an array of shape (9, 11, 11)"),
        ([ResettingAgent()], "tasks[0] is <"),
        (lambda role, seed: TASK, "tasks is <function"),
        (RandomTasks, "tasks is the class RandomTasks, not an object of it"),
    ],
)
def test_a_wrong_element_is_named_with_the_form_of_a_task(source, place):
    form = "" if "at least" in place else ', expected a Task, such as Task("", [(x, y, z, color)])'
    with pytest.raises(ConfigError) as caught:
        iglu_marl.env(tasks=source)
    assert str(caught.value).startswith(place)
    assert form in str(caught.value)


@pytest.mark.parametrize("given", [lambda: [(0, -1, 0, 1)], iter([[(0, -1, 0, 1)]]), iter([(0, -1, 0, 1)])])
def test_a_wrong_element_that_a_function_or_iterator_gives_is_named(given):
    with pytest.raises(TaskError, match=r"^what <.*> gave(\[0\])? is \(0, -1, 0, 1\), expected a Task"):
        sample_task(given, rng())


# -- sources by name

OWN = "from iglu_marl import Task\ntasks = [Task('', [(0, -1, 0, 1)], task_id='own')]\ndef make(): return tasks\n"
STRUCTURES = '{"colours": {"1": "blue"}, "structures": {"own": {"blocks": [[0, -1, 0, 1]]}}}'


def games_of(tasks):
    """The task of the first game by every API."""
    env = iglu_marl.env(tasks=tasks)
    env.reset(seed=0)
    yield env.unwrapped.episode.task
    parallel = iglu_marl.parallel_env(config=iglu_marl.GameConfig(tasks=tasks))
    parallel.reset(seed=0)
    yield parallel.unwrapped.episode.task
    single = gym.make("IGLUGridworldVector-v0", tasks=tasks)
    single.reset(seed=0)
    yield single.unwrapped.task
    single.unwrapped.set_task_generator(tasks)
    single.unwrapped.set_task(tasks)
    single.reset(seed=0)
    yield single.unwrapped.task
    vector = gym.make_vec("IGLUGridworldVector-v0", num_envs=2, tasks=tasks)
    vector.reset(seed=0)
    yield vector.unwrapped.tasks[0]
    game = VectorGame(2, tasks=tasks, chat="tokens")
    game.reset(seed=0)
    yield game.tasks[0]
    yield SpawnPoses(tasks).sample(rng()).replace(pose=None)


GAME_COLUMNS = "GameId,InitializedWorldPath,InputInstruction,IsInstructionClear,Partition"


@pytest.fixture
def singleturn_pack(tmp_path, monkeypatch):
    """Two games of c7 (train) and one of c5 (test), the only data on the machine."""
    rows = [game(1), game(2), game(3, "1-c5/step-2")]
    starts = {start_file(start): world((0, -1, 0, "blue")) for start in ("1-c7/step-2", "1-c5/step-2")}
    builds = {rebuilt_file(number): world(*tower(2)) for number in (1, 2)}
    builds[rebuilt_file(3, "1-c5")] = world(*tower(3))
    (tmp_path / "packs").mkdir()
    files = {"clarifying_questions_train.csv": table(GAME_COLUMNS, rows), **starts, **builds}
    write_zip(tmp_path / "packs" / "iglu-singleturn.zip", files)
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path / "packs"))
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")


def test_corpora_have_names_and_parts(singleturn_pack):
    assert [len(tasks_of(f"iglu-singleturn{part}")) for part in ("", ":train", ":test")] == [3, 2, 1]
    for task in games_of("iglu-singleturn:test"):
        assert (task.task_id, np.count_nonzero(task.target_grid)) == ("CQ-game-3", 3)
    assert [len(as_source(f"turns:{part}")) for part in ("train", "val", "test")] == [253, 51, 60]
    assert len(as_source("bundled:test")) == 5
    with pytest.raises(DataError, match="has no tasks in the val split of iglu-singleturn"):
        as_source("iglu-singleturn:val")
    with pytest.raises(ConfigError, match="expected turns, or turns: with one of train, val, test"):
        as_source("turns:dev")
    with pytest.raises(DataError, match=r"(?s)mdc.*are not on this machine.*iglu-marl data fetch mdc"):
        as_source("mdc:val")


@pytest.mark.parametrize("name", ["bundled", "turns", "random", "own.json", "own.py:make", "own.py:tasks"])
def test_a_name_works_wherever_a_source_does(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "own.json").write_text(STRUCTURES)
    for task in games_of(name):
        blocks = int((task.target_grid != 0).sum())
        if name in ("bundled", "turns", "random"):
            assert blocks <= (8 if name == "random" else 99)
            assert bool(task.dialogue) == (name == "turns")
        else:
            assert (task.task_id, blocks) == ("own", 1)
    counts = {"bundled": 32, "turns": 364, "random": 20}
    assert len(tasks_of(name)) == counts.get(name, 1)
    assert LanguageGoal(gym.make("IGLUGridworldVector-v0"), scenes=name).reset(seed=0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "randm",
            "tasks is 'randm' (did you mean 'random'?), expected bundled, turns, random, iglu-singleturn,",
        ),
        ("", "tasks is '', expected bundled, turns, random"),
        ("nowhere.json", "tasks is 'nowhere.json', expected bundled"),
        ("iglu_marl.tasks:CustomTasks", "which cannot be called without arguments"),
        ("iglu_marl.agents:RandomArchitect", "tasks is 'iglu_marl.agents:RandomArchitect': what"),
        (
            "iglu_marl:__version__",
            "tasks is 'iglu_marl:__version__': what iglu_marl:__version__ gives is '0.4",
        ),
    ],
)
def test_unknown_names_list_the_choices(name, said):
    for enter in (lambda: iglu_marl.env(tasks=name), lambda: tasks_of(name)):
        with pytest.raises(ConfigError) as caught:
            enter()
        assert said in str(caught.value)


def test_a_generator_runs_out_with_an_error():
    tasks = iter([TASK])
    sample_task(tasks, rng())
    with pytest.raises(TaskError, match="run out"):
        sample_task(tasks, rng())


def test_a_source_without_any_method_says_what_is_missing():
    with pytest.raises(TaskError, match="has to define"):
        sample_task(TaskSource(), rng())


def test_tasks_complete_at_their_start_are_skipped_and_counted():
    source = CustomTasks([("done", EMPTY), ("a", ONE)])
    drawn = [sample_task(source, rng(seed)) for seed in range(20)]
    assert {task.dialog for task in drawn} == {"a"}
    assert source.skipped > 3
    assert CustomTasks([("a", ONE)]).skipped == 0


def test_only_complete_tasks_are_an_error():
    source = CustomTasks([("done", EMPTY)])
    with pytest.raises(TaskError, match=str(MAX_SKIPS)):
        sample_task(source, rng())
    assert source.skipped == MAX_SKIPS
    with pytest.raises(TaskError):
        sample_task(Task("done", EMPTY), rng())


def test_seeds_decide_even_where_calls_take_no_generator():
    class Mine(SessionTasks):
        def reset(self):
            return self.tasks["tower"][0].reset()

    source = Mine({"tower": [Subtasks(["a", "b", "c"], [ONE, TWO, THREE])]})
    drawn = [[sample_task(source, generator) for _ in range(10)] for generator in (rng(1), rng(1), rng(2))]
    assert drawn[0] == drawn[1] != drawn[2]


# -- sessions, bundled tasks, the default


def sessions():
    return {
        "tower": [
            Subtasks(["a", "b"], [ONE, TWO], task_id="1-tower"),
            Subtasks(["c"], [TWO], task_id="2-tower"),
        ],
        "post": [Subtasks(["d"], [THREE], task_id="1-post")],
    }


def test_turns_of_sessions():
    source = SessionTasks(sessions())
    assert len(source) == len(list(source)) == 4
    assert {sample_task(source, rng(seed)) for seed in range(60)} == set(source)
    assert source.tasks["tower"][0][1].previous_dialog == "<Architect> a"
    assert source.sample(rng(4)) == source.sample(rng(4))
    assert all(task.next_task is None for task in source)


def test_whole_structures_of_sessions():
    silent = SessionTasks(sessions(), mode="structures")
    assert [task.dialog for task in silent] == ["", ""]  # both sessions of the tower end alike
    assert [task.target_size for task in silent] == [2, 3]
    assert [task.task_id for task in silent] == ["tower", "post"]
    spoken = SessionTasks(sessions(), mode="structures", dialog=True)
    assert [task.dialog for task in spoken] == [
        "<Architect> a\n<Architect> b",
        "<Architect> c",
        "<Architect> d",
    ]
    assert {sample_task(silent, rng(seed)) for seed in range(40)} == set(silent)
    assert len(silent) == 2


@pytest.mark.parametrize(
    "make", [lambda: SessionTasks(sessions()), lambda: SessionTasks(sessions(), mode="structures")]
)
def test_sources_copy_and_pickle(make):
    source = make()
    expected = source.sample(rng(7))
    for twin in (copy.deepcopy(source), pickle.loads(pickle.dumps(source))):
        assert twin.sample(rng(7)) == expected
        assert list(twin) == list(source)


ENVIRONMENTS = [
    "IGLUGridworld-v0",
    "IGLUGridworldVector-v0",
    "IGLUSilentBuilder-v0",
    "IGLUSilentBuilderVisual-v0",
]


def defaults():
    """The default source of tasks of each kind of environment."""
    single = {name: gym.make(name).unwrapped.setup.tasks for name in ENVIRONMENTS}
    two = {
        make.__name__: make().unwrapped._setup.tasks for make in (iglu_marl.raw_env, iglu_marl.parallel_env)
    }
    return {**single, **two}


def test_data_on_the_machine_change_no_default_but_the_documented_one(tmp_path, monkeypatch):
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)
    before = defaults()
    assert all(type(source) is BundledTasks for source in before.values())
    assert {source.mode for name, source in before.items() if name in ENVIRONMENTS} == {"turns"}
    assert before["raw_env"].mode == before["parallel_env"].mode == "structures"
    structure_file(tmp_path / "structures-mine.json", {"C8": {"blocks": [[0, -1, 0, 1]]}})
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path))
    for name, source in defaults().items():
        if "SilentBuilder" in name:
            assert type(source) is TaskSet
            assert source.preset == ["C8"]
        else:
            assert repr(source) == repr(before[name])
    (tmp_path / "structures-mine.json").write_text("{")
    assert repr(BundledTasks()) == repr(before["IGLUGridworld-v0"])
    with pytest.raises(DataError, match=r"structures-mine\.json"):
        gym.make("IGLUSilentBuilder-v0").reset()


# -- structures


def structure_file(path, structures=None, **changes):
    content = {
        "colours": {"1": "blue", "2": "green", "3": "red"},
        "structures": structures or {"C7": {"name": "post", "blocks": [[0, -1, 0, 2], [0, 0, 0, 3]]}},
    }
    content.update(changes)
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))
    return path


def test_structures_are_read_with_their_own_colors(tmp_path):
    structures = load_structures(structure_file(tmp_path / "s.json"))
    assert structures["C7"].name == "post"
    assert grid_to_blocks(structures["C7"].grid) == [(0, -1, 0, 3), (0, 0, 0, 6)]  # green is 3, red is 6 here


def test_the_ground_is_the_files_own(tmp_path):
    entry = {"C7": {"blocks": [[3, 0, -1, 2]]}}
    path = structure_file(tmp_path / "s.json", entry, ground_y=0, colours={"2": "Red"})
    assert grid_to_blocks(load_structures(path)["C7"].grid) == [(3, -1, -1, 6)]


def test_structure_tasks(tmp_path):
    path = structure_file(
        tmp_path / "s.json", {key: {"blocks": [[0, -1, 0, 1]]} for key in ("C1", "C7", "C9")}
    )
    source = StructureTasks(path)
    assert [task.task_id for task in source] == ["C1", "C7", "C9"]
    assert source["C7"] is source[1]
    assert (source["C7"].dialog, source["C7"].ids) == ("", "iglu")
    assert [task.task_id for task in StructureTasks(path, "C9")] == ["C9"]
    assert sample_task(StructureTasks(path, ["C1"]), rng()).task_id == "C1"
    for wrong in (lambda: StructureTasks(path, ["C2"]), lambda: source["C2"]):
        with pytest.raises(TaskError, match=r"'C2'.*C1, C7, C9"):
            wrong()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"structures": {"C1": {"blocks": [[0, -1, 0]]}}}, "C1"),
        ({"structures": {"C1": {"blocks": [[0, -1, 0, 4]]}}}, r"\[1, 2, 3\]"),
        ({"structures": {"C1": {"blocks": [[9, -1, 0, 1]]}}}, "outside"),
        ({"structures": {"C1": {"blocks": [[0, -1, 0, 1]] * 2}}}, "second block"),
        ({"structures": {"C1": 3}}, "blocks"),
        ({"structures": []}, "structures"),
        ({"colours": None}, "colours"),
        ({"colours": {"1": "pink"}}, "pink"),
        ({"block_order": ["x", "z", "y", "colour_id"]}, "block_order"),
        ({"ground_y": "low"}, "ground_y"),
    ],
)
def test_wrong_structure_files_are_refused(tmp_path, changes, named):
    path = structure_file(tmp_path / "s.json", **changes)
    if changes.get("structures") == []:
        path.write_text(json.dumps({"colours": {"1": "blue"}, "structures": []}))
    with pytest.raises(DataError, match=named) as caught:
        load_structures(path)
    assert str(path) in str(caught.value)


def test_the_real_structures(shared):
    path = shared / "data" / "structures-dev.json"
    content = json.loads(path.read_text())
    source = StructureTasks(path)
    assert len(source) == len(content["structures"]) == 79
    for key, entry in content["structures"].items():
        expected = sorted((x, y, z, content["colours"][str(c)]) for x, y, z, c in entry["blocks"])
        held = [(x, y, z, const.id2color[c]) for x, y, z, c in grid_to_blocks(source[key].target_grid)]
        assert held == expected, key
        assert source.structures[key].name == TaskSet.LISTED[key].name


# -- the list of the corpus


def test_the_list_is_the_documented_one(shared):
    text = (shared / "seeds" / "iglu-tasks.txt").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if line.startswith("C") and ": " in line]
    assert [f"{key}: {line}" for key, line in TaskSet.ALL.items()] == lines
    assert len(lines) == 157
    assert (TaskSet.LISTED["C8"].name, TaskSet.LISTED["C8"].blocks) == ("table2", 12)
    assert TaskSet.LISTED["C38"].blocks is None


def test_a_preset_of_the_corpus(shared, monkeypatch):
    monkeypatch.setenv("IGLU_DATA_PATH", str(shared / "data"))
    source = TaskSet(preset=["C1", "C3", "C7"])
    assert source.preset == ["C1", "C3", "C7"]
    assert len(source) == sum(map(len, source.tasks.values())) > 3, "one task for each recorded session"
    assert source["C3"].target_size == 3
    assert sample_task(source, rng()) in list(source)
    assert len(TaskSet(preset=["C1", "C3", "C7"], dialog=False)) == 3
    with pytest.raises(DataError, match="C6, C28"):
        TaskSet(preset=TaskSet.ALL)
    with pytest.raises(TaskError, match="'C7' is not in this set"):
        TaskSet("C1")["C7"]


def test_a_preset_from_a_file(tmp_path, monkeypatch):
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)
    path = structure_file(tmp_path / "s.json")
    assert TaskSet("C7", path=path)["C7"].target_size == 2
    monkeypatch.setenv("IGLU_DATA_PATH", str(path))
    assert TaskSet(["C7"])["C7"].target_size == 2


def test_without_the_corpus_the_error_says_what_to_get(monkeypatch, tmp_path):
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    for arguments in ({"preset": ["C1"]}, {"preset": TaskSet.ALL}, {}):
        with pytest.raises(DataError, match=r"`iglu-marl data fetch mdc`.*path=FILE.*IGLU_DATA_PATH"):
            TaskSet(**arguments)
    structure_file(tmp_path / "s.json")
    with pytest.raises(DataError, match=r"C1; run `iglu-marl data fetch mdc`"):
        TaskSet(preset=["C1"], path=tmp_path / "s.json")
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="Minecraft Dialogue Corpus"):
        TaskSet()
