"""Planning: from edits of the build to a builder's actions, with a verdict.

>>> from iglu_marl.planning import plan
>>> from iglu_marl.core.worlds import Worlds
>>> plan(Worlds(1), [(0, -1, -2, 6)], "flying").verdict
'built'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import deprecated_names
from iglu_marl.planning.executor import Executor
from iglu_marl.planning.feasibility import check_certificate
from iglu_marl.planning.lower_bound import lower_bound
from iglu_marl.planning.planner import plan
from iglu_marl.planning.problem import Edit, Plan

if TYPE_CHECKING:  # former exports
    from iglu_marl.planning.lower_bound import Bound
    from iglu_marl.planning.ordering import order_edits
    from iglu_marl.planning.planner import replays
    from iglu_marl.planning.problem import PlanLevel, edits_between

__all__ = ["Edit", "Executor", "Plan", "check_certificate", "lower_bound", "plan"]
__getattr__ = deprecated_names(__name__)
