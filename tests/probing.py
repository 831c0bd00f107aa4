"""What several tests share: every view of the game under one handle, and exact records of what it shows."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

import iglu_marl  # noqa: F401 (registers the environments)
from iglu_marl import env, parallel_env, raw_env
from iglu_marl.core.controls import CONTROLS
from iglu_marl.envs import VectorGame
from iglu_marl.envs.registration import LANGUAGE_ID
from iglu_marl.envs.wrappers import align, discretize, mask

IDS = ("IGLUGridworld-v0", "IGLUGridworldVector-v0", "IGLUSilentBuilder-v0", "IGLUSilentBuilderVisual-v0")
CHATS: dict[str, dict[str, Any]] = {
    "text": {"chat": "text"},
    "templates": {"chat": "tokens"},
    "symbols": {"chat": "tokens", "vocabulary": 7},
}
SHORT = {
    "turn_steps": 3,
    "max_steps": 30,
    "max_turns": 9,
}  # so that long plays see many turns, ends and resets


def short_of(view: str) -> dict[str, Any]:
    """`SHORT`, as far as a view of two agents has these options."""
    return {name: value for name, value in SHORT.items() if (view, name) != ("parallel_env", "turn_steps")}


def views() -> dict[str, Callable[..., Any]]:
    """Every view by name, as a function of further options."""
    made: dict[str, Callable[..., Any]] = {"env": env, "raw_env": raw_env, "parallel_env": parallel_env}
    for name in IDS:
        made[name] = lambda name=name, **options: gym.make(name, **options)
    return made


def in_wrappers(**options: Any) -> Any:
    return mask(align(discretize(parallel_env(**options)), actions="discrete"))


VIEWS = views()
TWO_AGENT_VIEWS = ("env", "raw_env", "parallel_env")
# What else keeps the contracts of a view.
MORE_VIEWS = {"team": raw_env, "goal": partial(gym.make, LANGUAGE_ID), "wrapped": in_wrappers}
ALL_VIEWS = {**VIEWS, **MORE_VIEWS}
TEAM: dict[str, Any] = {
    "architects": 2, "builders": 3, "turn_steps": 3, "max_steps": 20, "builder_can_ask": True,
    "builder_sees": ("inventory", "dialog", "pose", "grid"),
    "sees": {"architect_0": "side:north", "architect_1": ("half:east", "color:red"), "builder_0": "all"},
    "hearers": {"architect_0": "builder_0"}, "inventories": {"builder_0": {"red": 5}},
}  # fmt: skip
SYMBOLS: dict[str, Any] = {"chat": "tokens", "vocabulary": 5, "max_message_length": 1, "dialog_length": 9}


def story_options(view: str) -> dict[str, Any]:
    """Options under which a random play of a view sees turns, ends, resets and as many observations as there are."""
    if view in TWO_AGENT_VIEWS:
        sights = ("pov", "inventory", "compass", "dialog", "pose", "grid")
        return {
            **short_of(view),
            "builder_sees": sights,
            "builder_can_ask": True,
            "message_cost": 0.25,
            "step_cost": 0.5,
        }
    if view in MORE_VIEWS:
        own = {
            "team": TEAM,
            "goal": {"max_steps": 15},
            "wrapped": {**SYMBOLS, "controls": "flying", "max_steps": 30},
        }
        return own[view]
    more = {"vector_state": True, "target_in_obs": True} if view.startswith("IGLUGridworld") else {}
    return {**more, "max_steps": 30}


def frozen(value: Any) -> Any:
    """A hashable image of nested observations: equal only if types, shapes and every bit are."""
    if isinstance(value, Mapping):
        return ("dict", *((key, frozen(value[key])) for key in sorted(value)))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(frozen(part) for part in value))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return ("objects", value.shape, frozen(value.tolist()))
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, np.generic):
        return ("scalar", value.dtype.str, value.tobytes())
    return (type(value).__name__, repr(value))


def digest(values: Any) -> str:
    """A short fingerprint of frozen values, the same in every process."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()


class Player:
    """Random moves from generators of its own, in any view; resets without a seed when an episode is over."""

    def __init__(self, env: Any, seed: int) -> None:
        if hasattr(env, "possible_agents"):
            self.spaces = {agent: copy.deepcopy(env.action_space(agent)) for agent in env.possible_agents}
        else:
            self.spaces = {"": copy.deepcopy(env.action_space)}
        for number, space in enumerate(self.spaces.values()):
            space.seed(seed + number)

    def move(self, env: Any) -> Any:
        """One move, and everything that the view showed before and after it, frozen."""
        if isinstance(env, gym.Env):
            return self._move_single(env)
        return self._move_aec(env) if hasattr(env, "agent_iter") else self._move_parallel(env)

    def moves(self, env: Any, count: int) -> list[Any]:
        return [self.move(env) for _ in range(count)]

    def _move_single(self, env: Any) -> Any:
        shown = env.step(self.spaces[""].sample())
        return frozen((*shown, env.reset() if shown[2] or shown[3] else None))

    def _move_parallel(self, env: Any) -> Any:
        shown = env.step({agent: self.spaces[agent].sample() for agent in env.agents})
        return frozen((*shown, env.state(), None if env.agents else env.reset()))

    def _move_aec(self, env: Any) -> Any:
        agent = env.agent_selection
        shown = frozen((agent, *env.last(), env.state(), env.infos, env.rewards))
        over = env.terminations[agent] or env.truncations[agent]
        env.step(None if over else self.spaces[agent].sample())
        if not env.agents:
            env.reset()
        return shown


def begun(view: str, seed: int, **options: Any) -> Any:
    """A view, made and reset."""
    made = ALL_VIEWS[view](**options)
    made.reset(seed=seed)
    return made


def story(view: str, seed: int, count: int, **options: Any) -> list[Any]:
    """What `count` random moves in a fresh environment show; the first reset is seeded, the later ones are not."""
    made = ALL_VIEWS[view](**options)
    first = made.reset(seed=seed)
    return [frozen(first), *Player(made, seed).moves(made, count)]


def fingerprints(count: int) -> dict[str, str]:
    """The digest of a long story in each view and under each controls, to compare processes."""
    made = {view: digest(story(view, 11, count, **story_options(view))) for view in VIEWS}
    for controls in CONTROLS:
        options = {**SHORT, "controls": controls, **CHATS["templates"]}
        made[f"raw_env, {controls}"] = digest(story("raw_env", 12, count, **options))
    return made


Shown = tuple[Any, dict[str, float], bool, bool, dict[str, Any]]
"""What builder_0 observes, the rewards by agent, whether the episode is terminated, truncated, and its info."""
LONE_VIEWS, PAIR_VIEWS = ("single", "vector"), ("aec", "parallel", "games")


def driven(
    view: str,
    start: dict[str, Any],
    still: Any = 0,
    says: Callable[[], Any] | None = None,
    **options: Any,
) -> tuple[Any, Callable[[Any], Shown]]:
    """A game in a view, reset, and a function by which builder_0 acts in it, while nobody else acts.

    Of several worlds, the last one is shown. start: options of the reset. still: what another builder does. says: the
    architect's next utterance; silence by default.
    """
    if view in LONE_VIEWS:
        name = "IGLUGridworldVector-v0"
        lone = gym.make(name, **options) if view == "single" else gym.make_vec(name, num_envs=2, **options)
        lone.reset(seed=0, options=start)

        def act_alone(action: Any) -> Shown:
            if view == "single":
                seen, reward, *ends, info = lone.step(action)
            else:
                seen, reward, *ends, info = (_last(part) for part in lone.step(np.stack([action] * 2)))
            return seen, {"builder_0": float(reward)}, *map(bool, ends), info  # type: ignore[return-value]

        return lone.unwrapped, act_alone
    makers = {
        "aec": lambda: raw_env(**{"turn_steps": 1, **options}),
        "parallel": lambda: parallel_env(**options),
    }
    pair: Any = makers[view]() if view in makers else VectorGame(2, **options)
    pair.reset(seed=0, options=start)
    config = pair.config
    silence: Any = "" if config.chat == "text" else np.zeros(config.max_message_length, int)

    def act(action: Any) -> Shown:
        said = silence if says is None else says()
        moves = {agent: said if agent[0] == "a" else still for agent in pair.possible_agents}
        moves["builder_0"] = action
        if view == "aec":
            paid = dict.fromkeys(moves, 0.0)
            for agent in moves:
                if not pair.terminations[agent]:
                    assert pair.agent_selection == agent
                    pair.step(moves[agent])
                    paid = {name: paid[name] + reward for name, reward in pair.rewards.items()}
            ends = pair.terminations["builder_0"], pair.truncations["builder_0"]
            return pair.observe("builder_0"), paid, *ends, pair.infos["builder_0"]
        if view == "games":
            moves = {agent: np.stack([move] * 2) for agent, move in moves.items()}
        shown = pair.step(moves)
        seen, paid, terminated, truncated, infos = map(_last, shown) if view == "games" else shown
        mine = (part["builder_0"] for part in (terminated, truncated, infos))
        return seen["builder_0"], paid, *mine  # type: ignore[return-value]

    return pair, act


def _last(values: Any) -> Any:
    """Of the values of several worlds, in dicts or not, those of the last."""
    return {key: _last(part) for key, part in values.items()} if isinstance(values, dict) else values[-1]


def weighed(*parts: Any) -> float:
    """Return a sum over all entries, each with a weight of its own."""
    values = np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])
    return float(values @ np.random.default_rng(7).normal(size=len(values)))
