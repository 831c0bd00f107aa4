"""Planning: from edits of the build to a builder's actions, with a verdict.

>>> from iglu_marl.planning import plan
>>> from iglu_marl.core.worlds import Worlds
>>> plan(Worlds(1), [(0, -1, -2, 6)], "flying").verdict
'built'
"""

from iglu_marl.planning.executor import Executor
from iglu_marl.planning.feasibility import reason_impossible
from iglu_marl.planning.planner import plan
from iglu_marl.planning.problem import Edit, Plan

__all__ = ["Edit", "Executor", "Plan", "plan", "reason_impossible"]
