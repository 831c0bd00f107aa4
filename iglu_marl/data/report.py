"""What a reader or writer of data could not use as it stands: typed reasons, entries, and the `Report` of them.

Every reader has a `SkipReason` of its own and notes each piece in a `Report`, so that nothing vanishes unseen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import Enum
from operator import attrgetter
from typing import Any, Generic, TypeVar


class SkipReason(str, Enum):
    """Why something is left out, missing or changed: a subclass has a member for each reason, in words for people.

    unit: what the number of an entry counts, as in `class MultiturnSkip(SkipReason, unit="step")`.
    """

    __str__ = str.__str__

    def __init_subclass__(cls, unit: str = "") -> None:
        """Keeps the unit."""
        cls._unit = unit  # type: ignore[attr-defined]

    @property
    def unit(self) -> str:
        """What the numbers of entries count ("step", "state", "line"); "" where they have none."""
        return str(type(self)._unit)  # type: ignore[attr-defined]


AnyReason = TypeVar("AnyReason", bound=SkipReason)


@dataclass(frozen=True)
class Skipped(Generic[AnyReason]):
    """One piece that is not used as it stands.

    reason: why. name: of which session, game, member or file; "" for the data as a whole. number: which step, state,
    turn or line of it (see `SkipReason.unit`), None for all. detail: what more is known.
    """

    reason: AnyReason
    name: str = ""
    number: int | None = None
    detail: str = ""

    # as the readers' own entries call them
    session = place = property(attrgetter("name"))
    step = state = turn = line = property(attrgetter("number"))
    note = problem = property(attrgetter("reason"))
    text = property(attrgetter("detail"))

    def __str__(self) -> str:
        name = self.name if self.name.isprintable() else repr(self.name)
        number = "" if self.number is None else f"{self.reason.unit} {self.number}"
        place = f"{name} {number}".strip() or "the data"
        return f"{place}: {self.reason}{f' ({self.detail})' if self.detail else ''}"


@dataclass
class Report(Generic[AnyReason]):
    """What was read or written, and each piece that is not used as it stands.

    rows, repeated_rows, games, sessions, states, turns, tasks: how many there were; 0 for what a reader does not count.
    skipped: the pieces, in their order. files: whole files that nothing leads to, damaged ones, and those that were
    left out for safety.
    """

    rows: int = 0
    repeated_rows: int = 0
    games: int = 0
    sessions: int = 0
    states: int = 0
    turns: int = 0
    tasks: int = 0
    skipped: list[Skipped[AnyReason]] = field(default_factory=list)
    files: list[Skipped[Any]] = field(default_factory=list)

    noted = property(attrgetter("skipped"))  # as writers call them

    def skip(self, reason: AnyReason, name: str = "", number: int | None = None, detail: str = "") -> None:
        """Note one piece."""
        self.skipped.append(Skipped(reason, name, number, detail))

    @property
    def exact(self) -> bool:
        """Whether everything is used as it stands."""
        return not self.skipped and not self.files

    @property
    def example(self) -> str:
        """What to add to an error when nothing is left: "", or the first piece that is not used."""
        entries = [*self.skipped, *self.files]
        return f"; such as {entries[0]!s:.300}" if entries else ""

    @property
    def counts(self) -> dict[str, int]:
        """How often each reason occurred, by its lower-case name; reasons that did not occur are absent."""
        return _counts(self.skipped)

    @property
    def file_counts(self) -> dict[str, int]:
        """The same of `files`."""
        return _counts(self.files)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON values; reasons by name."""
        lists = {"skipped": self.skipped, "files": self.files}
        return {number: getattr(self, number) for number in _NUMBERS} | {
            key: [[entry.reason.name, entry.name, entry.number, entry.detail] for entry in entries]
            for key, entries in lists.items()
        }

    @classmethod
    def from_json(cls, value: dict[str, Any], reasons: type[AnyReason]) -> Report[AnyReason]:
        """What `to_json` gave, with these reasons."""
        lists = {
            key: [Skipped(reasons[name], *rest) for name, *rest in value[key]] for key in ("skipped", "files")
        }
        return cls(**{**value, **lists})

    def __str__(self) -> str:
        read = ", ".join(
            f"{count} {number.replace('_', ' ')}" for number in _NUMBERS if (count := getattr(self, number))
        )
        found = sorted({**self.counts, **self.file_counts}.items())
        return f"{read or 'nothing'}; left out: {', '.join(f'{count} {name}' for name, count in found) or 'nothing'}"


SingleturnReport = WriteReport = Report  # other names of it in `iglu_marl.data`
_NUMBERS = [part.name for part in fields(Report) if part.name not in ("skipped", "files")]


def _counts(entries: Iterable[Skipped[Any]]) -> dict[str, int]:
    return dict(Counter(entry.reason.name.lower() for entry in entries))
