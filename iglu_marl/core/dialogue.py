"""The conversation: who said what, as an immutable value with one text form.

The text form holds one utterance per line, each with its speaker: `<Architect> …` or `<Builder> …`, in games of several
architects or builders with the number of the speaker: `<Architect 0> …`. Further
lines of an utterance follow without a speaker; one that would itself look like a spoken line is indented by a
space, so that no message can imitate the other speaker. `Dialogue.parse` inverts `Dialogue.text`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, Protocol, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.text import fix_surrogates


class Role(str, Enum):
    """The two roles. Members compare equal to their lower-case names."""

    ARCHITECT = "architect"
    BUILDER = "builder"

    __str__ = str.__str__
    __hash__ = str.__hash__  # as that of the name it equals

    @property
    def tag(self) -> str:
        """Prefix of this role's lines: `<Architect>` or `<Builder>`."""
        return f"<{self.value.capitalize()}>"


def role_of(player: Role | str) -> Role:
    """Return the role of a player: a role, or the name of an agent ("builder_1"). Raises `ValueError` for others."""
    return Role(str(player).rpartition("_")[0] or player)


_TAG = re.compile(r"<(architect|builder)(?: ([0-9]{1,3}))?>", re.IGNORECASE)
_LOOKS_SPOKEN = re.compile(" *" + _TAG.pattern, re.IGNORECASE)
_ESCAPED = re.compile(" +" + _TAG.pattern, re.IGNORECASE)


@dataclass(frozen=True)
class Utterance:
    """One message. Surrounding white space is dropped, line ends become line feeds, lone surrogates U+FFFD.

    number: of the speaker in its role; None for the only one. Raises `DialogueError` for an unknown role or a text that
    is not a string.
    """

    role: Role
    text: str
    number: int | None = None

    def __post_init__(self) -> None:
        if type(self.role) is not Role:
            try:
                object.__setattr__(self, "role", Role(self.role))
            except ValueError:
                raise DialogueError(
                    f"unknown role {self.role!r}; expected 'architect' or 'builder'"
                ) from None
        if not isinstance(self.text, str):
            raise DialogueError(f"utterance {self.text!r} is a {type(self.text).__name__}, expected a string")
        text = self.text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in self.text else self.text
        text = fix_surrogates(text.strip())
        if text is not self.text:
            object.__setattr__(self, "text", text)

    @property
    def speaker(self) -> str:
        """The speaker: "architect" or "builder", where there are several with its number: "architect 0"."""
        return self.role.value if self.number is None else f"{self.role.value} {self.number}"

    @property
    def tag(self) -> str:
        """Prefix of the speaker's lines: that of the role, or `<Architect 0>`."""
        return self.role.tag if self.number is None else f"{self.role.tag[:-1]} {self.number}>"

    @property
    def line(self) -> str:
        """The text form: the speaker's tag and the text, further lines protected as the module says."""
        if "\n" not in self.text:
            return f"{self.tag} {self.text}"
        first, *rest = self.text.split("\n")
        rest = [f" {line}" if _LOOKS_SPOKEN.match(line) else line for line in rest]
        return "\n".join((f"{self.tag} {first}", *rest))

    def __str__(self) -> str:
        return self.line


class Dialogue(Sequence[Utterance]):
    """An immutable sequence of utterances; equal and hashable by content.

    `Dialogue()` is the empty conversation. `say` returns a longer one and leaves this one as it is.
    """

    __slots__ = ("_text", "_utterances")
    _utterances: tuple[Utterance, ...]
    _text: str | None

    def __init__(self, utterances: Iterable[Utterance] = ()) -> None:
        said = tuple(utterances)
        for number, utterance in enumerate(said):
            if not isinstance(utterance, Utterance):
                raise DialogueError(f"entry {number} of a dialogue is {utterance!r}, expected an Utterance")
        self._utterances = said
        self._text = None

    @classmethod
    def parse(cls, text: str) -> Dialogue:
        """Parse a text form; speaker tags may be in any case.

        Lines without a tag continue the utterance before them; without one before, they are the architect's.
        Blank text is the empty dialogue. Raises `DialogueError` when `text` is not a string.
        """
        if not isinstance(text, str):
            raise DialogueError(f"a dialogue text is {text!r} ({type(text).__name__}), expected a string")
        if not text.strip():
            return cls()
        said: list[tuple[Role, int | None, list[str]]] = []
        for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
            match = _TAG.match(line)
            if match:
                number = None if match.group(2) is None else int(match.group(2))
                said.append((Role(match.group(1).lower()), number, [line[match.end() :]]))
            elif said:
                said[-1][2].append(line[1:] if _ESCAPED.match(line) else line)
            elif line.strip():
                said.append((Role.ARCHITECT, None, [line]))
        return cls(Utterance(role, "\n".join(lines), number) for role, number, lines in said)

    @classmethod
    def of(cls, value: Any) -> Dialogue:
        """Return a dialogue from a text form, a `Dialogue`, an `Utterance`, or a list of these.

        Raises `DialogueError` for other values.
        """
        if isinstance(value, Dialogue):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        if isinstance(value, Utterance):
            return cls((value,))
        if isinstance(value, (list, tuple)):
            return cls(utterance for part in value for utterance in cls.of(part))
        raise DialogueError(f"a dialogue is {value!r}, expected text, a Dialogue or a list of utterances")

    def say(self, role: Role | str, text: str, number: int | None = None) -> Dialogue:
        """Return a dialogue with one more utterance, or this one for blank text. number: see `Utterance`."""
        utterance = Utterance(role, text, number)  # type: ignore[arg-type]
        if not utterance.text:
            return self
        longer = Dialogue.__new__(Dialogue)
        longer._utterances = (*self._utterances, utterance)
        longer._text = None
        if self._text is not None:  # grow the cached text instead of joining everything again
            longer._text = f"{self._text}\n{utterance.line}" if self._utterances else utterance.line
        return longer

    @property
    def text(self) -> str:
        """The text form, a line `<Architect> …` or `<Builder> …` for each utterance; computed once."""
        if self._text is None:
            self._text = "\n".join(utterance.line for utterance in self._utterances)
        return self._text

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        """All utterances, oldest first."""
        return self._utterances

    def last(self, role: Role | str | None = None) -> Utterance | None:
        """Return the latest utterance (of that role), or None."""
        for utterance in reversed(self._utterances):
            if role is None or utterance.role == role:
                return utterance
        return None

    def of_speakers(self, speakers: Collection[Speaker] | None) -> Dialogue:
        """Return what these speakers (role and number) said; None for all."""
        if speakers is None:
            return self
        return Dialogue(said for said in self if (said.role, said.number) in speakers)

    def __len__(self) -> int:
        return len(self._utterances)

    def __iter__(self) -> Iterator[Utterance]:
        return iter(self._utterances)

    @overload
    def __getitem__(self, index: int) -> Utterance: ...
    @overload
    def __getitem__(self, index: slice) -> Dialogue: ...
    def __getitem__(self, index: int | slice) -> Utterance | Dialogue:
        if isinstance(index, slice):
            return Dialogue(self._utterances[index])
        return self._utterances[index]

    def __add__(self, other: Dialogue) -> Dialogue:
        if not isinstance(other, Dialogue):
            return NotImplemented
        return Dialogue(self._utterances + other._utterances)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dialogue) and self._utterances == other._utterances

    def __hash__(self) -> int:
        return hash(self._utterances)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Dialogue({list(self._utterances)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dialogue, (self._utterances,)

    def __copy__(self) -> Dialogue:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Dialogue:
        return self


@runtime_checkable
class Codec(Protocol):
    """Text to tokens and back, as token chat needs it.

    Token 0 is padding and never comes out of `encode`; the symbols are 1..size-1. `version` changes whenever
    the vocabulary does, so that a policy can check that it fits.
    """

    @property
    def name(self) -> str:
        """Name of the vocabulary."""

    @property
    def version(self) -> str:
        """Version of the vocabulary."""

    @property
    def size(self) -> int:
        """Number of tokens, padding included."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens (1..size-1) of a text."""

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens; padding (0) is skipped. Raises `DialogueError` for tokens outside 0..size-1."""


Speaker = tuple[Role, int | None]
PAIR: tuple[Speaker, ...] = ((Role.ARCHITECT, None), (Role.BUILDER, None))


def speakers_of(architects: int, builders: int) -> tuple[Speaker, ...]:
    """Return role and number of each speaker in a game, the architects first."""
    counts = zip(Role, (architects, builders), strict=True)
    return tuple((role, None if count == 1 else number) for role, count in counts for number in range(count))


def decode_dialogue(
    tokens: npt.NDArray[Any], codec: Codec, speakers: Sequence[Speaker] = PAIR
) -> tuple[Utterance, ...]:
    """Return the utterances in a dialogue of token chat.

    Args:
        tokens: integers [length], a speaker's mark before each utterance, 0 = padding. Tokens before the first mark
            are left out: their utterance was cut.
        codec: the vocabulary.
        speakers: of the game; the marks are the numbers from `codec.size` on, in this order.

    Raises:
        DialogueError: if a number is outside the vocabulary and its marks.

    """
    said = tokens[tokens != 0]
    highest = codec.size + len(speakers) - 1
    if len(said) and not 0 <= said.min() <= said.max() <= highest:
        odd = said.max() if said.max() > highest else said.min()
        raise DialogueError(
            f"the dialog holds token {odd}, but {codec.name!r} has {codec.size}: another codec?"
        )
    starts = np.flatnonzero(said >= codec.size).tolist()
    found = []
    for start, end in pairwise([*starts, len(said)]):
        role, number = speakers[int(said[start]) - codec.size]
        found.append(Utterance(role, codec.decode(said[start + 1 : end]), number))
    return tuple(found)
