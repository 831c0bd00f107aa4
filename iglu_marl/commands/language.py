"""`iglu-marl language`: generate, parse and check questions and statements about worlds."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from rich.progress import Progress
from rich.table import Table
from typer import Argument, Option

from iglu_marl.commands.options import Json, Seed, Tasks, at_least, choice
from iglu_marl.commands.output import progress_bar, styled, text_console

if TYPE_CHECKING:
    from iglu_marl.core.grid import BlockGrid
    from iglu_marl.language.generator import Record
    from iglu_marl.language.scene.interpreter import ProgramStep
    from iglu_marl.language.scene.reference_evaluator import Part

SHOWN = 20  # failures in the report of a check
_PER_WORLD = 10

Count = Annotated[int, Option(help="Number of texts.", callback=at_least(1))]


def pairs(count: int, seed: int, kind: str = "both") -> Iterator[tuple[Record, BlockGrid, float, bool]]:
    """Yield records about random worlds: record, world, yaw of the builder, whether the world is new."""
    from iglu_marl.language.generator import Generator
    from iglu_marl.language.questions import KINDS
    from iglu_marl.language.scene import Scene
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
    tasks: Tasks = None,
    yaw: Annotated[float, Option(help="Direction of the builder in degrees; 90 is east.")] = 0.0,
    as_json: Json = False,
) -> bool:
    """Parse a text into its program, and answer it about a structure.

    Exit code 1 if it is not understood.
    """
    from iglu_marl.commands.task_selection import find_structure
    from iglu_marl.language import questions
    from iglu_marl.language.phrases import things_in_words
    from iglu_marl.language.scene import Scene
    from iglu_marl.language.scene.interpreter import answer

    found = questions.parse(text)
    console = text_console(as_json)
    if not isinstance(found, questions.Question):
        if as_json:
            print(json.dumps({"text": text, "understood": False, "reason": str(found)}))
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
    if as_json:
        print(json.dumps(facts))
    return True


# ------------------------------------------------------------------------------------------------------- check


def check_pairs(count: int, seed: int, progress: Progress) -> dict[str, Any]:
    """Parse generated texts, evaluate them with the reference evaluator, and return the differences, JSON-ready."""
    from iglu_marl.language import questions
    from iglu_marl.language.scene import reference_evaluator as witness

    unread: list[str] = []
    wrong: list[str] = []
    answers: dict[str, Counter[str]] = {}
    templates: Counter[str] = Counter()
    found: list[Part] = []
    start = time.perf_counter()
    for record, grid, yaw_deg, fresh in progress.track(pairs(count, seed), total=count, description="pairs"):
        if fresh:
            found = witness.parts(grid)
        if questions.parse(record.text) != record.question:
            unread.append(record.text)
        if not witness.agrees(witness.evaluate(record.program, grid, yaw_deg, found), record.answer):
            wrong.append(f"{record.text} {record.program}")
        name = record.question.template
        templates[name] += 1
        kind = {"Thing": "thing", "tuple": "things"}.get(
            type(record.answer).__name__, type(record.answer).__name__
        )
        answers.setdefault(kind, Counter())[str(record.to_json()["answer"])] += 1
    return {
        "pairs": count,
        "seed": seed,
        "not_read_back": len(unread),
        "answered_wrongly": len(wrong),
        "templates": dict(sorted(templates.items())),
        "answers": {kind: dict(seen.most_common(12)) for kind, seen in answers.items()},
        "seconds": round(time.perf_counter() - start, 1),
        "failures": (unread + wrong)[:SHOWN],
    }


def check(count: Count = 10_000, seed: Seed = 0, as_json: Json = False) -> bool:
    """Parse generated texts and compare answers with a second evaluator.

    Exit code 1 at a difference.
    """
    console = text_console(as_json)
    with progress_bar(as_json, console) as progress:
        facts = check_pairs(count, seed, progress)
    right = not facts["not_read_back"] and not facts["answered_wrongly"]
    if as_json:
        print(json.dumps(facts))
        return right
    table = Table(title=f"{count:,} generated pairs of text and program", show_header=False)
    table.add_row("texts parsed differently", str(facts["not_read_back"]))
    table.add_row("answers that the reference evaluator contradicts", str(facts["answered_wrongly"]))
    for kind, seen in facts["answers"].items():
        table.add_row(f"answers: {kind}", ", ".join(f"{value} {number:,}" for value, number in seen.items()))
    table.add_row("templates used", str(len(facts["templates"])))
    table.add_row("seconds", str(facts["seconds"]))
    console.print(table)
    for failure in facts["failures"]:
        console.print(failure, style="red")
    return right
