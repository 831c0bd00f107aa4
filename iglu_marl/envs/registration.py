"""Registration of the environments with Gymnasium and PettingZoo, on `import iglu_marl`."""

from __future__ import annotations

from typing import Any

import gymnasium
import pettingzoo

# `gym.make` returns the environment itself: its checkers and order enforcement would hide `set_task` and friends.
_PLAIN: dict[str, Any] = {"order_enforce": False, "disable_env_checker": True}

GYMNASIUM_IDS: dict[str, tuple[str, dict[str, Any]]] = {
    "IGLUGridworld-v0": ("iglu_marl.envs.single:GridworldEnv", {}),
    "IGLUGridworldVector-v0": (
        "iglu_marl.envs.single:GridworldEnv",
        {"default_sees": ("inventory", "compass", "dialog", "pose", "grid")},
    ),
    "IGLUSilentBuilder-v0": ("iglu_marl.envs.single:SilentBuilderEnv", {}),
    "IGLUSilentBuilderVisual-v0": (
        "iglu_marl.envs.single:SilentBuilderEnv",
        {"default_sees": ("pov", "inventory", "compass", "dialog")},
    ),
}
LANGUAGE_ID = "iglu_marl/LanguageGoal-v0"
PETTINGZOO_ID = "iglu_marl/architect_builder-v0"


def register() -> None:
    """Register the ids that are not registered yet."""
    for name, (entry_point, kwargs) in GYMNASIUM_IDS.items():
        if name not in gymnasium.registry:
            many = entry_point.replace("single:", "vector:").replace("Env", "VectorEnv")
            gymnasium.register(
                name, entry_point=entry_point, vector_entry_point=many, kwargs=kwargs, **_PLAIN
            )
    if LANGUAGE_ID not in gymnasium.registry:
        gymnasium.register(LANGUAGE_ID, entry_point="iglu_marl.envs.language:make_language_goal", **_PLAIN)
    if hasattr(pettingzoo, "register"):  # PettingZoo 1.27 and later
        for kind, entry_point in (("aec", "aec:env"), ("parallel", "parallel:parallel_env")):
            if PETTINGZOO_ID not in getattr(pettingzoo, f"{kind}_registry"):
                pettingzoo.register(kind, PETTINGZOO_ID, f"iglu_marl.envs.{entry_point}")
