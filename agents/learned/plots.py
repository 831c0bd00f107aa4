"""The learning curve as a picture (matplotlib)."""

from __future__ import annotations

import csv
from pathlib import Path


def draw_curve(table: Path | str, picture: Path | str) -> None:
    """Draw a `curve.csv`: losses on the left; precision, recall and F1 on the right. The suffix is the format."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with Path(table).open(newline="", encoding="utf-8") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    epochs = [row["epoch"] for row in rows]
    with mpl.rc_context(
        {"svg.hashsalt": "curve", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    ):
        figure = Figure(figsize=(8, 3), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name, label in (
            ("place_loss", "placements"),
            ("remove_loss", "removals"),
            ("color_loss", "colours"),
        ):
            left.plot(epochs, [row[name] for row in rows], label=label)
        left.set(title="loss in training (nats per sample)", xlabel="epoch", ylim=(0, None))
        for name, style in (("f1", "-"), ("precision", ":"), ("recall", "--")):
            right.plot(epochs, [row[name] for row in rows], style, label=name.replace("f1", "F1"))
        right.set(title="net actions on the held-out part", xlabel="epoch", ylim=(0, None))
        for axes in (left, right):
            axes.grid(alpha=0.3)
            axes.legend(frameon=False)
        metadata = {"Date": None} if str(picture).endswith(".svg") else None
        figure.savefig(picture, metadata=metadata)
