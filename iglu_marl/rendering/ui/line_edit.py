"""A line of text that is being typed: cursor, editing and history, independent of windows and key codes."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

_KEPT = 100  # lines of history


class LineEdit:
    """One line with a cursor, at most `limit` characters long, and a history of entered lines.

    It holds any Unicode text; line breaks become spaces, and other control characters are removed.
    """

    def __init__(self, limit: int = 200) -> None:
        self.limit = limit
        self.text = ""
        self.cursor = 0
        self.history: list[str] = []
        self._place = 0  # in the history; its length stands for the line being typed
        self._draft = ""

    def insert(self, text: str) -> None:
        """Insert text at the cursor, up to the limit."""
        clean = "".join(
            " " if character.isspace() else character
            for character in text
            if character.isspace() or unicodedata.category(character) not in ("Cc", "Cs")
        )[: self.limit - len(self.text)]
        self.text = self.text[: self.cursor] + clean + self.text[self.cursor :]
        self.cursor += len(clean)

    def key(self, name: str, ctrl: bool = False) -> bool:
        """Handle an editing key by its name; return False for other keys.

        Keys: backspace and delete (with ctrl: a word, or the rest), left, right, home, end, up and down (history), and
            ctrl with a, e, u, k, w as in a shell.
        """
        if ctrl:
            name = {
                "a": "home", "e": "end", "w": "erase word", "backspace": "erase word", "u": "erase before",
                "k": "erase after", "delete": "erase after", "left": "word left", "right": "word right",
            }.get(name, "")  # fmt: skip
        action = _KEYS.get(name)
        if action is None:
            return False
        action(self)
        return True

    def enter(self) -> str:
        """Return the stripped line, clear it, and add it to the history."""
        text = self.text.strip()
        if text and self.history[-1:] != [text]:
            self.history = [*self.history, text][-_KEPT:]
        self.clear()
        return text

    def clear(self) -> None:
        """Discard the line."""
        self._draft = ""
        self._place = len(self.history)
        self._set("")

    # -- keys

    def _set(self, text: str) -> None:
        self.text, self.cursor = text, len(text)

    def _erase(self, start: int, end: int) -> None:
        self.text = self.text[:start] + self.text[end:]
        self.cursor = start

    def _beside(self, step: int) -> int:
        """Return the place one character away (step -1 or 1); combining accents belong to their letter."""
        place = min(max(self.cursor + step, 0), len(self.text))
        while 0 < place < len(self.text) and unicodedata.combining(self.text[place]):
            place += step
        return place

    def _word_before(self) -> int:
        return self.text[: self.cursor].rstrip().rfind(" ") + 1

    def _word_after(self) -> int:
        rest = self.text[self.cursor :]
        space = rest.find(" ", len(rest) - len(rest.lstrip()))
        return len(self.text) if space < 0 else self.cursor + space

    def _recall(self, step: int) -> None:
        place = self._place + step
        if not 0 <= place <= len(self.history):
            return
        if self._place == len(self.history):
            self._draft = self.text
        self._place = place
        self._set(self._draft if place == len(self.history) else self.history[place])

    def _move(self, place: int) -> None:
        self.cursor = place


_KEYS: dict[str, Callable[[LineEdit], None]] = {
    "backspace": lambda line: line._erase(line._beside(-1), line.cursor),
    "delete": lambda line: line._erase(line.cursor, line._beside(1)),
    "erase word": lambda line: line._erase(line._word_before(), line.cursor),
    "erase before": lambda line: line._erase(0, line.cursor),
    "erase after": lambda line: line._erase(line.cursor, len(line.text)),
    "left": lambda line: line._move(line._beside(-1)),
    "right": lambda line: line._move(line._beside(1)),
    "word left": lambda line: line._move(line._word_before()),
    "word right": lambda line: line._move(line._word_after()),
    "home": lambda line: line._move(0),
    "end": lambda line: line._move(len(line.text)),
    "up": lambda line: line._recall(-1),
    "down": lambda line: line._recall(1),
}
