"""Values of a recording: actions, tasks and settings as JSON, and the checksum of a state."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from iglu_marl.core.controls import Controls
from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import json_line
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.core.kernels.records import WORLD
from iglu_marl.core.parsing import wrap_errors
from iglu_marl.core.pose import TeamPose
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.game.config import TEAM_OPTIONS, GameConfig
from iglu_marl.game.episode import Episode
from iglu_marl.game.profiles import compat_of

FORMAT, VERSION = "iglu_marl recording", 1
_COMPARED = WORLD.fields["completion_reward"][1]  # type: ignore[index]  # bytes; the rest follows from the config
LAYOUT = hashlib.blake2b(
    repr(WORLD.descr[: WORLD.names.index("completion_reward")]).encode(),  # type: ignore[union-attr]
    digest_size=8,
).hexdigest()
"""Hash of the compared fields of the world's record. Checksums of another layout cannot be compared."""

_ROLES = frozenset(role.value for role in Role)
_MARK = "~"  # key of a NumPy value
_DTYPES = frozenset(np.dtype(kind).name for kind in np.typecodes["AllInteger"] + np.typecodes["Float"] + "?")
_PLAIN = frozenset((type(None), bool, int, str))
# Fields of the config that are stored elsewhere, or pay what is no part of a game's result.
_NOT_KEPT = ("tasks", "renderer", "render_mode", "vocabulary", "shaping", "shaping_scale")
_AGENT = re.compile(r"(architect|builder)_[0-9]{1,2}")


def name_of(player: Role | str) -> str:
    """Return the key of a player in recordings: the role, or the name of an agent of a team."""
    return Role(player).value if player in _ROLES else player_of(player)


def player_of(name: str) -> Role | str:
    """Return the player of a key in recordings. Raises `DataError` for another text."""
    if name in _ROLES:
        return Role(name)
    if not _AGENT.fullmatch(name):
        raise DataError(f"{name!r:.60} is no player, expected a role or the name of an agent")
    return name


@lru_cache
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name  # slow in NumPy, therefore cached


def to_json(value: Any, where: str = "action") -> Any:
    """Convert an action to JSON: numbers, texts, dicts, lists and NumPy values. Raises `DataError` for others."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, np.generic):
        return {_MARK: _name(value.dtype), "v": value.item()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {_MARK: _name(value.dtype), "shape": list(value.shape), "v": value.ravel().tolist()}
    if isinstance(value, float):
        return value
    if isinstance(value, Mapping) and _MARK not in value and all(isinstance(key, str) for key in value):
        return {
            key: part if type(part) in _PLAIN else to_json(part, f"{where}[{key!r}]")
            for key, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [to_json(part, f"{where}[{number}]") for number, part in enumerate(value)]
    raise DataError(
        f"{where} is {value!r:.80} ({type(value).__name__}), which cannot be recorded: expected numbers, texts, "
        "dicts with texts as keys, lists or arrays"
    )


def from_json(value: Any) -> Any:
    """Convert the result of `to_json` back; tuples become lists. Raises `DataError` for an invalid value."""
    if isinstance(value, list):
        return [from_json(part) for part in value]
    if not isinstance(value, dict):
        return value
    if _MARK not in value:
        return {key: from_json(part) for key, part in value.items()}
    try:
        if value[_MARK] not in _DTYPES:
            raise TypeError(value[_MARK])
        dtype = np.dtype(value[_MARK])
        with np.errstate(over="raise"):
            if "shape" in value:
                return np.array(value["v"], dtype).reshape(value["shape"])
            return dtype.type(value["v"])
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise DataError(f"{value!r:.80} is not a value of a recording: {error}") from None


def _said(dialogue: Dialogue) -> list[list[str]]:
    return [[utterance.role.value, utterance.text] for utterance in dialogue]


def _heard(lines: Any) -> Dialogue:
    return Dialogue(Utterance(role, text) for role, text in lines)


def _blocks(grid: Any) -> Any:
    return None if grid is None else [list(block) for block in grid_to_blocks(grid)]


def _grid(blocks: Any) -> Any:
    return None if blocks is None else blocks_to_grid(blocks)


def _fields_of(task: Task) -> dict[str, Any]:
    return {
        "dialog": _said(task.dialogue),
        "instruction": task.instruction,
        "target_grid": _blocks(task.target_grid),
        "starting_grid": _blocks(task.starting_grid) or None,
        "full_grid": _blocks(task.full_grid),
        "invariant": task.invariant,
        "task_id": task.task_id,
        "ids": task.ids,
        "pose": dict(task.pose) if isinstance(task.pose, TeamPose) else task.pose,
        "structure": task.structure,
        "unbuilt": task.unbuilt,
    }


def task_to_json(task: Task) -> dict[str, Any]:
    """Convert a task to JSON; `next` has the following turns of a progressive task."""
    turns, following = [], task.next_task
    while following is not None:
        turns.append(_fields_of(following))
        following = following.next_task
    return {**_fields_of(task), "next": turns or None}


def task_from_json(fields: Mapping[str, Any]) -> Task:
    """Convert the result of `task_to_json` back to a task. Raises `DataError` for an invalid value."""
    with wrap_errors("the task of the recording cannot be read"):
        task = _one_task(fields)
        following = [_one_task(part) for part in fields.get("next") or ()]
        return _progressive(task, following) if following else task


def _one_task(fields: Mapping[str, Any]) -> Task:
    name = fields["task_id"]
    known = isinstance(name, (str, int, type(None)))
    if not known:
        raise DataError(f"task_id is {name!r:.60}, expected a text")
    return Task(
        _heard(fields["dialog"]),
        _grid(fields["target_grid"]),
        fields["instruction"] or None,
        _grid(fields["starting_grid"]),
        _grid(fields["full_grid"]),
        fields["invariant"],
        task_id=name,
        ids=fields["ids"],
        pose=fields.get("pose"),
        **_labels_of(fields),
    )


def _labels_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `structure` and `unbuilt` of a task; older recordings have neither."""
    structure, unbuilt = fields.get("structure", ""), fields.get("unbuilt", False)
    if not isinstance(structure, str) or not isinstance(unbuilt, bool):
        raise DataError(
            f"structure and unbuilt are {structure!r:.60} and {unbuilt!r:.60}, expected a text and a bool"
        )
    return {"structure": structure, "unbuilt": unbuilt}


def _progressive(first: Task, others: list[Task]) -> Task:
    """Return the first of several turns as a progressive task."""
    tasks = [first, *others]
    known, said = 0, []
    for task in tasks:
        said.append(task.dialogue[known:])
        known = len(task.dialogue)
    session = Subtasks(
        said,
        [task.target_grid for task in tasks],
        starting_grid=first.starting_grid,
        progressive=True,
        invariant=others[0].invariant,
        task_id=first.task_id,
        ids=others[0].ids,
        full_grid=others[0].full_grid,
        structure=others[0].structure,
    )
    return session[0].replace(
        starting_grid=first.starting_grid,
        full_grid=first.full_grid,
        invariant=first.invariant,
        task_id=first.task_id,
        ids=first.ids,
        structure=first.structure,
        unbuilt=first.unbuilt,
    )


def checksum(episode: Episode) -> str:
    """Return the checksum of an episode's world and dialogue, 16 hexadecimal digits.

    It covers the fields that the world's record had in version 0.3.0, so that its recordings replay.
    """
    rows = episode.worlds.state.view(np.uint8).reshape(len(episode.worlds), -1)
    made = hashlib.blake2b(rows[0, :_COMPARED].data, digest_size=8)
    for row in rows[1:]:  # of a team
        made.update(row[:_COMPARED].data)
    made.update(episode.dialogue.text.encode("utf-8"))
    return made.hexdigest()


_LINK = b',"chain":"'  # in JSON, a text cannot have this between its quotes


def chained_line(content: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    """Return a line whose last key, `chain`, is the hash of the line and of the hash before; and that hash.

    previous: `chain` of the line before; "" for a header.
    """
    body = json_line(content)[:-2]
    link = _link(body, previous)
    return body + _LINK + link.encode("ascii") + b'"}\n', link


def checked_link(row: bytes, previous: str) -> str:
    """Return the `chain` of a line. Raises `DataError` if it is not the hash of the line and of the one before."""
    body, _, end = row.rpartition(_LINK)
    link = _link(body, previous)
    if end != link.encode("ascii") + b'"}':
        raise DataError(
            f"the line was changed, or one before it is missing: its hash is {link}, recorded is "
            f"{end[:32].decode('ascii', 'replace')!r} "
            "(verify=False skips the comparison; `repair` keeps the lines before)"
        )
    return link


def _link(body: bytes, previous: str) -> str:
    return hashlib.blake2b(previous.encode("ascii") + body, digest_size=16).hexdigest()


def config_to_json(config: GameConfig) -> dict[str, Any]:
    """Return the fields that a game depends on, with name, version and size of a vocabulary object."""
    kept = {
        item.name: getattr(config, item.name)
        for item in dataclasses.fields(config)
        if item.name not in _NOT_KEPT
        and (item.name not in TEAM_OPTIONS or getattr(config, item.name) != item.default)
    }
    vocabulary = config.vocabulary
    if not isinstance(vocabulary, (str, int)):
        vocabulary = {"name": vocabulary.name, "version": vocabulary.version, "size": vocabulary.size}  # type: ignore[assignment]
    return {**kept, "vocabulary": vocabulary}


def controls_to_json(controls: Controls) -> dict[str, Any]:
    """Return the arguments of `Controls`; `compat` is the profile of its conventions (None: the environment's)."""
    return {
        "name": controls.name,
        "select_and_place": controls.select_and_place,
        "camera_limit": controls.camera_limit,
        "can_yield": controls.can_yield,
        "compat": compat_of(controls.conventions),
    }
