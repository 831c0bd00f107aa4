"""Agents that speak of single blocks, on levels of the benchmark; the planner walks.

    python examples/block_reader.py --level pictures-structures-v1
    python examples/block_reader.py --level symbols-walk-v1 --games 1000

Words: linear classifiers find layer, x, z and colour in a message by its words and their sequences. They learn from
what architects ask for in worlds where random blocks of targets of the training split are missing or wrong. In teams,
architects ask for single blocks. Symbols: the architect's network names a block, the builder's network finds the block
of a name. Both learn together from the blocks of the training split, without playing, through samples with gradients
(Jang et al., Categorical Reparameterization with Gumbel-Softmax, 2017). Needs the extra `rl`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer

from iglu_marl import Role, Task, benchmark
from iglu_marl.agents.learned.builder import LearnedBuilder
from iglu_marl.agents.registry import factory
from iglu_marl.agents.settings import Settings
from iglu_marl.agents.team import TeamArchitect, TeamBuilder, requests
from iglu_marl.benchmark.games import reference_env
from iglu_marl.benchmark.report import markdown
from iglu_marl.benchmark.splits import SplitName, some_of
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import Cell, index_of
from iglu_marl.data.situations import Situation
from iglu_marl.language import CellEdit, parse
from iglu_marl.planning.ordering import order_edits

with extra("rl", script=True):
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy, gumbel_softmax, one_hot

NOTHING = 7  # after 0, air, and six colours: nothing is asked for
SIZES = (9, 11, 11, 8)  # layer, x, z, and what is asked for there
BATCH, RATE = 256, 1e-2
LONGEST, WORLDS, UPDATES, DECAY = 4, 8, 2000, 1e-4  # words of a sequence; worlds of a task
BLOCKS, TRIES, CODE_UPDATES, HIDDEN = (
    2,
    200,
    3000,
    64,
)  # blocks of a message; names of a block that are considered
Block = tuple[Cell, int]  # and what is asked for there


def rows_of(blocks: Sequence[Block]) -> torch.Tensor:
    """Return layer, x, z and what is asked for, int64 [n, 4]."""
    return torch.tensor([(*index_of(cell), asked) for cell, asked in blocks])


def blocks_of(scores: Sequence[torch.Tensor]) -> list[Block]:
    """Return the blocks with the highest scores of layer, x, z and what is asked for."""
    found = torch.stack([part.argmax(1) for part in scores], 1).tolist()
    return [((x - 5, y - 1, z - 5), asked) for y, x, z, asked in found]


# ------------------------------------------------------------------------------------------------------------ words


def spoiled(target: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a target without a random part of its blocks, and often with a wrong one."""
    grid = np.where(rng.random(target.shape) < rng.random(), target, 0).astype(np.int8)
    if rng.random() < 0.5:
        cells = np.argwhere(target)
        place = cells[rng.integers(len(cells))] + (rng.random() < 0.5) * np.eye(3, dtype=int)[rng.integers(3)]
        grid[tuple(np.minimum(place, (8, 10, 10)))] = rng.integers(1, 7)
    return grid


def messages(level: benchmark.Level, split: SplitName, games: int, seed: int) -> Iterator[tuple[str, Block]]:
    """Yield messages of the level's architects in that split, and what they ask for."""
    env, rng = reference_env(level, split), np.random.default_rng(seed)
    env.unwrapped.setup.check = lambda task: task  # what is said of a complete structure is learned, too
    settings = Settings.in_words(env, "builder")
    names = level.architects.get(split, ("scripted",))
    architects = [] if level.is_team else [factory(name, Role.ARCHITECT)(env) for name in names]
    for number, task in enumerate(some_of(level.tasks(split), games, seed)):
        target = task.in_ids("iglu").target_grid
        for _ in range(WORLDS):
            grid = spoiled(target, rng)
            if level.is_team:
                wrong = np.argwhere(grid != target)
                place = tuple(wrong[rng.integers(len(wrong))]) if len(wrong) else (0, 0, 0)
                one = grid.copy()
                one[place] = target[place]
                for text, (cell,) in requests(settings, grid, one):
                    yield text, (cell, int(target[index_of(cell)]))
                continue
            architect = architects[number % len(architects)]
            architect.reset(Role.ARCHITECT, int(rng.integers(2**31)))
            seen, _ = env.reset(options={"task": Task("", target, starting_grid=grid, ids="iglu")})
            for _ in range(2):  # a greeting may come first
                said = architect.act(seen["architect_0"])
                text = said if isinstance(said, str) else settings.codec.decode(said)
                found = parse(text)
                if isinstance(found, CellEdit):
                    yield text, (found.cell, found.after)
                elif text:
                    yield text, ((0, 0, 0), NOTHING)


def sequences(text: str) -> list[str]:
    """Return the sequences of 1 to `LONGEST` words of a text, with its end."""
    words = [*re.findall(r"\w+", text.lower()), "."]
    ends = range(1, len(words) + 1)
    return [" ".join(words[first:end]) for end in ends for first in range(max(0, end - LONGEST), end)]


class Reader(nn.Module):
    """Linear classifiers of the word sequences of a message. known: sequences by number."""

    def __init__(self, known: dict[str, int]) -> None:
        super().__init__()
        self.known, self.table = known, nn.EmbeddingBag(len(known), sum(SIZES), mode="sum")
        nn.init.zeros_(self.table.weight)

    def forward(self, texts: list[list[int]]) -> tuple[torch.Tensor, ...]:
        """Return scores of layer, x, z and what is asked for, of texts as numbers of sequences."""
        starts = np.cumsum([0, *map(len, texts)])[:-1]
        numbers = torch.tensor([one for text in texts for one in text], dtype=torch.int64)
        return self.table(numbers, torch.tensor(starts)).split(SIZES, 1)

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the known sequences of a text."""
        return [self.known[one] for one in sequences(text) if one in self.known]

    @torch.no_grad()
    def read(self, text: str) -> list[Block]:
        """Return the block that a text asks for, if any."""
        return [block for block in blocks_of(self([self.numbers(text)])) if block[1] != NOTHING]


def train_reader(level: benchmark.Level, games: int, seed: int) -> Reader:
    """Return the reader of a run, and show how much of the validation split it reads."""
    torch.manual_seed(seed)
    level = level.fold(seed)
    shown = [*messages(level, "train", games, seed)]
    known = {one: None for text, _ in shown for one in sequences(text)}
    reader = Reader({one: number for number, one in enumerate(known)})
    texts, rights = [reader.numbers(text) for text, _ in shown], rows_of([block for _, block in shown])
    optimizer = torch.optim.AdamW(reader.parameters(), RATE, weight_decay=DECAY)
    for _ in range(UPDATES):
        chosen = torch.randint(len(texts), (BATCH,))
        right, asks = rights[chosen], rights[chosen][:, 3] != NOTHING
        *places, asked = reader([texts[one] for one in chosen])
        loss = cross_entropy(asked, right[:, 3])
        for scores, place in zip(places, right.T, strict=False):
            loss = loss + cross_entropy(scores[asks], place[asks])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    checked = [*messages(level, "validation", max(1, games // 10), seed)]
    share = np.mean([reader.read(text) == [block] * (block[1] != NOTHING) for text, block in checked])
    print(f"seed {seed}: reads {share:.1%} of {len(checked)} messages of the validation split", flush=True)
    return reader


class BlockByBlock(TeamArchitect):
    """An architect of a team that asks for single blocks."""

    block_by_block = True


def in_team(reader: Reader) -> Any:
    """Return what makes the builders of a team."""

    class ReadingBuilder(TeamBuilder):
        block_by_block, reads = True, ""  # and says no words that the reader does not know

        def _read(self, text: str, goal: np.ndarray) -> dict[Cell, int]:
            return dict(reader.read(text))

    return ReadingBuilder


# ---------------------------------------------------------------------------------------------------------- symbols


class Code(nn.Module):
    """Names blocks by `length` of `symbols` symbols, and finds the blocks of names."""

    def __init__(self, length: int, symbols: int) -> None:
        super().__init__()
        self.shape = (length, symbols)
        self.speak = nn.Sequential(
            nn.Linear(sum(SIZES), HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, length * symbols)
        )
        self.hear = nn.Linear(length * symbols, sum(SIZES))

    def scores(self, rows: torch.Tensor) -> torch.Tensor:
        """Return scores of the symbols of blocks, [n, length, symbols]."""
        parts = [one_hot(part, size) for part, size in zip(rows.T, SIZES, strict=True)]
        return self.speak(torch.cat(parts, 1).float()).unflatten(1, self.shape)

    def heard(self, said: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return scores of layer, x, z and colour for symbols, one-hot [n, length, symbols]."""
        return self.hear(said.flatten(1)).split(SIZES, 1)

    def found(self, names: torch.Tensor) -> list[Block]:
        """Return the blocks of names, int64 [n, length]."""
        return blocks_of(self.heard(one_hot(names, self.shape[1]).float()))

    @torch.no_grad()
    def say(self, blocks: Sequence[Block]) -> list[int]:
        """Return the symbols of blocks, from 1: of each the likeliest, or a drawn name that is understood."""
        said: list[int] = []
        for block, row in zip(blocks, rows_of(blocks), strict=True):
            noise = torch.rand((TRIES, *self.shape), generator=torch.Generator().manual_seed(0))
            noise[0] = 0.5  # the same for all symbols
            names = (self.scores(row[None]) - (-noise.log()).log()).argmax(2)
            right = [found == block for found in self.found(names)]
            said += (names[right.index(True) if any(right) else 0] + 1).tolist()
        return said

    @torch.no_grad()
    def read(self, text: str) -> list[Block]:
        """Return the blocks of a message, such as "s3 s1 s12 s7"."""
        symbols = [int(symbol[1:]) - 1 for symbol in text.split()]
        length = self.shape[0]
        return self.found(torch.tensor(symbols[: len(symbols) // length * length]).reshape(-1, length))


def in_order(target: np.ndarray) -> list[Block]:
    """Return the blocks of a target in an order in which it can be built."""
    return [(edit.cell, edit.color) for edit in order_edits(np.zeros_like(target), target)]


def train_code(level: benchmark.Level, games: int, seed: int) -> Code:
    """Return the code of a run, and show how many blocks of the validation split it can say."""
    torch.manual_seed(seed)
    level = level.fold(seed)
    known, new = (
        {one: None for task in some_of(level.tasks(split), games, seed) for one in in_order(task.target_grid)}
        for split in ("train", "validation")
    )
    rows = rows_of([*known])
    code = Code(level.game["max_message_length"] // BLOCKS, level.game["vocabulary"])
    optimizer = torch.optim.Adam(code.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, CODE_UPDATES)
    for number in range(CODE_UPDATES):
        part = rows[torch.randint(len(rows), (BATCH,))]
        scores = code.scores(part)
        heard = code.heard(gumbel_softmax(scores, tau=max(0.5, 2 - 3 * number / CODE_UPDATES), hard=True))
        used = scores.softmax(2).mean(0)  # all symbols alike, or several meanings share one
        loss = (used * used.clamp_min(1e-9).log()).sum()
        loss += sum(cross_entropy(found, right) for found, right in zip(heard, part.T, strict=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    share = np.mean([code.read("s" + " s".join(map(str, code.say([block])))) == [block] for block in new])
    print(f"seed {seed}: says {share:.1%} of {len(new)} blocks of the validation split", flush=True)
    return code


class Speaker:
    """An architect that names the next blocks of the target, when those that it named are there.

    One that does not see the build names the first ones.
    """

    def __init__(self, code: Code, env: Any) -> None:
        self._code, self._length = code, env.unwrapped.config.max_message_length

    def reset(self, role: Any, seed: int | None) -> None:
        """Begin with the first blocks."""
        self._left: list[Block] | None = None
        self._named: list[Block] = []

    def act(self, observation: Any) -> Any:
        """Return the symbols of the next blocks; zeros: nothing."""
        if self._left is None:
            self._left = in_order(np.asarray(observation["target_grid"], np.int8))
        tokens, grid = np.zeros(self._length, np.int64), observation.get("grid")
        there = grid is not None and all(grid[index_of(cell)] == color for cell, color in self._named)
        if self._left and (there or not self._named):
            self._named, self._left = self._left[:BLOCKS], self._left[BLOCKS:]
            said = self._code.say(self._named)
            tokens[: len(said)] = said
        return tokens

    def close(self) -> None:
        """Do nothing."""


# -------------------------------------------------------------------------------------------------------------- both


class BlockBuilder(LearnedBuilder):
    """A builder that does what is asked about blocks. Where it sees only pictures, it counts its steps."""

    reads = "anything"


def builder(read: Callable[[str], list[Block]], env: Any) -> BlockBuilder:
    """Return the builder that reads so, for an environment."""

    def after(now: Situation) -> np.ndarray:
        grid = now.grid.copy()
        for said in now.dialogue[now.new_from :]:
            for cell, asked in read(said.text) if said.role is Role.ARCHITECT else ():
                grid[index_of(cell)] = asked
        return grid

    return BlockBuilder.for_env(env, model=after, counts_steps=True)


def main(
    level: str = "pictures-structures-v1",
    games: int = 500,
    seeds: int = 5,
    episodes: int = 20,
    output: Path | None = None,
) -> benchmark.Result:
    """Train for each seed, measure all runs on the test split, and show the report.

    games: tasks of the training split. episodes: test games per run. output: the result file.
    """
    chosen = benchmark.find(level)
    agents: list[Any] = []
    for seed in range(seeds):
        if "vocabulary" in chosen.game:
            code = train_code(chosen, games, seed)
            agents.append((partial(Speaker, code), partial(builder, code.read)))
            continue
        reader = train_reader(chosen, games, seed)
        agents.append((BlockByBlock, in_team(reader)) if chosen.is_team else partial(builder, reader.read))
    result = benchmark.run(
        chosen,
        agents,
        name="code of blocks, planner" if "vocabulary" in chosen.game else "linear reader, planner",
        episodes=episodes,
        command=f"examples/block_reader.py --level {level} --games {games} --seeds {seeds} --episodes {episodes}",
        output=output,
        record=output is not None,
    )
    print(markdown([result]))
    return result


if __name__ == "__main__":
    typer.run(main)
