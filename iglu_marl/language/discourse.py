"""A dialogue as a builder follows it: what is named, what was mentioned and done last, and what is asked.

`Discourse.hear` reads a text in a world and in the light of what was said before. The agent that hears does the rest:
it builds one of the worlds that were found, or says the question or the objection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.dialogue import Role, Utterance
from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, as_grid, cells_of, color_at, color_name
from iglu_marl.language.blocks import Failure, Reason
from iglu_marl.language.dialogue_acts import DialogueAct, parse_small_talk, say
from iglu_marl.language.grammar.answers import Asked
from iglu_marl.language.grammar.engine import Parser
from iglu_marl.language.grammar.reader import grammar, listed, nouns_of, tokens, unknown_words
from iglu_marl.language.instructions import parse
from iglu_marl.language.references import Context
from iglu_marl.language.repair import (
    Understanding,
    announced_color,
    bare,
    begins_with_verb,
    is_dependent,
    is_remark,
    try_instruction,
    understand,
    understand_answer,
)
from iglu_marl.language.shapes import COMPASS, Direction
from iglu_marl.language.verbs import Correct, ExpectedWorld, Instruction, Pick, Undo, bind_referent

Grid = npt.NDArray[np.int8]

Reader = Callable[[str, Grid, Context], "str | Instruction | None"]
"""Reads a text that was not understood, given the world, int8 [9, 11, 11], and the context.

Returns other words, an instruction, or None if it understands nothing either.
"""

_STATED_AS_FACT = (Reason.UNKNOWN_WORD, Reason.NO_MATCH, Reason.OUTSIDE, Reason.OCCUPIED)
_ASKING = frozenset(("where", "where's", "how", "which", "what", "whats", "what's", "who"))
_LOOKING = re.compile(r"\b(?:fac|look)\w*(?: (?:to|towards?|out))*(?: the)? (north|east|south|west)\b")
_BEGUN = r"^(?:so|and|ok|also|you mean|do you mean)\b"
_LIGHT = frozenset(("the", "a", "an", "one", "ones", "it", "please"))


class Discourse:
    """What a builder knows of a dialogue: names, the last request, and the question that it asked.

    `hear` each text of the architect with the world as it is then. If one of the worlds that were found is the world of
    the next call, the request counts as carried out; `follow` says so at once. A request that was carried out is what
    "it", "the same again", "undo" and corrections refer to.

    Args:
        reader: is asked where a text is not wholly understood. What it returns counts if it can be followed.

    Attributes:
        context: what an instruction may refer to besides the blocks.
        pending: the text that the builder asked about, or None.

    """

    def __init__(self, reader: Reader | None = None) -> None:
        self._reader = reader
        self._asked: tuple[Any, Any] = None, None  # what the reader was asked, and its reply
        self.context = Context()
        self.pending: Understanding | None = None
        self._request = ""  # the last text that was no answer
        self._refused = False  # whether it was not understood
        self._followed = False  # whether it was carried out
        self._overheard = ""  # what somebody else asked about it
        self._expected: tuple[Grid, Understanding] | None = None  # worlds that the next one may be

    @property
    def names(self) -> Mapping[str, tuple[Cell, ...]]:
        """The cells of what has a name, by the name's singular."""
        return {word: named.cells for word, named in self.context.names.items()}

    def stand(self, position: tuple[float, float, float], yaw_deg: float) -> None:
        """Note the builder's eye (x, y, z) and yaw in degrees: left and right follow them."""
        self.context = replace(self.context, position=position, yaw_deg=yaw_deg)

    def hear(self, text: str, world: npt.ArrayLike) -> Understanding:
        """Read a text of the architect in a world, int8 [9, 11, 11].

        Returns:
            Its meaning; `act` says what the builder should do about it.

        Raises:
            GridError: if `world` is not a grid of blocks.

        """
        grid = as_grid(world, "world")
        self._compare(grid)
        pending, self.pending = self.pending, None
        question, self._overheard = self._overheard, ""
        heard = self._with_answer(question, text, pending, grid) if question and self._request else None
        if heard is None:
            colored = question and not grammar().words_of("color").isdisjoint(tokens(text))
            answers = bool(question and self._request) and not (colored or begins_with_verb(text))
            unanswered = answers and not self._followed
            self._request = f"{self._request}, {text}" if unanswered else text
            failed = Understanding(text, None, Failure(Reason.NOT_UNDERSTOOD, "", text))
            idle = answers and self._followed and bool(parse_small_talk(text) or _states(text, question))
            heard = self._by_reader(failed, grid, done=not unanswered) if answers and not idle else failed
            if heard is failed:
                heard = self._without_request(text, question, pending)
            if heard is None:  # where it is unanswered, it belongs to the request that was not understood
                heard = failed if unanswered else self._as_request(text, question, pending, grid)
        self._remember(Role.ARCHITECT, text)
        if heard.act == "request":
            self.pending = heard if heard.question is not None else self.pending
            self._expected = None if isinstance(heard.found, Failure) else (grid, heard)
        return heard

    def overhear(self, text: str, own: bool = False) -> None:
        """Hear what the builder says; if somebody else speaks in its place: what it asks, or where it looks."""
        self._remember(Role.BUILDER, text)
        if own:
            return
        if view := _LOOKING.search(text.lower()):
            self.context = replace(self.context, yaw_deg=90.0 * COMPASS.index(Direction(view[1])))
        self._overheard = text if "?" in text or set(text.lower().split()[:2]) & _ASKING else ""

    def _remember(self, role: Role, text: str) -> None:
        self.context = replace(self.context, said=(*self.context.said, Utterance(role, text)))

    def mention(self, cells: tuple[Cell, ...]) -> None:
        """Note what a question was about: "it" in the next text."""
        self.context = replace(self.context, mentioned=cells)

    def follow(self, instruction: Instruction, world: Grid, outcome: ExpectedWorld) -> None:
        """Note that an instruction was carried out on a world, with this result."""
        self.context = self.context.after(instruction, world, outcome)
        self._followed, self._expected = True, None

    def notice(self, before: Grid, after: Grid, order: tuple[Cell, ...] = ()) -> None:
        """Note how others changed the world since the last texts: their changes are what was mentioned last.

        order: the cells that they changed, in that order, if it is known.
        """
        self._refused = False
        if np.array_equal(before, after):
            return
        cells = _cells(after != before)
        rank = {cell: number for number, cell in enumerate(order)}  # of its last change
        ordered = rank.keys() >= {*cells}
        cells = tuple(sorted(cells, key=rank.__getitem__)) if ordered else cells
        placed = tuple(cell for cell in cells if color_at(after, cell))
        known = self.context
        self.context = replace(
            known,
            last=cells,
            ordered=ordered,
            earlier=(*known.earlier, known.last),
            before=None,
            further=(before, *known.further),
            mentioned=(),
            color=known.color if {color_at(after, cell) for cell in placed} <= {known.color} else None,
        )
        self.pending, self._expected, self._request = None, None, ""
        self._refused = self._followed = False

    def _compare(self, grid: Grid) -> None:
        """Follow the last request if the world shows that it was carried out; notice other changes."""
        if self._expected is None:
            return
        (before, heard), self._expected = self._expected, None
        for outcome in () if isinstance(heard.found, Failure) else heard.found:
            if np.array_equal(outcome.grid, grid) and heard.instruction is not None:
                self.follow(heard.instruction, before, outcome)
                return
        if not np.array_equal(before, grid):
            self.notice(before, grid)

    def _without_request(
        self, text: str, question: str, pending: Understanding | None
    ) -> Understanding | None:
        """Return how to take a text that asks for no change; None for others."""
        if pending is None and (color := announced_color(text)):
            self.context = replace(self.context, color=color)
            return Understanding(text, None, (), act="remark")
        if pending is None and (is_remark(text, self.context) or _states(text, question)):
            return Understanding(text, None, (), act="remark")
        said = parse_small_talk(text)
        if said is None or (pending is not None and _plain(text) in listed("agreeing")):
            return None
        if said.talk in (DialogueAct.COMPLETE, DialogueAct.GIVE_UP, DialogueAct.OUT_OF_BLOCKS):
            return Understanding(text, None, (), act="stop")
        self.pending = pending
        again = said.talk == DialogueAct.TRY_AGAIN and pending is None
        return Understanding(text, None, (), act="again" if again else "remark")

    def _as_request(
        self, text: str, question: str, pending: Understanding | None, grid: Grid
    ) -> Understanding:
        heard = self._read(text, pending, grid)
        if (asked := heard.question) is not None and asked.missing == "color" and self.context.color:
            heard = understand_answer(heard, color_name(self.context.color), grid, self.context) or heard
        failed = isinstance(heard.found, Failure)
        self._refused = failed and heard.question is None
        if question and self._refused and self._followed:
            heard = replace(heard, act="undo")
        elif failed and heard.instruction is None:
            self.pending = pending  # still open
        self._followed = self._followed and not failed
        return heard

    def _read(self, text: str, pending: Understanding | None, grid: Grid) -> Understanding:
        """Read a text after an open question."""
        if pending is not None:
            said, (found, text) = text, self._as_reply(text, pending, grid)
            if found is not None:
                return self._by_reader(found, grid, said) if found.act == "request" else found
        new = self._by_reader(understand(text, grid, self.context), grid)
        if pending is not None and isinstance(new.instruction, Correct):
            return pending  # what is pending was not done
        dependent = new.instruction is not None and is_dependent(new.instruction)
        refused = self._refused and dependent and not self.context.mentioned
        if isinstance(new.instruction, Pick) or refused:  # without a question, or about what was not done
            new = Understanding(text, None, Failure(Reason.NOT_UNDERSTOOD, "", text))
        return new

    def _as_reply(self, text: str, pending: Understanding, grid: Grid) -> tuple[Understanding | None, str]:
        """Read a text as the reply to a question; None if it is none, with the text that it agrees to."""
        question = pending.question
        assert question is not None
        if _plain(text) in listed("agreeing"):
            text = question.suggestion or text
        stated = parse(text)
        if _plain(text) in listed("rejecting") or isinstance(stated, Undo):
            return Understanding(text, None, (), act="cancel"), text
        referred = pending.instruction is not None and question.reference is not None
        if isinstance(stated, Pick) and referred:
            return self._picked(pending, stated, grid), text
        found = understand_answer(pending, text, grid, self.context)
        if found is None and asks(question) and not begins_with_verb(text):
            found = pending  # not an answer: ask again
        elif found is None and is_remark(text, self.context) and not unknown_words(tokens(text)):
            self.pending, found = pending, Understanding(text, None, (), act="remark")
        return found, text

    def _by_reader(
        self, heard: Understanding, grid: Grid, text: str = "", done: bool = False
    ) -> Understanding:
        """Return what was not understood as the reader follows it, or the text said now."""
        if self._reader is None or heard.complete:
            return heard
        reported = Utterance(Role.BUILDER, say(DialogueAct.DONE))  # the request that somebody asked about
        said = (*self.context.said, *[reported] * done)
        about = text or heard.text, grid.tobytes(), self.context.said
        if self._asked[0] != about:
            self._asked = about, self._reader(about[0], grid, replace(self.context, said=said))
        read = self._asked[1]
        if read is None:
            return heard
        if isinstance(read, str):
            other = understand(read, grid, self.context)
        else:
            other = try_instruction(heard.text, read, grid, self.context)
            if not isinstance(other.found, Failure):  # "it" is all that changes, not the last part
                found = (replace(one, cells=_cells(one.grid != grid), earlier=()) for one in other.found)
                other = replace(other, found=tuple(found))
        return replace(other, text=heard.text) if other.complete else heard

    def _picked(self, pending: Understanding, stated: Pick, grid: Grid) -> Understanding:
        """Read the answer of the scripted architect: the one at a place."""
        assert pending.instruction is not None
        assert isinstance(pending.found, Failure)
        try:
            made = bind_referent(pending.instruction, pending.found.reference, stated.where)
        except DialogueError:
            return pending
        return try_instruction(pending.text, made, grid, self.context)

    def _with_answer(
        self, question: str, text: str, pending: Understanding | None, grid: Grid
    ) -> Understanding | None:
        """Read the last request together with the answer to what somebody else asked; None if that does not do."""
        context = self.context
        heard = understand_answer(pending, text, grid, context) if pending else None
        if heard is None or isinstance(heard.found, Failure):
            if pending is None and context.before is not None and self._followed:
                last, earlier = (context.earlier or ((),))[-1], context.earlier[:-1]
                grid, context = context.before[1], replace(context, last=last, earlier=earlier, before=None)
            heard = _continued(self._request, question, text, grid, context)
        return None if heard is None or heard.instruction is None else heard


def _continued(request: str, question: str, reply: str, grid: Grid, context: Context) -> Understanding | None:
    """Read a request together with the answer to a question that somebody else asked about it; None if that fails.

    The answer continues the request; after a yes, what was asked does: "the same colour?" "yes".
    """
    words = tokens(reply)
    agreed = bool(words) and words[0] in listed("agreeing")
    rest = " ".join(words[agreed:])
    options = [option.strip(" ,") for option in re.split(r"\bor\b|\?", question.lower())]
    options = [re.sub(_BEGUN, "", option).strip(" ,") for option in options if option]
    if agreed:
        more = [rest, *(f"{option}, {rest}" for option in options), *options]
    else:
        content = set(words) - _LIGHT
        meant = [option for option in options if content and content <= set(tokens(option))]
        more = [*(meant if len(meant) == 1 < len(options) else []), reply, re.sub(r"^no\b[,. ]*", "", reply)]
    texts = [f"{request.rstrip(' .!')}, {addition}" for addition in more if addition]
    for text in [*texts, *(options if agreed else ())]:
        heard = understand(text, grid, context)
        whole = text in texts or (heard.instruction is not None and not is_dependent(heard.instruction))
        if heard.complete and whole:
            return heard
    return None


def _cells(mask: npt.NDArray[np.bool_]) -> tuple[Cell, ...]:
    return tuple((x, y, z) for x, y, z in cells_of(mask).tolist())


def _states(text: str, question: str) -> bool:
    """Return whether an architect answers somebody's question; without a question, "no, …" corrects."""
    parts = [part for part in re.split(r"[.;]", text) if part.strip()]
    answers = any(all(asked(part, "status") for part in way) for way in ([text], parts) if way)
    return answers and bool(question or not isinstance(parse(text), Correct))


def asked(text: str, category: str = "asked", names: frozenset[str] = frozenset()) -> Asked | None:
    """Return the question in a text, None if it has none of the kinds. names: nouns that name something."""
    said = [word for word in tokens(text, names) if word != "."]
    nouns = nouns_of(said, names)
    for words in (said, *bare(said, "")):
        readings = Parser(grammar(), words, nouns).read(category)
        found = [(cost, value) for value, end, cost in readings if end == len(words)]
        if found:
            kind: Asked = min(found, key=lambda pair: pair[0])[1]
            return kind
    return None


def asks(failure: Failure) -> bool:
    """Return whether the objection to a failure is a question."""
    return failure.missing is not None and (
        failure.reason not in _STATED_AS_FACT or failure.reference is not None
    )


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalpha() or c == "'" else " " for c in text.lower()).split())
