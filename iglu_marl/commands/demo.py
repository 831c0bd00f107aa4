"""What `iglu-marl demo` does: choose a structure, let the scripted pair build it, show and save how it went.

With `--replay` a recorded human dialogue is the architect, in the silent-builder view.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from PIL import Image
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import write_text
from iglu_marl.core.scoring import intersection_scores
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.data import bundled
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.single import SilentBuilderEnv
from iglu_marl.game.agent import Agent
from iglu_marl.rollout import Trajectory, play
from iglu_marl.tasks import BundledTasks, StructureTasks, TaskSet

CONTROLS = ("walking", "flying")
VIDEOS = ("mp4", "gif", "both", "none")
MAX_STEPS, MAX_TURNS_PER_BLOCK = 10_000, 12
IDLE_STEPS = 60  # without a move, a turn of the head or a block: then a replay's builder has given up
MP4_FPS, MP4_FRAMES = 20.0, 2400  # as fast as the builder acts, up to two minutes
GIF_FPS, GIF_FRAMES, GIF_SIZE = 10.0, 100, (576, 324)  # for pages: few frames, small (width, height)
STILL_FRAMES = 20  # the last picture stays for a second

Frame = npt.NDArray[np.uint8]
_STYLE = {Role.ARCHITECT: "bold yellow", Role.BUILDER: "bold cyan"}


@dataclass(frozen=True)
class DemoOptions:
    """The options of the command, validated. Raises `ConfigError`."""

    tasks: Path | None = None
    data: Path | None = None
    task: str | None = None
    replay: bool = False
    controls: str = "walking"
    seed: int = 0
    output: Path = Path("iglu-marl-demo")
    video: str = "both"
    json: bool = False

    def __post_init__(self) -> None:
        if self.tasks is not None and (self.data is not None or self.replay):
            raise ConfigError(
                "--tasks has structures without dialogues; it does not go with --data or --replay"
            )
        for name, known in (("controls", CONTROLS), ("video", VIDEOS)):
            if getattr(self, name) not in known:
                raise ConfigError(f"--{name} is {getattr(self, name)!r}, expected one of {', '.join(known)}")
        if self.seed < 0:
            raise ConfigError(f"--seed is {self.seed}, expected an integer of 0 or more")
        if self.output.exists() and not self.output.is_dir():
            raise ConfigError(f"--output is {str(self.output)!r}, which is a file; expected a folder")


def _controls(options: DemoOptions) -> ControlsName:
    return cast(ControlsName, options.controls)  # checked by the options


def choose(options: DemoOptions) -> Task:
    """The structure to build, by name or by the seed."""
    if options.data is not None:
        found = _corpus_tasks(options)
    elif options.tasks is not None:
        source = StructureTasks(options.tasks, None if options.task is None else [options.task])
        found = list(source)
    else:
        found = list(BundledTasks(mode="structures"))
        if options.task is not None:
            names = [str(task.task_id) for task in found]
            if options.task not in names:
                raise ConfigError(f"--task is {options.task!r}, expected one of {', '.join(names)}")
            found = [found[names.index(options.task)]]
    return found[int(np.random.default_rng(options.seed).integers(len(found)))]


def _corpus_tasks(options: DemoOptions) -> list[Task]:
    """Gold structures of the Minecraft Dialogue Corpus: the one that is named, or all."""
    if options.task is not None:
        return list(TaskSet(preset=[options.task], path=options.data, dialog=False))
    from iglu_marl.data.mdc import Corpus

    corpus = Corpus.open(options.data, fetch=False, progress=False if options.json else None)
    return list(TaskSet(preset=list(corpus.gold), path=options.data, dialog=False))


def choose_session(options: DemoOptions) -> Subtasks:
    """The recorded session to be replayed, by the structure's name and the seed; its turns lead to each other."""
    # People's builds stay where they were: a turned or shifted first turn would not fit what was said next.
    kept = {"progressive": True, "invariant": False}
    if options.data is None:
        sessions = bundled.load()
    else:
        from iglu_marl.data.cdm import CDMDataset

        structures = None if options.task is None else [options.task]
        shown = False if options.json else None
        sessions = CDMDataset(options.data, structures=structures, fetch=False, progress=shown).tasks
    if options.task is not None:
        if options.task not in sessions:
            names = ", ".join(sessions) or "no session of that structure"
            raise ConfigError(f"--task is {options.task!r}, expected one of {names}")
        sessions = {options.task: sessions[options.task]}
    listed = [session for found in sessions.values() for session in found]
    session = listed[int(np.random.default_rng(options.seed).integers(len(listed)))]
    return Subtasks(session.turns, session.structures, task_id=session.task_id, ids="iglu", **kept)


class _Watcher:
    """Follows a game: prints what is said, moves the progress bar, keeps the states for the pictures."""

    def __init__(
        self,
        console: Console,
        progress: Progress,
        total: int,
        what: str = "blocks",
        counted: Callable[[Any], int] = lambda episode: episode.worlds.best[0],
    ) -> None:
        self.console, self.progress, self.counted = console, progress, counted
        self.bar = progress.add_task(what, total=total)
        self.heard = 0
        self.states: list[Any] = []

    def __call__(self, env: Any) -> None:
        episode = env.unwrapped.episode
        for utterance in episode.dialogue[self.heard :]:
            name = utterance.role.value.capitalize()
            self.console.print(f"[{_STYLE[utterance.role]}]{name:>9}[/]  {utterance.text}", highlight=False)
        self.heard = len(episode.dialogue)
        self.progress.update(self.bar, completed=int(self.counted(episode)))
        self.states.append(env.unwrapped.get_state())


def frames(env: Any, states: list[Any], size: tuple[int, int] | None = None) -> Iterator[Frame]:
    """The composed frame of each saved state, drawn anew, and scaled to (width, height) when asked."""
    frame: Frame | None = None
    for state in states:
        env.set_state(state)
        frame = env.render()
        if size is not None:
            frame = np.asarray(Image.fromarray(frame).resize(size, Image.Resampling.LANCZOS))
        yield frame
    if frame is not None:
        yield from [frame] * STILL_FRAMES


def every(states: list[Any], limit: int) -> list[Any]:
    """At most `limit` states, evenly chosen, the last one among them."""
    if len(states) <= limit:
        return states
    return [states[int(index)] for index in np.linspace(0, len(states) - 1, limit)]


def save(options: DemoOptions, env: Any, states: list[Any], text: str, progress: Progress) -> list[Path]:
    """Write pictures, videos, page and transcript into the output folder; returns what was written."""
    from iglu_marl.rendering import ReplayRecorder, write_png, write_video

    options.output.mkdir(parents=True, exist_ok=True)
    written = []
    for name, state in (("halfway", states[len(states) // 2]), ("demo", states[-1])):
        env.set_state(state)
        written.append(write_png(options.output / f"{name}.png", env.render()))
    kinds = {"both": ("mp4", "gif"), "none": ()}.get(options.video, (options.video,))
    for kind in kinds:
        chosen = every(states, GIF_FRAMES if kind == "gif" else MP4_FRAMES)
        bar = progress.add_task(f"{kind:>6}", total=len(chosen) + STILL_FRAMES)
        shown = progress.track(frames(env, chosen, GIF_SIZE if kind == "gif" else None), task_id=bar)
        written.append(
            write_video(options.output / f"demo.{kind}", shown, GIF_FPS if kind == "gif" else MP4_FPS)
        )
    recorder = ReplayRecorder()
    for state in states:
        env.set_state(state)
        recorder(env)
    written.append(recorder.write(options.output / "replay.html"))
    return [*written, write_text(options.output / "dialogue.txt", text + "\n")]


def result(options: DemoOptions, trajectory: Trajectory, files: list[Path]) -> dict[str, Any]:
    """The figures of the game, JSON-ready."""
    task = trajectory.task
    assert trajectory.grid is not None
    scores = intersection_scores(trajectory.grid, task.target_grid, invariant=task.is_invariant)
    return {
        "task": task.task_id,
        "controls": options.controls,
        "seed": options.seed,
        "completed": trajectory.completed,
        "intersection": trajectory.intersection,
        "target_blocks": trajectory.target_blocks,
        **{name: round(value, 4) for name, value in scores._asdict().items() if name != "intersection"},
        "return": trajectory.returns[Role.BUILDER],
        "builder_steps": trajectory.builder_steps,
        "architect_turns": trajectory.architect_turns,
        "files": [str(path) for path in files],
    }


def _summary(console: Console, facts: dict[str, Any], output: Path) -> None:
    table = Table(title=f"{facts['task']}, {facts['controls']}", show_header=False)
    verdict = "[bold green]complete[/]" if facts["completed"] else "[bold red]not complete[/]"
    table.add_row("structure", f"{verdict}, {facts['intersection']} of {facts['target_blocks']} blocks")
    table.add_row(
        "precision, recall, F1", f"{facts['precision']:.2f}, {facts['recall']:.2f}, {facts['f1']:.2f}"
    )
    if "turns" in facts:
        table.add_row("turns of the recorded dialogue", f"{facts['turns_done']} of {facts['turns']}")
    table.add_row("return", f"{facts['return']:g}")
    table.add_row("builder steps, architect turns", f"{facts['builder_steps']}, {facts['architect_turns']}")
    console.print(table)
    names = ", ".join(Path(name).name for name in facts["files"])
    console.print(f"Saved in [bold]{output.resolve()}[/]: {names}", highlight=False, soft_wrap=True)


def _progress(console: Console) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
    )
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True)


def scripted_game(task: Task, controls: ControlsName) -> tuple[Any, dict[str, Agent]]:
    """A game about a task, and the scripted pair to play it."""
    from iglu_marl.agents import ScriptedArchitect, ScriptedBuilder

    env = raw_env(
        tasks=task,
        controls=controls,
        builder_sees=("inventory", "compass", "dialog", "pose", "grid"),
        max_steps=MAX_STEPS,
        max_turns=MAX_TURNS_PER_BLOCK * max(1, task.target_size),
        turn_steps=200,
        render_mode="rgb_array",
    )
    return env, {"architect": ScriptedArchitect(), "builder": ScriptedBuilder(controls=controls)}


def run(options: DemoOptions) -> bool:
    """Play, show, save. Returns whether the structure was completed."""
    if options.replay:
        return run_replay(options)
    task = choose(options)
    console = Console(quiet=options.json)
    env, agents = scripted_game(task, _controls(options))
    console.print(
        f"The architect sees [bold]{task.task_id}[/] ({task.target_size} blocks); the builder sees only its world."
    )
    with _progress(console) as progress:
        watcher = _Watcher(console, progress, task.target_size)
        trajectory = play(env, agents, seed=options.seed, on_step=watcher)
        files = save(options, env, watcher.states, trajectory.dialogue.text, progress)
    facts = result(options, trajectory, files)
    if options.json:
        print(json.dumps(facts))
    else:
        _summary(console, facts, options.output)
    return trajectory.completed


# ----------------------------------------------------------------------------------------------------------- a replay


def run_replay(options: DemoOptions) -> bool:
    """A recorded dialogue speaks in the silent-builder view, live: each turn's words when the one before is built.

    The builder is the oracle, which knows what each turn led to. Returns whether the last turn was reached.
    """
    from iglu_marl.agents import OracleBuilder

    session = choose_session(options)
    console = Console(quiet=options.json)
    env = SilentBuilderEnv(
        _controls(options),
        tasks=session[0],
        max_steps=MAX_STEPS,
        render_mode="rgb_array",
    )
    console.print(
        f"People's words of [bold]{session.task_id}[/] ({len(session)} turns), heard by a builder of today."
    )
    number_of = {id(task): number for number, task in enumerate(session)}

    def turns_done(episode: Any) -> int:
        return number_of.get(id(episode.task), 0) + bool(episode.worlds.terminated[0])

    with _progress(console) as progress:
        watcher = _Watcher(console, progress, len(session), "turns", turns_done)
        trajectory = _follow(env, OracleBuilder.for_env(env), options.seed, watcher)
        done = turns_done(env.episode)
        files = save(options, env, watcher.states, trajectory.dialogue.text, progress)
    facts = result(options, trajectory, files)
    facts |= {"turns": len(session), "turns_done": done}
    if options.json:
        print(json.dumps(facts))
    else:
        _summary(console, facts, options.output)
    return trajectory.completed


def _follow(env: SilentBuilderEnv, builder: Any, seed: int, watcher: _Watcher) -> Trajectory:
    """Let a builder act until the last turn is reached, or until it has nothing left to do."""
    observation, _ = env.reset(seed=seed)
    task = env.task
    assert task is not None
    builder.reset(Role.BUILDER, seed, task=task)
    worlds = env.episode.worlds
    total, over, idle = 0.0, False, 0
    watcher(env)
    while not over and idle < IDLE_STEPS:
        before = (worlds.pose[0].tobytes(), worlds.grid[0].tobytes())
        observation, reward, terminated, truncated, _ = env.step(builder.act(observation))
        idle = idle + 1 if before == (worlds.pose[0].tobytes(), worlds.grid[0].tobytes()) else 0
        total, over = total + reward, terminated or truncated
        watcher(env)
    assert env.task is not None
    return Trajectory(
        env.task,
        seed,
        returns={Role.BUILDER: total},
        terminated=bool(worlds.terminated[0]),
        truncated=bool(worlds.truncated[0]),
        dialogue=env.episode.dialogue,
        grid=worlds.grid[0].copy(),
        intersection=int(worlds.best[0]),
        target_blocks=int(worlds.target_blocks[0]),
        builder_steps=int(worlds.steps[0]),
        architect_turns=int(worlds.turns[0]),
    )
