"""Minari datasets: how they are written, and the export of what people did on tapes as episodes of this world.

Minari is an optional extra (`pip install "iglu_marl[data]"`); it is imported when something is exported. Recordings of
games played here are exported by `iglu_marl.recording.write_minari`.
"""

from __future__ import annotations

import inspect
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.controls import Controls
from iglu_marl.core.errors import ConfigError, DataError, IgluMarlError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.worlds import POSE_HIGH, POSE_LOW, Worlds
from iglu_marl.data.iglu.event_stream import TapeRecording
from iglu_marl.data.iglu.trajectory import ControlSequence, nearest_controls, trajectory_of

Arrays = dict[str, npt.NDArray[Any]]


class SupportsRender(Protocol):
    """Who draws the builder's pictures, such as `iglu_marl.rendering.Painter()`."""

    def render(self, worlds: Worlds, indices: Sequence[int], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
        """First-person pictures uint8 [k, height, width, 3]."""


def minari_module() -> Any:
    """Minari. Raises `DataError`, saying what to install, where it is not."""
    try:
        import h5py  # noqa: F401  # how Minari keeps its data; a part of its own extra
        import minari
    except ImportError as error:
        raise DataError(
            f"the export needs Minari, which is not installed ({error}); run: pip install 'iglu_marl[data]'"
        ) from None
    return minari


def write_episodes(
    dataset_id: str,
    episodes: Iterable[Mapping[str, Any]],
    observation_space: spaces.Space[Any],
    action_space: spaces.Space[Any],
    *,
    append: bool = False,
    **metadata: Any,
) -> Any:
    """Write episodes one after the other, as they come, and return the dataset.

    episodes: the fields of Minari's `EpisodeBuffer` as dicts, without `id`. metadata: further arguments of
    `minari.create_dataset_from_buffers`. append: add to a dataset that exists, whose spaces have to be these.

    Raises `ConfigError` for an id that Minari refuses or a dataset that does not fit, `DataError` without an episode
    and for values that cannot be stored. When something fails, a new dataset is removed.
    """
    minari = minari_module()
    from minari.data_collector import EpisodeBuffer

    dataset = None
    if append:
        dataset = _existing(minari, dataset_id, observation_space, action_space, metadata.get("env"))
    number = int(dataset.total_episodes) if dataset is not None else 0
    made = None
    try:
        for fields in episodes:
            buffer = EpisodeBuffer(id=number, **fields)
            if dataset is None:
                dataset = made = _created(
                    minari, dataset_id, buffer, observation_space, action_space, metadata
                )
            else:
                dataset.update_dataset_from_buffer([buffer])
            number += 1
    except BaseException as error:
        if made is not None:
            shutil.rmtree(minari.storage.get_dataset_path(dataset_id))
        if isinstance(error, IgluMarlError) or not isinstance(error, (TypeError, ValueError)):
            raise
        raise DataError(f"episode {number} cannot be stored: {error}") from error
    if dataset is None:
        raise DataError("there is no recording in which anything happens, so there is nothing to export")
    return dataset


def _existing(
    minari: Any, dataset_id: str, observations: spaces.Space[Any], actions: spaces.Space[Any], env: Any
) -> Any:
    """The dataset of that name. Raises `ConfigError` unless it is of these spaces and this environment."""
    from minari.serialization import serialize_space

    try:
        dataset = minari.load_dataset(dataset_id)
    except (ValueError, FileNotFoundError) as error:
        raise ConfigError(f"there is no dataset {dataset_id!r} to append to: {error}") from None
    for name, space, stored in (
        ("observations", observations, dataset.observation_space),
        ("actions", actions, dataset.action_space),
    ):
        if serialize_space(space) != serialize_space(stored):
            raise ConfigError(f"the dataset {dataset_id!r} has other {name}: {stored}, expected {space}")
    if env is not None and (dataset.env_spec is None or dataset.env_spec.to_json() != env.to_json()):
        raise ConfigError(
            f"the dataset {dataset_id!r} is of another environment: {dataset.env_spec}, expected {env}"
        )
    return dataset


def _created(
    minari: Any,
    dataset_id: str,
    first: Any,
    observations: spaces.Space[Any],
    actions: spaces.Space[Any],
    metadata: dict[str, Any],
) -> Any:
    from minari.dataset.minari_dataset import parse_dataset_id

    create = minari.create_dataset_from_buffers
    if "jpeg_encoding" in inspect.signature(create).parameters:
        metadata = {"jpeg_encoding": False, **metadata}  # pictures as they are
    path = minari.storage.get_dataset_path(dataset_id)
    try:
        parse_dataset_id(dataset_id)
    except (TypeError, ValueError):  # the former where the version lacks
        raise ConfigError(
            f"Minari refuses the dataset id {dataset_id!r}, expected one such as 'iglu/games-v0'"
        ) from None
    if path.exists():
        raise ConfigError(f"the dataset {dataset_id!r} already exists, expected a new name, or append")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of each piece of metadata that is not given
            return create(
                dataset_id,
                [first],
                observation_space=observations,
                action_space=actions,
                data_format="hdf5",
                **metadata,
            )
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


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
    sequence: ControlSequence, renderer: SupportsRender | None = None, size: tuple[int, int] = (64, 64)
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


def _sequences(
    recordings: Iterable[TapeRecording | ControlSequence], stride: int
) -> Iterator[ControlSequence]:
    for recording in recordings:
        if isinstance(recording, TapeRecording):
            recording = nearest_controls(trajectory_of(recording), stride=stride)
        if len(recording):
            yield recording


def export_minari(
    recordings: Iterable[TapeRecording | ControlSequence],
    dataset_id: str,
    *,
    renderer: SupportsRender | None = None,
    size: tuple[int, int] = (64, 64),
    stride: int = 1,
    **metadata: Any,
) -> Any:
    """Write recordings as a new Minari dataset and return it.

    recordings: read by `read_recording`, or already followed by `nearest_controls`; those in which nothing happens
        are left out. dataset_id: as Minari names datasets, such as "iglu/multiturn-v0".
    renderer, size: with a renderer there is also a picture `pov` uint8 [height, width, 3] of each step.
    stride: see `nearest_controls`. metadata: further arguments of Minari's, such as `author` and `description`, and
        `append=True` to add to a dataset that exists.

    Actions are those of the encoding "continuous" that come nearest to the recording; each episode's options hold its
    name and its residual errors. It is terminated when the recorded world at its end was reached, else truncated.
    Raises `DataError` without Minari or without a recording, `ConfigError` for an id that Minari refuses.
    """
    return write_episodes(
        dataset_id,
        (_fields(sequence, renderer, size) for sequence in _sequences(recordings, stride)),
        observation_space(size if renderer is not None else None),
        Controls("continuous").space,
        **{
            "algorithm_name": "people",
            "description": "Recorded builders of the IGLU data, followed by the nearest controls.",
            **metadata,
        },
    )


def _fields(
    sequence: ControlSequence, renderer: SupportsRender | None, size: tuple[int, int]
) -> dict[str, Any]:
    arrays = episode(sequence, renderer, size)
    return {
        **arrays,
        **{name: arrays[name].tolist() for name in ("rewards", "terminations", "truncations")},
        "options": {"name": sequence.trajectory.name, **sequence.residual},
    }
