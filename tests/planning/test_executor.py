"""Plans are carried out in worlds that somebody else steps, and made again where those go another way."""

from __future__ import annotations

from worlds import BOTH, world_with

from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.core.kernels.step import step_at
from iglu_marl.planning import Edit, Executor


@BOTH
def test_an_executor_carries_on_after_a_push(controls: str) -> None:
    worlds, encoding = world_with([]), Controls(controls)  # type: ignore[arg-type]
    executor = Executor([Edit(2, -1, 2, 4), Edit(2, 0, 2, 5)], controls)  # type: ignore[arg-type]
    for number in range(400):
        action = executor.next_action(worlds)
        if action is None:
            break
        records, index = encoding.encode(action)
        step_at(worlds.state, 0, records, index)
        if number == 6:
            worlds.pose[0] += (0.7, 0.0, -1.3, 20.0, 0.0)
        if number == 9:
            worlds.grid[0, 3, 3, 3], worlds.inventory[0, 0] = 1, 19  # somebody else has put a block there
    assert grid_to_blocks(worlds.grid[0]) == [(2, -1, 2, 4), (2, 0, 2, 5)]
    assert executor.plan is not None
    assert executor.plan.built


def test_an_executor_gives_up_on_the_impossible() -> None:
    worlds = world_with([])
    worlds.inventory[0] = 0
    executor = Executor([Edit(2, -1, 2, 4)])
    assert executor.next_action(worlds) is None
    assert executor.plan is not None
    assert executor.plan.verdict == "impossible"
