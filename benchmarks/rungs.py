"""Learners on rungs of the ladder, by its protocol: `python -m benchmarks.rungs see-few-v0 --seeds 5`.

Trains on the training split, measures on the test split, and writes the result file that docs/benchmark.md shows.
`see-few-v0`, `see-structures-v0`: imitation of the planner, by examples/dagger_silent_builder.py.
`symbols-place-v0`, `symbols-two-v0`, `partners-place-v0`: PPO after practice, by examples/ppo_symbols.py; the pairs of
`symbols-two-v0` also play `symbols-walk-v0`, where the planner walks for them.
`--other-play` renames the symbols in each game; `--cross-play` has the pairs of all seeds play with one another.
`words-place-v0`: the linear policy of the audits, by its reward, on what the scripted architect says first.
Weights stay in a folder, by default runs/rungs: what is there is not trained again.
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
from iglu_marl.benchmark.controls import LinearBuilder, LinearPolicy, cells_of_tasks
from iglu_marl.benchmark.controls import train as train_linear
from iglu_marl.benchmark.games import features_for
from iglu_marl.benchmark.ladder import GRID_ACTIONS
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
PAIRS |= {rung: PAIRS[other] for rung, other in SAME.items()}
SILENT = {"see-few-v0": {"limit": 400}, "see-structures-v0": {"limit": 1000}}

WORDS = {"words-place-v0": 300_000}  # environment steps

Learned = tuple[dict[str, np.ndarray], dict[str, Any]]  # weights, and what is told of the run


# ------------------------------------------------------------------------------------- builders that see the target


def silent_builder(rung: benchmark.Rung, seed: int, minutes: float) -> Learned:
    """Weights, with the environment steps of training."""
    example = load_example("dagger_silent_builder")
    played = 0

    class Lessons(example.Lessons):
        def _step(self, net: Any) -> Any:
            nonlocal played
            played += self.settings.worlds
            return super()._step(net)

    example.Lessons = Lessons
    example.Structures = lambda known=None: rung.tasks("train")
    example.held_out = lambda count, seed=0: {"random": some_of(rung.tasks("train"), count, seed)}
    net = example.train(example.Settings(seed=seed, minutes=minutes, **SILENT[rung.name]))
    return {name: part.numpy() for name, part in net.state_dict().items()}, {"steps": played}


def builder_of(weights: dict[str, np.ndarray]) -> Callable[[Any], Any]:
    """What makes the agent of a silent builder's weights."""
    model: Any = SimpleNamespace(name="silent builder", card={"network": {}}, tensors=weights)
    return lambda env: SilentBuilder.for_env(env, model=model)


# ------------------------------------------------------------------------------------- builders that hear words


class ListeningBuilder(LinearBuilder):
    """A linear policy that waits for the first words, heeds no later ones, and says nothing."""

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode."""
        super().reset(role, seed)
        self._heard: Any = None

    def act(self, observation: Any) -> Any:
        """The numbers of the action and of what it says, int [17]: nothing."""
        action = np.zeros(1 + MESSAGE_TOKENS, np.int64)
        if self._heard is None and np.any(observation["dialog"]):
            self._heard = observation["dialog"]
        if self._heard is not None:
            action[0] = super().act({**observation, "dialog": self._heard})
        return action


def as_said(rung: benchmark.Rung) -> list[Task]:
    """The tasks of the training split, each with what the scripted architect says first as its dialog."""
    env = benchmark.make(rung, "train")
    speaker = ScriptedArchitect.for_env(env)
    found = []
    for task in some_of(rung.tasks("train"), 256):
        seen, _ = env.reset(seed=0, options={"task": task})
        speaker.reset(Role.ARCHITECT, 0)
        env.step({ARCHITECT: speaker.act(seen[ARCHITECT]), BUILDER: np.zeros(1 + MESSAGE_TOKENS, np.int64)})
        found.append(task.replace(dialog=env.unwrapped.episode.dialogue.text))
    return found


def policy_of(rung: benchmark.Rung, weights: dict[str, np.ndarray]) -> LinearPolicy:
    """A linear policy of its weights."""
    tasks = [task for split in ("train", "test") for task in some_of(rung.tasks(split), 256)]
    return LinearPolicy(rung, features_for(rung, rung.sees, cells_of_tasks(tasks)), **weights)


def listening_builder(rung: benchmark.Rung, seed: int) -> Learned:
    """Weights, with the environment steps of training and the curve."""
    tasks, budget = as_said(rung), WORDS[rung.name]
    cells = cells_of_tasks([*tasks, *some_of(rung.tasks("test"), 256)])
    curve = [(0, 0.0)]

    def measure(steps: int, policy: LinearPolicy) -> None:
        if steps >= min(curve[-1][0] + budget // 20, budget):
            curve.append((steps, float(policy.successes(tasks).mean())))

    policy = train_linear(rung, tasks, rung.sees, budget, seed, cells=cells, after=measure)
    return {"seen": policy.seen, "times": policy.times}, {"steps": curve[-1][0], "curve": curve}


# ------------------------------------------------------------------------------------------------ pairs with symbols


class OneBlock:
    """A distribution over wishes of one block: its cell and its colour are drawn for themselves.

    cell, color: Categorical [n] over `cells` (numbers in the ring) and over the colours.
    """

    def __init__(self, cell: Any, color: Any, cells: torch.Tensor) -> None:
        self.cell, self.color, self.cells = cell, color, cells

    def _wish(self, cell: torch.Tensor, color: torch.Tensor) -> torch.Tensor:
        wishes = torch.zeros(len(cell), len(symbols.RING), dtype=torch.long)
        return wishes.scatter(1, self.cells[cell][:, None], color[:, None] + 1)

    def sample(self) -> torch.Tensor:
        """Wishes, int [n, 8]."""
        return self._wish(self.cell.sample(), self.color.sample())

    @property
    def logits(self) -> torch.Tensor:
        """1 for the likeliest wish, [n, 8, colours + 1]."""
        likeliest = self._wish(self.cell.logits.argmax(-1), self.color.logits.argmax(-1))
        return torch.nn.functional.one_hot(likeliest, symbols.COLORS + 1)

    def log_prob(self, wishes: torch.Tensor) -> torch.Tensor:
        """Of wishes of one block each, [n, 1]."""
        where = (wishes[:, self.cells] > 0).int().argmax(1)
        return (self.cell.log_prob(where) + self.color.log_prob(wishes.amax(1) - 1))[:, None]

    def entropy(self) -> torch.Tensor:
        """[n, 1]"""
        return (self.cell.entropy() + self.color.entropy())[:, None]


def parts_view(target: np.ndarray) -> np.ndarray:
    """Which of the eight cells targets [n, 9, 11, 11] fill, and with which colours, float32 [n, 48], the rest 0."""
    ring = symbols.ring_of(target)
    colors = (ring[..., None] == np.arange(1, symbols.COLORS + 1)).any(axis=1)
    seen = np.zeros((len(ring), len(symbols.RING) * symbols.COLORS), np.float32)
    seen[:, : len(symbols.RING) + symbols.COLORS] = np.concatenate([ring > 0, colors], axis=1)
    return seen


class OnRung(symbols.SymbolsBuilder):
    """A builder whose actions are numbers. cells: those where its one block may stand; None: it wishes for any."""

    cells: np.ndarray | None = None

    def act(self, observation: Any) -> int:
        """The number of the action; to wait and to place colours have the same numbers as with the example's body."""
        return self.chosen(observation)

    def _wished(self, heard: np.ndarray) -> np.ndarray:
        if self.cells is None:
            return super()._wished(heard)
        said = np.arange(1, self._sizes["symbols"] + 1) == np.asarray(heard)[:, None]
        scores = self._listen(said.astype(np.float32).reshape(1, -1))[0]
        wish = np.zeros((1, len(symbols.RING)), np.int64)
        wish[0, self.cells[scores[: len(self.cells)].argmax()]] = 1 + scores[len(self.cells) :].argmax()
        return wish


class OnFoot(OnRung):
    """What it wishes for is learned; the planner walks and builds it. task_of: a task of a wish, int [8]."""

    hands: OracleBuilder
    task_of: Callable[[np.ndarray], Task]

    def act(self, observation: Any) -> Any:
        """The next step: none before it has heard something."""
        if self._wish.any():
            return self.hands.act(observation)
        self.chosen(observation)  # listens
        self.hands.reset(Role.BUILDER, None, task=self.task_of(self._wish[0]))
        return int(Action.NOOP)


class OfParts(symbols.SymbolsArchitect):
    """An architect that sees cell and colour apart."""

    view = staticmethod(parts_view)


def game_of(rung: benchmark.Rung, count: int, seed: int, other_play: bool, **fields: Any) -> Any:
    """Many games of the training split. fields: of `GameConfig`, instead of the rung's."""
    games = VectorGame(count, rung.config("train", **fields), autoreset_mode="SameStep")
    numbered = discretize(games, table=GRID_ACTIONS)
    return benchmark.OtherPlay(numbered, seed) if other_play else numbered


def example_on(rung: benchmark.Rung, other_play: bool = False) -> tuple[ModuleType, Any]:
    """examples/ppo_symbols.py as a module whose games are the rung's, and its settings."""
    example = load_example("ppo_symbols")
    game = rung.game
    settings = example.Settings(
        colors=symbols.COLORS,
        symbols=game["vocabulary"],
        words=game["max_message_length"],
        limit=rung.max_steps - 1,
        **PAIRS[rung.name],
    )

    example.begun = []  # all games; those to learn in are the first ones of their size

    class Games(example.Games):
        def __init__(self, settings: Any, count: int, seed: int, wrong_scale: float = 0.1) -> None:
            self.settings, self.count, self.tasks = settings, count, {}
            self.rng = np.random.default_rng(seed)
            self.env = game_of(rung, count, seed, other_play, completion_reward=2.0, wrong_scale=wrong_scale)
            self.silence = np.zeros((count, settings.words), np.int64)
            self.played = 0  # environment steps
            example.begun.append(self)

        def begin(self, wanted: np.ndarray, lowest: int = 0) -> None:
            """As the rung does; while practising, with a gaze in any direction, half of them down."""
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
        grids = np.stack([task.target_grid for task in rung.tasks(split)])
        return symbols.ring_of(grids).astype(np.int64)

    found = example.Split(rows("train"), rows("test"))
    cells, most = np.flatnonzero(found.trained.any(axis=0)), int((found.trained > 0).sum(axis=1).max())

    def own_wishes(rng: np.random.Generator, count: int, colors: int) -> np.ndarray:
        """One block, or as many as the rung asks for, in some of its cells."""
        order = rng.random((count, len(cells))).argsort(1).argsort(1)
        there = order < rng.integers(1, most + 1, (count, 1))
        wishes = np.zeros((count, len(symbols.RING)), np.int64)
        wishes[:, cells] = np.where(there, rng.integers(1, colors + 1, there.shape), 0)
        return wishes

    class Pair(example.Pair):
        """Where one block is asked for, one is wished for, its cell and its colour as two choices."""

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


def pair(rung: benchmark.Rung, seed: int, other_play: bool = False) -> Learned:
    """Weights, with the environment steps of training and the curve."""
    example, settings = example_on(rung, other_play)
    learned, curve = example.train(settings._replace(seed=seed))
    practice, talk = (
        next(games for games in example.begun if games.count == count)
        for count in (settings.practice_games, settings.games)
    )
    each = talk.played / curve[-1][0]  # steps of a game
    points = [(practice.played + round(games * each), trained) for games, trained, _ in curve]
    told = {"steps": points[-1][0], "curve": [(0, 0.0), (practice.played, 0.0), *points]}
    return {name: part.numpy() for name, part in learned.state_dict().items()}, told


def agents_of(rung: benchmark.Rung, weights: dict[str, np.ndarray]) -> tuple[Any, Any]:
    """What makes architect and builder of a pair's weights."""
    sizes = {"words": rung.game["max_message_length"], "symbols": rung.game["vocabulary"]}
    model: Any = SimpleNamespace(name="pair", card={"game": {}, "network": sizes}, tensors=weights)
    example, _ = example_on(rung)

    def builder(env: Any) -> OnRung:
        if rung.controls == "walking":
            walker = OnFoot.for_env(env, model=model)
            walker.hands, walker.task_of = OracleBuilder.for_env(env), example.task_of
            return walker
        agent = OnRung.for_env(env, model=model)
        agent.cells = example.cells
        return agent

    architect = symbols.SymbolsArchitect if example.cells is None else OfParts
    return partial(architect.for_env, model=model), builder


# ------------------------------------------------------------------------------------------------------- all of it


def learned_by(rung: benchmark.Rung, seed: int, folder: Path, minutes: float, other_play: bool) -> Learned:
    """A run's weights and what is told of it; from the folder if they are there."""
    game = SAME.get(rung.name, rung.name)  # one training for both
    place = folder / f"{game}{'-other' * other_play}-{seed}"
    if place.with_suffix(".npz").exists():
        with np.load(place.with_suffix(".npz")) as kept:
            return dict(kept), json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
    began = time.process_time()
    if rung.name in PAIRS:
        weights, told = pair(benchmark.find(game), seed, other_play)
    elif rung.name in WORDS:
        weights, told = listening_builder(rung, seed)
    else:
        weights, told = silent_builder(rung, seed, minutes)
    told["cpu minutes"] = round((time.process_time() - began) / 60, 2)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(place.with_suffix(".npz"), **weights)  # type: ignore[arg-type]
    place.with_suffix(".json").write_text(json.dumps(told), encoding="utf-8")
    return weights, told


def kind_of(rung: benchmark.Rung) -> tuple[str, str]:
    """What learns on a rung: its name in tables, and in the name of the file."""
    if rung.name in PAIRS:
        return "pair, PPO" + ", the planner's hands" * (rung.controls == "walking"), "pair"
    return ("linear policy", "linear") if rung.name in WORDS else ("silent builder, DAgger", "silent")


def maker_of(rung: benchmark.Rung, weights: dict[str, np.ndarray]) -> Any:
    """What makes an agent, or architect and builder, of a run's weights."""
    if rung.name in PAIRS:
        return agents_of(rung, weights)
    if rung.name in WORDS:
        policy = policy_of(rung, weights)
        return lambda env: ListeningBuilder(policy)
    return builder_of(weights)


def cross_play(rung: benchmark.Rung, pairs: Sequence[Any], games: int) -> dict[str, list[list[float]]]:
    """By split, the share of successes of each architect (rows) with each builder (columns)."""
    roles = [{str(seed): makers[role] for seed, makers in enumerate(pairs)} for role in range(2)]
    splits: tuple[SplitName, ...] = ("train", "test")
    return {
        split: [
            list(row.values())
            for row in benchmark.cross_play(rung, *roles, games=games, split=split).values()
        ]
        for split in splits
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rung", choices=(*SILENT, *PAIRS, *WORDS))
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
    parser.add_argument("--runs", type=Path, default=Path("runs") / "rungs", help="folder of weights")
    parser.add_argument("--output", type=Path, help="the result file; by default in docs/learning/")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rung = benchmark.find(given.rung)

    def runs(other_play: bool) -> list[Learned]:
        return [learned_by(rung, seed, given.runs, given.minutes, other_play) for seed in range(given.seeds)]

    if given.cross_play:
        found = {
            name: cross_play(rung, [agents_of(rung, weights) for weights, _ in runs(other)], given.episodes)
            for name, other in (("plain", False), ("other-play", True))
        }
        write_text(
            given.output or RESULTS / f"{rung.name}-cross-play.json", json.dumps(found, indent=1) + "\n"
        )
        print(json.dumps(found, indent=1))
        return
    made = runs(given.other_play)
    name, short = kind_of(rung)
    if given.other_play:
        name, short = f"{name}, other-play", f"{short}-other"
    options = "--other-play " * given.other_play + f"--minutes {given.minutes:g} " * (rung.name in SILENT)
    steps = [told["steps"] for _, told in made]
    result = benchmark.run(
        rung,
        [maker_of(rung, weights) for weights, _ in made],
        name=name,
        episodes=given.episodes,
        curves=[told["curve"] for _, told in made] if "curve" in made[0][1] else (),
        budget=max(steps),
        command=f"python -m benchmarks.rungs {rung.name} {options}--seeds {given.seeds} --episodes {given.episodes}",
        output=given.output or RESULTS / f"{rung.name}_{short}.json",
        progress=print,
    )
    print(markdown([result]))
    print(f"{min(steps):,} to {max(steps):,} steps, {[told['cpu minutes'] for _, told in made]} minutes")


if __name__ == "__main__":
    main()
