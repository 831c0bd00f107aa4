"""Answers of programs: in one world with every intermediate output, or in many worlds at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import GridError, LanguageError
from iglu_marl.core.grid import COLOR_NAMES, ZONE_SHAPE
from iglu_marl.language.scene import kernels
from iglu_marl.language.scene.graph import MIXED, Scene, plain
from iglu_marl.language.scene.program import SHAPE_NAMES, Program, Type

Value = Any
"""bool, int, a colour or shape name, a `Thing`, a tuple of them, or None for "no answer"."""


class ProgramStep(NamedTuple):
    """One executed function of a program, and its output."""

    program: Program
    value: Value


def _decoded(kind: Type, value: int) -> Value:
    if kind is Type.BOOLEAN:
        return value != 0
    if kind is Type.COLOR:
        return COLOR_NAMES[value] if value else MIXED
    if kind is Type.SHAPE:
        return SHAPE_NAMES[value - 1]
    return value


def answer(program: Any, scene: Scene | npt.ArrayLike, trace: list[ProgramStep] | None = None) -> Value:
    """Return the answer of a program on a scene: bool, int, a colour or shape name, a `Thing` or a tuple of things.

    The answer is None if `unique` does not get exactly one thing.

    Args:
        program: a `Program` or its compact text.
        scene: a `Scene`, or a grid (the builder looks north).
        trace: a list that gets a `ProgramStep` per executed function.

    Raises:
        LanguageError: if the program is invalid.
        GridError: if the grid is.

    """
    program = Program.of(program)
    if not isinstance(scene, Scene):
        scene = Scene(scene)
    kind = program.kind
    if trace is None and kind is not Type.THINGS and kind is not Type.THING:
        answers, answered = np.empty((1, 1), np.int32), np.empty((1, 1), np.bool_)
        kernels.ask_one(scene.grid, scene.quarter, program.narrow_code, program.wanted, answers, answered)
        return _decoded(kind, int(answers[0, 0])) if answered[0, 0] else None
    return _answer_in_full(program, scene, trace)


def _answer_in_full(program: Program, scene: Scene, trace: list[ProgramStep] | None) -> Value:
    code, table = program.code, scene.table
    count, length = len(table), len(code)
    sets, values = np.zeros(length * count, np.uint8), np.zeros(length, np.int32)
    done = kernels.execute(table, count, scene.quarter, code, length, sets, values)
    members = sets.reshape(length, count)
    value: Value = None
    for i, part in enumerate(program.walk()):
        if i >= done:
            break
        if part.kind is Type.THINGS:
            value = tuple(scene.things[number] for number in np.flatnonzero(members[i]))
        elif part.kind is Type.THING:
            value = scene.things[int(values[i])]
        else:
            value = _decoded(part.kind, int(values[i]))
        if trace is not None:
            trace.append(ProgramStep(part, value))
    return value if done == length else None


class Answers(NamedTuple):
    """Answers of a batch.

    values: int32: numbers, truth as 0 or 1, colours and shapes by id (0 = mixed). answered: bool of the same shape;
    where it is False, there is no answer and the value is 0.
    """

    values: npt.NDArray[np.int32]
    answered: npt.NDArray[np.bool_]

    @property
    def holds(self) -> npt.NDArray[np.bool_]:
        """Whether there is an answer and it is not 0: for boolean programs, whether they hold."""
        return self.answered & (self.values != 0)


def _quarters(yaw_deg: npt.ArrayLike, n: int) -> npt.NDArray[np.int8]:
    if isinstance(yaw_deg, float) and yaw_deg == 0.0:
        return np.zeros(n, np.int8)
    try:
        yaws = np.broadcast_to(np.asarray(yaw_deg, dtype=np.float64), (n,))
        if not np.isfinite(yaws).all():
            raise ValueError
    except (TypeError, ValueError):
        raise GridError(f"yaw_deg is {yaw_deg!r:.80}, expected {n} finite numbers of degrees") from None
    return (np.rint(yaws / 90.0) % 4).astype(np.int8)


class Programs:
    """Compiled programs for batches: goal rewards of many worlds, or all statements of one.

    programs: `Program`s or texts that return truth, integers, colours or shapes.
    Raises `LanguageError` if the list is empty, or a program returns things.
    """

    def __init__(self, programs: Sequence[Any]) -> None:
        self.programs = tuple(Program.of(program) for program in programs)
        if not self.programs:
            raise LanguageError("programs is empty, expected at least one program")
        for number, program in enumerate(self.programs):
            if program.kind in (Type.THINGS, Type.THING):
                raise LanguageError(
                    f"program {number} gives {program.kind}, expected truth, a number or a name"
                )
        self.lengths = np.array([program.nodes for program in self.programs], np.int32)
        self.codes = np.zeros((len(self.programs), int(self.lengths.max()), 4), np.int16)
        for row, program in zip(self.codes, self.programs, strict=True):
            row[: program.nodes] = program.narrow_code
        self.wanted = np.array([program.wanted for program in self.programs], np.int32)

    def __len__(self) -> int:
        return len(self.programs)

    def __getitem__(self, index: int) -> Program:
        return self.programs[index]

    @staticmethod
    def _checked(grids: npt.ArrayLike) -> npt.NDArray[np.int8]:
        array = np.asarray(grids)
        if array.ndim != 4 or array.shape[1:] != ZONE_SHAPE or array.dtype != np.int8:
            raise GridError(
                f"grids are {array.dtype}{list(array.shape)}, expected int8 [n, {', '.join(map(str, ZONE_SHAPE))}]"
            )
        return plain(array)

    def ask_all(self, grids: npt.ArrayLike, yaw_deg: npt.ArrayLike = 0.0) -> Answers:
        """Run every program on every world; return answers [n, programs].

        Raises `GridError` if a shape is wrong.

        Args:
            grids: int8 [n, 9, 11, 11] of valid ids, as `Worlds.grid`.
            yaw_deg: views of the builders, [n] or one number.

        """
        worlds = self._checked(grids)
        shape = (len(worlds), len(self.programs))
        answers = Answers(np.empty(shape, np.int32), np.empty(shape, np.bool_))
        wanted = int(np.bitwise_or.reduce(self.wanted))
        quarters = _quarters(yaw_deg, len(worlds))
        kernels.ask_all(worlds, quarters, self.codes, self.lengths, wanted, *answers)
        return answers

    def ask_each(self, grids: npt.ArrayLike, which: npt.ArrayLike, yaw_deg: npt.ArrayLike = 0.0) -> Answers:
        """Run one program per world; return answers [n]. which: index of the program of each world, [n] or one number.

        Raises:
            GridError: if a shape is wrong.
            LanguageError: if an index is out of range.

        """
        worlds = self._checked(grids)
        chosen = np.asarray(which)
        if chosen.dtype.kind not in "iu" or chosen.shape not in ((), (len(worlds),)):
            raise LanguageError(f"which is {which!r:.80}, expected {len(worlds)} integers")
        if chosen.size and not (0 <= chosen.min() and chosen.max() < len(self.programs)):
            raise LanguageError(f"which is {which!r:.80}, expected integers in 0..{len(self.programs) - 1}")
        chosen = np.array(np.broadcast_to(chosen, (len(worlds),)), dtype=np.int64)
        answers = Answers(np.empty(len(worlds), np.int32), np.empty(len(worlds), np.bool_))
        quarters = _quarters(yaw_deg, len(worlds))
        kernels.ask_each(worlds, quarters, chosen, self.codes, self.lengths, self.wanted, *answers)
        return answers
