"""Learning to reach goals in words, with hindsight: what was reached by chance counts as if it had been asked.

    python examples/hindsight_goals.py

A builder stands still among eight cells and places red and blue blocks there, or breaks them. It is asked to make
statements true ("There is a red block north of a blue block."), and learns a table of values for each goal. With
hindsight, every step also teaches it the goals that `get_achieved_goals` says it has just reached, and the way there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import typer

import iglu_marl  # noqa: F401 - registers the environment
from iglu_marl.language.goals import GoalSpace, statement_goals

STEPS = 8  # in an episode
ANGLES = [
    (yaw, pitch) for yaw in (0.0, 90.0, 180.0, 270.0) for pitch in (-45.0, -30.0)
]  # at one of eight cells
HANDS = [{"hotbar": 6, "use": 1}, {"hotbar": 1, "use": 1}, {"attack": 1}]  # red, blue, break
ACTIONS = [(angle, hand) for angle in ANGLES for hand in HANDS]
OTHERS = re.compile("tower|square|group|height|above|below| on a |on the red|on the blue|row of")  # goals
LEARNING_RATE, DISCOUNT, EXPLORATION = 0.5, 0.9, 0.2


def goals() -> GoalSpace:
    """Return the statements about red and blue blocks on the ground."""
    found = statement_goals(colors=("red", "blue"))
    return GoalSpace(goal for goal in found if not OTHERS.search(goal.text))


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


def main(episodes: int = 3000, every: int = 250, tests: int = 100, seeds: int = 3) -> dict[str, np.ndarray]:
    """Train with and without hindsight, and return the shares by seed and measurement, float64.

    every: episodes between measurements. tests: episodes of a measurement.
    """
    curves = {
        name: np.array([list(curve(hindsight, seed, episodes, every, tests)) for seed in range(seeds)])
        for name, hindsight in (("with hindsight", True), ("without", False))
    }
    print(f"{len(goals())} goals, {len(ACTIONS)} actions, {STEPS} steps; share of goals reached:")
    for name, runs in curves.items():
        print(f"{name:>15}: " + " ".join(f"{share:.2f}" for share in runs.mean(axis=0)))
    return curves


if __name__ == "__main__":
    typer.run(main)
