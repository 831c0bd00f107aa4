"""Discourse relations of the Minecraft dialogues: the Minecraft Structured Dialogue Corpus (MSDC), joined by id.

MSDC (Thompson, Chaturvedi, Hunter and Asher, LREC-COLING 2024) splits the utterances of a session into elementary
units, adds the builder's actions as units of their own, and names the relations between units, such as
`Question-answer_pair`. A session there is "C51-B29-A26": structure, builder, architect. Its files are lists of
`{"id": ..., "edus": [{"text": ..., "speaker": ...}], "relations": [{"x": 1, "y": 2, "type": ...}]}`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors
from iglu_marl.data.mdc.corpus import Session

FILE_LIMIT = 64 * MIB  # bytes; the largest published file has 5 MB
_ACTIONS = re.compile(r"(?:[01][a-z]{2}\d[a-z]\s*)+|(?:(?:pick|place) \w+ -?\d+ -?\d+ -?\d+,?\s*)+")
_AHEAD = 6  # utterances in which the text of a unit is looked for

Discourse = Mapping[str, Mapping[str, Any]]


class Relation(NamedTuple):
    """A relation between two units: utterances (by their number in the session), or the actions after them."""

    kind: str  # such as "Elaboration"
    source: int  # utterance of the first unit
    source_acts: bool  # whether the first unit is the builder's actions after this utterance
    target: int  # utterance of the second unit
    target_acts: bool


def read_discourse(*paths: str | os.PathLike[str]) -> Discourse:
    """Return the annotations of files of MSDC by session. Raises `DataError` if one is no such file."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in map(Path, paths):
        with wrap_errors(str(path)):
            for session in parse_json(read_file(path, FILE_LIMIT), str(path)):
                units = [(str(unit["speaker"]), str(unit["text"])) for unit in session["edus"]]
                links = [(str(link["type"]), link["x"], link["y"]) for link in session["relations"]]
                if not all(type(end) is int and 0 <= end < len(units) for link in links for end in link[1:]):
                    raise DataError(f"session {session['id']!r:.80} has a relation of units that it lacks")
                found[str(session["id"])] = {"units": units, "links": links}
    return found


def relations(session: Session, discourse: Discourse) -> list[Relation] | None:
    """Return the relations of a session's utterances; None if it is not annotated.

    A unit belongs to the next utterance of its speaker that has its text. One whose text is nowhere near belongs to
    the utterance of the unit before.
    """
    annotated = discourse.get(f"{session.structure}-B{session.builder}-A{session.architect}")
    if annotated is None:
        return None
    places = _places(session, annotated["units"])
    return [Relation(kind, *places[x], *places[y]) for kind, x, y in annotated["links"]]


def _places(session: Session, units: list[tuple[str, str]]) -> list[tuple[int, bool]]:
    """Return the utterance of each unit, and whether it is the actions after it."""
    spoken = [(utterance.role.value, _letters(utterance.text)) for utterance in session.dialogue]
    places: list[tuple[int, bool]] = []
    current, begin = 0, 0  # the utterance of the unit before, and where that unit ends in it
    for speaker, text in units:
        if speaker.lower() == "builder" and _ACTIONS.fullmatch(text.strip()):
            places.append((current, True))
            continue
        wanted = _letters(text)
        candidates = [(current, begin)]
        candidates += [(number, 0) for number in range(current + 1, min(current + _AHEAD, len(spoken)))]
        for number, start in candidates:
            role, letters = spoken[number]
            if role == speaker.lower() and wanted in letters[start:]:
                current, begin = number, letters.index(wanted, start) + len(wanted)
                break
        places.append((current, False))
    return places


def _letters(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum()) or text.strip()
