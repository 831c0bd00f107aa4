"""Draw docs/images/speed.svg.

`python -m benchmarks.speed --json > bench.json`, then `python docs/assets/speed.py bench.json`.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 400, 70, 170, 30, 50
_LINES = {
    "vector state": ("state", "#0072b2"),
    "vector state, copied": ("state, copied", "#56b4e9"),
    "vector pixels": ("pixels 64×64", "#d55e00"),
}
_LOW, _HIGH = 4, 7  # powers of ten


def draw_plot(figures: dict[str, Any]) -> str:
    """Return a plot of steps per second by number of worlds, as SVG."""

    def at(count: float, rate: float) -> tuple[float, float]:
        x = _LEFT + math.log2(count) / 14 * (_WIDTH - _LEFT - _RIGHT)
        share = (math.log10(rate) - _LOW) / (_HIGH - _LOW)
        return round(x, 1), round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" '
        'font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for power in range(_LOW, _HIGH + 1):
        (x, y), (end, _) = at(1, 10**power), at(16384, 1)
        label = {4: "10 k", 5: "100 k", 6: "1 M", 7: "10 M"}[power]
        parts.append(f'<path d="M{x} {y}H{end}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{label}</text>')
    for count in (1, 16, 64, 256, 1024, 4096, 16384):
        x, y = at(count, 10**_LOW)
        parts.append(f'<text x="{x}" y="{y + 20}" text-anchor="middle">{count:,}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">worlds</text>')
    parts.append(f'<text x="{_LEFT}" y="18">steps per second, one core</text>')
    for group, (label, color) in _LINES.items():
        rows = [
            row
            for row in figures["measures"]
            if row["group"] == group and row["name"] == f"N = {row['worlds']:,}"
        ]
        if not rows:
            continue
        points = [at(row["worlds"], row["per_second"]) for row in rows]
        line = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>' for x, y in points]
        x, y = points[-1]
        parts.append(f'<text x="{x + 8}" y="{y + 4}" fill="{color}">{label}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    measured = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(__file__).parents[1].joinpath("images", "speed.svg").write_text(
        draw_plot(measured), encoding="utf-8"
    )
