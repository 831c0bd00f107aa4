"""Train learners on levels of version 0 of the benchmark: `python -m benchmarks.levels see-few-v0 --seeds 5`.

Trains on the training split, measures on the test split, and writes the result file for docs/benchmark.md. Weights are
kept in a folder (default runs/levels) and not trained again.

| levels | training |
|---|---|
| `see-few-v0`, `see-structures-v0` | imitation of the planner: examples/dagger_silent_builder.py |
| `symbols-place-v0`, `symbols-two-v0`, `partners-place-v0` | practice, then PPO: examples/ppo_symbols.py |
| `symbols-walk-v0` | the pairs of `symbols-two-v0`; the planner walks |
| `words-place-v0` | the linear policy of the baselines, on the scripted architect's first messages |

`--other-play` permutes the symbols in each game; `--cross-play` plays the pairs of all seeds with one another.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from benchmarks.examples import load_example
from iglu_marl import Role, Task, benchmark
from iglu_marl.agents import OracleBuilder, ScriptedArchitect
from iglu_marl.agents.learned import symbols
from iglu_marl.agents.learned.silent import SilentBuilder
from iglu_marl.agents.settings import MESSAGE_TOKENS
from iglu_marl.benchmark.catalog import GRID_ACTIONS
from iglu_marl.benchmark.controls import LinearBuilder, LinearPolicy, cells_of_tasks
from iglu_marl.benchmark.controls import train as train_linear
from iglu_marl.benchmark.games import features_for
from iglu_marl.benchmark.report import markdown
from iglu_marl.benchmark.splits import SplitName, some_of
from iglu_marl.core.actions import Action
from iglu_marl.core.files import write_text
from iglu_marl.envs import VectorGame
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER
from iglu_marl.envs.wrappers import discretize

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "learning"
PAIRS: dict[str, dict[str, Any]] = {
    "symbols-place-v0": {
        "practice_updates": 120,
        "practice_games": 128,
        "practice_rate": 2e-3,
        "updates": 380,
        "games": 192,
    },
    "symbols-two-v0": {"practice_updates": 250, "updates": 240, "games": 1024},
}
SAME = {  # the same meanings: other pairings in the test, or other hands
    "partners-place-v0": "symbols-place-v0",
    "symbols-walk-v0": "symbols-two-v0",
}
PAIRS |= {level: PAIRS[other] for level, other in SAME.items()}
SILENT = {"see-few-v0": {"limit": 400}, "see-structures-v0": {"limit": 1000}}

WORDS = {"words-place-v0": 300_000}  # environment steps

Learned = tuple[dict[str, np.ndarray], dict[str, Any]]  # weights and facts of the run (steps, curve)


# ------------------------------------------------------------------------------------- builders that see the target


def silent_builder(level: benchmark.Level, seed: int, minutes: float) -> Learned:
    example = load_example("dagger_silent_builder")
    played = 0

    class Lessons(example.Lessons):
        def _step(self, net: Any) -> Any:
            nonlocal played
            played += self.settings.worlds
            return super()._step(net)

    example.Lessons = Lessons
    example.Structures = lambda known=None: level.tasks("train")
    example.held_out = lambda count, seed=0: {"random": some_of(level.tasks("train"), count, seed)}
    net = example.train(example.Settings(seed=seed, minutes=minutes, **SILENT[level.name]))
    return {name: part.numpy() for name, part in net.state_dict().items()}, {"steps": played}


def builder_of(weights: dict[str, np.ndarray]) -> Callable[[Any], Any]:
    model: Any = SimpleNamespace(name="silent builder", card={"network": {}}, tensors=weights)
    return lambda env: SilentBuilder.for_env(env, model=model)


# ------------------------------------------------------------------------------------- builders that hear words


class ListeningBuilder(LinearBuilder):
    """A linear policy that waits for the first message, ignores later ones, and says nothing."""

    def reset(self, role: Role, seed: int | None) -> None:
        """Reset the policy."""
        super().reset(role, seed)
        self._heard: Any = None

    def act(self, observation: Any) -> Any:
        """Return the numbers of the action and of an empty message, int [17]."""
        action = np.zeros(1 + MESSAGE_TOKENS, np.int64)
        if self._heard is None and np.any(observation["dialog"]):
            self._heard = observation["dialog"]
        if self._heard is not None:
            action[0] = super().act({**observation, "dialog": self._heard})
        return action


def as_said(level: benchmark.Level) -> list[Task]:
    """Return the tasks of the training split, with the scripted architect's first message as their dialogue."""
    env = benchmark.make(level, "train")
    speaker = ScriptedArchitect.for_env(env)
    found = []
    for task in some_of(level.tasks("train"), 256):
        seen, _ = env.reset(seed=0, options={"task": task})
        speaker.reset(Role.ARCHITECT, 0)
        env.step({ARCHITECT: speaker.act(seen[ARCHITECT]), BUILDER: np.zeros(1 + MESSAGE_TOKENS, np.int64)})
        found.append(task.replace(dialog=env.unwrapped.episode.dialogue.text))
    return found


def policy_of(level: benchmark.Level, weights: dict[str, np.ndarray]) -> LinearPolicy:
    tasks = [task for split in ("train", "test") for task in some_of(level.tasks(split), 256)]
    return LinearPolicy(level, features_for(level, level.sees, cells_of_tasks(tasks)), **weights)


def listening_builder(level: benchmark.Level, seed: int) -> Learned:
    tasks, budget = as_said(level), WORDS[level.name]
    cells = cells_of_tasks([*tasks, *some_of(level.tasks("test"), 256)])
    curve = [(0, 0.0)]

    def measure(steps: int, policy: LinearPolicy) -> None:
        if steps >= min(curve[-1][0] + budget // 20, budget):
            curve.append((steps, float(policy.successes(tasks).mean())))

    policy = train_linear(level, tasks, level.sees, budget, seed, cells=cells, after=measure)
    return {"seen": policy.seen, "times": policy.times}, {"steps": curve[-1][0], "curve": curve}


# ------------------------------------------------------------------------------------------------ pairs with symbols


class OneBlock:
    """A distribution over wishes of one block, with independent cell and colour.

    cell, color: Categorical [n] over `cells` (numbers in the ring) and over the colours.
    """

    def __init__(self, cell: Any, color: Any, cells: torch.Tensor) -> None:
        self.cell, self.color, self.cells = cell, color, cells

    def _wish(self, cell: torch.Tensor, color: torch.Tensor) -> torch.Tensor:
        wishes = torch.zeros(len(cell), len(symbols.RING), dtype=torch.long)
        return wishes.scatter(1, self.cells[cell][:, None], color[:, None] + 1)

    def sample(self) -> torch.Tensor:
        """Sample wishes, int [n, 8]."""
        return self._wish(self.cell.sample(), self.color.sample())

    @property
    def logits(self) -> torch.Tensor:
        """1 for the likeliest wish, [n, 8, colours + 1]."""
        likeliest = self._wish(self.cell.logits.argmax(-1), self.color.logits.argmax(-1))
        return torch.nn.functional.one_hot(likeliest, symbols.COLORS + 1)

    def log_prob(self, wishes: torch.Tensor) -> torch.Tensor:
        """Return the log probability of wishes of one block, [n, 1]."""
        where = (wishes[:, self.cells] > 0).int().argmax(1)
        return (self.cell.log_prob(where) + self.color.log_prob(wishes.amax(1) - 1))[:, None]

    def entropy(self) -> torch.Tensor:
        """Return the entropy, [n, 1]."""
        return (self.cell.entropy() + self.color.entropy())[:, None]


def parts_view(target: np.ndarray) -> np.ndarray:
    """Return which of the eight cells are filled, and which colours occur, float32 [n, 48], padded with 0."""
    ring = symbols.ring_of(target)
    colors = (ring[..., None] == np.arange(1, symbols.COLORS + 1)).any(axis=1)
    seen = np.zeros((len(ring), len(symbols.RING) * symbols.COLORS), np.float32)
    seen[:, : len(symbols.RING) + symbols.COLORS] = np.concatenate([ring > 0, colors], axis=1)
    return seen


class OnLevel(symbols.SymbolsBuilder):
    """A builder with numbered actions. cells: possible cells of its one block; None: all."""

    cells: np.ndarray | None = None

    def act(self, observation: Any) -> int:
        """Return the number of the action; waiting and colours have the same numbers as in the example."""
        return self.chosen(observation)

    def _wished(self, heard: np.ndarray) -> np.ndarray:
        if self.cells is None:
            return super()._wished(heard)
        said = np.arange(1, self._sizes["symbols"] + 1) == np.asarray(heard)[:, None]
        scores = self._listen(said.astype(np.float32).reshape(1, -1))[0]
        wish = np.zeros((1, len(symbols.RING)), np.int64)
        wish[0, self.cells[scores[: len(self.cells)].argmax()]] = 1 + scores[len(self.cells) :].argmax()
        return wish


class OnFoot(OnLevel):
    """A builder whose wishes are learned and which the planner carries out. task_of: task of a wish, int [8]."""

    hands: OracleBuilder
    task_of: Callable[[np.ndarray], Task]

    def act(self, observation: Any) -> Any:
        """Return the next step; none before the first message."""
        if self._wish.any():
            return self.hands.act(observation)
        self.chosen(observation)  # listens
        self.hands.reset(Role.BUILDER, None, task=self.task_of(self._wish[0]))
        return int(Action.NOOP)


class OfParts(symbols.SymbolsArchitect):
    """An architect that sees cell and colour separately."""

    view = staticmethod(parts_view)


def game_of(level: benchmark.Level, count: int, seed: int, other_play: bool, **fields: Any) -> Any:
    """Return a batch of games of the training split. fields: fields of `GameConfig` that replace the level's."""
    games = VectorGame(count, level.config("train", **fields), autoreset_mode="SameStep")
    numbered = discretize(games, table=GRID_ACTIONS)
    return benchmark.OtherPlay(numbered, seed) if other_play else numbered


def example_on(level: benchmark.Level, other_play: bool = False) -> tuple[ModuleType, Any]:
    """Return examples/ppo_symbols.py as a module that plays the level, and its settings."""
    example = load_example("ppo_symbols")
    game = level.game
    settings = example.Settings(
        colors=symbols.COLORS,
        symbols=game["vocabulary"],
        words=game["max_message_length"],
        limit=level.max_steps - 1,
        **PAIRS[level.name],
    )

    example.begun = []  # all games; those to learn in are the first ones of their size

    class Games(example.Games):
        def __init__(self, settings: Any, count: int, seed: int, wrong_scale: float = 0.1) -> None:
            self.settings, self.count, self.tasks = settings, count, {}
            self.rng = np.random.default_rng(seed)
            self.env = game_of(level, count, seed, other_play, completion_reward=2.0, wrong_scale=wrong_scale)
            self.silence = np.zeros((count, settings.words), np.int64)
            self.played = 0  # environment steps
            example.begun.append(self)

        def begin(self, wanted: np.ndarray, lowest: int = 0) -> None:
            """Reset as the level does; in practice, look in any direction, half of the time down."""
            tasks = [self.tasks.setdefault(row.tobytes(), example.task_of(row)) for row in wanted]
            poses = np.zeros((self.count, 5))
            if lowest:
                poses[:, 3] = 90.0 * self.rng.integers(4, size=self.count)
                poses[:, 4] = -45.0 * self.rng.integers(2, size=self.count)
            seen, _ = self.env.reset(seed=0, options={"task": tasks, "pose": poses})
            self.running = np.ones(self.count, bool)
            self._look(seen)

        def _acts(self, actions: np.ndarray) -> Any:
            self.played += int(self.running.sum())
            return actions

    def rows(split: Any) -> np.ndarray:
        grids = np.stack([task.target_grid for task in level.tasks(split)])
        return symbols.ring_of(grids).astype(np.int64)

    found = example.Split(rows("train"), rows("test"))
    cells, most = np.flatnonzero(found.trained.any(axis=0)), int((found.trained > 0).sum(axis=1).max())

    def own_wishes(rng: np.random.Generator, count: int, colors: int) -> np.ndarray:
        """Sample wishes of up to as many blocks as the level asks for."""
        order = rng.random((count, len(cells))).argsort(1).argsort(1)
        there = order < rng.integers(1, most + 1, (count, 1))
        wishes = np.zeros((count, len(symbols.RING)), np.int64)
        wishes[:, cells] = np.where(there, rng.integers(1, colors + 1, there.shape), 0)
        return wishes

    class Pair(example.Pair):
        """A pair that chooses cell and colour separately, if one block is asked for."""

        def __init__(self, settings: Any) -> None:
            super().__init__(settings)
            if most == 1:
                inputs = settings.words * settings.symbols
                self.listen = example.network(inputs, len(cells) + settings.colors, 0.01)

        def wish(self, heard: torch.Tensor) -> Any:
            if most > 1:
                return super().wish(heard)
            said = example.one_hot(heard, self.settings.symbols + 1)[..., 1:].flatten(1).float()
            where, which = self.listen(said).split([len(cells), self.settings.colors], dim=1)
            chances = example.Categorical(logits=where), example.Categorical(logits=which)
            return OneBlock(*chances, torch.as_tensor(cells))

    example.Games, example.Pair, example.own_wishes = Games, Pair, own_wishes
    example.meanings, example.cells = (lambda settings: found), cells if most == 1 else None
    if most == 1:
        example.target_view = parts_view
    return example, settings


def pair(level: benchmark.Level, seed: int, other_play: bool = False) -> Learned:
    example, settings = example_on(level, other_play)
    learned, curve = example.train(settings._replace(seed=seed))
    practice, talk = (
        next(games for games in example.begun if games.count == count)
        for count in (settings.practice_games, settings.games)
    )
    each = talk.played / curve[-1][0]  # steps of a game
    points = [(practice.played + round(games * each), trained) for games, trained, _ in curve]
    facts = {"steps": points[-1][0], "curve": [(0, 0.0), (practice.played, 0.0), *points]}
    return {name: part.numpy() for name, part in learned.state_dict().items()}, facts


def agents_of(level: benchmark.Level, weights: dict[str, np.ndarray]) -> tuple[Any, Any]:
    sizes = {"words": level.game["max_message_length"], "symbols": level.game["vocabulary"]}
    model: Any = SimpleNamespace(name="pair", card={"game": {}, "network": sizes}, tensors=weights)
    example, _ = example_on(level)

    def builder(env: Any) -> OnLevel:
        if level.controls == "walking":
            walker = OnFoot.for_env(env, model=model)
            walker.hands, walker.task_of = OracleBuilder.for_env(env), example.task_of
            return walker
        agent = OnLevel.for_env(env, model=model)
        agent.cells = example.cells
        return agent

    architect = symbols.SymbolsArchitect if example.cells is None else OfParts
    return partial(architect.for_env, model=model), builder


# ------------------------------------------------------------------------------------------------------- all of it


def learned_by(level: benchmark.Level, seed: int, folder: Path, minutes: float, other_play: bool) -> Learned:
    """Return weights and facts of a run; from the folder if they are there."""
    game = SAME.get(level.name, level.name)  # one training for both
    place = folder / f"{game}{'-other' * other_play}-{seed}"
    if place.with_suffix(".npz").exists():
        with np.load(place.with_suffix(".npz")) as kept:
            return dict(kept), json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
    began = time.process_time()
    if level.name in PAIRS:
        weights, facts = pair(benchmark.find(game), seed, other_play)
    elif level.name in WORDS:
        weights, facts = listening_builder(level, seed)
    else:
        weights, facts = silent_builder(level, seed, minutes)
    facts["cpu minutes"] = round((time.process_time() - began) / 60, 2)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(place.with_suffix(".npz"), **weights)  # type: ignore[arg-type]
    place.with_suffix(".json").write_text(json.dumps(facts), encoding="utf-8")
    return weights, facts


def kind_of(level: benchmark.Level) -> tuple[str, str]:
    """Return the learner of a level: its name in tables, and in the file's name."""
    if level.name in PAIRS:
        return "pair, PPO" + ", the planner's hands" * (level.controls == "walking"), "pair"
    return ("linear policy", "linear") if level.name in WORDS else ("silent builder, DAgger", "silent")


def maker_of(level: benchmark.Level, weights: dict[str, np.ndarray]) -> Any:
    if level.name in PAIRS:
        return agents_of(level, weights)
    if level.name in WORDS:
        policy = policy_of(level, weights)
        return lambda env: ListeningBuilder(policy)
    return builder_of(weights)


def cross_play(level: benchmark.Level, pairs: Sequence[Any], games: int) -> dict[str, list[list[float]]]:
    """Return by split the success rate of each architect (rows) with each builder (columns)."""
    roles = [{str(seed): makers[role] for seed, makers in enumerate(pairs)} for role in range(2)]
    splits: tuple[SplitName, ...] = ("train", "test")
    return {
        split: [
            list(row.values())
            for row in benchmark.cross_play(level, *roles, games=games, split=split).values()
        ]
        for split in splits
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("level", choices=(*SILENT, *PAIRS, *WORDS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--minutes", type=float, default=2.0, help="of the processor, for each silent builder"
    )
    parser.add_argument(
        "--other-play", action="store_true", help="symbols are renamed in each game of training"
    )
    parser.add_argument(
        "--cross-play", action="store_true", help="instead: pairs across seeds, of both ways of training"
    )
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--runs", type=Path, default=Path("runs") / "levels", help="folder of weights")
    parser.add_argument("--output", type=Path, help="the result file; by default in docs/learning/")
    given = parser.parse_args()
    torch.set_num_threads(1)
    level = benchmark.find(given.level)

    def runs(other_play: bool) -> list[Learned]:
        return [learned_by(level, seed, given.runs, given.minutes, other_play) for seed in range(given.seeds)]

    if given.cross_play:
        found = {
            name: cross_play(level, [agents_of(level, weights) for weights, _ in runs(other)], given.episodes)
            for name, other in (("plain", False), ("other-play", True))
        }
        write_text(
            given.output or RESULTS / f"{level.name}-cross-play.json", json.dumps(found, indent=1) + "\n"
        )
        print(json.dumps(found, indent=1))
        return
    made = runs(given.other_play)
    name, short = kind_of(level)
    if given.other_play:
        name, short = f"{name}, other-play", f"{short}-other"
    options = "--other-play " * given.other_play + f"--minutes {given.minutes:g} " * (level.name in SILENT)
    steps = [facts["steps"] for _, facts in made]
    result = benchmark.run(
        level,
        [maker_of(level, weights) for weights, _ in made],
        name=name,
        episodes=given.episodes,
        curves=[facts["curve"] for _, facts in made] if "curve" in made[0][1] else (),
        budget=max(steps),
        command=f"python -m benchmarks.levels {level.name} {options}--seeds {given.seeds} --episodes {given.episodes}",
        output=given.output or RESULTS / f"{level.name}_{short}.json",
        progress=print,
    )
    print(markdown([result]))
    print(f"{min(steps):,} to {max(steps):,} steps, {[facts['cpu minutes'] for _, facts in made]} minutes")


if __name__ == "__main__":
    main()
