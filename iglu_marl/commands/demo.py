"""`iglu-marl demo`: play one game of two agents or a team."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from iglu_marl.commands import options as opt
from iglu_marl.commands.options import Data, Json, Seed, TaskId, output_folder
from iglu_marl.commands.output import game_facts, print_json, progress_bar, stoppable, styled, text_console
from iglu_marl.core.dialogue import Role
from iglu_marl.core.files import made_folder, write_text

if TYPE_CHECKING:
    from iglu_marl.core.task import Task
    from iglu_marl.game.agent import Agent
    from iglu_marl.recording.rollout import Trajectory
    from iglu_marl.recording.videos import GameMoments

SCRIPTED = "scripted"
MAX_STEPS, MAX_TURNS_PER_BLOCK = 10_000, 12
_STYLE = {Role.ARCHITECT: "bold yellow", Role.BUILDER: "bold cyan"}


def demo(
    architect: opt.Architect = SCRIPTED,
    builder: opt.Builder = SCRIPTED,
    team: opt.Team = None,
    architects: opt.Architects = None,
    builders: opt.Builders = None,
    tasks: opt.GameTasks = None,
    data: Data = None,
    task: TaskId = None,
    controls: opt.Controls = None,
    max_steps: Annotated[int | None, opt.steps_of_game(MAX_STEPS)] = None,
    seed: Seed = 0,
    output: Annotated[Path, output_folder("Folder for pictures, replay page and transcript.")] = Path(
        "iglu-marl-demo"
    ),
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    as_json: Json = False,
) -> bool:
    """Play one game: an architect explains a structure, a builder builds it.

    With --team division, two builders who hold different colors build it. Exit code 1 if incomplete.

    Examples: iglu-marl demo; iglu-marl demo --team division; iglu-marl demo --task crane --seed 3
    """
    from iglu_marl.commands.task_selection import choose_task

    game = opt.game_of_team(team, architects, builders)
    loading = False if as_json else None
    chosen = choose_task(tasks, data, task, seed, own=game.get("tasks"), progress=loading)
    console = text_console(as_json)
    files: list[Path] = []
    kept = lambda: f"Saved in {output.resolve()}: {', '.join(file.name for file in files) or 'nothing'}"  # noqa: E731
    with stoppable(kept), progress_bar(as_json, console) as progress:
        env, agents = game_of(chosen, controls, architect, builder, max_steps, game)
        trajectory, watcher, reason = _played_game(env, agents, chosen, seed, console, progress)
        for file in save(output, trajectory, watcher.moments):
            files.append(file)
            if file.suffix == ".html":
                console.print(f"Watch it: open {file.resolve()} in a browser")
    facts = {
        **game_facts(trajectory),
        "controls": env.unwrapped.config.controls,
        "impossible": reason,
        "files": [str(path) for path in files],
    }
    if not print_json(as_json, facts):
        _summary(console, facts, output)
    return trajectory.completed


class _Watcher:
    """Print the dialogue of a game, update the progress bar, and keep the moments for the pictures."""

    def __init__(self, console: Console, progress: Progress, total: int) -> None:
        from iglu_marl.recording.videos import GameMoments

        self.console, self.progress = console, progress
        self.bar = progress.add_task("blocks", total=total)
        self.heard = 0
        self.moments = GameMoments()

    def __call__(self, env: Any) -> None:
        episode = env.unwrapped.episode
        for utterance in episode.dialogue[self.heard :]:
            name = utterance.speaker.capitalize()
            self.console.print(styled(f"{name:>9}", _STYLE[utterance.role]), utterance.text, sep="  ")
        self.heard = len(episode.dialogue)
        self.progress.update(self.bar, completed=int(episode.worlds.best[0]))
        self.moments(env)


def save(output: Path, game: Trajectory, moments: GameMoments) -> Iterator[Path]:
    """Write pictures, transcript and page into the output folder; yield each file."""
    made_folder(output)
    yield moments.write(output / "demo.png")
    yield write_text(output / "dialogue.txt", game.dialogue.text + "\n")
    yield moments.write(output / "replay.html", game.task.task_id)


def _summary(console: Console, facts: dict[str, Any], output: Path) -> None:
    table = Table(title=f"{facts['task'] or 'a structure'}, {facts['controls']}", show_header=False)
    verdict, color = ("complete", "green") if facts["completed"] else ("not complete", "red")
    blocks = f"{facts['intersection']} of {facts['target_blocks']} blocks"
    table.add_row("structure", styled(f"{verdict}, {blocks}", color))
    table.add_row("builder steps, architect turns", f"{facts['steps']}, {facts['turns']}")
    console.print(table)
    if facts["impossible"]:
        console.print(f"It could not be completed: {facts['impossible']}")
    names = ", ".join(Path(name).name for name in facts["files"])
    console.print(f"Saved in {output.resolve()}: {names}")


# ------------------------------------------------------------------------------------------------------- games


def game_of(
    task: Task,
    controls: str | None,
    architect: str = SCRIPTED,
    builder: str = SCRIPTED,
    max_steps: int | None = None,
    team: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Any, dict[Any, Agent]]:
    """Return an environment for a task, and the agents of these names to play it. team: options of its game."""
    from iglu_marl.agents.registry import agents_for, game_options
    from iglu_marl.envs.aec import raw_env

    own = {
        "controls": "walking",
        "builder_sees": ("inventory", "compass", "dialog", "pose", "grid"),
        "builder_can_ask": bool(team) or builder != SCRIPTED,  # that one only says that it is done
        "max_steps": MAX_STEPS,
        "max_turns": MAX_TURNS_PER_BLOCK * max(1, int((task.start_grid != task.target_grid).sum())),
        "turn_steps": 200,
        **team,
    }
    playing, asked = (
        {Role.ARCHITECT: [architect], Role.BUILDER: [builder]},
        {"controls": controls, "max_steps": max_steps},
    )
    options = {**game_options(playing, own, asked), "tasks": task}
    env: Any = raw_env(**options)
    return env, agents_for(env, architect, builder, reader="person")


def _played_game(
    env: Any, agents: dict[Any, Agent], task: Task, seed: int, console: Console, progress: Progress
) -> tuple[Trajectory, _Watcher, str]:
    from iglu_marl.recording.rollout import play

    config, what = env.unwrapped.config, f"{task.task_id or 'a structure'} ({task.target_size} blocks)"
    if config.is_team:
        seen = (f"{agent} {' and '.join(config.parts_of(agent))}" for agent in config.agents)
        console.print(f"The task is {what}. What each agent sees of it: {', '.join(seen)}.")
    else:
        console.print(f"The architect sees {what}; the builder sees only its world.")
    reason = _reason_impossible(env, console)
    watcher = _Watcher(console, progress, task.target_size)
    return play(env, agents, seed=seed, on_step=watcher), watcher, reason


def _reason_impossible(env: Any, console: Console) -> str:
    """Return why the target cannot be completed, and print it; "" if that is not proved."""
    env.reset(seed=0)
    reason: str = env.unwrapped.episode.reason_impossible()
    if reason:
        console.print(f"The target is impossible: {reason}. The game shows how far it goes.")
    return reason
