"""A pair that invents a language for 252 meanings, with PPO, in one file.

    python examples/ppo_symbols.py --seed 0

The target is two blocks of three colours in two of the eight cells around the builder; only the architect sees it. It
sends five of ten symbols without meaning once. The builder has `human-level` controls, starts in one of eight
directions, and has 20 steps. A fifth of the meanings is held out.

1. `practise`: the builder alone learns to build random goals of one to three blocks.
2. `converse`: the architect learns messages, the builder goals for messages, both from the reward of the game.
   Controls: `--channel mute`, `--channel scrambled`, and `--hidden` (the architect does not see the target).
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any, NamedTuple

import numpy as np

from iglu_marl import Task
from iglu_marl.core.extras import extra
from iglu_marl.envs import VectorGame
from iglu_marl.evaluation.language_metrics import topographic_similarity

with extra("rl", script=True):
    import torch
    from torch import Tensor, nn
    from torch.distributions import Categorical
    from torch.nn.functional import mse_loss, one_hot

    from iglu_marl.agents.learned.symbols import (
        ACTIONS,
        COLORS,
        RING,
        WAIT,
        body_view,
        drawn,
        keys_of,
        satisfied,
        target_view,
    )

ARCHITECT, BUILDER = "architect_0", "builder_0"
VIEW = 82  # numbers that the builder sees


class Settings(NamedTuple):
    """Settings of a run."""

    channel: str = "open"  # or "mute", "scrambled"
    hidden: bool = False  # whether the architect sees no target
    seed: int = 0
    colors: int = 3
    symbols: int = 10
    words: int = 5
    limit: int = 20  # steps in an episode
    held_out: float = 0.2  # of the meanings
    practice_updates: int = 250
    practice_games: int = 256
    updates: int = 240
    games: int = 2048  # in an update
    epochs: int = 4
    minibatches: int = 4
    practice_rate: float = 1e-3  # learning rates; they fall linearly to 0
    rate: float = 2e-3
    discount: float = 0.95
    trace: float = 0.95  # lambda of GAE
    clip: float = 0.2
    practice_entropy: float = 0.02
    symbol_entropy: float = 0.05
    wish_entropy: float = 0.02
    every: int = 25  # updates between measurements


class Split(NamedTuple):
    """Meanings as colours of the eight cells, int [n, 8]."""

    trained: np.ndarray
    held_out: np.ndarray


def meanings(settings: Settings) -> Split:
    """Return all pairs of blocks. Held out are pairs, never a colour, a cell, or a colour in a cell."""
    found = []
    for first, second in itertools.combinations(range(len(RING)), 2):
        for colors in itertools.product(range(1, settings.colors + 1), repeat=2):
            row = np.zeros(len(RING), np.int64)
            row[[first, second]] = colors
            found.append(row)
    rows = np.stack(found)
    order = np.random.default_rng(0).permutation(len(rows))  # the same split for all seeds
    chosen = order < round(settings.held_out * len(rows))
    return Split(rows[~chosen], rows[chosen])


def task_of(colors: np.ndarray) -> Task:
    """Return the task of some colours in the eight cells, at that place."""
    blocks = [(x, -1, z, int(color)) for (x, z), color in zip(RING, colors, strict=True) if color]
    return Task("", blocks, invariant=False)


class Games:
    """A batch of games that start and end together."""

    def __init__(self, settings: Settings, count: int, seed: int, wrong_scale: float = 0.1) -> None:
        self.settings, self.count = settings, count
        self.rng = np.random.default_rng(seed)
        self.tasks: dict[bytes, Task] = {}
        self.env = VectorGame(
            count,
            tasks=task_of(np.eye(8, dtype=np.int64)[0]),
            controls="human-level",
            select_and_place=True,
            vocabulary=settings.symbols,
            max_message_length=settings.words,
            dialog_length=settings.words + 1,  # a mark and one message
            architect_sees=("target_grid",),
            builder_sees=("grid", "pose", "dialog"),
            max_steps=settings.limit + 1,
            max_turns=settings.limit + 1,
            completion_reward=2.0,
            wrong_scale=wrong_scale,
            autoreset_mode="SameStep",
        )
        self.silence = np.zeros((count, settings.words), np.int64)

    def begin(self, wanted: np.ndarray, lowest: int = 0) -> None:
        """Start games for meanings int [games, 8], in random directions, down to `lowest` times 15 degrees."""
        tasks = [self.tasks.setdefault(row.tobytes(), task_of(row)) for row in wanted]
        poses = np.zeros((self.count, 5))
        poses[:, 3] = 45.0 * self.rng.integers(8, size=self.count)
        poses[:, 4] = -15.0 * self.rng.integers(lowest + 1, size=self.count)
        seen, _ = self.env.reset(seed=0, options={"task": tasks, "pose": poses})
        self.running = np.ones(self.count, bool)
        self._look(seen)

    def step(self, actions: np.ndarray, said: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Step with actions [games] and messages [games, words] (0 = nothing); return rewards and completions."""
        acts = {ARCHITECT: self.silence if said is None else said, BUILDER: self._acts(actions)}
        seen, rewards, done, cut, _ = self.env.step(acts)
        paid = np.where(self.running, rewards[BUILDER], 0.0)
        completed = self.running & done[BUILDER]
        self.running &= ~(done[BUILDER] | cut[BUILDER])
        self._look(seen)
        return paid, completed

    def _acts(self, actions: np.ndarray) -> Any:
        return keys_of(actions, self.env.action_space(BUILDER).spaces)

    def _look(self, seen: dict[str, Any]) -> None:
        own = seen[BUILDER]
        self.pose, self.grid = own["agentPos"], own["grid"]
        self.heard, self.target = own["dialog"][:, 1:].astype(np.int64), seen[ARCHITECT]["target_grid"]


def network(inputs: int, outputs: int, scale: float, hidden: int = 128) -> nn.Sequential:
    """Return two hidden layers and an output layer. scale: gain of the last."""
    layers = [nn.Linear(inputs, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, outputs)]
    for layer, gain in zip(layers, (2**0.5, 2**0.5, scale), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


class Pair(nn.Module):
    """Architect (`speak`) and builder (`listen`, `act`), with the critics of both stages."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.act = network(VIEW, len(ACTIONS), 0.01, hidden=64)
        self.practice_value = network(VIEW, 1, 1.0, hidden=64)
        self.speak = network(len(RING) * COLORS, settings.words * settings.symbols, 0.01)
        self.listen = network(settings.words * settings.symbols, len(RING) * (settings.colors + 1), 0.01)
        self.value = network(len(RING) * COLORS, 1, 1.0)  # of both: it sees the target
        with torch.no_grad():  # an untrained pair wishes for few blocks
            self.listen[-1].bias.view(len(RING), -1)[:, 0] = 2.0

    def message(self, seen: Tensor) -> Categorical:
        """Return distributions over the symbols, [games, words]."""
        return Categorical(logits=self.speak(seen).view(-1, self.settings.words, self.settings.symbols))

    def wish(self, heard: Tensor) -> Categorical:
        """Return distributions over nothing and the colours, [games, 8]. heard: int [games, words], 0 = nothing."""
        symbols = one_hot(heard, self.settings.symbols + 1)[..., 1:].flatten(1).float()
        return Categorical(logits=self.listen(symbols).view(len(heard), len(RING), -1))

    def action(self, seen: Tensor) -> Categorical:
        """Return distributions over the actions of the builder, [games]."""
        return Categorical(logits=self.act(seen))


def surrogate(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return the clipped loss of PPO, with normalised advantages."""
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    return -torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def learn(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([part for group in optimizer.param_groups for part in group["params"]], 0.5)
    optimizer.step()


# ------------------------------------------------------------------------------------------------- 1. practice


def own_wishes(rng: np.random.Generator, count: int, colors: int) -> np.ndarray:
    """Return one to three blocks in the eight cells, int [count, 8]."""
    order = rng.random((count, 8)).argsort(1).argsort(1)
    return np.where(order < rng.integers(1, 4, (count, 1)), rng.integers(1, colors + 1, (count, 8)), 0)


def practise(pair: Pair, settings: Settings, report: bool = True) -> list[float]:
    """Train the builder on its own goals, and return the share completed by update."""
    games = Games(settings, settings.practice_games, settings.seed + 1, wrong_scale=0.05)
    optimizer = torch.optim.Adam(
        [*pair.act.parameters(), *pair.practice_value.parameters()], settings.practice_rate, eps=1e-5
    )
    curve = []
    for number in range(settings.practice_updates):
        left = 1 - number / settings.practice_updates
        optimizer.param_groups[0]["lr"] = settings.practice_rate * left
        wish = own_wishes(games.rng, games.count, settings.colors)
        games.begin(wish, lowest=4)  # so that it often sees the ground
        rows, completed = [], np.zeros(games.count, bool)
        for _ in range(settings.limit):
            seen, running = torch.as_tensor(body_view(games.pose, games.grid, wish)), games.running.copy()
            with torch.no_grad():
                choice, worth = pair.action(seen), pair.practice_value(seen)[:, 0]
                actions = choice.sample()
                rewards, done = games.step(actions.numpy())
            completed |= done
            paid = torch.as_tensor(rewards, dtype=torch.float32)
            rows.append((seen, actions, choice.log_prob(actions), worth, paid, torch.as_tensor(running)))
        curve.append(float(completed.mean()))
        seen, actions, logs, worth, paid, running = (torch.stack(part) for part in zip(*rows, strict=True))
        gain, ahead = torch.zeros_like(worth), torch.zeros(games.count)
        for t in reversed(range(len(rows))):
            goes_on = running[t + 1].float() if t + 1 < len(rows) else torch.zeros(games.count)
            following = worth[t + 1] if t + 1 < len(rows) else 0.0
            error = paid[t] + settings.discount * following * goes_on - worth[t]
            gain[t] = ahead = error + settings.discount * settings.trace * goes_on * ahead
        use = running.flatten()
        flat = [part.flatten(0, 1)[use] for part in (seen, actions, logs, gain, gain + worth)]
        for _ in range(settings.epochs):
            for part in torch.randperm(len(flat[0])).chunk(settings.minibatches):
                view, acts, old, gains, returns = (column[part] for column in flat)
                choice = pair.action(view)
                ratio = (choice.log_prob(acts) - old).exp()
                loss = surrogate(ratio, gains, settings.clip)
                loss = loss - left * settings.practice_entropy * choice.entropy().mean()
                learn(optimizer, loss + 0.5 * mse_loss(pair.practice_value(view)[:, 0], returns))
        if report and (number + 1) % settings.every == 0:
            print(f"practice {number + 1:>4}  completed {curve[-1]:.3f}", flush=True)
    return curve


# --------------------------------------------------------------------------------------------- 2. conversation


def carried(messages: np.ndarray, channel: str, rng: np.random.Generator) -> np.ndarray:
    """Return messages as the channel transmits them, as token ids; 0 is silence."""
    if channel == "scrambled":  # every builder hears the architect of another game
        return np.roll(messages, rng.integers(1, len(messages)), axis=0) + 1
    return np.zeros_like(messages) if channel == "mute" else messages + 1


class Talk(NamedTuple):
    """Observations, messages, goals and rewards of games, [games, ...]."""

    seen: Tensor
    messages: Tensor
    heard: Tensor
    wishes: Tensor
    log_speak: Tensor
    log_wish: Tensor
    rewards: Tensor
    completed: Tensor


@torch.no_grad()
def play(
    pair: Pair,
    games: Games,
    wanted: np.ndarray,
    *,
    greedy: bool = False,
) -> Talk:
    """One game for each meaning.

    greedy: they say and wish what they think best; what the body does is drawn all the same.
    """
    s = games.settings
    games.begin(wanted)
    seen = torch.as_tensor(target_view(games.target)) * (not s.hidden)
    speech = pair.message(seen)
    messages = speech.logits.argmax(-1) if greedy else speech.sample()
    rewards, completed = games.step(
        np.full(games.count, WAIT), carried(messages.numpy(), s.channel, games.rng)
    )
    heard = torch.as_tensor(games.heard)
    hoped = pair.wish(heard)
    wishes = hoped.logits.argmax(-1) if greedy else hoped.sample()
    wish = wishes.numpy()
    for _ in range(s.limit):
        busy = np.flatnonzero(games.running & ~satisfied(games.grid, wish))
        if not len(busy):
            break  # all games wait
        actions = np.full(games.count, WAIT)
        own = torch.as_tensor(body_view(games.pose[busy], games.grid[busy], wish[busy]))
        actions[busy] = drawn(pair.act(own).numpy(), games.rng)
        paid, done = games.step(actions)
        rewards, completed = rewards + paid, completed | done
    return Talk(
        seen,
        messages,
        heard,
        wishes,
        speech.log_prob(messages).sum(1),
        hoped.log_prob(wishes).sum(1),
        torch.as_tensor(rewards, dtype=torch.float32),
        torch.as_tensor(completed),
    )


def success(pair: Pair, settings: Settings, wanted: np.ndarray, seed: int = 1) -> float:
    """Return the share of completed meanings with greedy messages and goals."""
    games = Games(settings, len(wanted), seed)
    order = games.rng.permutation(len(wanted))
    return float(play(pair, games, wanted[order], greedy=True).completed.float().mean())


def converse(pair: Pair, settings: Settings, report: bool = True) -> list[tuple[int, float, float]]:
    """Train both agents. Return rows (games, share of trained and of held-out meanings completed)."""
    s, split = settings, meanings(settings)
    games = Games(s, s.games, s.seed + 2)
    optimizer = torch.optim.Adam(
        [*pair.speak.parameters(), *pair.listen.parameters(), *pair.value.parameters()], s.rate, eps=1e-5
    )
    curve, began = [], time.perf_counter()
    for number in range(s.updates):
        left = 1 - number / s.updates
        optimizer.param_groups[0]["lr"] = s.rate * left
        data = play(pair, games, split.trained[games.rng.integers(len(split.trained), size=s.games)])
        gain = data.rewards - pair.value(data.seen)[:, 0].detach()
        for _ in range(s.epochs):
            for rows in torch.randperm(s.games).chunk(s.minibatches):
                speech, hoped = pair.message(data.seen[rows]), pair.wish(data.heard[rows])
                ratio_speak = (speech.log_prob(data.messages[rows]).sum(1) - data.log_speak[rows]).exp()
                ratio_wish = (hoped.log_prob(data.wishes[rows]).sum(1) - data.log_wish[rows]).exp()
                loss = surrogate(ratio_speak, gain[rows], s.clip) + surrogate(ratio_wish, gain[rows], s.clip)
                bonus = s.symbol_entropy * speech.entropy().sum(1) + s.wish_entropy * hoped.entropy().sum(1)
                loss = loss - left * bonus.mean()
                learn(optimizer, loss + 0.5 * mse_loss(pair.value(data.seen[rows])[:, 0], data.rewards[rows]))
        if (number + 1) % s.every == 0 or number + 1 == s.updates:
            shares = [success(pair, s, part) for part in split]
            curve.append(((number + 1) * s.games, *shares))
            if report:
                minutes = (time.perf_counter() - began) / 60
                print(
                    f"{curve[-1][0]:>9,} games  trained {shares[0]:.3f}  held out {shares[1]:.3f}  {minutes:.1f} min",
                    flush=True,
                )
    return curve


def train(settings: Settings, report: bool = True) -> tuple[Pair, list[Any]]:
    """Return a pair and its curve."""
    torch.manual_seed(settings.seed)
    pair = Pair(settings)
    practise(pair, settings, report)
    return pair, converse(pair, settings, report)


def similarity(pair: Pair, settings: Settings) -> float:
    """Return the topographic similarity of the likeliest messages: whether near meanings have near messages."""
    rows = np.concatenate(meanings(settings))
    with torch.no_grad():
        speech = pair.message(
            torch.as_tensor(target_view(np.stack([task_of(row).target_grid for row in rows])))
        )
    cells = np.nonzero(rows)[1].reshape(-1, 2)
    meant = np.stack([cells, np.take_along_axis(rows, cells, axis=1)], axis=2).reshape(len(rows), 4)
    return topographic_similarity(meant, speech.logits.argmax(-1).numpy(), resamples=1).value


def main(**options: Any) -> float:
    """Train a pair and report how many meanings it completes, eight times each, also without its messages."""
    torch.set_num_threads(1)
    settings = Settings(**options)
    pair, _ = train(settings)
    split = {name: np.repeat(rows, 8, axis=0) for name, rows in meanings(settings)._asdict().items()}
    found = {name: success(pair, settings, rows) for name, rows in split.items()}
    for channel in ("mute", "scrambled"):
        found[f"trained, {channel}"] = success(pair, settings._replace(channel=channel), split["trained"])
    found["topographic similarity"] = similarity(pair, settings)
    print(", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in found.items()))
    return found["trained"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.set_defaults(**Settings()._asdict())
    parser.add_argument("--channel", choices=("open", "mute", "scrambled"))
    parser.add_argument("--hidden", action="store_true")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--practice-updates", type=int)
    parser.add_argument("--updates", type=int)
    parser.add_argument("--games", type=int, help="in an update")
    main(**vars(parser.parse_args()))
