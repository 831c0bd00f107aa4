"""What `iglu-marl record` does: a pair plays, and every move is written to a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from iglu_marl.core.controls import CONTROLS
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.task import Task
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.evaluation import DEFAULTS, factory, tasks_of
from iglu_marl.recording import Recorder
from iglu_marl.rollout import play


@dataclass(frozen=True)
class RecordOptions:
    """The options of the command, validated. Raises `ConfigError`."""

    output: Path
    architect: str = "scripted"
    builder: str = "scripted"
    tasks: str = "bundled"
    task: str | None = None
    episodes: int = 1
    controls: str = "walking"
    chat: str = "text"
    view: str = "aec"
    max_steps: int = 10_000
    append: bool = False
    seed: int = 0
    json: bool = False

    def __post_init__(self) -> None:
        for name, known in (
            ("controls", CONTROLS),
            ("chat", ("text", "tokens")),
            ("view", ("aec", "parallel")),
        ):
            if getattr(self, name) not in known:
                raise ConfigError(f"--{name} is {getattr(self, name)!r}, expected one of {', '.join(known)}")
        for name, least in (("episodes", 1), ("max_steps", 1), ("seed", 0)):
            if getattr(self, name) < least:
                option = name.replace("_", "-")
                raise ConfigError(
                    f"--{option} is {getattr(self, name)}, expected an integer of {least} or more"
                )
        if self.output.exists() and not self.append:
            raise ConfigError(
                f"{self.output} exists already; recordings are not overwritten: choose another name, or --append"
            )


def choose(options: RecordOptions) -> list[Task]:
    """The tasks to be played in turn: the named one, or all of the source from a place that the seed decides."""
    tasks = tasks_of(options.tasks, seed=options.seed)
    if options.task is None:
        first = options.seed % len(tasks)
        return tasks[first:] + tasks[:first]
    found = [task for task in tasks if task.task_id == options.task]
    if not found:
        raise ConfigError(
            f"--task is {options.task!r}, expected one of {', '.join(str(task.task_id) for task in tasks)}"
        )
    return found


def run(options: RecordOptions) -> bool:
    """Play, write, show. Returns whether all structures were completed."""
    tasks = choose(options)
    make = parallel_env if options.view == "parallel" else raw_env
    chosen: Any = {"max_steps": options.max_steps, "controls": options.controls, "chat": options.chat}
    env = make(tasks=tasks, **{**DEFAULTS, **chosen})
    agents = {
        Role.ARCHITECT: factory(options.architect, Role.ARCHITECT)(env),
        Role.BUILDER: factory(options.builder, Role.BUILDER)(env),
    }
    names = {"architect": options.architect, "builder": options.builder}
    console = Console(quiet=options.json, highlight=False, soft_wrap=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    games: list[dict[str, Any]] = []
    with (
        Recorder(options.output, agents=names) as recorder,
        Progress(*columns, console=Console(stderr=True, quiet=options.json), transient=True) as progress,
    ):
        for number in progress.track(range(options.episodes), description="games"):
            task = tasks[number % len(tasks)]
            seed = options.seed + number
            game = play(env, agents, seed=seed, options={"task": task}, on_step=recorder)
            games.append(
                {
                    "task": task.task_id,
                    "seed": seed,
                    "completed": game.completed,
                    "intersection": game.intersection,
                    "target_blocks": game.target_blocks,
                    "steps": game.builder_steps,
                    "turns": game.architect_turns,
                }
            )
    for agent in agents.values():
        agent.close()
    env.close()
    if options.json:
        print(json.dumps({"recording": str(options.output), "games": games}))
    for game_facts in games:
        verdict = "complete" if game_facts["completed"] else "not complete"
        console.print(
            f"{game_facts['task']}: {verdict}, {game_facts['intersection']} of {game_facts['target_blocks']} "
            f"blocks, {game_facts['steps']} builder steps"
        )
    console.print(
        f"The moves are in {options.output}; see them with: iglu-marl replay {options.output} --html game.html"
    )
    return all(facts["completed"] for facts in games)
