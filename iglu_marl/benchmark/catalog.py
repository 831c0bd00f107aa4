"""The levels of the benchmark as data, and `make`, which returns their environments.

Families differ in what the builder observes. Within a family, levels range from one solved in a minute to the full
game. A level's name ends in its version; any change to a level needs a new version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal

from iglu_marl.benchmark.contents import (
    AROUND,
    GROUND,
    ChangedByColor,
    Content,
    MirroredBlocks,
    PartBlocks,
    PinnedInstructions,
    PlacedBeside,
    PlacedBlocks,
    Shapes,
    ShapesBeside,
    Spawned,
    Structures,
    Turned,
)
from iglu_marl.benchmark.splits import HeldOut, SplitName, split_tasks
from iglu_marl.benchmark.strangers import GAMES, Sitting, Sittings, kind_of
from iglu_marl.core.controls import GRID_ACTIONS
from iglu_marl.core.edits import net_actions
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import Cell, index_of
from iglu_marl.core.task import Task
from iglu_marl.core.text import similar
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.envs.single import GridworldEnv
from iglu_marl.envs.vector import BuilderVectorEnv, split_options
from iglu_marl.envs.vector_game import VectorGame
from iglu_marl.envs.wrappers import align, discretize
from iglu_marl.game.config import GameConfig
from iglu_marl.tasks import TaskSource
from iglu_marl.tasks.source import FiniteSource

FAMILIES = {
    "see": "a builder that sees the target",
    "told": "a builder that gets instructions, and sees its pose and the blocks",
    "pictures": "a builder that gets instructions and sees pictures",
    "symbols": "architect and builder with symbols without a given meaning",
    "strangers": "ten games with a partner whose code or way of speaking is new",
    "team": "several architects or builders, who see or hold parts",
    "human": "a builder that gets what people wrote",
}
CONTROLS = ("muted", "scrambled", "forgetful", "blind", "unsighted", "alone", "cross-play")
"""Names of the controls of agents, see `iglu_marl.benchmark.games`."""


@dataclass(frozen=True)
class Level:
    """A level of the benchmark.

    Args:
        name: id with version, such as "see-ground-v2".
        about: one sentence on the tasks.
        content: generator of the tasks.
        held_out: rules that separate the splits.
        controls: "grid" (`GRID_ACTIONS`), or those of the game: "walking" (18 actions), "cells", ….
        sees: observation fields of the builder.
        max_steps: steps per episode.
        budget: environment steps of training.
        spare: block changes allowed in a success beyond the necessary ones; None: any number.
        seeds: number of training runs in a result, a multiple of `folds`.
        sees_target: whether the builder also observes the target.
        game: other fields of `GameConfig`.
        measure: headline measure, "success" or "f1" (of the changes).
        table: actions of the builders by number, as of `discretize`; (): those of `controls`.
        vectors: options of `align`, with which each agent of a team observes a vector and chooses a number.

    """

    name: str
    about: str
    content: Content
    held_out: tuple[HeldOut, ...]
    controls: Literal["grid", "walking", "flying", "cells"]
    sees: tuple[str, ...]
    max_steps: int
    budget: int
    spare: int | None = 0
    seeds: int = 5
    sees_target: bool = False
    game: Mapping[str, Any] = field(default_factory=dict)
    measure: Literal["success", "f1"] = "success"
    table: tuple[Any, ...] = ()
    vectors: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """First word of the name, one of `FAMILIES`."""
        return self.name.split("-")[0]

    @property
    def is_pair(self) -> bool:
        """Whether there are several agents."""
        return self.family in ("symbols", "team")

    @property
    def is_repeated(self) -> bool:
        """Whether an episode is ten games with a stranger, see `iglu_marl.benchmark.strangers`."""
        return self.family == "strangers"

    @property
    def agent_controls(self) -> tuple[str, ...]:
        """The controls that a result must have, one for each sense that the level claims; those of `CONTROLS`."""
        if self.family == "team":
            return (*(("muted",) * bool(self.game.get("architects", 1))), "alone")
        if self.is_repeated:
            return ("muted", "scrambled", "forgetful")
        without = ("blind",) if self.sees_target else ("muted", "scrambled")
        return (*without, *(("unsighted",) * ("pov" in self.sees)))

    @property
    def folds(self) -> int:
        """Number of folds of the held-out content."""
        return max(rule.folds for rule in self.held_out)

    def fold(self, seed: int) -> Level:
        """Return the level with the content that a training run of this seed holds out."""
        number = seed % self.folds
        return replace(self, held_out=tuple(replace(rule, fold=number) for rule in self.held_out))

    def tasks(self, split: SplitName) -> TaskSource:
        """Return the tasks of a split; those of strangers are the same in all, and their codes differ."""
        if self.is_repeated:
            return FiniteSource(self.content.all() or (), "the blocks of strangers")
        return split_tasks(self.content, self.held_out, split)

    def is_success(self, task: Task, completed: bool, changes: int) -> bool:
        """Whether an episode is a success: completed, with at most `spare` needless changes."""
        return completed and (
            self.spare is None or changes <= len(net_actions(task.start_grid, task.target_grid)) + self.spare
        )

    def config(self, split: SplitName) -> GameConfig:
        """Return the configuration of the two-agent game of a split."""
        usual: dict[str, Any] = {
            "tasks": self.tasks(split),
            "controls": "discrete" if self.controls == "grid" else self.controls,
            "select_and_place": self.controls == "grid",
            "chat": "tokens",
            "builder_sees": self.sees,
            "max_steps": self.max_steps,
            "max_turns": None,
            "wrong_scale": 0.02,  # small enough that an untrained builder explores placing
        }
        return GameConfig(**{**usual, **self.game})

    @property
    def digest(self) -> str:
        """Hash of all fields but the prose, 12 hexadecimal digits.

        Fields with their default values are left out, so that a new rule does not change levels without it.
        """
        usual = {one.name: {} if one.default is MISSING else one.default for one in fields(self)}
        own = {name: value for name, value in vars(self).items() if value != usual[name] and name != "about"}
        content = json.dumps(own, sort_keys=True, default=_as_json)
        return hashlib.blake2b(content.encode(), digest_size=6).hexdigest()


def _as_json(rule: Any) -> dict[str, Any]:
    """Return a content or a held-out rule by class and fields, without the number of the fold."""
    parts = {one.name: getattr(rule, one.name) for one in fields(rule) if one.repr}
    return {"class": type(rule).__name__, **parts}


# ---------------------------------------------------------------------------------------------------- environments


def make(
    level: str | Level,
    split: SplitName = "train",
    num_envs: int | None = None,
    *,
    fold: int | None = None,
    **options: Any,
) -> Any:
    """Return the environment of a level.

    | families | without `num_envs` | with `num_envs` |
    |---|---|---|
    | `see`, `told`, `pictures`, `human` (one builder) | Gymnasium environment | Gymnasium vector environment |
    | `strangers` (ten games an episode) | Gymnasium environment | Gymnasium vector environment |
    | `symbols`, `team` (several agents) | parallel environment | `VectorGame` |

    Builders with grid actions choose a number in `GRID_ACTIONS`. A single builder observes `Level.sees` (and the target
    with `sees_target`) and gets empty infos. In two-agent games, the builder's info has the `event` of its last action.
    Agents of a team observe vectors of the same length, and choose a number.

    Args:
        level: a level or its name.
        split: "train", "validation" or "test".
        num_envs: number of parallel games; None: one.
        fold: seed of the training run, which determines what is held out; None: that of `level`, by default 0.
        options: passed to the vector environment or `VectorGame`.

    Raises:
        ConfigError: if the level or the split is unknown.

    """
    level = find(level) if fold is None else find(level).fold(fold)
    if level.is_repeated:
        kind = kind_of(level.name)
        if num_envs is None:
            return Sitting(kind, split, **options)
        return Sittings(kind, split, num_envs, **options)
    if level.is_pair:
        config = level.config(split)
        env: Any = parallel_env(config) if num_envs is None else VectorGame(num_envs, config, **options)
    else:
        env = builder_env(level, split, num_envs=num_envs, **options)
    if table := GRID_ACTIONS if level.controls == "grid" else level.table:
        env = discretize(env, table=table)
    return align(env, actions="discrete", **level.vectors) if level.vectors else env


def builder_env(level: Level, split: SplitName, num_envs: int | None = None, **options: Any) -> Any:
    """Return the environment of one builder, with the game's own actions; see `make`."""
    batch, own = ({}, options) if num_envs is None else split_options(options)
    env = GridworldEnv(config=level.config(split), target_in_obs=level.sees_target, **own)
    env.hide_infos()
    return env if num_envs is None else BuilderVectorEnv(env, num_envs, **batch)


# ---------------------------------------------------------------------------------------------------------- levels

_SQUARES = (HeldOut("squares", 6),)
_FORMS = (HeldOut("forms", 5),)
_PAIRS = (HeldOut("pairs", 7),)
_GROUND = "One block anywhere on the ground, of one of 6 colours"
_FACING = "facing one of 4 directions"
_WALKING = "walking from anywhere"


def _symbols(size: int, length: int) -> dict[str, Any]:
    return {
        "vocabulary": size,
        "max_message_length": length,
        "dialog_length": length + 1,
        "architect_sees": ("target_grid",),
    }


def _cells(cells: Sequence[Cell], colors: Sequence[int]) -> tuple[Any, ...]:
    """Return a table of nothing, and each color in each cell."""
    return (None, *((*index_of(cell), color) for cell in cells for color in colors))


_NINE = tuple((x, -1, z) for x in (-1, 0, 1) for z in (-1, 0, 1))
_WEST, _EAST = (tuple((x, -1, z) for x in columns for z in (-2, -1, 1, 2)) for columns in ((-2, -1), (1, 2)))
_OWN: tuple[dict[str, int], ...] = ({"blue": 20, "yellow": 20}, {"green": 20, "orange": 20})
_HALVES = {
    "builder_0": {"blue": 20, "yellow": 20, "green": 20},
    "builder_1": {"orange": 20, "purple": 20, "red": 20},
}
_UNSEEN = ("target_mask", "target_sides")
_ONE_SYMBOL: dict[str, Any] = {"max_message_length": 1, "architects": 2, "builders": 1}
_told = partial(Level, controls="walking", sees=("grid", "pose", "inventory", "dialog"))
_pictures = partial(Level, controls="walking", sees=("pov", "compass", "inventory", "dialog"))
_team = partial(Level, held_out=(HeldOut("targets", 5),), controls="cells", budget=200_000)

_LISTED: tuple[Level, ...] = (
    # --- a builder that sees the target
    Level(
        "see-ground-v2",
        f"{_GROUND}, {_FACING}.",
        Turned(PlacedBlocks(GROUND)),
        _SQUARES,
        controls="grid",
        sees=("grid", "pose"),
        max_steps=24,
        budget=2_000_000,
        seeds=6,
        sees_target=True,
    ),
    Level(
        "see-few-v2",
        f"Structures of 3 to 6 blocks in up to 2 layers, {_WALKING}.",
        Spawned(Structures(3, 6, 2, 3, 3)),
        _FORMS,
        controls="walking",
        sees=("grid", "pose", "inventory"),
        max_steps=200,
        budget=10_000_000,
        spare=4,
        sees_target=True,
    ),
    # --- a builder that gets instructions
    _told(
        "told-ground-v2",
        f"{_GROUND}, in one sentence of 8 wordings, {_WALKING}.",
        Spawned(PlacedBlocks(GROUND, wordings=8)),
        (*_SQUARES, HeldOut("sentences", 14)),
        max_steps=70,
        budget=10_000_000,
        seeds=6,
    ),
    _told(
        "told-shapes-v2",
        f"A row, tower, wall or square, in one sentence, {_WALKING}.",
        Spawned(Shapes()),
        (HeldOut("larger", 6),),
        max_steps=200,
        budget=20_000_000,
        spare=4,
    ),
    # --- a builder that gets instructions and sees pictures
    _pictures(
        "pictures-ground-v2",
        f"One block 1 to 3 cells from one of 3 standing blocks, named by its colour in one sentence, {_WALKING}.",
        Spawned(PlacedBeside()),
        _PAIRS,
        max_steps=200,
        budget=20_000_000,
    ),
    _pictures(
        "pictures-layers-v2",
        f"One of 5 blocks in 3 layers removed and another one placed at a third, named by colour, {_WALKING}.",
        Spawned(ChangedByColor()),
        _PAIRS,
        max_steps=400,
        budget=50_000_000,
    ),
    _pictures(
        "pictures-structures-v2",
        f"The full game: 12 to 20 blocks in shapes, each given its place at one of 3 standing blocks, {_WALKING}.",
        Spawned(ShapesBeside()),
        _FORMS,
        max_steps=1000,
        budget=100_000_000,
        spare=None,
    ),
    # --- a pair with symbols
    Level(
        "symbols-two-v2",
        f"Two blocks of 3 colours in the 8 cells around the builder, {_FACING}, 252 meanings; 4 symbols of 12.",
        Turned(PlacedBlocks(AROUND, (1, 3, 6), 2)),
        (HeldOut("targets", 5),),
        controls="grid",
        sees=("grid", "pose", "dialog"),
        max_steps=16,
        budget=5_000_000,
        game=_symbols(12, 4),
    ),
    Level(
        "symbols-ground-v2",
        f"{_GROUND}, 726 meanings; 3 symbols of 12; the builder names a cell and its colour.",
        PlacedBlocks(GROUND),
        _SQUARES,
        controls="cells",
        sees=("grid", "dialog"),
        max_steps=4,
        budget=5_000_000,
        seeds=6,
        game=_symbols(12, 3),
    ),
    # --- ten games with a stranger
    *(
        Level(
            f"strangers-{kind}-v2",
            f"Ten games with {stranger}; one block in one of 4 cells, of one of 6 colours.",
            PlacedBlocks(),
            (HeldOut("codes", 4),),
            controls="cells",
            sees=(*sees, "game", "last_message", "last_block"),
            max_steps=GAMES,
            budget=5_000_000,
        )
        for kind, stranger, sees in (
            ("code", "an architect whose symbols are new", ("message",)),
            ("words", "an architect who counts sides and colours her own way, in words", ("message",)),
            ("listen", "a builder to whom each symbol means something else", ("wanted",)),
        )
    ),
    # --- teams, who observe vectors and choose numbers
    _team(
        "team-divide-v2",
        "Four blocks in 8 cells by two builders, who hold two colours each and do not see what stands.",
        PartBlocks(AROUND, ((1, 2), (1, 2), (3, 4), (3, 4))),
        sees=("compass",),
        max_steps=2,
        game={
            "architects": 0,
            "builders": 2,
            "sees": {"builder_0": "all", "builder_1": "all"},
            "inventories": {"builder_0": _OWN[0], "builder_1": _OWN[1]},
        },
        table=_cells(AROUND, (1, 2, 3, 4)),
        vectors={"drop": ("compass", "others", *_UNSEEN), "crop": (1, 1)},
    ),
    _team(
        "team-relay-v2",
        "A block that is missing; one architect sees the target, another one talks to the builder, one symbol a step.",
        PartBlocks(_NINE, ((6,), (1, 2, 3), (1, 2, 3)), standing=2),
        sees=("grid", "dialog"),
        max_steps=3,
        game={
            **_ONE_SYMBOL,
            "vocabulary": 9,
            "dialog_length": 2,
            "sees": {"architect_1": "none"},
            "hearers": {"architect_0": "architect_1"},
            "architect_sees": ("target_grid", "grid", "dialog"),
        },
        table=_cells(_NINE, (6,)),
        vectors={"drop": _UNSEEN, "crop": (1, 1), "words": "one-hot"},
    ),
    _team(
        "team-sides-v2",
        "A block that is missing; one architect sees from the north, another one from the west; one symbol of each.",
        PartBlocks(_NINE, ((1, 6), (1, 2, 3, 4, 5, 6)), standing=1, apart=True),
        sees=("dialog",),
        max_steps=2,
        game={
            **_ONE_SYMBOL,
            "vocabulary": 6,
            "dialog_length": 4,
            "sees": {"architect_0": "side:north", "architect_1": "side:west"},
            "hearers": {"architect_0": "builder_0", "architect_1": "builder_0"},
            "architect_sees": ("target_grid", "grid"),
        },
        table=_cells(_NINE, (1, 6)),
        vectors={"drop": ("target_mask", "target_grid"), "crop": (1, 1), "words": "one-hot"},
    ),
    _team(
        "team-assist-v2",
        "A block and its mirror image are missing; one builder sees the target, the other one only what stands.",
        MirroredBlocks(_WEST, ((1, 4), (2, 5), (3, 6))),
        sees=("grid",),
        max_steps=2,
        game={"architects": 0, "builders": 2, "sees": {"builder_0": "all"}, "inventories": _HALVES},
        table=(*_cells(_WEST, (1, 2, 3)), *_cells(_EAST, (4, 5, 6))[1:]),
        vectors={"drop": ("others", *_UNSEEN), "crop": (1, 2)},
    ),
    # --- what people wrote
    _told(
        "human-turns-v2",
        "Changes that people asked for in the IGLU single-turn corpus, walking.",
        PinnedInstructions("645e5ee674fd"),
        (HeldOut("corpora"),),
        max_steps=1000,
        budget=20_000_000,
        spare=None,
        game={"chat": "text"},
        measure="f1",
    ),
)

_BY_NAME = {level.name: level for level in _LISTED}
RELEASES = {"-v0": "0.2.0", "-v1": "0.3.0"}
"""By end of a level's name, the release that has the levels of this former version and reads their results."""


def levels(family: str | None = None) -> tuple[Level, ...]:
    """Return all levels for learners, or those of a family, from the easiest to the full game.

    Raises `ConfigError` if `family` is unknown.
    """
    if family is not None and family not in FAMILIES:
        raise ConfigError(f"family is {family!r}, expected one of {', '.join(FAMILIES)}")
    return tuple(level for level in _LISTED if family in (None, level.family))


def find(level: str | Level) -> Level:
    """Return a level by its name. Raises `ConfigError` if there is no such level."""
    if isinstance(level, Level):
        return level
    if level not in _BY_NAME:
        hint = similar(level, _BY_NAME)
        if (release := RELEASES.get(str(level)[-3:])) is not None:
            hint = f" (iglu_marl {release} has the levels of version {str(level)[-1]})"
        raise ConfigError(f"level is {level!r}{hint}, expected one of {', '.join(_BY_NAME)}")
    return _BY_NAME[level]
