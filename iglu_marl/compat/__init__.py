"""Import shims under the names of older tools, so that migrating is one changed line.

`from gridworld.tasks import DUMMY_TASK` becomes `from iglu_marl.compat.gridworld.tasks import DUMMY_TASK`.
"""
