"""Draw the architecture: the sub-packages by layer, and which one imports which.

    python docs/assets/architecture.py

writes docs/images/architecture.svg from the imports in the code. A test fails when a sub-package
or an arrow of the drawing is not that of the code.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
PACKAGE = "iglu_marl"

# Rows of the drawing, from the top: title and packages. A row may hold several layers of [tool.importlinter].
ROWS = {
    "commands": ("cli", "commands"),
    "what is made of games": ("benchmark", "evaluation", "recording", "text", "web"),
    "agents": ("agents",),
    "environments: adapters without rules": ("architect_builder_v0", "compat", "envs"),
    "the game": ("game",),
    "beside each other": ("data", "language", "planning", "rendering", "tasks"),
    "the voxel world": ("const", "core"),
}
WIDTH, LEFT, HIGH, GAP = 980, 16, 62, 58
ARROW = "#5b7fb4"


def packages() -> dict[str, int]:
    """Return the lines of code by sub-package."""
    lines = {}
    for name in (name for row in ROWS.values() for name in row):
        place = ROOT / PACKAGE / name
        files = place.resolve().rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
        lines[name] = sum(file.read_text(encoding="utf-8").count("\n") for file in files)
    return lines


def arrows() -> set[tuple[str, str]]:
    """Return the pairs (importer, imported)."""
    graph = grimp.build_graph(PACKAGE)
    pairs = set()
    for module in graph.modules:
        for target in graph.find_modules_directly_imported_by(module):
            pairs.add((f"{module}.".split(".")[1], f"{target}.".split(".")[1]))
    known = packages()
    return {(start, end) for start, end in pairs if start != end and start in known and end in known}


def places(lines: dict[str, int]) -> dict[str, tuple[float, float, float]]:
    """Return left, top and width of each box."""
    found = {}
    for row, here in enumerate(ROWS.values()):
        weights = [max(lines[name], 900) ** 0.5 for name in here]
        free = WIDTH - 2 * LEFT - 12 * (len(here) - 1)
        x, y = float(LEFT), 30 + row * (HIGH + GAP)
        for name, weight in zip(here, weights, strict=True):
            width = min(free * weight / sum(weights), 420)
            found[name] = (x, y, width)
            x += width + 12
    return found


def drawing() -> str:
    """Return the picture as SVG."""
    lines = packages()
    at = places(lines)
    height = 30 + len(ROWS) * (HIGH + GAP) - GAP + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img">',
        "<title>The sub-packages of iglu_marl by layer; an arrow leads from a package to one that it imports</title>",
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0 1 L7 4 L0 7 z" fill="{ARROW}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fbfaf7"/>',
    ]
    for row, title in enumerate(ROWS):
        y = 30 + row * (HIGH + GAP)
        parts.append(f'<text x="{LEFT}" y="{y - 8}" font-size="12" fill="#777">{escape(title)}</text>')
    for start, end in sorted(arrows()):
        (ax, ay, aw), (bx, by, bw) = at[start], at[end]
        if ay == by:  # of one layer: over the boxes
            middle = (ax + aw / 2 + bx + bw / 2) / 2
            path = f"M{ax + aw / 2:.0f} {ay:.0f} Q{middle:.0f} {ay - 34:.0f} {bx + bw / 2:.0f} {by:.0f}"
        else:
            path = f"M{ax + aw / 2:.0f} {ay + HIGH:.0f} L{bx + bw / 2:.0f} {by:.0f}"
        parts.append(
            f'<path data-arrow="{start} {end}" d="{path}" fill="none" stroke="{ARROW}" stroke-opacity="0.4" '
            'marker-end="url(#tip)"/>'
        )
    for name, (x, y, width) in at.items():
        size = f"{lines[name] / 1000:.1f}k lines" if lines[name] >= 950 else f"{lines[name]} lines"
        middle = x + width / 2
        parts.append(
            f'<g data-package="{name}"><rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{HIGH}" rx="5" '
            f'fill="#fff" stroke="#333"/><text x="{middle:.0f}" y="{y + 27}" font-size="14" '
            f'text-anchor="middle">{name}</text>'
            f'<text x="{middle:.0f}" y="{y + 46}" font-size="11" fill="#777" text-anchor="middle">{size}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(packages())} packages, {len(arrows())} arrows")
