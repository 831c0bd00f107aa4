"""Budgets and turns."""

from __future__ import annotations

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.records import ARCHITECT, BUILDER


@jit
def ends_turn(s, yields):
    """Return whether the builder's turn ends with this step."""
    return yields != 0 or (s["turn_steps"] > 0 and s["steps_in_turn"] + 1 >= s["turn_steps"])


@jit
def tick(s, yields):
    """Advance the clocks after a builder step: whose turn it is, and the end by budget."""
    if ends_turn(s, yields):
        s["floor"] = ARCHITECT
    s["steps"] += 1
    s["steps_in_turn"] += 1
    out_of_steps = s["max_steps"] > 0 and s["steps"] >= s["max_steps"]
    out_of_turns = s["max_turns"] > 0 and s["turns"] >= s["max_turns"] and s["floor"] == ARCHITECT
    s["truncated"] = out_of_steps or out_of_turns


@jit
def speak(s):
    """Count an architect's turn, silent or not: it is the builder's turn."""
    s["turns"] += 1
    s["steps_in_turn"] = 0
    s["floor"] = BUILDER
