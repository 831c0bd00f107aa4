"""Planning: from edits of the build to a builder's actions, with a verdict.

>>> from iglu_marl.planning import plan
>>> from iglu_marl.core.worlds import Worlds
>>> plan(Worlds(1), [(0, -1, -2, 6)], "flying").verdict
'built'
"""

from iglu_marl.planning.executor import Executor
from iglu_marl.planning.feasibility import check_certificate
from iglu_marl.planning.lower_bound import Bound, lower_bound
from iglu_marl.planning.ordering import order_edits
from iglu_marl.planning.planner import plan, replays
from iglu_marl.planning.problem import Edit, Plan, PlanLevel, edits_between

__all__ = [
    "Bound",
    "Edit",
    "Executor",
    "Plan",
    "PlanLevel",
    "check_certificate",
    "edits_between",
    "lower_bound",
    "order_edits",
    "plan",
    "replays",
]
