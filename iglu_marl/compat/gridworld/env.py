"""`gridworld.env`: the environment of 2022, with its conventions, defaults and keywords, in Gymnasium's five values."""

from __future__ import annotations

from typing import Any

from iglu_marl.envs import single

__all__ = ["GridworldEnv"]


class GridworldEnv(single.GridworldEnv):
    """`IGLUGridworld-v0` with `compat="iglu2022"` by default."""

    def __init__(self, *args: Any, compat: Any = "iglu2022", **options: Any) -> None:
        super().__init__(*args, compat=compat, **options)
