"""`iglu-marl watch`: a game in a window, as two agents play it or as it was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from iglu_marl.commands.options import (
    Controls,
    Engine,
    LLMEndpoint,
    LLMModel,
    LLMViewLong,
    Seed,
    TaskId,
    Tasks,
    agent_name,
    at_least,
    choice,
    within,
)
from iglu_marl.core.dialogue import Role


def watch(
    architect: Annotated[str, agent_name(Role.ARCHITECT, "Who explains.")] = "scripted",
    builder: Annotated[str, agent_name(Role.BUILDER, "Who builds.")] = "scripted",
    tasks: Tasks = None,
    task: TaskId = None,
    controls: Controls = None,
    seed: Seed = 0,
    recording: Annotated[Path | None, Option(help="Instead: a game of this recording.")] = None,
    episode: Annotated[int, Option(help="Which game of the recording, from 0.", callback=at_least(0))] = 0,
    speed: Annotated[
        float, Option(help="Times as fast as people play.", callback=within(0.01, 100, "times"))
    ] = 2.0,
    camera: Annotated[
        str, choice("follow", "orbit", about="the builder's eyes, or around the build")
    ] = "follow",
    model: LLMModel = None,
    endpoint: LLMEndpoint = None,
    llm_view: LLMViewLong = None,
    engine: Engine = "auto",
) -> None:
    """Watch a game in a window, as agents play it or as it was recorded: pause, step back, look from elsewhere."""
    from iglu_marl.commands import game_viewer

    if recording is not None:
        game = game_viewer.recorded_game(recording, episode)
    else:
        game = game_viewer.live_game(tasks, task, seed, controls, architect, builder)
    game_viewer.watch_game(*game, speed=speed, camera=camera, engine=engine)
