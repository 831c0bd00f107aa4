"""Text of any script for pictures and the window: measure, truncate, wrap and draw it with the fonts found here."""

from __future__ import annotations

import bisect
import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from PIL import ImageDraw, ImageFont

from iglu_marl.rendering.colors import RGBColor

TextColor = RGBColor | tuple[int, int, int, int]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

# Pillow's own font has little beyond ASCII; these are fallbacks, in this order.
_MORE_FONTS = ("DejaVuSans.ttf", "NotoSansCJK-Regular.ttc", "NotoSans-Regular.ttf", "Arial Unicode.ttf")
_NO_GLYPH = "\uffff"


@lru_cache(maxsize=1)
def _files() -> tuple[str, ...]:
    """Return the fonts beside Pillow's own that can be loaded here."""
    candidates = list(_MORE_FONTS)
    pygame = importlib.util.find_spec("pygame")  # found, not imported: it ships a font with it
    for folder in (pygame.submodule_search_locations or ()) if pygame is not None else ():
        candidates.append(str(Path(folder) / "freesansbold.ttf"))
    found = []
    for name in candidates:
        try:
            ImageFont.truetype(name, 12)
        except OSError:
            continue
        found.append(name)
    return tuple(found)


@lru_cache(maxsize=128)
def font(pixels: int, number: int = 0) -> Font:
    """Return a font of a size: Pillow's own (0), or one of the fallback fonts."""
    if number == 0:
        return ImageFont.load_default(max(pixels, 7))
    return ImageFont.truetype(_files()[number - 1], max(pixels - 1, 7))


@lru_cache(maxsize=4096)
def _has(character: str, number: int) -> bool:
    chosen = font(16, number)
    return bytes(chosen.getmask(character)) != bytes(chosen.getmask(_NO_GLYPH))


@lru_cache(maxsize=2048)
def _font_for(text: str) -> int | None:
    """Return the first font that has all letters of the text; None if each lacks some."""
    letters = {character for character in text if not character.isspace()}
    for number in range(len(_files()) + 1):
        if all(_has(character, number) for character in letters):
            return number
    return None


def _runs(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text in pieces that one font can draw; letters that no font has become boxes of the first."""
    whole = _font_for(text)
    if whole is not None:
        yield text, whole
        return
    piece, current = "", 0
    for character in text:
        number = current if character.isspace() else (_font_for(character) or 0)
        if number != current and piece:
            yield piece, current
            piece = ""
        piece, current = piece + character, number
    if piece:
        yield piece, current


@lru_cache(maxsize=4096)
def width(text: str, pixels: int) -> float:
    """Return the width of a line in pixels."""
    return sum(font(pixels, number).getlength(piece) for piece, number in _runs(text))


def draw_text(
    draw: ImageDraw.ImageDraw,
    at: tuple[float, float],
    text: str,
    pixels: int,
    color: TextColor,
    align: str = "l",
) -> None:
    """Draw a line whose middle has the height at[1]; `align`: "l", "m" or "r" of at[0]."""
    x, y = at
    x -= {"l": 0.0, "m": 0.5, "r": 1.0}[align] * width(text, pixels)
    for piece, number in _runs(text):
        chosen = font(pixels, number)
        draw.text((x, y + 0.34 * pixels), piece, color, chosen, anchor="ls")
        x += chosen.getlength(piece)


def fitting(text: str, pixels: int, room: float) -> int:
    """Return how many leading characters fit into a width, at least one."""
    return max(1, bisect.bisect_right(range(1, len(text) + 1), room, key=lambda k: width(text[:k], pixels)))


def cut(text: str, pixels: int, room: float) -> str:
    """Return the text as one line, truncated with three dots if it is too long."""
    if width(text, pixels) <= room:
        return text
    return text[: fitting(text, pixels, room - width("...", pixels))] + "..."


@lru_cache(maxsize=512)
def wrap_text(text: str, pixels: int, room: int) -> tuple[str, ...]:
    """Return the text in lines that fit a width; long words are split."""
    lines: list[str] = []
    for paragraph in text.splitlines() or [""]:
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if width(longer, pixels) <= room:
                line = longer
                continue
            if line:
                lines.append(line)
            while width(word, pixels) > room and len(word) > 1:
                cut = fitting(word, pixels, room)
                lines.append(word[:cut])
                word = word[cut:]
            line = word
        lines.append(line)
    return tuple(lines)
