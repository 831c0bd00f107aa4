"""Minari datasets: how episodes are written, whoever made them (see `iglu_marl.recording.offline` and `.tapes`).

Minari is an optional extra (`pip install "iglu_marl[data]"`); it is imported when something is exported.
"""

from __future__ import annotations

import inspect
import shutil
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from gymnasium import spaces

from iglu_marl.core.errors import ConfigError, DataError, IgluMarlError

LOSSY = "0.5.3"  # the version of Minari that stores all pictures as JPEG, and cannot be told not to


def minari_module() -> Any:
    """Minari. Raises `DataError`, saying what to install, where it is not there, or changes pictures."""
    try:
        import h5py  # noqa: F401  # how Minari keeps its data; a part of its own extra
        import minari
    except ImportError as error:
        raise DataError(
            f"the export needs Minari, which is not installed ({error}); run: pip install 'iglu_marl[data]'"
        ) from None
    if minari.__version__ == LOSSY:
        raise DataError(
            f"Minari {LOSSY} changes pictures (JPEG), expected another; run: pip install 'minari!={LOSSY}'"
        )
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

    episodes: the fields of Minari's `EpisodeBuffer` as dicts, without `id`, and `metadata`, what else to keep of each.
    metadata: further arguments of `minari.create_dataset_from_buffers`. append: add to a dataset that exists, whose
    spaces have to be these.

    Raises `ConfigError` for an id that Minari refuses or a dataset that does not fit, `DataError` without an episode
    and for values that cannot be stored. When something fails, a new dataset is removed.
    """
    minari = minari_module()
    from minari.data_collector import EpisodeBuffer

    dataset = None
    if append:
        dataset = _existing(minari, dataset_id, observation_space, action_space, metadata.get("env"))
    number = first = int(dataset.total_episodes) if dataset is not None else 0
    told: list[Mapping[str, Any]] = []
    made = None
    try:
        for fields in episodes:
            told.append(fields.get("metadata", {}))
            buffer = EpisodeBuffer(id=number, **{key: fields[key] for key in fields if key != "metadata"})
            if dataset is None:
                dataset = made = _created(
                    minari, dataset_id, buffer, observation_space, action_space, metadata
                )
            else:
                dataset.update_dataset_from_buffer([buffer])
            number += 1
        if dataset is not None and any(told):
            dataset.storage.update_episode_metadata(told, range(first, number))
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
        raise ConfigError(f"the dataset {dataset_id!r} already exists, expected a new name, or append=True")
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
