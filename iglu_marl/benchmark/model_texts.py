"""Written requests and dialogues, and how they are turned, mirrored, shifted and recoloured.

`requests.json` has requests with one right result, and dialogues of several turns, written by language models for this
package. None of them says "left", "right" or "all", so that two requests can stand side by side in one world.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.dialogue import Role
from iglu_marl.core.grid import COLOR_NAMES, Cell, in_zone

Rng = np.random.Generator
Blocks = dict[Cell, int]
WAYS: Mapping[str, tuple[int, int]] = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
ORDER = tuple(WAYS)
COLORS = range(1, 7)
_ROLES = {role.value[0]: role for role in Role}

_ENDING = r"(?=(?:ern|ernmost|erly|wards?|most)?\b)"
_COMPASS = re.compile(rf"\b(north|south)([- ]?)(east|west){_ENDING}|\b(north|south|east|west){_ENDING}", re.I)
_COLOR = re.compile(rf"\b(?:(an?)(\s+))?({'|'.join(COLOR_NAMES[1:])})(?=(?:s|ish)?\b)", re.I)
_ABSOLUTE = re.compile(
    r"\b(?:cent\w+|middle|corners?|edges?|border|walls?|floor|field|grid|zone|yard|spot|board|goal)\b", re.I
)


class WrittenRequest(NamedTuple):
    """A request, the blocks before it, and the blocks after it."""

    name: str
    text: str
    start: Blocks
    target: Blocks

    @property
    def cells(self) -> set[Cell]:
        """Cells of the blocks before and after."""
        return {*self.start, *self.target}

    @property
    def colors(self) -> set[int]:
        """Colours of blocks and in the text."""
        said = {COLOR_NAMES.index(match[3].lower()) for match in _COLOR.finditer(self.text)}
        return said | {*self.start.values(), *self.target.values()}

    @property
    def is_relative(self) -> bool:
        """Whether it means the same wherever its blocks stand."""
        return bool(self.start) and not _ABSOLUTE.search(self.text)

    @property
    def has_compass(self) -> bool:
        """Whether the text names a direction of the compass."""
        return bool(_COMPASS.search(self.text))

    def shifted(self, x: int, z: int) -> WrittenRequest:
        """Return it at another place. Only for relative ones."""
        start, target = (
            {(a + x, y, b + z): color for (a, y, b), color in blocks.items()}
            for blocks in (self.start, self.target)
        )
        return self._replace(start=start, target=target)


class WrittenTurn(NamedTuple):
    """A turn of a dialogue: what is said in it, and the blocks before it and as they are meant after it.

    answer: what the architect answers if asked; "" if nothing is missing.
    """

    said: tuple[tuple[Role, str], ...]
    start: Blocks
    target: Blocks
    answer: str


class Symmetry(NamedTuple):
    """A mirror image (east and west swap), then quarter turns clockwise seen from above, and new colours by old."""

    mirrored: bool = False
    turns: int = 0
    colors: Sequence[int] = tuple(range(7))

    @classmethod
    def sample(cls, rng: Rng, colors: Mapping[int, int] | None = None) -> Symmetry:
        """Draw one. colors: those that are given; the others are drawn, too."""
        given = dict(colors or {})
        free = [int(color) for color in rng.permutation([c for c in COLORS if c not in given.values()])]
        palette = [0, *(given[color] if color in given else free.pop() for color in COLORS)]
        return cls(bool(rng.integers(2)), int(rng.integers(4)), palette)

    def way(self, way: str) -> str:
        """Return a direction of the compass after it."""
        number = ORDER.index(way)
        return ORDER[((-number if self.mirrored else number) + self.turns) % 4]

    def cell(self, cell: Cell) -> Cell:
        """Return a cell after it."""
        x, y, z = cell
        x = -x if self.mirrored else x
        for _ in range(self.turns):
            x, z = -z, x
        return x, y, z

    def blocks(self, blocks: Blocks) -> Blocks:
        """Return blocks after it."""
        return {self.cell(cell): self.colors[color] for cell, color in blocks.items()}

    def text(self, text: str) -> str:
        """Return a text with its directions and colours after it."""
        return _COLOR.sub(self._color, _COMPASS.sub(self._compass, text))

    def request(self, request: WrittenRequest) -> WrittenRequest:
        """Return a request after it."""
        start, target = self.blocks(request.start), self.blocks(request.target)
        return WrittenRequest(request.name, self.text(request.text), start, target)

    def _compass(self, match: re.Match[str]) -> str:
        first, joint, second, alone = match.groups()
        ways = [self.way(way.lower()) for way in ((alone,) if alone else (first, second))]
        ways.sort(key=("north", "south", "east", "west").index)
        return _like(match[0], (joint or "").join(ways))

    def _color(self, match: re.Match[str]) -> str:
        article, space, old = match.groups()
        new = COLOR_NAMES[self.colors[COLOR_NAMES.index(old.lower())]]
        if not article:
            return _like(old, new)
        return f"{_like(article, 'an' if new[0] in 'aeiou' else 'a')}{space}{_like(old, new)}"


def _like(old: str, new: str) -> str:
    """Return a word with the capitals of another one."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new.capitalize() if old[0].isupper() else new


@lru_cache(maxsize=1)
def _content() -> dict[str, Any]:
    text = files("iglu_marl.benchmark").joinpath("requests.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def _changed(blocks: Blocks, changes: Iterable[Sequence[int]]) -> Blocks:
    found = dict(blocks)
    for x, y, z, color in changes:
        found[x, y, z] = color
    return {cell: color for cell, color in found.items() if color}


@lru_cache(maxsize=1)
def written_requests() -> tuple[WrittenRequest, ...]:
    """Return all requests."""
    found = []
    for name, text, blocks, changes in _content()["requests"]:
        start = _changed({}, blocks)
        found.append(WrittenRequest(name, text, start, _changed(start, changes)))
    return tuple(found)


@lru_cache(maxsize=1)
def written_dialogues() -> Mapping[str, tuple[bool, tuple[WrittenTurn, ...]]]:
    """Return by name whether a dialogue can be turned and mirrored, and its turns."""
    found = {}
    for entry in _content()["dialogues"]:
        turns, start = list[WrittenTurn](), Blocks()
        for part in entry["turns"]:
            target = _changed(start, part["changes"])
            said = tuple((_ROLES[initial], text) for initial, text in part["said"])
            turns.append(WrittenTurn(said, start, target, part.get("answer", "")))
            start = _changed(target, part.get("undo", ()))
        found[entry["name"]] = (not entry["fixed"], tuple(turns))
    return found


def shift(rng: Rng, request: WrittenRequest) -> WrittenRequest:
    """Return a relative request at another place of the zone; others as they are."""
    if not request.is_relative:
        return request
    while True:
        x, z = (int(number) for number in rng.integers(-5, 6, 2))
        moved = request.shifted(x, z)
        if all(in_zone(*cell) for cell in moved.cells):
            return moved
