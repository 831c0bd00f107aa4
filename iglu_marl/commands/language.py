"""What `iglu-marl language` does: make up questions and statements, read them, check all against a witness."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.language import witness
from iglu_marl.language.arrangements import random_world
from iglu_marl.language.generator import Generator, Record
from iglu_marl.language.interpreter import Step, answer
from iglu_marl.language.questions import KINDS, Question, parse
from iglu_marl.language.scene import Scene
from iglu_marl.tasks.structures import load_structures

SHOWN = 20  # of the failures of a check
_PER_WORLD = 10


def _check_count(name: str, value: int) -> None:
    if value < 1:
        raise ConfigError(f"{name} is {value}, expected an integer of 1 or more")


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise ConfigError(f"--seed is {seed}, expected an integer of 0 or more")


def _kinds(kind: str) -> tuple[str, ...]:
    if kind != "both" and kind not in KINDS:
        raise ConfigError(f"--kind is {kind!r}, expected question, statement or both")
    return KINDS if kind == "both" else (kind,)


def pairs(
    count: int, seed: int, kinds: tuple[str, ...] = KINDS
) -> Iterator[tuple[Record, BlockGrid, float, bool]]:
    """Records about random worlds: the record, the world, the yaw of its builder, whether the world is a new one."""
    rng = np.random.default_rng(seed)
    generator = Generator(kinds=kinds)
    for number in range(count):
        if number % _PER_WORLD == 0:
            grid, yaw_deg = random_world(rng), float(rng.uniform(0, 360))
            scene = Scene(grid, yaw_deg)
        yield generator.sample(scene, rng), grid, yaw_deg, number % _PER_WORLD == 0


# ------------------------------------------------------------------------------------------------------ sample


def run_sample(count: int, seed: int = 0, kind: str = "both", as_json: bool = False) -> None:
    """Show questions and statements about random worlds, with their answers."""
    _check_count("--count", count)
    _check_seed(seed)
    console = Console(highlight=False, soft_wrap=True)
    for record, _, _, fresh in pairs(count, seed, _kinds(kind)):
        if as_json:
            print(json.dumps(record.to_json()))
            continue
        if fresh:
            console.print("[bold]A new world[/]")
        console.print(f"  {escape(record.text)}  [bold cyan]{record.answer}[/]")


# ------------------------------------------------------------------------------------------------------- parse


def _shown(value: Any) -> str:
    return f"{len(value)}: {', '.join(map(str, value))}" if isinstance(value, tuple) else str(value)


def run_parse(
    text: str,
    world: str | None = None,
    tasks: Path | None = None,
    yaw_deg: float = 0.0,
    as_json: bool = False,
) -> bool:
    """Read a question or statement; with a world, answer it step by step. Returns whether it was understood."""
    found = parse(text)
    console = Console(quiet=as_json, highlight=False, soft_wrap=True)
    if not isinstance(found, Question):
        if as_json:
            print(json.dumps({"text": text, "understood": False, "reason": str(found)}))
        console.print(f"[bold red]Not understood[/]: {escape(str(found))}")
        return False
    program = found.program
    facts: dict[str, Any] = {
        "text": text,
        "understood": True,
        "kind": found.kind,
        "template": found.template,
        "program": str(program),
    }
    console.print(f"{found.kind}, template {found.template}\n[bold]{escape(str(program))}[/]")
    if world is not None:
        trace: list[Step] = []
        facts["answer"] = answer(program, Scene(_world(world, tasks), yaw_deg), trace)
        table = Table("function", "gives")
        for step in trace:
            value = "" if step.program.value is None else f" {step.program.value}"
            table.add_row(f"{step.program.function}{value}", escape(_shown(step.value)))
        console.print(table)
        console.print(f"Answer: [bold cyan]{facts['answer']}[/]")
    if as_json:
        print(json.dumps(facts))
    return True


def _world(name: str, tasks: Path | None) -> BlockGrid:
    if tasks is not None:
        structures = load_structures(tasks)
        if name not in structures:
            raise ConfigError(f"--world is {name!r}, expected one of {', '.join(structures)}")
        return structures[name].grid
    from iglu_marl.tasks import BundledTasks

    found = {str(task.task_id): task.target_grid for task in BundledTasks(mode="structures")}
    if name not in found:
        raise ConfigError(f"--world is {name!r}, expected one of {', '.join(found)}")
    return found[name]


# ------------------------------------------------------------------------------------------------------- check


def check_pairs(count: int, seed: int, progress: Progress) -> dict[str, Any]:
    """Compare texts with what is read from them, and answers with the witness's; the figures, JSON-ready."""
    unread: list[str] = []
    wrong: list[str] = []
    answers: dict[str, Counter[str]] = {}
    templates: Counter[str] = Counter()
    found: list[witness.Part] = []
    start = time.perf_counter()
    for record, grid, yaw_deg, fresh in progress.track(pairs(count, seed), total=count, description="pairs"):
        if fresh:
            found = witness.parts(grid)
        if parse(record.text) != record.question:
            unread.append(record.text)
        if witness.evaluate(record.program, grid, yaw_deg, found) != record.answer:
            wrong.append(f"{record.text} {record.program}")
        name = record.question.template
        templates[name] += 1
        answers.setdefault(type(record.answer).__name__, Counter())[str(record.answer)] += 1
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


def run_check(count: int, seed: int = 0, as_json: bool = False) -> bool:
    """Check many generated pairs of text and program. Returns whether all are right."""
    _check_count("--count", count)
    _check_seed(seed)
    console = Console(quiet=as_json, highlight=False, soft_wrap=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        facts = check_pairs(count, seed, progress)
    right = not facts["not_read_back"] and not facts["answered_wrongly"]
    if as_json:
        print(json.dumps(facts))
        return right
    table = Table(title=f"{count:,} generated pairs of text and program", show_header=False)
    table.add_row("texts not read back as they were", str(facts["not_read_back"]))
    table.add_row("answers that the witness contradicts", str(facts["answered_wrongly"]))
    for kind, seen in facts["answers"].items():
        table.add_row(f"answers: {kind}", ", ".join(f"{value} {number:,}" for value, number in seen.items()))
    table.add_row("templates used", str(len(facts["templates"])))
    table.add_row("seconds", str(facts["seconds"]))
    console.print(table)
    for failure in facts["failures"]:
        console.print(f"[red]{escape(failure)}[/]")
    return right
