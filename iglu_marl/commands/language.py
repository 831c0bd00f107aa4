"""`iglu-marl language`: generate and parse questions and statements about worlds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from rich.table import Table
from typer import Argument, Option

from iglu_marl.commands.options import Json, Seed, TaskSource, choice, integer
from iglu_marl.commands.output import print_json, styled, text_console

if TYPE_CHECKING:
    from iglu_marl.core.grid import BlockGrid
    from iglu_marl.language.generator import Record
    from iglu_marl.language.scene.interpreter import ProgramStep

_PER_WORLD = 10

Count = Annotated[int, integer(1, "Number of texts.")]


def pairs(count: int, seed: int, kind: str = "both") -> Iterator[tuple[Record, BlockGrid, float, bool]]:
    """Yield records about random worlds: record, world, yaw of the builder, whether the world is new."""
    from iglu_marl.language.generator import Generator
    from iglu_marl.language.questions import KINDS
    from iglu_marl.language.scene.graph import Scene
    from iglu_marl.language.scene.random_scenes import SIMPLE, VARIED, random_world

    rng = np.random.default_rng(seed)
    generator = Generator(kinds=KINDS if kind == "both" else (kind,))
    for number in range(count):
        if number % _PER_WORLD == 0:
            shapes = SIMPLE if rng.random() < 0.5 else VARIED
            grid, yaw_deg = random_world(rng, shapes=shapes), float(rng.uniform(0, 360))
            scene = Scene(grid, yaw_deg)
        yield generator.sample(scene, rng), grid, yaw_deg, number % _PER_WORLD == 0


# ------------------------------------------------------------------------------------------------------ sample


def sample(
    count: Count = 20,
    kind: Annotated[str, choice("question", "statement", "both", about="kind of text")] = "both",
    seed: Seed = 0,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Generate questions and statements about random worlds, with their answers."""
    console = text_console(as_json)
    for record, _, _, fresh in pairs(count, seed, kind):
        if as_json:
            print(json.dumps(record.to_json()))
            continue
        if fresh:
            console.print("A new world", style="bold")
        console.print(f"  {record.text} ", styled(record.to_json()["answer"], "bold cyan"))


# ------------------------------------------------------------------------------------------------------- parse


def _shown(value: Any) -> str:
    return f"{len(value)}: {', '.join(map(str, value))}" if isinstance(value, tuple) else str(value)


def parse(
    text: Annotated[str, Argument(help="Question or statement.")],
    structure: Annotated[str | None, Option(help="Structure to answer about, by name.")] = None,
    tasks: TaskSource = None,
    yaw: Annotated[float, Option(help="Direction of the builder in degrees; 90 is east.")] = 0.0,
    as_json: Json = False,
) -> bool:
    """Parse a text into its program, and answer it about a structure.

    Exit code 1 if it is not understood.
    """
    from iglu_marl.commands.task_selection import find_structure
    from iglu_marl.language import questions
    from iglu_marl.language.phrases import things_in_words
    from iglu_marl.language.scene.graph import Scene
    from iglu_marl.language.scene.interpreter import answer

    found = questions.parse(text)
    console = text_console(as_json)
    if not isinstance(found, questions.Question):
        print_json(as_json, {"text": text, "understood": False, "reason": str(found)})
        console.print(f"Not understood: {found}", style="bold red")
        return False
    program = found.program
    facts: dict[str, Any] = {
        "text": text,
        "understood": True,
        "kind": found.kind,
        "template": found.template,
        "program": str(program),
    }
    console.print(f"{found.kind}, template {found.template}")
    console.print(str(program), style="bold")
    if structure is not None:
        trace: list[ProgramStep] = []
        found_answer = answer(program, Scene(find_structure(structure, tasks)[1], yaw), trace)
        facts["answer"] = things_in_words(found_answer)
        table = Table("function", "gives")
        for step in trace:
            value = "" if step.program.value is None else f" {step.program.value}"
            table.add_row(f"{step.program.function}{value}", _shown(step.value))
        console.print(table)
        console.print("Answer:", styled(facts["answer"], "bold cyan"))
    print_json(as_json, facts)
    return True
