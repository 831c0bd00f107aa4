"""People as agents, at a window."""
