"""Export of recordings as a Minari dataset: what people did, as episodes of this world.

Minari is an optional extra (`pip install "iglu_marl[data]"`); it is imported when something is exported.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.controls import Controls
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.worlds import POSE_HIGH, POSE_LOW, Worlds
from iglu_marl.data.tape import Recording
from iglu_marl.data.trajectory import ControlSequence, nearest_controls, trajectory_of

Arrays = dict[str, npt.NDArray[Any]]


class Renderer(Protocol):
    """Who draws the builder's pictures, such as `iglu_marl.rendering.Painter()`."""

    def render(self, worlds: Worlds, indices: Sequence[int], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
        """First-person pictures uint8 [k, height, width, 3]."""


def _minari() -> Any:
    try:
        import h5py  # noqa: F401  # how Minari keeps its data; a part of its own extra
        import minari
    except ImportError as error:
        raise DataError(
            f"the export needs Minari, which is not installed ({error}); run: pip install 'iglu_marl[data]'"
        ) from None
    return minari


def observation_space(size: tuple[int, int] | None = None) -> spaces.Dict:
    """What the episodes observe: agentPos (x, y, z, pitch, yaw), grid, target_grid, inventory, and pov with a size."""
    entries: dict[str, spaces.Space[Any]] = {
        "agentPos": spaces.Box(POSE_LOW, POSE_HIGH, dtype=np.float32),
        "grid": spaces.Box(0, 6, ZONE_SHAPE, np.int8),
        "target_grid": spaces.Box(0, 6, ZONE_SHAPE, np.int8),
        "inventory": spaces.Box(0, 120, (6,), np.int16),
    }
    if size is not None:
        entries["pov"] = spaces.Box(0, 255, (*size, 3), np.uint8)
    return spaces.Dict(entries)


def episode(
    sequence: ControlSequence, renderer: Renderer | None = None, size: tuple[int, int] = (64, 64)
) -> dict[str, Any]:
    """One episode as arrays: observations (n + 1 of each), actions, rewards, terminations, truncations (n of each).

    The target is the recorded world at the end. An episode of no action raises `DataError`.
    """
    count = len(sequence)
    if not count:
        raise DataError(f"nothing happens in the recording {sequence.trajectory.name!r}, so it is no episode")
    seen: dict[str, list[Any]] = {name: [] for name in observation_space(size if renderer else None)}
    rewards = np.zeros(count)
    ended = np.zeros(count, bool)
    for step, worlds in enumerate(sequence.replay()):
        seen["agentPos"].append(worlds.seen_pose[0].astype(np.float32))
        seen["grid"].append(worlds.grid[0].copy())
        seen["target_grid"].append(worlds.target[0].copy())
        seen["inventory"].append(np.maximum(worlds.inventory[0], 0).astype(np.int16))
        if renderer is not None:
            seen["pov"].append(renderer.render(worlds, [0], size)[0].copy())
        if step:
            rewards[step - 1] = worlds.reward[0]
    ended[-1] = bool(np.array_equal(seen["grid"][-1], seen["target_grid"][-1]))
    keys = sequence.actions[0]
    cut = np.zeros(count, bool)
    cut[-1] = not ended[-1]
    return {
        "observations": {name: np.stack(values) for name, values in seen.items()},
        "actions": {key: np.stack([np.asarray(action[key]) for action in sequence.actions]) for key in keys},
        "rewards": rewards,
        "terminations": ended,
        "truncations": cut,
    }


def _sequences(recordings: Iterable[Recording | ControlSequence], stride: int) -> Iterator[ControlSequence]:
    for recording in recordings:
        if isinstance(recording, Recording):
            recording = nearest_controls(trajectory_of(recording), stride=stride)
        if len(recording):
            yield recording


def export_minari(
    recordings: Iterable[Recording | ControlSequence],
    dataset_id: str,
    *,
    renderer: Renderer | None = None,
    size: tuple[int, int] = (64, 64),
    stride: int = 1,
    description: str | None = None,
    **metadata: Any,
) -> Any:
    """Write recordings as a new Minari dataset and return it.

    recordings: read by `read_recording`, or already followed by `nearest_controls`; those in which nothing happens
        are left out. dataset_id: as Minari names datasets, such as "iglu/multiturn-v0".
    renderer, size: with a renderer there is also a picture `pov` uint8 [height, width, 3] of each step.
    stride: see `nearest_controls`. metadata: further arguments of Minari's, such as `author` and `code_permalink`.

    Actions are those of the encoding "continuous" that come nearest to the recording; each episode's options hold its
    name and its residual errors. It is terminated when the recorded world at its end was reached, else truncated.
    Raises `DataError` without Minari or without a recording, `ConfigError` for an id that Minari refuses.
    """
    minari = _minari()
    from minari.data_collector import EpisodeBuffer

    buffers = []
    for number, sequence in enumerate(_sequences(recordings, stride)):
        arrays = episode(sequence, renderer, size)
        options = {"name": sequence.trajectory.name, **sequence.residual}
        buffers.append(
            EpisodeBuffer(
                id=number,
                options=options,
                observations=arrays["observations"],
                actions=arrays["actions"],
                rewards=arrays["rewards"].tolist(),
                terminations=arrays["terminations"].tolist(),
                truncations=arrays["truncations"].tolist(),
            )
        )
    if not buffers:
        raise DataError("there is no recording in which anything happens, so there is nothing to export")
    create = minari.create_dataset_from_buffers
    extra: dict[str, Any] = (
        {"jpeg_encoding": False} if "jpeg_encoding" in inspect.signature(create).parameters else {}
    )
    extra |= {"algorithm_name": "people", **metadata}
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", category=UserWarning
            )  # of each piece of metadata that is not given
            return create(
                dataset_id,
                buffers,
                action_space=Controls("continuous").space,
                observation_space=observation_space(size if renderer is not None else None),
                description=description
                or "Recorded builders of the IGLU data, followed by the nearest controls.",
                data_format="hdf5",
                **extra,
            )
    except ValueError as error:
        raise ConfigError(f"Minari refuses the dataset {dataset_id!r}: {error}") from error
