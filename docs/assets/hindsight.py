"""Draw docs/images/hindsight.png: `python docs/assets/hindsight.py`. Half a minute; needs the extra `docs`."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
EVERY = 250  # episodes between measurements


def main() -> None:
    """Plot success by episodes of training: mean and range of the seeds."""
    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    axes = figure.subplots()
    learn = runpy.run_path(str(ROOT / "examples" / "hindsight_goals.py"))["main"]
    for name, runs in learn(every=EVERY).items():
        episodes = EVERY * np.arange(runs.shape[1])
        axes.fill_between(episodes, runs.min(axis=0), runs.max(axis=0), alpha=0.2)
        axes.plot(episodes, runs.mean(axis=0), label=name)
    axes.set(xlabel="episodes of training", ylabel="goals reached (greedy)", ylim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(ROOT / "docs" / "images" / "hindsight.png")


if __name__ == "__main__":
    main()
