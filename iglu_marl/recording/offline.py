"""Recorded games as a Minari dataset: one player's observations, actions and rewards, simulated again.

Minari is an optional extra: `pip install '.[minari]'` in a clone.
"""

from __future__ import annotations

import inspect
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from iglu_marl._version import __version__
from iglu_marl.agents import registry as pairing
from iglu_marl.core.controls import at_rest
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError, IgluMarlError, ReplayError
from iglu_marl.core.extras import extra
from iglu_marl.envs.registration import RECORDED_ID
from iglu_marl.envs.two_agent import BUILDER, ROLES
from iglu_marl.recording.games import GAME_KEYS
from iglu_marl.recording.reading import Recording, read_recording
from iglu_marl.recording.recorded_env import RecordedEnv, script_options
from iglu_marl.recording.replaying import replay
from iglu_marl.recording.values import checksum

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

    `recover_environment()` of the dataset returns a `RecordedEnv`. An episode's `seed` and `options` are those of its
    reset; its metadata also have `task`, `completed` and `file`. An unfinished game ends as truncated.

    Args:
        recordings: files, or results of `read_recording`, with the same view, configuration and observations.
            Games without a move of the player are left out.
        dataset_id: such as "iglu/games-v0".
        agent: the player, "builder_0" or "architect_0".
        sees: what it observes, if other than recorded (see `make_game`).
        verify: replay each game bit for bit before anything is written.
        append: add to an existing dataset.
        vocabulary: the codec, if the recorded one was an object. `recover_environment(vocabulary=…)` needs it again; it
            raises `ConfigError` without it.
        metadata: further arguments of `minari.create_dataset_from_buffers`, such as `author` and `description`.

    Raises:
        DataError: if there is nothing to write, a game was edited from outside, or Minari is missing or cannot store a
            value.
        ReplayError: if a game cannot be reproduced.
        ConfigError: if the recordings differ in kind, or the id or the existing dataset does not fit.

    """
    minari_module()
    episodes = list(_episodes(recordings, verify))
    if not episodes:
        raise DataError("there is no recording to export, expected at least one")
    game = _common_game(episodes)
    if verify:
        for recording in episodes:
            replay(recording, vocabulary=vocabulary)
    options: dict[str, Any] = {"agent": agent, "sees": list(sees)}
    env = RecordedEnv(game, **options, vocabulary=vocabulary)
    env.spec = spec_of(RECORDED_ID, game=game, **options)
    try:
        return write_episodes(
            dataset_id,
            _buffers(env, episodes),
            env.observation_space,
            env.action_space,
            append=append,
            **_metadata(env, game, options, episodes, metadata),
        )
    finally:
        env.close()


def _episodes(recordings: Source | Iterable[Source], verify: bool) -> Iterator[Recording]:
    if isinstance(recordings, (str, os.PathLike, Recording)):
        recordings = [recordings]
    for source in recordings:
        if isinstance(source, Recording):
            yield source
        else:
            yield from read_recording(source, verify=verify)


def _common_game(episodes: Sequence[Recording]) -> dict[str, Any]:
    """Return the `GAME_KEYS` of all episodes. Raises `ConfigError` if they differ."""
    first = episodes[0]
    game = {key: first.header.get(key) for key in GAME_KEYS}
    for recording in episodes:
        recording.check_unedited("a dataset of actions")
        place = f"{recording.path}, line {recording.line}"
        for key, value in game.items():
            if recording.header.get(key) != value:
                raise ConfigError(f"{place}: {_difference(key, recording.header.get(key), value)}")
        if changes := [move.line for move in recording.moves if move.controls is not None]:
            raise ConfigError(
                f"{recording.path}, line {changes[0]}: the builder changes its encoding, expected one action space "
                "for a dataset"
            )
    return game


def _difference(key: str, got: Any, expected: Any) -> str:
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        name = next(name for name in {**expected, **got} if got.get(name) != expected.get(name))
        return f"{name} is {got.get(name)!r:.60}, expected {expected.get(name)!r:.60} as in the first episode"
    return f"{key} is {got!r:.60}, expected {expected!r:.60} as in the first episode"


def _buffers(env: RecordedEnv, episodes: Sequence[Recording]) -> Iterator[dict[str, Any]]:
    for recording in episodes:
        options = script_options(recording, env.agent)
        fields = _simulate(env, recording, options)
        if fields is None:
            continue
        end = recording.end or {}
        metadata = {
            "task": str(recording.task.task_id or ""),
            "completed": bool(end.get("terminated", False)),
            "file": Path(recording.path).name,
        }
        yield {**fields, "metadata": metadata}


def _simulate(env: RecordedEnv, recording: Recording, options: dict[str, Any]) -> dict[str, Any] | None:
    """Simulate a recorded game again; None if the player made no move."""
    own = ROLES[env.agent]
    actions = [move.actions[own] for move in recording.moves if own in move.actions]
    if recording.view == "live" and actions:
        rest = at_rest(env.action_space, yields=False)
        chosen = [move.actions.get(own, rest) for move in recording.moves]
        actions = [{**rest, **one} for one in chosen] if isinstance(rest, dict) else chosen
    fields = play_actions(env, actions, recording.seed, options)
    if not env.ran_out and recording.moves and checksum(env.episode) != recording.moves[-1].state:
        raise ReplayError(
            f"{recording.path}, line {recording.moves[-1].line}: the game is not reproduced from its actions in "
            f"{env.action_space}"
        )
    return fields


def play_actions(
    env: RecordedEnv, chosen: Iterable[Any], seed: int | None, options: dict[str, Any]
) -> dict[str, Any] | None:
    """Play actions, and return Minari's fields: n + 1 observations and infos, n actions, rewards and ends.

    If the actions end before the game, the episode ends as truncated. None if there is no action.
    """
    observation, info = env.reset(seed=seed, options=options)
    observations, infos = [observation], [info]
    actions, rewards, ends = [], [], []
    for action in chosen:
        action = _as_stored(env.action_space, action)
        observation, reward, terminated, truncated, info = env.step(action)
        if env.ran_out:
            break  # the recording ends before the player's next turn
        actions.append(action)
        observations.append(observation)
        infos.append(info)
        rewards.append(float(reward))
        ends.append((bool(terminated), bool(truncated)))
        if terminated or truncated:
            break
    if not actions:
        return None
    terminated, truncated = ends[-1]
    ends[-1] = (terminated, truncated or not terminated)
    return {
        "observations": _stacked(env.observation_space, observations),
        "actions": _stacked(env.action_space, actions),
        "rewards": rewards,
        "terminations": [terminated for terminated, _ in ends],
        "truncations": [truncated for _, truncated in ends],
        "infos": _stacked_infos(infos),
        "seed": seed,
        "options": options,
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


def _stacked_infos(infos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the entries that every step has."""
    names = [name for name in infos[0] if all(name in info for info in infos)]
    columns = {name: [info[name] for info in infos] for name in names}
    return {
        name: values if isinstance(values[0], str) else np.stack(values) for name, values in columns.items()
    }


def _metadata(
    env: RecordedEnv,
    game: dict[str, Any],
    options: dict[str, Any],
    episodes: Sequence[Recording],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    players = sorted({str(name) for each in episodes for name in each.header.get("agents", {}).values()})
    metadata: dict[str, Any] = {
        "algorithm_name": ", ".join(players) or "unknown",
        "description": f"Games of iglu_marl, recorded and simulated again: the part of {options['agent']}.",
        "requirements": [f"iglu_marl>={__version__}"],
        "env": env,  # not its specification, from which Minari would make it without the codec
    }
    if (partner := _partner(game, options["agent"], episodes)) is not None:
        metadata["eval_env"] = spec_of(RECORDED_ID, game=game, **options, partner=partner)
    return {**metadata, **given}


def spec_of(name: str, **kwargs: Any) -> EnvSpec:
    """Return the specification of a registered environment of this package with these arguments."""
    spec = gymnasium.spec(name)
    return EnvSpec(spec.id, spec.entry_point, order_enforce=False, disable_env_checker=True, kwargs=kwargs)


def _partner(game: Mapping[str, Any], agent: str, episodes: Sequence[Recording]) -> str | None:
    """Return the registered name of the partner in all games; None if there is none."""
    (other,) = (role for name, role in ROLES.items() if name != agent)
    names = {str(each.header.get("agents", {}).get(other.value, "")) for each in episodes}
    known = pairing.ARCHITECTS if other is Role.ARCHITECT else pairing.BUILDERS
    if game["view"] == "single" or len(names) != 1 or not names <= known.keys():
        return None
    return names.pop()


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

    dataset = None
    if append:
        dataset = _existing(minari, dataset_id, observation_space, action_space, metadata.get("env"))
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
    minari: Any, dataset_id: str, observations: spaces.Space[Any], actions: spaces.Space[Any], env: Any
) -> Any:
    """Load a dataset. Raises `ConfigError` unless it has these spaces and this environment."""
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
    spec = getattr(env, "spec", env)
    if spec is not None and (dataset.env_spec is None or dataset.env_spec.to_json() != spec.to_json()):
        raise ConfigError(
            f"the dataset {dataset_id!r} is of another environment: {dataset.env_spec}, expected {spec}"
        )
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
