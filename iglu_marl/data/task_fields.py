"""A task or session as JSON fields, the form of task files (see the table in `iglu_marl.data.task_files`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iglu_marl.core.dialogue import Dialogue, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import (
    IGLU_ID_OF_IGLU2022,
    Block,
    BlockGrid,
    as_grid,
    blocks_to_grid,
    color_id,
    color_name,
    grid_to_blocks,
)
from iglu_marl.core.task import ID_TABLES, Subtasks, Task, of_task

Entry = Any  # a `Task` or a `Subtasks`
Record = dict[str, Any]

FIELDS = (
    *("target", "start", "dialog", "instruction", "full", "id", "structure", "session", "split", "clear"),
    *("unbuilt", "invariant", "ids", "turns", "progressive"),
)
GRID_FIELDS = ("target", "start", "full")
LABEL_FIELDS = ("structure", "session", "split")
_NAME_LIMIT = 1000  # characters


def shortened(value: Any) -> str:
    """Return the `repr` of a value in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _known_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a task, without the empty ones."""
    if not isinstance(value, Mapping):
        raise DataError(f"a task is {shortened(value)}, expected an object with a 'target'")
    if unknown := [key for key in value if key not in FIELDS]:
        raise DataError(f"unknown field {shortened(unknown[0])}, expected some of {', '.join(FIELDS)}")
    return {key: content for key, content in value.items() if content is not None}


def _read_grid(value: Any, name: str, ids: str) -> BlockGrid:
    """Return a world in this project's color ids, from blocks or from a dense grid."""
    if not isinstance(value, (list, tuple)):
        raise DataError(f"{name!r} is {shortened(value)}, expected blocks [x, y, z, color] or a dense grid")
    first = value[0] if value else None
    if isinstance(first, list) and first and isinstance(first[0], list):
        grid = as_grid(value, name)
    else:
        blocks = [_read_block(entry, number, name, ids) for number, entry in enumerate(value)]
        return blocks_to_grid(blocks, name)
    return grid if ids == "iglu" else IGLU_ID_OF_IGLU2022[grid]


def _read_block(entry: Any, number: int, name: str, ids: str) -> Block:
    if not isinstance(entry, (list, tuple)) or len(entry) != 4:
        raise DataError(f"{name}[{number}] is {shortened(entry)}, expected [x, y, z, color]")
    x, y, z, color = entry
    if isinstance(color, str):
        found = color_id(color)
        if found == 0:
            raise DataError(f"{name}[{number}] is a block of air; leave it out")
        return x, y, z, found
    if ids == "iglu2022" and type(color) is int and 1 <= color <= 6:
        color = int(IGLU_ID_OF_IGLU2022[color])
    return x, y, z, color


def _read_dialog(value: Any) -> str | Dialogue:
    """Return a text as it is, and a list as a `Dialogue`."""
    if isinstance(value, list):
        return Dialogue.of([_read_utterance(part) for part in value])
    return value if isinstance(value, str) else Dialogue.of(value)


def _read_utterance(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    if set(part) != {"role", "text"}:
        raise DataError(f"an utterance is {shortened(part)}, expected {{'role': ..., 'text': ...}}")
    role = str(part["role"]).strip().lower()
    return Utterance(role, part["text"])  # type: ignore[arg-type]


def _pop_name(fields: dict[str, Any], key: str, default: str) -> str:
    name = fields.pop(key, default)
    if type(name) not in (str, int) or len(str(name)) > _NAME_LIMIT:
        raise DataError(
            f"{key!r} is {shortened(name)}, expected a text of at most {_NAME_LIMIT} characters, or a number"
        )
    return str(name)


def _pop_ids(fields: dict[str, Any]) -> str:
    ids = fields.pop("ids", "iglu")
    if ids not in ID_TABLES:
        raise DataError(f"'ids' is {shortened(ids)}, expected 'iglu' or 'iglu2022'")
    return str(ids)


def _pop_flag(fields: dict[str, Any], name: str) -> bool | None:
    value = fields.pop(name, None)
    if value is not None and not isinstance(value, bool):
        raise DataError(f"{name!r} is {shortened(value)}, expected true or false")
    return value


def read_task(value: Any, name: str) -> tuple[Entry, Record]:
    """Return the task or session that the fields describe, and its labels.

    Args:
        value: the parsed JSON object.
        name: id of the task where the fields have none.

    Raises:
        IgluMarlError: if a field is wrong; the message names the field and the caller adds the file.

    """
    fields = _known_fields(value)
    name = _pop_name(fields, "id", name)
    labels: Record = {key: _pop_name(fields, key, "") if key in fields else None for key in LABEL_FIELDS}
    structure = labels["structure"] or ""
    labels["structure"] = structure or name
    ids = _pop_ids(fields)
    invariant, progressive = _pop_flag(fields, "invariant"), _pop_flag(fields, "progressive")
    turns = fields.pop("turns", None)
    grids = {key: _read_grid(fields.pop(key), key, ids) for key in GRID_FIELDS if key in fields}
    options: dict[str, Any] = {
        "invariant": invariant,
        "task_id": name,
        "ids": "iglu",
        "structure": structure,
    }
    if turns is not None:
        session, labels["clear"] = _read_session(
            turns, fields, grids, ids, progressive=bool(progressive), **options
        )
        return session, labels
    labels["clear"] = [_pop_flag(fields, "clear")]
    unbuilt = _pop_flag(fields, "unbuilt") or False
    if progressive is not None:
        raise DataError("'progressive' is for sessions, which have 'turns'")
    if "target" not in grids:
        raise DataError("it has no 'target'")
    task = Task(
        _read_dialog(fields.get("dialog", "")),
        grids["target"],
        _read_dialog(fields["instruction"]) if "instruction" in fields else None,
        grids.get("start"),
        grids.get("full"),
        unbuilt=unbuilt,
        **options,
    )
    return task, labels


def _read_session(
    turns: Any, fields: dict[str, Any], grids: dict[str, BlockGrid], table: str, **options: Any
) -> tuple[Subtasks, list[bool | None]]:
    """Return the session, and for each turn whether its instruction was clear."""
    besides = [key for key in (*fields, *grids) if key not in ("start", "full")]
    if besides:
        raise DataError(f"a session with 'turns' also has {', '.join(besides)}; expected them in its turns")
    if not isinstance(turns, list) or not turns:
        raise DataError(f"'turns' is {shortened(turns)}, expected a list with at least one turn")
    said, worlds, clear = [], [], []
    for number, turn in enumerate(turns):
        own = _known_fields(turn)
        clear.append(_pop_flag(own, "clear"))
        unknown = [key for key in own if key not in ("target", "dialog", "instruction")]
        if unknown or "target" not in own:
            what = f"has {', '.join(unknown)}" if unknown else "has no 'target'"
            raise DataError(f"turn {number} {what}; expected 'target' with 'dialog' or 'instruction'")
        worlds.append(_read_grid(own["target"], f"turns[{number}].target", table))
        said.append(_read_turn_dialog(own))
    session = Subtasks(said, worlds, starting_grid=grids.get("start"), full_grid=grids.get("full"), **options)
    return session, clear


def _read_turn_dialog(turn: Mapping[str, Any]) -> Dialogue:
    said = Dialogue.of(_read_dialog(turn.get("dialog", "")))
    instruction = Dialogue.of(turn.get("instruction", ""))
    known = all(utterance in said.utterances for utterance in instruction)
    return said if known else said + instruction


def block_fields(grid: BlockGrid, ids: str | None = "iglu") -> list[list[Any]]:
    """Return a world as blocks with color names."""
    mapping = IGLU_ID_OF_IGLU2022 if ids == "iglu2022" else range(7)
    return [[x, y, z, color_name(int(mapping[color]))] for x, y, z, color in grid_to_blocks(grid)]


def _utterance_fields(said: Dialogue) -> list[dict[str, str]]:
    return [{"role": utterance.role.value, "text": utterance.text} for utterance in said]


def turn_fields(said: Dialogue, world: BlockGrid, ids: str | None = "iglu") -> dict[str, Any]:
    """Return the fields of one turn of a session: its dialogue, and the world after it."""
    return {"dialog": _utterance_fields(said), "target": block_fields(world, ids)}


def _instruction_field(task: Task) -> Any:
    """Return the instruction in the form that reads back equal: as text, or else as utterances."""

    def texts(task: Task) -> tuple[Any, ...]:
        return task.dialog, task.instruction, task.previous_dialogue

    start, end = len(task.previous_dialogue), len(task.dialogue)
    forms: list[Any] = [task.instruction]
    forms += [_utterance_fields(task.dialogue[start:stop]) for stop in range(start + 1, end + 1)]
    same = (form for form in forms if texts(task) == texts(task.replace(instruction=_read_dialog(form))))
    return next(same, task.instruction)


def entry_fields(entry: Entry) -> dict[str, Any]:
    """Return the fields of a task or session, with color names."""
    row: dict[str, Any] = {}
    grids = {"start": entry.starting_grid, "full": entry.full_grid}
    if isinstance(entry, Task):
        if not entry.starting_grid.any():
            grids["start"] = None
        if entry.objective is not None:
            raise DataError(
                f"the task has an objective, which no file of tasks can hold{of_task(entry.task_id)}"
            )
        row |= {"dialog": entry.dialog, "instruction": _instruction_field(entry)}
        grids["target"] = entry.target_grid
        if entry.unbuilt:
            row["unbuilt"] = True
    else:
        worlds = zip(entry.turns, entry.structures, strict=True)
        row["turns"] = [turn_fields(turn, world, entry.ids) for turn, world in worlds]
        if entry.progressive:
            row["progressive"] = True
    row |= {name: block_fields(grid, entry.ids) for name, grid in grids.items() if grid is not None}
    if entry.invariant is not None:
        row["invariant"] = entry.invariant
    return row
