"""Parse replies of models into validated edits or one line of text, and into nothing else."""

from __future__ import annotations

import json
import re
import reprlib
from typing import Any, NamedTuple

import numpy.typing as npt

from iglu_marl.agents.llm.world_text import place_of
from iglu_marl.core.grid import COLOR_NAMES, Cell, color_at, in_zone
from iglu_marl.core.text import strip_control
from iglu_marl.planning import Edit

MAX_CHARACTERS = 50_000  # of a reply without its thoughts; the end of a longer one is read
_OPENINGS = 500  # JSON candidates that are tried
_LEAD = 200  # characters before one that may call it an example
_THOUGHT = re.compile(
    r"(?i:</?(?:seed:)?(?:think|thinking|thought|reasoning)>)|\[/?THINK\]|◁/?think▷|<\|(?:begin|end)_of_thought\|>"
)
_BARE_CHANNEL = re.compile(r"\A(?:analysis|commentary)(?=[A-Z{\"'])")  # the server removed the channel marks
_BARE_FINAL = re.compile(r".*assistant\s*final", re.DOTALL)
_CHANNEL = re.compile(r"<\|(?:start|channel|constrain|message|end|return|call)\|>")
_FINAL = re.compile(
    r"<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
    r"(.*?)(?:<\|(?:start|channel|end|return|call)\|>|\Z)",
    re.DOTALL,
)
_ANSWER = re.compile(r"</?(?:answer|output)>|<\|(?:begin|end)_of_solution\|>", re.IGNORECASE)
_OPENING = re.compile(r'\{\s*"|\[\s*\{')  # of an object with a key, or of a list of objects
# Text before an object that marks it as an example; _OF_EXAMPLE leaves open which of two objects is one.
_EXAMPLE = re.compile(
    r"(?:\b(?:for (?:example|instance)|an(?:other)? example|e\.g\.|(?:as|from|of|in) (?:your|the) (?:examples?|prompt))"
    r"|^\W*examples?\b)[^\n.!?]*\s*\Z|^[ \t]*>[^\n]*\Z",
    re.I | re.M,
)
_OF_EXAMPLE = re.compile(r"\bexamples?\b[^\n.!?]*\s*\Z", re.I)
_UNFINISHED = re.compile(r'\{\s*"(?:edits|say|action)"|\[\s*\{\s*"action"')
_FENCE = re.compile(r"^[^\S\n]*```[\w-]*[^\S\n]*$", re.MULTILINE)  # within one line: the search stays linear
_COURTESY = r"(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|alright|great|got it)\b[\s*_,.!]*"
# A label ("**Message:**"), an opening line ("Sure! Here is the next message:"), or a courtesy on its own line.
_LABEL = re.compile(
    rf"\A[\s*_#<]*(?:(?:{_COURTESY}|(?:here(?:['’]s| is)?|this is|the|my|your|next|first|architect['’]s)\b\s*){{0,9}}"
    r"\b(?:architect|assistant|message|instruction|utterance|reply|response)\b(?: (?:to|for) the builder)?"
    rf"(?: is)?[*_]*\s*(?:[:>][*_]*|\n)|{_COURTESY}(?<=\n)"
    rf"|(?:{_COURTESY}){{0,3}}(?:here(?:['’]s| is| are| it is| you go)|this is)\b[^\n:]{{0,80}}:[*_]*)[\s:>]*",
    re.IGNORECASE,
)
_TAG = re.compile(r"^\s*<(?:architect|builder)>\s*", re.IGNORECASE)
_BULLET = re.compile(r"\A(?:\d{1,2}[.)]|[-*•])\s+")
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("`", "`"), ("*", "*"))
_COMMAND = re.compile(
    r"^\W*(place|remove)\s+(?:(\w+)\s+)?(?:block\s+)?(?:at\s+)?\(?(-?\d+)[\s,]+(-?\d+)[\s,]+(-?\d+)\)?\W*$",
    re.IGNORECASE,
)
_SAID = re.compile(r"[\s*•-]*say\b[\s:]*(.+)", re.IGNORECASE)
_NOTHING = re.compile(r"[\s*•-]*nothing[\s.]*$", re.IGNORECASE)
_AXES, _WORLD_AXES = ("east", "north", "height"), ("x", "y", "z")


class Unreadable(Exception):
    """A reply that cannot be used; the message explains why, for the model and for people."""


class OnlyThoughts(Unreadable):
    """A reply that ends within its thoughts."""


class BuilderReply(NamedTuple):
    """Edits, and a message to the architect."""

    edits: list[Edit]
    say: str = ""


def is_mark(text: str) -> bool:
    """Return whether a text is a mark around thoughts or channels."""
    return bool(_THOUGHT.fullmatch(text) or _CHANNEL.fullmatch(text))


def strip_thoughts(text: str) -> str:
    """Return a reply without its thoughts: the last `final` channel, and what follows the last `</think>`.

    The opening `<think>` may be missing, since some chat templates end with it. Only the end of a long reply is kept.
    Raises `OnlyThoughts` if there is no answer.
    """
    text = strip_control(text)
    if "<|channel|>" in text or "<|message|>" in text:
        finals = _FINAL.findall(text)
        if not finals:
            raise OnlyThoughts("it was empty, but for channels other than the final one")
        text = finals[-1]
    elif _BARE_CHANNEL.match(text):
        final = _BARE_FINAL.match(text)
        if final is None:
            raise OnlyThoughts("it was empty, but for channels other than the final one")
        text = text[final.end() :]
    *_, last = None, *_THOUGHT.finditer(text)
    if last is not None:
        if "/" not in last[0] and "end_of" not in last[0]:
            raise OnlyThoughts("it was empty, but for thoughts that did not end")
        text = text[last.end() :]
    return _ANSWER.sub("", text)[-MAX_CHARACTERS:]


def is_unfinished(text: str) -> bool:
    """Return whether a reply was cut off before its answer started."""
    try:
        return not strip_thoughts(text).strip()
    except OnlyThoughts:
        return True


def read_message(text: str) -> str:
    """Return an architect's message on one line, "" if it waits. Raises `Unreadable`.

    The reply is a JSON object `{"say": "Place …"}`, or the plain message, optionally after a label or opening line. The
    lines of a message are joined, without numbers and bullets of a list.
    """
    answer = strip_thoughts(text)
    text = _FENCE.sub("", answer).strip()
    is_long = len(answer) == MAX_CHARACTERS  # the message is at its end
    if (found := _find_order(text)) is not None:
        if not isinstance(found.get("say"), str):
            raise Unreadable(f'"say" is {_abbreviate(found.get("say"))}, expected a text')
        text = " ".join(strip_control(found["say"]).split())
        if not text:
            return ""
    elif text.lstrip().startswith("{"):
        raise Unreadable('it has a JSON object without "say"')
    for _ in range(3):  # courtesy, opening line and label may follow each other
        text = _LABEL.sub("", text)
    lines = [line for part in text.split("\n") if (line := " ".join(part.split()))] or [""]
    if any(lines[0][0:1] == one and lines[0][1:].endswith(other) for one, other in _QUOTES):
        lines = lines[:1]  # what follows a quoted message is about it
    if len(lines) > 1:
        lines = [_BULLET.sub("", line) for line in lines]
    said = _TAG.sub("", lines[-1] if is_long else " ".join(lines)).strip()
    said = said.rstrip("*") if said.count("**") % 2 else said  # of a label
    while len(said) > 1 and any(said[0] == one and said[-1] == other for one, other in _QUOTES):
        said = said[1:-1].strip()
    if not said:
        raise Unreadable("it was empty")
    return "" if said.strip(" .!*").upper() in ("WAIT", "SILENCE") else said


def clip(text: str, limit: int) -> str:
    """Clip a text to `limit` characters, at the end of a sentence or word if possible."""
    if len(text) <= limit:
        return text
    part = text[:limit]
    for mark, kept in ((". ", 1), ("! ", 1), ("? ", 1), (" ", 0)):
        if (place := text[: limit + 1].rfind(mark)) > limit // 3:
            return text[: place + kept].strip()
    return part


def read_order(text: str, grid: npt.NDArray[Any], max_edits: int) -> BuilderReply:
    """Return the changes that a builder's reply makes in a build [9, 11, 11], edit by edit. Raises `Unreadable`.

    Removals of air are left out, unless the reply has nothing else.
    """
    text = _FENCE.sub("", strip_thoughts(text))
    first_line = text.strip().partition("\n")[0][:200]
    in_lines = _COMMAND.match(first_line) or _SAID.match(first_line)
    found = None if in_lines else _find_order(text)
    if found is None:
        found = read_commands(text)
    listed, say = found.get("edits", []), found.get("say", "")
    if "edits" not in found and say in ("", None):
        raise Unreadable('its JSON object has neither "edits" nor anything to "say"')
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list):
        raise Unreadable(f'"edits" is {_abbreviate(listed)}, expected a list')
    if say is not None and not isinstance(say, str):
        raise Unreadable(f'"say" is {_abbreviate(say)}, expected a text')
    if len(listed) > max_edits:
        raise Unreadable(f"there were {len(listed)} edits, expected at most {max_edits}")
    edits: dict[Cell, Edit] = {}
    needless = ""
    for number, entry in enumerate(listed, start=1):
        edit = _read_edit(entry, number)
        stood = edits[edit.cell].color if edit.cell in edits else color_at(grid, edit.cell)
        if not (edit.color or stood):
            needless = needless or f"edit {number}: there is no block to remove at {place_of(edit.cell)}"
        edits[edit.cell] = edit
    changes = [edit for edit in edits.values() if edit.color or color_at(grid, edit.cell)]
    say = " ".join(strip_control(say or "").split())
    if needless and not (changes or say):
        raise Unreadable(needless)
    return BuilderReply(changes, say)


def text_of_content(content: Any) -> str | None:
    """Return the text of a message's content (a string, a list of parts, or None); None for other types."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        texts = [part.get("text") for part in parts if part.get("type") in ("text", "output_text")]
        return "".join(text for text in texts if isinstance(text, str))
    return None


def text_of_calls(calls: Any) -> str:
    """Convert the tool calls of a reply to a JSON text, "" without calls.

    The arguments of a single call are the reply. Several calls with an `action`, or named `place` or `remove`, are
    its edits.
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


def _find_order(text: str) -> dict[str, Any] | None:
    """Return the last JSON order in a text; earlier ones are drafts, and examples after the answer are skipped.

    A list of edits, or one edit, stands for `{"edits": [...]}`. Raises `Unreadable` if the order is ambiguous:
    different objects without a word between them, or a last one that breaks off.
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
                problem = _json_problem(error)
            place = begun + 1
            continue
        order = _as_order(found)
        if order is None:
            place = begun + 1
            continue
        if problem and order is not found:  # part of an object that could not be read
            continue
        lead = text[max(end, begun - _LEAD) : begun]
        if last is not None and not problem and _EXAMPLE.search(lead):
            continue
        apart = re.search(r"\w", text[end:begun]) and not _OF_EXAMPLE.search(lead)
        if not (last is None or problem or apart) and text[start:end] != text[begun:place]:
            raise Unreadable("there were several JSON objects, expected one")
        last, start, end, problem = order, begun, place, ""
    if not problem and _UNFINISHED.search(text, max(end, place)):
        problem = "there are too many brackets before it"
    if problem:
        raise Unreadable(f"its last JSON object could not be read: {problem}")
    return last


def _as_order(found: Any) -> dict[str, Any] | None:
    if isinstance(found, dict):
        if "edits" in found or "say" in found:
            return found
        return {"edits": [found]} if "action" in found else None
    edits = isinstance(found, list) and all(isinstance(part, dict) and "action" in part for part in found)
    return {"edits": found} if edits and found else None


def _json_problem(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return "it is nested too deeply"


def read_commands(text: str) -> dict[str, Any]:
    """Read lines such as `place red at 2 3 1` (east, north, height), `say Which one?` and `nothing` as an order.

    Raises `Unreadable` for any other line, and for a text without a line.
    """
    edits, said = [], []
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if match := _COMMAND.match(line[:200]):
            action, color, *place = match.groups()
            edit: dict[str, Any] = {"action": action, **dict(zip(_AXES, map(int, place), strict=True))}
            if color is not None:
                edit["color"] = color
            edits.append(edit)
        elif match := _SAID.match(line):
            quoted = len(match[1]) > 1 and match[1][0] == match[1][-1] == '"'
            said.append(match[1][1:-1] if quoted else match[1])
        elif not _NOTHING.match(line):
            raise Unreadable(
                f'{_abbreviate(line)} is no edit, nothing to say, and no JSON object with "edits"'
            )
    if not lines:
        raise Unreadable("it was empty")
    if edits and any(map(_NOTHING.match, lines)):
        raise Unreadable("it has both edits and 'nothing'")
    return {"edits": edits, "say": " ".join(said)}


def _read_edit(entry: Any, number: int) -> Edit:
    if not isinstance(entry, dict):
        raise Unreadable(f"edit {number} is {_abbreviate(entry)}, expected an object")
    action = _lower(entry.get("action"))
    if action not in ("place", "remove"):
        raise Unreadable(
            f'edit {number} has "action": {_abbreviate(entry.get("action"))}, expected "place" or "remove"'
        )
    cell = _read_cell(entry, number)
    if action == "remove":
        return Edit(*cell, 0)
    color = _lower(entry.get("color", entry.get("colour")))
    if color not in COLOR_NAMES[1:]:
        shown = _abbreviate(entry.get("color", entry.get("colour")))
        raise Unreadable(f'edit {number} has "color": {shown}, expected one of {", ".join(COLOR_NAMES[1:])}')
    return Edit(*cell, COLOR_NAMES.index(color))


def _read_cell(entry: dict[str, Any], number: int) -> Cell:
    """Return the cell of an edit, given by east, north and height, or by x, y and z."""
    world = all(axis in entry for axis in _WORLD_AXES)
    values = [_read_integer(entry.get(axis), number, axis) for axis in (_WORLD_AXES if world else _AXES)]
    cell = (values[0], values[1], values[2]) if world else (values[0], values[2] - 2, -values[1])
    if not in_zone(*cell):
        place = ", ".join(f'"{axis}": {value}' for axis, value in zip(_AXES, values, strict=True))
        raise Unreadable(
            f"edit {number} lies outside the building zone ({place}); "
            "expected east and north in -5..5, height in 1..9"
        )
    return cell


def _lower(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _read_integer(value: Any, number: int, axis: str) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,3}\s*", value):
        value = int(value)
    if isinstance(value, float) and abs(value) < 1000 and value == int(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 1000:
        raise Unreadable(f'edit {number} has "{axis}": {_abbreviate(value)}, expected a whole number')
    return value


def _abbreviate(value: Any) -> str:
    if value is None:
        return "nothing"
    text = reprlib.repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
