"""Answers of a builder to an architect's questions: about the world, itself, and what it did.

The category `of_builder` of `language/grammar/asked.txt` gives a question's kind and what it names. Questions about
things have the answers of an architect (`answers.py`) whose target is the present build.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from iglu_marl.agents.scripted import answers
from iglu_marl.agents.scripted.answers import ConversationState, capital, listed, many, place_of
from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, color_at, color_name, in_zone
from iglu_marl.language import DialogueAct, Failure, say
from iglu_marl.language.grammar.answers import Asked
from iglu_marl.language.meaning.context import Resolution, Unresolved
from iglu_marl.language.meaning.references import BuilderPosition, Reference, resolve
from iglu_marl.language.meaning.shapes import COMPASS
from iglu_marl.language.talk.discourse import asked
from iglu_marl.language.talk.repair import understand


def replies(text: str, now: ConversationState, question: str = "") -> list[str]:
    """Return the possible answers to a question, the fullest first; [] for other texts.

    now: the build so far, with the build after the current instruction as target. question: the builder's open one.
    """
    asking = asked(text, "of_builder", frozenset(now.context.names))
    if asking is None or asking.kind == "unknown":
        if seen := answers.scene_answer(text, now):
            return [seen if seen != say(DialogueAct.NO_SUCH) else "There is not exactly one such thing."]
        return [say(DialogueAct.NOT_UNDERSTOOD)] if not question and _is_unanswerable(text, now) else []
    if asking.about:
        try:
            return answers.of_things(now.heard(text), asking.kind, **dict(asking.about))
        except DialogueError:
            return [say(DialogueAct.NOT_UNDERSTOOD)]
    if question and asking.kind in ("left", "finished"):
        return [f"No. {question}" if asking.kind == "finished" else question]
    return _of_itself(now, asking.kind)


def mentioned(text: str, now: ConversationState) -> tuple[Cell, ...]:
    """Return the cells of the things that a question is about, () if there are none."""
    asking = asked(text, "of_builder", frozenset(now.context.names))
    about = None if asking is None else dict(asking.about).get("of")
    try:
        items = resolve(about, Resolution.of(now.grid, now.context)) if isinstance(about, Reference) else []
    except Unresolved:
        items = []
    cells = tuple(cell for item in items for cell in item if color_at(now.grid, cell))
    return cells if len(cells) < np.count_nonzero(now.grid) or len(items) == 1 else ()


def _is_unanswerable(text: str, now: ConversationState) -> bool:
    """Return whether a text is a question and no request."""
    asking = asked(text, "unanswerable") if text.rstrip().endswith("?") else None
    if asking is None or asking.kind == "request":
        return False
    heard = understand(text, now.grid, now.context)
    return heard.instruction is None and isinstance(heard.found, Failure)


def _of_itself(now: ConversationState, kind: str) -> list[str]:
    way = str(COMPASS[round((now.context.yaw_deg or 0.0) / 90.0) % 4])
    if kind == "view":
        return [f"{capital(way)}."]
    if kind == "position":
        ((cell,),) = resolve(BuilderPosition(), Resolution.of(now.grid, now.context))
        return [f"{capital(place_of(cell) if in_zone(*cell) else 'outside of the zone')}, facing {way}."]
    if kind == "world":
        whole = replace(now, target=now.grid)
        return answers.answers(Asked("whole"), whole) if now.grid.any() else ["Nothing."]
    if kind == "did":
        return _did(now)
    finished = kind == "finished" and np.array_equal(now.grid, now.target)
    return ["Yes."] if finished else answers.answers(Asked(kind), now)


def _did(now: ConversationState) -> list[str]:
    """Return what the last instruction changed; after "undo", only the cells that it changed are known."""
    before = now.grid if now.context.before is None else now.context.before[1]
    cells = answers.cells_where(before != now.grid)
    changes = [(cell, color_at(before, cell), color_at(now.grid, cell)) for cell in cells or now.context.last]
    added = [new for _, old, new in changes if new and old in (0, new)]
    removed = [old for _, old, new in changes if not new]
    painted = [new for _, old, new in changes if new and old not in (0, new)]
    parts = [f"placed {answers.counted(added)}"] if added else []
    parts += [f"removed {answers.counted(removed)}"] if removed else []
    parts += [f"made {many(painted.count(color))} {color_name(color)}" for color in sorted(set(painted))]
    stated = f"I {listed(parts)}" if parts else "Nothing"
    where = f" {place_of(changes[0][0])}" if len(changes) == 1 else ""
    return [f"{stated}{where}.", f"{stated}."]
