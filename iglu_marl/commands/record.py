"""`iglu-marl record`: a pair plays, and every move is written to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from iglu_marl.commands.options import (
    Chat,
    Controls,
    Data,
    Json,
    LLMEndpoint,
    LLMModel,
    LLMViewLong,
    MaxSteps,
    Seed,
    TaskId,
    TaskSource,
    View,
    a_builder,
    an_architect,
    at_least,
    expect_one_of,
)
from iglu_marl.commands.output import game_facts, progress_bar, stoppable, text_console
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError

if TYPE_CHECKING:
    from iglu_marl.core.task import Task


def record(
    output: Annotated[
        Path, Argument(metavar="FILE", help="The recording to write: JSON lines, a line each move.")
    ],
    architect: Annotated[
        str,
        Option(help="By name (scripted, terse, vague, …), or module:attribute.", autocompletion=an_architect),
    ] = "scripted",
    builder: Annotated[
        str,
        Option(help="By name (scripted, hasty, oracle, …), or module:attribute.", autocompletion=a_builder),
    ] = "scripted",
    tasks: TaskSource = "bundled",
    task: TaskId = None,
    data: Data = None,
    episodes: Annotated[int, Option(help="How many games, one after the other.", callback=at_least(1))] = 1,
    controls: Controls = None,
    chat: Chat = None,
    view: View = "aec",
    model: LLMModel = None,
    endpoint: LLMEndpoint = None,
    llm_view: LLMViewLong = None,
    max_steps: MaxSteps = 10_000,
    append: Annotated[bool, Option("--append", help="Go on in a recording that exists.")] = False,
    repair: Annotated[
        bool,
        Option(
            "--repair",
            help="Play nothing: leave of a damaged recording what is whole; FILE.damaged keeps the rest.",
        ),
    ] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> bool:
    """Let a pair play, and write every move to a file."""
    if repair:
        return _repair(output, as_json)
    from iglu_marl.agents.registry import game_options
    from iglu_marl.envs.aec import raw_env
    from iglu_marl.envs.parallel import parallel_env
    from iglu_marl.evaluation import DEFAULTS, factory
    from iglu_marl.recording import Recorder
    from iglu_marl.recording.rollout import play

    if output.exists() and not append:
        raise ConfigError(
            f"{output} exists already; recordings are not overwritten: choose another name, or --append"
        )
    chosen = _chosen(tasks, data, task, seed)
    names = {Role.ARCHITECT: architect, Role.BUILDER: builder}
    asked = {"max_steps": max_steps, "controls": controls, "chat": chat}
    config = game_options({role: [name] for role, name in names.items()}, DEFAULTS, asked)
    env: Any = (parallel_env if view == "parallel" else raw_env)(tasks=chosen, **config)
    agents = {role: factory(name, role)(env) for role, name in names.items()}
    told = {role.value: name for role, name in names.items()}
    games: list[dict[str, Any]] = []
    kept = lambda: f"{len(games)} whole games are in {output}; --append adds others."  # noqa: E731
    with (
        stoppable(kept),
        Recorder(output, agents=told) as recorder,
        progress_bar(as_json) as progress,
    ):
        for number in progress.track(range(episodes), description="games"):
            game_task = chosen[number % len(chosen)]
            game = play(env, agents, seed=seed + number, options={"task": game_task}, on_step=recorder)
            games.append(game_facts(game))
    for agent in agents.values():
        agent.close()
    env.close()
    if as_json:
        print(json.dumps({"recording": str(output), "games": games}))
    console = text_console(as_json)
    for facts in games:
        verdict = "complete" if facts["completed"] else "not complete"
        console.print(
            f"{facts['task']}: {verdict}, {facts['intersection']} of {facts['target_blocks']} "
            f"blocks, {facts['steps']} builder steps"
        )
    console.print(f"The moves are in {output}; see them with: iglu-marl replay {output} --html game.html")
    return all(facts["completed"] for facts in games)


def _repair(path: Path, as_json: bool) -> bool:
    """Leave of a recording what can be read, and tell what was lost."""
    from iglu_marl.recording import repair

    done = repair(path)
    if as_json:
        facts = {"episodes": done.episodes, "kept": done.kept, "lost": done.lost}
        damaged = None if done.damaged is None else str(done.damaged)
        print(json.dumps({"recording": str(path), **facts, "damaged": damaged}))
    told = "nothing is damaged"
    if done.damaged is not None:
        told = f"lost lines: {', '.join(map(str, done.lost)) or 'none'}; the file as it was is {done.damaged}"
    text_console(as_json).print(f"{path} has {done.kept} lines of {done.episodes} games; {told}")
    return True


def _chosen(source: str, data: Path | None, name: str | None, seed: int) -> list[Task]:
    """The tasks to be played in turn: the named one's, or all of the source; from a place that the seed decides."""
    from iglu_marl.commands.task_selection import corpus_tasks
    from iglu_marl.evaluation import tasks_of

    if data is not None:
        if source != "bundled":
            raise ConfigError("--tasks does not go with --data: tasks come from the one or the other")
        tasks = corpus_tasks(data, name, dialog=True)
    else:
        tasks = tasks_of(source, seed=seed)
        if name is not None:
            expect_one_of("--task", name, [str(task.task_id) for task in tasks])
            return [task for task in tasks if task.task_id == name]
    first = seed % len(tasks)
    return tasks[first:] + tasks[:first]
