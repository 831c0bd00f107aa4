"""Planning: from edits of the build to the actions of a builder who walks or flies, with a verdict.

>>> from iglu_marl.planning import plan
>>> from iglu_marl.core.worlds import Worlds
>>> plan(Worlds(1), [(0, -1, -2, 6)], "flying").verdict
'built'
"""

from iglu_marl.planning.edits import Edit, Plan, edits_between
from iglu_marl.planning.planner import plan

__all__ = ["Edit", "Plan", "edits_between", "plan"]
