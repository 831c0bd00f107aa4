"""From a model's words to validated edits, or to one line of text. Nothing else ever comes of them."""

from __future__ import annotations

import json
import re
import reprlib
from typing import Any, NamedTuple

import numpy.typing as npt

from iglu_marl.agents.llm.world_text import place_of
from iglu_marl.core.grid import COLOR_NAMES, Cell, color_at, in_zone
from iglu_marl.core.text import cleaned
from iglu_marl.planning import Edit

LONGEST = 50_000  # characters of a reply, without its thoughts, that are looked at
_OPENINGS = 200  # places at which a JSON object is looked for
_THOUGHT = re.compile(
    r"(?i:</?(?:seed:)?(?:think|thinking|thought|reasoning)>)|\[/?THINK\]|◁/?think▷|<\|(?:begin|end)_of_thought\|>"
)
_NAKED = re.compile(r"\A(?:analysis|commentary)(?=[A-Z{\"'])")  # channels of which the marks were taken out
_NAKED_FINAL = re.compile(r".*assistant\s*final", re.DOTALL)
_CHANNEL = re.compile(r"<\|(?:start|channel|constrain|message|end|return|call)\|>")
_FINAL = re.compile(
    r"<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
    r"(.*?)(?:<\|(?:start|channel|end|return|call)\|>|\Z)",
    re.DOTALL,
)
_ANSWER = re.compile(r"</?(?:answer|output)>|<\|(?:begin|end)_of_solution\|>", re.IGNORECASE)
_OPENING = re.compile(r"[{\[]")
_UNFINISHED = re.compile(r'\{\s*"(?:edits|say|action)"|\[\s*\{\s*"action"')
_FENCE = re.compile(r"^[^\S\n]*```[\w-]*[^\S\n]*$", re.MULTILINE)  # within one line: the search is linear
_NAME = re.compile(r"^\s*<?(?:the )?(?:architect|assistant|message)>?\s*[:>]\s*", re.IGNORECASE)
_TAG = re.compile(r"^\s*<(?:architect|builder)>\s*", re.IGNORECASE)
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("`", "`"), ("*", "*"))
_COMMAND = re.compile(
    r"^\W*(place|remove)\s+(?:(\w+)\s+)?(?:block\s+)?(?:at\s+)?\(?(-?\d+)[\s,]+(-?\d+)[\s,]+(-?\d+)\)?\W*$",
    re.IGNORECASE,
)
_AXES, _WORLD_AXES = ("east", "north", "height"), ("x", "y", "z")


class Unreadable(Exception):
    """A reply that cannot be used; the message says why, for the model and for people."""


class BuilderReply(NamedTuple):
    """What a builder's reply comes to: edits, and what it says to the architect."""

    edits: list[Edit]
    say: str = ""


def is_mark(text: str) -> bool:
    """Whether a text is one of the marks that set thoughts, or the channels of a reply, apart."""
    return bool(_THOUGHT.fullmatch(text) or _CHANNEL.fullmatch(text))


def answer_of(text: str) -> str:
    """A reply without its thoughts: the last `final` channel, where there are channels, from the last `</think>` on.

    The `<think>` may be missing: some chat templates end with it. Raises `Unreadable` when there are only thoughts.
    """
    text = cleaned(text)
    if "<|channel|>" in text or "<|message|>" in text:
        finals = _FINAL.findall(text)
        if not finals:
            raise Unreadable("it was empty, but for channels other than the final one")
        text = finals[-1]
    elif _NAKED.match(text):
        final = _NAKED_FINAL.match(text)
        if final is None:
            raise Unreadable("it was empty, but for channels other than the final one")
        text = text[final.end() :]
    *_, last = None, *_THOUGHT.finditer(text)
    if last is not None:
        if "/" not in last[0] and "end_of" not in last[0]:
            raise Unreadable("it was empty, but for thoughts that did not end")
        text = text[last.end() :]
    return _ANSWER.sub("", text)[:LONGEST]


def read_message(text: str) -> str:
    """An architect's message in a model's reply, on one line; "" when it waits. Raises `Unreadable`.

    The reply is the message, or has a JSON object with it: `{"say": "Place …"}`.
    """
    text = _FENCE.sub("", answer_of(text))
    if (found := _object(text)) is not None:
        if not isinstance(found.get("say"), str):
            raise Unreadable(f'"say" is {_shown(found.get("say"))}, expected a text')
        text = " ".join(cleaned(found["say"]).split())
        if not text:
            return ""
    elif text.lstrip().startswith("{"):
        raise Unreadable('it has a JSON object without "say"')
    lines = [" ".join(line.split()) for line in text.split("\n")]
    said = next((line for line in lines if line), "")
    said = _TAG.sub("", _NAME.sub("", said)).strip()
    while len(said) > 1 and any(said[0] == one and said[-1] == other for one, other in _QUOTES):
        said = said[1:-1].strip()
    if not said:
        raise Unreadable("it was empty")
    return "" if said.strip(" .!*").upper() in ("WAIT", "SILENCE") else said


def clipped(text: str, limit: int) -> str:
    """At most `limit` characters of a text, cut at the end of a sentence or of a word where there is one."""
    if len(text) <= limit:
        return text
    part = text[:limit]
    for mark, kept in ((". ", 1), ("! ", 1), ("? ", 1), (" ", 0)):
        if (place := text[: limit + 1].rfind(mark)) > limit // 3:
            return text[: place + kept].strip()
    return part


def read_order(text: str, grid: npt.NDArray[Any], max_edits: int) -> BuilderReply:
    """The edits in a builder's reply, all of them valid for a build [9, 11, 11]. Raises `Unreadable`."""
    text = _FENCE.sub("", answer_of(text))
    found = _object(text)
    if found is None:
        found = _commands(text)
    if found is None:
        raise Unreadable('no JSON object with "edits" was found')
    listed, say = found.get("edits", []), found.get("say", "")
    if "edits" not in found and say in ("", None):
        raise Unreadable('its JSON object has neither "edits" nor anything to "say"')
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list):
        raise Unreadable(f'"edits" is {_shown(listed)}, expected a list')
    if say is not None and not isinstance(say, str):
        raise Unreadable(f'"say" is {_shown(say)}, expected a text')
    if len(listed) > max_edits:
        raise Unreadable(f"there were {len(listed)} edits, expected at most {max_edits}")
    edits: dict[Cell, Edit] = {}
    for number, entry in enumerate(listed, start=1):
        edit = _edit(entry, number, grid)
        if edits.setdefault(edit.cell, edit) != edit:
            raise Unreadable(f"edit {number}: a second thing is to be done at {place_of(edit.cell)}")
    return BuilderReply(list(edits.values()), " ".join(cleaned(say or "").split()))


def text_of_content(content: Any) -> str | None:
    """The text of a message's content: a text, parts with texts, or nothing; None when it is none of these."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [
            part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
        ]
        return "".join(part for part in parts if isinstance(part, str))
    return None


def text_of_calls(calls: Any) -> str:
    """The calls of tools in a reply as the JSON text that they stand for; "" for none.

    The arguments of one call are the reply; several calls that each tell an edit, or are named `place` or `remove`,
    are its edits.
    """
    found = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments, strict=False)
            except (ValueError, RecursionError):
                found.append(arguments)
                continue
        if isinstance(arguments, dict) and function.get("name") in ("place", "remove"):
            arguments = {"action": function["name"], **arguments}
        found.append(arguments)
    if len(found) > 1 and all(isinstance(part, dict) and "action" in part for part in found):
        found = [{"edits": found}]
    return "\n".join(part if isinstance(part, str) else json.dumps(part) for part in found)


def _object(text: str) -> dict[str, Any] | None:
    """What the last JSON in a text says, as an object with edits or something to say: those before it are drafts.

    A list of edits, or one edit, is meant as `{"edits": [...]}`. Raises `Unreadable` when it is not clear what is
    meant: different ones without a word between them, or a last one that breaks off.
    """
    decoder = json.JSONDecoder(strict=False)
    last, start, end, place, problem = None, 0, 0, 0, ""
    for _ in range(_OPENINGS):
        opening = _OPENING.search(text, place)
        if opening is None:
            break
        begun = opening.start()
        try:
            found, place = decoder.raw_decode(text, begun)
        except (ValueError, RecursionError) as error:
            if _UNFINISHED.match(text, begun):
                problem = _where(error)
            place = begun + 1
            continue
        order = _order(found)
        if order is None:
            place = begun + 1
            continue
        if problem and order is not found:  # a part of what could not be read
            continue
        apart = last is None or problem or re.search(r"\w", text[end:begun])
        if not apart and text[start:end] != text[begun:place]:
            raise Unreadable("there were several JSON objects, expected one")
        last, start, end, problem = order, begun, place, ""
    if not problem and _UNFINISHED.search(text, max(end, place)):
        problem = "there are too many brackets before it"
    if problem:
        raise Unreadable(f"its last JSON object could not be read: {problem}")
    return last


def _order(found: Any) -> dict[str, Any] | None:
    """A JSON value as an object with edits or something to say; None when it is none."""
    if isinstance(found, dict):
        if "edits" in found or "say" in found:
            return found
        return {"edits": [found]} if "action" in found else None
    edits = isinstance(found, list) and all(isinstance(part, dict) and "action" in part for part in found)
    return {"edits": found} if edits and found else None


def _where(error: Exception) -> str:
    """What is wrong with a JSON text, and where."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return "it is nested too deeply"


def _commands(text: str) -> dict[str, Any] | None:
    """Lines such as `place red at 2 3 1` (east, north, height), in the form of the JSON object."""
    edits = []
    for line in text.split("\n"):
        if match := _COMMAND.match(line[:200]):
            action, color, *place = match.groups()
            edit: dict[str, Any] = {"action": action, **dict(zip(_AXES, map(int, place), strict=True))}
            if color is not None:
                edit["color"] = color
            edits.append(edit)
    return {"edits": edits} if edits else None


def _edit(entry: Any, number: int, grid: npt.NDArray[Any]) -> Edit:
    """One edit. Raises `Unreadable`."""
    if not isinstance(entry, dict):
        raise Unreadable(f"edit {number} is {_shown(entry)}, expected an object")
    action = _word(entry.get("action"))
    if action not in ("place", "remove"):
        raise Unreadable(
            f'edit {number} has "action": {_shown(entry.get("action"))}, expected "place" or "remove"'
        )
    cell = _cell(entry, number)
    stands = color_at(grid, cell)
    if action == "remove":
        if not stands:
            raise Unreadable(f"edit {number}: there is no block to remove at {place_of(cell)}")
        return Edit(*cell, 0)
    color = _word(entry.get("color", entry.get("colour")))
    if color not in COLOR_NAMES[1:]:
        shown = _shown(entry.get("color", entry.get("colour")))
        raise Unreadable(f'edit {number} has "color": {shown}, expected one of {", ".join(COLOR_NAMES[1:])}')
    return Edit(*cell, COLOR_NAMES.index(color))


def _cell(entry: dict[str, Any], number: int) -> Cell:
    """The cell that an edit names: by east, north and height, or by the world's own x, y and z."""
    world = all(axis in entry for axis in _WORLD_AXES)
    values = [_whole(entry.get(axis), number, axis) for axis in (_WORLD_AXES if world else _AXES)]
    cell = (values[0], values[1], values[2]) if world else (values[0], values[2] - 2, -values[1])
    if not in_zone(*cell):
        told = ", ".join(f'"{axis}": {value}' for axis, value in zip(_AXES, values, strict=True))
        raise Unreadable(
            f"edit {number} lies outside the building zone ({told}); "
            "expected east and north in -5..5, height in 1..9"
        )
    return cell


def _word(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _whole(value: Any, number: int, axis: str) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,3}\s*", value):
        value = int(value)
    if isinstance(value, float) and abs(value) < 1000 and value == int(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 1000:
        raise Unreadable(f'edit {number} has "{axis}": {_shown(value)}, expected a whole number')
    return value


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = reprlib.repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
