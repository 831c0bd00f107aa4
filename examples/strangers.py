"""Learn to understand strangers, or to speak to them, by reward alone: attention, GRU or no memory.

    python examples/strangers.py train strangers-code-v2 --memory attention --seed 0
    python examples/strangers.py measure strangers-code-v2 --memory attention --seeds 5

A sitting of the levels `strangers-…` is ten games in a row with a partner whose code is new. The policy is trained by
REINFORCE, an update for each 256 sittings; the baseline is the mean reward by number of the game. `none` gets the
message (in `strangers-listen-v2`: the block) of the game alone, `gru` the sequence of those before and of what was
shown after each game, and `attention` chooses among what was shown by the message of the game.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from torch import nn
from torch.distributions import Categorical
from torch.nn.functional import one_hot

from iglu_marl import benchmark

HEADS, HEAD, GRU, WIDTH = 4, 16, 256, 128
SITTINGS, RATE, ENTROPY, REPORT_EVERY = 256, 2e-3, 0.01, 50
DISCOUNTS = {"code": 0.0, "words": 0.0, "listen": 1.0}  # only what a speaker tries serves later games
PLACES, COLORS = 4, 6

Numbers = np.ndarray[Any, Any]


class Policy(nn.Module):
    """A policy for sittings side by side, which keeps what it saw in `memory` until `begin`."""

    def __init__(self, space: Any, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.asks = "message" if "message" in space.spaces else "wanted"
        self.sizes = {name: int(space[name].nvec.max()) for name in (self.asks, "last_message", "last_block")}
        widths = {name: size * len(space[name].nvec) for name, size in self.sizes.items()}
        asked, shown = widths[self.asks], widths["last_message"] + widths["last_block"]
        remembered = {"none": 0, "gru": GRU, "attention": HEADS * HEAD}[kind]
        if kind == "gru":
            self.gru = nn.GRUCell(asked + shown, GRU)
        elif kind == "attention":
            self.query = nn.Linear(asked, HEADS * HEAD)
            self.pairs = nn.Linear(shown, 2 * HEADS * HEAD)  # keys and values
        self.hidden = nn.Linear(asked + remembered, WIDTH)
        self.last = nn.Linear(WIDTH, PLACES + COLORS)
        self.begin()

    def begin(self, count: int = 0, seed: int = 0) -> None:
        """Forget everything, before new sittings."""
        self.memory: list[torch.Tensor] = []

    def forward(self, seen: dict[str, Numbers]) -> list[Categorical]:
        """Return the distributions of place and color."""
        asked, *shown = (
            one_hot(torch.as_tensor(seen[name]), size).flatten(1).float() for name, size in self.sizes.items()
        )
        pair, parts = torch.cat(shown, dim=1), [asked]
        if self.kind == "gru":
            state = self.gru(torch.cat([asked, pair], dim=1), self.memory[0] if self.memory else None)
            self.memory = [state]
            parts.append(state)
        elif self.kind == "attention":
            self.memory.append(self.pairs(pair).unflatten(1, (2, HEADS, HEAD)))
            keys, values = torch.stack(self.memory, dim=3).unbind(1)  # [sittings, heads, games, numbers]
            query = self.query(asked).unflatten(1, (HEADS, 1, HEAD))
            weights = (query @ keys.transpose(2, 3) / HEAD**0.5).softmax(dim=-1)
            parts.append((weights @ values).flatten(1))
        logits = self.last(torch.tanh(self.hidden(torch.cat(parts, dim=1))))
        return [Categorical(logits=part, validate_args=False) for part in logits.split([PLACES, COLORS], dim=1)]

    def act(self, seen: dict[str, Numbers]) -> Numbers:
        """Return the most probable actions."""
        with torch.no_grad():
            return torch.stack([part.logits.argmax(dim=1) for part in self(seen)], dim=1).numpy()


def play(env: Any, policy: Policy) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Play a sitting in each world; return log-probabilities, entropies and rewards, [games, sittings]."""
    rows: list[tuple[torch.Tensor, ...]] = []
    seen, _ = env.reset()
    policy.begin()
    is_over = False
    while not is_over:
        parts = policy(seen)
        chosen = [part.sample() for part in parts]
        log_probs = [part.log_prob(own) for part, own in zip(parts, chosen, strict=True)]
        entropies = [part.entropy() for part in parts]
        seen, rewards, over, _, _ = env.step(torch.stack(chosen, dim=1).numpy())
        rows.append((sum(log_probs), sum(entropies), torch.as_tensor(rewards, dtype=torch.float32)))
        is_over = bool(over.all())
    log_prob, entropy, reward = map(torch.stack, zip(*rows, strict=True))
    return log_prob, entropy, reward


def learn(policy: Policy, optimizer: Any, env: Any, discount: float) -> Numbers:
    """Update the policy by a sitting in each world; return the success rate of each game."""
    log_probs, entropies, rewards = play(env, policy)
    returns = rewards.clone()
    for game in range(len(rewards) - 2, -1, -1):
        returns[game] += discount * returns[game + 1]
    advantages = returns - returns.mean(dim=1, keepdim=True)
    loss = -(advantages * log_probs + ENTROPY * entropies).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return rewards.mean(dim=1).numpy()


app = typer.Typer()


def folder_of(level: str, memory: str, seed: int, runs: Path) -> Path:
    """Return the folder of a run."""
    return runs / f"{level}-{memory}-{seed}"


@app.command()
def train(
    level: str,
    memory: str = "attention",
    seed: int = 0,
    games: int = 2_000_000,
    runs: Path = Path("runs"),
) -> None:
    """Train a policy, and write it with its curve.

    level: its name. memory: "attention", "gru" or "none". seed: of the run. games: of all sittings together. runs:
    where the folders of runs are.
    """
    torch.set_num_threads(1)  # networks as small as these are slower on several
    torch.manual_seed(seed)
    env = benchmark.make(level, "train", num_envs=SITTINGS)
    env.reset(seed=seed * SITTINGS)
    policy = Policy(env.single_observation_space, memory)
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE)
    started, played, curve, rates = time.process_time(), 0, [(0, 1 / (PLACES * COLORS))], []
    while played < games:
        rates.append(learn(policy, optimizer, env, DISCOUNTS[level.split("-")[1]]))
        played += SITTINGS * len(rates[-1])
        if len(rates) == REPORT_EVERY or played >= games:
            curve.append((played, float(np.mean(rates))))
            by_number = " ".join(f"{rate:.2f}" for rate in np.mean(rates, axis=0))
            print(f"{played:,} games, {time.process_time() - started:.0f} CPU-seconds: {by_number}", flush=True)
            rates = []
    folder = folder_of(level, memory, seed, runs)
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(policy.state_dict(), folder / "model.pt")
    seconds = round(time.process_time() - started, 1)
    row = {"level": level, "memory": memory, "seed": seed, "games": played, "cpu_s": seconds, "curve": curve}
    (folder / "run.json").write_text(json.dumps(row) + "\n", encoding="utf-8")
