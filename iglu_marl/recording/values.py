"""What the lines of a recording are made of: actions, tasks and settings as JSON, and the checksum of a state."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np

from iglu_marl._version import __version__
from iglu_marl.core.controls import Controls
from iglu_marl.core.dialogue import Dialogue, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.core.kernels.records import WORLD
from iglu_marl.core.parsing import reading
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.game.config import GameConfig
from iglu_marl.game.episode import Episode
from iglu_marl.game.profiles import compat_of

FORMAT, VERSION = "iglu_marl recording", 1
_COMPARED = WORLD.fields["completion_reward"][1]  # type: ignore[index]  # bytes: what follows, the config tells
LAYOUT = hashlib.blake2b(
    repr(WORLD.descr[: WORLD.names.index("completion_reward")]).encode(),  # type: ignore[union-attr]
    digest_size=8,
).hexdigest()
"""Of the part of the world's record that is compared: checksums of another layout cannot be."""

_MARK = "~"  # the key of a NumPy value
_DTYPES = frozenset(np.dtype(kind).name for kind in np.typecodes["AllInteger"] + np.typecodes["Float"] + "?")
_PLAIN = frozenset((type(None), bool, int, str))
_NOT_KEPT = ("tasks", "renderer", "render_mode", "vocabulary")  # fields of the config that are told otherwise


@lru_cache
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name  # which takes NumPy as long as all the rest


def to_json(value: Any, where: str = "action") -> Any:
    """An action as JSON: numbers, texts, dicts and NumPy values. Raises `DataError` for anything else."""
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
    """What `to_json` was given; tuples come back as lists. Raises `DataError` for what it cannot have made."""
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
        raise DataError(f"{value!r:.80} is no value of a recording: {error}") from None


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
        "starting_grid": _blocks(task.starting_grid),
        "full_grid": _blocks(task.full_grid),
        "invariant": task.invariant,
        "task_id": task.task_id,
        "ids": task.ids,
        "pose": task.pose,
    }


def task_to_json(task: Task) -> dict[str, Any]:
    """A task as JSON; of a progressive one, `next` has the turns that follow."""
    turns, following = [], task.next_task
    while following is not None:
        turns.append(_fields_of(following))
        following = following.next_task
    return {**_fields_of(task), "next": turns or None}


def task_from_json(told: Mapping[str, Any]) -> Task:
    """The task that `task_to_json` was given, as far as a game depends on it. Raises `DataError` for others."""
    with reading("the task of the recording cannot be read"):
        task = _one_task(told)
        following = [_one_task(part) for part in told.get("next") or ()]
        return _progressive(task, following) if following else task


def _one_task(told: Mapping[str, Any]) -> Task:
    name = told["task_id"]
    known = isinstance(name, (str, int, type(None)))
    if not known:
        raise DataError(f"task_id is {name!r:.60}, expected a text")
    return Task(
        _heard(told["dialog"]),
        _grid(told["target_grid"]),
        told["instruction"] or None,
        _grid(told["starting_grid"]),
        _grid(told["full_grid"]),
        told["invariant"],
        task_id=name,
        ids=told["ids"],
        pose=told.get("pose"),
    )


def _progressive(first: Task, others: list[Task]) -> Task:
    """The first of several turns that lead to each other."""
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
    )
    return session[0].replace(
        starting_grid=first.starting_grid,
        full_grid=first.full_grid,
        invariant=first.invariant,
        task_id=first.task_id,
        ids=first.ids,
    )


def checksum(episode: Episode) -> str:
    """The checksum of an episode's world and dialogue: 16 hexadecimal digits.

    Of the world's record, it is made of the fields of version 0.1.0, so that recordings of any version are compared.
    """
    made = hashlib.blake2b(episode.worlds.state.view(np.uint8)[:_COMPARED].data, digest_size=8)
    made.update(episode.dialogue.text.encode("utf-8"))
    return made.hexdigest()


def versions() -> dict[str, str]:
    """What a game is simulated with, by name, and the platform."""
    return {
        "iglu_marl": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        **{name: version(name) for name in ("numpy", "numba", "gymnasium", "pettingzoo")},
    }


def config_to_json(config: GameConfig) -> dict[str, Any]:
    """The fields on which a game depends; of a vocabulary that is an object, what it is called."""
    kept = {
        item.name: getattr(config, item.name)
        for item in dataclasses.fields(config)
        if item.name not in _NOT_KEPT
    }
    vocabulary = config.vocabulary
    if not isinstance(vocabulary, (str, int)):
        vocabulary = {"name": vocabulary.name, "version": vocabulary.version, "size": vocabulary.size}  # type: ignore[assignment]
    return {**kept, "vocabulary": vocabulary}


def controls_to_json(controls: Controls) -> dict[str, Any]:
    """The arguments of `Controls`; of its conventions, the profile that has them (None: the environment's own)."""
    return {
        "name": controls.name,
        "select_and_place": controls.select_and_place,
        "camera_limit": controls.camera_limit,
        "can_yield": controls.can_yield,
        "compat": compat_of(controls.conventions),
    }
