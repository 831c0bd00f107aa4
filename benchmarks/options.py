"""Which option has an effect in which environment: `python -m benchmarks.options`.

Each option of `GameConfig` is tried with a value other than its default in each kind of environment. Two short games
with the same actions are compared, with and without it. The option counts if they differ; it raises if `ConfigError`
says that it has no effect there; it holds if the environment has this value without it, too. Else it is silent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from rich.console import Console
from rich.progress import track
from rich.table import Table

import iglu_marl
from benchmarks.harness import make_parser, run_command
from iglu_marl import ActionError, ConfigError, GameConfig, Pose, Role, Task
from iglu_marl.core.actions import Action
from iglu_marl.core.kernels.records import BUILDER
from iglu_marl.envs import LiveGame, VectorGame
from iglu_marl.envs.registration import GYMNASIUM_IDS, LANGUAGE_ID

Part = tuple[
    str, Any
]  # "actions", "observations", "rewards", "ends", "infos" or "rendering", and what it holds
Options = Mapping[str, Any]

_START = Pose(pitch_deg=-35)
TASK = Task("<Architect> Two blue blocks.", [(0, -1, -2, 1), (1, -1, -1, 1)], pose=_START)
_FAR = Task("<Architect> Two corners.", [(-5, -1, -5, 1), (5, -1, 5, 1)], pose=_START)
_OTHER = Task("<Architect> A red block.", [(0, -1, 0, 6)], pose=_START)
# A wrong block and its removal, a right one, an extra one, the other right one, and the removal of the extra one.
SCRIPT = (
    *(Action.HOTBAR_2, Action.PLACE, Action.BREAK, Action.HOTBAR_1, Action.PLACE),
    *(Action.LOOK_UP,) * 3,
    *(Action.HOTBAR_2, Action.PLACE, Action.HOTBAR_1),
    *(Action.TURN_RIGHT,) * 9,
    *(Action.LOOK_DOWN,) * 3,
    Action.PLACE,
    *(Action.TURN_LEFT,) * 9,
    *(Action.LOOK_DOWN, Action.BREAK),
)


class Black:
    """A renderer that draws nothing."""

    def render(self, worlds: Any, indices: Any, size: tuple[int, int]) -> Any:
        """Return black pictures."""
        return np.zeros((len(indices), *size, 3), np.uint8)

    def close(self) -> None:
        """Do nothing."""


class Speaker:
    """A live architect that says what it observes. tokens: whether in tokens."""

    def __init__(self, tokens: bool, length: int) -> None:
        self._tokens, self._length = tokens, length

    def reset(self, role: Role, seed: int | None) -> None:
        """Do nothing."""

    def act(self, observation: Any) -> Any:
        """Return the keys of the observation, or their number."""
        if self._tokens:
            return np.array([len(observation)] * self._length)
        return ", ".join(observation)

    def close(self) -> None:
        """Do nothing."""


class Trial(NamedTuple):
    """A value of an option, and options under which it matters, as far as an environment has them."""

    value: Any
    base: Mapping[str, Any] = {}


TRIALS: Mapping[str, Trial] = {
    "tasks": Trial(_OTHER),
    "controls": Trial("continuous"),
    "select_and_place": Trial(True),
    "chat": Trial("tokens"),
    "vocabulary": Trial(7, {"chat": "tokens"}),
    "max_message_length": Trial(5),
    "dialog_length": Trial(10),
    "strict": Trial(False, {"max_message_length": 5}),
    "turn_steps": Trial(3),
    "max_steps": Trial(4),
    "max_turns": Trial(2, {"turn_steps": 3}),
    "builder_can_ask": Trial(True),
    "architect_sees": Trial(("grid",)),
    "builder_sees": Trial(("compass", "hotbar")),
    "egocentric_radius": Trial(2, {"builder_sees": ("egocentric",)}),
    "max_wrong_cells": Trial(
        2, {"sees": {"builder_0": "all"}, "target_in_obs": True, "builder_sees": ("wrong_cells", "dialog")}
    ),
    "right_scale": Trial(3.0),
    "wrong_scale": Trial(0.25),
    "completion_reward": Trial(10.0),
    "message_cost": Trial(0.5),
    "step_cost": Trial(0.125),
    "shaping": Trial(True),
    "shaping_scale": Trial(0.5, {"shaping": True}),
    "rewards": Trial("builder"),
    "size_reward": Trial(True),
    "sparse_reward": Trial(True),
    "completion": Trial("cover"),
    "shifts": Trial("inside", {"tasks": _FAR}),
    "pov_size": Trial((8, 12), {"builder_sees": ("pov",)}),
    "renderer": Trial(Black(), {"builder_sees": ("pov",)}),
    "render_mode": Trial("ansi"),
    "architects": Trial(2),
    "builders": Trial(2),
    "sees": Trial({"builder_0": "all"}),
    "hearers": Trial({"architect_0": ()}),
    "inventories": Trial({"builder_0": [3] * 6}),
}


class Environment(NamedTuple):
    """A kind of environment: how it is made and played, the options that make it, and trials of its own."""

    make: Callable[..., Any]
    play: Callable[[Any], Iterator[Part]]
    base: Mapping[str, Any] = {}
    trials: Mapping[str, Trial] = {}


# --------------------------------------------------------------------------------------------------------- playing


def _message(space: spaces.Space[Any]) -> Any:
    if isinstance(space, spaces.MultiDiscrete):
        return np.minimum(np.arange(1, len(space.nvec) + 1), space.nvec - 1)
    return "Place a blue block, please."


def _act(space: spaces.Space[Any], step: int, agent: str = "builder_0") -> Any:
    """Return a builder's action in a step: the first one follows the script, or acts at random in other encodings."""
    if isinstance(space, spaces.Dict) and space.keys() == {"act", "say"}:
        quiet = "" if not isinstance(space["say"], spaces.MultiDiscrete) else 0 * _message(space["say"])
        return {"act": _act(space["act"], step, agent), "say": _message(space["say"]) if step == 1 else quiet}
    if isinstance(space, spaces.Discrete):
        return int(SCRIPT[step]) if agent == "builder_0" else 0
    if step == 0:
        space.seed(0)
    return space.sample()


def _spaces(env: Any) -> Iterator[Part]:
    for agent in env.possible_agents:
        yield "actions", repr(env.action_space(agent))
        yield "observations", repr(env.observation_space(agent))


def _rendering(env: Any) -> Part:
    return "rendering", None if env.render_mode is None else env.render()


def play_turns(env: Any) -> Iterator[Part]:
    """Play in turns."""
    yield from _spaces(env)
    env.reset(seed=0)
    steps = dict.fromkeys(env.possible_agents, 0)
    for _ in range(3 * len(SCRIPT)):
        if not env.agents or max(steps.values()) == len(SCRIPT):
            break
        agent = env.agent_selection
        observation, reward, terminated, truncated, info = env.last()
        yield "infos", agent
        yield "observations", observation
        yield "rewards", reward
        yield "ends", (terminated, truncated)
        yield "infos", info
        if terminated or truncated:
            break
        space = env.action_space(agent)
        if agent.startswith("builder"):
            action = _act(space, steps[agent], agent)
            steps[agent] += 1
        else:
            action = _message(space)
        try:
            env.step(action)
        except ActionError as error:
            yield "actions", str(error)
            env.step("")
        yield "rewards", dict(env.rewards)
        yield _rendering(env)


def play_together(env: Any) -> Iterator[Part]:
    """Play with all agents at once, one game or many."""
    yield from _spaces(env)
    yield "observations", env.reset(seed=0)
    many = env.num_games if isinstance(env, VectorGame) else 0
    step = 0
    while env.agents and step < len(SCRIPT):
        actions = {}
        for agent in env.possible_agents:
            space = env.action_space(agent)
            one = _act(space, step, agent) if agent.startswith("builder") else _message(space)
            actions[agent] = _repeated(one, many) if many else one
        acts = not many or env.worlds.floor[0] == BUILDER or not env.in_turns
        step += acts
        try:
            results = env.step(actions)
        except ActionError as error:
            yield "actions", str(error)
            results = env.step(
                {agent: "" if agent.startswith("arch") else actions[agent] for agent in actions}
            )
        yield from zip(("observations", "rewards", "ends", "ends", "infos"), results, strict=True)
        yield _rendering(env)


def _repeated(value: Any, count: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _repeated(part, count) for key, part in value.items()}
    return np.array([value] * count)


def play_live(env: LiveGame) -> Iterator[Part]:
    """Play in real time."""
    yield from _spaces(env)
    env.reset(seed=0)
    for step in range(len(SCRIPT)):
        if not env.agents:
            break
        builders = [agent for agent in env.agents if agent.startswith("builder")]
        acts = {env.players[agent]: _act(env.action_space(agent)["act"], step, agent) for agent in builders}
        if env.config.controls == "walking" and SCRIPT[step] is Action.LOOK_UP:
            acts = dict.fromkeys(acts, int(Action.YIELD))  # after which a turn may be the last
        architects = [agent for agent in env.agents if agent not in builders and step % 4 == 0]
        said = {env.players[agent]: _message(env.action_space(agent)) for agent in architects}
        try:
            result = env.tick(said, acts)
        except ActionError as error:
            yield "actions", str(error)
            result = env.tick({}, acts)
        yield "rewards", sorted((str(player), reward) for player, reward in result.rewards.items())
        yield "ends", (result.terminated, result.truncated)
        for agent in env.possible_agents:
            yield "observations", env.observe(agent)
        yield _rendering(env)


def play_alone(env: Any) -> Iterator[Part]:
    """Play a lone builder, one or many."""
    many = getattr(env, "num_envs", 0)
    space = env.single_action_space if many else env.action_space
    yield "actions", repr(space)
    yield "observations", repr(env.single_observation_space if many else env.observation_space)
    try:
        yield "observations", env.reset(seed=0)
        for step in range(len(SCRIPT)):
            one = _act(space, step)
            results = env.step(_repeated(one, many) if many else one)
            yield from zip(("observations", "rewards", "ends", "ends", "infos"), results, strict=True)
            yield _rendering(env)
            if not many and (results[2] or results[3]):
                break
    except ActionError as error:  # the live architect's message is too long
        yield "actions", str(error)


# ---------------------------------------------------------------------------------------------------- environments


def _speaker(options: Options) -> Speaker:
    config = options.get("config") or GameConfig()
    tokens = options.get("chat", config.chat) == "tokens"
    length = options.get("max_message_length")
    if length is None:
        length = config.max_message_length if config.chat == "tokens" else 16
    return Speaker(tokens, length)


def _by_id(name: str, live: bool, many: bool) -> Callable[..., Any]:
    def make(**options: Any) -> Any:
        speaker = {}
        if live and many:
            speaker = {"make_architect": lambda: _speaker(options)}
        elif live:
            speaker = {"architect": _speaker(options)}
        if not many:
            return gymnasium.make(name, **speaker, **options)
        mode = "vector_entry_point"
        return gymnasium.make_vec(
            name, num_envs=2, vectorization_mode=mode, info_keys=("event",), **speaker, **options
        )

    return make


def _games(**options: Any) -> VectorGame:
    return VectorGame(2, **options)


def environments() -> dict[str, Environment]:
    """Return the kinds of environments by name."""
    tasks = {"tasks": TASK}
    tokens, turns = {"chat": "tokens"}, {"turn_steps": 5}
    own = {"chat": Trial("text")}
    found = {
        "raw_env": Environment(iglu_marl.raw_env, play_turns, {**tasks, **turns}),
        "parallel_env": Environment(iglu_marl.parallel_env, play_together, tasks),
        "LiveGame": Environment(LiveGame, play_live, tasks),
        "VectorGame": Environment(_games, play_together, {**tasks, **tokens}, trials=own),
        "VectorGame, in turns": Environment(
            _games, play_together, {**tasks, **tokens, **turns}, trials=own | {"max_turns": Trial(2)}
        ),
    }
    for kind, game in list(found.items())[:4]:
        team = {**game.trials, "builders": Trial(3), "max_turns": Trial(2)}
        found[f"{kind}, team"] = game._replace(base={**game.base, "builders": 2}, trials=team)
    for name in GYMNASIUM_IDS:
        for live in (False, True):
            for many in (False, True):
                speaks = "live architect" if live else "recorded dialogue"
                label = f"{name}, {speaks}" + ", make_vec" * many
                base = {**tasks, "action_space": "walking", **(turns if live else {})}
                found[label] = Environment(_by_id(name, live, many), play_alone, base)
    for obs_type in ("direct", "image"):
        found[f"{LANGUAGE_ID}, {obs_type}"] = Environment(
            _by_id(LANGUAGE_ID, False, False), play_alone, {"obs_type": obs_type}
        )
    return found


# ---------------------------------------------------------------------------------------------------------- trying


class Result(NamedTuple):
    """What became of an option: "counts" (the parts that differ), "raises" (the message), "holds", or "silent"."""

    outcome: str
    detail: str = ""


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [(str(key), _frozen(part)) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [_frozen(part) for part in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    return repr(value)


def _story(environment: Environment, options: Options) -> dict[str, list[Any]]:
    env = environment.make(**options)
    try:
        story: dict[str, list[Any]] = {}
        for part, value in environment.play(env):
            story.setdefault(part, []).append(_frozen(value))
        return story
    finally:
        env.close()


def _base(environment: Environment, trial: Trial) -> dict[str, Any]:
    """Return the options of the environment, with those of the trial as far as it takes them."""
    base = dict(environment.base)
    for option, value in trial.base.items():
        try:
            environment.make(**{**base, option: value}).close()
        except ConfigError:
            continue
        base[option] = value
    return base


def attempt(environment: Environment, name: str) -> Result:
    """Try an option in an environment."""
    trial = environment.trials.get(name, TRIALS[name])
    base = _base(environment, trial)
    expected = _story(environment, base)
    if name == "controls":
        base.pop("action_space", None)
    base.pop(name, None)
    try:
        story = _story(environment, {**base, name: trial.value})
    except ConfigError as error:
        return Result("raises", str(error))
    differing = [part for part in sorted({*story, *expected}) if story.get(part) != expected.get(part)]
    if differing:
        return Result("counts", ", ".join(differing))
    env = environment.make(**base)
    env.close()
    holds = getattr(env.unwrapped.config, name) == trial.value
    return Result("holds", "the same without it") if holds else Result("silent")


def main() -> int:
    parser = make_parser("options", __doc__)
    parser.add_argument("--option", choices=TRIALS, help="try only this option")
    parser.add_argument("--environment", choices=environments(), help="try only this kind of environment")
    args = parser.parse_args()
    console = Console(stderr=True, quiet=args.json)
    jobs = [
        (kind, environment, name)
        for kind, environment in environments().items()
        for name in TRIALS
        if args.environment in (None, kind) and args.option in (None, name)
    ]
    rows = []
    for kind, environment, name in track(jobs, "Trying", console=console, transient=True):
        rows.append((kind, name, *attempt(environment, name)))
    if args.json:
        keys = ("environment", "option", "outcome", "detail")
        print(json.dumps([dict(zip(keys, row, strict=True)) for row in rows]))
    else:
        table = Table("environment", "option", "outcome", "what changes, or the error")
        for row in rows:
            table.add_row(*row)
        out = Console(width=None if Console().is_terminal else 250)
        out.print(table)
        outcomes = ("counts", "raises", "holds", "silent")
        counts = {outcome: sum(row[2] == outcome for row in rows) for outcome in outcomes}
        out.print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 0


if __name__ == "__main__":
    run_command(main)
