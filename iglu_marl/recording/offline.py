"""Recorded games as a Minari dataset: one player's observations, actions and rewards, simulated again.

Minari is an optional extra: `pip install '.[minari]'` in a clone.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from iglu_marl._version import __version__
from iglu_marl.core.controls import at_rest
from iglu_marl.core.errors import AgentError, ConfigError, DataError, IgluMarlError
from iglu_marl.core.extras import extra
from iglu_marl.envs.two_agent import BUILDER, ROLES
from iglu_marl.recording.games import GAME_KEYS, make_game, with_sights
from iglu_marl.recording.reading import Recording, read_recording
from iglu_marl.recording.replaying import replay

LOSSY = "0.5.3"  # this version of Minari always stores pictures as JPEG
Source = str | os.PathLike[str] | Recording


def write_minari(
    recordings: Source | Iterable[Source],
    dataset_id: str,
    *,
    agent: str = BUILDER,
    sees: Sequence[str] = (),
    verify: bool = True,
    append: bool = False,
    vocabulary: Any = None,
    **metadata: Any,
) -> Any:
    """Write recorded games as a Minari dataset, and return it.

    A step lasts until the player's next turn. Its reward is the sum of the rewards in that time, and in the first step
    also of those before. In a real-time game a step is a tick. An episode's metadata are `task`, `completed` and
    `file`. An unfinished game ends as truncated with the last step after which the player was to move again.

    Args:
        recordings: files, or results of `read_recording`, with the same view, configuration and observations.
            Games without a move of the player are left out.
        dataset_id: such as "iglu/games-v0".
        agent: the player, "builder_0" or "architect_0".
        sees: what it observes, if other than recorded (see `with_sights`).
        verify: compare each game with its recording bit for bit.
        append: add to an existing dataset with the same spaces.
        vocabulary: the codec, if the recorded one was an object.
        metadata: further arguments of `minari.create_dataset_from_buffers`, such as `author` and `description`.

    Raises:
        DataError: if there is nothing to write, a game was edited from outside, or Minari is missing or cannot store a
            value.
        ReplayError: if a game cannot be reproduced.
        ConfigError: if the recordings differ in kind, or the id or the existing dataset does not fit.

    """
    minari_module()
    games = list(_games(recordings, verify))
    if not games:
        raise DataError("there is no recording to export, expected at least one")
    _check_same_kind(games)
    known = (BUILDER,) if games[0].view == "single" else tuple(ROLES)
    if agent not in known:
        raise AgentError(f"there is no agent {agent!r} in this game, expected {' or '.join(known)}")
    if sees:
        headers = (with_sights(game.header, sees, ROLES[agent]) for game in games)
        games = [
            dataclasses.replace(game, header=header) for game, header in zip(games, headers, strict=True)
        ]
    env = make_game(games[0].header, vocabulary=vocabulary)
    env.config.check_pair("write_minari")
    observation_space, action_space = env.observation_space, env.action_space
    if games[0].view != "single":
        observation_space, action_space = observation_space(agent), action_space(agent)
    env.close()
    players = sorted({str(name) for game in games for name in game.header.get("agents", {}).values()})
    own = [game for game in games if any(ROLES[agent] in move.actions for move in game.moves)]
    parts = (
        part.fields(observation_space, action_space)
        for part in (_replayed(game, agent, verify, vocabulary) for game in own)
        if part.rewards
    )
    about: dict[str, Any] = {
        "algorithm_name": ", ".join(players) or "unknown",
        "description": f"Games of iglu_marl, recorded and simulated again: the part of {agent}.",
        "requirements": [f"iglu_marl>={__version__}"],
    }
    return write_episodes(
        dataset_id, parts, observation_space, action_space, append=append, **{**about, **metadata}
    )


def _games(recordings: Source | Iterable[Source], verify: bool) -> Iterator[Recording]:
    if isinstance(recordings, (str, os.PathLike, Recording)):
        recordings = [recordings]
    for source in recordings:
        if isinstance(source, Recording):
            yield source
        else:
            yield from read_recording(source, verify=verify)


def _check_same_kind(games: Sequence[Recording]) -> None:
    """Raise an error unless all games have the same `GAME_KEYS` and one action space, and nobody edited them."""
    kind = {key: games[0].header.get(key) for key in GAME_KEYS}
    for game in games:
        game.check_unedited("a dataset of actions")
        for key, value in kind.items():
            if game.header.get(key) != value:
                difference = _difference(key, game.header.get(key), value)
                raise ConfigError(f"{game.path}, line {game.line}: {difference}")
        if changes := [move.line for move in game.moves if move.controls is not None]:
            raise ConfigError(
                f"{game.path}, line {changes[0]}: the builder changes its encoding, expected one action space for a "
                "dataset"
            )


def _difference(key: str, got: Any, expected: Any) -> str:
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        name = next(name for name in {**expected, **got} if got.get(name) != expected.get(name))
        return f"{name} is {got.get(name)!r:.60}, expected {expected.get(name)!r:.60} as in the first episode"
    return f"{key} is {got!r:.60}, expected {expected!r:.60} as in the first episode"


def _replayed(recording: Recording, agent: str, verify: bool, vocabulary: Any) -> _Part:
    part = _Part(recording, agent)
    replay(recording, verify=verify, on_step=part, vocabulary=vocabulary)
    return part


class _Part:
    """One player's part of a game: an `on_step` of its replay."""

    def __init__(self, recording: Recording, agent: str) -> None:
        self.recording, self.agent = recording, agent
        self.observations: list[Any] = []
        self.rewards: list[float] = []
        self.ends: list[tuple[bool, bool]] = []
        self._paid = 0.0
        self._moves = 0

    def __call__(self, env: Any) -> None:
        """Note an observation at each turn of the player, and at the end; after the first, also the step before."""
        if self._moves:
            self._paid += self.recording.moves[self._moves - 1].rewards.get(ROLES[self.agent], 0.0)
        self._moves += 1
        ended = env.episode.ended
        if self.recording.view == "aec" and env.agent_selection != self.agent and not any(ended):
            return
        if self.observations:
            self.rewards.append(self._paid)
            self.ends.append(ended)
            self._paid = 0.0
        self.observations.append(env.observe(self.agent))

    def fields(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> dict[str, Any]:
        """Return the fields of Minari's episode."""
        role, moves = ROLES[self.agent], self.recording.moves
        if self.recording.view == "live":
            rest = at_rest(action_space, yields=False)
            actions = [move.actions.get(role, rest) for move in moves]
            if isinstance(rest, dict):
                actions = [{**rest, **action} for action in actions]
        else:
            actions = [move.actions[role] for move in moves if role in move.actions]
        actions = actions[: len(self.rewards)]  # without one after which the player was not to move again
        return {
            **columns(observation_space, action_space, self.observations, actions, self.rewards, self.ends),
            "seed": self.recording.seed,
            "metadata": {
                "task": str(self.recording.task.task_id or ""),
                "completed": bool((self.recording.end or {}).get("terminated", False)),
                "file": Path(self.recording.path).name,
            },
        }


def columns(
    observation_space: spaces.Space[Any],
    action_space: spaces.Space[Any],
    observations: Sequence[Any],
    actions: Sequence[Any],
    rewards: Sequence[float],
    ends: Sequence[tuple[bool, bool]],
) -> dict[str, Any]:
    """Return Minari's columns of n + 1 observations; n actions, rewards and ends (terminated, truncated).

    An unfinished episode ends as truncated.
    """
    truncations = [truncated for _, truncated in ends]
    truncations[-1] = truncations[-1] or not ends[-1][0]
    return {
        "observations": _stacked(observation_space, observations),
        "actions": _stacked(action_space, [_as_stored(action_space, action) for action in actions]),
        "rewards": list(rewards),
        "terminations": [terminated for terminated, _ in ends],
        "truncations": truncations,
    }


def _as_stored(space: spaces.Space[Any], action: Any) -> Any:
    """Return an action in the types and shapes of its space, as a dataset returns it."""
    if isinstance(space, spaces.Dict):
        return {key: _as_stored(part, action[key]) for key, part in space.items()}
    if isinstance(space, spaces.Text):
        return str(action)
    value = np.asarray(action, space.dtype)
    if isinstance(space, spaces.MultiDiscrete):  # tokens, padded with silence
        value = np.pad(value, (0, space.shape[0] - len(value)))
    return value.reshape(space.shape or ())


def _stacked(space: spaces.Space[Any], values: Sequence[Any]) -> Any:
    if isinstance(space, spaces.Dict):
        return {key: _stacked(part, [value[key] for value in values]) for key, part in space.items()}
    return list(values) if isinstance(space, spaces.Text) else np.stack(values)


def minari_module() -> Any:
    """Return the module `minari`. Raises `DataError` if it is missing, or its version changes pictures."""
    with extra("minari"):
        import h5py  # noqa: F401  # Minari's storage, in an extra of its own
        import minari
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
    """Write episodes one by one, and return the dataset. If something fails, a new dataset is removed.

    Args:
        dataset_id: such as "iglu/games-v0".
        episodes: fields of Minari's `EpisodeBuffer` without `id`, and `metadata` of the episode.
        observation_space: space of the observations.
        action_space: space of the actions.
        append: add to an existing dataset with the same spaces.
        metadata: further arguments of `minari.create_dataset_from_buffers`.

    Raises:
        ConfigError: if Minari refuses the id, or the existing dataset does not fit.
        DataError: if there is no episode, or a value cannot be stored.

    """
    minari = minari_module()
    from minari.data_collector import EpisodeBuffer

    dataset = _existing(minari, dataset_id, observation_space, action_space) if append else None
    number = first = int(dataset.total_episodes) if dataset is not None else 0
    about: list[Mapping[str, Any]] = []
    made = None
    try:
        for fields in episodes:
            about.append(fields.get("metadata", {}))
            buffer = EpisodeBuffer(id=number, **{key: fields[key] for key in fields if key != "metadata"})
            if dataset is None:
                dataset = made = _create(
                    minari, dataset_id, buffer, observation_space, action_space, metadata
                )
            else:
                dataset.update_dataset_from_buffer([buffer])
            number += 1
        if dataset is not None and any(about):
            dataset.storage.update_episode_metadata(about, range(first, number))
    except BaseException as error:
        if made is not None:
            shutil.rmtree(minari.storage.get_dataset_path(dataset_id))
        if isinstance(error, IgluMarlError) or not isinstance(error, (TypeError, ValueError)):
            raise
        raise DataError(f"episode {number} cannot be stored: {error}") from error
    if dataset is None:
        raise DataError("there is no episode with an action to export, expected at least one")
    return dataset


def _existing(
    minari: Any, dataset_id: str, observations: spaces.Space[Any], actions: spaces.Space[Any]
) -> Any:
    """Load a dataset. Raises `ConfigError` unless it has these spaces."""
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
    return dataset


def _create(
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
        metadata = {"jpeg_encoding": False, **metadata}
    path = minari.storage.get_dataset_path(dataset_id)
    try:
        parse_dataset_id(dataset_id)
    except (TypeError, ValueError):  # TypeError if the version is missing
        raise ConfigError(
            f"Minari refuses the dataset id {dataset_id!r}, expected one such as 'iglu/games-v0'"
        ) from None
    if path.exists():
        raise ConfigError(f"the dataset {dataset_id!r} already exists, expected a new name, or append=True")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # one for each missing piece of metadata
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
