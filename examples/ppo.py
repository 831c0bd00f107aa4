"""Train a builder by PPO, in 1,024 games at a time: one file, with PyTorch alone.

    python examples/ppo.py --game see-ground --seed 0 --save runs/see-ground-0
    python examples/ppo.py --resume runs/see-ground-0 --steps 1000000

The folder gets `model.pt`, `curve.csv`, and at the end `result.json`: settings, and the success on tasks held out of
training. A run that was stopped continues with `--resume`, and gets the same curve. Needs the extra `rl`.
"""

from __future__ import annotations

import csv
import hashlib
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import typer

import iglu_marl
from iglu_marl import Task
from iglu_marl.core.controls import GRID_ACTIONS
from iglu_marl.core.extras import extra
from iglu_marl.envs.wrappers import discretize
from iglu_marl.evaluation.metrics import share_interval
from iglu_marl.game.config import SHAPING

with extra("rl", script=True):
    import torch
    from torch import nn
    from torch.distributions import Categorical

ROLLOUT, BATCH, EPOCHS, RATE, WIDTH = 24, 4096, 2, 1e-3, 128
DISCOUNT, LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM = 0.97, 0.95, 0.2, 0.01, 0.5, 0.5
SAVE_EVERY = 4  # updates; then all games start again, so that a resumed run plays the same ones
CHOICES = {"inputs": ("egocentric", "world"), "reward": ("shaped", "own"), "end": ("own", "first-block")}
AROUND = [(0, -1, -1), (1, -1, 0), (0, -1, 1), (-1, -1, 0)]  # north, east, south, west
GROUND = [(x, -1, z) for x, z in product(range(-5, 6), repeat=2)]
COLORS = (1, 2, 3, 4, 5, 6)
WHOLE = {"action_space": "discrete", "select_and_place": True}  # whole cells, by `GRID_ACTIONS`
# Options, cells, blocks of a task and colors. "see-ground" is see-ground-v2 with one start.
TASKS: dict[str, tuple[dict[str, Any], list[tuple[int, int, int]], int, tuple[int, ...]]] = {
    "see-place": ({**WHOLE, "max_steps": 6}, AROUND, 1, COLORS),
    "see-ground": ({**WHOLE, "max_steps": 24}, GROUND, 1, COLORS),
    "walk": ({"action_space": "walking", "max_steps": 140}, GROUND, 1, (1, 3, 6)),
    "walk-three": ({"action_space": "walking", "max_steps": 300}, GROUND, 3, COLORS),
}


def tasks_of(game: str, split: str, fold: int) -> list[Task]:
    """Return the tasks of a split: a sixth of the pairs of color and cell is held out, another one in each fold."""
    _, cells, count, colors = TASKS[game]
    rng = np.random.default_rng(0)
    targets = [[(*cell, color)] for cell in cells for color in colors]
    if count > 1:
        picks = [rng.choice(len(cells), count, replace=False) for _ in range(6000)]
        targets = [[(*cells[pick], int(rng.choice(colors))) for pick in chosen] for chosen in picks]
    parts = [(color + x + 3 * y + 2 * z + fold) % 6 for (x, y, z, color), *_ in targets]
    wanted = {"train": (2, 3, 4, 5), "validation": (1,), "test": (0,)}[split]
    chosen = [target for target, part in zip(targets, parts, strict=True) if part in wanted]
    return [Task("", target, invariant=False) for target in chosen]


def make_env(settings: dict[str, Any], tasks: list[Task], training: bool) -> Any:
    """Return games of a builder, with a number for each action."""
    options = TASKS[settings["game"]][0]
    shaped = training and settings["reward"] == "shaped"
    env = gym.make_vec(
        "IGLUGridworldVector-v0",
        num_envs=settings["games"] if training else len(tasks),
        tasks=tasks,
        target_in_obs=True,
        builder_sees=("grid", "pose", "hotbar", "wrong_cells"),
        max_wrong_cells=1,
        shaping={name: SHAPING[name] for name in settings["terms"].split(",")} if shaped else None,
        wrong_scale=0.02,
        autoreset_mode="Disabled" if training else "NextStep",
        copy=False,
        info_keys=("event",),
        **options,
    )
    return discretize(env, table=GRID_ACTIONS) if options["action_space"] == "discrete" else env


def inputs_of(seen: dict[str, np.ndarray], inputs: str) -> torch.Tensor:
    """Return the inputs of the network, float32 [games, n]: pose, color in hand, and the next cell to change."""
    grid, target, pose = seen["grid"], seen["target_grid"], seen["agentPos"]
    if inputs == "egocentric":
        kind, up, right, back, yaw, pitch, color, aimed = seen["wrong_cells"][:, 0].T
        turn = np.radians(yaw)
        near = [np.clip(value, -1.5, 1.5) for value in (right, back, yaw / 10, pitch / 10)]
        columns = [kind == 1, kind == 2, up / 5, right / 5, back / 5, pitch / 45, aimed, *near]
    else:
        y, x, z = np.unravel_index((grid != target).reshape(len(grid), -1).argmax(axis=1), grid.shape[1:])
        color, turn = target[np.arange(len(grid)), y, x, z], np.radians(pose[:, 4])
        columns = [pose[:, 0] / 5, pose[:, 1] / 5, pose[:, 2] / 5, (x - 5) / 5, y / 5, (z - 5) / 5]
    wanted, hand = (np.eye(7)[number] for number in (color.astype(int), seen["hotbar"][:, 0]))
    blocks = np.count_nonzero(grid.reshape(len(grid), -1), axis=1)
    columns += [np.sin(turn), np.cos(turn), pose[:, 3] / 45, blocks, (wanted * hand).sum(axis=1)]
    numbers = np.concatenate([np.stack(columns, axis=1), wanted, hand], axis=1)
    return torch.as_tensor(numbers, dtype=torch.float32)


def network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Return a network with two hidden layers. gain: of the weights of the last layer."""
    first, second, last = nn.Linear(inputs, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, outputs)
    for layer, scale in ((first, 2**0.5), (second, 2**0.5), (last, gain)):
        nn.init.orthogonal_(layer.weight, scale)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), last)


class Trainer:
    """Games, agent and optimizer of a run."""

    def __init__(self, settings: dict[str, Any]) -> None:
        torch.manual_seed(settings["seed"])
        self.settings, self.steps, self.seconds = settings, 0, 0.0
        self.curve: list[dict[str, float]] = []
        self.env = make_env(settings, tasks_of(settings["game"], "train", settings["seed"]), training=True)
        self.start_games()
        width, actions = self.inputs.shape[1], int(self.env.single_action_space.n)
        self.agent = nn.ModuleDict({"policy": network(width, actions, 0.01), "value": network(width, 1, 1)})
        self.optimizer = torch.optim.Adam(self.agent.parameters(), lr=RATE, eps=1e-5)

    def start_games(self) -> None:
        """Start all games, with tasks that depend on seed and steps."""
        seen, _ = self.env.reset(seed=1_000_003 * self.settings["seed"] + self.steps)
        self.inputs = inputs_of(seen, self.settings["inputs"])

    def ask(self, inputs: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Return the distribution of actions and the values."""
        logits, values = self.agent["policy"](inputs), self.agent["value"](inputs).squeeze(-1)
        return Categorical(logits=logits, validate_args=False), values

    @torch.no_grad()
    def play(self) -> tuple[list[torch.Tensor], list[bool]]:
        """Play a rollout. Return tensors [rollout, games] for `learn`, and which of the ended games were completed."""
        rows: list[tuple[torch.Tensor, ...]] = []
        completed: list[bool] = []
        for _ in range(ROLLOUT):
            policy, values = self.ask(self.inputs)
            actions = policy.sample()
            seen, rewards, terminated, truncated, infos = self.env.step(actions.numpy())
            over = terminated | truncated
            if self.settings["end"] == "first-block":
                over |= infos["event"] == "placed"
            row = (self.inputs, actions, policy.log_prob(actions), values)
            rows.append((*row, torch.tensor(rewards, dtype=torch.float32), torch.tensor(over)))
            if over.any():
                completed += terminated[over].tolist()
                seen, _ = self.env.reset(options={"reset_mask": over})
            self.inputs = inputs_of(seen, self.settings["inputs"])
        self.steps += ROLLOUT * len(self.inputs)
        return [torch.stack(column) for column in zip(*rows, strict=True)], completed

    def learn(self, rollout: list[torch.Tensor]) -> None:
        """Update the agent: generalised advantage estimation, then some epochs."""
        inputs, actions, log_probs, values, rewards, over = rollout
        advantages, later = torch.zeros_like(rewards), torch.zeros(len(self.inputs))
        following = self.ask(self.inputs)[1].detach()
        for step in reversed(range(ROLLOUT)):
            goes_on = (~over[step]).float()
            error = rewards[step] + DISCOUNT * goes_on * following - values[step]
            later = error + DISCOUNT * LAMBDA * goes_on * later
            advantages[step], following = later, values[step]
        columns = (inputs, actions, log_probs, advantages, advantages + values)
        data = [column.flatten(0, 1) for column in columns]
        for _ in range(EPOCHS):
            for chosen in torch.randperm(len(data[0])).split(BATCH):
                self.improve([column[chosen] for column in data])

    def improve(self, batch: list[torch.Tensor]) -> None:
        """Take a step of the optimizer."""
        inputs, actions, log_probs, advantages, returns = batch
        policy, values = self.ask(inputs)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = (policy.log_prob(actions) - log_probs).exp()
        gain = torch.min(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages).mean()
        loss = VALUE * (values - returns).square().mean() - gain - ENTROPY * policy.entropy().mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), MAX_NORM)
        self.optimizer.step()

    def save(self, folder: Path) -> None:
        """Write agent, optimizer, generator and curve."""
        modules = {"agent": self.agent.state_dict(), "optimizer": self.optimizer.state_dict()}
        progress = {"steps": self.steps, "seconds": self.seconds, "curve": self.curve}
        state = modules | progress | {"settings": self.settings, "generator": torch.get_rng_state()}
        torch.save(state, folder / "model.part")
        (folder / "model.part").replace(folder / "model.pt")  # never half a file
        with (folder / "curve.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.DictWriter(file, ["steps", "completed", "episodes", "cpu_s"])
            rows.writeheader()
            rows.writerows(self.curve)

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `save` wrote."""
        self.agent.load_state_dict(state["agent"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps, self.seconds, self.curve = state["steps"], state["seconds"], state["curve"]
        self.start_games()
        torch.set_rng_state(state["generator"])

    def train(self, steps: int, folder: Path, tensorboard: bool = False) -> None:
        """Train for a number of steps, or some more up to the next save."""
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter
        board = SummaryWriter(folder) if tensorboard else None
        while self.steps < steps or len(self.curve) % SAVE_EVERY:
            started = time.process_time()
            rollout, completed = self.play()
            self.learn(rollout)
            self.seconds += time.process_time() - started
            share, seconds = float(np.mean(completed or [0])), round(self.seconds, 2)
            row = {"completed": round(share, 4), "episodes": len(completed), "cpu_s": seconds}
            self.curve.append({"steps": self.steps, **row})
            if board is not None:
                board.add_scalar("completed", share, self.steps)
            if len(self.curve) % SAVE_EVERY == 0:
                self.save(folder)
                self.start_games()
                print(f"{self.steps:,} steps, {seconds:.0f} CPU-seconds: {share:.3f} completed", flush=True)

    @torch.no_grad()
    def test(self) -> list[bool]:
        """Return which tasks of the test split are completed by the most probable actions, with no change too many."""
        tasks = tasks_of(self.settings["game"], "test", self.settings["seed"])[:500]
        env = make_env(self.settings, tasks, training=False)
        seen, _ = env.reset(seed=0, options={"task": tasks})
        playing, won, changes = (np.full(len(tasks), value) for value in (True, False, 0))
        while playing.any():
            policy, _ = self.ask(inputs_of(seen, self.settings["inputs"]))
            seen, _, terminated, truncated, infos = env.step(policy.logits.argmax(dim=1).numpy())
            changes += playing & np.isin(infos["event"], ("placed", "removed"))
            won |= playing & terminated & (changes <= TASKS[self.settings["game"]][2])
            playing &= ~(terminated | truncated)
        return won.tolist()


def main(
    game: str = "see-ground",
    inputs: str = "egocentric",
    reward: str = "shaped",
    terms: str = ",".join(SHAPING),
    end: str = "own",
    seed: int = 0,
    games: int = 1024,
    steps: int = 400_000,
    save: Path | None = None,
    resume: Path | None = None,
    tensorboard: bool = False,
) -> dict[str, Any]:
    """Train a builder, measure it on the tasks that were held out, and write the result.

    game: one of `TASKS`. inputs: "egocentric": the next wrong cell as the builder sees it; "world": coordinates of
    pose and cell. reward: "shaped", or "own", the game's. terms: of the shaping. end: of games in training: "own", as
    the game ends, or "first-block". seed: of the run; chooses the held-out tasks. games: side by side. steps: of all
    games together. save: a new folder. resume: the folder of a run that continues with its settings.
    """
    torch.set_num_threads(1)  # networks as small as these are slower on several
    terms = terms if reward == "shaped" else "none"
    given: dict[str, Any] = {"game": game, "inputs": inputs, "reward": reward, "terms": terms, "end": end}
    for name, known in {"game": tuple(TASKS), **CHOICES}.items():
        if given[name] not in known:
            raise typer.BadParameter(f"--{name} is {given[name]!r}, expected one of {', '.join(known)}")
    given |= {"seed": seed, "games": games}
    folder = resume or save or Path("runs", f"{game}-{inputs}-{reward}-{end}-{seed}")
    if resume is None and (folder / "model.pt").exists():
        raise typer.BadParameter(f"{folder} has a model; continue with --resume, or name a new folder")
    state = torch.load(folder / "model.pt", weights_only=True) if resume else None
    trainer = Trainer(state["settings"] if state else given)
    if state:
        trainer.load(state)
    folder.mkdir(parents=True, exist_ok=True)
    trainer.train(steps, folder, tensorboard)
    won = trainer.test()
    found = share_interval(float(np.mean(won)), len(won))
    options = " ".join(f"--{name} {value}" for name, value in (trainer.settings | {"steps": steps}).items())
    result = {
        "command": f"python examples/ppo.py {options}",
        **trainer.settings,
        "steps": trainer.steps,
        "cpu_s": round(trainer.seconds, 1),
        "test": {"success": found.value, "interval": [found.low, found.high], "games": len(won)},
        "model_sha256": hashlib.sha256((folder / "model.pt").read_bytes()).hexdigest(),
        "versions": {"iglu_marl": iglu_marl.__version__, "torch": torch.__version__},
    }
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{folder}: {found.value:.3f} ({found.low:.3f} to {found.high:.3f}) of {len(won)} test tasks")
    return result


if __name__ == "__main__":
    typer.run(main)
