"""`iglu-marl agents`: list the agents by role and name."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any

from rich import box
from rich.table import Column, Table
from typer import Option

from iglu_marl.commands.options import Json, expect_one_of
from iglu_marl.commands.output import print_json, text_console
from iglu_marl.core.dialogue import Role


def agents(
    role: Annotated[str | None, Option(help="Role, architect or builder. Default: both.")] = None,
    as_json: Json = False,
) -> None:
    """List the agents that --architect, --builder and --partner accept, with the scores of trained ones.

    Examples: iglu-marl agents --role builder
    """
    roles = [one.value for one in Role]
    if role is not None:
        expect_one_of("--role", role, roles)
    rows = [row for one in Role if role in (None, one.value) for row in _agents(one)]
    if print_json(as_json, rows):
        return
    console = text_console(as_json)
    for spoken, of_role in groupby(rows, key=lambda row: row["role"]):
        table = Table(Column(spoken, no_wrap=True), "what it does", box=box.SIMPLE_HEAD)
        for about, alike in groupby(of_role, key=lambda row: row["about"]):
            runs = [*alike]  # of one training, with other seeds
            more = [] if len(runs) == 1 else [f"Further runs: up to {runs[-1]['name']}."]
            about_runs = [about.replace("`", ""), *_results(runs), *more]
            table.add_row(runs[0]["name"], " ".join(about_runs))
        console.print(table)
    console.print("Also: llm:MODEL@ENDPOINT, module:attribute and path/to/file.py:attribute.")


def _agents(role: Role) -> list[dict[str, Any]]:
    from iglu_marl.agents.learned.zoo import pretrained, zoo
    from iglu_marl.agents.registry import find, known

    trained = zoo()
    rows: list[dict[str, Any]] = []
    for name in known(role):
        card = pretrained(name).card if name in trained else None
        maker = find(name, role)
        about = getattr(maker, "about", None) or (maker.__doc__ or "").partition("\n")[0]
        rows.append({"role": role.value, "name": name, "about": about, "card": card})
    return rows


def _results(rows: list[dict[str, Any]]) -> list[str]:
    """Return the scores on the cards of trained agents."""
    if rows[0]["card"] is None:
        return []
    scores = []
    for measure in rows[0]["card"]["results"]:
        values = [row["card"]["results"][measure]["value"] for row in rows]
        scores.append(f"{measure} {' to '.join(dict.fromkeys((f'{min(values):.2f}', f'{max(values):.2f}')))}")
    return [f"Trained; {'; '.join(scores)}."]
