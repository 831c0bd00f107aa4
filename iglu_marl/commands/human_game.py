"""Recorded games in a window, in which a person plays the builder, the architect, or both."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.files import made_folder
from iglu_marl.core.task import Task
from iglu_marl.envs.aec import raw_env
from iglu_marl.game.agent import begin
from iglu_marl.recording import Recorder
from iglu_marl.rendering.moment import moment_of
from iglu_marl.rendering.ui.composed import game_views
from iglu_marl.rendering.ui.layers import Layer
from iglu_marl.rendering.ui.screens import OrbitAngles, Overlay, onlooker_screen
from iglu_marl.rendering.ui.window import Closed, Key, Window, WindowClosed

SWITCHED = ("human-level", "flying")  # action encodings that TAB switches between
TURN_STEPS = 20  # with a live architect: one turn per second
BUILDER_TURN_STEPS = 200  # with a person as architect


class Idle:
    """An agent that repeats one action: silence, or the end of its turn."""

    def __init__(self, action: Any) -> None:
        self._action = action

    def reset(self, role: Role, seed: int | None) -> None:
        """Do nothing."""

    def act(self, observation: Any) -> Any:
        """Return the action."""
        return self._action

    def close(self) -> None:
        """Do nothing."""


def make_env(
    task: Task | None, role: str, partner: str, controls: str | None, team: str | None = None
) -> Any:
    """Return the environment. Only turns are limited; their length depends on the roles. Messages are text.

    task: None = one of the team's own.
    """
    from iglu_marl.agents.registry import game_options

    turn_steps: int | None = None
    if role == "architect":
        turn_steps = BUILDER_TURN_STEPS
    elif role == "builder" and partner not in ("replay", "none"):
        turn_steps = TURN_STEPS
    own = {
        "controls": "walking" if role == "architect" else "human-level",
        "turn_steps": turn_steps,
        "max_steps": None,
        "max_turns": None,
        "builder_can_ask": True,
        "builder_sees": ("inventory", "compass", "dialog", "pose", "grid"),
    }
    agents = {Role.BUILDER if role == "architect" else Role.ARCHITECT: [partner]}
    asked = {"controls": controls, "chat": "text"}
    options = game_options(agents, own, asked)
    return raw_env(team, **options) if task is None else raw_env(team, tasks=task, **options)


def make_agents(
    env: Any, seats: Sequence[str], partner: str, window: Window, step_s: float | None = None
) -> dict[str, Any]:
    """Return the agents by PettingZoo name. The seats are those of people, who share the window.

    step_s: seconds per step of theirs.
    """
    from iglu_marl.agents import HumanArchitect, HumanBuilder, ReplayArchitect
    from iglu_marl.agents.human.controls import InputMapper
    from iglu_marl.agents.human.player import PlayerWindow
    from iglu_marl.agents.registry import partner_for

    config, player = env.unwrapped.config, PlayerWindow(window)
    own: dict[str, Any] = {"cockpit": player, **({} if step_s is None else {"step_s": step_s})}

    def made(name: str) -> Any:
        builds = role_of(name) is Role.BUILDER
        if name in seats and builds:
            switches = config.controls in SWITCHED and not config.is_team  # the others keep their controls
            return HumanBuilder.for_seat(env, name, can_switch=switches, **own)
        if name in seats:
            return HumanArchitect.for_seat(env, name, **own)
        if partner == "none" and builds:
            inputs = InputMapper(config.controls, can_yield=True)
            inputs.yield_turn()
            return Idle({"act": inputs.action(0.0), "say": ""})
        if partner == "none":
            return Idle("")
        if partner == "replay":  # the next turn starts when the person ends this one
            return ReplayArchitect.for_env(env, patience=1)
        return partner_for(env, config.players[name], partner)

    return {name: made(name) for name in config.agents}


def carried_over(env: Any, controls: Any) -> Any:
    """Return an environment with the state of this game and another action encoding."""
    game = env.unwrapped
    other = raw_env(dataclasses.replace(game.config, controls=controls))
    other.reset(options={"task": game.task})
    other.set_state(game.get_state())
    return other


def play_game(
    env: Any,
    agents: dict[str, Any],
    recorder: Recorder | None = None,
    on_step: Callable[[Any], None] | None = None,
    seed: int | None = None,
) -> tuple[Any, str]:
    """Play an environment, which was just reset, to its end.

    Returns:
        The final environment (TAB replaces it), and how the game ended: "complete", "truncated" or "left".

    """
    for number, (name, agent) in enumerate(agents.items()):
        own = None if seed is None else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        begin(agent, role_of(name), own, env.unwrapped.task)
    if recorder is not None:
        recorder.begin(env, seed)
    try:
        while True:
            name = env.agent_selection
            if env.terminations[name] or env.truncations[name]:
                return env, "complete" if env.terminations[name] else "truncated"
            action = agents[name].act(env.observe(name))
            env.step(action)
            if recorder is not None:
                recorder.note(env, {env.unwrapped.config.players[name]: action})
            asked = getattr(agents[name], "asked_controls", None)
            if asked is not None:
                env = carried_over(env, asked)
                agents[name].use(asked)
                if recorder is not None:
                    recorder.switch(env)
            if on_step is not None:
                on_step(env)
    except WindowClosed:
        return env, "left"
    finally:
        if recorder is not None:
            recorder.end(env)


def show_result(window: Any, env: Any, how: str) -> None:
    """Show the final state with the target until a key is pressed or the window is closed."""
    title = {"complete": "Complete!", "truncated": "Out of steps."}[how] + "  Enter leaves."
    window.capture(False)
    window.typing(False)
    moment = moment_of(env.unwrapped.episode)
    views = game_views(**{**moment, "status": {**moment["status"], "title": title}})
    size = (0, 0)
    layers: list[Layer] = []
    while not window.closed:
        if window.size != size:
            size = window.size
            layers = onlooker_screen(*views, size, Overlay(), OrbitAngles())
        window.draw(layers)
        for event in window.poll():
            if isinstance(event, Closed) or (
                isinstance(event, Key) and event.down and event.name in ("return", "escape", "q")
            ):
                window.close()
                break
        time.sleep(0.02)


def _recorder(path: Path, env: Any, agents: dict[str, Any]) -> Recorder:
    made_folder(path.parent)
    players = env.unwrapped.config.players
    names = {str(players[name]): type(agent).__name__ for name, agent in agents.items()}
    return Recorder(path, agents=names, private=True)


def play_in_window(
    env: Any, seats: Sequence[str], partner: str, seed: int, engine: str, path: Path | None
) -> tuple[Any, str, dict[str, Any] | None]:
    """Play an environment, which was just reset, in a window, and record the game in the file `path`.

    seats: names of the agents that the person plays.

    Returns:
        The final environment, how the game ended (see `play_game`), and the statistics of a language model.

    """
    players = [str(env.unwrapped.config.players[seat]) for seat in seats]
    window = Window(f"iglu_marl: {' and '.join(players)}", engine=engine)
    agents = make_agents(env, seats, partner, window)
    window.open()  # fails without a display, before a file is written
    watch = getattr(agents[seats[-1]], "watch", None)  # of an architect who does not build
    try:
        with ExitStack() as stack:
            recorder = None if path is None else stack.enter_context(_recorder(path, env, agents))
            env, how = play_game(env, agents, recorder, watch, seed)
        if how != "left":
            show_result(window, env, how)
    finally:
        for agent in agents.values():
            agent.close()
        window.close()
    models = [
        agent.stats.as_dict()
        for agent in agents.values()
        if hasattr(getattr(agent, "stats", None), "as_dict")
    ]
    return env, how, models[0] if models else None
