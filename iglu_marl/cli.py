"""The command line: `iglu-marl`, or `python -m iglu_marl`.

Exit codes: 0 done; 1 the structure was not completed, the pack is not whole, or games of an evaluation ended with an
error; 2 wrong usage or input, or nothing that can be played.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from iglu_marl import __version__
from iglu_marl.core.errors import IgluMarlError

app = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},  # of the commands below, too
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Architect and builder in one voxel world.",
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"iglu-marl {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Architect and builder in one voxel world."""


@app.command()
def demo(
    tasks: Annotated[
        Path | None,
        typer.Option("--tasks", help="A file of named structures (JSON). Default: the bundled ones."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The Minecraft Dialogue Corpus (zip or folder): structures such as C7."),
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", help="Which structure, by name or id. Default: by the seed.")
    ] = None,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Replay a recorded dialogue to a builder that knows where it led."),
    ] = False,
    controls: Annotated[str, typer.Option("--controls", help="walking or flying")] = "walking",
    seed: Annotated[int, typer.Option("--seed", help="Decides structure, wording and everything else.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for video, picture and transcript.")
    ] = Path("iglu-marl-demo"),
    video: Annotated[str, typer.Option("--video", help="mp4, gif, both or none")] = "both",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
) -> None:
    """A scripted architect explains a structure, a scripted builder builds it from the words alone."""
    from iglu_marl.commands.demo import DemoOptions, run

    options = DemoOptions(
        tasks=tasks,
        data=data,
        task=task,
        replay=replay,
        controls=controls,
        seed=seed,
        output=output,
        video=video,
        json=json,
    )
    raise typer.Exit(0 if run(options) else 1)


@app.command()
def watch(
    tape: Annotated[
        str | None,
        typer.Option(
            "--tape", help="A world file: FILE, PACK.zip/MEMBER, or PACK/MEMBER by the pack's name."
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="A session of the Minecraft Dialogue Corpus, by its name.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="The zip or folder in which to look for it.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The video, .mp4 or .gif, or a page, .html")
    ] = Path("recording.mp4"),
    view: Annotated[str, typer.Option("--view", help="composed, or eyes: what the person saw")] = "composed",
    fps: Annotated[float, typer.Option("--fps", help="Pictures a second.")] = 20.0,
    speed: Annotated[float, typer.Option("--speed", help="Times as fast as it was.")] = 2.0,
    max_seconds: Annotated[float, typer.Option("--max-seconds", help="Length of the video at most.")] = 120.0,
    set_up: Annotated[
        bool, typer.Option("--set-up", help="Also what the tool did to set up the given world.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Instead: watch agents play, in a window.")] = False,
    recording: Annotated[
        Path | None,
        typer.Option("--recording", help="Instead: watch a recorded game, in a window."),
    ] = None,
    episode: Annotated[int, typer.Option("--episode", help="With --recording: which one, from 0.")] = 0,
    architect: Annotated[str, typer.Option("--architect", help="With --live: who explains.")] = "scripted",
    builder: Annotated[str, typer.Option("--builder", help="With --live: who builds.")] = "scripted",
    tasks: Annotated[
        Path | None, typer.Option("--tasks", help="With --live: a file of named structures (JSON).")
    ] = None,
    task: Annotated[str | None, typer.Option("--task", help="With --live: which structure.")] = None,
    controls: Annotated[
        str, typer.Option("--controls", help="With --live: the builder's encoding.")
    ] = "walking",
    seed: Annotated[int, typer.Option("--seed", help="With --live: decides everything that is drawn.")] = 0,
    camera: Annotated[
        str, typer.Option("--camera", help="In a window: follow (the builder's eyes) or orbit.")
    ] = "follow",
    engine: Annotated[
        str, typer.Option("--engine", help="Who draws the window: auto, opengl or software")
    ] = "auto",
) -> None:
    """A video (or page) of what a person did: from a recorded tape, or from a session with its dialogue.

    With --live or --recording: a window in which a game is watched, with pause, steps on and back, speed and cameras.
    """
    if live or recording is not None:
        from iglu_marl.commands.watching import LiveOptions, watch_game

        watch_game(
            LiveOptions(
                recording=recording,
                episode=episode,
                architect=architect,
                builder=builder,
                tasks=tasks,
                task=task,
                controls=controls,
                seed=seed,
                speed=speed,
                camera=camera,
                engine=engine,
            )
        )
        return
    from iglu_marl.commands.watch import WatchOptions, run

    run(
        WatchOptions(
            tape=tape,
            session=session,
            data=data,
            output=output,
            view=view,
            fps=fps,
            speed=speed,
            max_seconds=max_seconds,
            set_up=set_up,
            json=json,
        )
    )


@app.command()
def play(
    role: Annotated[
        str, typer.Option("--role", help="builder, architect or both: whom you play")
    ] = "builder",
    partner: Annotated[
        str, typer.Option("--partner", help="Who plays the other: scripted, random, llm, replay, none, …")
    ] = "scripted",
    tasks: Annotated[
        Path | None,
        typer.Option("--tasks", help="A file of named structures (JSON). Default: the bundled ones."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The Minecraft Dialogue Corpus (zip or folder): structures such as C7."),
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", help="Which structure, by name or id. Default: by the seed.")
    ] = None,
    controls: Annotated[
        str | None,
        typer.Option("--controls", help="The builder's action encoding. Default: human-level for a person."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Decides structure, wording and everything else.")] = 0,
    engine: Annotated[
        str, typer.Option("--engine", help="Who draws the window: auto, opengl or software")
    ] = "auto",
    record: Annotated[
        Path | None,
        typer.Option("--record", help="The recording. Default: a new one in iglu-marl-play/."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Whether to record.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
) -> None:
    """Play in a window: build what a partner describes, or describe what a partner builds."""
    from iglu_marl.commands.play import PlayOptions, run

    options = PlayOptions(
        role=role,
        partner=partner,
        tasks=tasks,
        data=data,
        task=task,
        controls=controls,
        seed=seed,
        engine=engine,
        record=record,
        keep=keep,
        json=json,
    )
    raise typer.Exit(0 if run(options) else 1)


@app.command()
def record(
    output: Annotated[
        Path, typer.Argument(metavar="FILE", help="The recording to write: JSON lines, a line each move.")
    ],
    architect: Annotated[
        str, typer.Option("--architect", help="By name (scripted, terse, vague, …), or module:attribute.")
    ] = "scripted",
    builder: Annotated[
        str, typer.Option("--builder", help="By name (scripted, hasty, oracle, …), or module:attribute.")
    ] = "scripted",
    tasks: Annotated[
        str, typer.Option("--tasks", help="bundled, turns, random, or a file of structures (JSON)")
    ] = "bundled",
    task: Annotated[str | None, typer.Option("--task", help="Which of them, by its id.")] = None,
    episodes: Annotated[int, typer.Option("--episodes", help="How many games, one after the other.")] = 1,
    controls: Annotated[str, typer.Option("--controls", help="The builder's action encoding.")] = "walking",
    chat: Annotated[str, typer.Option("--chat", help="text or tokens")] = "text",
    view: Annotated[str, typer.Option("--view", help="aec or parallel")] = "aec",
    max_steps: Annotated[int, typer.Option("--max-steps", help="Builder steps of a game at most.")] = 10_000,
    append: Annotated[bool, typer.Option("--append", help="Go on in a recording that exists.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Decides structures, wording and everything else.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
) -> None:
    """Let a pair play, and write every move to a file."""
    from iglu_marl.commands.record import RecordOptions, run

    options = RecordOptions(
        output=output,
        architect=architect,
        builder=builder,
        tasks=tasks,
        task=task,
        episodes=episodes,
        controls=controls,
        chat=chat,
        view=view,
        max_steps=max_steps,
        append=append,
        seed=seed,
        json=json,
    )
    raise typer.Exit(0 if run(options) else 1)


@app.command()
def replay(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="A recording, or several.", show_default=False)
    ],
    episode: Annotated[
        int | None, typer.Option("--episode", help="Which one of each file, from 0. Default: all.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Compare the state after every move, bit for bit.")
    ] = True,
    video: Annotated[Path | None, typer.Option("--video", help="A video to write, .mp4 or .gif")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="A page to write that shows the game.")] = None,
    upstream: Annotated[
        Path | None, typer.Option("--upstream", help="A folder to write, in the multi-turn layout.")
    ] = None,
    minari: Annotated[
        str | None,
        typer.Option("--minari", metavar="ID", help="A Minari dataset to write, iglu/games-v0 say."),
    ] = None,
    agent: Annotated[
        str, typer.Option("--agent", help="With --minari: whose part, builder_0 or architect_0.")
    ] = "builder_0",
    sees: Annotated[
        str,
        typer.Option("--sees", help="With --minari: what it observes, as pov,dialog. Default: as recorded."),
    ] = "",
    append: Annotated[
        bool, typer.Option("--append", help="With --minari: add to a dataset that exists.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
) -> None:
    """Simulate recorded games again, compare them, show and export them. Exit code 1 at a difference."""
    from iglu_marl.commands.replay import Dataset, run

    dataset = None if minari is None else Dataset(minari, agent, sees, append)
    same = run(
        files,
        episode=episode,
        verify=verify,
        video=video,
        html=html,
        upstream=upstream,
        dataset=dataset,
        as_json=json,
    )
    raise typer.Exit(0 if same else 1)


@app.command()
def evaluate(
    architect: Annotated[
        list[str] | None,
        typer.Option("--architect", help="By name, or module:attribute; several times for several."),
    ] = None,
    builder: Annotated[
        list[str] | None,
        typer.Option("--builder", help="By name, or module:attribute; several times for several."),
    ] = None,
    tasks: Annotated[
        str, typer.Option("--tasks", help="bundled, turns, random, or a file of structures (JSON)")
    ] = "bundled",
    count: Annotated[int | None, typer.Option("--count", help="So many tasks at most.")] = None,
    episodes: Annotated[int, typer.Option("--episodes", help="Games of each pair on each task.")] = 1,
    controls: Annotated[str, typer.Option("--controls", help="The builder's action encoding.")] = "walking",
    chat: Annotated[str, typer.Option("--chat", help="text or tokens")] = "text",
    view: Annotated[str, typer.Option("--view", help="aec or parallel")] = "aec",
    max_steps: Annotated[int, typer.Option("--max-steps", help="Builder steps of a game at most.")] = 5000,
    ask: Annotated[bool, typer.Option("--ask/--no-ask", help="Whether the builder may speak.")] = True,
    processes: Annotated[int, typer.Option("--processes", help="How many to spread the games over.")] = 1,
    examples: Annotated[int, typer.Option("--examples", help="Tasks whose games the page shows.")] = 3,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Count what an agent raises as a failure, and go on.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Decides everything random.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for games and reports; it is gone on with.")
    ] = Path("iglu-marl-evaluation"),
    json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON, and nothing else.")] = False,
) -> None:
    """Every architect with every builder on the same tasks: tables, plots and games. Exit code 1 after errors."""
    from iglu_marl.commands.evaluate import EvaluateOptions, run

    result = run(
        EvaluateOptions(
            architects=architect or ["scripted"],
            builders=builder or ["scripted"],
            tasks=tasks,
            count=count,
            episodes=episodes,
            controls=controls,
            chat=chat,
            view=view,
            max_steps=max_steps,
            ask=ask,
            processes=processes,
            examples=examples,
            keep_going=keep_going,
            seed=seed,
            output=output,
            json=json,
        )
    )
    raise typer.Exit(1 if any(row["error"] for row in result.rows) else 0)


_Name = Annotated[str, typer.Argument(metavar="PACK", help="iglu-multiturn, iglu-singleturn or mdc")]
_Path = Annotated[
    Path | None, typer.Option("--path", help="A zip or folder. Default: IGLU_DATA_PATH, then fetched packs.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]

data = typer.Typer(no_args_is_help=True, help="Real human data: what there is, where it is, getting it.")
app.add_typer(data, name="data")


@data.command("list")
def data_list(json: _Json = False) -> None:
    """All packs, and where each one is on this machine."""
    from iglu_marl.commands.data import run_list

    run_list(json)


@data.command("fetch")
def data_fetch(
    names: Annotated[list[str] | None, typer.Argument(metavar="PACK...", help="Default: all packs.")] = None,
    url: Annotated[str | None, typer.Option("--url", help="Another address of the one pack named.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where to put them. Default: this user's cache.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is there.")] = False,
    json: _Json = False,
) -> None:
    """Download packs. An interrupted download goes on where it was."""
    from iglu_marl.commands.data import run_fetch

    run_fetch(names or [], url=url, folder=folder, force=force, as_json=json)


@data.command("info")
def data_info(name: _Name, path: _Path = None, json: _Json = False) -> None:
    """What a pack is, its licence and citation and, if it is here, what it holds."""
    from iglu_marl.commands.data import run_info

    run_info(name, path, json)


@data.command("verify")
def data_verify(name: _Name, path: _Path = None, json: _Json = False) -> None:
    """Read all of a pack and compare its checksums; exit code 1 if it is not whole."""
    from iglu_marl.commands.data import run_verify

    raise typer.Exit(0 if run_verify(name, path, json) else 1)


@data.command("export")
def data_export(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="bundled, iglu-multiturn, iglu-singleturn or mdc")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="File (tasks), new folder (layout), or dataset id (minari).")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="tasks: JSON lines; layout: IGLU's multi-turn files; minari: recorded tapes as an offline dataset.",
        ),
    ] = "tasks",
    path: _Path = None,
    pixels: Annotated[
        bool, typer.Option("--pixels", help="With minari: also a picture of each step.")
    ] = False,
    json: _Json = False,
) -> None:
    """Write tasks, sessions or recordings in a form that other tools read."""
    from iglu_marl.commands.export import run_export

    run_export(source, form, output, path=path, pixels=pixels, as_json=json)


render = typer.Typer(
    no_args_is_help=True, help="Pictures of structures and changes, pages that replay games."
)
app.add_typer(render, name="render")

_Structure = Annotated[
    str, typer.Argument(metavar="NAME", help="Of a bundled structure, or C1..C157, or as in --tasks.")
]
_Tasks = Annotated[
    Path | None, typer.Option("--tasks", help="A file of named structures (JSON). Default: the bundled ones.")
]
_Data = Annotated[
    Path | None,
    typer.Option("--data", help="The Minecraft Dialogue Corpus (zip or folder), for structures such as C7."),
]
_Png = Annotated[Path | None, typer.Option("--output", "-o", help="The picture, .png. Default: by the name.")]
_Width = Annotated[int | None, typer.Option("--width", help="Pixels; the height follows.")]


@render.command("structure")
def render_structure(
    name: _Structure,
    output: _Png = None,
    tasks: _Tasks = None,
    data: _Data = None,
    view: Annotated[str, typer.Option("--view", help="sheet, orbit, top or layers")] = "sheet",
    width: _Width = None,
    json: _Json = False,
) -> None:
    """A structure from four sides, from above and layer by layer; or one of these views alone."""
    from iglu_marl.commands.render import run_structure

    run_structure(name, output, tasks=tasks, data=data, view=view, width=width, as_json=json)


@render.command("diff")
def render_diff(
    name: _Structure,
    output: _Png = None,
    to: Annotated[
        str | None, typer.Option("--to", help="Another structure. Default: from nothing to this one.")
    ] = None,
    session: Annotated[int, typer.Option("--session", help="Number of a bundled session, from 1.")] = 1,
    turn: Annotated[
        int | None, typer.Option("--turn", help="Number of a turn in that session, from 1.")
    ] = None,
    tasks: _Tasks = None,
    data: _Data = None,
    width: _Width = None,
    json: _Json = False,
) -> None:
    """Before, after and difference: of a session's turn, of two structures, or of nothing and one."""
    from iglu_marl.commands.render import run_diff

    run_diff(
        name, output, to=to, session=session, turn=turn, tasks=tasks, data=data, width=width, as_json=json
    )


@render.command("replay")
def render_replay(
    game: Annotated[
        Path | None,
        typer.Argument(
            metavar="[GAME]", help="A recording, or a replay as .json or .html. Default: play one now."
        ),
    ] = None,
    episode: Annotated[int, typer.Option("--episode", help="Which one of a recording, from 0.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page, .html, or its data, .json")
    ] = Path("replay.html"),
    tasks: _Tasks = None,
    data: _Data = None,
    task: Annotated[
        str | None, typer.Option("--task", help="Which structure, by name or id. Default: by the seed.")
    ] = None,
    controls: Annotated[str, typer.Option("--controls", help="walking or flying")] = "walking",
    seed: Annotated[int, typer.Option("--seed", help="Decides structure, wording and everything else.")] = 0,
    json: _Json = False,
) -> None:
    """A page that replays a game in any browser: a recorded game, or one that the scripted pair plays now."""
    from iglu_marl.commands.render import run_replay

    run_replay(
        game,
        output,
        episode=episode,
        tasks=tasks,
        data=data,
        task=task,
        controls=controls,
        seed=seed,
        as_json=json,
    )


@app.command()
def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer measures and shorter ones: some seconds in all.")
    ] = False,
    only: Annotated[
        str, typer.Option("--only", help="What has this in its name: single, vector, start, memory, ...")
    ] = "",
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also draw steps a second by number of worlds, .svg")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
) -> None:
    """How fast everything is on this machine: steps, resets, scores, pictures, start, memory."""
    from iglu_marl.commands.bench import BenchOptions, run

    run(BenchOptions(quick=quick, only=only, plot=plot, json=json))


language = typer.Typer(
    no_args_is_help=True, help="Questions and statements about worlds, and their programs."
)
app.add_typer(language, name="language")


@language.command("sample")
def language_sample(
    count: Annotated[int, typer.Option("--count", help="How many.")] = 20,
    kind: Annotated[str, typer.Option("--kind", help="question, statement or both")] = "both",
    seed: Annotated[int, typer.Option("--seed", help="Decides worlds, questions and wordings.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """Questions and statements about random worlds, with their answers."""
    from iglu_marl.commands.language import run_sample

    run_sample(count, seed, kind, json)


@language.command("parse")
def language_parse(
    text: Annotated[str, typer.Argument(help="A question or statement.")],
    world: Annotated[
        str | None, typer.Option("--world", help="Answer it, step by step, for this structure.")
    ] = None,
    tasks: _Tasks = None,
    yaw: Annotated[
        float, typer.Option("--yaw", help="Where the builder looks, in degrees; 90 = east.")
    ] = 0.0,
    json: _Json = False,
) -> None:
    """The program of a text; with a world, its answer. Exit code 1 if the text is not understood."""
    from iglu_marl.commands.language import run_parse

    raise typer.Exit(0 if run_parse(text, world, tasks, yaw, json) else 1)


@language.command("check")
def language_check(
    count: Annotated[int, typer.Option("--count", help="How many pairs of text and program.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Decides worlds, questions and wordings.")] = 0,
    json: _Json = False,
) -> None:
    """Read generated texts back, and compare their answers with a second evaluation; exit code 1 on a difference."""
    from iglu_marl.commands.language import run_check

    raise typer.Exit(0 if run_check(count, seed, json) else 1)


train = typer.Typer(no_args_is_help=True, help="Training of the models that come with the package.")
app.add_typer(train, name="train")


@train.command("edits")
def train_edits(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the model, its checkpoint and its curve.")
    ],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The Minecraft Dialogue Corpus. Default: IGLU_DATA_PATH, then fetched."),
    ] = None,
    iglu: Annotated[
        Path | None, typer.Option("--iglu", help="Learn from IGLU's single turns, too: their zip or folder.")
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", help="How often everything is seen.")] = 24,
    batch_size: Annotated[int, typer.Option("--batch-size", help="Samples of a step.")] = 32,
    learning_rate: Annotated[float, typer.Option("--learning-rate", help="At its highest.")] = 2e-3,
    channels: Annotated[int, typer.Option("--channels", help="Width of the convolutions.")] = 32,
    seed: Annotated[int, typer.Option("--seed", help="Decides everything random.")] = 0,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    precision: Annotated[str, typer.Option("--precision", help="auto, float32 or bfloat16")] = "auto",
    threads: Annotated[int, typer.Option("--threads", help="Of the processor; 0: as PyTorch likes.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    json: _Json = False,
) -> None:
    """From words, world and pose to edits: learns from what people did (needs PyTorch)."""
    from iglu_marl.commands.train import TrainOptions, run

    run(
        TrainOptions(
            data=data,
            out=out,
            iglu=iglu,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            channels=channels,
            seed=seed,
            device=device,
            precision=precision,
            threads=threads,
            resume=resume,
            json=json,
        )
    )


@app.command()
def predict(
    builder: Annotated[
        list[str] | None,
        typer.Option(
            "--builder", help="nothing, one-more, an agent by name, or module:attribute; several times."
        ),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option("--model", help="Folder of a trained model; several times for several."),
    ] = None,
    corpus: Annotated[str, typer.Option("--corpus", help="mdc, iglu-singleturn or bundled")] = "mdc",
    data: Annotated[
        Path | None, typer.Option("--data", help="Its zip or folder. Default: IGLU_DATA_PATH, then fetched.")
    ] = None,
    split: Annotated[str, typer.Option("--split", help="train, val or test")] = "val",
    count: Annotated[int | None, typer.Option("--count", help="So many samples at most.")] = None,
    decoding: Annotated[str, typer.Option("--decoding", help="Of models: threshold or steps")] = "threshold",
    controls: Annotated[str, typer.Option("--controls", help="Of agents: their action encoding.")] = "flying",
    max_steps: Annotated[int, typer.Option("--max-steps", help="Of agents: steps of a turn at most.")] = 500,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Count what a builder raises as doing nothing, and go on.")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for every prediction; it is gone on with.")
    ] = Path("iglu-marl-predictions"),
    json: _Json = False,
) -> None:
    """Builders predict what people did next; F1 of net actions (builder action prediction) and of changes."""
    from iglu_marl.commands.predict import PredictOptions, run

    run(
        PredictOptions(
            builders=builder or ([] if model else ["nothing", "one-more", "scripted"]),
            models=model or [],
            corpus=corpus,
            data=data,
            split=split,
            count=count,
            decoding=decoding,
            controls=controls,
            max_steps=max_steps,
            keep_going=keep_going,
            output=output,
            json=json,
        )
    )


def main() -> None:
    """Entry point of the command."""
    try:
        app()
    except IgluMarlError as error:
        typer.secho(f"Error: {error}", fg=typer.colors.RED, err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
