"""Stable-Baselines3 on a level of the benchmark: PPO, behaviour cloning or DAgger, measured by the protocol.

    python examples/sb3_builder.py --level see-place-v1 --steps 300000
    python examples/sb3_builder.py --level see-ground-v1 --games 484
    python examples/sb3_builder.py --level see-ground-v1 --games 484 --rounds 4

The first command trains PPO, the second clones an expert's games, and the third is DAgger: in each further round the
policy plays until the expert takes over (Ross et al., A Reduction of Imitation Learning to No-Regret Online Learning,
2011). With `--games` and `--steps`, PPO continues from the imitation. On levels of pairs with words, the builder trains
with a scripted architect. Needs the extra `rl`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from gymnasium import spaces

from iglu_marl import AgentError, Task, Worlds, benchmark
from iglu_marl.benchmark.demonstrations import grid_plan
from iglu_marl.benchmark.games import BuilderGames, Features, cells_of_tasks, features_for, successes
from iglu_marl.benchmark.report import markdown
from iglu_marl.benchmark.splits import some_of
from iglu_marl.core.extras import extra
from iglu_marl.planning import plan

with extra("rl", script=True):
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecEnv

UPDATES, BATCH = 1000, 256  # of each round of imitation
ENVS = 64  # of PPO, side by side
PARTS = 10  # of PPO, between measurements
SIZES = {
    "n_steps": 16,
    "batch_size": 256,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "gamma": 0.99,
    "ent_coef": 0.02,
}


class LevelVecEnv(VecEnv):
    """The training split of a level, observed through `Features`."""

    def __init__(self, level: benchmark.Level, count: int, features: Features) -> None:
        self.games = benchmark.make(level, "train", count, autoreset_mode="SameStep", copy=False)
        self.features = features
        width = features(self.games.reset(seed=0)[0], count).shape[1]
        super().__init__(count, spaces.Box(-np.inf, np.inf, (width,)), self.games.single_action_space)

    def reset(self) -> np.ndarray:
        return self.features(self.games.reset(seed=self._seeds[0])[0], self.num_envs)

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(self) -> Any:
        seen, rewards, terminated, truncated, _ = self.games.step(self.actions)
        # The time limit is a part of the task: its end is an end like another.
        over, notes = terminated | truncated, [{}] * self.num_envs
        return self.features(seen, self.num_envs), rewards.astype(np.float32), over, notes

    def close(self) -> None:
        self.games.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.games, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


class Player:
    """A trained policy as a `BatchPlayer` of the benchmark."""

    def __init__(self, model: PPO, features: Features, level: benchmark.Level) -> None:
        self.model, self.features, self.level = model, features, level
        self.words = level.config("train").max_message_length

    def begin(self, count: int, seed: int) -> None:
        self.count = count

    def act(self, observations: Any) -> np.ndarray:
        chosen = self.choose(self.features(observations, self.count))
        if not self.level.is_pair:
            return chosen
        act = chosen * observations["dialog"].any(axis=1)  # it waits for a message
        silence = np.zeros((self.count, self.words), np.int64)
        return (
            np.column_stack([act, silence]) if self.level.controls == "grid" else {"act": act, "say": silence}
        )

    def choose(self, features: np.ndarray, step: int = 0) -> np.ndarray:
        """Return the most probable actions."""
        return self.model.predict(features, deterministic=True)[0]


def expert(level: benchmark.Level, worlds: Worlds, game: int) -> list[int]:
    """Return actions that complete the target from the state of a game, the next one last; [] if there are none."""
    try:
        if level.controls == "grid":
            return grid_plan(worlds.state[game : game + 1])[::-1]
        own = Worlds(1)
        own.state[0] = worlds.state[game]
        return plan(own, own.aligned_target(0), "walking", teach=True).actions[::-1]
    except AgentError:
        return []


class School:
    """Games in which a policy plays until the expert takes over, and what the expert showed in them.

    seen: what was observed when the expert acted; actions: what it did. steps: environment steps so far.
    """

    def __init__(self, level: benchmark.Level, tasks: Sequence[Task], features: Features) -> None:
        self.tasks, self.games = tasks, BuilderGames(level, len(tasks), features)
        self.seen: list[np.ndarray] = []
        self.actions: list[int] = []
        self.steps = 0

    def play(self, model: PPO, latest: int, rng: np.random.Generator) -> None:
        """Play all tasks; in each, the expert takes over at a random step from 0 to `latest`."""
        games, plans = self.games, {}
        seen, takeover = games.begin(self.tasks), rng.integers(latest + 1, size=games.count)
        for step in range(games.level.max_steps):
            chosen = model.predict(seen)[0]
            for game in np.flatnonzero(games.playing & (takeover <= step)).tolist():
                if game not in plans:
                    plans[game] = expert(games.level, games.worlds, game)
                if plans[game]:
                    chosen[game] = plans[game].pop()
                    self.seen.append(seen[game])
                    self.actions.append(int(chosen[game]))
            self.steps += int(games.playing.sum())
            seen, _ = games.step(chosen)
            if not games.playing.any():
                break

    def teach(self, model: PPO, rng: np.random.Generator) -> None:
        """Maximise the likelihood of all actions of the expert, with the policy's own optimizer."""
        inputs, labels = torch.as_tensor(np.array(self.seen)), torch.as_tensor(self.actions)
        for _ in range(UPDATES):
            rows = torch.as_tensor(rng.integers(len(labels), size=BATCH))
            _, likelihood, _ = model.policy.evaluate_actions(inputs[rows], labels[rows])
            model.policy.optimizer.zero_grad()
            (-likelihood.mean()).backward()
            model.policy.optimizer.step()


def alone(level: benchmark.Level) -> benchmark.Level:
    """Return a level of pairs as one of a builder, to whom the scripted architect of the training talks."""
    speakers = level.architects or {"train": ("scripted",)}
    return replace(level, name=f"alone-{level.name}", architects=speakers) if level.is_pair else level


def train(
    level: benchmark.Level, games: int, rounds: int, steps: int, seed: int
) -> tuple[Player, list[tuple[int, float]]]:
    """Return the policy of a run, and its success on the validation split by environment steps."""
    level, own, rng = alone(level.fold(seed)), level, np.random.default_rng(seed)
    tasks, validation = (
        some_of(level.tasks(split), max(games, 256), seed) for split in ("train", "validation")
    )
    cells = cells_of_tasks([*tasks, *validation, *some_of(level.tasks("test"), 256)])  # that are encoded
    features = features_for(level, (*level.sees, *(("target",) * level.sees_target)), cells)
    model = PPO("MlpPolicy", LevelVecEnv(level, ENVS, features), **SIZES, seed=seed, device="cpu")
    player, used, curve = Player(model, features, own), 0, []

    def measure() -> None:
        share = float(successes(level, validation[:100], features, player.choose).mean())
        curve.append((used, share))
        print(f"seed {seed}: {share:.2f} of the validation split after {used:,} steps", flush=True)

    measure()
    school = School(level, some_of(level.tasks("train"), games, seed), features) if games else None
    for number in range(rounds + 1 if school else 0):
        school.play(model, level.max_steps // 2 if number else 0, rng)
        school.teach(model, rng)
        used = school.steps
        measure()
    for _ in range(PARTS if steps else 0):
        part = max(1, steps // PARTS // 1024) * 1024  # a multiple of a rollout, which is not cut
        model.learn(part, reset_num_timesteps=False)
        used = model.num_timesteps + (school.steps if school else 0)
        measure()
    return player, curve


def main(
    level: str = "see-place-v1",
    steps: int = 0,
    games: int = 0,
    rounds: int = 0,
    seeds: int = 6,
    episodes: int = 40,
    output: Path | None = None,
) -> benchmark.Result:
    """Train for each seed, measure all runs on the test split, and show the report.

    steps: environment steps of PPO. games: tasks that the expert shows. rounds: further rounds, in which it takes over
    from the policy (DAgger). episodes: test games per run. output: the result file.
    """
    torch.set_num_threads(1)  # networks as small as this one are slower on several
    chosen = benchmark.find(level)
    players, curves = zip(*(train(chosen, games, rounds, steps, seed) for seed in range(seeds)), strict=True)
    parts = ["DAgger" if rounds else "behaviour cloning"] * bool(games) + ["PPO"] * bool(steps)
    options = f"--level {level} --steps {steps} --games {games} --rounds {rounds} --seeds {seeds} --episodes {episodes}"
    result = benchmark.run(
        chosen,
        [lambda env, player=player: player for player in players],
        name=f"{', then '.join(parts)} (SB3)",
        episodes=episodes,
        curves=curves,
        budget=max(curve[-1][0] for curve in curves),
        command=f"examples/sb3_builder.py {options}",
        output=output,
        record=output is not None,
    )
    print(markdown([result]))
    return result


if __name__ == "__main__":
    typer.run(main)
