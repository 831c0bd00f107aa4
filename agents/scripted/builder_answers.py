"""Answers of a builder to an architect's questions: about the world, itself, and what it did.

The category `of_builder` of `language/grammar/asked.txt` gives a question's kind and what it names. Questions about
things have the answers of an architect (`answers.py`) whose target is the present build.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from iglu_marl.agents.scripted import answers
from iglu_marl.agents.scripted.answers import ConversationState, asked, capital, listed, many, place_of
from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import color_at, color_name, in_zone
from iglu_marl.language import DialogueAct, Failure, say
from iglu_marl.language.grammar.answers import Asked
from iglu_marl.language.references import Blocks, Item, Reference, Resolution, Unresolved, resolve
from iglu_marl.language.repair import understand
from iglu_marl.language.shapes import COMPASS

EYE_ON_GROUND = 0.63
_OF_NOTHING = {"number": "0.", "exists": "No.", "what": "Nothing."}
_OF_SEVERAL = (*_OF_NOTHING, "color", "place")  # kinds with an answer if more things fit than the words say


def replies(text: str, now: ConversationState, question: str = "") -> list[str]:
    """Return the possible answers to a question, the fullest first; [] for other texts.

    now: the build so far, with the build after the current instruction as target. question: the builder's open one.
    """
    asking = asked(text, "of_builder", frozenset(now.context.names))
    if asking is None:
        if seen := answers.scene_answer(text, now):
            return [seen if seen != say(DialogueAct.NO_SUCH) else "There is not exactly one such thing."]
        return [say(DialogueAct.NOT_UNDERSTOOD)] if not question and _is_unanswerable(text, now) else []
    if asking.about:
        try:
            return _of_things(now, asking.kind, **dict(asking.about))
        except DialogueError:
            return [say(DialogueAct.NOT_UNDERSTOOD)]
    if question and asking.kind in ("left", "finished"):
        return [f"No. {question}" if asking.kind == "finished" else question]
    return _of_itself(now, asking.kind)


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
        x, y, z = now.context.position or (0.0, EYE_ON_GROUND, 0.0)
        cell = int(np.floor(x + 0.5)), max(round(y - EYE_ON_GROUND), 0) - 1, int(np.floor(z + 0.5))
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
    parts = [f"placed {_counted(added)}"] if added else []
    parts += [f"removed {_counted(removed)}"] if removed else []
    parts += [f"made {many(painted.count(color))} {color_name(color)}" for color in sorted(set(painted))]
    stated = f"I {listed(parts)}" if parts else "Nothing"
    where = f" {place_of(changes[0][0])}" if len(changes) == 1 else ""
    return [f"{stated}{where}.", f"{stated}."]


def _counted(colors: Iterable[int]) -> str:
    counts = Counter(f"{color_name(color)} block" if color else "block" for color in colors)
    return listed(many(count, name) for name, count in counts.most_common())


def _of_things(now: ConversationState, kind: str, of: Reference, **more: Any) -> list[str]:
    setting = Resolution.of(now.grid, now.context)
    items, several = _found(of, setting)
    if items and several and kind not in _OF_SEVERAL:
        return [f"There are {len(items)} of them."]
    if more.pop("corner", False):
        items = [item for item in items if any(abs(x) == abs(z) == 5 for x, _, z in item)]
    if not items:
        return [_OF_NOTHING.get(kind, "There is no such thing.")]
    cells = tuple(cell for item in items for cell in item)
    if kind == "number":
        return [f"{len(items)}."]
    if kind == "long":
        return [f"{capital(many(int(np.ptp(cells, axis=0)[[0, 2]].max()) + 1))}."]
    if kind == "what":
        return [f"{capital(_counted(color_at(now.grid, cell) for cell in cells))}."]
    stated = [answers.answers(Asked("place"), replace(now, cells=item))[0].rstrip(".") for item in items]
    places = "; ".join(text[0].lower() + text[1:] for text in stated)
    if kind == "place":
        return [f"{capital(places)}.", f"{stated[0]}."]
    if kind == "exists":
        return [f"Yes, {places if len(items) == 1 else len(items)}."]
    if kind == "place_check":
        there = {cell for item in _found(Blocks((), count=None, **more), setting)[0] for cell in item}
        return [f"{'Yes' if all(there & set(item) for item in items) else 'No'}: {places}."]
    return answers.answers(Asked(kind, tuple(more.items())), replace(now, cells=cells))


def _found(of: Reference, setting: Resolution) -> tuple[list[Item], bool]:
    """Return the things that a reference means, and whether they are more than it says."""
    try:
        items, several = resolve(of, setting), False
    except Unresolved as error:
        items, several = list(error.failure.choices), True
    return [item for item in items if any(map(setting.color_at, item))], several  # places can be free
