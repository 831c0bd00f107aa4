"""Learning to reach goals in words, with hindsight: what was reached by chance counts as if it had been asked.

    python examples/hindsight_goals.py --image hindsight.png

A builder stands still among eight cells and places red and blue blocks there, or breaks them. It is asked to make
statements true ("There is a red block north of a blue block."), and learns a table of values for each goal. With
hindsight, every step also teaches it the goals that `get_achieved_goals` says it has just reached, and the way there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import typer
from PIL import Image, ImageDraw

import iglu_marl  # noqa: F401 - registers the environment
from iglu_marl.language.goals import GoalSpace, statement_goals

STEPS = 8  # in an episode
ANGLES = [
    (yaw, pitch) for yaw in (0.0, 90.0, 180.0, 270.0) for pitch in (-45.0, -30.0)
]  # at one of eight cells
HANDS = [{"hotbar": 6, "use": 1}, {"hotbar": 1, "use": 1}, {"attack": 1}]  # red, blue, break
ACTIONS = [(angle, hand) for angle in ANGLES for hand in HANDS]
LEARNING_RATE, DISCOUNT, EXPLORATION = 0.5, 0.9, 0.2


def goals() -> GoalSpace:
    """Return the statements about red and blue blocks on the ground."""
    words = (
        "tower",
        "square",
        "group",
        "height",
        "above",
        "below",
        " on a ",
        "on the red",
        "on the blue",
        "row of",
    )
    found = statement_goals(colors=("red", "blue"))
    return GoalSpace(goal for goal in found if not any(word in goal.text for word in words))


def control(observation: dict[str, Any], action: int) -> dict[str, Any]:
    """Return keys and camera of one step: look at a cell, and use a hand."""
    (yaw, pitch), hand = ACTIONS[action]
    *_, now_pitch, now_yaw = observation["agentPos"].tolist()
    turn = (yaw - now_yaw + 180) % 360 - 180
    keys = dict.fromkeys(("forward", "back", "left", "right", "jump", "attack", "use", "hotbar"), 0)
    return {**keys, "camera": np.array([turn, pitch - now_pitch], np.float32), **hand}


class Learner:
    """A table of action values per goal and state of the ground."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.values: dict[tuple[str, bytes], np.ndarray] = {}

    def row(self, goal: str, state: bytes) -> np.ndarray:
        """Return the values of all actions."""
        return self.values.setdefault((goal, state), np.zeros(len(ACTIONS)))

    def choose(self, goal: str, state: bytes, exploration: float) -> int:
        """Return a best action, or sometimes a random one."""
        if self.rng.random() < exploration:
            return int(self.rng.integers(len(ACTIONS)))
        row = self.row(goal, state)
        return int(self.rng.choice(np.flatnonzero(row == row.max())))

    def learn(self, goal: str, way: list[tuple[bytes, int, bytes]], reached: bool) -> None:
        """Update the values along a path from its end, whose last step reached the goal or not."""
        for number, (state, action, following) in reversed(list(enumerate(way))):
            done = reached and number == len(way) - 1
            worth = 1.0 if done else DISCOUNT * self.row(goal, following).max()
            row = self.row(goal, state)
            row[action] += LEARNING_RATE * (worth - row[action])


def play(env: Any, learner: Learner, exploration: float, hindsight: bool, learning: bool = True) -> bool:
    """Play one episode, and return whether its goal was reached."""
    observation, info = env.reset()
    goal, reached, over = info["goal"], False, False
    way: list[tuple[bytes, int, bytes]] = []
    taught = {goal}
    while not over:
        state = observation["grid"][0].tobytes()
        action = learner.choose(goal, state, exploration)
        observation, reward, terminated, truncated, _ = env.step(
            control(observation, action), record_achieved_goal=hindsight
        )
        way.append((state, action, observation["grid"][0].tobytes()))
        reached, over = reward == 1.0, terminated or truncated
        if hindsight:
            for other in env.get_achieved_goals():
                if other not in taught:  # the first way there
                    taught.add(other)
                    learner.learn(other, way, reached=True)
    if learning:
        learner.learn(goal, way, reached)
    return reached


def curve(hindsight: bool, seed: int, episodes: int, every: int, tests: int) -> Iterator[float]:
    """Return the share of goals reached without exploration, before training and after each `every` episodes."""
    space = goals()
    env = gym.make(
        "iglu_marl/LanguageGoal-v0",
        action_space="human-level",
        goals=space,
        scenes="empty",
        goal_in_obs=None,
        max_steps=STEPS,
    )
    learner = Learner(np.random.default_rng(seed))
    env.reset(seed=seed)
    for number in range(episodes + 1):
        if number % every == 0:
            yield sum(play(env, learner, 0.0, hindsight=False, learning=False) for _ in range(tests)) / tests
        play(env, learner, EXPLORATION, hindsight)


def draw(curves: dict[str, np.ndarray], every: int, path: Path) -> None:
    """Plot success by episodes: mean and range of the seeds."""
    colors = {"with hindsight": (46, 125, 50), "without": (198, 40, 40)}
    width, height, left, top = 760, 420, 70, 30
    image = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(image, "RGBA")
    right, bottom = width - 30, height - 60
    last = max(len(runs[0]) for runs in curves.values()) - 1

    def at(number: float, share: float) -> tuple[float, float]:
        return left + (right - left) * number / max(1, last), bottom - (bottom - top) * share

    for share in (0, 0.25, 0.5, 0.75, 1):
        pen.line([at(0, share), at(last, share)], fill=(220, 220, 220))
        pen.text((left - 45, at(0, share)[1] - 6), f"{share:.0%}", fill="black")
    for number in range(0, last + 1, max(1, last // 5)):
        pen.text((at(number, 0)[0] - 10, bottom + 8), f"{number * every}", fill="black")
    pen.text((left, top - 22), "goals reached (greedy), mean and range of the seeds", fill="black")
    pen.text(((left + right) // 2 - 60, bottom + 30), "episodes of training", fill="black")
    for place, (name, runs) in enumerate(curves.items()):
        numbers = range(len(runs[0]))
        band = [at(n, runs[:, n].max()) for n in numbers] + [
            at(n, runs[:, n].min()) for n in reversed(numbers)
        ]
        pen.polygon(band, fill=(*colors[name], 50))
        pen.line([at(n, runs[:, n].mean()) for n in numbers], fill=colors[name], width=3)
        pen.text((right - 130, bottom - 50 + 18 * place), name, fill=colors[name])
    image.save(path)


def main(
    episodes: int = 3000, every: int = 250, tests: int = 100, seeds: int = 3, image: Path | None = None
) -> dict[str, np.ndarray]:
    """Train with and without hindsight, and return the shares by seed and measurement, float64.

    every: episodes between measurements. tests: episodes of a measurement. image: file for a picture of the curves.
    """
    curves = {
        name: np.array([list(curve(hindsight, seed, episodes, every, tests)) for seed in range(seeds)])
        for name, hindsight in (("with hindsight", True), ("without", False))
    }
    print(f"{len(goals())} goals, {len(ACTIONS)} actions, {STEPS} steps; share of goals reached:")
    for name, runs in curves.items():
        print(f"{name:>15}: " + " ".join(f"{share:.2f}" for share in runs.mean(axis=0)))
    if image is not None:
        draw(curves, every, image)
    return curves


if __name__ == "__main__":
    typer.run(main)
