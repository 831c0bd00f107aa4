"""Behaviour cloning from recorded people: a small network predicts the next action of a builder.

The IGLU multi-turn data record the events of each game. `nearest_controls` converts them to actions of this package.
The network sees the pose and the nearest missing and superfluous blocks, and predicts the kind of the next action.
Frames without action are left out. It is tested on held-out games (five folds) against the most frequent kind.

    python examples/behaviour_cloning.py --data iglu-multiturn.zip

Without `--data` the 96 bundled sessions are used, whose events are generated.
Needs torch: pip install "iglu_marl[rl]"
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import typer

from iglu_marl.core.extras import extra
from iglu_marl.core.grid import cells_of, color_at
from iglu_marl.data import bundled, find_pack, nearest_controls, read_recording, trajectory_of
from iglu_marl.evaluation.metrics import bootstrap

with extra("rl", script=True):
    import torch
    from torch import nn

COLORS = ("blue", "yellow", "green", "orange", "purple", "red")
MOVES = ("back", "forward", "left", "right", "down", "up")
TURNS = ("look left", "look right", "look down", "look up")
KINDS = (*MOVES, *TURNS, "break", *(f"place {color}" for color in COLORS))
FOLDS = 5
NEAREST = 4  # blocks of each kind that the network sees


def recordings(data: str | None) -> Iterator:
    """Yield the world files of the pack, or of the bundled sessions."""
    if data is None:
        for file in sorted((Path(str(bundled.files())) / "builder-data").glob("*/step-*")):
            yield read_recording(file.read_bytes(), name=f"{file.parent.name}/{file.name}")
        return
    with find_pack("iglu-multiturn", data) as pack:
        for name in pack.names():
            if "builder-data" in name and "/step-" in name and not name.endswith(".csv"):
                yield read_recording(pack.read(name), name=name.split("builder-data/")[1])


def axes(yaw_deg: float) -> np.ndarray:
    """Return right, up and back of the builder in world axes x, y, z: float64 [3, 3]."""
    yaw = np.radians(yaw_deg)
    return np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])


def kind(action: dict, yaw_deg: float) -> int | None:
    """Return the index in `KINDS` of the edit, else of the larger of move and turn, None if both are small."""
    if action["use"]:
        return KINDS.index("break") + int(action["hotbar"])
    if action["attack"]:
        return KINDS.index("break")
    right, up, back = axes(yaw_deg) @ [action["move_x"], action["move_y"], action["move_z"]]
    yaw, pitch = action["camera"] / 20  # 20 degrees count as much as a cell
    parts = np.array([back, -back, -right, right, -up, up, -yaw, yaw, -pitch, pitch])
    return None if parts.max() < 0.1 else int(parts.argmax())


def features(worlds) -> np.ndarray:
    """Return pose, inventory, and the nearest cells to fill and to clear, float32."""
    x, y, z, yaw, pitch = worlds.pose[0]
    grid, target = worlds.grid[0], worlds.target[0]
    seen = [x / 5, y / 5, z / 5, np.sin(np.radians(yaw)), np.cos(np.radians(yaw)), pitch / 90]
    seen += (worlds.inventory[0] / 20).tolist()
    for wanted in ((target > 0) & (grid != target), (grid > 0) & (grid != target)):
        cells = cells_of(wanted)
        away = (cells - (x, y, z)) @ axes(yaw).T
        for index in np.argsort((away**2).sum(axis=1))[:NEAREST]:
            color = np.eye(7)[color_at(target, cells[index])][1:]
            seen += [1, *away[index] / 5, *color]
        seen += [0] * 10 * (NEAREST - len(cells))
    return np.array(seen, np.float32)


def samples(data: str | None, stride: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features float32 [n, features], kinds of action int64 [n], and games str [n]."""
    seen, done, games = [], [], []
    for recording in recordings(data):
        sequence = nearest_controls(trajectory_of(recording), stride=stride)
        for worlds, action in zip(
            sequence.replay(), sequence.actions, strict=False
        ):  # and the world at the end
            chosen = kind(action, worlds.pose[0, 3])
            if chosen is None:
                continue
            seen.append(features(worlds))
            done.append(chosen)
            games.append(recording.name.split("/")[0])
    return np.stack(seen), np.array(done), np.array(games)


def train(seen: np.ndarray, done: np.ndarray, epochs: int, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Linear(seen.shape[1], 128), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(128, len(KINDS)),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-2)
    inputs, labels = torch.from_numpy(seen), torch.from_numpy(done)
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).split(256):
            loss = nn.functional.cross_entropy(network(inputs[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return network.eval()


def main(data: str | None = None, stride: int = 10, epochs: int = 10, seed: int = 0) -> dict[str, float]:
    """Train and test in five folds; print and return the shares predicted.

    data: the IGLU multi-turn pack, a zip or a folder. stride: recorded frames (60 per second) per action.
    """
    torch.set_num_threads(1)
    seen, done, games = samples(data, stride)
    fold = np.array([zlib.crc32(game.encode()) % FOLDS for game in games])
    predicted, majority = np.empty_like(done), np.empty_like(done)
    for number in range(FOLDS):
        held_out = fold == number
        network = train(seen[~held_out], done[~held_out], epochs, seed)
        with torch.no_grad():
            predicted[held_out] = network(torch.from_numpy(seen[held_out])).argmax(dim=1).numpy()
        majority[held_out] = np.bincount(done[~held_out]).argmax()
    edits = done >= KINDS.index("break")
    print(
        f"{len(set(games))} games, {len(done)} actions, {edits.sum()} of them edits; share predicted (95 % interval):"
    )
    scores = {}
    for name, right, among in (
        ("network", predicted == done, edits | True),
        ("most frequent kind", majority == done, edits | True),
        ("network, of the edits", predicted == done, edits),
    ):
        scores[name] = float(right[among].mean())
        # Actions of a game are not independent, so games are resampled.
        _, number = np.unique(games[among], return_inverse=True)
        hits, counts = np.bincount(number, right[among]), np.bincount(number)
        print(f"  {name:22} {bootstrap(hits, counts, resamples=2000, rng=seed).text()}")
    return scores


if __name__ == "__main__":
    typer.run(main)
