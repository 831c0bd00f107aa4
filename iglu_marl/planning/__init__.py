"""Planning: from edits of the build to the actions of a builder who walks or flies, with a verdict.

>>> from iglu_marl.planning import plan
>>> from iglu_marl.core.worlds import Worlds
>>> plan(Worlds(1), [(0, -1, -2, 6)], "flying").verdict
'built'
"""

from iglu_marl.planning.bounds import Bound, lower_bound
from iglu_marl.planning.certificates import check_certificate
from iglu_marl.planning.edits import Edit, Plan, edits_between
from iglu_marl.planning.executor import Executor
from iglu_marl.planning.order import order_edits
from iglu_marl.planning.planner import plan, replays

__all__ = [
    "Bound",
    "Edit",
    "Executor",
    "Plan",
    "check_certificate",
    "edits_between",
    "lower_bound",
    "order_edits",
    "plan",
    "replays",
]
