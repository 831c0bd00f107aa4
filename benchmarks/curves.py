"""Learning curves with intervals over seeds, drawn with matplotlib; tables of their last values.

Used by `python -m benchmarks.learning` and by the examples that learn.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.files import write_text
from iglu_marl.core.text import markdown_table

Run = tuple[Sequence[float], Sequence[float]]
"""One seed's curve: environment steps and the values measured there, both [measurements]."""

COLORS = ("#1565c0", "#c62828", "#2e7d32", "#6a1b9a", "#ef6c00", "#455a64")
# The 97.5 % quantiles of Student's t for 1 to 9 degrees of freedom; beyond these the normal's.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def interval(values: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return mean over seeds and half the width of its 95 % interval (Student's t), of [seeds, ...]; 0 for one seed."""
    array = np.asarray(values, dtype=np.float64)
    count = len(array)
    mean = array.mean(axis=0)
    if count < 2:
        return mean, np.zeros_like(mean)
    quantile = _T[count - 2] if count - 2 < len(_T) else 1.96
    return mean, quantile * array.std(axis=0, ddof=1) / np.sqrt(count)


def plot_curves(
    runs: Mapping[str, Sequence[Run]],
    path: str | Path,
    *,
    ylabel: str,
    title: str = "",
    xlabel: str = "environment steps",
    lines: Mapping[str, float] | None = None,
) -> None:
    """Draw a curve per label: the mean over seeds with a 95 % interval, and each seed as a thin line.

    runs: for each label, the curves of its seeds, measured at the same steps; values from 0 to 1. lines: horizontal
    lines by label. The suffix of the path is the format; equal runs give equal SVG bytes.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context({"svg.hashsalt": "iglu_marl", "svg.fonttype": "none", "font.size": 10}):
        figure, axes = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
        for number, (label, seeds) in enumerate(runs.items()):
            color = COLORS[number % len(COLORS)]
            steps, values = seeds[0][0], np.array([values for _, values in seeds])
            mean, half = interval(values)
            low, high = np.clip([mean - half, mean + half], 0, 1)
            axes.fill_between(steps, low, high, color=color, alpha=0.15, linewidth=0)
            axes.plot(steps, values.T, color=color, alpha=0.35, linewidth=0.7)
            axes.plot(steps, mean, color=color, linewidth=2, label=label)
        for name, level in (lines or {}).items():
            axes.axhline(level, color="#757575", linewidth=0.8, linestyle="--")
            axes.annotate(
                name, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8
            )
        axes.set_ylim(-0.02, 1.02)
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=" "))
        axes.grid(alpha=0.25)
        axes.legend(loc="best", frameon=False)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if Path(path).suffix == ".svg" else None)
        plt.close(figure)


def table(rows: Mapping[str, Mapping[str, Sequence[float]]], form: str = ".1%") -> str:
    """Return a Markdown table with the mean over seeds, its 95 % interval, and the value of each seed."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = []
    for label, row in rows.items():
        cells = []
        for name in columns:
            if name not in row:
                cells.append("")
                continue
            mean, half = interval(row[name])
            seeds = ", ".join(f"{value:{form}}" for value in row[name])
            cells.append(f"{float(mean):{form}} ± {float(half):{form}} ({seeds})")
        lines.append([label, *cells])
    return markdown_table(["", *columns], lines).strip()


def cross_play_table(matrix: Sequence[Sequence[float]]) -> str:
    """Return a Markdown table of success rates, architects in rows and builders in columns."""
    rows = [[f"architect {seed}", *(f"{value:.1%}" for value in row)] for seed, row in enumerate(matrix)]
    return markdown_table(["", *(f"builder {seed}" for seed in range(len(matrix)))], rows).strip()


def show_or_measure(
    parser: argparse.ArgumentParser,
    name: str,
    measure: Callable[[argparse.Namespace], dict[str, Any]],
    show: Callable[[dict[str, Any], Path], None],
) -> None:
    """Run a program whose results are kept in docs/learning/NAME.json, and show them.

    name: may hold options in braces, as "{task}".
    """
    docs = Path(__file__).resolve().parents[1] / "docs"
    parser.add_argument("--json", type=Path, help="file of the results; by default in docs/learning/")
    parser.add_argument("--images", type=Path, default=docs / "images")
    parser.add_argument(
        "--show", action="store_true", help="only draw and print the content of the JSON file"
    )
    given = parser.parse_args()
    path = given.json or docs / "learning" / f"{name.format_map(vars(given))}.json"
    if not given.show:
        write_text(path, json.dumps(measure(given)) + "\n")
    show(json.loads(path.read_text(encoding="utf-8")), given.images)
