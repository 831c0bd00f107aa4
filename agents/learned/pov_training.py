"""Training of a builder that sees pictures: reader on sentences, localiser on walks, policy by imitation.

The policy learns by DAgger: it plays until a teacher takes over at a random step (see `imitation.py`). A run resumes
from its checkpoint; the policy's latest examples are collected again.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from iglu_marl import ConfigError, DataError
from iglu_marl.agents.learned import pov_senses as senses
from iglu_marl.agents.learned.checkpoint import save_tensors
from iglu_marl.agents.learned.imitation import HELD_OUT, LAYERS, Attempt, School, is_held_out
from iglu_marl.agents.learned.pov_builder import Knows, encode, save, words_known
from iglu_marl.agents.learned.pov_model import (
    PovModel,
    size_of,
    surprise,
)
from iglu_marl.core.files import made_folder
from iglu_marl.core.grid import Cell
from iglu_marl.language import CellEdit, render
from iglu_marl.language.templates import templates, words
from iglu_marl.rendering import Painter

# --- sentences -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _kinds_of_words() -> tuple[dict[str, int], frozenset[str], frozenset[str]]:
    data = templates()
    colors = {word: 1 + index for index, word in enumerate(data["colors"])}
    numbers = {*data["numbers"], *data["ordinals"], *map(str, range(10))}
    return colors, frozenset(numbers), frozenset({"north", "south", "east", "west"})


def wording(text: str) -> str:
    """Return a sentence without numbers, colours and directions, by which wordings are held out."""
    colors, numbers, sides = _kinds_of_words()
    slots = (
        "C" if word in colors else "N" if word in numbers else "D" if word in sides else word
        for word in words(text)
    )
    return " ".join(slots)


def is_held_out_wording(text: str) -> bool:
    """Whether the wording of a sentence is held out for tests."""
    digest = hashlib.blake2b(wording(text).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") < HELD_OUT * 2**32


class Sentences(NamedTuple):
    """Sentences, int64 [n, WORDS], and their requests: verb, before, after, x + 5, y + 1, z + 5, int64 [n, 6]."""

    sentences: npt.NDArray[np.int64]
    asked: npt.NDArray[np.int64]


def edit_sentence(rng: np.random.Generator, cell: Cell, before: int, after: int, held_out: bool) -> str:
    """Return an edit in words, in a held-out wording or in another one."""
    edit = CellEdit.between(cell, before, after)
    for _ in range(60):
        text = render(edit, rng)
        if is_held_out_wording(text) == held_out:
            return text
    raise ConfigError(f"no wording of {edit} is {'held out' if held_out else 'left to learn from'}")


def sentences_to_read(rng: np.random.Generator, count: int, held_out: bool) -> Sentences:
    """Return random edits in words, and some sentences without a request; held-out pairs match held-out wordings."""
    texts: list[str] = []
    asked: list[tuple[int, ...]] = []
    chats = [said for talk in templates()["talk"].values() for said in talk]
    while len(texts) < count:
        if not held_out and rng.random() < 0.03:
            texts.append(str(rng.choice(chats)))
            asked.append((0,) * 6)
            continue
        x, z = rng.integers(-5, 6, 2).tolist()
        y = min(7, int(rng.geometric(0.3)) - 2)
        kind = int(rng.choice(3, p=(0.45, 0.4, 0.15)))
        color, other = (rng.permutation(6)[:2] + 1).tolist()
        before, after = ((0, color), (color, 0), (color, other))[kind]
        if is_held_out((x, y, z), after or before) != held_out:
            continue
        texts.append(edit_sentence(rng, (x, y, z), before, after, held_out))
        asked.append((1 + kind, before, after, x + 5, y + 1, z + 5))
    return Sentences(encode(texts), np.array(asked, np.int64))


def _mixed(given: Sentences, rows: npt.NDArray[np.int64], rng: np.random.Generator) -> Sentences:
    """Permute colours, and mirror east-west and north-south, in random sentences."""
    colors, _, _ = _kinds_of_words()
    number = words_known()
    sentences, asked = given.sentences[rows].copy(), given.asked[rows].copy()
    n = len(rows)
    names = np.array([0, *(number[word] for word in colors)])
    order = np.concatenate([np.zeros((n, 1), int), rng.permuted(np.tile(np.arange(1, 7), (n, 1)), axis=1)], 1)
    swapped = sentences.copy()
    for color in range(1, 7):
        swapped = np.where(sentences == names[color], names[order[:, color]][:, None], swapped)
    for column in (1, 2):
        asked[:, column] = order[np.arange(n), asked[:, column]]
    for column, one, other in ((3, "east", "west"), (5, "south", "north")):
        flip = (rng.random(n) < 0.5) & (asked[:, 0] > 0)
        a, b = number[one], number[other]
        turned = np.where(swapped == a, b, np.where(swapped == b, a, swapped))
        swapped = np.where(flip[:, None], turned, swapped)
        asked[:, column] = np.where(flip, 10 - asked[:, column], asked[:, column])
    return Sentences(swapped, asked)


def reading_loss(model: PovModel, sentences: Sentences) -> torch.Tensor:
    """Return the mean cross-entropy of requests; of cells and colours only if there is a request."""
    asked = torch.from_numpy(sentences.asked)
    made = model.reader(torch.from_numpy(sentences.sentences))
    verb, *rest = (
        functional.cross_entropy(part, asked[:, at], reduction="none") for at, part in enumerate(made)
    )
    asks = (asked[:, 0] > 0).float()
    return (verb + asks * torch.stack(rest).sum(0)).mean()


# --- walks ---------------------------------------------------------------------------------------------------

PICTURES = 6  # of a walk


class Walks(NamedTuple):
    """Memory after each picture, [n, PICTURES, GROUND], and start positions, [n, 2]: float32."""

    memories: torch.Tensor
    starts: torch.Tensor


def random_walks(rng: np.random.Generator, n: int) -> Walks:
    """Return steps of n walks of a teacher: it turns to a cell, looks at it, and walks to it."""
    grids = np.zeros((n, 9, 11, 11), np.int8)
    count = rng.integers(0, 9, n)
    rows = np.repeat(np.arange(n), count)
    x, z = rng.integers(0, 11, (2, len(rows)))
    grids[rows, np.minimum(rng.geometric(0.6, len(rows)) - 1, LAYERS), x, z] = rng.integers(1, 7, len(rows))
    starts, goals = rng.uniform(-5.5, 5.5, (n, 2)), rng.integers(-5, 6, (n, 2))
    yaw = 5.0 * rng.integers(72, size=n)
    way = goals - starts
    far = np.hypot(*way.T)
    turn = 5 * np.rint(((np.degrees(np.arctan2(way[:, 0], -way[:, 1])) - yaw + 180) % 360 - 180) / 5)
    moments = np.sort(rng.uniform(-0.6, 1.0, (n, PICTURES)), 1)  # below 0 it turns
    moments[rng.random(n) < 0.5, 0] = -0.6
    poses, ways = np.zeros((n, PICTURES, 5)), np.zeros((n, PICTURES, 2), np.float32)
    bearing = np.radians(yaw + turn)
    for at, moment in enumerate(moments.T):
        turns = moment < 0
        gone = 0.25 * np.rint(np.clip(moment, 0, 1) * np.maximum(far - 1.6, -0.5) / 0.25)
        ways[:, at] = np.stack([gone * np.sin(bearing), -gone * np.cos(bearing)], 1)
        left, below = np.maximum(far - gone, 0.8), 1.25 - 0.8 * rng.integers(0, LAYERS, n)
        pitch = np.where(
            turns, 0.0, -5 * np.rint(np.degrees(np.arctan2(below, left)) / 5) + 5 * rng.integers(-1, 2, n)
        )
        pitch = np.where(rng.random(n) < 0.05, 5.0 * rng.integers(-16, 6, n), pitch)
        air = np.where(rng.random(n) < 0.12, rng.integers(0, len(senses.JUMP), n), 0)
        poses[:, at, ::2] = np.concatenate([starts + ways[:, at], pitch[:, None]], 1)
        poses[:, at, 1] = senses.EYE_Y + senses.JUMP[air]
        turned = yaw + np.where(
            turns, 5 * np.rint(turn * (moment + 0.6) / 0.6 / 5), turn + 5 * rng.integers(-1, 2, n)
        )
        poses[:, at, 3] = turned % 360.0
    flat = poses.reshape(-1, 5)
    pictures = np.empty((len(flat), senses.SIDE, senses.SIDE), np.uint8)
    scene = np.repeat(grids, PICTURES, 0), np.ascontiguousarray(flat)
    Painter().bind(*scene, (senses.SIDE, senses.SIDE), "index", pictures)(np.arange(len(flat)), 0, len(flat))
    eye_y, yaw_deg, pitch_deg = flat[:, [1, 3, 4]].T.astype(np.float32)
    seen = senses.seen_ground(pictures, yaw_deg, pitch_deg, eye_y, ways.reshape(-1, 2), int(rng.integers(2)))
    memories = seen.reshape(n, PICTURES, -1)
    for at in range(1, PICTURES):
        memories[:, at] = senses.remembered(memories[:, at - 1], memories[:, at])
    return Walks(torch.from_numpy(memories), torch.from_numpy(starts.astype(np.float32)))


# --- a run ---------------------------------------------------------------------------------------------------

CHECKPOINT, WEIGHTS, CURVE = "checkpoint.pt", "model.npz", "curve.jsonl"
GAMES = 64  # at once
GATHERED = 1000  # labels between two rounds of learning


@dataclass(frozen=True)
class PovConfig:
    """How much to learn from, and how. Everything random follows from the seed.

    sentences: different ones for the reader, which sees them in `reading_steps` batches. walks: for the localiser, of
    `PICTURES` pictures each. labels: of the teacher, for the policy; of the first `shown` of them it only looks on.
    updates: of the policy for `GATHERED` labels. memory: labels that are kept. knows: what the policy may know.
    """

    sentences: int = 8000
    reading_steps: int = 2500
    walks: int = 100_000
    labels: int = 1_500_000
    shown: int = 15_000
    updates: int = 30
    batch: int = 512
    memory: int = 400_000
    learning_rate: float = 1e-3
    knows: Knows = "pictures"
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise `ConfigError` for values out of range."""
        for name, value in asdict(self).items():
            if name != "knows" and value < (0 if name in ("seed", "shown") else 1e-9):
                raise ConfigError(f"{name} is {value!r}, expected more than 0")
        if self.knows not in get_args(Knows):
            raise ConfigError(f"knows is {self.knows!r}, expected one of {', '.join(get_args(Knows))}")


class Ring:
    """The latest rows of columns, in a ring buffer. columns: shape of an entry, and dtype."""

    def __init__(self, room: int, **columns: tuple[tuple[int, ...], Any]) -> None:
        self.columns = {name: np.zeros((room, *shape), kind) for name, (shape, kind) in columns.items()}
        self.room, self.count = room, 0

    def add(self, **parts: npt.NDArray[Any]) -> None:
        """Replace the oldest rows."""
        rows = np.arange(self.count, self.count + len(next(iter(parts.values())))) % self.room
        for name, part in parts.items():
            self.columns[name][rows] = part
        self.count += len(rows)

    def draw(self, rng: np.random.Generator, size: int) -> tuple[torch.Tensor, ...]:
        """Sample rows of all columns."""
        rows = rng.integers(0, min(self.count, self.room), size)
        drawn = (part[rows] for part in self.columns.values())
        return tuple(
            torch.from_numpy(part.astype(np.float32) if part.dtype == np.float16 else part) for part in drawn
        )


def mirrored(
    memories: torch.Tensor, starts: torch.Tensor, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Apply one of eight symmetries of the map to each: memories [n, GROUND], starts [n, 2]."""
    n = len(memories)
    reach = memories[:, : senses.REACHES].unflatten(1, (2, 2, -1))  # axis, side, what
    sine, cosine = memories[:, senses.REACHES : -1].unflatten(1, (2, 2)).unbind(2)
    for axis in range(2):
        flip = torch.from_numpy(rng.random(n) < 0.5)
        turned = reach.clone()
        turned[:, axis] = reach[:, axis].flip(1)
        reach = torch.where(flip[:, None, None, None], turned, reach)
        sign = torch.ones(n, 2)
        sign[flip, axis] = -1.0
        sine, starts = sine * sign, starts * sign
    swap = torch.from_numpy(rng.random(n) < 0.5)[:, None]
    sine, cosine, starts = (torch.where(swap, part.flip(1), part) for part in (sine, cosine, starts))
    reach = torch.where(swap[:, :, None, None], reach.flip(1), reach)
    lines = torch.stack([sine, cosine], 2).flatten(1)
    return torch.cat([reach.flatten(1), lines, memories[:, -1:]], 1), starts


class PovRun:
    """A training run in a folder; see `train`."""

    def __init__(self, folder: Path, config: PovConfig, report: Callable[[dict[str, Any]], None]) -> None:
        self.folder, self.config, self.report = folder, config, report
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.model = PovModel(2 + len(words_known()))
        self.optimizers = {
            name: torch.optim.Adam(getattr(self.model, name).parameters(), rate)
            for name, rate in (("reader", 2e-3), ("localiser", 2e-3), ("policy", config.learning_rate))
        }
        self.localises = True  # whether the localiser learns from games
        self.done = {"reading": 0, "walks": 0, "labels": 0}
        self.seconds = 0.0
        self._began = self._saved = time.monotonic()

    def _rng(self, stage: int) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, stage, *self.done.values()])

    def _learn(self, name: str, loss: torch.Tensor, progress: float) -> None:
        """Make an optimizer step, at a rate that decays to a twentieth."""
        optimizer = self.optimizers[name]
        for group in optimizer.param_groups:
            base = self.config.learning_rate if name == "policy" else 2e-3
            group["lr"] = base * max(0.05, 1 - progress)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(getattr(self.model, name).parameters(), 1.0)
        optimizer.step()

    def read(self) -> None:
        """Train the reader."""
        config, rng = self.config, self._rng(0)
        if self.done["reading"] >= config.reading_steps:
            return
        sentences = sentences_to_read(
            np.random.default_rng([config.seed, 9]), config.sentences, held_out=False
        )
        while self.done["reading"] < config.reading_steps:
            rows = rng.integers(0, len(sentences.asked), 128)
            loss = reading_loss(self.model, _mixed(sentences, rows, rng))
            self._learn("reader", loss, self.done["reading"] / config.reading_steps)
            self.done["reading"] += 1
            self._note("reading", loss)

    def walk(self) -> None:
        """Train the localiser."""
        rng = self._rng(1)
        while self.done["walks"] < self.config.walks:
            walks = random_walks(rng, 42)
            loss = surprise(self.model.localiser(walks.memories), walks.starts[:, None]).mean()
            self._learn("localiser", loss, self.done["walks"] / self.config.walks)
            self.done["walks"] += len(walks.starts)
            self._note("walks", loss)

    def imitate(self) -> None:
        """Train the policy."""
        config, rng = self.config, self._rng(2)
        features, glimpses = (senses.FEATURES,), (senses.GLIMPSES,)
        examples = Ring(
            config.memory,
            features=(features, np.float16),
            glimpses=(glimpses, np.uint8),
            colors=((), np.int64),
            labels=((), np.int64),
        )
        places = Ring(config.memory, memories=((senses.GROUND,), np.float32), starts=((2,), np.float32))
        school = School(GAMES, self.model, rng, config.knows)
        while self.done["labels"] < config.labels:
            school.alone = 0.85 * (self.done["labels"] >= config.shown)
            aim = examples.count + GATHERED
            while examples.count < aim:
                examples.add(**vars(school.round()))
                places.add(memories=school.body.memory, starts=school.body.start)
            for _ in range(config.updates):
                *seen, labels = examples.draw(rng, config.batch)
                loss = functional.cross_entropy(self.model.policy(*seen), labels)
                self._learn("policy", loss, self.done["labels"] / config.labels)
                if self.localises:
                    memories, starts = places.draw(rng, config.batch)
                    memories, starts = mirrored(memories, starts, rng)
                    self._learn("localiser", surprise(self.model.localiser(memories), starts).mean(), 0.5)
            self.done["labels"] += GATHERED
            self._note("labels", loss)

    def _note(self, stage: str, loss: torch.Tensor, every_s: float = 60.0) -> None:
        """Report and save from time to time."""
        now = time.monotonic()
        if now - self._saved >= every_s:
            self.save()
            self.report(
                {"stage": stage, **self.done, "seconds": round(self.seconds), "loss": round(loss.item(), 4)}
            )

    def save(self) -> None:
        """Write the checkpoint and the current model."""
        now = time.monotonic()
        self.seconds += now - self._began
        self._began = self._saved = now
        state = {
            "config": asdict(self.config),
            "done": self.done,
            "seconds": self.seconds,
            "model": self.model.state_dict(),
            "optimizers": {name: part.state_dict() for name, part in self.optimizers.items()},
        }
        save_tensors(state, self.folder / CHECKPOINT)
        card = {"config": asdict(self.config), "done": self.done, "seconds": round(self.seconds)}
        save(self.model, self.folder / WEIGHTS, {**card, "numbers": size_of(self.model)})

    def begin(self, model: PovModel) -> None:
        """Start with the weights of a trained reader and localiser."""
        self.model.load_state_dict(model.state_dict())
        self.done = {"reading": self.config.reading_steps, "walks": self.config.walks, "labels": 0}

    def load(self) -> None:
        """Resume from the checkpoint. Raises `DataError` if it is damaged."""
        path = self.folder / CHECKPOINT
        try:
            state = torch.load(path, weights_only=True)
            self.model.load_state_dict(state["model"])
            for name, part in self.optimizers.items():
                part.load_state_dict(state["optimizers"][name])
            self.done, self.seconds = state["done"], state["seconds"]
        except Exception as error:  # torch raises what its unpickler does for damaged or malicious files
            raise DataError(
                f"{path} is no checkpoint ({error!s:.200}); start again in another folder"
            ) from None


def train(
    folder: str | os.PathLike[str],
    config: PovConfig | None = None,
    *,
    resume: bool = False,
    begin: PovModel | None = None,
    report: Callable[[dict[str, Any]], None] = lambda row: None,
) -> PovModel:
    """Train a builder and write `model.npz` with its card to a folder; raises `ConfigError` and `DataError`.

    resume: go on from the checkpoint there, if there is one, perhaps towards larger numbers than it was begun with.
    begin: a model whose weights a new run begins with: its reader and localiser stay as they are.
    report: is called about once a minute.
    """
    torch.set_num_threads(1)
    path = made_folder(folder)
    run = PovRun(path, config or PovConfig(), report)
    if (path / CHECKPOINT).exists():
        if not resume:
            raise ConfigError(
                f"{path} holds a run already; resume it (resume=True), or choose another folder"
            )
        run.load()
    elif begin is not None:
        run.begin(begin)
    run.localises = begin is None and run.config.knows == "pictures"
    run.read()
    run.walk()
    run.imitate()
    run.save()
    return run.model.eval()


def judge(
    model: PovModel,
    episodes: int = 300,
    *,
    seed: int = 0,
    temperature: float = 0.5,
    knows: Knows = "pictures",
) -> list[Attempt]:
    """Play games on held-out pairs of cell and colour with a model alone, all at once."""
    torch.manual_seed(seed)
    school = School(
        min(episodes, 100),
        model,
        np.random.default_rng(seed),
        knows,
        teach=False,
        held_out=True,
        temperature=temperature,
        games=episodes,
    )
    while len(school.outcomes) < episodes:
        school.round()
    return school.outcomes
