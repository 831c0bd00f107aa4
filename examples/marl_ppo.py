"""Train a pair or a team by PPO, in 1,024 games at a time: IPPO or MAPPO, with or without memory, PyTorch alone.

    python examples/marl_ppo.py --game code --seed 0 --save runs/code-0
    python examples/marl_ppo.py --game each --rewards own --reward shaped
    python examples/marl_ppo.py --game team-divide-v2 --algorithm mappo --memory gru

| game | agents | what they do |
|---|---|---|
| `code` | architect, builder | one block of 24: the architect says two symbols, the builder picks cell and color |
| `code-recall` | the same | one symbol a step; the builder sees only the latest, and acts after the second |
| `each` | two builders | each sees the target, and has a block to place beside it |
| `team-…-v2` | those of the level | a level of the benchmark |

IPPO: the critic of an agent gets the inputs of that agent; MAPPO: those of all. Builders share one network. The folder
gets `model.pt`, `curve.csv` and `result.json`; a run that was stopped continues with `--resume`, and gets the same
curve. Needs the extra `rl`.
"""

from __future__ import annotations

import csv
import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import typer

import iglu_marl
from iglu_marl import Task
from iglu_marl.benchmark import find, levels, make
from iglu_marl.benchmark.splits import some_of
from iglu_marl.core.controls import GRID_ACTIONS
from iglu_marl.core.dialogue import Role
from iglu_marl.core.extras import extra
from iglu_marl.envs import VectorGame
from iglu_marl.envs.wrappers import discretize
from iglu_marl.evaluation.metrics import share_interval

with extra("rl", script=True):
    import torch
    from torch import nn
    from torch.distributions import Categorical

LEVEL_TASKS = 4096  # of a level, drawn once
HEADS = 4  # of the attention
DISCOUNT, LAMBDA, CLIP, VALUE, MAX_NORM = 0.99, 0.95, 0.2, 0.5, 0.5
SAVE_EVERY = 10  # updates
CHOICES = {
    "algorithm": ("ippo", "mappo"),
    "memory": ("none", "gru", "attention"),
    "rewards": ("shared", "own"),
    "reward": ("own", "shaped"),
}
AROUND = [(0, -1, -1), (1, -1, 0), (0, -1, 1), (-1, -1, 0)]  # north, east, south, west
COLORS = (1, 2, 3, 4, 5, 6)
SHAPED = {"yaw": 0.4, "pitch": 0.4, "aim": 0.25}  # hands that place choose the color, so that is not paid
HANDS: dict[str, Any] = {"controls": "discrete", "select_and_place": True}

Numbers = np.ndarray[Any, Any]
Seen = dict[str, dict[str, Numbers]]
Tensors = dict[str, "torch.Tensor"]


# ------------------------------------------------------------------------------------------------------------- games


class Rules(NamedTuple):
    """How a game is played.

    steps: of an episode. groups: agents by network; those of a group share it. heads: sizes of the action's parts, by
    group. turns: first and last step (exclusive) in which a group acts. rate, epochs, entropy, batch (games of a part
    of an update), width (of the networks): of the learners.
    """

    steps: int
    groups: dict[str, list[str]]
    heads: dict[str, tuple[int, ...]]
    turns: dict[str, tuple[int, int]]
    rate: float = 1e-3
    epochs: int = 2
    entropy: float = 0.02
    batch: int = 256
    width: int = 128


PAIR = {"architect": ["architect_0"], "builder": ["builder_0"]}
TEAM = {"builder": ["builder_0", "builder_1"]}


class Game(Protocol):
    """Games that are played side by side, an episode each."""

    rules: Rules

    def tasks(self, seed: int) -> tuple[list[Task], list[Task]]:
        """Return the tasks of the training, and those held out of it."""

    def make(self, count: int, settings: dict[str, Any], training: bool) -> Any:
        """Return `count` games."""

    def inputs(self, seen: Seen) -> dict[str, Numbers]:
        """Return the inputs of each agent's network, [games, n]."""

    def actions(self, chosen: dict[str, Numbers], step: int) -> dict[str, Any]:
        """Return the actions of the environment for what the networks chose, int [games, parts] by agent."""


class Code(Game):
    """One block in one of the four cells around the builder, in one of six colors; the builder acts on cells."""

    rules = Rules(
        2, PAIR, {"architect": (8, 8), "builder": (4, 6)}, {"architect": (0, 1), "builder": (1, 2)}, 5e-3
    )
    symbols = 2  # of a message

    def tasks(self, seed: int) -> tuple[list[Task], list[Task]]:
        """Hold out one color for each cell."""
        parts: tuple[list[Task], list[Task]] = ([], [])
        for number, cell in enumerate(AROUND):
            for color in COLORS:
                is_held_out = color == 1 + (number + seed) % 6
                parts[is_held_out].append(Task("", [(*cell, color)], invariant=False))
        return parts

    def make(self, count: int, settings: dict[str, Any], training: bool) -> Any:
        """Return games with token chat."""
        return VectorGame(
            count,
            controls="cells",
            vocabulary=8,
            max_message_length=self.symbols,
            dialog_length=1 + self.symbols,  # a mark, and one message
            architect_sees=("target_grid",),
            builder_sees=("grid", "pose", "dialog"),
            shaping=SHAPED if training and settings["reward"] == "shaped" else None,
            wrong_scale=0.05,
            max_steps=self.rules.steps,
            max_turns=None,
            copy=False,
        )

    def inputs(self, seen: Seen) -> dict[str, Numbers]:
        """Architect: which cell, which color. Builder: the symbols."""
        target = seen["architect_0"]["target_grid"][:, 0]
        cells = np.stack([target[:, x + 5, z + 5] for x, _, z in AROUND], axis=1)
        wanted = np.concatenate([cells > 0, np.eye(7)[cells.max(axis=1)][:, 1:]], axis=1)
        heard = np.eye(10)[seen["builder_0"]["dialog"]].reshape(len(target), -1)
        return {"architect_0": wanted, "builder_0": heard}

    def actions(self, chosen: dict[str, Numbers], step: int) -> dict[str, Any]:
        """Speak first; act in the last step."""
        speaks, acts = step < self.rules.turns["architect"][1], step == self.rules.steps - 1
        cell, color = chosen["builder_0"].T
        cells = np.array([(y + 1, x + 5, z + 5) for x, y, z in AROUND])[cell]
        edits = np.column_stack([cells, (color + 1) * acts])  # air where nothing stands: no effect
        return {"architect_0": (chosen["architect_0"] + 1) * speaks, "builder_0": edits}


class CodeRecalled(Code):
    """The same with one symbol a step: the builder has to remember the first of two."""

    rules = Rules(
        3, PAIR, {"architect": (8,), "builder": (4, 6)}, {"architect": (0, 2), "builder": (1, 3)}, 5e-3
    )
    symbols = 1

    def inputs(self, seen: Seen) -> dict[str, Numbers]:
        """The architect also knows whether it has spoken."""
        inputs, dialog = super().inputs(seen), seen["builder_0"]["dialog"]
        return {**inputs, "architect_0": np.column_stack([inputs["architect_0"], dialog.any(axis=1)])}


class Team(Game):
    """Two builders who see the target and choose from a table of actions, without an architect."""

    table: tuple[dict[str, Any], ...] = GRID_ACTIONS
    wrong_scale = 0.05

    def make(self, count: int, settings: dict[str, Any], training: bool) -> Any:
        """Return games of builders who see target, build and each other."""
        game = VectorGame(
            count,
            builders=2,
            architects=0,
            sees={"builder_0": "all", "builder_1": "all"},
            builder_sees=("grid", "pose", "wrong_cells"),
            max_wrong_cells=2,
            **HANDS,
            rewards=settings["rewards"],
            shaping=SHAPED if training and settings["reward"] == "shaped" else None,
            wrong_scale=self.wrong_scale,
            max_steps=self.rules.steps,
            max_turns=None,
            copy=False,
        )
        return discretize(game, table=self.table)

    def actions(self, chosen: dict[str, Numbers], step: int) -> dict[str, Any]:
        """Return the numbers of the table."""
        return {agent: own[:, 0] for agent, own in chosen.items()}


class Each(Team):
    """Two builders, six cells apart; each has one of 24 blocks to place beside it."""

    rules = Rules(6, TEAM, {"builder": (len(GRID_ACTIONS),)}, {"builder": (0, 6)}, entropy=0.03)

    def tasks(self, seed: int) -> tuple[list[Task], list[Task]]:
        """Hold out a sixth of the pairs of blocks."""
        poses = {"builder_0": (-3, -0.25, 0, 0, 0), "builder_1": (3, -0.25, 0, 0, 0)}
        blocks = [(cell, color) for cell in AROUND for color in COLORS]
        parts: tuple[list[Task], list[Task]] = ([], [])
        for first, ((x, y, z), color) in enumerate(blocks):
            for second, ((u, v, w), other) in enumerate(blocks):
                target = [(x - 3, y, z, color), (u + 3, v, w, other)]
                is_held_out = (first + second + seed) % 6 == 0
                parts[is_held_out].append(Task("", target, invariant=False, pose=poses))
        return parts

    def inputs(self, seen: Seen) -> dict[str, Numbers]:
        """Return the next two wrong cells as the builder sees them, and its pitch."""
        inputs = {}
        for number, (agent, own) in enumerate(seen.items()):
            parts = []
            for cell in own["wrong_cells"].transpose(1, 0, 2):
                kind, up, right, back, yaw, pitch, color, aimed = cell.T
                turn = np.radians(yaw)
                columns = [kind == 1, kind == 2, up / 5, right / 5, back / 5, np.sin(turn), np.cos(turn)]
                columns += [pitch / 45, np.clip(pitch / 10, -1.5, 1.5), aimed]
                parts += [np.stack(columns, axis=1), np.eye(7)[color.astype(int)]]
            role = np.eye(2)[np.full(len(own["agentPos"]), number)]
            inputs[agent] = np.column_stack([*parts, own["agentPos"][:, 3] / 45, role])
        return inputs


class LevelGame(Game):
    """A level of the benchmark in which every agent observes a vector and chooses a number, such as team-divide-v2.

    The settings of the learners are the ones of `python -m benchmarks.algorithms`.
    """

    def __init__(self, name: str) -> None:
        self.level = find(name)
        env = make(self.level)
        groups: dict[str, list[str]] = {}
        for agent in env.possible_agents:
            groups.setdefault(agent.rpartition("_")[0], []).append(agent)
        heads: dict[str, tuple[int, ...]] = {
            group: (int(env.action_space(agents[0]).n),) for group, agents in groups.items()
        }
        steps = self.level.max_steps
        self.rules = Rules(steps, groups, heads, dict.fromkeys(groups, (0, steps)), 5e-3, batch=512, width=64)

    def tasks(self, seed: int) -> tuple[list[Task], list[Task]]:
        """Return tasks of the training split of a seed, and of its test split."""
        level = self.level.fold(seed)
        return some_of(level.tasks("train"), LEVEL_TASKS), some_of(level.tasks("test"), LEVEL_TASKS // 8)

    def make(self, count: int, settings: dict[str, Any], training: bool) -> Any:
        """Return games with the vectors and numbers of the level."""
        rewards = {**self.level.game, "rewards": settings["rewards"]}
        level = replace(self.level, game=rewards).fold(settings["seed"])
        return make(level, num_envs=count, copy=False)

    def inputs(self, seen: Any) -> dict[str, Numbers]:
        """Return the vectors."""
        return {agent: own.copy() for agent, own in seen.items()}

    def actions(self, chosen: dict[str, Numbers], step: int) -> dict[str, Any]:
        """Return the numbers."""
        return {agent: own[:, 0] for agent, own in chosen.items()}


KINDS: dict[str, type[Game]] = {
    "code": Code,
    "code-recall": CodeRecalled,
    "each": Each,
}


class Seat:
    """A trained agent in one seat of a level, which chooses the most probable actions.

    learner: that of its group. remembers: whether the network gets all steps of the game.
    """

    def __init__(self, learner: Learner, remembers: bool) -> None:
        self.learner, self.remembers = learner, remembers
        self.seen: list[torch.Tensor] = []

    def reset(self, role: Role, seed: int | None) -> None:
        """Forget the last game."""
        self.seen = []

    @torch.no_grad()
    def act(self, observation: Numbers) -> int:
        """Return a number for a vector."""
        inputs = torch.as_tensor(np.array(observation), dtype=torch.float32)[None]
        self.seen = [*(self.seen if self.remembers else ()), inputs]
        (policy,) = self.learner.policy(torch.stack(self.seen))
        return int(policy.logits[-1, 0].argmax())

    def close(self) -> None:
        """Do nothing."""


GAMES = (*KINDS, *(level.name for level in levels("team") if level.vectors))


def made(name: str) -> Game:
    """Return a game, or that of a level of the benchmark."""
    return KINDS[name]() if name in KINDS else LevelGame(name)


# ---------------------------------------------------------------------------------------------------------- networks


class Network(nn.Module):
    """A network of sequences [steps, games, inputs], in which every step may remember those before."""

    def __init__(self, inputs: int, outputs: int, memory: str, width: int) -> None:
        super().__init__()
        self.memory = memory
        self.first, self.second = nn.Linear(inputs, width), nn.Linear(width, width)
        self.last = nn.Linear(width, outputs)
        for layer in (self.first, self.second):
            nn.init.orthogonal_(layer.weight, 2**0.5)
        if memory == "gru":
            self.gru = nn.GRU(width, width)
        elif memory == "attention":
            self.attention = nn.MultiheadAttention(width, HEADS)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return [steps, games, outputs]."""
        hidden = torch.tanh(self.first(inputs))
        if self.memory == "gru":
            hidden = self.gru(hidden)[0]
        elif self.memory == "attention":
            later = torch.ones(len(inputs), len(inputs), dtype=torch.bool).triu(1)  # what a step must not see
            hidden = hidden + self.attention(hidden, hidden, hidden, attn_mask=later, need_weights=False)[0]
        return self.last(torch.tanh(self.second(hidden)))


class Learner:
    """Actor, critic and optimizer of a group of agents."""

    def __init__(self, inputs: int, states: int, rules: Rules, group: str, memory: str) -> None:
        self.rules, self.heads = rules, rules.heads[group]
        self.networks = nn.ModuleDict(
            {
                "actor": Network(inputs, sum(self.heads), memory, rules.width),
                "critic": Network(states, 1, memory, rules.width),
            }
        )
        self.networks["actor"].last.weight.data.mul_(0.1)  # all actions are about as likely at first
        self.optimizer = torch.optim.Adam(self.networks.parameters(), lr=rules.rate, eps=1e-5)

    def policy(self, inputs: torch.Tensor) -> list[Categorical]:
        """Return the distribution of each part of the actions."""
        logits = self.networks["actor"](inputs).split(self.heads, dim=-1)
        return [Categorical(logits=part, validate_args=False) for part in logits]

    def values(self, states: torch.Tensor) -> torch.Tensor:
        """Return values [steps, games]."""
        return self.networks["critic"](states).squeeze(-1)

    def learn(self, data: Tensors) -> None:
        """Update by sequences [steps, games]. `playing` says which of their steps count."""
        with torch.no_grad():
            values, log_probs = (
                self.values(data["states"]),
                self.log_probs(data["inputs"], data["actions"])[0],
            )
            advantages = self.advantages(data, values)
        returns, playing = advantages + values, data["playing"]
        advantages = (advantages - advantages[playing].mean()) / (advantages[playing].std() + 1e-8)
        for _ in range(self.rules.epochs):
            for chosen in torch.randperm(playing.shape[1]).split(self.rules.batch):
                now, entropy = self.log_probs(data["inputs"][:, chosen], data["actions"][:, chosen])
                ratio, gain = (now - log_probs[:, chosen]).exp(), advantages[:, chosen]
                gain = torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
                error = (self.values(data["states"][:, chosen]) - returns[:, chosen]).square()
                counted = playing[:, chosen]
                loss = (VALUE * error - gain - self.rules.entropy * entropy)[counted].mean()
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.networks.parameters(), MAX_NORM)
                self.optimizer.step()

    def log_probs(self, inputs: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log-probabilities of actions [steps, games, parts], and the entropies."""
        parts = list(zip(self.policy(inputs), actions.unbind(-1), strict=True))
        chances = torch.stack([policy.log_prob(chosen) for policy, chosen in parts])
        return chances.sum(dim=0), torch.stack([policy.entropy() for policy, _ in parts]).sum(dim=0)

    def advantages(self, data: Tensors, values: torch.Tensor) -> torch.Tensor:
        """Return generalised advantages. After its last step, a game is over."""
        rewards, over = data["rewards"], data["over"]
        advantages, later, following = torch.zeros_like(values), torch.zeros(len(values[0])), 0.0 * values[0]
        for step in reversed(range(len(values))):
            goes_on = (~over[step]).float()
            later = (
                rewards[step]
                + DISCOUNT * goes_on * following
                - values[step]
                + DISCOUNT * LAMBDA * goes_on * later
            )
            advantages[step], following = later, values[step]
        return advantages


# ---------------------------------------------------------------------------------------------------------- training


class Trainer:
    """Games and learners of a run."""

    def __init__(self, settings: dict[str, Any]) -> None:
        torch.manual_seed(settings["seed"])
        self.settings, self.game = settings, made(settings["game"])
        self.train_tasks, self.held_out = self.game.tasks(settings["seed"])
        self.games = settings["games"]
        if settings.get("rate"):
            self.game.rules = self.game.rules._replace(rate=settings["rate"])
        self.env, self.judge = (self.game.make(self.games, settings, flag) for flag in (True, False))
        self.steps, self.seconds = 0, 0.0
        self.curve: list[dict[str, float]] = []
        seen, _ = self.env.reset(seed=0, options={"task": [self.train_tasks[0]] * self.games})
        widths = {agent: own.shape[1] for agent, own in self.game.inputs(seen).items()}
        self.learners = {}
        for group, agents in self.game.rules.groups.items():
            inputs = widths[agents[0]]
            states = sum(widths.values()) + len(agents) if settings["algorithm"] == "mappo" else inputs
            self.learners[group] = Learner(inputs, states, self.game.rules, group, settings["memory"])

    @torch.no_grad()
    def play(
        self, env: Any, tasks: list[Task], greedy: bool = False, scrambled: bool = False
    ) -> tuple[dict[str, Tensors], Numbers]:
        """Play an episode of each task.

        greedy: whether agents choose the most probable actions. scrambled: whether each builder hears the message of
        another game. Return tensors [steps, games] for `Learner.learn`, by agent, and which games were completed.
        """
        rows: dict[str, list[Tensors]] = {agent: [] for agent in env.possible_agents}
        seen, _ = env.reset(options={"task": tasks})
        playing, completed = np.ones(len(tasks), bool), np.zeros(len(tasks), bool)
        for step in range(self.game.rules.steps):
            if scrambled and "dialog" in seen["builder_0"]:
                seen = {
                    **seen,
                    "builder_0": {**seen["builder_0"], "dialog": np.roll(seen["builder_0"]["dialog"], 1, 0)},
                }
            inputs = self.game.inputs(seen)
            chosen: dict[str, Numbers] = {}
            for agent, own in inputs.items():
                row = {"inputs": torch.as_tensor(own, dtype=torch.float32), "playing": torch.tensor(playing)}
                rows[agent].append(row)
                row["actions"] = self.choose(agent, rows[agent], step, greedy)
                chosen[agent] = row["actions"].numpy()
            seen, rewards, terminated, truncated, _ = env.step(self.game.actions(chosen, step))
            ended = terminated["builder_0"] | truncated["builder_0"]
            completed |= playing & terminated["builder_0"]
            for agent, own in rows.items():
                reward = torch.tensor(rewards[agent] * playing, dtype=torch.float32)
                own[-1] |= {"rewards": reward, "over": torch.tensor(ended)}
            playing = playing & ~ended
        data = {
            agent: {key: torch.stack([row[key] for row in own]) for key in own[0]}
            for agent, own in rows.items()
        }
        return data, completed

    def choose(self, agent: str, rows: list[Tensors], step: int, greedy: bool) -> torch.Tensor:
        """Return an agent's actions [games, parts], by what it saw since its first turn."""
        group = agent.rpartition("_")[0]
        first, last = self.game.rules.turns[group]
        learner, games = self.learners[group], len(rows[0]["inputs"])
        if not first <= step < last:
            return torch.zeros(games, len(learner.heads), dtype=torch.int64)
        start = first if self.settings["memory"] != "none" else step
        policy = learner.policy(torch.stack([row["inputs"] for row in rows[start:]]))
        parts = [part.logits[-1].argmax(-1) if greedy else part.sample()[-1] for part in policy]
        return torch.stack(parts, dim=-1)

    def learn(self, data: dict[str, Tensors]) -> None:
        """Update all learners."""
        everyone = torch.cat([own["inputs"] for own in data.values()], dim=-1)
        for group, agents in self.game.rules.groups.items():
            first, last = self.game.rules.turns[group]
            parts = []
            for number, agent in enumerate(agents):
                part = {key: value[first:last].clone() for key, value in data[agent].items()}
                part["rewards"][-1] += data[agent]["rewards"][last:].sum(dim=0)  # earned after the last turn
                part["over"][-1] = True
                role = torch.eye(len(agents))[number].expand(last - first, self.games, -1)
                is_central = self.settings["algorithm"] == "mappo"
                part["states"] = (
                    torch.cat([everyone[first:last], role], dim=-1) if is_central else part["inputs"]
                )
                parts.append(part)
            self.learners[group].learn(
                {key: torch.cat([part[key] for part in parts], dim=1) for key in parts[0]}
            )

    def measure(self, tasks: list[Task], scrambled: bool = False) -> float:
        """Return the share of games that are completed with the most probable actions; each task is played as often."""
        count = max(1, self.games // len(tasks)) * len(tasks)
        played = (tasks * self.games)[: self.games]
        return float(self.play(self.judge, played, greedy=True, scrambled=scrambled)[1][:count].mean())

    def train(self, steps: int, folder: Path, tensorboard: bool = False) -> None:
        """Train for a number of steps, or some more up to the next save."""
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter
        board = SummaryWriter(folder) if tensorboard else None
        while self.steps < steps or len(self.curve) % SAVE_EVERY:
            started = time.process_time()
            rng = np.random.default_rng([self.settings["seed"], self.steps])
            tasks = [
                self.train_tasks[number] for number in rng.integers(len(self.train_tasks), size=self.games)
            ]
            data, completed = self.play(self.env, tasks)
            self.learn(data)
            self.steps += self.games * self.game.rules.steps
            self.seconds += time.process_time() - started
            share, seconds = float(completed.mean()), round(self.seconds, 2)
            self.curve.append({"steps": self.steps, "completed": round(share, 4), "cpu_s": seconds})
            if board is not None:
                board.add_scalar("completed", share, self.steps)
            if len(self.curve) % SAVE_EVERY == 0:
                self.save(folder)
                print(f"{self.steps:,} steps, {seconds:.0f} CPU-seconds: {share:.3f} completed", flush=True)

    def save(self, folder: Path) -> None:
        """Write learners, generator and curve."""
        learners = {
            group: {"networks": learner.networks.state_dict(), "optimizer": learner.optimizer.state_dict()}
            for group, learner in self.learners.items()
        }
        progress = {"steps": self.steps, "seconds": self.seconds, "curve": self.curve}
        state = {
            "settings": self.settings,
            "learners": learners,
            "generator": torch.get_rng_state(),
            **progress,
        }
        torch.save(state, folder / "model.part")
        (folder / "model.part").replace(folder / "model.pt")  # never half a file
        with (folder / "curve.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.DictWriter(file, ["steps", "completed", "cpu_s"])
            rows.writeheader()
            rows.writerows(self.curve)

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `save` wrote."""
        for group, learner in self.learners.items():
            learner.networks.load_state_dict(state["learners"][group]["networks"])
            learner.optimizer.load_state_dict(state["learners"][group]["optimizer"])
        self.steps, self.seconds, self.curve = state["steps"], state["seconds"], state["curve"]
        torch.set_rng_state(state["generator"])


def main(
    game: str = "code",
    algorithm: str = "ippo",
    memory: str = "none",
    rewards: str = "shared",
    reward: str = "own",
    seed: int = 0,
    games: int = 1024,
    steps: int = 500_000,
    save: Path | None = None,
    resume: Path | None = None,
    tensorboard: bool = False,
) -> dict[str, Any]:
    """Train, measure, and write the result.

    game: one of the table above. algorithm: "ippo" or "mappo". memory: "none", "gru" or "attention".
    rewards: "shared", or "own": builders are paid for their own blocks. reward: "own", the game's, or "shaped". seed:
    of the run; chooses what is held out. games: side by side. steps: of all games together. save: a new folder. resume:
    the folder of a run that continues with its settings.
    """
    torch.set_num_threads(1)  # networks as small as these are slower on several
    given: dict[str, Any] = {"game": game, "algorithm": algorithm, "memory": memory}
    given |= {"rewards": rewards, "reward": reward, "seed": seed, "games": games}
    for name, known in {"game": GAMES, **CHOICES}.items():
        if given[name] not in known:
            raise typer.BadParameter(f"--{name} is {given[name]!r}, expected one of {', '.join(known)}")
    folder = resume or save or Path("runs", "-".join(map(str, given.values())))
    if resume is None and (folder / "model.pt").exists():
        raise typer.BadParameter(f"{folder} has a model; continue with --resume, or name a new folder")
    state = torch.load(folder / "model.pt", weights_only=True) if resume else None
    trainer = Trainer(state["settings"] if state else given)
    if state:
        trainer.load(state)
    folder.mkdir(parents=True, exist_ok=True)
    trainer.train(steps, folder, tensorboard)
    measured = {"trained": trainer.measure(trainer.train_tasks)}
    tasks = len(trainer.train_tasks)
    if trainer.held_out:
        measured["held out"] = trainer.measure(trainer.held_out)
    if "architect" in trainer.game.rules.groups:
        measured["trained, messages of other games"] = trainer.measure(trainer.train_tasks, scrambled=True)
    found = share_interval(measured["trained"], tasks)
    options = " ".join(f"--{name} {value}" for name, value in trainer.settings.items())
    result = {
        "command": f"python examples/marl_ppo.py {options} --steps {steps}",
        **trainer.settings,
        "steps": trainer.steps,
        "cpu_s": round(trainer.seconds, 1),
        "success": measured,
        "interval": [found.low, found.high],
        "tasks": tasks,
        "model_sha256": hashlib.sha256((folder / "model.pt").read_bytes()).hexdigest(),
        "versions": {"iglu_marl": iglu_marl.__version__, "torch": torch.__version__},
    }
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{folder}: " + ", ".join(f"{name} {share:.3f}" for name, share in measured.items()))
    return result


if __name__ == "__main__":
    typer.run(main)
