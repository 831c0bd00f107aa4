"""TorchRL: architect and builder learn a code on a level of the benchmark, by IPPO or MAPPO.

    python examples/torchrl_pairs.py --level symbols-place-v1 --algorithm mappo --seed 0

The architect sees the target and sends one message per game; the builder gets it and acts. Each has networks of its
own. "ippo": the critics observe what their agents observe. "mappo": the critics observe what both agents observe.
Levels: those in `LEVELS`. In training, a placed block pays 1, or `PARTLY` for each of colour and cell that is right; no
more changes count than in a success. Each run writes a pair that plays without PyTorch into a folder; runs that are
there already are measured, not repeated. Needs the extra `rl`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from iglu_marl import Role, Task, benchmark
from iglu_marl.agents.learned import symbols, zoo
from iglu_marl.benchmark.report import markdown
from iglu_marl.benchmark.splits import content_key, some_of
from iglu_marl.core.controls import GRID_ACTIONS
from iglu_marl.core.extras import extra
from iglu_marl.core.kernels.records import PLACED, REMOVED
from iglu_marl.core.versions import versions
from iglu_marl.evaluation.metrics import share_interval

with extra("rl", script=True):
    import torch
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule
    from torch import nn
    from torch.distributions import Categorical, Independent
    from torchrl.envs.utils import ExplorationType, set_exploration_type
    from torchrl.modules import MLP, ProbabilisticActor
    from torchrl.objectives import ClipPPOLoss, ValueEstimators

GAMES, WIDTH, EPOCHS, BATCH, RATE, ENTROPY = 512, 64, 8, 256, 3e-3, 0.02
PARTLY = 0.25
LEVELS = ("symbols-place-v1", "symbols-two-v1", "partners-place-v1")
PARTS = 10  # of a run, between measurements


class Message(Independent):
    """One symbol for each place of a message, from logits [n, words * symbols]."""

    words = 2

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__(Categorical(logits=logits.unflatten(-1, (self.words, -1))), 1)

    @property
    def deterministic_sample(self) -> torch.Tensor:
        """The most probable message."""
        return self.base_dist.logits.argmax(dim=-1)


class Learner:
    """Actor, critic, loss and optimizer of one agent."""

    def __init__(self, inputs: int, states: int, outputs: int, depth: int, distribution: Any) -> None:
        shape: dict[str, Any] = {"num_cells": WIDTH, "activation_class": nn.Tanh}
        self.network = MLP(inputs, outputs, depth=depth, **shape)
        self.actor = ProbabilisticActor(
            TensorDictModule(self.network, ["observation"], ["logits"]),
            in_keys=["logits"],
            distribution_class=distribution,
            return_log_prob=True,
            log_prob_key="log_prob",
            default_interaction_type=ExplorationType.RANDOM,
        )
        critic = TensorDictModule(MLP(states, 1, depth=2, **shape), ["state"], ["value"])
        self.loss = ClipPPOLoss(self.actor, critic, entropy_coeff=ENTROPY, normalize_advantage=True)
        self.loss.set_keys(sample_log_prob="log_prob", value="value")
        self.loss.make_value_estimator(ValueEstimators.GAE, gamma=0.99, lmbda=0.95)
        self.optimizer = torch.optim.Adam(self.loss.parameters(), lr=RATE)

    def learn(self, data: TensorDict, used: Any) -> None:
        """Update from games [n] or [n, steps]; used: which of their entries count."""
        with torch.no_grad():
            self.loss.value_estimator(data)
        data = data[used]
        for _ in range(EPOCHS):
            for part in torch.randperm(len(data)).split(BATCH):
                losses = self.loss(data[part])
                self.optimizer.zero_grad()
                sum(losses[name] for name in ("loss_objective", "loss_critic", "loss_entropy")).backward()
                nn.utils.clip_grad_norm_(self.loss.parameters(), 1.0)
                self.optimizer.step()


class Pair:
    """Both learners, and the games in which they play."""

    def __init__(self, level: benchmark.Level, central: bool) -> None:
        self.level, self.central = level, central
        self.words, self.symbols = level.game["max_message_length"], level.game["vocabulary"]
        one = self.words == 2  # colour and cell
        self.goal_view = symbols.code_view if one else symbols.target_view
        Message.words = self.words
        self._games: dict[int, Any] = {}
        seen = self._environment(GAMES).reset(seed=0)[0]
        goal, own = (part.shape[1] for part in self._views(seen))
        sizes = [goal + own] * 2 if central else [goal, own]
        self.architect = Learner(goal, sizes[0], self.words * self.symbols, 0 if one else 1, Message)
        self.builder = Learner(own, sizes[1], len(GRID_ACTIONS), 1, Categorical)

    def _environment(self, count: int) -> Any:
        if count not in self._games:
            self._games[count] = benchmark.make(self.level, "train", count, copy=False)
        return self._games[count]

    def _views(self, seen: Any) -> tuple[torch.Tensor, torch.Tensor]:
        goal = self.goal_view(seen["architect_0"]["target_grid"])
        return torch.as_tensor(goal), torch.as_tensor(
            symbols.heard_view(seen["builder_0"], self.words, self.symbols)
        )

    def _data(self, goal: torch.Tensor, own: torch.Tensor, role: Role) -> dict[str, torch.Tensor]:
        seen = goal if role is Role.ARCHITECT else own
        return {"observation": seen, "state": torch.cat([goal, own], dim=1) if self.central else seen}

    @torch.no_grad()
    def play(self, tasks: Sequence[Task], seed: int) -> tuple[TensorDict, TensorDict, Any, Any]:
        """Return data [n] of the architect, data [n, steps] of the builder, which of its steps count, and successes."""
        count, env = len(tasks), self._environment(len(tasks))
        targets = np.stack([task.in_ids("iglu").target_grid for task in tasks])
        allowed = np.array([self.level.allowed_changes(task) for task in tasks])
        changes, won = np.zeros(count), np.zeros(count, np.bool_)
        playing, total = np.ones(count, np.bool_), torch.zeros(count, 1)
        seen, _ = env.reset(seed=seed, options={"task": list(tasks)})
        worlds = env.unwrapped.worlds
        goal, own = self._views(seen)
        said = self.architect.actor(TensorDict(self._data(goal, own, Role.ARCHITECT), [count]))
        message, steps, used = said["action"].numpy() + 1, [], []
        for step in range(self.level.max_steps):
            data = self.builder.actor(TensorDict(self._data(goal, own, Role.BUILDER), [count]))
            before = worlds.grid.copy()
            seen, _, completed, cut, _ = env.step(
                {"architect_0": message, "builder_0": data["action"].numpy()}
            )
            changed = playing & ((worlds.event == PLACED) | (worlds.event == REMOVED))
            reward = torch.as_tensor(paid(targets, before, worlds.grid, playing & (worlds.event == PLACED)))
            changes += changed
            won |= playing & completed["builder_0"] & (changes <= allowed)
            over = completed["builder_0"] | cut["builder_0"] | (changes >= allowed)
            over |= step == self.level.max_steps - 1
            own = self._views(seen)[1]
            data["next"] = TensorDict(self._data(goal, own, Role.BUILDER) | _end(reward, over), [count])
            steps.append(data)
            used.append(torch.as_tensor(playing.copy()))
            total += reward
            playing &= ~over
            if not playing.any():
                break
        said["next"] = TensorDict(said.select("observation", "state").to_dict() | _end(total), [count])
        return said, torch.stack(steps, dim=1), torch.stack(used, dim=1), won

    def success(self, tasks: Sequence[Task]) -> float:
        """Return the share of successes with the most probable messages and actions."""
        with set_exploration_type(ExplorationType.DETERMINISTIC):
            return float(self.play(tasks, 0)[3].mean())

    def tensors(self) -> dict[str, Any]:
        """Return the weights of both actors by name."""
        parts = {"speak": self.architect.network, "act": self.builder.network}
        return {
            f"{part}.{name}": value.numpy().astype(np.float16)
            for part, network in parts.items()
            for name, value in network.state_dict().items()
        }


def paid(targets: Any, before: Any, after: Any, placed: Any) -> Any:
    """Return the rewards of placed blocks, float32 [n, 1]."""
    reward = np.zeros((len(placed), 1), np.float32)
    games = np.flatnonzero(placed)
    at, *cell = np.nonzero(after[games] != before[games])
    color, wanted = after[games][(at, *cell)], targets[(games[at], *cell)]
    known = (targets[games[at]] == color[:, None, None, None]).any(axis=(1, 2, 3))
    reward[games[at], 0] = np.where(wanted == color, 1, PARTLY * known + PARTLY * (wanted > 0))
    return reward


def _end(reward: torch.Tensor, over: Any = None) -> dict[str, torch.Tensor]:
    done = torch.ones(len(reward), 1, dtype=torch.bool) if over is None else torch.as_tensor(over)[:, None]
    return {"reward": reward, "done": done, "terminated": done}


def train(level: benchmark.Level, algorithm: str, steps: int, seed: int, folder: Path) -> zoo.Pretrained:
    """Train a pair for `steps` of its builder, and write it as an agent of the zoo."""
    own, rng = level.fold(seed), np.random.default_rng(seed)
    torch.manual_seed(seed)
    pair = Pair(own, algorithm == "mappo")
    tasks = {split: some_of(own.tasks(split), 256, seed) for split in ("train", "validation")}
    curve, used = [(0, pair.success(tasks["validation"]))], 0
    while used + GAMES * own.max_steps <= steps:
        chosen = [tasks["train"][number] for number in rng.integers(len(tasks["train"]), size=GAMES)]
        said, acted, counted, won = pair.play(chosen, int(rng.integers(2**31)))
        pair.architect.learn(said, slice(None))
        pair.builder.learn(acted, counted)
        used += int(counted.sum())
        if used * PARTS >= len(curve) * steps:
            curve.append((used, pair.success(tasks["validation"])))
            print(f"seed {seed}: {won.mean():.2f} in training after {used:,} steps", flush=True)
    curve.append((used, pair.success(tasks["validation"])))
    name = f"{level.name.removesuffix('-v1')}-{algorithm}-{seed}-v1"
    targets = len(set(map(content_key, tasks["train"])))  # games of one target count once in the interval
    found = share_interval(pair.success(tasks["train"]), targets)
    options = f"--level {level.name} --algorithm {algorithm} --seed {seed} --steps {steps}"
    command = f"python examples/torchrl_pairs.py {options}"
    about = f"{('one block', 'two blocks')[pair.words > 2]} around the start"
    card = {
        "kind": "code-pair",
        "about": f"Architect and builder with {pair.symbols} symbols of their own, {about}, {algorithm}.",
        "roles": ["architect", "builder"],
        "game": {
            "controls": "discrete",
            "chat": "tokens",
            "select_and_place": True,
            "builder_sees": list(level.sees),
            **{key: value for key, value in level.game.items() if key != "dialog_length"},
        },
        "network": {"words": pair.words, "symbols": pair.symbols},
        "data": f"Own play on the training split of {level.name}, fold {seed % level.folds}.",
        "budget": f"{used:,} steps of the builder, seed {seed}",
        "results": {
            "success, training split": {
                "value": found.value,
                "interval": [found.low, found.high],
                "games": len(tasks["train"]),
            }
        },
        "command": command,
        "check": command,
        "versions": {**versions(), "torch": torch.__version__},
        "curve": curve,
    }
    zoo.save(name, card, pair.tensors(), folder)
    return zoo.pretrained(name, folder)


def main(
    level: str = "symbols-place-v1",
    algorithm: str = "ippo",
    seed: Annotated[list[int] | None, typer.Option()] = None,
    steps: int = 500_000,
    episodes: int = 40,
    folder: Path = Path("pairs"),
    output: Path | None = None,
) -> benchmark.Result | None:
    """Train a pair for each seed, measure all on the test split, and show the report.

    seed: seeds of the runs; by default, as many as the level asks for. episodes: test games per run; 0: none. folder:
    folder of the pairs. output: the result file.
    """
    chosen = benchmark.find(level)
    if algorithm not in ("ippo", "mappo") or chosen.name not in LEVELS:
        expected = f"ippo or mappo on {', '.join(LEVELS)}"
        raise typer.BadParameter(f"{algorithm!r} on {level!r}, expected {expected}")
    torch.set_num_threads(1)  # networks as small as these are slower on several
    seeds, models = list(dict.fromkeys(seed or range(chosen.seeds))), []
    for number in seeds:
        name = f"{level.removesuffix('-v1')}-{algorithm}-{number}-v1"
        known = folder.is_dir() and name in zoo.zoo(folder)
        models.append(
            zoo.pretrained(name, folder) if known else train(chosen, algorithm, steps, number, folder)
        )
    if not episodes:
        return None
    entries = [
        tuple(partial(_made, model, role) for role in (Role.ARCHITECT, Role.BUILDER)) for model in models
    ]
    own = "".join(f" --seed {number}" for number in seed or ())
    options = f"--level {level} --algorithm {algorithm}{own} --steps {steps} --episodes {episodes}"
    result = benchmark.run(
        chosen,
        entries,
        name=f"{algorithm.upper()} (TorchRL)",
        episodes=episodes,
        seeds=seeds,
        curves=[model.card["curve"] for model in models],
        budget=max(model.card["curve"][-1][0] for model in models),
        command=f"python examples/torchrl_pairs.py {options}",
        output=output,
        record=output is not None,
    )
    print(markdown([result]))
    return result


def _made(model: zoo.Pretrained, role: Role, env: Any) -> Any:
    return model.for_env(env, role)


if __name__ == "__main__":
    typer.run(main)
