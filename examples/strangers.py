"""Learn to understand strangers, or to speak to them, by reward alone: with attention, a GRU, or no memory.

    python examples/strangers.py strangers-code-v2 --memory attention --seeds 5 --output attention.json

On the levels `strangers-…`, an episode (a sitting) is ten games with a partner whose code is new. The program trains a
policy for each seed, unless its folder is there, and measures all. PPO, an update of four epochs for each 256 sittings;
the baseline is the mean return of all sittings in the same game. `none` gets the message of the game alone (in
`strangers-listen-v2`, the block), `gru` all messages and blocks up to now in order, and `attention` chooses among the
pairs of message and block that were shown. Needs the extra `rl`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import typer

from iglu_marl import Role, benchmark
from iglu_marl.benchmark import report
from iglu_marl.core.extras import extra
from iglu_marl.core.tables import markdown_table

with extra("rl", script=True):
    import torch
    from torch import nn
    from torch.nn.functional import scaled_dot_product_attention

HEADS, HEAD, GRU, WIDTH = 4, 16, 128, 128
SITTINGS, ENTROPY, EPOCHS, CLIP, MAX_NORM = 256, 0.01, 4, 0.2, 0.5
REPORT_EVERY = 50  # updates
DISCOUNTS = {"code": 0.0, "words": 0.0, "listen": 1.0}  # only what a speaker tries serves later games
PLACES, COLORS = 4, 6

Numbers = np.ndarray[Any, Any]


class Policy(nn.Module):
    """A policy for sittings side by side. Sequences have the shape [games, sittings, n]."""

    def __init__(self, space: Any, kind: str) -> None:
        super().__init__()
        self.kind, self.memory = kind, None
        asks = "message" if "message" in space.spaces else "wanted"
        self.sizes = {name: int(space[name].nvec.max()) for name in (asks, "last_message", "last_block")}
        widths = [size * len(space[name].nvec) for name, size in self.sizes.items()]
        self.asked, shown = widths[0], widths[1] + widths[2]
        if kind == "gru":
            self.gru = nn.GRU(sum(widths), GRU)
        elif kind == "attention":
            self.query, self.pairs = nn.Linear(self.asked, HEADS * HEAD), nn.Linear(shown, 2 * HEADS * HEAD)
        remembered = {"none": 0, "gru": GRU, "attention": HEADS * HEAD}[kind]
        self.hidden, self.last = nn.Linear(self.asked + remembered, WIDTH), nn.Linear(WIDTH, PLACES + COLORS)

    def inputs(self, seen: dict[str, Numbers]) -> torch.Tensor:
        """Return what is asked, and what was shown after the last game, one-hot [sittings, n]."""
        parts = [np.eye(size, dtype=np.float32)[seen[name]] for name, size in self.sizes.items()]
        return torch.from_numpy(np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1))

    def forward(self, inputs: torch.Tensor, memory: Any = None) -> tuple[torch.Tensor, Any]:
        """Return the logits of place and color, and the memory for the next games; None: a sitting begins."""
        asked, parts = inputs[..., : self.asked], [inputs[..., : self.asked]]
        if self.kind == "gru":
            hidden, memory = self.gru(inputs, memory)
            parts.append(hidden)
        elif self.kind == "attention":
            pairs, is_first = self.pairs(inputs[..., self.asked :]), memory is None
            memory = pairs if is_first else torch.cat([memory, pairs])
            query, keys, values = (
                part.unflatten(2, (HEADS, HEAD)).permute(1, 2, 0, 3)  # [sittings, heads, games, numbers]
                for part in (self.query(asked), *memory.chunk(2, dim=2))
            )
            found = scaled_dot_product_attention(query, keys, values, is_causal=is_first)
            parts.append(found.permute(2, 0, 1, 3).flatten(2))
        return self.last(torch.tanh(self.hidden(torch.cat(parts, dim=2)))), memory

    # -- as an agent of one sitting

    def reset(self, role: Role, seed: int | None) -> None:
        """Forget everything, before a new sitting."""
        self.memory = None

    @torch.no_grad()
    def act(self, seen: dict[str, Any]) -> Numbers:
        """Return the most probable action."""
        batch = {name: np.asarray(value)[None] for name, value in seen.items()}
        logits, self.memory = self(self.inputs(batch)[None], self.memory)
        return chosen_of(logits[0])[0]

    def close(self) -> None:
        """Do nothing."""


def chosen_of(logits: torch.Tensor) -> Numbers:
    """Return the largest logits of place and color."""
    parts = logits.split([PLACES, COLORS], dim=1)
    return torch.stack([part.argmax(dim=1) for part in parts], dim=1).numpy()


@torch.no_grad()
def play(env: Any, policy: Policy) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Play a sitting in each world; return inputs, actions and rewards, [games, sittings, …]."""
    rows: list[tuple[torch.Tensor, ...]] = []
    (seen, _), memory, is_over = env.reset(), None, False
    while not is_over:
        inputs = policy.inputs(seen)
        logits, memory = policy(inputs[None], memory)
        noise = -torch.empty_like(logits).exponential_().log()  # the largest sum is a sample
        actions = chosen_of((logits + noise)[0])
        seen, rewards, over, _, _ = env.step(actions)
        rows.append((inputs, torch.from_numpy(actions), torch.as_tensor(rewards, dtype=torch.float32)))
        is_over = bool(over.all())
    inputs, actions, rewards = map(torch.stack, zip(*rows, strict=True))
    return inputs, actions, rewards


def log_probs_of(logits: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return log-probabilities of actions and entropies, [games, sittings]."""
    found = torch.zeros(2, *logits.shape[:2])
    for part, chosen in zip(logits.split([PLACES, COLORS], dim=2), actions.unbind(2), strict=True):
        log_probs = part.log_softmax(dim=2)
        entropy = -(log_probs.exp() * log_probs).sum(dim=2)
        found = found + torch.stack([log_probs.gather(2, chosen[..., None])[..., 0], entropy])
    return found[0], found[1]


def learn(policy: Policy, optimizer: Any, env: Any, discount: float) -> Numbers:
    """Update the policy by a sitting in each world; return the success rate of each game."""
    inputs, actions, rewards = play(env, policy)
    returns = rewards.clone()
    for game in range(len(rewards) - 2, -1, -1):
        returns[game] += discount * returns[game + 1]
    advantages = returns - returns.mean(dim=1, keepdim=True)
    advantages /= advantages.std() + 1e-8
    before = None
    for _ in range(EPOCHS):
        log_prob, entropy = log_probs_of(policy(inputs)[0], actions)
        before = log_prob.detach() if before is None else before
        ratio = (log_prob - before).exp()
        gain = torch.min(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
        loss = -(gain + ENTROPY * entropy).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), MAX_NORM)
        optimizer.step()
    return rewards.mean(dim=1).numpy()


def train(level: str, memory: str, seed: int, games: int, rate: float, folder: Path) -> None:
    """Train a policy, and write it with its curve."""
    torch.manual_seed(seed)
    env = benchmark.make(level, "train", num_envs=SITTINGS)
    env.reset(seed=seed * SITTINGS)
    policy = Policy(env.single_observation_space, memory)
    optimizer = torch.optim.Adam(policy.parameters(), lr=rate)
    started, played, curve, rates = time.process_time(), 0, [(0, 1 / (PLACES * COLORS))], []
    while played < games:
        rates.append(learn(policy, optimizer, env, DISCOUNTS[level.split("-")[1]]))
        played += SITTINGS * len(rates[-1])
        if len(rates) == REPORT_EVERY or played >= games:
            curve.append((played, float(np.mean(rates))))
            by_number = " ".join(f"{rate:.2f}" for rate in np.mean(rates, axis=0))
            print(
                f"{played:,} games, {time.process_time() - started:.0f} CPU-seconds: {by_number}", flush=True
            )
            rates = []
    folder.mkdir(parents=True, exist_ok=True)
    seconds = round(time.process_time() - started, 1)
    row = {"games": played, "cpu_s": seconds, "curve": curve}
    (folder / "run.json").write_text(json.dumps(row) + "\n", encoding="utf-8")
    torch.save(policy.state_dict(), folder / "model.pt")


def loaded(folder: Path, memory: str) -> Callable[[Any], Policy]:
    """Return a function that makes the policy of a run for an environment."""

    def made(env: Any) -> Policy:
        policy = Policy(env.observation_space, memory)
        policy.load_state_dict(torch.load(folder / "model.pt", weights_only=True))
        return policy

    return made


def main(
    level: str,
    memory: str = "attention",
    seeds: int = 5,
    games: int = 1_000_000,
    rate: float = 2e-3,
    sittings: int = 40,
    runs: Path = Path("runs"),
    output: Path | None = None,
) -> None:
    """Train policies, and measure them on the test split and in the controls.

    level: its name. memory: "attention", "gru" or "none". seeds: number of runs, with the seeds 0, 1, …. games: of the
    training of each. rate: learning rate. sittings: with strangers of the test split, the same for all runs. runs:
    where the folders of runs are. output: the result file.
    """
    torch.set_num_threads(1)  # networks as small as these are slower on several
    options = f"--memory {memory} --seeds {seeds} --games {games} --rate {rate:g} --sittings {sittings}"
    folders = [runs / f"{level}-{memory}-{games}-{rate:g}-{seed}" for seed in range(seeds)]
    for seed, folder in enumerate(folders):
        if not (folder / "model.pt").exists():
            train(level, memory, seed, games, rate, folder)
    rows = [json.loads((folder / "run.json").read_text(encoding="utf-8")) for folder in folders]
    result = benchmark.run(
        level,
        [loaded(folder, memory) for folder in folders],
        name=memory,
        episodes=10 * sittings,
        curves=[row["curve"] for row in rows],
        budget=max(row["games"] for row in rows),
        supervision=["reward"],
        command=f"python examples/strangers.py {level} {options}",
        output=output,
        record=output is not None,
    )
    print(markdown_table(report.sitting_table([result])))
    for row, run, success in zip(rows, result.runs, result.scores(), strict=True):
        print(f"seed {run.seed}: {success:.3f}, {row['cpu_s']:.0f} CPU-seconds, {run.controls}")


if __name__ == "__main__":
    typer.run(main)
