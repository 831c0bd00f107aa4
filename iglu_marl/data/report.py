"""`Report`: counts of what a reader or writer processed, and a typed entry for each piece it skipped or changed.

Each reader defines its own `SkipReason`. No piece of data is skipped without an entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Generic, TypeVar


class SkipReason(str, Enum):
    """Base class of the reasons why data are skipped, missing or changed.

    A subclass has a member for each reason, whose value describes it. `unit` is what `Skipped.number` counts, as in
    `class MultiturnSkip(SkipReason, unit="step")`.
    """

    __str__ = str.__str__

    def __init_subclass__(cls, unit: str = "") -> None:
        """Store the unit."""
        cls._unit = unit  # type: ignore[attr-defined]

    @property
    def unit(self) -> str:
        """What `Skipped.number` counts: "step", "state", "line", "turn" or ""."""
        return str(type(self)._unit)  # type: ignore[attr-defined]


AnyReason = TypeVar("AnyReason", bound=SkipReason)


@dataclass(frozen=True)
class Skipped(Generic[AnyReason]):
    """One piece of data that was skipped or changed."""

    reason: AnyReason  # why
    name: str = ""  # session, game, member or file; "" for the data as a whole
    number: int | None = None  # step, state, turn or line of it (see `SkipReason.unit`); None for all
    detail: str = ""  # further text

    def __str__(self) -> str:
        name = self.name if self.name.isprintable() else repr(self.name)
        number = "" if self.number is None else f"{self.reason.unit} {self.number}"
        place = f"{name} {number}".strip() or "the data"
        return f"{place}: {self.reason}{f' ({self.detail})' if self.detail else ''}"


@dataclass
class Report(Generic[AnyReason]):
    """Counts of what was read or written, and an entry for each piece that was skipped or changed.

    `rows` to `unbuilt` are counts, 0 where a reader does not count them. `skipped` are the entries in order. `files`
    are entries for whole files: unused, damaged, or left out for safety.
    """

    rows: int = 0
    repeated_rows: int = 0
    games: int = 0
    sessions: int = 0
    states: int = 0
    turns: int = 0
    tasks: int = 0
    unbuilt: int = 0
    skipped: list[Skipped[AnyReason]] = field(default_factory=list)
    files: list[Skipped[Any]] = field(default_factory=list)

    def skip(self, reason: AnyReason, name: str = "", number: int | None = None, detail: str = "") -> None:
        """Add an entry to `skipped`."""
        self.skipped.append(Skipped(reason, name, number, detail))

    @property
    def exact(self) -> bool:
        """Whether nothing was skipped or changed."""
        return not self.skipped and not self.files

    @property
    def example(self) -> str:
        """The first entry as the end of an error message, or ""."""
        entries = [*self.skipped, *self.files]
        return f"; such as {entries[0]!s:.300}" if entries else ""

    @property
    def counts(self) -> dict[str, int]:
        """Number of entries by lower-case name of their reason, without zeros."""
        return _counts(self.skipped)

    @property
    def file_counts(self) -> dict[str, int]:
        """The same for `files`."""
        return _counts(self.files)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, with reasons by name."""
        lists = {"skipped": self.skipped, "files": self.files}
        return {number: getattr(self, number) for number in _NUMBERS} | {
            key: [[entry.reason.name, entry.name, entry.number, entry.detail] for entry in entries]
            for key, entries in lists.items()
        }

    @classmethod
    def from_json(cls, value: dict[str, Any], reasons: type[AnyReason]) -> Report[AnyReason]:
        """Return the report that `to_json` wrote."""
        lists = {
            key: [Skipped(reasons[name], *rest) for name, *rest in value[key]] for key in ("skipped", "files")
        }
        return cls(**{**value, **lists})

    def __str__(self) -> str:
        read = ", ".join(
            f"{count} {number.replace('_', ' ')}" for number in _NUMBERS if (count := getattr(self, number))
        )
        reasons = sorted({**self.counts, **self.file_counts}.items())
        return f"{read or 'nothing'}; left out: {', '.join(f'{count} {name}' for name, count in reasons) or 'nothing'}"


_NUMBERS = [count.name for count in fields(Report) if count.name not in ("skipped", "files")]


def _counts(entries: Iterable[Skipped[Any]]) -> dict[str, int]:
    return dict(Counter(entry.reason.name.lower() for entry in entries))
