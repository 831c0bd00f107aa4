"""`gym.wrappers`: the wrappers of Gymnasium around environments with four values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium import wrappers

from iglu_marl.compat.absent import absent_names
from iglu_marl.compat.gym import FiveValueEnv, FourValueEnv

_missing = absent_names(__name__, {"Monitor": "RecordVideo(env, folder)"})


def __getattr__(name: str) -> Callable[..., FourValueEnv]:
    made = getattr(wrappers, name, None)
    if name.startswith("_") or not isinstance(made, type):
        return _missing(name)

    def wrap(env: Any, *arguments: Any, **options: Any) -> FourValueEnv:
        return FourValueEnv(made(FiveValueEnv(env), *arguments, **options))

    return wrap
