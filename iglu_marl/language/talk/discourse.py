"""A dialogue as a builder follows it: what is named, what was mentioned and done last, and what is asked.

`Discourse.hear` reads a text in a world and in the light of what was said before. The agent that hears does the rest:
it builds one of the worlds that were found, or says the question or the objection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.dialogue import Role, Utterance
from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, as_grid, cells_of, color_at
from iglu_marl.language.grammar.answers import Asked
from iglu_marl.language.grammar.dialogue_acts import DialogueAct, parse_small_talk, say
from iglu_marl.language.grammar.engine import Parser
from iglu_marl.language.grammar.instructions import parse
from iglu_marl.language.grammar.reader import grammar, listed, nouns_of, tokens, unknown_words
from iglu_marl.language.meaning.blocks import CellEdit, Failure, Reason
from iglu_marl.language.meaning.context import Context
from iglu_marl.language.meaning.corrections import Correct
from iglu_marl.language.meaning.verbs import Instruction, Pick, Undo, bind_referent
from iglu_marl.language.meaning.worlds import ExpectedWorld
from iglu_marl.language.talk.repair import (
    Understanding,
    bare,
    begins_with_verb,
    is_dependent,
    is_remark,
    try_instruction,
    understand,
    understand_answer,
)

Grid = npt.NDArray[np.int8]


class ReaderReply(NamedTuple):
    """What a reader makes of a text.

    instruction: what to change, None for nothing. words: what the builder says: a question, an answer, a report.
    """

    instruction: Instruction | None = None
    words: str = ""


Reader = Callable[[str, Grid, Context], "ReaderReply | None"]
"""Reads a text, given the world, int8 [9, 11, 11], and the context.

It is asked first. Returns None if it cannot be asked now: only then the grammar reads.
"""

_STATED_AS_FACT = (Reason.UNKNOWN_WORD, Reason.NO_MATCH, Reason.OUTSIDE, Reason.OCCUPIED)


class Discourse:
    """What a builder knows of a dialogue: names, the last request, and the question that it asked.

    `hear` each text of the architect with the world as it is then. If one of the worlds that were found is the world of
    the next call, the request counts as carried out; `follow` says so at once. A request that was carried out is what
    "it", "the same again", "undo" and corrections refer to.

    Args:
        reader: reads each text instead of the grammar, unless it cannot be asked.

    Attributes:
        context: what an instruction may refer to besides the blocks.
        pending: the text that the builder asked about, or None.

    """

    def __init__(self, reader: Reader | None = None) -> None:
        self._reader = reader
        self._asked: tuple[Any, ReaderReply | None] = None, None  # what the reader was asked, and its reply
        self.context = Context()
        self.pending: Understanding | None = None
        self._refused = False  # whether the last request was not understood
        self._heard: tuple[int, Grid] | None = None  # number of the last text, and the world that it met
        self._expected: tuple[Grid, Understanding] | None = None  # worlds that the next one may be

    @property
    def names(self) -> Mapping[str, tuple[Cell, ...]]:
        """The cells of what has a name, by the name's singular."""
        return {word: named.cells for word, named in self.context.names.items()}

    def stand(
        self, position: tuple[float, float, float], yaw_deg: float, inventory: Iterable[float] | None = None
    ) -> None:
        """Note the builder's eye (x, y, z), yaw in degrees (for left and right), and blocks by colour."""
        stock = None if inventory is None else tuple(inventory)
        self.context = replace(self.context, position=position, yaw_deg=yaw_deg, inventory=stock)

    def hear(self, text: str, world: npt.ArrayLike) -> Understanding:
        """Read a text of the architect in a world, int8 [9, 11, 11].

        Returns:
            Its meaning; `act` says what the builder should do about it.

        Raises:
            GridError: if `world` is not a grid of blocks.

        """
        grid = as_grid(world, "world")
        reply = self.ask_reader(text, grid)
        pending, self.pending = self.pending, None
        if reply is not None:
            heard = self._as_replied(text, reply, grid)
        else:
            heard = self._without_request(text, pending) or self._as_request(text, pending, grid)
        self._heard = len(self.context.said), grid
        self._remember(Role.ARCHITECT, text)
        if heard.act == "request":
            self.pending = heard if heard.question is not None else self.pending
            self._expected = None if isinstance(heard.found, Failure) else (grid, heard)
        return heard

    def ask_reader(self, text: str, world: npt.ArrayLike) -> ReaderReply | None:
        """Return what the reader makes of the next text; None without one, or if it cannot be asked now.

        `hear` asks it, too, but the same only once.

        Raises:
            GridError: if `world` is not a grid of blocks.

        """
        grid = as_grid(world, "world")
        self._compare(grid)
        if self._reader is None:
            return None
        about = text, grid.tobytes(), self.context.said
        if self._asked[0] != about:
            self._asked = about, self._reader(text, grid, self.context)
        return self._asked[1]

    def overhear(self, text: str, role: Role = Role.BUILDER) -> None:
        """Note what the builder says, or somebody in its place; or what the architect said before its newest text."""
        self._remember(role, text)

    def _remember(self, role: Role, text: str) -> None:
        self.context = replace(self.context, said=(*self.context.said, Utterance(role, text)))

    def mention(self, cells: tuple[Cell, ...]) -> None:
        """Note what a question was about: "it" in the next text."""
        self.context = replace(self.context, mentioned=cells)

    def follow(self, instruction: Instruction, world: Grid, outcome: ExpectedWorld) -> None:
        """Note that an instruction was carried out on a world, with this result."""
        self.context = self.context.after(instruction, world, outcome)
        self._expected = None

    def notice(self, before: Grid, after: Grid, order: tuple[Cell, ...] = ()) -> None:
        """Note how others changed the world since the last texts: their changes are what was mentioned last.

        order: the cells that they changed, in that order, if it is known.
        """
        self._refused = False
        if np.array_equal(before, after):
            return
        cells = _cells(after != before)
        rank = {cell: number for number, cell in enumerate(order)}  # of its last change
        cells = tuple(sorted(cells, key=rank.__getitem__)) if rank.keys() >= {*cells} else cells
        known = self.context
        self.context = replace(
            known,
            last=cells,
            earlier=(*known.earlier, known.last),
            before=None,
            further=(before, *known.further),
            mentioned=(),
        )
        self.pending, self._expected = None, None

    def _compare(self, grid: Grid) -> None:
        """Note what was done since the last text: the request if the world shows it, or what others changed."""
        if self._heard is not None:
            (number, met), self._heard = self._heard, None
            edits = tuple(
                CellEdit.between(cell, color_at(met, cell), color_at(grid, cell))
                for cell in _cells(met != grid)
            )
            self.context = replace(self.context, done=(*self.context.done, (number, edits)))
        if self._expected is None:
            return
        (before, heard), self._expected = self._expected, None
        for outcome in () if isinstance(heard.found, Failure) else heard.found:
            if np.array_equal(outcome.grid, grid) and heard.instruction is not None:
                self.follow(heard.instruction, before, outcome)
                return
        if not np.array_equal(before, grid):
            self.notice(before, grid)

    def _as_replied(self, text: str, reply: ReaderReply, grid: Grid) -> Understanding:
        """Return a text as the reader understood it."""
        if reply.instruction is None:
            return Understanding(text, None, (), act="remark", words=reply.words)
        heard = try_instruction(text, reply.instruction, grid, self.context)
        if not isinstance(heard.found, Failure):  # "it" is all that changes, not the last part
            found = (replace(world, cells=_cells(world.grid != grid), earlier=()) for world in heard.found)
            heard = replace(heard, found=tuple(found))
        return replace(heard, words=reply.words)

    def _without_request(self, text: str, pending: Understanding | None) -> Understanding | None:
        """Return how to take a text that asks for no change; None for others."""
        questioned = any("?" in said.text for said in self.context.said[-1:])
        if pending is None and _states(text, questioned):
            return Understanding(text, None, (), act="remark")
        if pending is None and _read_alone(text, "complaint"):
            return Understanding(text, None, (), act="remark", words=say(DialogueAct.WHAT_CHANGE))
        if pending is None and is_remark(text, self.context):
            return Understanding(text, None, (), act="remark")
        said = parse_small_talk(text)
        if said is None or (pending is not None and _plain(text) in listed("agreeing")):
            return None
        if said.talk in (DialogueAct.COMPLETE, DialogueAct.GIVE_UP, DialogueAct.OUT_OF_BLOCKS):
            return Understanding(text, None, (), act="stop")
        self.pending = pending
        again = said.talk == DialogueAct.TRY_AGAIN and pending is None
        return Understanding(text, None, (), act="again" if again else "remark")

    def _as_request(self, text: str, pending: Understanding | None, grid: Grid) -> Understanding:
        heard = self._read(text, pending, grid)
        failed = isinstance(heard.found, Failure)
        corrects = heard.instruction is not None and is_dependent(heard.instruction)
        self._refused = failed and heard.question is None and not corrects
        if failed and heard.instruction is None:
            self.pending = pending  # still open
        return heard

    def _read(self, text: str, pending: Understanding | None, grid: Grid) -> Understanding:
        """Read a text after an open question."""
        if pending is not None and (found := self._as_reply(text, pending, grid)) is not None:
            return found
        new = understand(text, grid, self.context)
        if pending is not None and isinstance(new.instruction, Correct):
            return pending  # what is pending was not done
        dependent = new.instruction is not None and is_dependent(new.instruction)
        refused = self._refused and dependent and not self.context.mentioned
        if isinstance(new.instruction, Pick) or refused:  # without a question, or about what was not done
            new = Understanding(text, None, Failure(Reason.NOT_UNDERSTOOD, "", text))
        return new

    def _as_reply(self, text: str, pending: Understanding, grid: Grid) -> Understanding | None:
        """Read a text as the reply to a question; None if it is none."""
        question = pending.question
        assert question is not None
        stated = parse(text)
        if _plain(text) in listed("rejecting") or isinstance(stated, Undo):
            return Understanding(text, None, (), act="cancel")
        if question.missing == "word":
            if not question.suggestion or _plain(text) not in listed("agreeing"):
                return None
            word = rf"\b{re.escape(question.detail)}\b"
            whole = re.sub(word, question.suggestion, pending.text, flags=re.IGNORECASE)
            return understand(whole, grid, self.context)
        referred = pending.instruction is not None and question.reference is not None
        if isinstance(stated, Pick) and referred:
            return self._picked(pending, stated, grid)
        found = understand_answer(pending, text, grid, self.context)
        if found is None and is_remark(text, self.context) and not unknown_words(tokens(text)):
            self.pending, found = pending, Understanding(text, None, (), act="remark")
        elif found is None and asks(question) and not begins_with_verb(text):
            found = pending  # not an answer: ask again
        return found

    def _picked(self, pending: Understanding, stated: Pick, grid: Grid) -> Understanding:
        """Read the answer of the scripted architect: the one at a place."""
        assert pending.instruction is not None
        assert isinstance(pending.found, Failure)
        try:
            made = bind_referent(pending.instruction, pending.found.reference, stated.where)
        except DialogueError:
            return pending
        return try_instruction(pending.text, made, grid, self.context)


def _cells(mask: npt.NDArray[np.bool_]) -> tuple[Cell, ...]:
    return tuple((x, y, z) for x, y, z in cells_of(mask).tolist())


def _states(text: str, questioned: bool) -> bool:
    """Return whether a text only says how things are; without a question, "no, red" corrects."""
    kinds = ("status", "answered") if questioned else ("status",)
    parts = [part for part in re.split(r"[.;]", text) if part.strip()]
    ways = (way for way in ([text], parts) if way)
    states = any(all(any(asked(part, kind) for kind in kinds) for part in way) for way in ways)
    return states and not isinstance(parse(text), Correct)


def is_stop(text: str) -> bool:
    """Return whether a text orders a builder to stop building: "stop!"."""
    return _plain(text) in listed("stopping")


def _read_alone(text: str, category: str) -> bool:
    """Return whether a category has all words of a text."""
    said = [word for word in tokens(text) if word != "."]
    return any(end == len(said) for _, end, _ in Parser(grammar(), said).read(category))


def asked(text: str, category: str = "asked", names: frozenset[str] = frozenset()) -> Asked | None:
    """Return the question in a text, None if it has none of the kinds. names: nouns that name something."""
    said = [word for word in tokens(text) if word != "."]
    nouns = nouns_of(said, names)
    for words in (said, *bare(said)):
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
