"""PPO for both agents with token chat, in one file: architect and builder invent a code.

    python examples/ppo_two_agents.py --critic shared --seed 0
    python examples/ppo_two_agents.py --critic independent

The target is one block of six colours in one of four cells around the builder; only the architect sees it. The
architect sends two symbols without meaning once, and the builder has four steps to look, place and break. Both get
the same reward and have separate networks. `--critic independent` learns a value from each observation, `--critic
shared` one from `state()`. Controls: `--channel mute`, and `--channel scrambled` (messages of another game).
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

from iglu_marl import Task
from iglu_marl.core.extras import extra
from iglu_marl.envs import VectorGame

with extra("rl", script=True):
    import torch
    from torch import Tensor, nn
    from torch.distributions import Categorical
    from torch.nn.functional import mse_loss, one_hot

ARCHITECT, BUILDER = "architect_0", "builder_0"
CELLS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}  # x, z
COLORS = ("blue", "yellow", "green", "orange", "purple", "red")  # ids 1..6
# What a builder can do in a step: LOOK + i looks at the i-th of CELLS, PLACE + i places COLORS[i] there.
WAIT, BREAK, LOOK, PLACE = 0, 1, 2, 6
NEAR = (slice(None), 0, slice(4, 7), slice(4, 7))  # the 3 x 3 cells on the ground around the builder
PITCH = -45.0  # degrees: a look at the next cell


class Settings(NamedTuple):
    """Settings of a run."""

    critic: str = "shared"  # or "independent"
    channel: str = "open"  # or "mute", "scrambled"
    seed: int = 0
    colors: int = 6
    places: int = 4
    symbols: int = 8
    words: int = 2
    limit: int = 4  # steps in an episode
    total_steps: int = 500_000
    games: int = 256
    rollout: int = 8
    epochs: int = 4
    minibatches: int = 4
    learning_rate: float = 3e-3
    discount: float = 0.99
    trace: float = 0.95  # lambda of GAE
    clip: float = 0.2
    architect_entropy: float = 0.05
    builder_entropy: float = 0.1
    every: int = 20  # updates between measurements


def meanings(settings: Settings) -> list[Task]:
    """Return all tasks, colours within places."""
    cells = list(CELLS.items())[: settings.places]
    return [
        Task("", [(x, -1, z, color)], invariant=False, task_id=f"{COLORS[color - 1]} {name}")
        for name, (x, z) in cells
        for color in range(1, settings.colors + 1)
    ]


class Views(NamedTuple):
    """Inputs of the networks, float32 [games, n]."""

    architect: Tensor
    builder: Tensor
    state: Tensor


class Games:
    """A batch of games as arrays. columns: columns of `state()` for a shared critic."""

    def __init__(self, settings: Settings, count: int, seed: int, columns: Tensor | None = None) -> None:
        self.settings, self.count, self.columns = settings, count, columns
        self.rng = np.random.default_rng(seed)
        self.env = VectorGame(
            count,
            tasks=meanings(settings),
            controls="discrete",
            select_and_place=True,
            vocabulary=settings.symbols,
            max_message_length=settings.words,
            dialog_length=settings.words + 1,  # a mark and one message
            architect_sees=("target_grid",),
            builder_sees=("grid", "pose", "dialog"),
            max_steps=settings.limit,
            max_turns=settings.limit,
            wrong_scale=0.05,  # so little that a builder which knows nothing yet still dares to place
            autoreset_mode="SameStep",
        )
        self.idle = {
            key: np.zeros((count, *space.shape), space.dtype)
            for key, space in self.env.action_space(BUILDER).spaces.items()
        }
        self.actions = PLACE + settings.colors

    def reset(self, seed: int | None = None, tasks: list[Task] | None = None) -> Views:
        """Start all games. tasks: one per game instead of random ones."""
        self.clock = np.zeros(self.count, np.int64)
        observations, _ = self.env.reset(seed=seed, options=None if tasks is None else {"task": tasks})
        return self.views(observations)

    def step(self, messages: Tensor, actions: Tensor) -> tuple[Views, Tensor, Tensor, Tensor]:
        """Step with messages [games, words] from 0 and actions [games]; return views, rewards, successes, ends."""
        said = {ARCHITECT: self.carried(messages.numpy()), BUILDER: self.keys(actions.numpy())}
        observations, rewards, terminated, truncated, _ = self.env.step(said)
        over = terminated[BUILDER] | truncated[BUILDER]
        self.clock = np.where(over, 0, self.clock + 1)
        paid = torch.as_tensor(rewards[BUILDER], dtype=torch.float32)
        return self.views(observations), paid, torch.as_tensor(terminated[BUILDER]), torch.as_tensor(over)

    @property
    def speaking(self) -> Tensor:
        """Whether the architect speaks now, in the first step of a game; bool [games]."""
        return torch.as_tensor(self.clock == 0)

    def carried(self, messages: np.ndarray) -> np.ndarray:
        """Return messages as the channel transmits them, as token ids; 0 is silence."""
        tokens = messages + 1
        if self.settings.channel == "scrambled":  # every builder hears the architect of another game
            tokens = np.roll(tokens, self.rng.integers(1, self.count), axis=0)
        heard = (self.clock == 0) & (self.settings.channel != "mute")
        return tokens * heard[:, None]

    def keys(self, actions: np.ndarray) -> dict[str, np.ndarray]:
        """Return actions as keys and camera of the `discrete` controls."""
        camera = np.zeros((self.count, 2), np.float32)
        looks = (actions >= LOOK) & (actions < PLACE)
        camera[:, 0] = np.where(looks, (90.0 * (actions - LOOK) - self.yaw + 180.0) % 360.0 - 180.0, 0.0)
        camera[:, 1] = PITCH - self.pitch
        hotbar = np.where(actions >= PLACE, actions - PLACE + 1, 0)
        return {
            **self.idle,
            "camera": camera,
            "attack": (actions == BREAK).astype(np.int64),
            "hotbar": hotbar,
        }

    def views(self, observations: dict[str, Any]) -> Views:
        """Return the inputs of the networks."""
        seen, target = observations[BUILDER], observations[ARCHITECT]["target_grid"]
        self.pitch, self.yaw = seen["agentPos"][:, 3:].T
        facing = one_hot(torch.as_tensor(self.yaw / 90.0).round().long() % 4, 4)
        heard = one_hot(torch.as_tensor(seen["dialog"][:, 1:]).long(), self.settings.symbols + 1)
        builder = torch.cat([facing, heard.flatten(1), blocks(seen["grid"])], dim=1)
        whole = torch.zeros(self.count, 0)
        if self.columns is not None:
            whole = torch.as_tensor(self.env.state()[:, self.columns])
        return Views(blocks(target).float(), builder.float(), whole)


def blocks(grid: np.ndarray) -> Tensor:
    """Return which of the 9 cells around the builder are filled, and which of the 6 colours occur, [games, 15]."""
    near = torch.as_tensor(grid[NEAR]).long().flatten(1)
    colors = one_hot(near, len(COLORS) + 1)[..., 1:].amax(1)
    return torch.cat([(near > 0).long(), colors], dim=1)


def network(inputs: int, outputs: int, scale: float, hidden: int = 64) -> nn.Sequential:
    """Return two hidden layers and an output layer. scale: gain of the last."""
    layers = [nn.Linear(inputs, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, outputs)]
    for layer, gain in zip(layers, (2**0.5, 2**0.5, scale), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


class Pair(nn.Module):
    """Policies of both agents, and their critics."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        seen, builder_actions = Games(settings, 1, 0).reset(0), PLACE + settings.colors
        self.speak = network(seen.architect.shape[1], settings.words * settings.symbols, 0.01)
        self.act = network(seen.builder.shape[1], builder_actions, 0.01)
        if settings.critic == "shared":
            self.columns, self.mean, self.spread = varying_columns(settings)
            self.value = network(len(self.columns), 1, 1.0)
        else:
            self.columns = None
            self.values = nn.ModuleList(network(part.shape[1], 1, 1.0) for part in seen[:2])

    def message(self, seen: Tensor) -> Categorical:
        """Return distributions over the symbols, [games, words]."""
        logits = self.speak(seen)
        return Categorical(logits=logits.view(-1, self.settings.words, self.settings.symbols))

    def action(self, seen: Tensor) -> Categorical:
        """Return distributions over the actions of the builder, [games]."""
        return Categorical(logits=self.act(seen))

    def worth(self, views: Views) -> Tensor:
        """Return the values for architect and builder, [games, 2]."""
        if self.settings.critic == "shared":
            return self.value((views.state - self.mean) / self.spread).expand(-1, 2)
        return torch.cat([self.values[0](views.architect), self.values[1](views.builder)], dim=1)


def varying_columns(settings: Settings) -> tuple[Tensor, Tensor, Tensor]:
    """Return the columns of `state()` that vary in random play, their means and standard deviations."""
    games = Games(settings, 256, 0)
    games.reset(0)
    seen = []
    for _ in range(4 * settings.limit):
        messages = torch.as_tensor(games.rng.integers(settings.symbols, size=(games.count, settings.words)))
        games.step(messages, torch.as_tensor(games.rng.integers(games.actions, size=games.count)))
        seen.append(torch.as_tensor(games.env.state()))
    spread, mean = torch.std_mean(torch.cat(seen), dim=0)
    columns = torch.nonzero(spread).flatten()
    return columns, mean[columns], spread[columns]


class Rollout(NamedTuple):
    """Observations, actions and rewards, [steps, games, ...]."""

    views: Views
    speaking: Tensor
    messages: Tensor
    actions: Tensor
    log_speak: Tensor
    log_act: Tensor
    worth: Tensor
    rewards: Tensor
    over: Tensor


@torch.no_grad()
def play(pair: Pair, games: Games, views: Views, steps: int) -> tuple[Rollout, Views]:
    """Play some steps of all games; return them and the next views."""
    rows = []
    for _ in range(steps):
        speech, choice, speaking = pair.message(views.architect), pair.action(views.builder), games.speaking
        messages, actions = speech.sample(), choice.sample()
        after, rewards, _, over = games.step(messages, actions)
        logs = speech.log_prob(messages).sum(1), choice.log_prob(actions)
        rows.append((views, speaking, messages, actions, *logs, pair.worth(views), rewards, over))
        views = after
    columns = [list(column) for column in zip(*rows, strict=True)]
    seen = Views(*(torch.stack(part) for part in zip(*columns[0], strict=True)))
    return Rollout(seen, *map(torch.stack, columns[1:])), views


def advantages(data: Rollout, last: Tensor, discount: float, trace: float) -> Tensor:
    """Return generalised advantage estimates for both agents, [steps, games, 2]."""
    result, ahead = torch.zeros_like(data.worth), torch.zeros_like(last)
    for t in reversed(range(len(data.rewards))):
        goes_on = (~data.over[t])[:, None]
        following = last if t == len(data.rewards) - 1 else data.worth[t + 1]
        error = data.rewards[t][:, None] + discount * following * goes_on - data.worth[t]
        result[t] = ahead = error + discount * trace * goes_on * ahead
    return result


def surrogate(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return the clipped loss of PPO, with normalised advantages."""
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    return -torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def update(pair: Pair, optimizer: torch.optim.Optimizer, data: Rollout, gain: Tensor, scale: float) -> None:
    """Run the epochs of PPO for both agents. scale: factor of the entropy bonuses."""
    s = pair.settings
    views = Views(*(part.flatten(0, 1) for part in data.views))
    speaking, messages, actions, log_speak, log_act, worth = (part.flatten(0, 1) for part in data[1:7])
    gain = gain.flatten(0, 1)
    returns = gain + worth
    for _ in range(s.epochs):
        for rows in torch.randperm(len(actions)).chunk(s.minibatches):
            part = Views(*(column[rows] for column in views))
            spoken = rows[speaking[rows]]  # the architect learns where it spoke
            speech = pair.message(views.architect[spoken])
            choice = pair.action(part.builder)
            ratio_speak = (speech.log_prob(messages[spoken]).sum(1) - log_speak[spoken]).exp()
            ratio_act = (choice.log_prob(actions[rows]) - log_act[rows]).exp()
            loss = surrogate(ratio_speak, gain[spoken, 0], s.clip) + surrogate(
                ratio_act, gain[rows, 1], s.clip
            )
            bonus = (
                s.architect_entropy * speech.entropy().sum(1).mean()
                + s.builder_entropy * choice.entropy().mean()
            )
            loss = loss - scale * bonus + 0.5 * mse_loss(pair.worth(part), returns[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(pair.parameters(), 0.5)
            optimizer.step()


@torch.no_grad()
def success(
    pair: Pair, settings: Settings, repeats: int = 1, speaker: Pair | None = None, seed: int = 0
) -> float:
    """Share of exact completions when both do what they think best, each meaning `repeats` times.

    settings: of the game; its channel may differ from the one in training. speaker: whose architect speaks instead.
    """
    tasks = meanings(settings) * repeats
    games = Games(settings, len(tasks), seed)
    tasks = [tasks[number] for number in games.rng.permutation(len(tasks))]
    views = games.reset(seed, tasks)
    running, done = torch.ones(len(tasks), dtype=torch.bool), torch.zeros(len(tasks), dtype=torch.bool)
    for _ in range(settings.limit):  # first episodes only
        messages = (speaker or pair).message(views.architect).logits.argmax(-1)
        views, _, completed, over = games.step(messages, pair.action(views.builder).logits.argmax(-1))
        done |= completed & running
        running &= ~over
    return float(done.float().mean())


def train(settings: Settings, report: bool = True) -> tuple[Pair, list[tuple[int, float]]]:
    """Return a trained pair, and its curve [(environment steps, share completed)]. Runs are reproducible."""
    torch.manual_seed(settings.seed)
    pair = Pair(settings)
    optimizer = torch.optim.Adam(pair.parameters(), settings.learning_rate, eps=1e-5)
    games = Games(settings, settings.games, settings.seed, pair.columns)
    batch = settings.games * settings.rollout
    updates = max(1, settings.total_steps // batch)
    views, began = games.reset(settings.seed), time.perf_counter()
    curve = [(0, success(pair, settings, 4))]
    for number in range(updates):
        left = 1 - number / updates
        optimizer.param_groups[0]["lr"] = settings.learning_rate * left
        data, views = play(pair, games, views, settings.rollout)
        with torch.no_grad():
            last = pair.worth(views)
        gain = advantages(data, last, settings.discount, settings.trace)
        update(pair, optimizer, data, gain, left)
        if (number + 1) % settings.every == 0 or number + 1 == updates:
            steps, share = (number + 1) * batch, success(pair, settings, 4)
            curve.append((steps, share))
            if report:
                speed = steps / (time.perf_counter() - began)
                print(f"{steps:>9,} steps  success {share:.3f}  {speed:,.0f} steps/s", flush=True)
    return pair, curve


def main(**options: Any) -> float:
    """Train a pair and report the share of structures that it completes."""
    torch.set_num_threads(1)
    settings = Settings(**options)
    _, curve = train(settings)
    print(
        f"critic {settings.critic}, channel {settings.channel}, seed {settings.seed}: success {curve[-1][1]:.3f}"
    )
    return curve[-1][1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.set_defaults(**Settings()._asdict())
    parser.add_argument("--critic", choices=("shared", "independent"))
    parser.add_argument("--channel", choices=("open", "mute", "scrambled"))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--total-steps", type=int)
    main(**vars(parser.parse_args()))
