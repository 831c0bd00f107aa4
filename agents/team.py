"""Scripted agents for teams: architects that see parts of the target, and builders that share the work.

Architects say what they see in plain instructions, then builders divide the blocks by color and place. All agents
compute the same division of the work from what all of them have heard and see, so that it needs no negotiation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from iglu_marl import AgentError, ConfigError, DialogueError, Pose, Role, Task
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.scripted.decomposition import decompose
from iglu_marl.agents.scripted.dialogue_tracker import (
    DIALOG_KEYS,
    SHOW_ARCHITECT,
    SHOW_BUILDER,
    DialogueTracker,
    require_entry,
)
from iglu_marl.agents.scripted.state_tracker import PLANNED_AS, StateTracker
from iglu_marl.agents.settings import Settings, check_pair
from iglu_marl.core.dialogue import speakers_of
from iglu_marl.core.grid import (
    BLOCKS_PER_COLOR,
    COLOR_NAMES,
    COLORS,
    Cell,
    color_at,
    color_id,
    index_of,
)
from iglu_marl.core.observed import observed_grid
from iglu_marl.game.knowledge import SIDES, SIDES_SHAPE, lines_of_sight
from iglu_marl.game.seats import unwrap_game
from iglu_marl.language import Context, DialogueAct, Failure, Instruction, outcomes, parse, render, say
from iglu_marl.planning.feasibility import used_up
from iglu_marl.planning.ordering import order_edits
from iglu_marl.planning.problem import planning_state
from iglu_marl.planning.raycast import blocked_by_body
from iglu_marl.planning.simulation import step
from iglu_marl.planning.support import shuts_in, supported_cells

Grid = npt.NDArray[np.int8]
Views = Mapping[str, Grid]

PATIENCE = 12  # acts without a visible change before a request is repeated
TRIES = 3  # requests of one cell before it is given up
BATCH = 40  # blocks of one plan
RESERVED = 3  # next blocks of another builder, which it is probably working on
AWAY = 8  # steps of giving way
LONG_WAIT = 40  # steps without own work after which a builder takes any block
_VIEW = re.compile(rf"From the ({'|'.join(SIDES)}), line (\d+) of (\d+): layer (\d)((?:, \d+ [a-z]+)*)\.")
_NOTHING = re.compile(rf"From the ({'|'.join(SIDES)}): nothing\.")


# --- what is seen ----------------------------------------------------------------------------------------------


def view_lines(side: str, view: Grid) -> list[str]:
    """Return a view of a side, int8 [9, 11], in words: a line per layer with blocks, columns from the left."""
    layers = np.flatnonzero(view.any(axis=1)).tolist()
    if not layers:
        return [f"From the {side}: nothing."]
    return [
        f"From the {side}, line {number} of {len(layers)}: layer {layer}"
        + "".join(f", {column} {COLOR_NAMES[view[layer, column]]}" for column in np.flatnonzero(view[layer]))
        + "."
        for number, layer in enumerate(layers, start=1)
    ]


class HeardViews:
    """The views of sides that were said in full, by side."""

    def __init__(self) -> None:
        self.whole: dict[str, Grid] = {}
        self._lines: dict[str, dict[int, tuple[int, str]]] = {}

    def hear(self, text: str) -> bool:
        """Return whether a text is a line of a view, and add it."""
        if (match := _NOTHING.fullmatch(text)) is not None:
            self.whole[match[1]] = np.zeros((9, 11), np.int8)
            return True
        if (match := _VIEW.fullmatch(text)) is None:
            return False
        side, number, count, layer, blocks = match.groups()
        lines = self._lines.setdefault(side, {})
        lines[int(number)] = int(layer), blocks
        if len(lines) == int(count):
            view = np.zeros((9, 11), np.int8)
            for row, found in lines.values():
                for part in found.split(", ")[1:]:
                    column, color = part.split()
                    view[row, int(column)] = color_id(color)
            self.whole[side] = view
        return True


def largest_build(views: Views) -> Grid:
    """Return the largest structure, int8 [9, 11, 11], that looks like these views from their sides.

    Every structure with these views is a part of it (Kutulakos and Seitz, A Theory of Shape by Space Carving, 2000), so
    the views determine the structure only if it is this one. Blocks that no view shows have the color of most others.

    views: int8 [9, 11] by side.
    """
    filled, colors = np.ones((9, 11, 11), bool), np.zeros((9, 11, 11), np.int8)
    for side, view in views.items():
        if side not in SIDES or view.shape != SIDES_SHAPE[1:]:
            raise ConfigError(
                f"the view from {side!r:.80} is {view.shape}, expected [9, 11] from {', '.join(SIDES)}"
            )
        lines_of_sight(filled, side)[view == 0] = False
    odd = filled.copy()
    while odd.any():
        odd[:], colors[:] = False, 0
        for side, view in views.items():
            lines, seen, wrong = (lines_of_sight(array, side) for array in (filled, colors, odd))
            rows, columns = np.nonzero((view != 0) & lines.any(axis=2))
            place = rows, columns, lines.argmax(axis=2)[rows, columns]
            wanted = view[rows, columns]
            wrong[place] |= (seen[place] != 0) & (seen[place] != wanted)
            seen[place] = wanted
        filled &= ~odd
    counts = np.bincount(colors.ravel(), minlength=7)[1:]
    colors[filled & (colors == 0)] = 1 + int(counts.argmax())
    return np.where(filled, colors, 0).astype(np.int8)


# --- what is said ----------------------------------------------------------------------------------------------


def requests(settings: Settings, grid: Grid, target: Grid) -> list[tuple[str, tuple[Cell, ...]]]:
    """Return instructions that fit a message, and the cells that each asks to change, in a buildable order."""
    length = settings.max_length
    limits: dict[str, Any] = (
        {"max_words": length, "max_characters": 10_000} if settings.tokens else {"max_characters": length}
    )

    def sayable(instruction: Instruction) -> bool:
        try:
            return bool(render(instruction, **limits))
        except DialogueError:
            return False

    steps = decompose(grid, target, settings.controls, sayable=sayable)
    return [(render(one.instruction, **limits), one.cells) for one in steps]


def _tracker(settings: Settings, config: Any) -> DialogueTracker:
    speakers = speakers_of(config.architects, config.builders)
    return DialogueTracker(settings.codec, settings.message_length, settings.tokens, speakers)


class TeamArchitect:
    """An architect of a team: it asks for the blocks that it sees, and repeats what is not done.

    Architects who see sides first say their views, line by line. When all of these are known, they agree on the largest
    structure with these views (see `largest_build`), and each asks for a share of it. One that sees nothing repeats
    what it hears from other architects. It is silent about cells that another one has asked for.

    It observes `target_grid`, `grid` and `dialog`; make it with `for_seat(env, "architect_0")`.
    """

    def __init__(self, settings: Settings, config: Any, number: int) -> None:
        self._settings, self._dialogue = settings, _tracker(settings, config)
        self._number, self._agents = number, config.agents
        parts = {
            architect: config.parts_of(f"architect_{architect}") for architect in range(config.architects)
        }
        self._parts = parts[number]
        held = config.inventories or {}
        full = (BLOCKS_PER_COLOR,) * len(COLORS)
        self._held = np.array([held.get(one, full) for one in config.agents[config.architects :]])
        self._sided = [one for one, names in parts.items() if any(name.startswith("side:") for name in names)]
        self._sides = {name[5:] for names in parts.values() for name in names if name.startswith("side:")}
        if settings.tokens and self._sides:
            raise AgentError("a TeamArchitect says views of sides in text, the environment has chat='tokens'")
        self._forget()

    @classmethod
    def for_seat(cls, env: Any, agent: str) -> TeamArchitect:
        """Return the architect `agent` of a game. Raises `AgentError` for symbols, or for tokens with sides."""
        settings = Settings.in_words(env, cls.__name__)
        return cls(settings, unwrap_game(env).config, int(agent.rpartition("_")[2]))

    @classmethod
    def for_env(cls, env: Any) -> TeamArchitect:
        """Return the architect of a game. Raises `AgentError` for a game of a team, in which it needs a seat."""
        check_pair(env, cls)
        return cls.for_seat(env, "architect_0")

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of its seat, see `iglu_marl.game.seats.GameSeat`."""
        seat = {"role": Role.ARCHITECT, "name": f"architect_{self._number}", "agents": self._agents}
        needs = {**seat, **self._dialogue.made_for}
        return needs if self._settings.tokens else {**needs, "max_characters": self._settings.max_length}

    def _forget(self) -> None:
        self._dialogue.forget()
        self._views = HeardViews()
        self._asked: set[Cell] = set()  # cells that any architect asked to change
        self._agenda: list[tuple[str, tuple[Cell, ...]]] | None = None  # what is left to say
        self._belief: Grid | None = None
        self._known: npt.NDArray[np.bool_] = np.zeros((9, 11, 11), bool)
        self._tries: Counter[Cell] = Counter()
        self._last, self._goal, self._still = b"", b"", 0
        self._stock: tuple[int, ...] = ()  # blocks of each color in the game
        self._ended = False  # whether it said that no more can be done

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the architect."""
        if role != Role.ARCHITECT:
            raise AgentError(f"a TeamArchitect cannot play the {role}")
        self._forget()

    def act(self, observation: Any) -> Any:
        """Return what it says next. Raises `AgentError` if target_grid, grid or dialog is not observed."""
        target = require_entry(observation, ("target_grid",), "TeamArchitect", SHOW_ARCHITECT)
        grid = observed_grid(observation)
        seen = b"".join(
            np.asarray(observation[key]).tobytes() for key in ("grid", "agentPos") if key in observation
        )
        self._still = self._still + 1 if seen == self._last else 0
        self._last = seen
        if not self._stock:  # each builder starts with its blocks less all standing ones
            standing = np.bincount(grid.ravel(), minlength=7)[1:]
            self._stock = tuple((self._held.sum(axis=0) - (len(self._held) - 1) * standing).tolist())
        if (goal := target.tobytes()) != self._goal:  # also the next stage of a progressive task
            self._goal, self._agenda, self._belief = goal, None, None
            self._asked.clear()
            self._tries.clear()
            self._ended = False
        relayed = self._listen(observation)
        if self._agenda is None:
            self._agenda = self._first_words(observation)
        self._agenda += [(text, ()) for text in relayed]
        if self._belief is None and not self._agenda:
            self._understand(observation, grid)
        if not self._agenda and (self._still >= PATIENCE or self._is_short(grid)):
            self._complain(grid)
        while self._agenda:
            text, cells = self._agenda.pop(0)
            if not cells or not self._asked.issuperset(cells):
                self._asked.update(cells)
                self._still = 0
                return self._dialogue.utter(text)
        return self._dialogue.utter("")

    def _listen(self, observation: Any) -> list[str]:
        """Take in what others said. Return what is to be repeated."""
        relayed = []
        dialog = require_entry(observation, DIALOG_KEYS, "TeamArchitect", SHOW_ARCHITECT)
        for said in self._dialogue.hear(dialog):
            if said.role is not Role.ARCHITECT or self._views.hear(said.text) or said.number == self._number:
                continue
            if self._parts == ("none",):
                relayed.append(said.text)
            elif not isinstance(asked := parse(said.text), Failure):
                found = outcomes(asked, np.zeros((9, 11, 11), np.int8), Context())
                self._asked.update(() if isinstance(found, Failure) else found[0].cells)
        return relayed

    def _first_words(self, observation: Any) -> list[tuple[str, tuple[Cell, ...]]]:
        views = observation.get("target_sides")
        return [
            (line, ())
            for number, side in enumerate(SIDES)
            if f"side:{side}" in self._parts
            for line in view_lines(side, views[number].astype(np.int8))
        ]

    def _understand(self, observation: Any, grid: Grid) -> None:
        """Find out what to ask for, if all that is needed was heard."""
        assert self._agenda is not None
        target = np.asarray(observation["target_grid"]).astype(np.int8)
        mask = observation.get("target_mask")
        self._known = np.ones(target.shape, bool) if mask is None else np.asarray(mask) != 0
        share: tuple[int, int] = 0, 1
        if self._number in self._sided:
            if self._sides - self._views.whole.keys():
                return
            built = largest_build(self._views.whole)
            target = np.where(self._known, target, built).astype(np.int8)
            share = self._sided.index(self._number), len(self._sided)
            self._known = np.ones(target.shape, bool)
        self._belief = np.where(self._known, target, grid).astype(np.int8)
        asked = requests(self._settings, grid, self._belief)
        self._agenda += asked[share[0] :: share[1]]

    def _wrong(self, grid: Grid) -> list[Cell]:
        if self._belief is None:
            return []
        edits = order_edits(grid, np.where(self._known, self._belief, grid), self._settings.controls)
        short = self._short(grid)
        return [edit.cell for edit in edits if self._tries[edit.cell] < TRIES and edit.color not in short]

    def _short(self, grid: Grid) -> set[int]:
        """Return the colors that are missing and used up."""
        if self._belief is None:
            return set()
        return used_up(grid, np.where(self._known, self._belief, grid), self._stock)

    def _is_short(self, grid: Grid) -> bool:
        """Return whether nothing is left to ask for, since the missing colors are used up."""
        return not self._ended and bool(self._short(grid)) and not self._wrong(grid)

    def _complain(self, grid: Grid) -> None:
        """Ask again for the first cell that is wrong, or say why no more can be done, once."""
        wrong = self._wrong(grid)
        if not wrong and not self._ended and (short := self._short(grid)):
            self._ended = True
            assert self._agenda is not None
            self._agenda.append((say(DialogueAct.OUT_OF_BLOCKS, min(short)), ()))
        for cell in wrong[:1]:
            one = grid.copy()
            assert self._belief is not None
            one[index_of(cell)] = color_at(self._belief, cell)
            self._tries[cell] += 1
            self._asked.discard(cell)
            assert self._agenda is not None
            self._agenda += requests(self._settings, grid, one)

    @property
    def idle(self) -> bool:
        """Whether it has nothing left to say."""
        if self._agenda or (self._belief is None and self._parts != ("none",)):
            return False
        grid = np.frombuffer(self._last, np.int32, 1089).reshape(9, 11, 11).astype(np.int8)
        return (self._ended or self._still >= PATIENCE) and not self._wrong(grid)

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


# --- builders --------------------------------------------------------------------------------------------------


def divide(edits: list[tuple[Cell, int]], able: list[set[int]]) -> dict[Cell, int]:
    """Return the builder of each edit: neighbouring blocks in equal shares, by who holds the color.

    edits: cells and their new colors (0: air). able: the colors that each builder holds.
    """
    if not able:
        raise ConfigError("able is empty, expected the colors of at least one builder")
    if not edits:
        return {}
    spans = [max(line) - min(line) for line in zip(*(cell for cell, _ in edits), strict=True)]
    axis = 0 if spans[0] >= spans[2] else 2
    loads, quota, owner = [0] * len(able), len(edits) / len(able), {}
    scarce = {color: sum(color in held for held in able) for color in range(1, 7)}
    ranked = sorted(edits, key=lambda edit: (edit[0][axis], edit[0][2 - axis], edit[0][1]))
    ideal = {cell: place * len(able) // len(edits) for place, (cell, _) in enumerate(ranked)}
    for cell, color in sorted(ranked, key=lambda edit: scarce.get(edit[1], len(able))):
        chosen = [k for k, held in enumerate(able) if color == 0 or color in held] or list(range(len(able)))
        owner[cell] = min(chosen, key=lambda k: (loads[k] >= quota, abs(k - ideal[cell]), loads[k]))
        loads[owner[cell]] += 1
    return owner


class TeamBuilder(BuilderBase):
    """A builder of a team: it listens until the architects have said everything, then builds its share.

    The blocks are divided by place, and by color where builders hold different ones (see `divide`); a builder without
    work takes over blocks of others. It places no block where another builder stands, and steps aside where it stands
    in the way. With `can_ask` in text chat it says what it takes. One that sees a part of the target says it.

    It observes `dialog`, `agentPos`, `grid`, `others`, and best also `inventory`; make it with
    `for_seat(env, "builder_0")`. Subclasses with another `_read` read otherwise.
    """

    def __init__(self, settings: Settings, config: Any, number: int) -> None:
        super().__init__(settings)
        self._dialogue = _tracker(settings, config)
        self.number, self._agents = number, config.agents
        held = config.inventories or {}
        self._able = [
            {int(color) for color in COLORS if held.get(builder, (1,) * 6)[color - 1]}
            for builder in config.agents[config.architects :]
        ]
        self._state = StateTracker(settings.controls, **self.game.only("can_yield", "select_and_place"))
        self._forget(None)

    @property
    def _needed_seat(self) -> dict[str, Any]:
        return {"name": f"builder_{self.number}", "agents": self._agents}

    @classmethod
    def for_seat(cls, env: Any, agent: str) -> Self:
        """Return the builder `agent` of a game. Raises `AgentError` for a chat without words."""
        settings = Settings.in_words(env, cls.__name__) if cls.reads else Settings.of(env)
        return cls(settings, unwrap_game(env).config, int(agent.rpartition("_")[2]))

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> Self:
        """Return the builder of a game. Raises `AgentError` for a game of a team, in which it needs a seat."""
        check_pair(env, cls)
        return cls.for_seat(env, "builder_0", **options)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._begun = self._lost = False
        self._listening = True
        self._wanted: dict[Cell, int] = {}  # what the architects asked for
        self._agenda: list[str] | None = None  # what it has to say
        self._owner: dict[Cell, int] = {}
        self._steps: list[Any] = []
        self._batch: dict[Cell, int] = {}
        self._scaffolds: set[Cell] = set()  # blocks of its own that nobody asked for
        self._failed: dict[Cell, int] = {}  # cells without a plan, and the number of blocks at that time
        self._waited = self._refused = 0
        self._detour: list[Any] = []  # steps of giving way; None: wait
        self._rng = np.random.default_rng(seed)
        self._eyes: npt.NDArray[Any] = np.zeros((0, 5))

    # -- what is known

    def _look(self, observation: Any) -> Grid:
        """Compare the private world with the observation, which is right where they differ."""
        for key in ("grid", "agentPos"):
            require_entry(observation, (key,), type(self).__name__, SHOW_BUILDER)
        grid, pose, world = observed_grid(observation), Pose.from_observation(observation), self._state.world
        self._eyes = np.asarray(observation.get("others", np.zeros((0, 5))), float)
        changed = False
        if not self._begun:
            self._state.begin(grid, pose)
            self._begun = changed = True
        elif not self._state.agrees(self._state.grid, pose):  # pushed, or blocked by a new block
            self._state.correct(grid, pose)
            self._lost, self._steps = True, []
        elif changed := not np.array_equal(grid, self._state.grid):
            *cell, old, new = world.change[0].tolist()
            if old != new and grid[index_of(tuple(cell))] == old:
                self._give_way(tuple(cell))
            world.grid[0] = grid
            world.blocks[0] = np.count_nonzero(grid)
        else:
            self._lost = False
        if "inventory" in observation and (changed or self._lost):
            world.inventory[0] = np.asarray(observation["inventory"]).astype(np.int16)
        if changed and self._steps and not self._still_right():
            self._steps = []
        return grid

    def _give_way(self, cell: Cell) -> None:
        """After a refused placement: step aside if a builder of a lower number stands there, else wait for it."""
        self._scaffolds.discard(cell)
        others = [k for k in range(len(self._able)) if k != self.number]
        there = [k for k, near in zip(others, blocked_by_body(self._eyes, cell), strict=False) if near]
        self._steps = []
        self._refused += 1
        if there:
            aside = min(there) < self.number or self._refused % 4 == 0
            self._detour = [self._aside() if aside else None] * AWAY

    def _still_right(self) -> bool:
        """Return whether the rest of the plan makes its blocks, in the world as it is now."""
        state, controls = planning_state(self._state.world), PLANNED_AS[self.game.controls]
        goal = state["grid"][0].copy()
        for cell, color in (dict.fromkeys(self._scaffolds, 0) | self._batch).items():
            goal[index_of(cell)] = color
        for action in reversed(self._steps):
            step(state, controls, action)
        return bool(np.array_equal(state["grid"][0], goal))

    def _listen(self, observation: Any, grid: Grid) -> bool:
        """Take in what was said. Return whether there was something new to do."""
        fresh = False
        dialog = require_entry(observation, DIALOG_KEYS, type(self).__name__, SHOW_BUILDER)
        for said in self._dialogue.hear(dialog):
            if said.role is Role.BUILDER and said.number == self.number:
                continue
            if _VIEW.fullmatch(said.text) or _NOTHING.fullmatch(said.text):
                fresh = True
                continue
            if cells := self._read(said.text, self._goal(grid)):
                fresh |= any(self._wanted.get(cell) != color for cell, color in cells.items())
                self._wanted |= cells
                self._failed.clear()
        return fresh

    def _read(self, text: str, goal: Grid) -> dict[Cell, int]:
        """Return the cells that a text asks for, and their colors, given what was asked for before it."""
        asked = parse(text)
        found = asked if isinstance(asked, Failure) else outcomes(asked, goal, Context())
        if isinstance(found, Failure):
            return {}
        cells = {cell: color_at(found[0].grid, cell) for cell in found[0].cells}
        return cells | {
            (int(x) - 5, int(y) - 1, int(z) - 5): int(found[0].grid[y, x, z])
            for y, x, z in np.argwhere(found[0].grid != goal)
        }

    def _read_target(self, observation: Any, grid: Grid) -> None:
        """Take over what it sees of the target, and plan to say it."""
        self._agenda = []
        if "target_mask" not in observation:
            return
        mask, target = np.asarray(observation["target_mask"]) != 0, np.asarray(observation["target_grid"])
        wanted = np.where(mask, target, grid).astype(np.int8)
        self._wanted |= {edit.cell: color_at(wanted, edit.cell) for edit in order_edits(grid, wanted)}
        if self.can_ask and len(self._able) > 1:
            self._agenda = [text for text, _ in requests(self.game, grid, wanted)]

    def _goal(self, grid: Grid) -> Grid:
        goal = grid.copy()
        for cell, color in self._wanted.items():
            goal[index_of(cell)] = color
        return goal

    # -- acting

    def act(self, observation: Any) -> Any:
        """Return the next action. Raises `AgentError` if a needed entry is not observed."""
        grid = self._look(observation)
        fresh = self._listen(observation, grid)
        if self._agenda is None:
            self._read_target(observation, grid)
        assert self._agenda is not None
        if self._agenda:
            return self._with_words(self._state.wait(), self._agenda.pop(0))
        if fresh or not self._wanted:
            self._listening = True
            return self._with_words(self._state.rest() if not self._steps else self._next_step())
        if self._listening:
            self._listening = False
            if text := self._share_work(grid):
                return self._with_words(self._state.wait(), text)
        if self._lost:
            return self._with_words(self._state.wait())
        if self._detour:
            step_aside = self._detour.pop()
            return self._with_words(self._state.wait() if step_aside is None else self._state.do(step_aside))
        if not self._steps:
            self._choose(grid)
        return self._with_words(self._next_step() if self._steps else self._without_work(grid))

    def _next_step(self) -> Any:
        self._waited = 0
        action = self._state.do(self._steps.pop())
        *cell, old, new = self._state.world.change[0].tolist()
        if new and tuple(cell) not in self._wanted:
            self._scaffolds.add(tuple(cell))
        elif old != new:
            self._scaffolds.discard(tuple(cell))
        return action

    def _share_work(self, grid: Grid) -> str:
        """Divide what is left to do. Return what to say about it."""
        left = {edit.cell: self._wanted[edit.cell] for edit in order_edits(grid, self._goal(grid))}
        self._owner |= divide(list(left.items()), self._able)
        mine = Counter(color for cell, color in left.items() if color and self._owner[cell] == self.number)
        if not mine or len(self._able) == 1 or not self.can_ask or self.game.tokens or not self.reads:
            return ""
        return "I take " + ", ".join(f"{mine[color]} {COLOR_NAMES[color]}" for color in sorted(mine)) + "."

    def _ready(self, grid: Grid) -> Iterator[Cell]:
        """Yield cells that can be changed now, in a good order; floating ones only if there are no others."""
        world, filled = self._state.world, grid != 0
        cells = list(
            dict.fromkeys(edit.cell for edit in order_edits(grid, self._goal(grid), self.game.controls))
        )
        left, floating = set(cells), []
        for cell in cells:
            color = self._wanted[cell]
            if self._failed.get(cell) == world.blocks[0] or (color and world.inventory[0, color - 1] <= 0):
                continue
            if not color:
                yield cell
            elif blocked_by_body(self._eyes, cell).any() or shuts_in(filled, cell, left - {cell}):
                continue
            elif supported_cells(filled)[index_of(cell)]:
                if self._owner.get(cell, self.number) == self.number:
                    filled[index_of(cell)] = True  # the next own ones may rest on it
                yield cell
            else:
                floating.append(cell)
        if not any(supported_cells(grid != 0)[index_of(cell)] for cell in cells if self._wanted[cell]):
            yield from floating

    def _choose(self, grid: Grid) -> None:
        """Plan for the next blocks: own ones, or those of others that they will not reach soon."""
        cells = list(self._ready(grid))
        own = [cell for cell in cells if self._owner.get(cell, self.number) == self.number]
        if not own:
            theirs: Counter[int] = Counter()
            for cell in cells:
                theirs[self._owner[cell]] += 1
                if theirs[self._owner[cell]] > RESERVED or self._waited > LONG_WAIT:
                    own.append(cell)
            own = own[::-1]
        batches = [own[:BATCH], *([cell] for cell in own[:BATCH])] if own else [[]] if self._scaffolds else []
        for batch in batches:
            goal = grid.copy()
            for cell in self._scaffolds:
                goal[index_of(cell)] = 0
            for cell in batch:
                goal[index_of(cell)] = self._wanted[cell]
            plan = self._state.plan(goal)
            if plan.verdict == "built":
                self._batch = {cell: self._wanted[cell] for cell in batch}
                self._steps = plan.actions[::-1]
                return
        self._failed |= {cell: int(self._state.world.blocks[0]) for cell in own[:BATCH]}

    def _without_work(self, grid: Grid) -> Any:
        """Step aside, wait, or end the turn."""
        self._waited += 1
        open_cells = [edit.cell for edit in order_edits(grid, self._goal(grid))]
        if not open_cells:
            return self._state.rest()
        if any(blocked_by_body(self._state.world.pose, cell).any() for cell in open_cells):
            self._detour = [self._aside()] * AWAY
        return self._state.wait()

    def _aside(self) -> Any:
        """Return a step of a walk or flight away from where it stands."""
        if PLANNED_AS[self.game.controls] == "walking":
            return int(self._rng.integers(1, 5))
        return {"movement": self._rng.uniform(-1, 1, 3).astype(np.float32)}

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do."""
        return not (self._steps or self._agenda or self._lost) and (
            not self._wanted or self._waited > 2 * LONG_WAIT or self._is_done
        )

    @property
    def ready(self) -> bool:
        """Whether it follows a plan, so that its next act takes no time."""
        return bool(self._steps)

    @property
    def _is_done(self) -> bool:
        return all(color_at(self._state.grid, cell) == color for cell, color in self._wanted.items())


class TeamOracle(TeamBuilder):
    """A builder of a team that is given the target: a reference for how fast a team can build."""

    privileged = True
    reads = ""

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the builder, or without a task."""
        if task is None:
            raise AgentError("a TeamOracle needs the task, got None")
        super().reset(role, seed)
        self._task: Task = task.in_ids("iglu")

    def _listen(self, observation: Any, grid: Grid) -> bool:
        if self._wanted and self._is_done and self._task.next_task is not None:
            self._task, self._wanted = self._task.next_task.in_ids("iglu"), {}
        if not self._wanted:
            target = self._task.target_grid
            self._wanted = {edit.cell: color_at(target, edit.cell) for edit in order_edits(grid, target)}
            self._listening = True
        return False
