"""Repeated games with a stranger: ten games in a row with a partner whose code is new.

An episode is a sitting of ten games. In each, one block of six colors is to be placed in one of four cells around the
builder. The code of the partner is drawn for the sitting, so that only what was seen in earlier games of the same
sitting gives the symbols a meaning.

| kind | the agent | the stranger |
|---|---|---|
| `code` | builder: chooses a cell and a color | says a symbol of 8 for the cell and one of 8 for the color |
| `words` | the same | speaks in words: counts sides and colors from her own, in her own direction and wording |
| `listen` | architect: says a symbol of 4 and one of 6 | builds what these mean to him |

After each game the agent sees its message with the block that was meant (`listen`: with the block that was built).
Codes are pairs of a code of cells and one of colors. Pairs whose numbers add up to 0 modulo 4 are those of the test, 1
those of the validation, 2 and 3 those of the training; each code of cells or colors is in all splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from iglu_marl.benchmark.codes import Kind, language
from iglu_marl.benchmark.splits import COLORS, NEAR, SplitName
from iglu_marl.core.errors import ActionError, ConfigError
from iglu_marl.core.task import Task
from iglu_marl.envs.batch_observations import rows

Array = npt.NDArray[Any]

GAMES = 10
"""Games of a sitting."""
CONTROLS = ("muted", "scrambled", "forgetful")
CHANCE = 1 / 24
"""Success rate of the best agent without memory, in each game."""
TASKS = [Task("", [(*cell, color)], invariant=False) for cell in NEAR for color in COLORS]
"""All blocks: those of place p and color c at 6 p + c, from 0 on."""

_RESIDUES: dict[SplitName, tuple[int, ...]] = {"test": (0,), "validation": (1,), "train": (2, 3)}


# ----------------------------------------------------------------------------------------------------- environments


class Sittings(VectorEnv[dict[str, Array], Array, Array]):
    """Many sittings side by side: a Gymnasium vector environment with an episode of ten steps, one for each game.

    | observation | |
    |---|---|
    | `message` (not in `listen`) | tokens of the architect; 0: padding |
    | `wanted` (only in `listen`) | place 0..3 (north, east, south, west of the builder) and color 0..5 |
    | `game` | number of the game, 0..9 |
    | `last_message` | tokens of the last game's message; 0 before the second game |
    | `last_block` | place 1..4 and color 1..6 that were meant (`listen`: built) in the last game; 0: none |

    Actions are a place 0..3 and a color 0..5 (`listen`: their symbols, 0..3 and 0..5). The reward of a game is 1 if the
    block is right, else 0. The step after the end of the sittings ignores the actions and begins the next
    (`AutoresetMode.NEXT_STEP`).

    kind: "code", "words" or "listen". split: of the codes. num_envs: number of sittings. control: "", or one of
    `CONTROLS`: messages are empty, are about another block, or blocks are not shown after the games.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(self, kind: Kind, split: SplitName = "train", num_envs: int = 1, control: str = "") -> None:
        if control not in ("", *CONTROLS):
            raise ConfigError(f"control is {control!r}, expected one of {', '.join(CONTROLS)}, or ''")
        if split not in _RESIDUES:
            raise ConfigError(f"split is {split!r}, expected one of {', '.join(_RESIDUES)}")
        self.kind, self.split, self.control, self.language = kind, split, control, language(kind)
        self.listens, self.num_envs = kind == "listen", num_envs
        message = spaces.MultiDiscrete([self.language.vocabulary + 1] * self.language.wordings.shape[1])
        now = {"wanted": spaces.MultiDiscrete([4, 6])} if self.listens else {"message": message}
        last = {"last_message": message, "last_block": spaces.MultiDiscrete([5, 7])}
        self.single_observation_space = spaces.Dict({**now, "game": spaces.Discrete(GAMES), **last})
        self.single_action_space = spaces.MultiDiscrete([4, 6])
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs, self._block_rngs = ([np.random.default_rng() for _ in range(num_envs)] for _ in range(2))

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Any = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Begin a sitting with a new stranger in each world; s seeds world i as s + i seeds a single one."""
        if seed is not None:
            seeds = [seed + world for world in range(self.num_envs)] if isinstance(seed, int) else list(seed)
            self._rngs = [np.random.default_rng([number, GAMES]) for number in seeds]
            self._block_rngs = [np.random.default_rng(number) for number in seeds]
        self.codes = _drawn(self._rngs, np.array(self.language.sizes), _RESIDUES[self.split])
        self.number = 0
        widths = (self.language.wordings.shape[1], 2)
        self._last = [np.zeros((self.num_envs, width), np.int64) for width in widths]
        self._begin()
        return self._observed(), {}

    def _begin(self) -> None:
        """Begin the next game; the architect speaks at once, if she is the stranger."""
        numbers = [rng.integers(len(TASKS)) for rng in self._block_rngs]
        self.wanted = self._shown = np.stack(np.divmod(numbers, len(COLORS)), axis=1)
        if self.control == "scrambled":
            self._shown = np.array([rng.integers([4, 6]) for rng in self._rngs])
        self.heard = np.zeros_like(self._last[0])
        if not self.listens and self.control != "muted":
            self.heard = self.language.say(self.codes, self._shown)

    def step(self, actions: Array) -> tuple[dict[str, Array], Array, Array, Array, dict[str, Any]]:
        """Play a game of each sitting, and begin the next one. The last game of a sitting ends the episode."""
        nobody = np.zeros(self.num_envs, np.bool_)
        if self.number == GAMES:
            return self.reset()[0], np.zeros(self.num_envs), nobody, nobody.copy(), {}
        blocks = np.asarray(actions).astype(np.int64)
        if not self.action_space.contains(blocks):
            raise ActionError(
                f"actions are {actions!r:.80}, expected int [{self.num_envs}, 2] in 0..3 and 0..5"
            )
        message, meant = self.heard, self.wanted
        if self.listens:
            tokens = self.language.place_tokens[0][blocks[:, 0]], self.language.color_tokens[0][blocks[:, 1]]
            message = np.stack(tokens, axis=1) * (self.control != "muted")
            blocks = meant = self.language.read(self.codes, message)
        self.changes: Array = np.asarray((blocks >= 0).all(axis=1), np.int64)
        rewards = (blocks == self.wanted).all(axis=1).astype(np.float64)
        is_shown = (meant >= 0).all(axis=1, keepdims=True) & (self.control != "forgetful")
        self._last = [message, np.where(is_shown, meant + 1, 0)]
        self.number += 1
        over = self.number == GAMES
        if not over:
            self._begin()
        return self._observed(), rewards, np.full(self.num_envs, over), nobody, {}

    def _observed(self) -> dict[str, Array]:
        now = {"wanted": self._shown} if self.listens else {"message": self.heard}
        number = np.full(self.num_envs, min(self.number, GAMES - 1))
        seen = {**now, "game": number, "last_message": self._last[0], "last_block": self._last[1]}
        return {key: value.copy() for key, value in seen.items()}


def _drawn(rngs: Sequence[np.random.Generator], sizes: Array, residues: tuple[int, ...]) -> Array:
    """Return a code of each generator, whose numbers of places and colors are those of a split."""
    chances = np.array([rng.random(len(sizes) + 1) for rng in rngs])
    codes = (chances[:, :-1] * sizes).astype(np.int64)
    residue = np.array(residues)[(chances[:, -1] * len(residues)).astype(np.int64)]
    codes[:, 1] -= (codes[:, 0] + codes[:, 1] - residue) % 4  # there is a multiple of 4 of these
    codes[:, 1] %= sizes[1]
    return codes


class Sitting(gymnasium.Env[dict[str, Any], Array]):
    """One sitting, a Gymnasium environment. Arguments and spaces are those of `Sittings`.

    observation: the last one.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(self, kind: Kind, split: SplitName = "train", control: str = "") -> None:
        self.sittings = Sittings(kind, split, 1, control)
        self.observation_space = self.sittings.single_observation_space
        self.action_space = self.sittings.single_action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin a sitting."""
        super().reset(seed=seed)
        seen, infos = self.sittings.reset(seed=seed)
        self.observation = rows(seen, 0)
        return self.observation, infos

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Play a game."""
        seen, rewards, over, _, infos = self.sittings.step(np.asarray(action)[None])
        self.observation = rows(seen, 0)
        return self.observation, float(rewards[0]), bool(over[0]), False, infos


def tasks_of(sittings: int) -> list[Task]:
    """Return the tasks of all games of the first sittings."""
    rngs = map(np.random.default_rng, range(sittings))
    return [TASKS[rng.integers(len(TASKS))] for rng in rngs for _ in range(GAMES)]
