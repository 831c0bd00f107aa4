"""Modules under the names of older tools, for migration with one changed line.

`from gridworld.tasks import DUMMY_TASK` becomes `from iglu_marl.compat.gridworld.tasks import DUMMY_TASK`.
"""
