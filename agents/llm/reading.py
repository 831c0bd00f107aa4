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
_THOUGHT = re.compile(
    r"(?i:</?(?:seed:)?(?:think|thinking|thought|reasoning)>)|\[/?THINK\]|◁/?think▷|<\|(?:begin|end)_of_thought\|>"
)
_CHANNEL = re.compile(r"<\|(?:start|channel|constrain|message|end|return|call)\|>")
_FINAL = re.compile(
    r"<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
    r"(.*?)(?:<\|(?:start|channel|end|return|call)\|>|\Z)",
    re.DOTALL,
)
_OPENING = re.compile(r'\{\s*"')  # of an object with a key
_UNFINISHED = re.compile(r'\{\s*"(?:edits|say)"')
_FENCE = re.compile(r"^[^\S\n]*```[\w-]*[^\S\n]*$", re.MULTILINE)  # within one line: the search stays linear
# "**Message:**", "Sure! Here is the next message:"
_LABEL = re.compile(r"\A[^\n:]{0,80}\b(?:message|instruction|reply)\b[^\n:]{0,40}:[*\s]*", re.IGNORECASE)
_BULLET = re.compile(r"\A(?:\d{1,2}[.)]|[-*•])\s+")
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("`", "`"), ("*", "*"))
_COMMAND = re.compile(
    r"^\W*(place|remove)\s+(?:(\w+)\s+)?(?:block\s+)?(?:at\s+)?\(?(-?\d+)[\s,]+(-?\d+)[\s,]+(-?\d+)\)?\W*$",
    re.IGNORECASE,
)
_SAID = re.compile(r"[\s*•-]*say\b[\s:]*(.+)", re.IGNORECASE)
_NOTHING = re.compile(r"[\s*•-]*nothing[\s.]*$", re.IGNORECASE)
_AXES = ("east", "north", "height")


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
    *_, last = None, *_THOUGHT.finditer(text)
    if last is not None:
        if "/" not in last[0] and "end_of" not in last[0]:
            raise OnlyThoughts("it was empty, but for thoughts that did not end")
        text = text[last.end() :]
    return text[-MAX_CHARACTERS:]


def is_unfinished(text: str) -> bool:
    """Return whether a reply was cut off before its answer started."""
    try:
        return not strip_thoughts(text).strip()
    except OnlyThoughts:
        return True


def read_message(text: str) -> str:
    """Return an architect's message on one line, "" if it waits. Raises `Unreadable`.

    The reply is a JSON object `{"say": "Place …"}`, or the plain message, optionally after a label. The lines of a
    message are joined, without numbers and bullets of a list.
    """
    text = _FENCE.sub("", strip_thoughts(text)).strip()
    if (order := _find_order(text)) is not None:
        if not isinstance(order.get("say"), str):
            raise Unreadable(f'"say" is {_abbreviate(order.get("say"))}, expected a text')
        text = strip_control(order["say"]).strip()
        if not text:
            return ""
    elif text.startswith("{"):
        raise Unreadable('it has a JSON object without "say"')
    lines = [line for part in _LABEL.sub("", text).split("\n") if (line := " ".join(part.split()))]
    if len(lines) > 1:
        lines = [_BULLET.sub("", line) for line in lines]
    message = " ".join(lines)
    while len(message) > 1 and (message[0], message[-1]) in _QUOTES:
        message = message[1:-1].strip()
    if not message:
        raise Unreadable("it was empty")
    return "" if message.strip(" .!*").upper() in ("WAIT", "SILENCE") else message


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

    The arguments of a call are the reply.
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
        found.append(arguments)
    return "\n".join(part if isinstance(part, str) else json.dumps(part) for part in found)


def _find_order(text: str) -> dict[str, Any] | None:
    """Return the JSON order in a text, None if there is none. Raises `Unreadable` for several, or a broken one."""
    decoder = json.JSONDecoder(strict=False)
    order, place = None, 0
    for _ in range(_OPENINGS):
        opening = _OPENING.search(text, place)
        if opening is None:
            return order
        try:
            value, place = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError) as error:
            if _UNFINISHED.match(text, opening.start()):
                raise Unreadable(f"its JSON object could not be read: {_json_problem(error)}") from None
            place = opening.start() + 1
            continue
        if not ("edits" in value or "say" in value):
            place = opening.start() + 1
        elif order not in (None, value):
            raise Unreadable("there were several JSON objects, expected one")
        else:
            order = value
    raise Unreadable("it has too many brackets")


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
    east, north, height = (_read_integer(entry.get(axis), number, axis) for axis in _AXES)
    cell = (east, height - 2, -north)
    if not in_zone(*cell):
        place = f'"east": {east}, "north": {north}, "height": {height}'
        raise Unreadable(
            f"edit {number} lies outside the building zone ({place}); "
            "expected east and north in -5..5, height in 1..9"
        )
    if action == "remove":
        return Edit(*cell, 0)
    color = _lower(entry.get("color"))
    if color not in COLOR_NAMES[1:]:
        shown = _abbreviate(entry.get("color"))
        raise Unreadable(f'edit {number} has "color": {shown}, expected one of {", ".join(COLOR_NAMES[1:])}')
    return Edit(*cell, COLOR_NAMES.index(color))


def _lower(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _read_integer(value: Any, number: int, axis: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 1000:
        raise Unreadable(f'edit {number} has "{axis}": {_abbreviate(value)}, expected a whole number')
    return value


def _abbreviate(value: Any) -> str:
    if value is None:
        return "nothing"
    text = reprlib.repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
