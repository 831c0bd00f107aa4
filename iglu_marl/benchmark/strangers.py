"""Repeated games with a stranger: ten games in a row with a partner whose code is new.

An episode is a sitting of ten games. In each, one block of six colors is to be placed in one of four cells around the
builder. The code of the partner is drawn for the sitting, so that only what was seen in earlier games of the same
sitting gives the symbols a meaning.

In `code` and `words` the stranger is an architect, in `listen` a builder, see docs/benchmark.md.
After each game the agent sees its message with the block that was meant (`listen`: with the block that was built).
Codes are pairs of a code of cells and one of colors. Pairs whose numbers add up to 0 modulo 4 are those of the test, 1
those of the validation, 2 and 3 those of the training; each code of cells or colors is in all splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations, product
from typing import Any, Literal, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from iglu_marl.benchmark.contents import COLORS, NEAR
from iglu_marl.benchmark.splits import SplitName
from iglu_marl.core.errors import ActionError, ConfigError
from iglu_marl.core.task import Task
from iglu_marl.envs.batch_observations import rows

Array = npt.NDArray[Any]
Kind = Literal["code", "words", "listen"]

GAMES = 10
"""Games of a sitting."""
CONTROLS = ("muted", "scrambled", "forgetful")
CHANCE = 1 / 24
"""Success rate of the best agent without memory, in each game."""
TASKS = [Task("", [(*cell, color)], invariant=False) for cell in NEAR for color in COLORS]
"""All blocks: those of place p and color c at 6 p + c, from 0 on."""

_RESIDUES: dict[SplitName, tuple[int, ...]] = {"test": (0,), "validation": (1,), "train": (2, 3)}
_CIRCLE = (5, 3, 1, 2, 0, 4)  # red, orange, yellow, green, blue, purple, as color - 1
_SIDES = (
    ("north", "east", "south", "west"),
    ("front", "right", "back", "left"),
    ("twelve", "three", "six", "nine"),
)
_HUES = (
    ("red", "orange", "yellow", "green", "blue", "purple"),
    ("blood", "amber", "lemon", "grass", "sky", "plum"),
    ("mars", "sun", "desert", "forest", "sea", "night"),
)
_WORDINGS = ("put COLOR at PLACE", "PLACE gets COLOR", "a COLOR block PLACE please", "now PLACE COLOR")


# ------------------------------------------------------------------------------------------------------------- codes


class Language(NamedTuple):
    """All codes that a stranger of a kind may have.

    places: the symbol of each place, int [codes, 4]. colors: that of each color, int [codes, 6]. place_tokens,
    color_tokens: the token of each symbol, int [styles, symbols]. wordings: tokens of a message, int [wordings,
    length]; -1 stands for the place, -2 for the color. vocabulary: number of tokens.
    """

    places: Array
    colors: Array
    place_tokens: Array
    color_tokens: Array
    wordings: Array
    vocabulary: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of codes of places and colors, styles of both, and wordings: the parts of a stranger's code."""
        tables = (self.places, self.colors, self.place_tokens, self.color_tokens, self.wordings)
        return tuple(map(len, tables))

    def say(self, codes: Array, blocks: Array) -> Array:
        """Return the messages [n, length] about blocks, (place, color) from 0 on."""
        place, color, place_style, color_style, wording = codes.T
        place_symbols, color_symbols = self.places[place, blocks[:, 0]], self.colors[color, blocks[:, 1]]
        said = self.wordings[wording]
        said = np.where(said == -1, self.place_tokens[place_style, place_symbols][:, None], said)
        return np.where(said == -2, self.color_tokens[color_style, color_symbols][:, None], said)

    def symbols(self, messages: Array) -> Array:
        """Return the symbols of place and color in messages, int [n, 2]; -1: none."""
        found = []
        for tokens in (self.place_tokens, self.color_tokens):
            symbol_of = np.full(self.vocabulary + 1, -1)
            symbol_of[tokens] = np.arange(tokens.shape[1])
            found.append(symbol_of[messages].max(axis=1))
        return np.stack(found, axis=1)

    def read(self, codes: Array, messages: Array) -> Array:
        """Return the blocks that messages mean in these codes, from 0 on; -1: not understood."""
        symbols = self.symbols(messages)
        tables = self.places[codes[:, 0]], self.colors[codes[:, 1]]
        means = [table == own[:, None] for table, own in zip(tables, symbols.T, strict=True)]
        return np.stack([np.where(part.any(axis=1), part.argmax(axis=1), -1) for part in means], axis=1)


@lru_cache
def language(kind: Kind) -> Language:
    """Return the codes of a kind of level. Raises `ConfigError` for an unknown kind."""
    if kind == "words":
        return _words()
    if kind not in ("code", "listen"):
        raise ConfigError(f"kind is {kind!r}, expected code, words or listen")
    most_places, most_colors = (8, 8) if kind == "code" else (4, 6)
    places, colors = (
        np.array([*permutations(range(most_places), 4)]),
        np.array([*permutations(range(most_colors), 6)]),
    )
    tokens = np.arange(1, most_places + most_colors + 1)[None]
    wordings = np.array([[-1, -2]])
    return Language(places, colors, tokens[:, :most_places], tokens[:, most_places:], wordings, tokens.size)


def _words() -> Language:
    texts = (*_WORDINGS, *map(" ".join, (*_SIDES, *_HUES)))
    words = sorted({word for text in texts for word in text.split()} - {"PLACE", "COLOR"})
    token = {word: number for number, word in enumerate(words, start=1)} | {"PLACE": -1, "COLOR": -2}
    wordings = np.array([[*(token[word] for word in text.split()), 0, 0, 0][:5] for text in _WORDINGS])
    sides, hues = (np.array([[token[word] for word in own] for own in lists]) for lists in (_SIDES, _HUES))
    colors = np.zeros((12, 6), np.int64)
    colors[:, _CIRCLE] = _counted(6)
    return Language(_counted(4), colors, sides, hues, wordings, len(words))


def kind_of(level: str) -> Kind:
    """Return the kind of a level of the family, by its name."""
    return level.split("-")[1]  # type: ignore[return-value]


def _counted(size: int) -> Array:
    """Return all ways to count from 0 to `size` - 1 around a circle: any start, both directions."""
    ways = [(way * np.arange(size) + start) % size for start, way in product(range(size), (1, -1))]
    return np.array(ways)


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


# ------------------------------------------------------------------------------------------------------ ideal agents


def ideal_curve(kind: Kind, games: int = GAMES) -> list[float]:
    """Return the exact success rate of an ideal agent in each game of a sitting.

    It knows all codes of the kind, which are equally probable, and remembers all games. The listener chooses the most
    probable meaning of each symbol; the speaker maximises the number of successes in the sitting.
    """
    if kind == "listen":
        return list(_best_plan(games, 0, 0))
    own = language(kind)
    return [
        place * color for place, color in zip(*(_part_curve(part, games) for part in own[:2]), strict=True)
    ]


def _part_curve(table: Array, games: int) -> list[float]:
    """Return how often the meaning of a symbol is found, by game, with a random choice among the most probable.

    table: the symbol of each meaning, int [codes, meanings]. All codes are alike up to the names of the meanings, so
    that the first one stands for all. Chances are by the set of meanings that were seen.
    """
    own, meanings = table[0], table.shape[1]
    right = np.zeros(2**meanings)
    for seen in range(2**meanings):
        met = np.array([bool(seen >> meaning & 1) for meaning in range(meanings)])
        likely = table[(table[:, met] == own[met]).all(axis=1)]
        for meaning in range(meanings):
            counts = (likely == own[meaning]).sum(axis=0)
            best = counts == counts.max()
            right[seen] += best[meaning] / best.sum() / meanings
    curve, chances = [], np.eye(2**meanings)[0]
    for _ in range(games):
        curve.append(float(chances @ right))
        later = np.zeros_like(chances)
        for meaning in range(meanings):
            np.add.at(later, np.arange(2**meanings) | 1 << meaning, chances / meanings)
        chances = later
    return curve


@lru_cache
def _best_plan(games: int, places: int, colors: int) -> tuple[float, ...]:
    """Return the success rate of each of the next games under the best plan of a speaker.

    places, colors: how many symbols it knows. In each part of a message it can say a known symbol, or try another one,
    which shows the meaning of that one; the meaning of the last symbol follows from the others.
    """
    if not games:
        return ()
    curve = np.zeros(games)
    for is_known in product((True, False), repeat=2):  # whether it knows the symbols of the block
        parts = list(zip((places, colors), (4, 6), is_known, strict=True))
        weight = np.prod([count / size if known else 1 - count / size for count, size, known in parts])
        plans = []
        for tries in product((False, True), repeat=2) if weight else ():
            chance, later = 1.0, []
            for (count, size, known), is_try in zip(parts, tries, strict=True):
                chance *= (not known) / (size - count or 1) if is_try else known
                later.append(size if count + is_try >= size - 1 else count + is_try)
            plans.append((chance, *_best_plan(games - 1, *later)))
        if plans:
            curve += weight * np.array(max(plans, key=lambda plan: round(sum(plan), 9)))
    return tuple(curve.tolist())
