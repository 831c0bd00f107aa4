"""`iglu-marl play`: a person plays the builder, the architect, or both, in a window."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from iglu_marl.commands.options import (
    Data,
    Engine,
    Json,
    LLMEndpoint,
    LLMModel,
    LLMView,
    Seed,
    TaskId,
    Tasks,
    an_agent,
    choice,
    expect_agent,
    known_controls,
)
from iglu_marl.core.dialogue import Role

FOLDER = Path("iglu-marl-play")


def play(
    role: Annotated[str, choice("builder", "architect", "both", about="whom you play")] = "builder",
    partner: Annotated[
        str,
        Option(help="Who plays the other: scripted, random, llm, replay, none, …", autocompletion=an_agent),
    ] = "scripted",
    tasks: Tasks = None,
    data: Data = None,
    task: TaskId = None,
    controls: Annotated[
        str | None,
        Option(
            help="The builder's action encoding. Default: human-level for a person, else as for watch.",
            callback=known_controls,
        ),
    ] = None,
    model: LLMModel = None,
    endpoint: LLMEndpoint = None,
    view: LLMView = None,
    seed: Seed = 0,
    engine: Engine = "auto",
    record: Annotated[
        Path | None, Option(help="The recording. Default: a new one in iglu-marl-play/.")
    ] = None,
    keep: Annotated[bool, Option("--keep/--no-keep", help="Whether to record.")] = True,
    as_json: Json = False,
) -> bool:
    """Play in a window: build what a partner describes, or describe what a partner builds."""
    from iglu_marl.commands.human_game import make_env, play_in_window
    from iglu_marl.commands.task_selection import choose_session, choose_task

    expect_agent("--partner", partner, Role.BUILDER if role == "architect" else Role.ARCHITECT, "none")
    loading = False if as_json else None
    if partner == "replay" and role == "builder":
        chosen = choose_session(tasks, data, task, seed, progress=loading)[0]
    else:
        chosen = choose_task(tasks, data, task, seed, progress=loading)
    env = make_env(chosen, role, partner, controls)
    env.reset(seed=seed)
    path = (record or _new_recording(str(chosen.task_id or "structure"), role)) if keep else None
    env, how, counts = play_in_window(env, role, partner, seed, engine, path)
    worlds = env.unwrapped.episode.worlds
    facts = {
        "task": env.unwrapped.task.task_id,
        "role": role,
        "partner": partner if role != "both" else None,
        "seed": seed,
        "end": how,
        "completed": how == "complete",
        "intersection": int(worlds.best[0]),
        "target_blocks": int(worlds.target_blocks[0]),
        "builder_steps": int(worlds.steps[0]),
        "architect_turns": int(worlds.turns[0]),
        "recording": None if path is None else str(path),
        **({} if counts is None else {"model": counts}),
    }
    if as_json:
        print(json.dumps(facts))
    else:
        _summary(facts)
    return how == "complete"


def _new_recording(name: str, role: str) -> Path:
    """A file in the folder of recorded games."""
    name = re.sub(r"[^\w.-]+", "-", name)
    return FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}-{role}.jsonl"


def _summary(facts: dict[str, Any]) -> None:
    how = {"complete": "complete", "truncated": "out of steps", "left": "left before the end"}[facts["end"]]
    print(f"{facts['task']}: {how}, {facts['intersection']} of {facts['target_blocks']} blocks right.")
    print(f"{facts['builder_steps']} builder steps, {facts['architect_turns']} architect turns.")
    if "model" in facts:
        counts = facts["model"]
        failures = ", ".join(f"{count} {kind}" for kind, count in counts["failures"].items()) or "none"
        print(f"The model had {counts['requests']} requests; failures: {failures}.")
    if facts["recording"] is not None:
        print(f"The recording is {facts['recording']}.")
