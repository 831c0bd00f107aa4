"""The environment of a recorded game, made from the header of its recording."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from gymnasium import spaces

from iglu_marl.core.controls import Controls
from iglu_marl.core.conventions import Conventions
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.live import LiveGame
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.envs.single import GridworldEnv, SilentBuilderEnv, SingleAgentEnv
from iglu_marl.game.config import COMPUTED_SIGHTS, GameConfig, unknown_sight
from iglu_marl.game.episode import Episode
from iglu_marl.game.observations import Observer, gridworld_observer, silent_builder_observer
from iglu_marl.game.profiles import GRIDWORLD, PROFILES, SILENT_BUILDER, read_options

GAME_KEYS = ("view", "config", "controls", "recorded", "observes")
"""Keys of a header that determine the environment."""

_STATE = {"id": "gridworld", "render": False, "vector_state": True, "target_in_obs": False}


class Heard:
    """An architect that says `words`, which the caller sets before each step to the recorded utterance."""

    def __init__(self) -> None:
        self.words = ""
        self.episode: Callable[[], Episode] | None = None

    def reset(self, role: Role, seed: int | None) -> None:
        """Do nothing."""

    def act(self, observation: Any) -> Any:
        """Return `words` in the form of the chat."""
        assert self.episode is not None
        chat: Any = self.episode().chat
        if isinstance(chat.silence, str):
            return self.words
        tokens = chat.codec.encode(self.words)
        return np.array([*tokens, *[0] * (chat.message_length - len(tokens))], dtype=np.int64)

    def close(self) -> None:
        """Do nothing."""


class LoneBuilder(SingleAgentEnv):
    """A recorded single-agent game. `heard` is its architect; None if the dialogue is that of the task."""

    heard: Heard | None

    def __init__(
        self, config: GameConfig, controls: Controls, observes: Mapping[str, Any], live: bool
    ) -> None:
        make = silent_builder_observer if observes["id"] == "silent" else gridworld_observer
        chosen = {flag: observes[flag] for flag in ("target_in_obs", "target_egocentric") if flag in observes}

        def observer(episode: Episode) -> Observer:
            return make(episode.config, episode.chat, controls.conventions, **chosen)

        self.heard = Heard() if live else None
        super().__init__(config, controls, observer, architect=self.heard)
        if self.heard is not None:
            self.heard.episode = lambda: self.episode

    def observe(self, agent: str) -> dict[str, Any]:
        """Return the builder's observation, as the environments of two agents do."""
        return self._observer.observe(self.episode)


def observes(env: Any) -> dict[str, Any] | None:
    """Return the kind of a single-agent environment and its observation options, as JSON; None for other ones."""
    game = env.unwrapped
    if not isinstance(game, (GridworldEnv, SilentBuilderEnv)):
        return None
    if isinstance(game, SilentBuilderEnv):
        return {"id": "silent"}
    seen = cast(spaces.Dict, game.observation_space).spaces
    return {
        "id": "gridworld",
        "target_in_obs": "target_grid" in seen,
        "target_egocentric": "target_egocentric" in seen,
    }


def _sights_of(observes: Mapping[str, Any], sees: Sequence[str]) -> tuple[str, ...]:
    """Return what a lone builder observes, as names of `builder_sees`.

    observes: the options of its header, in versions before 0.4 with flags. sees: `builder_sees` of its header, of which
    then only the computed observations count.
    """
    if not {"visual", "render"} & observes.keys():
        return tuple(sees)
    pictures = observes.get("render", True)
    state = not observes["visual"] if "visual" in observes else observes["vector_state"]
    computed = (name for name in COMPUTED_SIGHTS if name in sees)
    return (*("pov",) * pictures, "inventory", "compass", "dialog", *("pose", "grid") * state, *computed)


def with_sights(header: Mapping[str, Any], sees: Sequence[str], role: Role) -> dict[str, Any]:
    """Return the header of the same game, in which `role` observes something else.

    Args:
        header: a header with `GAME_KEYS`.
        sees: `builder_sees` or `architect_sees` of `GameConfig`; for a single-agent game those of pov, pose, grid, aim,
            egocentric, hotbar, target_grid and target_egocentric, besides inventory, compass and dialog.
        role: the role that observes it.

    Raises:
        ConfigError: for an observation that a lone builder does not have.

    """
    if header["view"] != "single":
        return {**header, "config": {**header["config"], f"{role.value}_sees": list(sees)}}
    kind = (header["observes"] or _STATE)["id"]
    known: tuple[str, ...] = ("pov", "pose", "grid", *COMPUTED_SIGHTS)
    if kind != "silent":
        known += ("target_grid", "target_egocentric")
    if unknown := [
        name for name in sees if name not in known and name not in ("inventory", "compass", "dialog")
    ]:
        raise ConfigError(
            f"sees has {unknown[0]!r}, which this builder cannot see, expected {', '.join(known)}"
            f"{unknown_sight(unknown[0], known)}"
        )
    flags = {"render": "pov" in sees, "vector_state": "pose" in sees or "grid" in sees}
    shown = {"id": kind}
    if kind != "silent":
        shown |= {"target_in_obs": "target_grid" in sees, "target_egocentric": "target_egocentric" in sees}
    config = {**header["config"], "builder_sees": list(_sights_of(flags, sees))}
    return {**header, "config": config, "observes": shown}


def _conventions_of(observes: Mapping[str, Any], controls: dict[str, Any]) -> Conventions:
    """Return the conventions of a single-agent game, and remove them from the controls of its header."""
    compat = controls.pop("compat")
    own = SILENT_BUILDER if observes["id"] == "silent" else GRIDWORLD
    return read_options(compat, {}, own=own, known=tuple(PROFILES), preset=False)[0].conventions


def make_game(
    header: Mapping[str, Any],
    *,
    vocabulary: Any = None,
    render_mode: str | None = None,
) -> Any:
    """Make the environment of a header, not yet reset: AEC, parallel, live or a `LoneBuilder`.

    Args:
        header: a header with `GAME_KEYS`.
        vocabulary: the codec, if the recorded one was an object.
        render_mode: as for the environments.

    Raises:
        ConfigError: if the codec is missing.

    """
    settings = dict(header["config"])
    if isinstance(settings.get("vocabulary"), dict):
        wanted = settings["vocabulary"]
        if vocabulary is None:
            raise ConfigError(
                f"the game was recorded with the codec {wanted.get('name')!r}, version {wanted.get('version')!r}; "
                "pass it as vocabulary"
            )
        settings["vocabulary"] = vocabulary
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
    config = GameConfig.of(None, {**fields, "render_mode": render_mode})
    if header["view"] != "single":
        make: Any = {"aec": raw_env, "parallel": parallel_env, "live": LiveGame}[header["view"]]
        return make(config)
    shown = header["observes"] or _STATE  # None: a class of the caller or of `iglu_marl.compat`
    config = dataclasses.replace(config, builder_sees=_sights_of(shown, config.builder_sees))
    if header["recorded"]:
        config = dataclasses.replace(config, turn_steps=None, max_turns=None)
    controls = dict(header["controls"])
    conventions = _conventions_of(shown, controls)
    return LoneBuilder(
        config,
        Controls(controls.pop("name"), **controls, conventions=conventions),
        shown,
        live=not header["recorded"],
    )
