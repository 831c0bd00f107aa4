"""`iglu-marl play`: play as builder, architect, or both, in a window."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.output import new_path, print_json, text_console
from iglu_marl.core.dialogue import Role


def play(
    role: Annotated[str, opt.choice("builder", "architect", "both", about="your role")] = "builder",
    partner: Annotated[
        str,
        Option(help="The other agent: scripted, random, llm, replay, none, …", autocompletion=opt.an_agent),
    ] = "scripted",
    team: opt.Team = None,
    seat: Annotated[
        str | None, Option(help="Your seat in a team, such as builder_1. Default: the first of your role.")
    ] = None,
    tasks: opt.TaskSource = None,
    data: opt.Data = None,
    task: opt.TaskId = None,
    controls: Annotated[
        str | None,
        Option(
            help="Action encoding of the builder. Default: human-level for a person, else walking.",
            callback=opt.known_controls,
        ),
    ] = None,
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    seed: opt.Seed = 0,
    engine: opt.Engine = "auto",
    output: Annotated[
        Path | None,
        opt.output_file("Recording to write. Default: a new one in iglu-marl-play/.", parents=True),
    ] = None,
    keep: Annotated[bool, Option("--keep/--no-keep", help="Record the game.")] = True,
    as_json: opt.Json = False,
) -> bool:
    """Play in a window: build what another agent describes, or describe what it builds.

    Exit code 1 if incomplete.
    """
    from iglu_marl.commands.human_game import make_env, play_in_window
    from iglu_marl.commands.task_selection import choose_session, choose_task
    from iglu_marl.core.dialogue import role_of
    from iglu_marl.game.config import GameConfig

    seats = [seat or f"{one.value}_0" for one in Role if role in (one.value, "both")]
    if team is not None:
        opt.expect_one_of("--seat", seat or f"{role}_0", GameConfig.of(team, {}).agents)
        role = role_of(seats[0]).value
    opt.expect("--seat", seat, seat is None or team is not None, "a seat of a --team")
    opt.expect_agent("--partner", partner, Role.BUILDER if role == "architect" else Role.ARCHITECT, "none")
    loading = False if as_json else None
    if team is not None and (tasks, data, task) == (None, None, None):
        chosen = None
    elif partner == "replay" and role == "builder":
        chosen = choose_session(tasks, data, task, seed, progress=loading)[0]
    else:
        chosen = choose_task(tasks, data, task, seed, progress=loading)
    env = make_env(chosen, role, partner, controls, team)
    env.reset(seed=seed)
    name = str(env.unwrapped.task.task_id or "structure")
    new = new_path("iglu-marl-play", name, seat or role, suffix=".jsonl")
    path = (output or new) if keep else None
    env, how, counts = play_in_window(env, seats, partner, seed, engine, path)
    worlds = env.unwrapped.episode.worlds
    facts = {
        "task": env.unwrapped.task.task_id,
        "role": seat or role,
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
    if not print_json(as_json, facts):
        _summary(facts)
    return how == "complete"


def _summary(facts: dict[str, Any]) -> None:
    how = {"complete": "complete", "truncated": "out of steps", "left": "left before the end"}[facts["end"]]
    console = text_console()
    console.print(
        f"{facts['task'] or 'structure'}: {how}, {facts['intersection']} of {facts['target_blocks']} blocks right."
    )
    console.print(f"{facts['builder_steps']} builder steps, {facts['architect_turns']} architect turns.")
    if "model" in facts:
        counts = facts["model"]
        failures = ", ".join(f"{count} {kind}" for kind, count in counts["failures"].items()) or "none"
        console.print(f"The model had {counts['requests']} requests; failures: {failures}.")
    if facts["recording"] is not None:
        console.print(f"The recording is {facts['recording']}.")
