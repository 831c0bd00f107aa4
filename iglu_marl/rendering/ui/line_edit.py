"""A line of text that is being typed, independent of windows and key codes."""

from __future__ import annotations

import unicodedata


class LineEdit:
    """One line with a cursor, at most `limit` characters long.

    It holds any Unicode text; line breaks become spaces, and other control characters are removed.
    """

    def __init__(self, limit: int = 200) -> None:
        self.limit = limit
        self.clear()

    def clear(self) -> None:
        """Discard the line."""
        self.text, self.cursor = "", 0

    def insert(self, text: str) -> None:
        """Insert text at the cursor, up to the limit."""
        clean = "".join(
            " " if character.isspace() else character
            for character in text
            if character.isspace() or unicodedata.category(character) not in ("Cc", "Cs")
        )[: self.limit - len(self.text)]
        self.text = self.text[: self.cursor] + clean + self.text[self.cursor :]
        self.cursor += len(clean)

    def key(self, name: str) -> bool:
        """Handle backspace, delete, left, right, home and end; return False for other keys."""
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        if name == "backspace":
            self.text, self.cursor = before[:-1] + after, len(before[:-1])
        elif name == "delete":
            self.text = before + after[1:]
        elif name in ("left", "right", "home", "end"):
            places = {"left": self.cursor - 1, "right": self.cursor + 1, "home": 0, "end": len(self.text)}
            self.cursor = min(max(places[name], 0), len(self.text))
        else:
            return False
        return True

    def enter(self) -> str:
        """Return the stripped line, and clear it."""
        text = self.text.strip()
        self.clear()
        return text
