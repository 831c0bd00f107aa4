"""Draws the house: the rooms of the package on their floors, and which room imports which.

    python docs/assets/house.py

writes docs/images/house.svg from the imports in the code and the floors in tests/test_architecture.py. A test fails
when a room or an arrow of the drawing is not that of the code.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "house.svg"
sys.path.insert(0, str(ROOT / "tests"))

from test_architecture import FLOORS, PACKAGE, WINGS, imports_of, room_of, sources  # noqa: E402

TITLES = {
    5: "5 · commands",
    4: "4 · what acts, and what is made of it",
    3: "3 · doors: adapters without rules",
    2: "2 · the game: one referee",
    1.5: "wings on 1",
    1: "1 · the voxel world",
}
WIDTH, LEFT, HIGH, GAP = 980, 16, 62, 58
ARROW = "#5b7fb4"


def rooms() -> dict[str, int]:
    """Lines of code by room; modules of the top level that are no rooms are left out."""
    lines: dict[str, int] = {}
    for source in sources(ROOT):
        if source.room in FLOORS or source.room in WINGS:
            folder = ROOT / ("" if source.room == "agents" else PACKAGE)
            text = (folder / source.place).read_text(encoding="utf-8")
            lines[source.room] = lines.get(source.room, 0) + text.count("\n")
    return {room: count for room, count in lines.items() if not room.startswith("_")}


def arrows() -> set[tuple[str, str]]:
    """Which room imports which."""
    known = set(rooms())
    found = set()
    for source in sources(ROOT):
        for target in imports_of(source.tree, source.package):
            if target.module.split(".")[0] == PACKAGE:
                room = room_of(target, known)
                if room and room != source.room and source.room in known:
                    found.add((source.room, room))
    return found


def floor_of(room: str) -> float:
    """The floor on which a room is drawn."""
    return 1.5 if room in WINGS else FLOORS[room]


def places(lines: dict[str, int]) -> dict[str, tuple[float, float, float]]:
    """Left, top and width of each room."""
    found = {}
    for row, floor in enumerate(TITLES):
        here = sorted(room for room in lines if floor_of(room) == floor)
        weights = [max(lines[room], 900) ** 0.5 for room in here]
        free = WIDTH - 2 * LEFT - 12 * (len(here) - 1)
        x, y = float(LEFT), 30 + row * (HIGH + GAP)
        for room, weight in zip(here, weights, strict=True):
            width = min(free * weight / sum(weights), 420)
            found[room] = (x, y, width)
            x += width + 12
    return found


def drawing() -> str:
    """The picture, as SVG."""
    lines, at = rooms(), {}
    at = places(lines)
    height = 30 + len(TITLES) * (HIGH + GAP) - GAP + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img">',
        "<title>The rooms of iglu_marl on their floors; an arrow leads from a room to one that it imports</title>",
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0 1 L7 4 L0 7 z" fill="{ARROW}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fbfaf7"/>',
    ]
    for row, title in enumerate(TITLES.values()):
        y = 30 + row * (HIGH + GAP)
        parts.append(f'<text x="{LEFT}" y="{y - 8}" font-size="12" fill="#777">{escape(title)}</text>')
    for start, end in sorted(arrows()):
        (ax, ay, aw), (bx, by, bw) = at[start], at[end]
        if ay == by:  # of one floor: over the roofs
            middle = (ax + aw / 2 + bx + bw / 2) / 2
            path = f"M{ax + aw / 2:.0f} {ay:.0f} Q{middle:.0f} {ay - 34:.0f} {bx + bw / 2:.0f} {by:.0f}"
        else:
            path = f"M{ax + aw / 2:.0f} {ay + HIGH:.0f} L{bx + bw / 2:.0f} {by:.0f}"
        parts.append(
            f'<path data-arrow="{start} {end}" d="{path}" fill="none" stroke="{ARROW}" stroke-opacity="0.4" '
            'marker-end="url(#tip)"/>'
        )
    for room, (x, y, width) in at.items():
        size = f"{lines[room] / 1000:.1f}k lines" if lines[room] >= 950 else f"{lines[room]} lines"
        middle = x + width / 2
        parts.append(
            f'<g data-room="{room}"><rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{HIGH}" rx="5" fill="#fff" '
            f'stroke="#333"/><text x="{middle:.0f}" y="{y + 27}" font-size="14" text-anchor="middle">{room}</text>'
            f'<text x="{middle:.0f}" y="{y + 46}" font-size="11" fill="#777" text-anchor="middle">{size}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(rooms())} rooms, {len(arrows())} arrows")
