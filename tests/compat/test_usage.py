"""Code as it was written around the IGLU tools of 2021 and 2022, run with nothing changed but its imports.

The pieces are the examples of the tools' documents, and an evaluation loop as their documents let one write it: a
dataset is iterated, each task played, and what was built compared with what was to be built.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("packs")

IMPORTS = (
    (r"^import gym$", "from iglu_marl.compat import gym"),
    (r"^import (gridworld|iglu)$", r"import iglu_marl.compat.\1 as \1"),
    (r"^from (gridworld|iglu|iglu_datasets)\b", r"from iglu_marl.compat.\1"),
)


def migrated(code: str) -> str:
    """The code with other imports. Fails when an import of the tools, or anything else, was changed or left."""
    changed = code
    for before, after in IMPORTS:
        changed = re.sub(before, after, changed, flags=re.MULTILINE)
    pairs = list(zip(code.splitlines(), changed.splitlines(), strict=True))
    assert all(re.match(r"(import|from) (gym|gridworld|iglu)", old) for old, new in pairs if old != new)
    assert all(
        re.match(r"import numpy|from iglu_marl", new) or " as " in new for _, new in pairs if "import" in new
    )
    return changed


def run(code: str, **names: Any) -> dict[str, Any]:
    """What the migrated code leaves behind. It may use the names given."""
    namespace: dict[str, Any] = {"__name__": "usage", **names}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(migrated(code), "usage", "exec"), namespace)  # noqa: S102 (our own pieces)
    return namespace


# ------------------------------------------------------------------------------------------ gridworld, 2022

LOOP = """
import gym
import gridworld
from gridworld.tasks import DUMMY_TASK
# create vector based env. Rendering is enabled by default.
# To turn it off, use render=False.
env = gym.make('IGLUGridworld-v0')
# It is mandatory to task the environemnt.
# For dummy looping, you can use a DUMMY_TASK object:
env.set_task(DUMMY_TASK)
done = False
obs = env.reset()
while not done:
    action = env.action_space.sample()
    obs, reward, done, info = env.step(action)
"""

WALKING = """
import gym
env = gym.make('IGLUGridworld-v0', action_space='walking')
print(env.action_space) # Discrete(18)
"""

FLYING = """
import gym
env = gym.make('IGLUGridworld-v0', action_space='flying')
"""

DATASET = """
import gym
from gridworld.data import IGLUDataset
dataset = IGLUDataset(dataset_version='v0.1.0-rc1')
# leave dataset_version empty to access the most recent version of the dataset.
env = gym.make('IGLUGridworld-v0')
env.set_task_generator(dataset)
"""

STRUCTURE = """
from gridworld.data import IGLUDataset
dataset = IGLUDataset()
# .tasks is a dict mapping from structure to a list of sessions of interaction
dataset.tasks
# each value contains a list corresponding to collaboration sessions.
dataset.tasks['c73']
# Each element of this list is an instance of `Subtasks` class
dataset.tasks['c73'][0]
"""

SUBCLASS = """
import gym
from gridworld.data import IGLUDataset
class MyDataset(IGLUDataset):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.my_task_id = 'c73'
        self.my_session = 0
    def reset(self):
        return self.tasks[self.my_task_id][self.my_session].reset()
env = gym.make('IGLUGridworld-v0')
my_dataset = MyDataset(dataset_version='v0.1.0-rc1')
env.set_task_generator(my_dataset)
# do training/sampling
"""

SCALES = """
import gym
from gridworld.tasks import Task
env = gym.make('IGLUGridworld-v0', right_scale=3, wrong_scale=0.5, size_reward=False, render=False)
env.set_task(Task('a block', target, invariant=False))
"""


def test_the_loop_of_2022() -> None:
    left = run(LOOP)
    assert left["done"] is True
    assert set(left["obs"]) == {"inventory", "compass", "dialog", "pov"}
    assert left["info"].get("TimeLimit.truncated", False) is not (left["env"].step_no < 250)
    assert left["env"].unwrapped.max_steps == 250
    assert left["env"].unwrapped.select_and_place


def test_the_action_spaces_of_2022(capsys: pytest.CaptureFixture[str]) -> None:
    run(WALKING)
    assert capsys.readouterr().out == "Discrete(18)\n"
    assert sorted(run(FLYING)["env"].action_space) == ["camera", "inventory", "movement", "placement"]


def test_a_dataset_as_a_generator_in_2022() -> None:
    env = run(DATASET)["env"]
    told = {env.reset()["dialog"] for _ in range(120)}
    assert len(told) == 3
    assert all("<Architect>" in text for text in told)
    assert "IGLUDataset" in run(STRUCTURE)


def test_a_subclass_of_a_dataset_in_2022() -> None:
    env = run(SUBCLASS)["env"]
    for _ in range(10):
        env.reset()
        assert env.task.task_id == "1-c73"


def test_scales_in_2022() -> None:
    target = np.zeros((9, 11, 11), int)
    target[0, 5, 4], target[5, 5, 5] = 3, 3  # red, then
    env = run(SCALES, target=target)["env"]
    env.reset()
    rewards = [env.step(action)[1] for action in [14] * 9 + [8, 16, 6]]  # down; red, which places; away; blue
    assert rewards[9:] == [3, -3, -0.5]


EVALUATION = """
import gym
import gridworld
import numpy as np
from gridworld.data import IGLUDataset
from gridworld.tasks import Task, Tasks

dataset = IGLUDataset(dataset_version='v0.1.0-rc1')
env = gym.make('IGLUGridworld-v0', vector_state=True, render=False, name='eval', max_steps=30)
scores = {}
for structure, session, turn, task in dataset:
    start = Tasks.to_dense(task.starting_grid)
    wanted = Task('', Tasks.to_dense(task.target_grid) - start)
    env.set_task(task)
    obs, done = env.reset(), False
    agent.hear(obs['dialog'])
    while not done:
        obs, reward, done, info = env.step(agent.act(obs))
    built = obs['grid'] - start
    right = wanted.maximal_intersection(built)
    precision = right / max(1, np.count_nonzero(built))
    recall = right / wanted.target_size
    scores[structure, session, turn] = 2 * precision * recall / max(precision + recall, 1e-9)
f1 = sum(scores.values()) / len(scores)
"""


class RedBlock:
    """Puts a red block in front of itself, in the actions of 2022: looks down, and chooses red, which places it."""

    def hear(self, dialog: str) -> None:
        self.left = [8] + [14] * 9
        assert "red" in dialog or "three" in dialog

    def act(self, observation: dict[str, Any]) -> int:
        return self.left.pop() if self.left else 0


def test_the_evaluation_loop_of_2022() -> None:
    scores = run(EVALUATION, agent=RedBlock())["scores"]
    assert scores == {("c73", 0, 0): 1, ("c73", 0, 1): 0, ("c118", 0, 0): 0.5}


# ------------------------------------------------------------------------------------- iglu_datasets, 2022

BOTH = """
from iglu_datasets import MultiturnDataset, SingleturnDataset
# leave dataset_version empty to access the most recent version of the dataset.
# create a multiturn dataset instance
dataset = MultiturnDataset(dataset_version='v1.0')
multiturn = dataset
# create a singleturn dataset instance
dataset = SingleturnDataset(dataset_version='v1.0')
"""

SAMPLE = """
from iglu_datasets import MultiturnDataset
dataset = MultiturnDataset()
dataset.seed(2)
sample = dataset.sample() # here a `Task` instance will be returned
print('Previous dialog\\n', sample.dialog) # the whole prior conversation EXCLUDING the current instruction.
print('Instruction\\n', sample.instruction) # the current instruction to execute by the builder.
print('Target grid\\n', sample.target_grid.shape) # 3D numpy array of shape (9, 11, 11).
print('Starting grid\\n', sample.starting_grid.shape) # 3D numpy array of shape (9, 11, 11).
"""

SAMPLED = """
from iglu_datasets import MultiturnDataset
class MyDataset(MultiturnDataset):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.my_task_id = 'c73'
        self.my_session = 0
    def sample(self):
        return self.tasks[self.my_task_id][self.my_session].sample()
my_dataset = MyDataset(dataset_version='v1.0')
# do training/sampling
"""


def test_the_datasets_of_2022() -> None:
    left = run(BOTH)
    assert [len(left[name]) for name in ("multiturn", "dataset")] == [3, 2]


def test_what_is_printed_of_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    sample = run(SAMPLE)["sample"]
    printed = capsys.readouterr().out
    assert printed == (
        f"Previous dialog\n {sample.dialog}\nInstruction\n {sample.instruction}\n"
        "Target grid\n (9, 11, 11)\nStarting grid\n (9, 11, 11)\n"
    )
    assert sample.instruction not in sample.dialog.split("\n")


def test_a_subclass_that_samples_its_own_way() -> None:
    assert {run(SAMPLED)["my_dataset"].sample().task_id for _ in range(3)} == {"1-c73"}


# ---------------------------------------------------------------------------------------------- iglu, 2021

ENCODINGS = """
import gym
import iglu
# For human level actions
env = gym.make('IGLUSilentBuilder-v0', action_space='human-level')
# For discrete coordinates movement
env = gym.make('IGLUSilentBuilder-v0', action_space='discrete')
# For continuous coordinates movement
env = gym.make('IGLUSilentBuilder-v0', action_space='continuous')
env = gym.make('IGLUSilentBuilderVisual-v0', action_space='human-level')
env = gym.make('IGLUSilentBuilderVisual-v0', action_space='discrete')
env = gym.make('IGLUSilentBuilderVisual-v0', action_space='continuous')
env = gym.make('IGLUSilentBuilder-v0')
"""

RANDOM_TASKS = """
import gym
from iglu.tasks import RandomTasks

env = gym.make('IGLUSilentBuilder-v0')
env.update_taskset(RandomTasks(max_blocks=3, max_dist=5, num_colors=3))

for episode in range(10):
    # for each reset call there will be a completely new target
    obs = env.reset()
    done = False

    while not done:
        action = env.action_space.sample()
        obs, reward, done, info = env.step(action)
"""

CUSTOM_TASKS = """
import gym
import numpy as np
from iglu.tasks import CustomTasks

env = gym.make('IGLUSilentBuilder-v0')
custom_grid = np.zeros((9, 11, 11)) # (y, x, z)
custom_grid[:3, 5, 5] = 1 # blue color
env.update_taskset(CustomTasks([
    ('<Architect> Please, build a stack of three blue blocks somewhere.\\n'
     '<Builder> Sure.',
     custom_grid)
]))
"""

COLOURS = """
from iglu.const import id2color; print(id2color)
"""

NAMED_TASKS = """
import gym
from iglu.tasks import TaskSet

env = gym.make('IGLUSilentBuilder-v0')
env.update_taskset(TaskSet(preset=['C1', 'C2', 'C3']))
"""

ALL_TASKS = """
from iglu.tasks.task_set import TaskSet
print('\\n'.join(f'{k}: {v}' for k, v in TaskSet.ALL.items()))
"""


def test_the_encodings_of_2021() -> None:
    env = run(ENCODINGS)["env"]
    assert "forward" in env.action_space.spaces
    env.reset()
    idle = dict.fromkeys(("forward", "back", "left", "right", "jump", "attack", "use", "hotbar"), 0)
    for _ in range(5):  # it drops to the floor
        obs = env.step({**idle, "camera": np.array([10, 0])})[0]
    assert obs["agentPos"].tolist() == [0, 0, 0, 50, 0]  # feet on the floor, gaze down
    assert env.unwrapped.episode.worlds.pose[0, 4] == -50


def test_random_tasks_of_2021() -> None:
    left = run(RANDOM_TASKS)
    assert left["done"] is True
    assert left["obs"]["chat"] == ""
    assert 1 <= np.count_nonzero(left["info"]["target_grid"] + 1) <= 3


def test_custom_tasks_of_2021() -> None:
    env = run(CUSTOM_TASKS)["env"]
    obs = env.reset()
    assert obs["chat"] == (
        "<Architect> Please, build a stack of three blue blocks somewhere.\n<Builder> Sure."
    )
    assert set(obs["grid"].ravel().tolist()) == {-1}
    info = env.step(env.action_space.sample())[3]
    assert np.argwhere(info["target_grid"] == 0).tolist() == [[0, 5, 5], [1, 5, 5], [2, 5, 5]]


def test_named_tasks_of_2021(capsys: pytest.CaptureFixture[str]) -> None:
    env = run(NAMED_TASKS)["env"]
    env.unwrapped.reset(seed=1)
    places = set()
    for _ in range(30):
        env.reset()
        places.add(int(np.argwhere(env.step(env.action_space.sample())[3]["target_grid"] == 0)[0, 2]))
    assert places == {6, 7, 8}
    run(ALL_TASKS)
    assert capsys.readouterr().out.splitlines()[7] == "C8: table2 (12 blocks, 2 colors)"


def test_colours_of_2021(capsys: pytest.CaptureFixture[str]) -> None:
    run(COLOURS)
    printed = capsys.readouterr().out
    assert printed == "{0: 'air', 1: 'blue', 2: 'yellow', 3: 'green', 4: 'orange', 5: 'purple', 6: 'red'}\n"
