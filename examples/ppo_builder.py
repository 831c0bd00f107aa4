"""A builder that learns from scratch: PPO in one file, in the manner of CleanRL, on the vector environment.

    python examples/ppo_builder.py --task target      # sees the structure that it is to build
    python examples/ppo_builder.py --task language    # reads what to build; some colour-place pairs are never trained

Each task takes some minutes on one CPU thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np

import iglu_marl  # noqa: F401 - registers the environments
from iglu_marl import Task
from iglu_marl.core.extras import extra
from iglu_marl.language import CellEdit
from iglu_marl.language.instructions import wordings
from iglu_marl.tasks import Curriculum, RandomTasks, TaskSource

with extra("rl", script=True):
    import torch
    from torch import nn

Arrays = dict[str, np.ndarray]
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Config:
    """Settings of a run; `PRESETS` has those of each task."""

    task: str = "target"
    seed: int = 0
    blind: bool = False  # the control: hides the target or the instruction
    total_steps: int = 2_000_000  # environment steps, of all worlds together
    num_envs: int = 128
    rollout: int = 32  # steps of each world between two updates
    max_steps: int = 100  # of an episode
    right_scale: float = 2.0
    wrong_scale: float = 1.0
    caution: float = 0.05  # initial share of `wrong_scale`; with 1 it first learns to place nothing
    cautious: tuple[float, float] = (0.03, 0.2)  # between these shares of the training it grows to 1
    gamma: float = 0.98
    gae_lambda: float = 0.95
    epochs: int = 4
    minibatch: int = 512
    learning_rate: float = 1e-3  # falls linearly to zero
    clip: float = 0.2
    entropy: float = 0.01  # falls linearly to zero
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    hidden: int = 128
    evaluations: int = 20  # measurements on the way, each of `test_episodes`
    test_episodes: int = 256
    final_episodes: int = 1000


PRESETS: dict[str, dict[str, Any]] = {
    "target": {},
    "language": {
        "max_steps": 40,
        "caution": 0.1,
        "cautious": (0.5, 0.9),
        "total_steps": 1_000_000,
        "evaluations": 15,
        "test_episodes": 128,
    },
}


# ---------------------------------------------------------------------------------------------- where one looks


def look(pose: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the target of the builder's hands (docs/dynamics.md): a ray of 40 samples, 0.2 cells apart.

    pose: agentPos [n, 5]; grid [n, 9, 11, 11]. Returns the solid cell hit and the cell before it, int [n, 3] as (x, y,
    z), and whether there are both, bool [n].
    """
    x, y, z, pitch, yaw = pose.T.astype(np.float64)
    around, tilt = np.radians(yaw - 90), np.radians(pitch)
    gaze = np.stack([np.cos(around) * np.cos(tilt), np.sin(tilt), np.sin(around) * np.cos(tilt)], axis=1)
    ray = np.stack([x, y, z], axis=1)[:, None] + gaze[:, None] * (np.arange(40) / 5)[:, None]
    cells = np.rint(ray).astype(np.int64)
    cx, cy, cz = cells[..., 0], cells[..., 1], cells[..., 2]
    inside = (abs(cx) <= 5) & (abs(cz) <= 5) & (cy >= -1) & (cy <= 7)
    worlds = np.arange(len(pose))[:, None]
    blocks = grid[worlds, np.clip(cy + 1, 0, 8), np.clip(cx + 5, 0, 10), np.clip(cz + 5, 0, 10)]
    solid = (cy == -2) | (inside & (blocks > 0))
    first = solid.argmax(axis=1)
    worlds = worlds[:, 0]
    return cells[worlds, first], cells[worlds, np.maximum(first - 1, 0)], solid.any(axis=1) & (first > 0)


def one_hot(values: np.ndarray, size: int) -> np.ndarray:
    """Return float32 [n, size]; a value outside 0..size-1 is all zeros."""
    return (values[:, None] == np.arange(size)).astype(np.float32)


# ---------------------------------------------------------------------------------------------- target


class TargetTask:
    """The silent builder: it sees the target, and may build it anywhere and in any of four orientations.

    Controls: walking, the 18 actions of 2022; choosing a colour also places a block (`select_and_place`). Tasks: one to
    three blocks on the ground, in one of the six colours.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.price = config.wrong_scale  # of a wrong block
        self.num_actions = 18
        self.splits = {"new": RandomTasks(max_blocks=3)}
        self.training: TaskSource = self.splits["new"]

    def make(self, tasks: TaskSource, num_envs: int) -> gym.vector.VectorEnv:
        return gym.make_vec(
            "IGLUGridworldVector-v0",
            num_envs=num_envs,
            tasks=tasks,
            select_and_place=True,
            target_in_obs=True,
            max_steps=self.config.max_steps,
            right_scale=self.config.right_scale,
            wrong_scale=self.config.wrong_scale,
            copy=False,
        )

    def actions(self, chosen: np.ndarray) -> Any:
        return chosen

    def features(self, seen: Any) -> Arrays:
        """Return the surroundings of the aimed cell, float32 [n, 144]: see docs/learning.md."""
        pose, grid, target = seen["agentPos"], seen["grid"], seen["target_grid"]
        count = len(pose)
        hit, aim, reachable = look(pose, grid)
        colour = target.reshape(count, -1).max(axis=1)  # there is but one
        quarter = np.rint(pose[:, 4] / 90).astype(int) % 4
        # The target, laid over the build first block to first block; where nothing stands, over the cell aimed at.
        right = grid[:, 0] == colour[:, None, None]
        build_x, build_z = first_cells(right)
        target_x, target_z = first_cells(target[:, 0] > 0)
        begun = right.any(axis=(1, 2))
        shift_x = np.where(begun, build_x, aim[:, 0]) - target_x
        shift_z = np.where(begun, build_z, aim[:, 2]) - target_z
        # The cells around the aim, turned so that ahead is up.
        x, z = around(aim, quarter)
        wanted = at(target[:, 0], x - shift_x[:, None], z - shift_z[:, None]) > 0
        layers = [at(grid[:, level], x, z) for level in (0, 1)]
        wrong = (layers[0] > 0) & ((layers[0] != colour[:, None]) | ~wanted)
        missing = wanted & (layers[0] != colour[:, None])
        number, blocks = (target > 0).sum(axis=(1, 2, 3)), (grid > 0).sum(axis=(1, 2, 3))
        ahead, aside = offset_of(grid > 0, aim, quarter)  # of the build, for when it is out of these cells
        rest = [
            reachable,
            reachable & (hit[:, 1] > -2),  # a block is looked at
            aim[:, 1] == -1,
            (abs(aim[:, 0]) <= 5) & (abs(aim[:, 2]) <= 5),
            pose[:, 3] / 45,
            (pose[:, 4] - 90 * np.rint(pose[:, 4] / 90)) / 45,
            pose[:, 1] + 0.25,
            np.hypot(aim[:, 0] - pose[:, 0], aim[:, 2] - pose[:, 2]) / 4,
            blocks > 0,
            blocks / 3,
            (number - blocks) / 3,
            np.clip(ahead, -6, 6) / 3,
            np.clip(aside, -6, 6) / 3,
        ]
        parts = [
            missing,
            wanted,
            layers[0] > 0,
            layers[1] > 0,
            wrong,
            one_hot(colour - 1, 6),
            np.stack(rest, axis=1),
        ]
        state = np.concatenate(parts, axis=1, dtype=np.float32)
        return {"state": np.zeros_like(state) if self.config.blind else state}


def first_cells(layer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x and z of the first block of each layer [n, 11, 11], in the order of x, then z."""
    first = layer.reshape(len(layer), -1).argmax(axis=1)
    return first // 11 - 5, first % 11 - 5


def around(aim: np.ndarray, quarter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x and z, int [n, 25], of the 5 x 5 cells around a cell, by rows in the direction of the builder."""
    ahead, right = (
        part.ravel() for part in np.meshgrid(np.arange(2, -3, -1), np.arange(-2, 3), indexing="ij")
    )
    sine, cosine = np.array([0, 1, 0, -1])[quarter, None], np.array([1, 0, -1, 0])[quarter, None]
    return aim[:, [0]] + ahead * sine + right * cosine, aim[:, [2]] - ahead * cosine + right * sine


def offset_of(built: np.ndarray, aim: np.ndarray, quarter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the offset of the centre of the build from a cell, ahead and to the right, float [n]; 0 if empty."""
    blocks = built.sum(axis=(1, 2, 3))
    x = (built.sum(axis=(1, 3)) @ np.arange(-5, 6)) / np.maximum(blocks, 1) - aim[:, 0]
    z = (built.sum(axis=(1, 2)) @ np.arange(-5, 6)) / np.maximum(blocks, 1) - aim[:, 2]
    sine, cosine = np.array([0, 1, 0, -1])[quarter], np.array([1, 0, -1, 0])[quarter]
    return (x * sine - z * cosine) * (blocks > 0), (x * cosine + z * sine) * (blocks > 0)


def at(layer: np.ndarray, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the cells (x, z) [n, k] of a layer [n, 11, 11], 0 outside the zone."""
    inside = (abs(x) <= 5) & (abs(z) <= 5)
    found = layer[np.arange(len(layer))[:, None], np.clip(x, -5, 5) + 5, np.clip(z, -5, 5) + 5]
    return np.where(inside, found, 0)


# ---------------------------------------------------------------------------------------------- language


@cache
def wordings_of(colour: int, x: int, z: int) -> list[str]:
    """Return some wordings of an instruction to place a block."""
    return list(wordings(CellEdit("place", (x, -1, z), colour)))[::20]


class Instructed(TaskSource):
    """One block to place, as an instruction: "Put a red block 2 blocks east and 1 north of the centre, on the ground."

    pairs: (colour, x, z) to draw from. The wording is drawn as well.
    """

    def __init__(self, pairs: list[tuple[int, int, int]]) -> None:
        self.pairs = pairs
        self._tasks: dict[tuple[int, int], Task] = {}
        self._wordings = [wordings_of(*pair) for pair in pairs]

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        rng = self.rng if rng is None else rng
        number = int(rng.integers(len(self.pairs)))
        wording = int(rng.integers(len(self._wordings[number])))
        if (number, wording) not in self._tasks:
            colour, x, z = self.pairs[number]
            text = f"<Architect> {self._wordings[number][wording]}"
            self._tasks[number, wording] = Task(text, [(x, -1, z, colour)], invariant=False)
        return self._tasks[number, wording]


class LanguageTask:
    """The builder reads where to put a block of which colour. One colour of six is held out at each place.

    Controls: discrete (whole-cell moves), of which it uses moves, quarter turns, placing a block of each colour, and
    breaking. It looks down at the next cell ahead from the start.
    """

    radius = 2  # cells around the centre
    length = 18  # of an instruction, in words

    def __init__(self, config: Config) -> None:
        self.config = config
        self.price = config.wrong_scale  # of a wrong block
        cells = range(-self.radius, self.radius + 1)
        pairs = [(colour, x, z) for colour in range(1, 7) for x in cells for z in cells]
        held_out = {(c, x, z) for c, x, z in pairs if (c + x + 2 * z) % 6 == 0}
        seen = [pair for pair in pairs if pair not in held_out]
        self.splits = {"seen": Instructed(seen), "unseen": Instructed(sorted(held_out))}
        # First the cell ahead of the start, then those around, then all.
        ahead = [pair for pair in seen if pair[1:] == (0, -1)]
        near = [pair for pair in seen if max(abs(pair[1]), abs(pair[2])) <= 1]
        self.training = Curriculum([Instructed(ahead), Instructed(near), self.splits["seen"]])
        moves = [{"move": 1}, {"move": 2}, {"strafe": 1}, {"strafe": 2}]
        turns = [{"camera": camera} for camera in ((-90, 0), (90, 0))]
        hands = [{"hotbar": colour} for colour in range(1, 7)] + [{"attack": 1}]
        self.table = table_of(moves + turns + hands)
        self.num_actions = len(self.table["attack"])

    def make(self, tasks: TaskSource, num_envs: int) -> gym.vector.VectorEnv:
        envs = gym.make_vec(
            "IGLUGridworldVector-v0",
            num_envs=num_envs,
            tasks=tasks,
            action_space="discrete",
            select_and_place=True,
            chat="tokens",
            dialog_length=self.length,
            max_steps=self.config.max_steps,
            right_scale=self.config.right_scale,
            wrong_scale=self.config.wrong_scale,
            copy=False,
        )
        envs.unwrapped.initialize_world(None, (0, -0.25, 0, 0, -60))
        return envs

    def actions(self, chosen: np.ndarray) -> Any:
        return {key: values[chosen] for key, values in self.table.items()}

    def features(self, seen: Any) -> Arrays:
        """Return words, int64 [n, 18], and pose, aimed cell and build, float32 [n, 55]."""
        pose, grid = seen["agentPos"], seen["grid"]
        hit, aim, reachable = look(pose, grid)
        blocks = (grid > 0).reshape(len(grid), -1).sum(axis=1)
        parts = [
            one_hot(np.rint(pose[:, 0]) + 5, 11),
            one_hot(np.rint(pose[:, 2]) + 5, 11),
            one_hot(np.rint(pose[:, 4] / 90) % 4, 4),
            one_hot(np.where(reachable, aim[:, 0], 99) + 5, 11),
            one_hot(np.where(reachable, aim[:, 2], 99) + 5, 11),
            one_hot(np.where(reachable, hit[:, 1], 99) + 2, 3),
            one_hot(np.minimum(blocks, 3), 4),
        ]
        words = seen["dialog"].astype(np.int64)
        if self.config.blind:
            words[:] = 0
        return {"state": np.concatenate(parts, axis=1), "words": words}


def table_of(actions: list[dict[str, Any]]) -> Arrays:
    """Return the actions of the discrete encoding as arrays by index; missing keys are 0."""
    integers = ("move", "strafe", "jump", "attack", "use", "hotbar")
    table = {key: np.array([action.get(key, 0) for action in actions]) for key in integers}
    camera = np.array([action.get("camera", (0, 0)) for action in actions], np.float32)
    return {**table, "camera": camera}


TASKS: dict[str, Any] = {"target": TargetTask, "language": LanguageTask}


# ---------------------------------------------------------------------------------------------- the network


def linear(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """Return a layer with orthogonal weights."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class Reader(nn.Module):
    """Words int [n, length] to float [n, size]: embeddings, convolution over three neighbours, maximum."""

    def __init__(self, vocabulary: int, size: int, width: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.phrases = nn.Conv1d(width, size, 3, padding=1)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Read each instruction of a batch once."""
        different, number = torch.unique(words, dim=0, return_inverse=True)
        return self.phrases(self.embedding(different).transpose(1, 2)).amax(dim=2).relu()[number]


class Policy(nn.Module):
    """Actor and critic on one MLP, with a reader for words."""

    def __init__(self, example: Arrays, num_actions: int, vocabulary: int, hidden: int) -> None:
        super().__init__()
        size = example["state"].shape[1]
        if "words" in example:
            self.reader = Reader(vocabulary, 64)
            self.meaning, self.place = linear(64, hidden), linear(size, hidden)
            size += hidden
        self.body = nn.Sequential(linear(size, hidden), nn.Tanh(), linear(hidden, hidden), nn.Tanh())
        self.actor, self.critic = linear(hidden, num_actions, 0.01), linear(hidden, 1, 1.0)

    def forward(self, seen: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits float [n, actions] and values float [n]."""
        parts = [seen["state"]]
        if "words" in seen:  # the product shows whether the named and the aimed place agree
            parts.append(self.meaning(self.reader(seen["words"])) * self.place(seen["state"]))
        inner = self.body(torch.cat(parts, dim=1))
        return self.actor(inner), self.critic(inner)[:, 0]


def tensors(seen: Arrays) -> Tensors:
    return {key: torch.from_numpy(value) for key, value in seen.items()}


# ---------------------------------------------------------------------------------------------- PPO


def evaluate(task: Any, policy: Policy, split: str, episodes: int, seed: int) -> dict[str, float]:
    """Play one new episode in each of `episodes` worlds, actions sampled from the policy.

    Returns the share that was completed exactly, the mean return and the mean length.
    """
    envs = task.make(task.splits[split], episodes)
    generator = torch.Generator().manual_seed(seed)
    seen, _ = envs.reset(seed=seed)
    playing, completed = np.ones(episodes, bool), np.zeros(episodes, bool)
    returns, lengths = np.zeros(episodes), np.zeros(episodes)
    while playing.any():
        with torch.no_grad():
            logits, _ = policy(tensors(task.features(seen)))
        chosen = torch.multinomial(logits.softmax(dim=1), 1, generator=generator)[:, 0].numpy()
        seen, rewards, terminated, truncated, _ = envs.step(task.actions(chosen))
        returns += rewards * playing
        lengths += playing
        completed |= playing & terminated
        playing &= ~(terminated | truncated)
    envs.close()
    return {"success": completed.mean(), "return": returns.mean(), "length": lengths.mean()}


class Rollout:
    """Observations, actions and rewards of all worlds, arrays [steps, worlds, ...]."""

    def __init__(self, config: Config, example: Arrays) -> None:
        shape = (config.rollout, config.num_envs)
        self.seen = {key: np.zeros(shape + value.shape[1:], value.dtype) for key, value in example.items()}
        self.chosen = np.zeros(shape, np.int64)
        self.logs, self.values, self.rewards = (np.zeros(shape, np.float32) for _ in range(3))
        self.terminated, self.over, self.valid = (np.zeros(shape, bool) for _ in range(3))

    def advantages(self, last: np.ndarray, config: Config) -> np.ndarray:
        """Return generalised advantage estimates; a truncated episode is bootstrapped."""
        result, running = np.zeros_like(self.values), np.zeros_like(last)
        for t in reversed(range(config.rollout)):
            following = self.values[t + 1] if t + 1 < config.rollout else last
            delta = self.rewards[t] + config.gamma * following * ~self.terminated[t] - self.values[t]
            running = delta + config.gamma * config.gae_lambda * ~self.over[t] * running
            result[t] = running
        return result


def collect(
    task: Any, envs: Any, policy: Policy, rollout: Rollout, state: tuple[Any, np.ndarray], caution: float
) -> Any:
    """Fill a rollout. state: what is seen now, and in which worlds an episode has just ended.

    caution: the share of what mistakes cost (and of what undoing them brings) that counts.

    An ended episode's next step only begins a new one, whatever the action ("NextStep"): it teaches nothing.
    """
    seen, ended = state
    for t in range(len(rollout.chosen)):
        now = task.features(seen)
        with torch.no_grad():
            logits, values = policy(tensors(now))
            choice = torch.distributions.Categorical(logits=logits, validate_args=False)
            chosen = choice.sample()
        for key, value in now.items():
            rollout.seen[key][t] = value
        rollout.chosen[t], rollout.values[t] = chosen.numpy(), values.numpy()
        rollout.logs[t] = choice.log_prob(chosen).numpy()
        rollout.valid[t] = ~ended
        seen, rewards, terminated, truncated, _ = envs.step(task.actions(rollout.chosen[t]))
        ended = terminated | truncated
        rollout.rewards[t] = np.where(abs(rewards) == task.price, caution * rewards, rewards)
        rollout.terminated[t], rollout.over[t] = terminated, ended
        if isinstance(task.training, Curriculum):
            task.training.record(terminated[ended])
    return seen, ended


def update(
    policy: Policy, optimizer: Any, rollout: Rollout, last: np.ndarray, config: Config, remaining: float
) -> float:
    """Run the epochs of PPO on a rollout, and return the last loss. remaining: share of the training."""
    advantages = rollout.advantages(last, config)
    optimizer.param_groups[0]["lr"] = config.learning_rate * remaining
    valid = np.flatnonzero(rollout.valid)
    flat = {key: torch.from_numpy(v.reshape(-1, *v.shape[2:])) for key, v in rollout.seen.items()}
    chosen, logs = torch.from_numpy(rollout.chosen.ravel()), torch.from_numpy(rollout.logs.ravel())
    gains = torch.from_numpy(advantages.ravel())
    goals = torch.from_numpy((advantages + rollout.values).ravel())
    loss = torch.zeros(())
    for _ in range(config.epochs):
        order = torch.from_numpy(valid)[torch.randperm(len(valid))]
        for part in order.split(config.minibatch):
            logits, values = policy({key: value[part] for key, value in flat.items()})
            choice = torch.distributions.Categorical(logits=logits, validate_args=False)
            ratio = (choice.log_prob(chosen[part]) - logs[part]).exp()
            gain = gains[part]
            gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
            surrogate = torch.min(ratio * gain, ratio.clamp(1 - config.clip, 1 + config.clip) * gain).mean()
            error = (values - goals[part]).square().mean() / 2
            loss = (
                -surrogate
                + config.value_weight * error
                - config.entropy * remaining * choice.entropy().mean()
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), config.max_grad_norm)
            optimizer.step()
    return float(loss.detach())


def train(config: Config) -> Iterator[dict[str, Any]]:
    """Train, and yield records of measurements; the last one, `final`, has more episodes."""
    torch.manual_seed(config.seed)
    task = TASKS[config.task](config)
    envs = task.make(task.training, config.num_envs)
    seen, _ = envs.reset(seed=1_000_000 * (config.seed + 1))
    example = task.features(seen)
    vocabulary = int(envs.single_observation_space["dialog"].high.max()) + 1 if "words" in example else 0
    policy = Policy(example, task.num_actions, vocabulary, config.hidden)
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate, eps=1e-5)
    rollout = Rollout(config, example)
    state = seen, np.zeros(config.num_envs, bool)
    updates = max(1, config.total_steps // rollout.chosen.size)
    marks = set(np.linspace(0, updates, config.evaluations + 1).astype(int)[:-1].tolist())
    began, loss = time.process_time(), None
    for number in range(updates + 1):
        final = number == updates
        if final or number in marks:
            episodes = config.final_episodes if final else config.test_episodes
            record = {"steps": number * rollout.chosen.size, "seconds": time.process_time() - began}
            record |= {
                "stage": getattr(task.training, "stage", 0),
                "loss": loss,
                "final": final,
                "episodes": episodes,
            }
            for split in task.splits:  # worlds that were never trained in: their seeds lie below
                record[split] = evaluate(
                    task, policy, split, episodes, seed=100_000 * config.seed + 10 * number
                )
            yield record
        if not final:
            caution = float(np.interp(number / updates, config.cautious, (config.caution, 1.0)))
            state = collect(task, envs, policy, rollout, state, caution)
            with torch.no_grad():
                last = policy(tensors(task.features(state[0])))[1].numpy()
            loss = update(policy, optimizer, rollout, last, config, 1 - number / updates)
    envs.close()


def line_of(record: dict[str, Any]) -> str:
    shares = "  ".join(
        f"{split}: {value['success']:6.1%} in {value['length']:5.1f} steps, return {value['return']:+.2f}"
        for split, value in record.items()
        if isinstance(value, dict)
    )
    speed = record["steps"] / max(record["seconds"], 1e-9)
    return f"{record['steps']:>9,} steps {record['seconds']:6.0f} s ({speed:,.0f}/s)  stage {record['stage']}  {shares}"


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    """Train by command line; print and return the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--task", choices=sorted(TASKS), default="target")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    for field in fields(Config):
        if field.name == "blind":
            parser.add_argument("--blind", action="store_true", help="hide target or instruction")
        elif field.name not in ("task", "cautious"):
            kind = float if isinstance(field.default, float) else int
            parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind)
    given = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value is not None}
    torch.set_num_threads(given.pop("threads"))
    config = replace(Config(**PRESETS[given["task"]]), **given)
    records = []
    for record in train(config):
        records.append(record)
        print(line_of(record), flush=True)
    return records


if __name__ == "__main__":
    main()
