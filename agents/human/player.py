"""The window of a person: menu, help, text line, notes and pauses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from iglu_marl.rendering.ui.line_edit import LineEdit
from iglu_marl.rendering.ui.screens import Overlay
from iglu_marl.rendering.ui.widgets import Pairs

SCREEN_FRAMES_PER_SECOND = 60
HELP_KEYS = ("f1", "h", "/", "?")  # the key of "?" depends on the keyboard, so "/" counts too
NOTE_S = 3.0
TEXT_LIMIT = 200  # characters of a typed line
_BLINK_S = 0.53
_MENU: Pairs = (("Esc", "continue"), ("H", "help"), ("Q", "leave the game"))


class PlayerWindow:
    """A window with a menu (Escape), help, a text line and short notes.

    help: keys and meanings for the help card. When the person leaves, by the menu or by the window's close button,
        methods that read input raise `iglu_marl.rendering.WindowClosed`.
    """

    def __init__(self, window: Any = None, title: str = "iglu_marl", limit: int = TEXT_LIMIT) -> None:
        if window is None:
            from iglu_marl.rendering import Window

            window = Window(title)
        self.window = window
        self.line = LineEdit(limit)
        self.help: Pairs = ()
        self.talking = False
        self._note, self._note_until = "", 0.0
        self._card = ""  # "", "menu" or "help"
        self._next_frame = 0.0

    @property
    def waits(self) -> bool:
        """Whether the game is paused: a card or the text line is open."""
        return bool(self._card) or self.talking

    def show_note(self, note: str) -> None:
        """Show a note for some seconds."""
        self._note, self._note_until = note, time.monotonic() + NOTE_S

    def open_help(self) -> None:
        """Show the keys."""
        self._card = "help"

    def open_menu(self) -> None:
        """Show the menu."""
        self._card = "menu"

    def talk(self, on: bool) -> None:
        """Open or close the text line."""
        self.talking = on
        self.line.clear()

    # -- input

    def events(self) -> Iterator[Any]:
        """Yield the input that menu, help and text line leave for the game.

        An entered line comes as a string. Raises `WindowClosed` if the person leaves.
        """
        from iglu_marl.rendering.ui.window import Closed, Key, Typed

        if self.window.closed:
            self.leave()
        self.window.typing(self.talking and not self._card)
        for event in self.window.poll():
            if isinstance(event, Closed):
                self.leave()
            elif isinstance(event, Key) and event.down:
                yield from self._key(event)
            elif isinstance(event, Typed):
                if self.talking and not self._card:
                    self.line.insert(event.text)
            elif isinstance(event, Key) or not self._card:
                yield event

    def leave(self) -> None:
        """Close the window, and raise `WindowClosed`."""
        from iglu_marl.rendering.ui.window import WindowClosed

        self.window.close()
        raise WindowClosed("the window was closed")

    def _key(self, event: Any) -> Iterator[Any]:
        """Handle a key that went down: for the card, for the text line, or for the game."""
        if self._card:
            self._card_key(event)
        elif self.talking:
            if event.name == "return":
                yield self.line.enter()
            elif not self.line.key(event.name) and len(event.name) > 1 and event.name != "space":
                yield event
        elif event.name == "escape":
            self.open_menu()
        else:
            yield event

    def _card_key(self, event: Any) -> None:
        if event.name in HELP_KEYS or event.text == "?":
            self._card = "menu" if self._card == "help" else "help"
        elif event.name in ("escape", "return", "space"):
            self._card = ""
        elif event.name == "q" and self._card == "menu":
            self.leave()

    # -- showing

    def overlay(self, hints: Pairs = (), prompt: str = "") -> Overlay:
        """Return what lies over the screen now."""
        now = time.monotonic()
        note = self._note if now < self._note_until else ""
        overlay = Overlay(hints=hints, prompt=prompt, note=note, caret=int(now / _BLINK_S) % 2 == 0)
        if self.talking:
            overlay.typed = self.line.text, self.line.cursor
        if self._card == "menu":
            overlay.card = "Paused", _MENU, ""
        elif self._card == "help":
            overlay.card = "Keys", self.help, "The game is paused. Esc continues."
        return overlay

    def rest(self, until: float) -> None:
        """Sleep until the next frame is due, at the latest until a moment (monotonic seconds)."""
        now = time.monotonic()
        self._next_frame = max(self._next_frame + 1 / SCREEN_FRAMES_PER_SECOND, now)
        time.sleep(max(0.0, min(self._next_frame, until) - now))

    def show_end(self, screen: Callable[[tuple[int, int]], Any]) -> None:
        """Show a screen (of a height and width) until Enter, Escape, Q or the close button is pressed."""
        from iglu_marl.rendering.ui.window import Closed, Key

        window = self.window
        window.capture(False)
        window.typing(False)
        size: tuple[int, int] | None = None
        while not window.closed:
            if window.size != size:
                size = window.size
                layers = screen(size)
            window.draw(layers)
            for event in window.poll():
                leaves = isinstance(event, Key) and event.down and event.name in ("return", "escape", "q")
                if leaves or isinstance(event, Closed):
                    window.close()
                    break
            time.sleep(0.02)
