"""The rungs of the ladder, as data, and `make`, which gives their environments.

Families differ in what the builder goes by; within one, rungs lead from what is solved in a minute to the full game.
A rung's name ends in its version: whatever changes about it gives it another.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from gymnasium.vector import SyncVectorEnv

from iglu_marl.benchmark.splits import (
    AROUND,
    COLORS,
    GROUND,
    Changes,
    Content,
    HeldOut,
    HumanInstructions,
    PlacedBlocks,
    Relative,
    Shapes,
    Spawned,
    SplitName,
    Structures,
    split_tasks,
)
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.task import Task
from iglu_marl.core.text import similar
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.envs.single import GridworldEnv
from iglu_marl.envs.vector import GridworldVectorEnv
from iglu_marl.envs.vector_game import VectorGame
from iglu_marl.envs.wrappers import discretize
from iglu_marl.evaluation.metrics import net_actions
from iglu_marl.evaluation.selection import factory
from iglu_marl.game.config import GameConfig
from iglu_marl.tasks import TaskSource

Family = Literal["see", "told", "pictures", "symbols", "words", "partners", "models"]
FAMILIES: dict[Family, str] = {
    "see": "a builder that sees the target",
    "told": "a builder that is told, and sees its pose and the blocks",
    "pictures": "a builder that is told, and sees pictures",
    "symbols": "architect and builder with symbols that mean nothing at first",
    "words": "architect and builder with words, where the builder may ask",
    "partners": "architect and builder who have never met",
}
PAIRS: tuple[Family, ...] = ("symbols", "words", "partners")

_TURNS = ((90.0, 0.0), (-90.0, 0.0), (180.0, 0.0), (0.0, -45.0), (0.0, 45.0))  # yaw, pitch
GRID_ACTIONS: tuple[dict[str, Any], ...] = (
    {},
    *({"camera": np.array(turn, np.float32)} for turn in _TURNS),
    *({key: way} for key in ("move", "strafe") for way in (1, 2)),
    {"attack": 1},
    *({"hotbar": color} for color in COLORS),
)
"""What a builder with grid actions can do in a step: nothing; turn right, left or round, look down or up by 45°; go one
cell forward, back, left or right; break; place one of six colours."""


@dataclass(frozen=True)
class Rung:
    """One step of the ladder.

    content, held_out: what is asked for, and by what the splits differ. controls: "grid" (`GRID_ACTIONS`), "walking"
    (the 18 actions) or "flying". sees: what the builder does; sees_target: whether also the target. max_steps: of an
    episode.
    architects: names of the scripted ones that speak, by split, where some do. game: other fields of `GameConfig`.
    spare: how many changes of blocks more than asked for a success may have taken; None: any number.
    budget: environment steps of training. seeds: how many runs a result is made of.
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
        """The first word of the name."""
        return self.name.split("-")[0]  # type: ignore[return-value]

    @property
    def is_pair(self) -> bool:
        """Whether there are two agents."""
        return self.family in PAIRS

    @property
    def is_live(self) -> bool:
        """Whether a scripted architect speaks within the environment of a lone builder."""
        return bool(self.architects) and not self.is_pair

    def tasks(self, split: SplitName) -> TaskSource:
        """What is asked for in a split."""
        return split_tasks(self.content, self.held_out, split)

    def is_success(self, task: Task, completed: bool, changes: int) -> bool:
        """Whether an episode counts: the target was completed, with no more changes of blocks than allowed."""
        return completed and changes <= self.allowed_changes(task)

    def allowed_changes(self, task: Task) -> float:
        """How many changes of blocks a success may have taken; inf: any number."""
        if self.spare is None:
            return math.inf
        return len(net_actions(task.start_grid, task.target_grid)) + self.spare

    def config(self, split: SplitName, **fields: Any) -> GameConfig:
        """The game of a split, of two agents."""
        controls = "discrete" if self.controls == "grid" else self.controls
        chosen: dict[str, Any] = {
            "tasks": self.tasks(split),
            "controls": controls,
            "select_and_place": self.controls == "grid",
            "chat": "tokens",
            "builder_sees": self.sees,
            "max_steps": self.max_steps,
            "max_turns": None,
            "turn_steps": None,
            "wrong_scale": 0.02,  # so little that a builder which knows nothing yet still dares to place
        }
        return GameConfig(**{**chosen, **self.game, **fields})

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that change with any field of the rung."""
        return hashlib.blake2b(repr(self).encode(), digest_size=6).hexdigest()


# ---------------------------------------------------------------------------------------------------- environments


def make(rung: str | Rung, split: SplitName = "train", num_envs: int | None = None, **options: Any) -> Any:
    """The environment of a rung.

    | | one | `num_envs` |
    |---|---|---|
    | one builder (see, told, pictures) | a Gymnasium environment | a Gymnasium vector environment |
    | a pair (symbols, words, partners) | a parallel environment | a `VectorGame` |

    Where a scripted architect speaks as the game goes on, `num_envs` gives a `SyncVectorEnv` of single environments.
    Builders of rungs with grid actions have `GRID_ACTIONS` by number. options: of the vector environment or
    `VectorGame`. Raises `ConfigError` for an unknown rung or split.
    """
    rung = find(rung)
    config = rung.config(split)
    if rung.is_pair:
        env: Any = parallel_env(config) if num_envs is None else VectorGame(num_envs, config, **options)
    elif rung.is_live and num_envs is not None:
        return SyncVectorEnv([lambda: builder_env(rung, split)] * num_envs, **options)
    else:
        env = builder_env(rung, split, num_envs=num_envs, **options)
    return discretize(env, table=GRID_ACTIONS) if rung.controls == "grid" else env


def builder_env(
    rung: Rung,
    split: SplitName,
    *,
    num_envs: int | None = None,
    sees: tuple[str, ...] | None = None,
    alone: bool = False,
    fields: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """A builder's environment, with its own actions.

    sees: instead of what the rung shows, with "target" if it is to be seen. alone: nobody speaks live. fields: of
    `GameConfig`, instead of the rung's. options: of the environment.
    """
    shown = rung.sees if sees is None else sees
    chosen: dict[str, Any] = {
        "render": "pov" in shown,
        "vector_state": "pose" in shown or "grid" in shown,
        "target_in_obs": rung.sees_target if sees is None else "target" in shown,
        "config": rung.config(split, builder_can_ask=False, **(fields or {})),
    }
    if num_envs is not None:
        return GridworldVectorEnv(num_envs, **chosen, **options)
    if rung.is_live and not alone:
        names = rung.architects[split]
        game = parallel_env(rung.config(split))
        chosen["config"] = rung.config(split, builder_can_ask=False, turn_steps=50)
        return GridworldEnv(architect=factory(names[0], Role.ARCHITECT)(game), **chosen, **options)
    return GridworldEnv(**chosen, **options)


# ------------------------------------------------------------------------------------------------------ the ladder

_STATE = ("grid", "pose", "inventory", "dialog")
_PICTURES = ("pov", "compass", "inventory", "dialog")
_PAIRS = (HeldOut("pairs", 6),)
_SHAPES = (HeldOut("shapes", 0.25),)
_TALK = {"builder_can_ask": True}
_SCRIPTED = {"train": ("scripted",), "test": ("scripted",)}
_MET = {"train": ("precise", "talkative"), "test": ("terse", "vague", "mistaken")}
_PLACE = "One block in one of the 4 cells around the builder, of one of 6 colours"
_ANYWHERE = "One block anywhere on the ground, of one of 6 colours"
_WHOLE = "Structures of 12 to 20 blocks in up to 4 layers"


def _symbols(size: int, length: int) -> dict[str, Any]:
    return {
        "vocabulary": size,
        "max_message_length": length,
        "dialog_length": length + 1,
        "architect_sees": ("target_grid",),
    }


_LISTED: tuple[Rung, ...] = (
    # --- a builder that sees the target
    Rung(
        "see-place-v0", f"{_PLACE}.", PlacedBlocks(), _PAIRS, "grid", ("grid", "pose"), 6, 300_000,
        sees_target=True, seeds=10,
    ),
    Rung(
        "see-ground-v0", f"{_ANYWHERE}.", PlacedBlocks(GROUND), _PAIRS, "grid", ("grid", "pose"), 24, 2_000_000,
        sees_target=True,
    ),
    Rung(
        "see-few-v0", "Structures of 3 to 6 blocks in up to 2 layers, walking.", Structures(3, 6, 2, 3, 3), _SHAPES,
        "walking", ("grid", "pose", "inventory"), 400, 10_000_000, spare=4, sees_target=True,
    ),
    Rung(
        "see-structures-v0", f"{_WHOLE}, walking.", Structures(), _SHAPES, "walking",
        ("grid", "pose", "inventory"), 3000, 50_000_000, spare=None, sees_target=True,
    ),
    # --- a builder that is told
    Rung(
        "told-place-v0", f"{_PLACE}, told in one of 4 wordings.", PlacedBlocks(wordings=4), _PAIRS, "grid", _STATE, 6,
        500_000, seeds=10,
    ),
    Rung(
        "told-ground-v0", f"{_ANYWHERE}, told in one of 8 wordings, walking.", PlacedBlocks(GROUND, wordings=8),
        (*_PAIRS, HeldOut("sentences", 14)), "walking", _STATE, 120, 10_000_000,
    ),
    Rung(
        "told-shapes-v0", "A row, tower, wall or square, told in one sentence, walking.", Shapes(),
        (HeldOut("sizes", 6),), "walking", _STATE, 600, 20_000_000, spare=4,
    ),
    Rung(
        "told-structures-v0", f"{_WHOLE}, told block by block, walking.", Structures(), _SHAPES, "walking", _STATE,
        5000, 50_000_000, spare=None, architects=_SCRIPTED,
    ),
    Rung(
        "told-human-v0", "Changes that people asked for in the IGLU single-turn corpus, walking.", HumanInstructions(),
        (HeldOut("structures"),), "walking", _STATE, 1000, 20_000_000, spare=None, game={"chat": "text"},
    ),
    # --- a builder that is told, and sees pictures
    Rung(
        "pictures-place-v0", f"{_PLACE}, told in one of 4 wordings.", PlacedBlocks(wordings=4), _PAIRS, "grid",
        _PICTURES, 6, 500_000, seeds=10, game={"pov_size": (32, 32)},
    ),
    Rung(
        "pictures-ground-v0", f"{_ANYWHERE}, told in one of 8 wordings, walking from anywhere.",
        Spawned(PlacedBlocks(GROUND, wordings=8)), (*_PAIRS, HeldOut("poses", 0.25)), "walking", _PICTURES, 150,
        20_000_000,
    ),
    Rung(
        "pictures-layers-v0",
        "A block of the 3 lowest layers removed and another one placed, among 6, walking from anywhere.",
        Spawned(Changes()), (*_PAIRS, HeldOut("poses", 0.25)), "walking", _PICTURES, 400, 50_000_000,
    ),
    Rung(
        "pictures-structures-v0", f"{_WHOLE}, told block by block, walking.", Structures(), _SHAPES, "walking",
        _PICTURES, 5000, 100_000_000, spare=None, architects=_SCRIPTED,
    ),
    # --- a pair with symbols
    Rung(
        "symbols-place-v0", f"{_PLACE}; 2 symbols of 8.", PlacedBlocks(), _PAIRS, "grid", ("grid", "pose", "dialog"), 6,
        500_000, seeds=10, game=_symbols(8, 2),
    ),
    Rung(
        "symbols-two-v0", "Two blocks of 3 colours in the 8 cells around the builder, 252 meanings; 4 symbols of 12.",
        PlacedBlocks(AROUND, (1, 3, 6), 2), (HeldOut("combinations", 0.2),), "grid", ("grid", "pose", "dialog"), 16,
        5_000_000, game=_symbols(12, 4),
    ),
    Rung(
        "symbols-walk-v0", "Two blocks of 3 colours in the 8 cells around the builder, walking; 4 symbols of 12.",
        PlacedBlocks(AROUND, (1, 3, 6), 2), (HeldOut("combinations", 0.2),), "walking", ("grid", "pose", "dialog"), 160,
        20_000_000, game=_symbols(12, 4),
    ),
    Rung(
        "symbols-structures-v0", f"{_WHOLE}, walking, pictures; messages of 8 symbols of 32.", Structures(), _SHAPES,
        "walking", _PICTURES, 3000, 100_000_000, spare=None,
        game={**_symbols(32, 8), "dialog_length": 64, "architect_sees": ("target_grid", "grid", "pose", "dialog")},
    ),
    # --- a pair with words
    Rung(
        "words-place-v0", f"{_PLACE}.", PlacedBlocks(), _PAIRS, "grid", _STATE, 12, 1_000_000, seeds=10, game=_TALK,
    ),
    Rung(
        "words-ground-v0", f"{_ANYWHERE}, walking.", PlacedBlocks(GROUND), _PAIRS, "walking", _STATE, 160, 20_000_000,
        game=_TALK,
    ),
    Rung(
        "words-few-v0", "Structures of 3 to 6 blocks in up to 2 layers, walking.", Structures(3, 6, 2, 3, 3), _SHAPES,
        "walking", _STATE, 800, 50_000_000, spare=4, game=_TALK,
    ),
    Rung(
        "words-structures-v0", f"{_WHOLE}, walking, pictures.", Structures(), _SHAPES, "walking", _PICTURES, 5000,
        100_000_000, spare=None, game=_TALK,
    ),
    # --- partners that never met
    Rung(
        "partners-place-v0", f"{_PLACE}; 2 symbols of 8; architects and builders of different runs.", PlacedBlocks(),
        _PAIRS, "grid", ("grid", "pose", "dialog"), 6, 500_000, seeds=10, game=_symbols(8, 2),
    ),
    Rung(
        "partners-ground-v0", f"{_ANYWHERE}, walking; other scripted architects in the test than in training.",
        PlacedBlocks(GROUND), _PAIRS, "walking", _STATE, 160, 20_000_000, game=_TALK, architects=_MET,
    ),
    Rung(
        "partners-structures-v0",
        f"{_WHOLE}, walking, pictures; other scripted architects in the test than in training.", Structures(),
        _SHAPES, "walking", _PICTURES, 5000, 100_000_000, spare=None, game=_TALK, architects=_MET,
    ),
)  # fmt: skip

_TEXT = {"chat": "text", "builder_can_ask": True}


def _for_models(
    name: str, about: str, content: Content, held_out: HeldOut, steps: int, architect: str
) -> Rung:
    return Rung(
        f"models-{name}-v0", about, content, (held_out,), "flying", ("dialog", "inventory", "pose", "grid"), steps, 0,
        spare=None, seeds=1, architects={"test": (architect,)} if architect else {}, game=_TEXT,
    )  # fmt: skip


MODEL_RUNGS: tuple[Rung, ...] = (
    _for_models(
        "absolute", "One block anywhere on the ground, told by its coordinates in one of 8 wordings.",
        PlacedBlocks(GROUND, wordings=8), HeldOut("pairs", 6), 200, "replay",
    ),
    _for_models(
        "relative", "One block on or beside one of 4 others, which is named by its colour.", Relative(),
        HeldOut("combinations", 0.25), 200, "replay",
    ),
    _for_models(
        "shapes", "A row, tower, wall or square, told in one sentence.", Shapes(), HeldOut("sizes", 6), 600, "replay"
    ),
    _for_models(
        "structures", "Structures of 6 to 12 blocks in up to 4 layers, told block by block.", Structures(6, 12),
        HeldOut("shapes", 0.25), 2000, "scripted",
    ),
    _for_models(
        "human", "Changes that people asked for in the IGLU single-turn corpus.", HumanInstructions(),
        HeldOut("structures"), 1000, "replay",
    ),
    _for_models(
        "clarification", "Structures of 3 to 6 blocks, told by an architect who leaves out things until asked.",
        Structures(3, 6, 2, 3, 3), HeldOut("shapes", 0.25), 1000, "vague",
    ),
    _for_models(
        "vision", "Structures of 3 to 6 blocks, of which an architect sees pictures, and which it tells a builder.",
        Structures(3, 6, 2, 3, 3), HeldOut("shapes", 0.25), 1000, "",
    ),
)  # fmt: skip
"""The rungs for language models (`iglu_marl.benchmark.models`): the builder is measured; without an architect, the
architect is."""

_BY_NAME = {rung.name: rung for rung in (*_LISTED, *MODEL_RUNGS)}


def rungs(family: Family | None = None) -> tuple[Rung, ...]:
    """All rungs of learning, or those of a family, from the easiest to the full game.

    Raises `ConfigError` for another family.
    """
    if family is not None and family not in FAMILIES:
        raise ConfigError(f"family is {family!r}, expected one of {', '.join(FAMILIES)}")
    return tuple(rung for rung in _LISTED if family in (None, rung.family))


def find(rung: str | Rung) -> Rung:
    """A rung by its name. Raises `ConfigError` for an unknown one."""
    if isinstance(rung, Rung):
        return rung
    if rung not in _BY_NAME:
        raise ConfigError(f"rung is {rung!r}{similar(rung, _BY_NAME)}, expected one of {', '.join(_BY_NAME)}")
    return _BY_NAME[rung]
