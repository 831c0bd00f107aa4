"""What a builder says about an instruction that it cannot follow as it is: questions, refusals, misspelt words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from iglu_marl.core.grid import COLOR_NAMES, cells_of, color_at, color_name
from iglu_marl.language import Blocks, CellEdit, Context, DialogueAct, Failure, Reason, say
from iglu_marl.language.grammar.reader import respelled
from iglu_marl.language.placing import Either
from iglu_marl.language.repair import Understanding, meanings
from iglu_marl.language.templates import number_of, templates

_QUESTIONS = {
    "color": DialogueAct.WHICH_COLOR,
    "height": DialogueAct.WHICH_HEIGHT,
    "place": DialogueAct.WHICH_PLACE,
    "count": DialogueAct.WHICH_NUMBER,
    "direction": DialogueAct.WHICH_WAY,
    "referent": DialogueAct.WHICH_ONE,
}
_REFUSALS = {
    Reason.UNKNOWN_WORD: DialogueAct.UNKNOWN_WORD,
    Reason.NO_MATCH: DialogueAct.NO_SUCH,
    Reason.OUTSIDE: DialogueAct.OUTSIDE,
    Reason.OCCUPIED: DialogueAct.OCCUPIED,
}
_WAYS = ("north", "east", "south", "west", "left", "right", "front", "behind", "up", "down", "above", "below")
MOST_WORDS = 6  # of a part that was not understood, in a refusal

Fits = Callable[[str], bool]


def objection(heard: Understanding, fits: Fits, grid: Any = None, context: Context | None = None) -> str:
    """What is to be asked about an instruction, or what speaks against it: the fullest form that fits a message."""
    failure = heard.found
    assert isinstance(failure, Failure)
    return next(text for text in _forms(heard, failure, grid, context) if fits(text))


def _forms(heard: Understanding, failure: Failure, grid: Any, context: Context | None) -> Iterator[str]:
    reason = failure.reason
    if reason is Reason.UNKNOWN_WORD and failure.detail:
        if failure.suggestion:
            yield say(DialogueAct.MEAN_OTHER, word=failure.detail, other=failure.suggestion)
        yield say(DialogueAct.UNKNOWN_NAMED, word=failure.detail)
    if reason is Reason.NOT_UNDERSTOOD and failure.detail and heard.instruction is None:
        yield say(DialogueAct.NOT_READ, word=" ".join(failure.detail.replace(" .", "").split()[:MOST_WORDS]))
    if reason is Reason.WRONG_COLOR:
        yield say(DialogueAct.WRONG_COLOR, failure.color)
    if reason is Reason.NO_MATCH and isinstance(heard.instruction, CellEdit):
        yield say(DialogueAct.NOTHING_THERE)
    if reason is Reason.AMBIGUOUS:
        if isinstance(heard.instruction, Either) and failure.reference is None:
            readings = list(_readings(heard.instruction, grid, context))
            if len(readings) == 2:
                yield say(DialogueAct.WHICH_READING, word=readings[0], other=readings[1])
        if isinstance(failure.reference, Blocks) and len(failure.reference.colors) == 1:
            yield say(DialogueAct.WHICH_BLOCK, failure.reference.colors[0])
    if reason in _REFUSALS:
        yield say(_REFUSALS[reason])
    yield say(_QUESTIONS.get(failure.missing or "", DialogueAct.NOT_UNDERSTOOD))


def _readings(instruction: Either, grid: Any, context: Context | None) -> Iterator[str]:
    """What each meaning would change that the others would not."""
    worlds = [world.grid for _, world in meanings(instruction, grid, context or Context())]
    for world in worlds:
        own = world != grid
        for other in worlds:
            if other is not world:
                own &= world != other
        cells = cells_of(own if own.any() else world != grid).tolist()
        if cells:
            (x, y, z), count = cells[0], len(cells)
            edit = CellEdit.between((x, y, z), color_at(grid, (x, y, z)), color_at(world, (x, y, z)))
            yield _briefly(edit) + (f" and {count - 1} more" if count > 1 else "")


def _briefly(edit: CellEdit) -> str:
    """An edit in a few words."""
    x, y, z = edit.cell
    steps = [
        f"{abs(n)} {way}"
        for n, way in ((x, "east" if x > 0 else "west"), (z, "south" if z > 0 else "north"))
        if n
    ]
    color = color_name(edit.after or edit.old_color or 0)
    return f"{edit.action} {color} {' '.join(steps) or 'at the centre'}, level {y + 2}"


def respelling(text: str) -> str:
    """What to say about words that were taken for others, where these tell a colour, a number or a direction."""
    for word, other in respelled(text):
        meaningful = other in COLOR_NAMES or other in _WAYS or number_of(other) is not None
        if meaningful or other in templates()["numbers"]:
            return say(DialogueAct.TAKEN_FOR, word=word, other=other)
    return ""


def is_yes(text: str) -> bool:
    """Whether a text says yes, and nothing else."""
    return _plain(text) in _YES


def is_no(text: str) -> bool:
    """Whether a text says no, and nothing else."""
    return _plain(text) in _NO


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalpha() or c == "'" else " " for c in text.lower()).split())


_YES = frozenset(
    (
        "yes", "yeah", "yep", "yup", "sure", "ok", "okay", "right", "exactly", "correct", "yes please", "that's right",
        "please do", "yes i do", "of course",
    )
)  # fmt: skip
_NO = frozenset(
    ("no", "nope", "no thanks", "not that", "neither", "none of them", "wrong", "no i don't", "no i do not")
)  # fmt: skip
