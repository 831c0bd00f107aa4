"""The ladder: named rungs from what is learned in a minute to the full game, each with its audit and its protocol.

`rungs()` lists them, `make(rung, split)` gives their environments, `run(rung, agents)` measures agents, `audit(rung)`
computes what is reached without what the rung is about; `report` makes tables and plots of result files, `cross_play`
matrices of partners. Members load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import members

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.benchmark.audits import Audit as Audit
    from iglu_marl.benchmark.audits import Control as Control
    from iglu_marl.benchmark.audits import audit as audit
    from iglu_marl.benchmark.audits import read_audits as read_audits
    from iglu_marl.benchmark.audits import write_audits as write_audits
    from iglu_marl.benchmark.ladder import FAMILIES as FAMILIES
    from iglu_marl.benchmark.ladder import GRID_ACTIONS as GRID_ACTIONS
    from iglu_marl.benchmark.ladder import MODEL_RUNGS as MODEL_RUNGS
    from iglu_marl.benchmark.ladder import Rung as Rung
    from iglu_marl.benchmark.ladder import find as find
    from iglu_marl.benchmark.ladder import make as make
    from iglu_marl.benchmark.ladder import rungs as rungs
    from iglu_marl.benchmark.models import reference_results as reference_results
    from iglu_marl.benchmark.models import run_models as run_models
    from iglu_marl.benchmark.pairing import OtherPlay as OtherPlay
    from iglu_marl.benchmark.pairing import cross_play as cross_play
    from iglu_marl.benchmark.protocol import run as run
    from iglu_marl.benchmark.results import Result as Result
    from iglu_marl.benchmark.results import Run as Run
    from iglu_marl.benchmark.results import read_result as read_result
    from iglu_marl.benchmark.splits import HeldOut as HeldOut

__getattr__, __dir__, __all__ = members(__name__, ("report", "splits"))
