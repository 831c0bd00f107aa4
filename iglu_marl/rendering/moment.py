"""The state of an episode as pictures and pages show it."""

from __future__ import annotations

from typing import Any


def status_of(episode: Any) -> dict[str, Any]:
    """Return clocks, turn, score and inventory of an episode, JSON-ready; `floor` is the role whose turn it is."""
    worlds = episode.worlds
    return {
        "step": int(worlds.steps[0]),
        "max_steps": int(worlds.max_steps[0]),
        "turn": int(worlds.turns[0]),
        "max_turns": int(worlds.max_turns[0]),
        "floor": str(episode.floor.value),
        "intersection": int(worlds.best[0]),
        "target_blocks": int(worlds.target_blocks[0]),
        "complete": episode.ended[0],
        "over": any(episode.ended),
        "inventory": [int(count) for count in worlds.seen_inventory[0]],
        "active": int(worlds.active[0]),
    }


def moment_of(episode: Any) -> dict[str, Any]:
    """Return an episode as arguments of `composed_frame` and `ReplayRecorder.add`."""
    worlds = episode.worlds
    return {
        "grid": worlds.grid[0].copy(),
        "pose": worlds.pose[0].tolist(),
        "others": worlds.pose[1:].tolist(),
        "dialogue": [(said.speaker, said.text) for said in episode.dialogue],
        "target": worlds.target[0].copy(),
        "aligned_target": worlds.aligned_target(0),
        "status": status_of(episode),
    }
