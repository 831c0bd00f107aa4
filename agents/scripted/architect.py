"""An architect that requests block after block, or shape after shape, in plain words, and checks the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, DialogueError, Role
from iglu_marl.agents.scripted import answers
from iglu_marl.agents.scripted.answers import GO_ON, OF_WHOLE, ConversationState, cells_where, mistake
from iglu_marl.agents.scripted.decomposition import InstructionStep, decompose, parts_of
from iglu_marl.agents.scripted.dialogue_tracker import (
    DIALOG_KEYS,
    SHOW_ARCHITECT,
    DialogueTracker,
    require_entry,
)
from iglu_marl.agents.scripted.referring import by_loose_reference, by_reference
from iglu_marl.agents.settings import MESSAGE_CHARACTERS, MESSAGE_TOKENS, Settings, check_pair
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLORS, Cell, color_at, index_of
from iglu_marl.game.seats import unwrap_game
from iglu_marl.language import (
    At,
    Build,
    CellEdit,
    Context,
    DialogueAct,
    Failure,
    Instruction,
    outcomes,
    parse_small_talk,
    render,
    say,
)
from iglu_marl.language.grammar.answers import Asked
from iglu_marl.language.meaning.context import NamedCells
from iglu_marl.language.meaning.statements import Name
from iglu_marl.language.meaning.verbs import Pick, Sequence
from iglu_marl.language.talk.repair import understand
from iglu_marl.planning.feasibility import used_up
from iglu_marl.planning.ordering import order_edits

Level = Literal["blocks", "shapes"]
References = Literal["none", "exact", "loose"]
LEVELS = ("blocks", "shapes")
REFERENCES = ("none", "exact", "loose")

PATIENCE = 6  # turns without a visible change before a new request
REPEAT_AFTER = 60  # turns before a request is repeated in any case
PERSISTENCE = 3  # tries at one block before another one
COMMENT_AFTER = 30  # turns before a wrong block is mentioned
MAX_TRIES = 4 * PERSISTENCE  # per open block before giving up: for builders that cannot speak
MAX_REFUSALS = 2  # per open block before giving up

_NOT_HEARD = frozenset(
    DialogueAct(name)
    for name in (
        *("not_understood", "unknown_word", "unknown_named", "mean_other", "not_read"),
        *(
            "which_color",
            "which_height",
            "which_place",
            "which_number",
            "which_way",
            "outside",
            "what_change",
        ),
    )
)
_REFUSED = frozenset(
    DialogueAct(name)
    for name in ("no_blocks", "occupied", "nothing_there", "wrong_color", "unreachable", "no_such")
)
_ASKED = {
    DialogueAct(f"which_{name}"): kind
    for name, kind in (
        *((name, name) for name in ("color", "height", "place", "way")),
        *(("number", "count"), ("one", "which"), ("block", "which")),
    )
}
_WHICH = frozenset({DialogueAct.WHICH_ONE, DialogueAct.WHICH_BLOCK})


@dataclass(frozen=True)
class PendingRequest:
    """The last request.

    Args:
        instruction: as worded.
        plain: the same, counted from the centre of the zone.
        cells: those that it changes.
        about: all cells of the instruction in its order, "it" to the builder.
        goal: the build after it, int8 [9, 11, 11].
        target: the target at that time, int8 [9, 11, 11].
        meant: the block that its reference means, if any.

    """

    instruction: Instruction
    plain: Instruction
    cells: tuple[Cell, ...]
    about: tuple[Cell, ...]
    goal: npt.NDArray[np.int8]
    target: npt.NDArray[np.int8]
    meant: Cell | None = None

    def open_cells(self, grid: npt.NDArray[Any]) -> list[Cell]:
        """Return the cells that are not yet right."""
        return [cell for cell in self.cells if color_at(grid, cell) != color_at(self.goal, cell)]


class ScriptedArchitect:
    """Gives one instruction per turn in the plain phrasing of `iglu_marl.language`, in a buildable order.

    It takes `target_grid` where the map has it, neither shifted nor turned. It is silent while the builder works,
    requests that wrong blocks be removed or changed, rephrases an instruction that was not understood, and postpones
    what cannot be done now. It answers questions of the builder (see `agents/scripted/answers.py`); to other texts
    it repeats its request in other words. It names wrong blocks, and says what to do about them.

    Args:
        level: "blocks" requests single blocks; "shapes" the shapes of the target
            (`agents/scripted/decomposition.py`), and single blocks where there is no shape or a shape failed.
        references: "none" counts places from the centre of the zone; "exact" refers to existing blocks where only one
            thing can be meant; "loose" also where several can. It answers "which one?", and when the builder only
            waits, it gives the plain wording.
        controls: of the builder, which determine a good order.
        codec: vocabulary of token chat (None: text, or the template vocabulary when the dialog holds tokens).
        message_length: capacity of a token message; a longer instruction is not given.
        max_characters: capacity of a text message.
        patience: turns without a visible change before it continues.
        repeat_after: turns before it repeats itself in any case.
        comment_after: turns before it mentions a wrong block.
        stock: blocks of each color that there are, standing ones included. When a color is used up it asks for no more
            of it, and says so at the end.
        overview: whether it describes the parts of the structure before the first request, in a message of its own.

    """

    def __init__(
        self,
        *,
        controls: ControlsName = "walking",
        codec: Codec | None = None,
        message_length: int = MESSAGE_TOKENS,
        max_characters: int = MESSAGE_CHARACTERS,
        level: Level = "blocks",
        references: References = "none",
        patience: int = PATIENCE,
        repeat_after: int = REPEAT_AFTER,
        comment_after: int = COMMENT_AFTER,
        stock: SequenceOf[int] = (BLOCKS_PER_COLOR,) * len(COLORS),
        overview: bool = False,
    ) -> None:
        if min(patience, repeat_after, comment_after) < 1:
            stated = f"patience is {patience}, repeat_after {repeat_after} and comment_after {comment_after}"
            raise AgentError(f"{stated}, expected 1 or more")
        if level not in LEVELS or references not in REFERENCES:
            expected = f"one of {', '.join(LEVELS)}, and of {', '.join(REFERENCES)}"
            raise AgentError(f"level is {level!r} and references {references!r}, expected {expected}")
        self.level, self.references, self.max_characters = level, references, max_characters
        self.controls: ControlsName = controls
        self.patience, self.repeat_after = patience, repeat_after
        self.comment_after, self.stock = comment_after, tuple(stock)
        self.overview = overview
        self._dialogue = DialogueTracker(codec, message_length)
        self._forget(None)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> ScriptedArchitect:
        """Return an architect for an environment's chat and its builder.

        Raises `AgentError` for a game of a team, and for a chat of symbols.
        """
        check_pair(env, cls)
        settings = Settings.in_words(env, cls.__name__)
        most = {"message_length" if settings.tokens else "max_characters": settings.max_length}
        held = (unwrap_game(env).config.inventories or {}).get("builder_0")
        stock = {} if held is None else {"stock": held}
        return cls(**{**settings.only("controls", "codec"), **most, **stock, **options})

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of its seat, see `iglu_marl.game.seats.GameSeat`."""
        needs = {"role": Role.ARCHITECT, "pair": True, **self._dialogue.made_for}
        return needs if self._dialogue.tokens else {**needs, "max_characters": self.max_characters}

    def _forget(self, seed: int | None) -> None:
        self._dialogue.forget()
        self._rng = np.random.default_rng(seed)
        self._asked: PendingRequest | None = None
        self._described = not self.overview
        self._latest: tuple[Cell, ...] = ()  # cells of the last completed request
        self._alone: set[Cell] = set()  # cells of failed shapes
        self._plainly: set[Cell] = set()  # cells of failed requests with references
        self._steps: list[InstructionStep] = []  # planned requests
        self._base: npt.NDArray[Any] | None = None  # the build at that time
        self._last = b"", b""  # build and pose of the last turn
        self._goal = b""
        self._still = self._waited = 0
        self._tries: Counter[Cell] = Counter()
        self._refusals: Counter[Cell] = Counter()
        self._order: list[Cell] = []
        self._closed = self._over = False
        self._turns = 0  # in which it waited
        self._standing: dict[Cell, int] = {}  # wrong blocks, and the turns in which to comment on them
        self._answered: set[DialogueAct] = set()  # answered questions about this request
        self._yaw: float | None = None
        self._topic: tuple[Cell, ...] = ()  # what "it" means, if not the request
        self._names: dict[str, NamedCells] = {}

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode as the architect, else raise `AgentError`."""
        if role != Role.ARCHITECT:
            raise AgentError(f"a {type(self).__name__} cannot play the {role}")
        self._forget(seed)

    def act(self, observation: Any) -> Any:
        """Return the next instruction, or silence; raise `AgentError` if target_grid or grid is not observed."""
        target = require_entry(observation, ("target_grid",), "ScriptedArchitect", SHOW_ARCHITECT)
        grid = require_entry(observation, ("grid",), "ScriptedArchitect", SHOW_ARCHITECT)
        stated = self._heard(observation)
        self._watch(grid, observation.get("agentPos"))
        if (goal := target.tobytes()) != self._goal:  # the next stage of a progressive task
            self._goal, self._tries, self._refusals = goal, Counter(), Counter()
            self._alone, self._plainly, self._steps = set(), set(), []
            self._over = False
        return self._dialogue.utter(self._speak(grid, target, stated))

    @property
    def idle(self) -> bool:
        """Whether it has said its last words: nothing is left to request, or nothing that can be done."""
        return self._closed

    @property
    def ready(self) -> bool:
        """Whether its next act takes no time: it waits, unless somebody speaks or the build changes."""
        waits = self._still + 1 < self.patience and self._waited + 1 < self.repeat_after
        return waits and self._asked is not None and not self._over

    def close(self) -> None:
        """Release nothing."""

    def _heard(self, observation: Any) -> str:
        dialog = next((observation[key] for key in DIALOG_KEYS if key in observation), None)
        fresh = () if dialog is None else self._dialogue.hear(dialog)
        texts = [utterance.text for utterance in fresh if utterance.role == Role.BUILDER]
        return texts[-1] if texts else ""

    def _watch(self, grid: npt.NDArray[Any], pose: Any) -> None:
        self._yaw = None if pose is None else float(np.asarray(pose)[4])
        seen = grid.tobytes(), _bytes_of(pose)
        self._still = self._still + 1 if seen == self._last else 0
        if seen[0] != self._last[0]:
            self._topic = ()
            if self._closed:
                self._tries.clear()  # somebody resumed what was given up
        self._last = seen
        self._waited += 1

    @property
    def _patience(self) -> int:
        return self.patience if self._last[1] else self.repeat_after

    def _is_unfinished(self, grid: npt.NDArray[Any], target: npt.NDArray[Any]) -> bool:
        """Return whether the last instruction, or tidying up after it, is unfinished."""
        assert self._asked is not None
        assert self._base is not None
        if left := self._asked.open_cells(grid):  # unless the target changed
            return any(color_at(target, cell) == color_at(self._asked.target, cell) for cell in left)
        odd = (grid != target) & (grid != self._base) & (grid != self._asked.goal)
        return bool(odd.any())

    def _speak(self, grid: npt.NDArray[Any], target: npt.NDArray[Any], stated: str) -> str:
        if self._over and not stated:
            return ""
        if self._over:
            self._over, self._tries, self._refusals = False, Counter(), Counter()
        answer = parse_small_talk(stated) if stated else None
        talk = None if answer is None else answer.talk
        if stated and answer is None:
            return self._reply(answers.question_of(stated, frozenset(self._names)), stated, grid, target)
        if talk in _ASKED and (
            self._asked is None or (talk not in self._answered and self._asked.meant is None)
        ):
            self._answered.add(talk)  # next time, rephrase the request
            return self._reply(Asked(_ASKED[talk]), stated, grid, target)
        if self._asked is None or not self._is_unfinished(grid, target):
            return self._next(grid, target)
        if comment := self._comment(grid, target):
            return comment
        if talk in (DialogueAct.DONE, DialogueAct.UNCHANGED) and self._asked.open_cells(grid):
            return self._reply(Asked("done"), stated, grid, target)
        cells = self._asked.cells
        if talk in _WHICH and self._asked.meant is not None:
            self._waited = 0
            return self._words(Pick(At(self._asked.meant)))
        if talk in _REFUSED:
            self._refusals.update(cells)
            self._tries.update(dict.fromkeys(cells, PERSISTENCE))
        elif talk not in _NOT_HEARD | _WHICH and self._still < self._patience:
            if self._waited < self.repeat_after or not self._asked.open_cells(grid):
                return ""
            self._waited = 0
            if isinstance(self._asked.plain, (CellEdit, Build, Sequence)):  # repeating it changes nothing
                return self._words(self._asked.plain)
        self._tries.update(cells)
        return self._next(grid, target, other_words=talk in _NOT_HEARD | _WHICH)

    def _reply(
        self, question: Asked | None, text: str, grid: npt.NDArray[Any], target: npt.NDArray[Any]
    ) -> str:
        kind = "" if question is None else question.kind
        busy = self._asked is not None and self._is_unfinished(grid, target)
        if kind == "okay":
            return "" if busy else self._next(grid, target)
        general = question is not None and (kind in OF_WHOLE or "of" in dict(question.about))
        if not general and (self._asked is None or (kind in GO_ON and not busy)):
            self._closed = self._closed and bool(np.array_equal(grid, target))
            return self._next(grid, target) or say(DialogueAct.COMPLETE)
        if kind == "stuck" and self._asked is not None:
            self._alone.update(self._asked.cells)
            return self._next(grid, target)
        situation = replace(self._situation(grid, target), parts=tuple(parts_of(target))).heard(text)
        self._still = self._waited = 0
        if kind == "give_up":
            self._closed, self._over, self._asked = True, True, None
        found = [self._name(text, situation)] if question is None else answers.answers(question, situation)
        if question is not None:
            self._topic = answers.topic_of(question, situation) or self._topic
        fitting = [said for said in found if said and self._fits(said)]
        if fitting or self._asked is None:
            return fitting[0] if fitting else self._next(grid, target) or say(DialogueAct.COMPLETE)
        if kind == "done" and situation.wrong:
            return next(said for said in (*mistake(situation, situation.wrong[0]), "") if self._fits(said))
        said = self._words(self._asked.plain, other_words=kind != "done")
        return self._with_remark(
            said, "I can't answer that." if question is None and " " in text[:-1] and "?" in text else ""
        )

    def _with_remark(self, said: str, before: str, after: str = "") -> str:
        """Return an instruction with remarks, if they fit a message in words."""
        text = " ".join(filter(None, (before, said, after)))
        return said if self._dialogue.tokens or not self._fits(text) else text

    def _name(self, text: str, situation: ConversationState) -> str:
        """Remember the name that a text gives to a part of the structure ("we call it the mast")."""
        heard = understand(text, situation.target, situation.context)
        if not isinstance(heard.instruction, Name) or isinstance(heard.found, Failure):
            return ""
        self._names.update(heard.found[0].names)
        return f"Okay, the {heard.instruction.word}."

    def _situation(self, grid: npt.NDArray[Any], target: npt.NDArray[Any]) -> ConversationState:
        now, goal = grid.astype(np.int8, copy=False), target.astype(np.int8, copy=False)
        last = self._topic or (cells_where(goal != 0) if self._asked is None else self._asked.about)
        context = Context(tuple(last), self._yaw, names=self._names)
        if self._asked is None or self._base is None:
            return ConversationState(now, goal, now, (), now, context)
        cells = self._asked.about if isinstance(self._asked.plain, Build) else self._asked.cells
        return ConversationState(
            now, goal, self._base.astype(np.int8, copy=False), cells, self._asked.goal, context
        )

    def _comment(self, grid: npt.NDArray[Any], target: npt.NDArray[Any]) -> str:
        """Return what is wrong about a block that has stood too long at a wrong place; once per block."""
        assert self._asked is not None
        assert self._base is not None
        due, self._turns = self._turns + self.comment_after, self._turns + 1
        wrong = answers.wrong_blocks(grid, target, self._base, self._asked.goal)
        self._standing = {cell: self._standing.get(cell, due) for cell in wrong}
        for cell in wrong:
            if self._standing[cell] == self._turns:
                self._still = self._waited = 0
                found = mistake(self._situation(grid, target), cell)
                return next(said for said in (*found, "") if self._fits(said))
        return ""

    def _fits(self, text: str) -> bool:
        if self._dialogue.tokens:
            return len(self._dialogue.codec.encode(text)) <= self._dialogue.message_length
        return len(text) <= self.max_characters

    def _words(self, instruction: Instruction, other_words: bool = False) -> str:
        return self._said(instruction, self._rng if other_words else None)

    def _said(self, instruction: Instruction, rng: np.random.Generator | None) -> str:
        """Return a wording that fits a message; raise `DialogueError` if there is none."""
        tokens = self._dialogue.tokens
        limits = (self._dialogue.message_length, 10_000) if tokens else (None, self.max_characters)
        if rng is None:
            return _plainly(instruction, *limits)
        return render(instruction, rng, max_words=limits[0], max_characters=limits[1])

    def _sayable(self, instruction: Instruction) -> bool:
        try:
            self._said(instruction, None)
        except DialogueError:
            return False
        return True

    def _next(self, grid: npt.NDArray[Any], target: npt.NDArray[Any], other_words: bool = False) -> str:
        """Return the next request; if there is none, the closing line, once."""
        self._still = self._waited = 0
        if not self._described and (said := self._describe(grid, target)):
            return said
        before = self._asked
        self._settle(grid)
        short = used_up(grid, target, self.stock)
        lacking = np.isin(target, list(short)) & (grid != target)
        cells = [cell for cell in self._open_cells(grid, target) if not lacking[index_of(cell)]]
        if any(self._refusals[cell] < MAX_REFUSALS and self._tries[cell] < MAX_TRIES for cell in cells):
            self._topic = ()
            slow = [cell for cell in cells if cell in self._alone and self._tries[cell] < PERSISTENCE]
            aim = np.where(lacking, grid, target)
            step = self._shape(grid, aim) if self.level == "shapes" and not slow else None
            self._asked = self._request(step or self._single(slow or cells, grid, target), grid, target)
            self._answered = set()
            self._base = grid.copy()
            self._closed = False
            said, (cell, *_) = self._words(self._asked.instruction, other_words), self._asked.cells
            slower = "Let's go block by block." if slow and before and len(before.cells) > 1 else ""
            names = (
                f"It belongs to the {word}." for word, named in self._names.items() if cell in named.cells
            )
            return self._with_remark(said, slower, next(names, ""))
        self._asked = None
        if self._closed:
            return ""
        self._closed = True
        if short and not cells:
            return say(DialogueAct.OUT_OF_BLOCKS, min(short))
        return say(DialogueAct.GIVE_UP if cells else DialogueAct.COMPLETE)

    def _describe(self, grid: npt.NDArray[Any], target: npt.NDArray[Any]) -> str:
        """Return an overview of the structure, unless half of it is built."""
        self._described = True
        if 2 * np.count_nonzero(grid != target) < np.count_nonzero(target) or self._dialogue.tokens:
            return ""
        return answers.overview(target.astype(np.int8), parts_of(target), self._fits)

    def _settle(self, grid: npt.NDArray[Any]) -> None:
        if self._asked is None:
            return
        if not self._asked.open_cells(grid):
            self._latest = () if isinstance(self._asked.plain, Sequence) else self._asked.about
            failed = ((cell, tries) for cell, tries in self._tries.items() if cell not in self._asked.cells)
            self._tries = Counter({cell: min(tries, PERSISTENCE) for cell, tries in failed})
            self._refusals.clear()  # it may be possible now
            return
        self._latest, self._steps = (), []
        self._plainly.update(self._asked.cells)
        if len(self._asked.cells) > 1 and self._asked.instruction == self._asked.plain:
            self._alone.update(self._asked.cells)

    def _single(self, cells: list[Cell], grid: npt.NDArray[Any], target: npt.NDArray[Any]) -> InstructionStep:
        """Return the least tried cell, those first for which there are blocks.

        If there are no blocks, remove the first block of the colour that has to go, to replace it later.
        """

        def used_up(cell: Cell) -> bool:
            color = color_at(target, cell)
            return color != 0 and int(np.count_nonzero(grid == color)) >= self.stock[color - 1]

        cell = min(cells, key=lambda cell: (self._tries[cell] // PERSISTENCE, used_up(cell)))
        wanted = color_at(target, cell)
        spare = [other for other in cells if color_at(grid, other) == wanted] if used_up(cell) else []
        if spare:
            return InstructionStep(CellEdit.between(spare[0], wanted, 0), (spare[0],))
        return InstructionStep(CellEdit.between(cell, color_at(grid, cell), wanted), (cell,))

    def _request(
        self, step: InstructionStep, grid: npt.NDArray[Any], target: npt.NDArray[Any]
    ) -> PendingRequest:
        """Return the request for a step: with references, if this architect uses them."""
        goal, aim = grid.astype(np.int8), target.astype(np.int8)
        for cell in step.cells:
            removed = isinstance(step.instruction, CellEdit) and step.instruction.after == 0
            goal[index_of(cell)] = 0 if removed else color_at(target, cell)
        pointed = None
        if self.references != "none" and self._plainly.isdisjoint(step.cells):
            build = grid.astype(np.int8)
            if self.references == "loose":
                pointed = by_loose_reference(step.instruction, build, self._sayable)
            else:
                pointed = by_reference(step.instruction, build, goal, self._latest, self._sayable)
        found = outcomes(step.instruction, grid)
        one = not isinstance(step.instruction, Sequence)
        about = found[0].cells if one and not isinstance(found, Failure) else step.cells
        said, meant = (step.instruction, None) if pointed is None else (pointed.instruction, pointed.meant)
        return PendingRequest(said, step.instruction, step.cells, about, goal, aim, meant)

    def _shape(self, grid: npt.NDArray[Any], target: npt.NDArray[Any]) -> InstructionStep | None:
        """Return the next step of a decomposition; None for a single block that was tried before."""
        wrong = set(cells_where(grid != target))
        done = bool(self._steps) and wrong.isdisjoint(self._steps[0].cells)
        self._steps = self._steps[1:] if done else []
        if wrong != {cell for step in self._steps for cell in step.cells}:
            self._steps = decompose(
                grid,
                target,
                self.controls,
                alone=self._alone,
                sayable=self._sayable,
                again=not self._dialogue.tokens,
            )
        step = self._steps[0] if self._steps else None
        if step is not None and (len(step.cells) > 1 or not self._tries[step.cells[0]]):
            return step
        self._steps = []
        return None

    def _open_cells(self, grid: npt.NDArray[Any], target: npt.NDArray[Any]) -> list[Cell]:
        """Return the cells that are not yet right, in the initial order while it is valid."""
        differing = int(np.count_nonzero(grid != target))
        cells = [cell for cell in self._order if color_at(grid, cell) != color_at(target, cell)]
        if len(cells) < differing:  # the world has changed in other ways
            self._order = list(dict.fromkeys(edit.cell for edit in order_edits(grid, target, self.controls)))
            cells = self._order
        return cells


@lru_cache(maxsize=4096)
def _plainly(instruction: Instruction, max_words: int | None, max_characters: int) -> str:
    return render(instruction, max_words=max_words, max_characters=max_characters)


def _bytes_of(pose: Any) -> bytes:
    return pose if isinstance(pose, bytes) else b"" if pose is None else np.asarray(pose).tobytes()
