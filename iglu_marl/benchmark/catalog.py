"""The levels of the benchmark as data, and `make`, which returns their environments.

Families differ in what the builder observes. Within a family, levels range from one solved in a minute to the full
game. A level's name ends in its version; any change to a level needs a new version.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from iglu_marl.benchmark.splits import (
    AROUND,
    GROUND,
    Changes,
    Content,
    HeldOut,
    PinnedInstructions,
    PlacedBlocks,
    Shapes,
    Spawned,
    SplitName,
    Structures,
    Turned,
    split_tasks,
)
from iglu_marl.core.controls import GRID_ACTIONS
from iglu_marl.core.dialogue import Role
from iglu_marl.core.edits import net_actions
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.task import Task
from iglu_marl.core.text import similar
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.envs.single import GridworldEnv
from iglu_marl.envs.vector import BuilderVectorEnv, split_options
from iglu_marl.envs.vector_game import VectorGame
from iglu_marl.envs.wrappers import discretize
from iglu_marl.evaluation.selection import factory
from iglu_marl.game.config import GameConfig
from iglu_marl.game.effects import Kind
from iglu_marl.tasks import TaskSource

Family = Literal["see", "told", "pictures", "symbols", "words", "partners", "team"]
FAMILIES: dict[Family, str] = {
    "see": "a builder that sees the target",
    "told": "a builder that gets instructions, and sees its pose and the blocks",
    "pictures": "a builder that gets instructions and sees pictures",
    "symbols": "architect and builder with symbols without a given meaning",
    "words": "architect and builder with words, where the builder may ask",
    "partners": "architect and builder that never trained together",
    "team": "several architects or builders, who see or hold parts",
}
PAIRS: tuple[Family, ...] = ("symbols", "words", "partners", "team")
CONTROLS = ("muted", "scrambled", "blind", "unsighted", "alone")
"""Names of the controls of agents, see `iglu_marl.benchmark.controls`."""


@dataclass(frozen=True)
class Level:
    """A level of the benchmark.

    Args:
        name: id with version, such as "see-place-v1".
        about: one sentence on the tasks.
        content: generator of the tasks.
        held_out: rules that separate the splits.
        controls: "grid" (`GRID_ACTIONS`), "walking" (18 actions) or "flying".
        sees: observation fields of the builder.
        max_steps: steps per episode.
        budget: environment steps of training.
        spare: block changes allowed in a success beyond the necessary ones; None: any number.
        seeds: number of training runs in a result, a multiple of `folds`.
        sees_target: whether the builder also observes the target.
        architects: names of the scripted architects by split, if any.
        game: other fields of `GameConfig`.

    """

    name: str
    about: str
    content: Content
    held_out: tuple[HeldOut, ...]
    controls: Literal["grid", "walking", "flying"]
    sees: tuple[str, ...]
    max_steps: int
    budget: int
    spare: int | None = 0
    seeds: int = 5
    sees_target: bool = False
    architects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    game: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> Family:
        """First word of the name."""
        return self.name.split("-")[0]  # type: ignore[return-value]

    @property
    def is_pair(self) -> bool:
        """Whether there are several agents."""
        return self.family in PAIRS

    @property
    def is_team(self) -> bool:
        """Whether a role has several agents, or none."""
        return self.family == "team"

    @property
    def is_live(self) -> bool:
        """Whether a scripted architect speaks inside a single-builder environment."""
        return bool(self.architects) and not self.is_pair

    @property
    def agent_controls(self) -> tuple[str, ...]:
        """The controls that a result must have, one for each sense that the level claims; those of `CONTROLS`."""
        if self.is_team:
            return ("muted", "alone")
        by_message = ("muted",) if self.is_live else ("muted", "scrambled")
        return (*(("blind",) if self.sees_target else by_message), *(("unsighted",) * ("pov" in self.sees)))

    @property
    def folds(self) -> int:
        """Number of folds of the held-out content.

        1 on levels where learned agents of different runs meet: what is held out of one run must be held out of all.
        """
        learned_partners = self.family == "partners" and not self.architects
        return 1 if learned_partners else max(rule.folds for rule in self.held_out)

    def fold(self, seed: int) -> Level:
        """Return the level with the content that a training run of this seed holds out."""
        number = seed % self.folds
        return replace(self, held_out=tuple(replace(rule, fold=number) for rule in self.held_out))

    def tasks(self, split: SplitName) -> TaskSource:
        """Return the tasks of a split."""
        return split_tasks(self.content, self.held_out, split)

    def is_success(self, task: Task, completed: bool, changes: int) -> bool:
        """Whether an episode is a success: the target was completed within `allowed_changes`."""
        return completed and changes <= self.allowed_changes(task)

    def allowed_changes(self, task: Task) -> float:
        """Return the largest number of block changes in a success; inf: any number."""
        if self.spare is None:
            return math.inf
        return len(net_actions(task.start_grid, task.target_grid)) + self.spare

    def config(self, split: SplitName, **fields: Any) -> GameConfig:
        """Return the configuration of the two-agent game of a split."""
        controls = "discrete" if self.controls == "grid" else self.controls
        chosen: dict[str, Any] = {
            "tasks": self.tasks(split),
            "controls": controls,
            "select_and_place": self.controls == "grid",
            "chat": "tokens",
            "builder_sees": self.sees,
            "max_steps": self.max_steps,
            "max_turns": None,
            "wrong_scale": 0.02,  # small enough that an untrained builder explores placing
        }
        return GameConfig(**{**chosen, **self.game, **fields})

    @property
    def digest(self) -> str:
        """Hash of all fields, 12 hexadecimal digits."""
        content = "Rung" + repr(self).removeprefix("Level")  # the class's name when the digests were written
        return hashlib.blake2b(content.encode(), digest_size=6).hexdigest()


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
    | `see`, `told`, `pictures` (one builder) | Gymnasium environment | Gymnasium vector environment |
    | `symbols`, `words`, `partners`, `team` (several agents) | parallel environment | `VectorGame` |

    If a scripted architect speaks during a single-builder episode, each environment has its own. Builders with grid
    actions choose a number in `GRID_ACTIONS`. A single builder observes `Level.sees` (and the target with
    `sees_target`) and gets empty infos. In two-agent games, the builder's info has the `event` of its last action.

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
    if level.is_pair:
        config = level.config(split)
        env: Any = parallel_env(config) if num_envs is None else VectorGame(num_envs, config, **options)
    else:
        env = builder_env(level, split, num_envs=num_envs, **options)
    return discretize(env, table=GRID_ACTIONS) if level.controls == "grid" else env


def builder_env(
    level: Level,
    split: SplitName,
    *,
    num_envs: int | None = None,
    sees: tuple[str, ...] | None = None,
    alone: bool = False,
    fields: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Return the environment of one builder, with the game's own actions.

    level: a level. split: name of the split. num_envs: number of parallel games; None: one. sees: replaces the level's
    observation fields; may hold "target". alone: whether to leave out the level's scripted architect. fields: fields
    of `GameConfig` that replace the level's. options: passed to the environment.
    """
    shown = (*level.sees, *(("target",) * level.sees_target)) if sees is None else sees
    # Players without sights get the compass, and ignore it.
    seen = tuple(name for name in dict.fromkeys(shown) if name != "target") or ("compass",)
    fields = {"builder_sees": seen, **(fields or {})}
    chosen: dict[str, Any] = {"target_in_obs": "target" in shown}
    batch, own = ({}, options) if num_envs is None else split_options(options)
    kind: Kind = "single"
    if level.is_live and not alone:
        speaker = partial(
            factory(level.architects[split][0], Role.ARCHITECT),
            parallel_env(level.config(split)),
        )
        chosen["architect"] = speaker()
        kind = "instructed"
        batch["make_architect"] = speaker
    env = GridworldEnv(config=level.config(split, **fields).for_view(kind), **chosen, **own)
    env.hide_infos()
    return env if num_envs is None else BuilderVectorEnv(env, num_envs, **batch)


# ---------------------------------------------------------------------------------------------------------- levels

_STATE = ("grid", "pose", "inventory", "dialog")
_PICTURES = ("pov", "compass", "inventory", "dialog")
_SQUARES = (HeldOut("squares", 6),)
_FORMS = (HeldOut("forms", 5),)
_TALK = {"builder_can_ask": True}
_SCRIPTED = {"train": ("scripted",), "validation": ("scripted",), "test": ("scripted",)}
_MET = {
    "train": ("precise", "talkative"),
    "validation": ("scripted",),
    "test": ("terse", "vague", "mistaken"),
}
_HALVES = {"architect_0": "half:north", "architect_1": "half:south"}
_SIDES = {"architect_0": "side:west", "architect_1": "side:north", "architect_2": "side:east"}
_PLACE = "One block in one of the 4 cells around the builder, of one of 6 colours"
_FACING = ", facing one of 4 directions"
_TURNED = f"{_PLACE}{_FACING}"
_TWO = f"Two blocks of 3 colours in the 8 cells around the builder{_FACING}"
_ANYWHERE = "One block anywhere on the ground, of one of 6 colours"
_WHOLE = "Structures of 12 to 20 blocks in up to 4 layers"


def _symbols(size: int, length: int) -> dict[str, Any]:
    return {
        "vocabulary": size,
        "max_message_length": length,
        "dialog_length": length + 1,
        "architect_sees": ("target_grid",),
    }


def _team(architects: int, builders: int, **options: Any) -> dict[str, Any]:
    talk = {"chat": "text", "builder_can_ask": True}
    return {**talk, "architects": architects, "builders": builders, **options}


_LISTED: tuple[Level, ...] = (
    # --- a builder that sees the target
    Level(
        "see-place-v1", f"{_PLACE}.", PlacedBlocks(), _SQUARES, "grid", ("grid", "pose"), 6, 300_000,
        sees_target=True, seeds=6,
    ),
    Level(
        "see-ground-v1", f"{_ANYWHERE}.", PlacedBlocks(GROUND), _SQUARES, "grid", ("grid", "pose"), 24, 2_000_000,
        sees_target=True, seeds=6,
    ),
    Level(
        "see-few-v1", "Structures of 3 to 6 blocks in up to 2 layers, walking.", Structures(3, 6, 2, 3, 3), _FORMS,
        "walking", ("grid", "pose", "inventory"), 400, 10_000_000, spare=4, sees_target=True,
    ),
    Level(
        "see-structures-v1", f"{_WHOLE}, walking.", Structures(), _FORMS, "walking",
        ("grid", "pose", "inventory"), 3000, 50_000_000, spare=None, sees_target=True,
    ),
    # --- a builder that gets instructions
    Level(
        "told-place-v1", f"{_TURNED}, told in one of 4 wordings.", Turned(PlacedBlocks(wordings=4)), _SQUARES, "grid",
        _STATE, 6, 500_000, seeds=6,
    ),
    Level(
        "told-ground-v1", f"{_ANYWHERE}, told in one of 8 wordings, walking.", PlacedBlocks(GROUND, wordings=8),
        (*_SQUARES, HeldOut("sentences", 14)), "walking", _STATE, 120, 10_000_000, seeds=6,
    ),
    Level(
        "told-shapes-v1", "A row, tower, wall or square, told in one sentence, walking.", Shapes(),
        (HeldOut("larger", 6),), "walking", _STATE, 600, 20_000_000, spare=4,
    ),
    Level(
        "told-structures-v1", f"{_WHOLE}, told block by block, walking.", Structures(), _FORMS, "walking", _STATE,
        5000, 50_000_000, spare=None, architects=_SCRIPTED,
    ),
    Level(
        "told-human-v1", "Changes that people asked for in the IGLU single-turn corpus, walking.",
        PinnedInstructions("645e5ee674fd"), (HeldOut("corpora"),), "walking", _STATE, 1000, 20_000_000, spare=None,
        game={"chat": "text"},
    ),
    # --- a builder that gets instructions and sees pictures
    Level(
        "pictures-place-v1", f"{_TURNED}, told in one of 4 wordings.", Turned(PlacedBlocks(wordings=4)), _SQUARES,
        "grid", _PICTURES, 6, 500_000, game={"pov_size": (32, 32)}, seeds=6,
    ),
    Level(
        "pictures-ground-v1", f"{_ANYWHERE}, told in one of 8 wordings, walking from anywhere.",
        Spawned(PlacedBlocks(GROUND, wordings=8)), (*_SQUARES, HeldOut("poses", 0.25)), "walking", _PICTURES, 150,
        20_000_000, seeds=6,
    ),
    Level(
        "pictures-layers-v1",
        "A block of the 3 lowest layers removed and another one placed, among 6, walking from anywhere.",
        Spawned(Changes()), (*_SQUARES, HeldOut("poses", 0.25)), "walking", _PICTURES, 400, 50_000_000, seeds=6,
    ),
    Level(
        "pictures-structures-v1", f"{_WHOLE}, told block by block, walking.", Structures(), _FORMS, "walking",
        _PICTURES, 5000, 100_000_000, spare=None, architects=_SCRIPTED,
    ),
    # --- a pair with symbols
    Level(
        "symbols-place-v1", f"{_TURNED}; 2 symbols of 8.", Turned(PlacedBlocks()), _SQUARES, "grid",
        ("grid", "pose", "dialog"), 6, 500_000, game=_symbols(8, 2), seeds=6,
    ),
    Level(
        "symbols-two-v1", f"{_TWO}, 252 meanings; 4 symbols of 12.", Turned(PlacedBlocks(AROUND, (1, 3, 6), 2)),
        (HeldOut("targets", 5),), "grid", ("grid", "pose", "dialog"), 16, 5_000_000, game=_symbols(12, 4),
    ),
    Level(
        "symbols-walk-v1", f"{_TWO}, walking; 4 symbols of 12.", Turned(PlacedBlocks(AROUND, (1, 3, 6), 2)),
        (HeldOut("targets", 5),), "walking", ("grid", "pose", "dialog"), 160, 20_000_000, game=_symbols(12, 4),
    ),
    Level(
        "symbols-structures-v1", f"{_WHOLE}, walking, pictures; messages of 8 symbols of 32.", Structures(), _FORMS,
        "walking", _PICTURES, 3000, 100_000_000, spare=None,
        game={**_symbols(32, 8), "dialog_length": 64, "architect_sees": ("target_grid", "grid", "pose", "dialog")},
    ),
    # --- a pair with words
    Level(
        "words-place-v1", f"{_TURNED}.", Turned(PlacedBlocks()), _SQUARES, "grid", _STATE, 12, 1_000_000, game=_TALK,
        seeds=6,
    ),
    Level(
        "words-ground-v1", f"{_ANYWHERE}, walking.", PlacedBlocks(GROUND), _SQUARES, "walking", _STATE, 160, 20_000_000,
        game=_TALK, seeds=6,
    ),
    Level(
        "words-few-v1", "Structures of 3 to 6 blocks in up to 2 layers, walking.", Structures(3, 6, 2, 3, 3), _FORMS,
        "walking", _STATE, 800, 50_000_000, spare=4, game=_TALK,
    ),
    Level(
        "words-structures-v1", f"{_WHOLE}, walking, pictures.", Structures(), _FORMS, "walking", _PICTURES, 5000,
        100_000_000, spare=None, game=_TALK,
    ),
    # --- partners that never trained together
    Level(
        "partners-place-v1", f"{_TURNED}; 2 symbols of 8; architects and builders of different runs.",
        Turned(PlacedBlocks()), _SQUARES, "grid", ("grid", "pose", "dialog"), 6, 500_000, game=_symbols(8, 2), seeds=6,
    ),
    Level(
        "partners-ground-v1", f"{_ANYWHERE}, walking; other scripted architects in the test than in training.",
        PlacedBlocks(GROUND), _SQUARES, "walking", _STATE, 160, 20_000_000, game=_TALK, architects=_MET, seeds=6,
    ),
    Level(
        "partners-structures-v1",
        f"{_WHOLE}, walking, pictures; other scripted architects in the test than in training.", Structures(),
        _FORMS, "walking", _PICTURES, 5000, 100_000_000, spare=None, game=_TALK, architects=_MET,
    ),
    # --- teams
    Level(
        "team-assist-v1", f"{_WHOLE}, walking; a builder who sees the target, one who does not, and little time.",
        Structures(), _FORMS, "walking", _STATE, 135, 50_000_000, spare=None,
        game=_team(0, 2, sees={"builder_0": "all"}),
    ),
    Level(
        "team-relay-v1", "One architect sees the target, another one talks to the builder; 3 to 6 blocks, walking.",
        Structures(3, 6, 2, 3, 3), _FORMS, "walking", _STATE, 400, 20_000_000, spare=4,
        game=_team(
            2, 1, sees={"architect_1": "none"},
            hearers={"architect_0": "architect_1", "builder_0": "architect_1"},
        ),
    ),
    Level(
        "team-parts-v1", f"{_WHOLE}, walking; two architects each see one half.", Structures(), _FORMS, "walking",
        _STATE, 1000, 50_000_000, spare=None, game=_team(2, 1, sees=_HALVES),
    ),
    Level(
        "team-divide-v1", f"{_WHOLE}, walking; two builders hold different colors.", Structures(), _FORMS,
        "walking", _STATE, 300, 50_000_000, spare=None,
        game=_team(1, 2, inventories={"builder_0": {"blue": 20, "yellow": 20, "green": 20},
                                      "builder_1": {"orange": 20, "purple": 20, "red": 20}}),
    ),
    Level(
        "team-sides-v1", "Structures of 3 to 6 blocks, walking; three architects each see one side.",
        Structures(3, 6, 2, 3, 3), _FORMS, "walking", _STATE, 400, 50_000_000, spare=4, game=_team(3, 1, sees=_SIDES),
    ),
    Level(
        "team-whole-v1", f"{_WHOLE}, walking; three architects who see halves and a color, and three builders.",
        Structures(), _FORMS, "walking", _STATE, 900, 100_000_000, spare=None,
        game=_team(3, 3, sees={**_HALVES, "architect_2": "color:red"}),
    ),
)  # fmt: skip

_BY_NAME = {level.name: level for level in _LISTED}


def levels(family: Family | None = None) -> tuple[Level, ...]:
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
        if str(level).endswith("-v0"):
            hint = " (iglu_marl 0.2.0 has the levels of version 0)"
        raise ConfigError(f"level is {level!r}{hint}, expected one of {', '.join(_BY_NAME)}")
    return _BY_NAME[level]
