"""Rule-based agents: architects that describe a structure, builders that follow instructions, imperfect partners."""
