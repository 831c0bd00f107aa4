"""Agents are checked against their seats before a game, wherever an agent meets a game."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from evaluated_agents import Still

import iglu_marl
from iglu_marl import AgentError, ConfigError, evaluate, play
from iglu_marl.agents import (
    OracleBuilder,
    RandomArchitect,
    RandomBuilder,
    ReplayArchitect,
    ScriptedArchitect,
    ScriptedBuilder,
    agents_for,
)
from iglu_marl.agents.team import TeamArchitect, TeamBuilder

FITTING = "agents_for|for_env"
LONE = "IGLUGridworldVector-v0"


def game(**options: Any) -> Any:
    return iglu_marl.env(**{"builder_sees": ("dialog", "pose", "grid"), **options})


class WithoutSeed(Still):
    def reset(self) -> None:  # type: ignore[override]
        pass


TEAM, PAIR = {"builders": 2}, {"architects": 1}
CASES: list[tuple[dict[str, Any], str, Callable[[], Any]]] = [
    (PAIR, "architect_0", lambda: ScriptedArchitect),
    (PAIR, "builder_0", lambda: ScriptedBuilder),
    (PAIR, "builder_0", lambda: "scripted"),
    (PAIR, "builder_0", lambda: lambda observation: 0),
    (PAIR, "builder_0", WithoutSeed),
    (PAIR, "architect_0", ScriptedBuilder),
    (PAIR, "builder_0", ScriptedArchitect),
    (PAIR, "builder_0", RandomArchitect),
    (PAIR, "architect_0", RandomBuilder),
    ({"controls": "flying"}, "builder_0", ScriptedBuilder),
    ({"controls": "flying"}, "builder_0", RandomBuilder),
    ({"select_and_place": True}, "builder_0", OracleBuilder),
    ({"builder_can_ask": True}, "builder_0", ScriptedBuilder),
    (PAIR, "builder_0", partial(ScriptedBuilder, can_ask=True)),
    ({"chat": "tokens"}, "architect_0", ReplayArchitect),
    ({"chat": "tokens"}, "architect_0", RandomArchitect),
    (PAIR, "architect_0", partial(RandomArchitect, tokens=True)),
    ({"chat": "tokens", "vocabulary": 8}, "architect_0", ScriptedArchitect),
    ({"chat": "tokens", "vocabulary": 8}, "builder_0", ScriptedBuilder),
    ({"max_message_length": 40}, "architect_0", lambda: ScriptedArchitect.for_env(game())),
    (PAIR, "builder_0", lambda: ScriptedBuilder.for_env(game(controls="flying"))),
    (PAIR, "builder_0", lambda: TeamBuilder.for_seat(game(**TEAM), "builder_1")),
    (PAIR, "architect_0", lambda: TeamArchitect.for_seat(game(**TEAM), "architect_0")),
    (TEAM, "architect_0", ScriptedArchitect),
    (TEAM, "builder_1", ScriptedBuilder),
    (TEAM, "builder_1", OracleBuilder),
    (TEAM, "builder_1", lambda: TeamBuilder.for_seat(game(**TEAM), "builder_0")),
    ({"sees": {"architect_0": "layers:0-1"}}, "architect_0", ScriptedArchitect),
]


@pytest.mark.parametrize(("options", "seat", "make"), CASES)
def test_an_agent_that_cannot_play_in_its_seat_is_refused_before_the_game(
    options: dict[str, Any], seat: str, make: Callable[[], Any]
) -> None:
    env = game(**options)
    agents = {name: RandomArchitect.for_env(env) for name in env.possible_agents if "arch" in name}
    agents |= {name: RandomBuilder.for_env(env) for name in env.possible_agents if "builder" in name}
    moments: list[Any] = []
    with pytest.raises(AgentError, match=FITTING):
        play(env, {**agents, seat: make()}, on_step=moments.append)
    assert not moments
    assert env.unwrapped.episode.task is None


@pytest.mark.parametrize(
    "agents", [{}, {"architect": Still()}, {"builder": Still()}, {"judge": Still()}, Still(), 5]
)
@pytest.mark.parametrize("view", [iglu_marl.env, iglu_marl.parallel_env])
def test_every_seat_has_an_agent(view: Any, agents: Any) -> None:
    with pytest.raises(AgentError):
        play(view(max_steps=3), agents)


@pytest.mark.parametrize(
    "options", [{}, {"chat": "tokens"}, {"inventories": {"builder_0": {"red": 3}}}, {"architects": 2}, TEAM]
)
@pytest.mark.parametrize("view", [iglu_marl.env, iglu_marl.parallel_env])
def test_agents_of_the_game_and_agents_of_your_own_fit(view: Any, options: dict[str, Any]) -> None:
    env = view(builder_sees=("dialog", "pose", "grid"), max_steps=3, max_turns=3, **options)
    assert play(env, agents_for(env), seed=0).builder_steps
    names = {agent: RandomArchitect.for_env(env) for agent in env.possible_agents if "arch" in agent}
    builders = {agent: Still() for agent in env.possible_agents if "builder" in agent}
    assert play(env, {**names, **builders}, seed=0).builder_steps


def test_scripted_agents_find_out_whether_chat_is_text_or_tokens() -> None:
    """The scripted pair sees by itself whether the chat is of text or of tokens."""
    agents = {"architect": ScriptedArchitect(), "builder": ScriptedBuilder()}
    assert play(game(chat="tokens"), agents, seed=0).completed
    assert play(game(), agents, seed=0).completed


@pytest.mark.parametrize(
    "env",
    [
        iglu_marl.env,
        iglu_marl.envs.GridworldEnv,
        None,
        "IGLUGridworld-v0",
        gym.make("CartPole-v1"),
        partial(gym.make_vec, LONE, num_envs=2)(),
        iglu_marl.envs.VectorGame(2, chat="tokens"),
    ],
    ids=lambda env: str(env)[:20],
)
def test_only_environments_of_one_game_are_played(env: Any) -> None:
    for agents in ({"architect": ScriptedArchitect(), "builder": ScriptedBuilder()}, Still()):
        with pytest.raises(AgentError, match=FITTING):
            play(env, agents)


@pytest.mark.parametrize(
    "cls", [ScriptedArchitect, ScriptedBuilder, OracleBuilder, ReplayArchitect, TeamArchitect, TeamBuilder]
)
@pytest.mark.parametrize("options", [TEAM, {"architects": 2}])
def test_for_env_makes_no_agent_of_a_pair_for_a_team(cls: Any, options: dict[str, Any]) -> None:
    with pytest.raises(AgentError, match="agents_for"):
        cls.for_env(game(**options))


NO_ARCHITECT = [lambda: ScriptedArchitect, lambda: "scripted", WithoutSeed, ScriptedBuilder, TeamArchitect]


@pytest.mark.parametrize("make", NO_ARCHITECT[:4])
def test_live_architects_are_checked(make: Callable[[], Any]) -> None:
    with pytest.raises(AgentError, match=FITTING):
        gym.make(LONE, architect=make())


def test_a_walking_builder_alone_names_the_seat_that_fits() -> None:
    with pytest.raises(AgentError, match=r"ScriptedBuilder\.for_env\(env\)"):
        play(gym.make(LONE), ScriptedBuilder())
    with pytest.raises(AgentError, match="compat='iglu2022'"):
        play(gym.make(LONE, compat="iglu2022", select_and_place=False), OracleBuilder(can_yield=False))


class Picky:
    def __init__(self, one: int, two: int) -> None:
        """It cannot be made of an environment."""


@pytest.mark.parametrize(
    ("architects", "builders", "config"),
    [
        ("vague", "hasty", {"builders": 2}),
        ("scripted", "oracle", {"builders": 2, "chat": "tokens", "vocabulary": 8}),
        ("scripted", game(), {}),
        (game(), "scripted", {}),
        (
            ScriptedArchitect(level="shapes"),
            "scripted",
            {},
        ),  # its class would be made again, without the level
        ("scripted", [WithoutSeed], {}),
        ("scripted", Picky, {}),
        ("scripted", "iglu_marl.agents:ScriptedArchitect", {}),
        ("scripted", lambda env: ScriptedBuilder, {}),
    ],
)
def test_evaluations_check_their_agents(
    architects: Any, builders: Any, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iglu_marl.evaluation.arena.play", lambda *_, **__: pytest.fail("a game is played"))
    with pytest.raises(AgentError):
        evaluate(architects, builders, count=1, config=config, progress=False)


@pytest.mark.parametrize("tasks", [ScriptedBuilder(), ScriptedBuilder, game(), Still(), 3])
def test_agents_and_environments_are_no_sources_of_tasks(tasks: Any) -> None:
    with pytest.raises(ConfigError):
        evaluate(tasks=tasks, progress=False)
    with pytest.raises(ConfigError):
        game(tasks=tasks)


FILE = """
class Builder:
    def reset(self, role, seed): pass
    def act(self, observation): return 0
    def close(self): pass

class Unmakeable:
    def __init__(self, one, two): pass

number = 3
"""


@pytest.mark.parametrize("text", ["def f(:", "raise RuntimeError", "1 / 0", "import nothing_of_this_name"])
def test_a_file_that_cannot_be_run_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(ConfigError, match="cannot be imported"):
        evaluate(tasks=f"{file}:Tasks", progress=False)
    with pytest.raises(AgentError, match="cannot be imported"):
        evaluate(builders=f"{file}:Builder", progress=False)
    with pytest.raises(ConfigError, match=r"broken\.py:Class"):
        evaluate(tasks=str(file), progress=False)
