"""Train the two networks by which the builder that sees pictures follows requests that name standing blocks.

    python -m benchmarks.pov_landmarks --model pov-walker-v2 --output runs/landmarks

The reader learns from sentences of the grammar, the finder from painted scenes of the training split's kind. The other
networks stay as they are.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from benchmarks.harness import run_options
from iglu_marl.agents.learned import pov_senses as senses
from iglu_marl.agents.learned import zoo
from iglu_marl.agents.learned.pov_builder import encode, model_of, words_known
from iglu_marl.agents.learned.pov_model import AWAY, NOTHING, PLACE, REMOVE, SLOTS, WAYS, PovModel
from iglu_marl.language import Blocks, CellEdit, Place, render
from iglu_marl.language.grammar.templates import templates
from iglu_marl.language.meaning.references import Beside
from iglu_marl.language.meaning.shapes import COMPASS, VECTORS, Direction, scaled
from iglu_marl.language.meaning.verbs import Remove, Sequence
from iglu_marl.rendering import Painter

BATCH, RATE = 256, 2e-3


def sentence(rng: np.random.Generator) -> tuple[str, list[tuple[int, int, int, int]]]:
    """Return a sentence, and its requests: verb, colour, landmark's colour, number in `WAYS`."""
    color, landmark, gone = (int(rng.integers(1, 7)) for _ in range(3))
    way = (*COMPASS, Direction.UP)[int(rng.integers(5))]
    steps = 1 if way is Direction.UP else int(rng.integers(1, AWAY + 1))
    placed = Place(color, Beside(((way, steps),), Blocks((landmark,))))
    place = (PLACE, color, landmark, WAYS.index(scaled(VECTORS[way], steps)))
    removed, remove = Remove(Blocks((gone,))), (REMOVE, 0, gone, 0)
    kind = rng.choice(4, p=(0.45, 0.1, 0.25, 0.2))
    if kind == 0:
        return render(placed, rng), [place]
    if kind == 1:
        return render(removed, rng), [remove]
    if kind == 2:
        return render(Sequence((removed, placed)), rng), [remove, place]
    if rng.random() < 0.1:
        talk = [said for some in templates()["talk"].values() for said in some]
        return str(rng.choice(talk)), []
    x, z = rng.integers(-5, 6, 2).tolist()
    before, after = ((0, color), (gone, 0), (gone, color % 6 + 1))[int(rng.integers(3))]
    if before == after:
        after = after % 6 + 1
    return render(CellEdit.between((x, int(rng.integers(-1, 4)), z), before, after), rng), []


def train_reader(model: PovModel, sentences: int, steps: int, seed: int) -> float:
    """Train the reader of requests that name landmarks; return the last loss."""
    rng = np.random.default_rng([seed, 0])
    texts, requests = zip(*(sentence(rng) for _ in range(sentences)), strict=True)
    table = torch.from_numpy(encode(texts))
    asked = torch.zeros(sentences, SLOTS, 4, dtype=torch.int64)
    for row, found in enumerate(requests):
        for slot, request in enumerate(found):
            asked[row, slot] = torch.tensor(request)
    optimizer = torch.optim.Adam(model.references.parameters(), RATE)
    for step in range(steps):
        rows = torch.from_numpy(rng.integers(0, sentences, BATCH))
        verb, *rest = (
            functional.cross_entropy(part.flatten(0, 1), asked[rows, :, at].flatten(), reduction="none")
            for at, part in enumerate(model.references(table[rows]))
        )
        asks = (asked[rows, :, 0].flatten() != NOTHING).float()
        loss = (verb + asks * torch.stack(rest).sum(0)).mean()
        _learn(optimizer, loss, step / steps)
    return loss.item()


def _learn(optimizer: torch.optim.Optimizer, loss: torch.Tensor, progress: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = RATE * max(0.05, 1 - progress)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def sights(rng: np.random.Generator, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return outlines of blocks in painted scenes, and where the blocks are: along the bearing, right, above the eye.

    A scene has two to six blocks of different colours, on the ground or on each other, in up to three layers.
    """
    grids, poses = np.zeros((n, 9, 11, 11), np.int8), np.zeros((n, 5))
    colors, blocks = np.zeros(n, np.int64), np.zeros((n, 3))
    for row in range(n):
        high = np.zeros((11, 11), np.int64)
        stands: list[tuple[int, ...]] = []
        for color in (rng.permutation(6) + 1)[: rng.integers(2, 7)]:
            x, z = rng.integers(0, 11, 2)
            if stands and rng.random() < 0.3:
                x, z = stands[rng.integers(len(stands))][1:3]
            if high[x, z] < 3:
                grids[row, high[x, z], x, z] = color
                stands.append((high[x, z], x, z, color))
                high[x, z] += 1
        layer, x, z, colors[row] = stands[rng.integers(len(stands))]
        blocks[row] = x - 5, layer - 1, z - 5
        while True:
            near = rng.random() < 0.5
            eye = blocks[row, [0, 2]] + rng.uniform(-3.5, 3.5, 2) if near else rng.uniform(-6.5, 6.5, 2)
            at = np.rint(eye).astype(int) + 5
            if (np.abs(eye) < 6.9).all() and (
                not (0 <= at).all() or not (at < 11).all() or not high[tuple(at)]
            ):
                break
        towards = np.degrees(np.arctan2(blocks[row, 0] - eye[0], eye[1] - blocks[row, 2]))
        pitch = 0.0 if rng.random() < 0.4 else 5.0 * rng.integers(-15, 3)
        air = rng.integers(len(senses.JUMP)) if rng.random() < 0.1 else 0
        poses[row] = (
            eye[0],
            senses.EYE_Y + senses.JUMP[air],
            eye[1],
            (towards + rng.uniform(-50, 50)) % 360,
            pitch,
        )
    pictures = np.zeros((n, senses.SIDE, senses.SIDE), np.uint8)
    Painter().bind(grids, poses, (senses.SIDE, senses.SIDE), "index", pictures)(np.arange(n), 0, n)
    yaw, eye_y, pitch_deg = (poses[:, at].astype(np.float32) for at in (3, 1, 4))
    outlines, bearings, seen = senses.outlines(pictures, colors, yaw, pitch_deg, eye_y)
    around = np.radians(yaw + bearings)
    east, up, south = (blocks - poses[:, :3]).T
    where = np.stack(
        [east * np.sin(around) - south * np.cos(around), east * np.cos(around) + south * np.sin(around), up],
        1,
    )
    return torch.from_numpy(outlines[seen]), torch.from_numpy(where[seen].astype(np.float32))


def train_finder(model: PovModel, scenes: int, steps: int, seed: int) -> float:
    """Train the finder; return the mean log density of the last batches."""
    rng = np.random.default_rng([seed, 1])
    parts = [sights(rng, 1000) for _ in range(scenes // 1000)]
    outlines, where = (torch.cat([part[at] for part in parts]) for at in range(2))
    optimizer = torch.optim.Adam(model.finder.parameters(), RATE)
    for step in range(steps):
        rows = torch.from_numpy(rng.integers(0, len(outlines), BATCH))
        made, width = model.finder(outlines[rows])
        off = ((made - where[rows]) ** 2).sum(1)
        loss = (0.5 * off * (-2 * width).exp() + 3 * width).mean()
        _learn(optimizer, loss, step / steps)
    return loss.item()


@torch.no_grad()
def check(model: PovModel, seed: int) -> None:
    """Print how well both do on others."""
    rng = np.random.default_rng([seed, 2])
    outlines, where = sights(rng, 3000)
    made, _ = model.finder(outlines)
    off, far = (made - where)[:, :2].norm(dim=1), where[:, :2].norm(dim=1)
    for low, high in ((0, 2), (2, 4), (4, 7), (7, 12)):
        part = off[(far >= low) & (far < high)]
        print(
            f"{low} to {high} cells away: median error {part.median():.2f}, 90 % below {part.quantile(0.9):.2f}, "
            f"n = {len(part)}"
        )
    texts, requests = zip(*(sentence(rng) for _ in range(600)), strict=True)
    parts = [part.argmax(2) for part in model.references(torch.from_numpy(encode(texts)))]
    read = [
        [tuple(int(part[row, slot]) for part in parts) for slot in range(SLOTS) if parts[0][row, slot]]
        for row in range(len(texts))
    ]
    print("sentences read", np.mean([one == other for one, other in zip(read, requests, strict=True)]))


def main(
    output: Path,
    model: str = "pov-walker-v2",
    sentences: int = 6000,
    scenes: int = 60_000,
    steps: int = 4000,
    seed: int = 0,
) -> None:
    """Train both networks and write `model.npz`.

    output: folder. model: agent of the zoo whose other networks are kept. steps: batches for the finder, half as many
    for the reader.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    words = 2 + len(words_known())
    made = PovModel(words, words)
    kept = model_of(zoo.pretrained(model).tensors)
    for name in ("reader", "localiser", "policy"):
        getattr(made, name).load_state_dict(getattr(kept, name).state_dict())
    for name, train, amount, batches in (
        ("reader", train_reader, sentences, steps // 2),
        ("finder", train_finder, scenes, steps),
    ):
        loss = train(made, amount, batches, seed)
        print(f"{name}: loss {loss:.3f}, {time.process_time():.0f} CPU-seconds", flush=True)
    check(made.eval(), seed)
    output.mkdir(parents=True, exist_ok=True)
    state = {name: part.detach().numpy().astype(np.float16) for name, part in made.state_dict().items()}
    np.savez_compressed(output / "model.npz", **state)


if __name__ == "__main__":
    run_options(main)
