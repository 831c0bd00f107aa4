"""`iglu-marl watch`: show a game of agents, or a recorded game, in a window."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from iglu_marl.commands import options as opt
from iglu_marl.core.dialogue import Role


def watch(
    architect: Annotated[
        str, opt.agent_name(Role.ARCHITECT, "Architect, by name or FILE.py:Class.")
    ] = "scripted",
    builder: Annotated[str, opt.agent_name(Role.BUILDER, "Builder, by name or FILE.py:Class.")] = "scripted",
    tasks: opt.TaskSource = None,
    task: opt.TaskId = None,
    team: opt.Team = None,
    controls: opt.Controls = None,
    seed: opt.Seed = 0,
    recording: Annotated[Path | None, Option(help="Recording to show instead of a new game.")] = None,
    episode: opt.Episode = 0,
    speed: Annotated[
        float, Option(help="Speed, relative to a game of people.", callback=opt.within(0.01, 100, "times"))
    ] = 2.0,
    camera: Annotated[
        str, opt.choice("follow", "orbit", about="from the builder's eyes, or around the build")
    ] = "follow",
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    engine: opt.Engine = "auto",
) -> None:
    """Watch a game of agents, or a recorded game, in a window: pause, step back, move the camera."""
    from iglu_marl.commands import game_viewer

    if recording is not None:
        game = game_viewer.recorded_game(recording, episode)
    else:
        game = game_viewer.live_game(tasks, task, seed, controls, architect, builder, team)
    game_viewer.watch_game(*game, speed=speed, camera=camera, engine=engine)
