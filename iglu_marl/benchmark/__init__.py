"""The benchmark: named levels, from one that is learned in a minute to the full game.

- `levels()` lists them, `make(level, split)` returns their environments.
- `run(level, agents)` measures agents, `verify(path)` checks a result file and replays its games.
- `iglu_marl.benchmark.report` makes tables and plots of result files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.benchmark.catalog import Level as Level
    from iglu_marl.benchmark.catalog import find as find
    from iglu_marl.benchmark.catalog import levels as levels
    from iglu_marl.benchmark.catalog import make as make
    from iglu_marl.benchmark.protocol import run as run
    from iglu_marl.benchmark.protocol import verify as verify
    from iglu_marl.benchmark.results import Result as Result
    from iglu_marl.benchmark.results import read_result as read_result

__getattr__, __dir__, __all__ = lazy_exports(__name__, ("report", "splits"))
