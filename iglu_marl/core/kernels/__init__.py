"""All rules of the world, compiled: motion, sight, hands, score, clock and talk, for one world and for many.

`step.step_one` reads as the list of the rules of one step; `batch` does the same for many worlds. The dynamics are
those of IGLU Gridworld, reproduced bit for bit in double precision: every expression is written in the order in which
it has to be evaluated. See docs/dynamics.md.

Records are read as `s["field"]`, which works compiled and interpreted (`NUMBA_DISABLE_JIT=1`) alike.
"""
