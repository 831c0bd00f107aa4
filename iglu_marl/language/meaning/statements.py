"""Statements of a request that ask for no change, and are checked."""

from __future__ import annotations

from dataclasses import dataclass, replace

from iglu_marl.core.grid import Cell
from iglu_marl.language.meaning.blocks import Instruction, Reason, walk
from iglu_marl.language.meaning.context import NamedCells, Resolution, Unresolved
from iglu_marl.language.meaning.matching import find_items
from iglu_marl.language.meaning.references import Blocks, Reference
from iglu_marl.language.meaning.regions import Item, connected
from iglu_marl.language.meaning.shapes import Kind
from iglu_marl.language.meaning.worlds import ExpectedWorld, standing_cells


class Statement(Instruction):
    """Base of what asks for no change. It holds of the world that the instructions before it lead to, or fails."""

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        self.check(setting)
        return [ExpectedWorld(setting.grid, setting.last)]

    def check(self, setting: Resolution) -> None:
        """Raise `Unresolved` if it does not hold."""

    def kept(self, setting: Resolution) -> tuple[Cell, ...]:
        """Return the cells that must be at the end as they were at the start."""
        return ()


@dataclass(frozen=True)
class Name(Statement):
    """Give a name to something: "this is the mast".

    Args:
        word: singular of the name.
        of: what it names.
        plural: whether it names several things.

    """

    only_names = True

    word: str
    of: Reference
    plural: bool = False

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        named = NamedCells(tuple(standing_cells(self.of, setting)), self.plural)
        return [ExpectedWorld(setting.grid, setting.last, names={self.word: named})]


@dataclass(frozen=True)
class Choose(Statement):
    """The builder may choose where several fit: "any side is fine".

    what: "which" thing, "where" (also which way), or "any".
    """

    what: str = "any"


@dataclass(frozen=True)
class Keep(Statement):
    """Something stays as it is: "the yellow one stays". of: None = all that stands there before the request.

    others: a number of things like the changed one, but other ones: "keep the other two"; 0 = all of them.
    """

    of: Reference | None = None
    others: int | None = None

    def kept(self, setting: Resolution) -> tuple[Cell, ...]:
        """Return the cells of that; what is not there before the request is what it led to."""
        met = setting if setting.start is None else replace(setting, grid=setting.start)
        if self.others is not None:
            return tuple(cell for item in self._other_things(met) for cell in item)
        if self.of is None:
            return tuple(met.blocks)
        return tuple(standing_cells(self.of, met))

    def _other_things(self, met: Resolution) -> list[Item]:
        stated = walk(met.before[0]) if met.before is not None else ()
        kinds = [part.kind for part in stated if isinstance(part, Blocks)]
        things = find_items(met, kinds[0], ()) if kinds else []
        items = [item for item in things if not {*met.last}.intersection(item)]
        if self.others and self.others != len(items):
            raise Unresolved(Reason.NO_MATCH, f"{len(items)} of {self.others} others")
        return items


@dataclass(frozen=True)
class AssertCount(Statement):
    """Check on what was said before: that it placed this number of blocks. left: that it left this number."""

    count: int
    color: int | None = None
    left: bool = False

    def check(self, setting: Resolution) -> None:
        """Raise `Unresolved` for another number."""
        there = {cell for cell, color in setting.blocks.items() if self.color in (None, color)}
        placed = there.intersection(cell for part in (*setting.earlier, setting.last) for cell in part)
        structures = map(set, find_items(setting, Kind.STRUCTURE, ()))
        near = [cell for item in structures if not item.isdisjoint(setting.last) for cell in item & there]
        counts = {len(placed), len(setting.last), len(there), len(near)}
        if self.left and setting.start is not None:
            items = connected(Resolution(grid=setting.start).blocks)
            whole = {cell for item in items if not {*item}.isdisjoint(setting.last) for cell in item}
            counts = {len(there & whole)}
        if self.count not in counts:
            raise Unresolved(Reason.NO_NUMBER, f"{len(placed)} blocks instead of {self.count}")
