"""Scripted agents with flaws, as partners for cross-play: `vague` as the architect, `hasty` as the builder.

Their random choices follow the seed of `reset`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from iglu_marl import AgentError
from iglu_marl.agents.scripted.architect import ScriptedArchitect
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.agents.settings import Options
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import Cell, color_at, color_name, in_zone
from iglu_marl.language import CellEdit, Failure, parse, render
from iglu_marl.language.grammar.speaker import spelled
from iglu_marl.language.meaning.blocks import EditKind, Reason

_NEAR = ((1, 0), (-1, 0), (0, 1), (0, -1))
Grid = npt.NDArray[Any]


def _check_share(value: float, name: str) -> float:
    if not 0 <= value <= 1:
        raise AgentError(f"{name} is {value!r}, expected a probability 0..1")
    return float(value)


class VagueArchitect(ScriptedArchitect):
    """Often omits colour or place in a first request; adds it when asked, all of it when nothing happens.

    Args:
        vagueness: probability of an omission.
        options: those of `ScriptedArchitect`.

    """

    def __init__(self, *, vagueness: float = 0.5, **options: Any) -> None:
        self.vagueness = _check_share(vagueness, "vagueness")
        super().__init__(**options)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._requested: set[CellEdit] = set()

    def _speak(self, grid: Grid, target: Grid, stated: str) -> str:
        text = super()._speak(grid, target, stated)
        edit = parse(text)
        if not isinstance(edit, CellEdit) or edit.action is not EditKind.PLACE or edit in self._requested:
            return text
        self._requested.add(edit)
        options = vaguely(edit) if self._rng.random() < self.vagueness else ()
        return options[int(self._rng.integers(len(options)))] if options else text


def vaguely(edit: CellEdit) -> tuple[str, ...]:
    """Return wordings of a placement without its colour or its place."""
    _, _, where = render(edit).rstrip(".").partition(" block ")
    height, _, place = where.partition(", ")
    block = spelled(["a", color_name(edit.after), "block"], sentence=False)
    texts = [f"Place a block {height}, {place}.", f"Place {block} {height}.", f"Place {block} {place}."]
    lacking = {failure.reason: text for text in texts if isinstance(failure := parse(text), Failure)}
    return tuple(lacking[reason] for reason in (Reason.NO_COLOR, Reason.NO_PLACE) if reason in lacking)


class HastyBuilder(ScriptedBuilder):
    """Never asks: guesses what is missing, and now and then slips by a cell or a colour.

    Args:
        controls: any of the game.
        slips: probability of a slip.
        options: those of `ScriptedBuilder`.

    """

    def __init__(
        self, controls: ControlsName = "walking", *, slips: float = 0.15, **options: Unpack[Options]
    ) -> None:
        self.slips = _check_share(slips, "slips")
        super().__init__(controls, **options)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._rng = np.random.default_rng(seed)
        self._color = 0  # colour of the last placed block

    def _take(self, text: str) -> None:
        text = self._completed(text)
        edit = parse(text)
        if isinstance(edit, CellEdit):
            self._color = edit.color or self._color
            if edit.action is EditKind.PLACE and self._rng.random() < self.slips:
                text = render(self._slip(edit))
        super()._take(text)

    def _completed(self, text: str) -> str:
        """Complete a text: with the colour used last, the ground, the centre."""
        for _ in range(3):
            failure = parse(text)
            reason = failure.reason if isinstance(failure, Failure) else None
            if reason is Reason.NO_COLOR:
                color = color_name(self._color or int(self._rng.integers(1, 7)))
                text = re.sub(r"\ban? (?=block)", f"{color} ", text, count=1)
            elif reason is Reason.NO_HEIGHT:
                text = f"{text.rstrip('.')}, on the ground."
            elif reason is Reason.NO_PLACE:
                text = f"{text.rstrip('.')}, at the centre."
            else:
                break
        return text

    def _slip(self, edit: CellEdit) -> CellEdit:
        """Return a wrong placement: at a free neighbouring cell, or in another colour."""
        x, y, z = edit.cell
        beside: list[Cell] = [(x + dx, y, z + dz) for dx, dz in _NEAR]
        grid = self._executor.settled
        free = [cell for cell in beside if in_zone(*cell) and not color_at(grid, cell)]
        if free and self._rng.random() < 0.5:
            return CellEdit(EditKind.PLACE, free[int(self._rng.integers(len(free)))], color=edit.color)
        others = [color for color in range(1, 7) if color != edit.color]
        return CellEdit(EditKind.PLACE, edit.cell, color=others[int(self._rng.integers(len(others)))])
