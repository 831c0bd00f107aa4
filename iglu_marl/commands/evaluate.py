"""`iglu-marl evaluate`: play every architect with every builder, and write reports."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from rich import box
from rich.table import Column, Table
from typer import Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.output import new_path, stoppable, text_console

# Measures of the table after the headline, and their columns.
IN_TABLE = {
    "completed": "done",
    "f1": "F1 of the world",
    "steps": "steps",
}


def _unique(names: list[str] | None) -> list[str] | None:
    return names and list(dict.fromkeys(names))


AgentNames = Annotated[
    list[str] | None, Option(help="Agent, by name or FILE.py:Class; may be repeated.", callback=_unique)
]


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return names of agents without files, modules and addresses, where they stay different."""
    short = {name: re.sub(r"^[^:@]*\.[^:@]*:", "", name.split("@http")[0]) for name in names}
    return short if len({*short.values()}) == len(short) else {name: name for name in short}


def evaluate(
    architect: AgentNames = None,
    builder: AgentNames = None,
    team: opt.Team = None,
    architects: opt.Architects = None,
    builders: opt.Builders = None,
    tasks: opt.GameTasks = None,
    count: Annotated[int | None, opt.integer(1, "Maximum number of tasks.")] = None,
    episodes: Annotated[int, opt.integer(1, "Games per pair and task.")] = 1,
    controls: opt.Controls = None,
    chat: opt.Chat = None,
    api: opt.Api = "aec",
    sees: Annotated[
        list[str] | None,
        Option(
            help="Observation of the builder, such as pov; may be repeated. "
            "Default: dialog, inventory, pose, grid, and those of trained agents.",
            callback=opt.each_in("iglu_marl.game.config:BUILDER_SIGHTS"),
        ),
    ] = None,
    max_steps: Annotated[int | None, opt.steps_of_game(5000)] = None,
    ask: Annotated[bool, Option("--ask/--no-ask", help="Let the builder send messages.")] = True,
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    concurrency: opt.Concurrency = None,
    llm_tokens: opt.LLMTokens = None,
    processes: opt.Processes = 1,
    baselines: opt.Baselines = True,
    keep_unbuilt: opt.KeepUnbuilt = False,
    scoring: Annotated[
        str, opt.choice("changes", "iglu2022", "iglu2022-corrected", "iglu2021", about="headline measure")
    ] = "changes",
    keep_going: opt.KeepGoing = False,
    seed: opt.Seed = 0,
    output: Annotated[
        Path | None,
        opt.output_folder(
            "Output folder. An evaluation in it is resumed. Default: a new one in iglu-marl-evaluation/."
        ),
    ] = None,
    form: opt.TableForm = None,
    as_json: opt.Json = False,
) -> bool:
    """Play every architect with every builder on the same tasks; write tables, plots and games.

    With --team division, each agent plays all seats of its role in a game of a team. Exit code 1 after errors.

    Examples: iglu-marl evaluate --architect vague --builder hasty; iglu-marl evaluate --team craft --count 5
    """
    from iglu_marl import evaluation
    from iglu_marl.agents.registry import reader_of
    from iglu_marl.core.tables import tables_as
    from iglu_marl.evaluation.report import cell, model_lines, played, shown, tables
    from iglu_marl.evaluation.results import MEASURES, is_scored
    from iglu_marl.evaluation.selection import left_out_text

    names = architect or ["scripted"], builder or ["scripted"]
    game = opt.game_of_team(team, architects, builders, api)
    given = {"controls": controls, "max_steps": max_steps, "builder_sees": tuple(sees) if sees else None}
    game |= {"builder_can_ask": ask, **{name: value for name, value in given.items() if value is not None}}
    own_tasks = game.pop("tasks", "bundled")
    output = output or new_path("iglu-marl-evaluation", names[0][0], names[1][0])
    resumes = f"the same command with --output {output} plays"
    kept = f"Finished games are in {output}; {resumes} the others."
    aside = text_console(stderr=True)
    if any(reader_of(name) == "model" for name in (*names[0], *names[1])):
        count = count or opt.LLM_TASKS
        tokens = os.environ["IGLU_MARL_LLM_MAX_TOTAL_TOKENS"]
        aside.print(f"Limits: {count} tasks (--count), {tokens} tokens (--llm-tokens; 0: no limit)")
    with stoppable(lambda: kept), warnings.catch_warnings():
        warnings.simplefilter("always", evaluation.ImpossibleWarning)
        warnings.showwarning = lambda message, *_, **__: aside.print(str(message), style="yellow")
        result = evaluation.evaluate(
            *names,
            tasks or own_tasks,
            count=count,
            episodes=episodes,
            seed=seed,
            processes=processes,
            concurrency=concurrency,
            output=output,
            chat=chat,
            view=api,
            config=game,
            baselines=baselines,
            keep_unbuilt=keep_unbuilt,
            scoring=scoring,
            on_error="count" if keep_going else "raise",
            progress=False if as_json else None,
        )
    if as_json or form:
        print(json.dumps(result.to_json()) if as_json else tables_as(str(form), tables(result)))
        return not any(row["error"] for row in result.rows)
    console = text_console()
    roles = (Column(title, overflow="fold") for title in ("architect", "builder"))
    table = Table(
        *roles,
        "games",
        Column(MEASURES[result.headline].title, no_wrap=True),
        *(Column(title, min_width=min(9, len(title))) for title in IN_TABLE.values()),
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        caption=f"In brackets: 95 % intervals over {result.clusters()}",
    )
    entries = result.summary("architect", "builder")
    label = short_names({entry[role] for entry in entries for role in ("architect", "builder")})
    for entry in entries:
        headline = cell(result.headline, entry[result.headline])
        averages = (shown(name, entry[name].value) for name in IN_TABLE)
        table.add_row(label[entry["architect"]], label[entry["builder"]], played(entry), headline, *averages)
    console.print(table)
    if left_out := left_out_text(result.settings["left_out"]):
        console.print(f"Tasks {left_out}")
    for name, reason in result.impossible().items():
        console.print(f"{name} is impossible: {reason}")
    for line in (*result.silences(), *model_lines(result.models())):
        console.print(line)
    if result.models():
        console.print(
            "These figures are no rows of the benchmark of language models: iglu-marl llm benchmark"
        )
    if errors := sum(bool(row["error"]) for row in result.rows):
        games = "game" if errors == 1 else "games"
        console.print(f"{errors} {games} ended with an error; see evaluation.md", style="bold red")
    if failed := sum(not is_scored(row) for row in result.rows):
        console.print(f"{failed} of them are in no average; {resumes} them again")
    console.print(f"Tables: {output / 'evaluation.md'}; games: {output / 'games.jsonl'}")
    return not errors
