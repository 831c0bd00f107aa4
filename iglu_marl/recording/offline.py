"""Recorded games as a Minari dataset: one player's observations, actions and rewards, simulated again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from iglu_marl._version import __version__
from iglu_marl.agents import registry as pairing
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError, ReplayError
from iglu_marl.data.iglu.minari_export import minari_module, write_episodes
from iglu_marl.envs.registration import RECORDED_ID
from iglu_marl.envs.two_agent import BUILDER, ROLES
from iglu_marl.recording.games import GAME_KEYS
from iglu_marl.recording.reading import Recording, read_recording
from iglu_marl.recording.recorded_env import RecordedEnv, at_rest, script_options
from iglu_marl.recording.replaying import replay
from iglu_marl.recording.values import checksum

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

    recordings: files, or episodes that `read_recording` gave, all of one kind (the same view, configuration and
        sights); those in which the player made no move are left out. dataset_id: such as "iglu/games-v0".
    agent: whose part, "builder_0" or "architect_0". sees: what it observes, where that is to be something else than was
        recorded (see `make_game`): everything is simulated again.
    verify: replay each game bit for bit before anything is written. append: add to a dataset that exists.
    vocabulary: the codec, where the recorded one was an object; the dataset then has no environment to recover.
    metadata: further arguments of `minari.create_dataset_from_buffers`, such as `author` and `description`.

    `recover_environment()` of the dataset gives a `RecordedEnv`. An episode's `seed` and `options` are those of its
    reset; its metadata also tell `task`, `completed` and the file. A game that was broken off ends as truncated.
    Raises `DataError` and `ReplayError` for recordings that do not come back, `ConfigError` for those that differ in
    kind, and what `iglu_marl.data.iglu.minari_export.write_episodes` raises.
    """
    minari_module()
    episodes = list(_episodes(recordings))
    if not episodes:
        raise DataError("there is no recording, so there is nothing to export")
    game = _common(episodes)
    if verify:
        for recording in episodes:
            replay(recording, vocabulary=vocabulary)
    options: dict[str, Any] = {"agent": agent, "sees": list(sees)}
    env = RecordedEnv(game, **options, vocabulary=vocabulary)
    try:
        return write_episodes(
            dataset_id,
            _buffers(env, episodes),
            env.observation_space,
            env.action_space,
            append=append,
            **_metadata(game, options, episodes, vocabulary, metadata),
        )
    finally:
        env.close()


def _episodes(recordings: Source | Iterable[Source]) -> Iterator[Recording]:
    if isinstance(recordings, (str, os.PathLike, Recording)):
        recordings = [recordings]
    for source in recordings:
        if isinstance(source, Recording):
            yield source
        else:
            yield from read_recording(source)


def _common(episodes: Sequence[Recording]) -> dict[str, Any]:
    """The kind of game that all episodes are. Raises `ConfigError` when there are several."""
    first = episodes[0]
    game = {key: first.header.get(key) for key in GAME_KEYS}
    for recording in episodes:
        place = f"{recording.path}, line {recording.line}"
        for key, value in game.items():
            if recording.header.get(key) != value:
                raise ConfigError(f"{place}: {_difference(key, recording.header.get(key), value)}")
        if changes := [move.line for move in recording.moves if move.controls is not None]:
            raise ConfigError(
                f"{recording.path}, line {changes[0]}: the builder goes on in another encoding, expected one "
                "action space for a dataset"
            )
    return game


def _difference(key: str, got: Any, expected: Any) -> str:
    """Where two headers differ, in words."""
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        name = next(name for name in {**expected, **got} if got.get(name) != expected.get(name))
        return f"{name} is {got.get(name)!r:.60}, expected {expected.get(name)!r:.60} as in the first episode"
    return f"{key} is {got!r:.60}, expected {expected!r:.60} as in the first episode"


# --------------------------------------------------------------------------------------------- episodes


def _buffers(env: RecordedEnv, episodes: Sequence[Recording]) -> Iterator[dict[str, Any]]:
    """The episodes as arrays, with a line of metadata each."""
    for recording in episodes:
        options = script_options(recording, env.agent)
        fields = _played(env, recording, options)
        if fields is None:
            continue
        end = recording.end or {}
        metadata = {
            "task": str(recording.task.task_id or ""),
            "completed": bool(end.get("terminated", False)),
            "file": Path(recording.path).name,
        }
        yield {**fields, "metadata": metadata}


def _played(env: RecordedEnv, recording: Recording, options: dict[str, Any]) -> dict[str, Any] | None:
    """One recorded game, simulated again; None when the player made no move."""
    own = ROLES[env.agent]
    actions = [move.actions[own] for move in recording.moves if own in move.actions]
    if recording.view == "live" and actions:
        rest = at_rest(env.action_space, yields=False)
        chosen = [move.actions.get(own, rest) for move in recording.moves]
        actions = [{**rest, **one} for one in chosen] if isinstance(rest, dict) else chosen
    fields = played_episode(env, actions, recording.seed, options)
    if not env.ran_out and recording.moves and checksum(env.episode) != recording.moves[-1].state:
        raise ReplayError(
            f"{recording.path}, line {recording.moves[-1].line}: the game does not come back from its actions as "
            f"{env.action_space} has them"
        )
    return fields


def played_episode(
    env: RecordedEnv, chosen: Iterable[Any], seed: int | None, options: dict[str, Any]
) -> dict[str, Any] | None:
    """An episode of these actions as Minari's fields: n + 1 observations and infos, n actions, rewards and ends.

    It ends where the game ends, or with the actions, and is then truncated. None when n is 0.
    """
    observation, info = env.reset(seed=seed, options=options)
    observations, infos = [observation], [info]
    actions, rewards, ends = [], [], []
    for action in chosen:
        action = _as_stored(env.action_space, action)
        observation, reward, terminated, truncated, info = env.step(action)
        if env.ran_out:
            break  # broken off before the player's next turn: what it led to is not known
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
    """An action in the types and shapes of its space, as it comes back from a dataset."""
    if isinstance(space, spaces.Dict):
        return {key: _as_stored(part, action[key]) for key, part in space.items()}
    if isinstance(space, spaces.Text):
        return str(action)
    value = np.asarray(action, space.dtype)
    if isinstance(space, spaces.MultiDiscrete):  # tokens: the rest is silence
        value = np.pad(value, (0, space.shape[0] - len(value)))
    return value.reshape(space.shape or ())


def _stacked(space: spaces.Space[Any], values: Sequence[Any]) -> Any:
    if isinstance(space, spaces.Dict):
        return {key: _stacked(part, [value[key] for value in values]) for key, part in space.items()}
    return list(values) if isinstance(space, spaces.Text) else np.stack(values)


def _stacked_infos(infos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Those entries that every step has."""
    names = [name for name in infos[0] if all(name in info for info in infos)]
    columns = {name: [info[name] for info in infos] for name in names}
    return {
        name: values if isinstance(values[0], str) else np.stack(values) for name, values in columns.items()
    }


# --------------------------------------------------------------------------------------------- about the dataset


def _metadata(
    game: dict[str, Any],
    options: dict[str, Any],
    episodes: Sequence[Recording],
    vocabulary: Any,
    given: Mapping[str, Any],
) -> dict[str, Any]:
    players = sorted({str(name) for each in episodes for name in each.header.get("agents", {}).values()})
    told: dict[str, Any] = {
        "algorithm_name": ", ".join(players) or "unknown",
        "description": f"Games of iglu_marl, recorded and simulated again: the part of {options['agent']}.",
        "requirements": [f"iglu_marl>={__version__}"],
    }
    if vocabulary is None:
        told["env"] = recorded_spec(game=game, **options)
        if (partner := _partner(game, options["agent"], episodes)) is not None:
            told["eval_env"] = recorded_spec(game=game, **options, partner=partner)
    return {**told, **given}


def recorded_spec(**kwargs: Any) -> EnvSpec:
    """The specification of a `RecordedEnv` with these arguments."""
    spec = gymnasium.spec(RECORDED_ID)
    return EnvSpec(spec.id, spec.entry_point, order_enforce=False, disable_env_checker=True, kwargs=kwargs)


def _partner(game: Mapping[str, Any], agent: str, episodes: Sequence[Recording]) -> str | None:
    """The agent that played the other part in all games, by the name under which it can be made again."""
    (other,) = (role for name, role in ROLES.items() if name != agent)
    names = {str(each.header.get("agents", {}).get(other.value, "")) for each in episodes}
    known = pairing.ARCHITECTS if other is Role.ARCHITECT else pairing.BUILDERS
    if game["view"] == "single" or len(names) != 1 or not names <= known.keys():
        return None
    return names.pop()
