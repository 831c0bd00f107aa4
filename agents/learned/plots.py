"""The learning curve as a picture (matplotlib)."""

from __future__ import annotations

import csv
from pathlib import Path


def draw_curve(table: Path | str, picture: Path | str) -> None:
    """Draw a `curve.csv`: losses in training and on the held-out part. The suffix says the format."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with Path(table).open(newline="", encoding="utf-8") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    epochs = [row["epoch"] for row in rows]
    with mpl.rc_context(
        {"svg.hashsalt": "curve", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    ):
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        for name, style in (("loss", ":"), ("held_out_loss", "-")):
            axes.plot(epochs, [row[name] for row in rows], style, label=name.replace("_", " "))
        axes.set(title="nats for any of the actions left", xlabel="epoch")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        metadata = {"Date": None} if str(picture).endswith(".svg") else None
        figure.savefig(picture, metadata=metadata)
