"""Planning: from edits of the build to the actions of a builder who walks or flies, with a verdict.

>>> from iglu_marl.planning import plan
>>> from iglu_marl.core.worlds import Worlds
>>> plan(Worlds(1), [(0, -1, -2, 6)], "flying").verdict
'built'
"""

from iglu_marl.planning.edits import Edit, Plan, edits_between
from iglu_marl.planning.executor import Executor
from iglu_marl.planning.order import order_edits
from iglu_marl.planning.planner import plan, replays

__all__ = ["Edit", "Executor", "Plan", "edits_between", "order_edits", "plan", "replays"]
