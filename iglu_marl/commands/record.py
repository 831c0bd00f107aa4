"""`iglu-marl record`: play games and write every move to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.output import game_facts, print_json, progress_bar, stoppable, text_console
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError

if TYPE_CHECKING:
    from iglu_marl.core.task import Task

MAX_STEPS = 10_000


def record(
    output: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="Recording to write (JSON lines, one per move).",
            callback=opt.writable_file,
        ),
    ],
    architect: opt.Architect = "scripted",
    builder: opt.Builder = "scripted",
    team: opt.Team = None,
    architects: opt.Architects = None,
    builders: opt.Builders = None,
    tasks: opt.GameTasks = None,
    task: opt.TaskId = None,
    data: opt.Data = None,
    episodes: Annotated[int, opt.integer(1, "Number of games.")] = 1,
    controls: opt.Controls = None,
    chat: opt.Chat = None,
    api: opt.Api = "aec",
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    max_steps: Annotated[int | None, opt.steps_of_game(MAX_STEPS)] = None,
    append: Annotated[bool, Option("--append", help="Append to an existing recording.")] = False,
    repair: Annotated[
        bool, Option("--repair", help="Do not play: repair FILE. The damaged file is kept as FILE.damaged.")
    ] = False,
    seed: opt.Seed = 0,
    as_json: opt.Json = False,
) -> bool:
    """Play games of two agents, or with --team NAME of a team, and write every move to a file.

    Exit code 1 if a structure is incomplete.

    Examples: iglu-marl record games.jsonl --episodes 3; iglu-marl record games.jsonl --repair
    """
    if repair:
        return _repair(output, as_json)
    from iglu_marl.agents.registry import agents_for, game_options
    from iglu_marl.core.dialogue import role_of
    from iglu_marl.envs.aec import raw_env
    from iglu_marl.envs.parallel import parallel_env
    from iglu_marl.evaluation.evaluation import DEFAULTS
    from iglu_marl.recording import Recorder
    from iglu_marl.recording.rollout import play

    if output.exists() and not append:
        raise ConfigError(f"{output} exists; choose another name, or add to it with --append")
    names = {Role.ARCHITECT: architect, Role.BUILDER: builder}
    own = {**DEFAULTS, "max_steps": MAX_STEPS, **opt.game_of_team(team, architects, builders, api)}
    asked = {"max_steps": max_steps, "controls": controls, "chat": chat}
    config = game_options({role: [name] for role, name in names.items()}, own, asked)
    chosen = config["tasks"] = _chosen(tasks, data, task, seed, own.get("tasks"))
    env: Any = (parallel_env if api == "parallel" else raw_env)(**config)
    agents = agents_for(env, architect, builder)
    players = {str(player): names[role_of(player)] for player in env.unwrapped.config.players.values()}
    games: list[dict[str, Any]] = []
    kept = lambda: f"{len(games)} complete games are in {output}; --append adds more."  # noqa: E731
    with (
        stoppable(kept),
        Recorder(output, agents=players) as recorder,
        progress_bar(as_json) as progress,
    ):
        for number in progress.track(range(episodes), description="games"):
            game_task = chosen[number % len(chosen)]
            game = play(env, agents, seed=seed + number, options={"task": game_task}, on_step=recorder)
            games.append(game_facts(game))
    for agent in agents.values():
        agent.close()
    env.close()
    print_json(as_json, {"recording": str(output), "games": games})
    console = text_console(as_json)
    for facts in games:
        verdict = "complete" if facts["completed"] else "not complete"
        console.print(
            f"{facts['task']}: {verdict}, {facts['intersection']} of {facts['target_blocks']} "
            f"blocks, {facts['steps']} builder steps"
        )
    console.print(f"Recording: {output}. Watch it: iglu-marl show {output} -o game.html")
    return all(facts["completed"] for facts in games)


def _repair(path: Path, as_json: bool) -> bool:
    """Keep the readable lines of a recording, and report the lost ones."""
    from iglu_marl.recording import repair

    done = repair(path)
    if as_json:
        facts = {"episodes": done.episodes, "kept": done.kept, "lost": done.lost}
        damaged = None if done.damaged is None else str(done.damaged)
        print(json.dumps({"recording": str(path), **facts, "damaged": damaged}))
    state = "nothing is damaged"
    if done.damaged is not None:
        state = f"lost lines: {', '.join(map(str, done.lost)) or 'none'}; the damaged file is {done.damaged}"
    text_console(as_json).print(f"{path} has {done.kept} lines of {done.episodes} games; {state}")
    return True


def _chosen(
    source: str | None, data: Path | None, name: str | None, seed: int, own: Any = None
) -> list[Task]:
    """Return the tasks to play in turn: the named one, or all of the source from a position that the seed decides.

    own: source of the game of a team, if nothing else is chosen.
    """
    from iglu_marl.commands.task_selection import corpus_tasks
    from iglu_marl.evaluation import tasks_of

    if data is not None:
        if source is not None:
            raise ConfigError("--task-source and --data exclude each other, but both are given")
        tasks = corpus_tasks(data, name, dialog=True)
    else:
        usual = "bundled" if own is None or name is not None else own
        tasks = tasks_of(source or usual, seed=seed)
        if name is not None:
            opt.expect_one_of("--task", name, [str(task.task_id) for task in tasks])
            return [task for task in tasks if task.task_id == name]
    first = seed % len(tasks)
    return tasks[first:] + tasks[:first]
