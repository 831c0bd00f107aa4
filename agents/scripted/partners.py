"""Scripted partners with different manners, for cross-play.

They vary the scripted pair: a builder trained with one architect has to cope with the others. Architects answer
questions of the builder (`agents/scripted/answers.py`). All use the plain phrasing of `iglu_marl.language`, in text
and token chat. Their random choices follow the seed of `reset`.

| name | role | manner |
|---|---|---|
| `precise` | architect | one full edit a turn, always in the same wording |
| `terse` | architect | the fewest words that can be read |
| `talkative` | architect | greets, is polite, varies its words, comments and repeats itself while the builder works |
| `vague` | architect | often omits colour or place at first; adds it when asked, all of it when nothing happens |
| `mistaken` | architect | now and then names a wrong colour or cell, notices it and corrects it |
| `careful` | builder | does only what it fully understands; says what is missing |
| `hasty` | builder | never asks: guesses what is missing, and now and then slips by a cell or a colour |
| `forgetful` | builder | now and then forgets an instruction, and does nothing |
| `asking` | builder | often asks before it begins (if it may speak; else it is `careful`) |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from iglu_marl import AgentError
from iglu_marl.agents.scripted.architect import ScriptedArchitect
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, require_entry
from iglu_marl.agents.settings import Options
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import Cell, color_at, color_name, in_zone
from iglu_marl.language import CellEdit, DialogueAct, Failure, parse, parse_small_talk, render, say
from iglu_marl.language.grammar.instructions import fewest_words
from iglu_marl.language.grammar.speaker import spelled
from iglu_marl.language.meaning.blocks import EditKind, Reason

CORRECT_AFTER = 3  # turns without a change before the mistake is corrected anyway
_NEAR = ((1, 0), (-1, 0), (0, 1), (0, -1))
_VAGUE = (Reason.NO_COLOR, Reason.NO_PLACE)
Grid = npt.NDArray[Any]
_HINT = "let it see the dialog and the grid"


def _check_share(value: float, name: str) -> float:
    if not 0 <= value <= 1:
        raise AgentError(f"{name} is {value!r}, expected a probability 0..1")
    return float(value)


def _edit_of(text: str) -> CellEdit | None:
    found = parse(text)
    return found if isinstance(found, CellEdit) else None


def _slip(edit: CellEdit, free: Callable[[Cell], bool], rng: np.random.Generator) -> CellEdit:
    """Return a wrong placement: in another colour, or at a free neighbouring cell."""
    assert edit.color is not None
    x, y, z = edit.cell
    beside = [(x + dx, y, z + dz) for dx, dz in _NEAR]
    cells = [cell for cell in beside if in_zone(*cell) and free(cell)]
    if cells and rng.random() < 0.5:
        return CellEdit(EditKind.PLACE, cells[int(rng.integers(len(cells)))], color=edit.color)
    others = [color for color in range(1, 7) if color != edit.color]
    return CellEdit(EditKind.PLACE, edit.cell, color=others[int(rng.integers(len(others)))])


class PreciseArchitect(ScriptedArchitect):
    """Gives one full edit a turn, always in the same wording. Base of the other manners.

    The options are those of `ScriptedArchitect`.
    """

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._restart()

    def _restart(self) -> None:
        pass

    def act(self, observation: Any) -> Any:
        """Return the next utterance; raise `AgentError` if dialog, target_grid or grid is not observed."""
        require_entry(observation, DIALOG_KEYS, type(self).__name__, _HINT)
        return super().act(observation)

    rest = ScriptedArchitect.rest

    def _speak(self, grid: Grid, target: Grid, stated: str) -> str:
        return self._manner(super()._speak(grid, target, stated), grid, target)

    def _manner(self, text: str, grid: Grid, target: Grid) -> str:
        return text


class TerseArchitect(PreciseArchitect):
    """Uses the fewest words that can be read: "Place red block 2 east, on the ground"."""

    def _manner(self, text: str, grid: Grid, target: Grid) -> str:
        edit = _edit_of(text)
        return text if edit is None else shortest(edit)


@lru_cache(maxsize=4096)
def shortest(edit: CellEdit) -> str:
    """Return an instruction for an edit without any word that can be omitted."""
    words = fewest_words(edit).rstrip(".").split()
    for size in (2, 1):  # "of centre" is omitted as a whole
        number = 0
        while number < len(words):
            fewer = words[:number] + words[number + size :]
            if parse(" ".join(fewer)) == edit:
                words = fewer
            else:
                number += 1
    return " ".join(words)


class TalkativeArchitect(PreciseArchitect):
    """Greets, is polite, varies its words, and comments or repeats itself while the builder works.

    chatter: the probability of an utterance where others are silent.
    """

    def __init__(self, *, chatter: float = 0.3, **options: Any) -> None:
        self.chatter = _check_share(chatter, "chatter")
        super().__init__(**options)

    def _restart(self) -> None:
        self._greeted = False
        self._edit: CellEdit | None = None

    def _speak(self, grid: Grid, target: Grid, stated: str) -> str:
        if not self._greeted:
            self._greeted = True
            return say(DialogueAct.GREETING, rng=self._rng)
        return super()._speak(grid, target, stated)

    def _manner(self, text: str, grid: Grid, target: Grid) -> str:
        if not text:
            return self._chat(grid)
        edit = _edit_of(text)
        if edit is None:
            return text
        self._edit = edit
        return self._politely(edit)

    def _chat(self, grid: Grid) -> str:
        self._waits = False
        if self._rng.random() >= self.chatter:
            return ""
        edit = self._edit
        if edit is not None and color_at(grid, edit.cell) != edit.after and self._rng.random() < 0.5:
            return self._politely(edit)
        return say(DialogueAct.OKAY, rng=self._rng)

    def _politely(self, edit: CellEdit) -> str:
        words = render(edit, self._rng)
        lower = words[0].lower() + words[1:]
        openings = ("Okay, now please", "Next, please", "Now then, please", "Please now", "Okay, then please")
        text = f"{openings[int(self._rng.integers(len(openings)))]} {lower.rstrip('.')}, please."
        return text if self._fits(text) and parse(text) == edit else render(edit)


class VagueArchitect(PreciseArchitect):
    """Often omits colour or place in a first request; adds it when asked.

    vagueness: the probability of an omission.
    """

    def __init__(self, *, vagueness: float = 0.5, **options: Any) -> None:
        self.vagueness = _check_share(vagueness, "vagueness")
        super().__init__(**options)

    def _restart(self) -> None:
        self._told: set[CellEdit] = set()

    def _manner(self, text: str, grid: Grid, target: Grid) -> str:
        edit = _edit_of(text)
        if edit is None or edit.action is not EditKind.PLACE or edit in self._told:
            return text
        self._told.add(edit)
        options = vaguely(edit) if self._rng.random() < self.vagueness else ()
        return options[int(self._rng.integers(len(options)))] if options else text


def vaguely(edit: CellEdit) -> tuple[str, ...]:
    """Return wordings of a placement without its colour or its place."""
    _, _, where = render(edit).rstrip(".").partition(" block ")
    one, _, other = where.partition(", ")  # height and place, in the order of the template
    color = color_name(edit.after)
    block = spelled(["a", color, "block"], sentence=False)
    said = [f"Place a block {one}, {other}.", f"Place {block} {one}.", f"Place {block} {other}."]
    lacking = {failure.reason: text for text in said if isinstance(failure := parse(text), Failure)}
    return tuple(lacking[reason] for reason in _VAGUE if reason in lacking)


class MistakenArchitect(PreciseArchitect):
    """Now and then names a wrong colour or cell; when that is built, corrects it.

    error: the probability of a mistake, at the first request for each block.
    """

    def __init__(self, *, error: float = 0.25, **options: Any) -> None:
        self.error = _check_share(error, "error")
        super().__init__(**options)

    def _restart(self) -> None:
        self._told: set[CellEdit] = set()
        self._right: CellEdit | None = None  # the intended edit, after a mistake
        self._pending: list[CellEdit] = []  # the last edit, and those after it

    def _speak(self, grid: Grid, target: Grid, stated: str) -> str:
        if not self._pending:
            return super()._speak(grid, target, stated)
        current = self._pending[0]
        done = color_at(grid, current.cell) == current.after
        if not done and "?" in stated:
            return render(current, self._rng)
        if not done and self._still < CORRECT_AFTER:
            return ""
        right, self._right, self._still = self._right, None, 0
        if right is not None:  # `current` was the mistake
            self._pending = self._correction(current, right) if done else [right]
        else:
            self._pending = self._pending[1:] if done else []
        return render(self._pending[0]) if self._pending else super()._speak(grid, target, stated)

    @staticmethod
    def _correction(wrong: CellEdit, right: CellEdit) -> list[CellEdit]:
        if wrong.cell == right.cell:
            return [CellEdit.between(right.cell, wrong.after, right.after)]
        return [CellEdit.between(wrong.cell, wrong.after, 0), right]

    def _manner(self, text: str, grid: Grid, target: Grid) -> str:
        edit = _edit_of(text)
        if edit is None or edit.action is not EditKind.PLACE or edit in self._told:
            return text
        self._told.add(edit)
        if self._rng.random() >= self.error:
            return text
        wrong = _slip(edit, lambda cell: not color_at(grid, cell) and not color_at(target, cell), self._rng)
        self._right, self._pending = edit, [wrong]
        return render(wrong)


class CarefulBuilder(ScriptedBuilder):
    """Does only what it fully understands. Base of the other manners.

    The options are those of `ScriptedBuilder`.
    """

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._rng = np.random.default_rng(seed)
        self._restart()

    def _restart(self) -> None:
        pass

    def _take(self, text: str) -> None:
        text, reply = self._listen(text, self._executor.settled)
        if reply:
            self._drop(reply)
        elif text:
            super()._take(text)

    def _listen(self, text: str, grid: Grid) -> tuple[str, str]:
        """Return the text to act on ("" for none), and a reply."""
        return text, ""


class HastyBuilder(CarefulBuilder):
    """Never asks: guesses what is missing, and now and then slips by a cell or a colour.

    slips: the probability of a slip.
    """

    def __init__(
        self, controls: ControlsName = "walking", *, slips: float = 0.15, **options: Unpack[Options]
    ) -> None:
        self.slips = _check_share(slips, "slips")
        super().__init__(controls, **options)

    def _restart(self) -> None:
        self._color = 0  # colour of the last placed block

    def _listen(self, text: str, grid: Grid) -> tuple[str, str]:
        heard = self._guessed(text)
        edit = _edit_of(heard)
        if edit is None:
            return heard, ""
        self._color = edit.color or self._color
        if edit.action is EditKind.PLACE and self._rng.random() < self.slips:
            wrong = _slip(edit, lambda cell: not color_at(np.maximum(grid, 0), cell), self._rng)
            return render(wrong), ""
        return heard, ""

    def _guessed(self, text: str) -> str:
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


class ForgetfulBuilder(CarefulBuilder):
    """Now and then forgets an instruction before it begins, and does nothing until the next one.

    lapses: the probability of that, per utterance.
    """

    def __init__(
        self, controls: ControlsName = "walking", *, lapses: float = 0.25, **options: Unpack[Options]
    ) -> None:
        self.lapses = _check_share(lapses, "lapses")
        super().__init__(controls, **options)

    def _listen(self, text: str, grid: Grid) -> tuple[str, str]:
        return ("" if self._rng.random() < self.lapses else text), ""


class AskingBuilder(CarefulBuilder):
    """Often asks before it begins, once per request; if it cannot speak it just begins.

    questions: the probability of a question.
    """

    def __init__(
        self, controls: ControlsName = "walking", *, questions: float = 0.5, **options: Unpack[Options]
    ) -> None:
        self.questions = _check_share(questions, "questions")
        super().__init__(controls, **options)

    def _restart(self) -> None:
        self._asked: set[CellEdit] = set()
        self._pending = ""  # the text it asked about

    def _listen(self, text: str, grid: Grid) -> tuple[str, str]:
        edit = _edit_of(text)
        pending, self._pending = self._pending, ""
        if pending and edit is None and parse_small_talk(text) is None:  # an answer
            return pending, ""
        if not self.can_ask or edit is None or edit in self._asked:
            return text, ""
        self._asked.add(edit)
        if self._rng.random() >= self.questions:
            return text, ""
        self._pending = text
        about = (DialogueAct.WHICH_COLOR, DialogueAct.WHICH_HEIGHT, DialogueAct.WHICH_PLACE)
        return "", say(about[int(self._rng.integers(len(about)))], rng=self._rng)


ARCHITECTS: dict[str, Any] = {
    "precise": PreciseArchitect,
    "terse": TerseArchitect,
    "talkative": TalkativeArchitect,
    "vague": VagueArchitect,
    "mistaken": MistakenArchitect,
}
BUILDERS: dict[str, Any] = {
    "careful": CarefulBuilder,
    "hasty": HastyBuilder,
    "forgetful": ForgetfulBuilder,
    "asking": AskingBuilder,
}
