"""Goals: statements to make true, spaces of goals, generalisation splits, and goals as tasks of the game."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import LanguageError
from iglu_marl.core.grid import ZONE_SHAPE, as_grid
from iglu_marl.core.task import Task
from iglu_marl.language.generator import read_names
from iglu_marl.language.grammar.scene_sentences import parse_question as parse
from iglu_marl.language.grammar.scene_sentences import question_text
from iglu_marl.language.scene.graph import Scene
from iglu_marl.language.scene.interpreter import Programs, answer
from iglu_marl.language.scene.noun_phrases import Link, Phrase
from iglu_marl.language.scene.program import COLOR_WORDS, RELATIONS, SHAPE_NAMES, Program, Type
from iglu_marl.language.scene.questions import STATEMENT, Question

_SHAPES = SHAPE_NAMES[:5]
SPLITS = ("combination", "length", "color-shape")


def program_of(value: Any) -> Program:
    """Return a program from itself, its text, a `Goal`, a `Question`, or a question in plain words.

    Raises `LanguageError` if the value is something else, or is not understood.
    """
    if isinstance(value, (Goal, Question)):
        return value.program
    if isinstance(value, str) and "(" not in value:
        question = parse(value)
        if not isinstance(question, Question):
            raise LanguageError(f"the text {value!r:.80} is no question or statement: {question}")
        return question.program
    return Program.of(value)


@dataclass(frozen=True)
class Goal:
    """A statement to make true: its wording, program and, where it has one, its `Question`.

    Equal by wording and program. Raises `LanguageError` if the program does not return a boolean.
    """

    text: str
    program: Program
    question: Question | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise LanguageError(f"the text of a goal is {self.text!r:.80}, expected a string")
        if not isinstance(self.program, Program):
            object.__setattr__(self, "program", program_of(self.program))
        if self.program.kind is not Type.BOOLEAN:
            raise LanguageError(f"the goal {self.text!r:.80} gives {self.program.kind}, expected a boolean")

    @classmethod
    def of(cls, value: Any) -> Goal:
        """Return a goal from itself, a (text, program) pair, a statement in plain words, or a program."""
        if isinstance(value, cls):
            return value
        if isinstance(value, tuple) and len(value) == 2:
            return cls(*value)
        if isinstance(value, Question):
            return cls(question_text(value), value.program, value)
        program = program_of(value)
        return cls(value if isinstance(value, str) else str(program), program)

    def holds(self, scene: Scene | npt.ArrayLike) -> bool:
        """Return whether the goal is true of a scene (or grid); False where a "the" is not exactly one thing."""
        return bool(answer(self.program, scene))

    def __str__(self) -> str:
        return self.text


class GoalSplit(NamedTuple):
    """Goals for training and goals for testing."""

    train: GoalSpace
    held_out: GoalSpace


class GoalSpace(Sequence[Goal]):
    """A fixed list of different goals that are evaluated in batches.

    goals: `Goal`s, or anything that `Goal.of` takes. Raises `LanguageError` if the list is empty.
    """

    def __init__(self, goals: Iterable[Any]) -> None:
        if not isinstance(goals, Iterable):
            raise LanguageError(f"goals is {goals!r:.80}, expected a list of goals")
        self.goals = tuple(dict.fromkeys(Goal.of(goal) for goal in goals))
        if not self.goals:
            raise LanguageError("goals is empty, expected at least one goal")

    def __len__(self) -> int:
        return len(self.goals)

    def __getitem__(self, index: Any) -> Any:
        return self.goals[index]

    def __repr__(self) -> str:
        return f"GoalSpace({len(self)} goals, {self.goals[0].text!r}, ...)"

    @cached_property
    def programs(self) -> Programs:
        """The compiled programs of the goals."""
        return Programs([goal.program for goal in self.goals])

    def holding(self, grids: npt.ArrayLike, yaw_deg: npt.ArrayLike = 0.0) -> npt.NDArray[np.bool_]:
        """Return which goals hold: bool [goals] for one grid int8 [9, 11, 11], or [n, goals] for n of them."""
        array = np.asarray(grids)
        if array.ndim == 3:
            return self.programs.ask_all(as_grid(array)[None], yaw_deg).holds[0]
        return self.programs.ask_all(array, yaw_deg).holds

    @cached_property
    def _numbers(self) -> dict[Program, int]:
        return {goal.program: number for number, goal in reversed(list(enumerate(self.goals)))}

    def multi_hot(self, *goals: Any) -> npt.NDArray[np.int8]:
        """Return int8 [goals], 1 for each of the given goals; the same form as `holding`.

        goals: anything that `Goal.of` takes. Raises `LanguageError` if the program of a goal is not in this space.
        """
        chosen = np.zeros(len(self), np.int8)
        for goal in map(Goal.of, goals):
            if goal.program not in self._numbers:
                raise LanguageError(f"the goal {goal.text!r:.80} is not in this space of {len(self)} goals")
            chosen[self._numbers[goal.program]] = 1
        return chosen

    def sample(
        self, rng: np.random.Generator, grid: npt.ArrayLike | None = None, yaw_deg: float = 0.0
    ) -> Goal:
        """Return a random goal; given a grid, one that does not hold there.

        Raises `LanguageError` if all goals hold.
        """
        if grid is None:
            return self.goals[int(rng.integers(len(self)))]
        for _ in range(20):  # most goals do not hold most of the time
            goal = self.goals[int(rng.integers(len(self)))]
            if not goal.holds(Scene(grid, yaw_deg)):
                return goal
        open_ones = np.flatnonzero(~self.holding(grid, yaw_deg))
        if not len(open_ones):
            raise LanguageError(f"all {len(self)} goals hold already, expected one that does not")
        return self.goals[int(open_ones[int(rng.integers(len(open_ones)))])]

    def split(self, by: str) -> GoalSplit:
        """Split all goals into train and held-out goals, for tests of systematic generalisation. The split is fixed.

        | by | held out |
        |---|---|
        | "combination" | a fifth of the goals with two things or more, by a checksum; training has every word |
        | "length" | programs longer than the median |
        | "color-shape" | goals with certain colour-shape pairs (blue block, red row, ...), but no colour or shape |

        Raises `LanguageError` if `by` is unknown, or one side would be empty.
        """
        if not isinstance(by, str) or by not in SPLITS:
            raise LanguageError(f"split by {by!r:.80}, expected one of {', '.join(SPLITS)}")
        if by == "length":
            middle = float(np.median([goal.program.nodes for goal in self.goals]))
            held = [goal.program.nodes > middle for goal in self.goals]
        else:
            test = _is_held_combination if by == "combination" else _names_held_pair
            held = [test(goal) for goal in self.goals]
        train, rest = (
            [goal for goal, out in zip(self.goals, held, strict=True) if out is side]
            for side in (False, True)
        )
        if not train or not rest:
            raise LanguageError(f"the split by {by} of {len(self)} goals leaves one side empty")
        return GoalSplit(GoalSpace(train), GoalSpace(rest))


def _is_held_combination(goal: Goal) -> bool:
    filters = sum(part.function == "filter_shape" for part in goal.program.walk())
    return filters > 1 and zlib.crc32(goal.program.text.encode()) % 5 == 0


def held_out_pairs() -> tuple[tuple[str, str], ...]:
    """Return the held-out (colour, shape) pairs of "color-shape": one colour for each shape."""
    return tuple((COLOR_WORDS[-2 * number % 6], shape) for number, shape in enumerate(_SHAPES))


def _names_held_pair(goal: Goal) -> bool:
    """Return whether a filter for a held-out colour narrows a filter for its shape."""
    pairs = set()
    for part in goal.program.walk():
        if part.function == "filter_color":
            inner = part.inputs[0]
            while inner.function != "filter_shape" and inner.inputs:
                inner = inner.inputs[0]
            pairs.add((part.value, inner.value))
    return not pairs.isdisjoint(held_out_pairs())


def _simple(colors: Sequence[str]) -> Iterator[Phrase]:
    sizes = {"row": (None, 3, 4), "tower": (None, 3, 4), "square": (None, 4, 9), "group": (None, 5)}
    for shape, color in product(_SHAPES, ((), *((color,) for color in colors))):
        for size in sizes.get(shape, (None,)):
            yield Phrase(shape, color, size)
        if shape == "block":
            yield Phrase(shape, color, level=1)
            yield from (Phrase(shape, color, height=height) for height in (2, 3))


def _pairs(colors: Sequence[str], relations: Sequence[str]) -> Iterator[tuple[Phrase, str, Phrase]]:
    pairs = ("block block", "block tower", "tower block", "row tower", "tower row", "block row")
    for pair, relation in product(pairs, relations):
        one, other = pair.split()
        for first, second in permutations(colors, 2):
            yield Phrase(one, (first,)), relation, Phrase(other, (second,))


def _statements(colors: Sequence[str], relations: Sequence[str]) -> Iterator[Question]:
    def state(template: str, **fillings: Any) -> Question:
        return Question.of(template, STATEMENT, **fillings)

    yield from (state("exist", A=phrase) for phrase in _simple(colors))
    plain = [Phrase("block", (color,)) for color in colors]
    for phrase in plain:
        yield state("none", A=phrase)
        yield from (state("count_is", A=phrase, N=number) for number in range(1, 6))
        yield from (state("more_than", A=phrase, N=number) for number in range(2, 6))
        yield state("all_level", A=phrase, V=1)
    for shape, number in product(("row", "tower"), (1, 2)):
        yield from (state("count_is", A=Phrase(shape, (color,)), N=number) for color in colors)
    for one, other in permutations(plain, 2):
        yield from (state(template, A=one, B=other) for template in ("more", "as_many"))
    yield from (state("all_color", A=Phrase(), C=color) for color in colors)
    for one, relation, other in _pairs(colors, relations):
        yield state("exist", A=Phrase(one.shape, one.colors, links=(Link(relation, other, definite=False),)))
        if (one.shape, other.shape) in (("block", "block"), ("tower", "row")):
            yield state("where", A=one, R=relation, B=other)


def statement_goals(
    colors: Iterable[str] = COLOR_WORDS, relations: Iterable[str] = RELATIONS[:4] + RELATIONS[8:]
) -> GoalSpace:
    """Return the bundled goals: existence, numbers and relations.

    colors, relations: those to use. The default has no relations of the builder's frame, so the view does not matter.
    Raises `LanguageError` if a name is unknown.
    """
    return _statement_goals(
        read_names("colors", colors, COLOR_WORDS), read_names("relations", relations, RELATIONS)
    )


@lru_cache(maxsize=16)
def _statement_goals(colors: tuple[str, ...], relations: tuple[str, ...]) -> GoalSpace:
    return GoalSpace(_statements(colors, relations))


class GoalObjective:
    """Game objective that pays 1 and ends the game when a goal holds. It meets the game's `Objective` protocol.

    terminate_on_success: if False, pay 1 after every step in which the goal holds, and never end.
    """

    def __init__(self, goal: Goal, terminate_on_success: bool = True) -> None:
        if not isinstance(terminate_on_success, bool):
            raise LanguageError(
                f"terminate_on_success is {terminate_on_success!r:.80}, expected True or False"
            )
        self.goal, self.terminate_on_success = goal, terminate_on_success
        self._programs = Programs([goal.program])

    @property
    def text(self) -> str:
        """The goal in words."""
        return self.goal.text

    @property
    def program(self) -> str:
        """The goal as compact program text."""
        return self.goal.program.text

    def score(
        self, worlds: Any, indices: Sequence[int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return rewards float64 [k] and ends bool [k] of k worlds."""
        chosen = list(indices)
        if len(chosen) == 1:  # a single environment asks at each step
            holds_now = self.goal.holds(Scene(worlds.grid[chosen[0]], worlds.pose[chosen[0], 3]))
            return np.array([float(holds_now)]), np.array([holds_now and self.terminate_on_success])
        holds = self._programs.ask_each(worlds.grid[chosen], 0, worlds.pose[chosen, 3]).holds
        return holds.astype(np.float64), holds & self.terminate_on_success

    @staticmethod
    def score_each(
        objectives: Sequence[GoalObjective], worlds: Any, indices: Sequence[int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return `score` of k worlds with one goal each."""
        chosen = list(indices)
        programs, which = _together(tuple(objectives))
        holds = programs.ask_each(worlds.grid[chosen], which, worlds.pose[chosen, 3]).holds
        return holds.astype(np.float64), holds & [objective.terminate_on_success for objective in objectives]

    def _content(self) -> tuple[Goal, bool]:
        return self.goal, self.terminate_on_success

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, GoalObjective) and self._content() == other._content())

    @cached_property
    def _hash(self) -> int:
        return hash(self._content())

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name != "_hash"
        }  # it differs between processes


@lru_cache(maxsize=32)
def _together(objectives: tuple[GoalObjective, ...]) -> tuple[Programs, npt.NDArray[np.int64]]:
    """Return the different programs, and the index of each objective's program."""
    numbers: dict[Program, int] = {}
    which = [numbers.setdefault(objective.goal.program, len(numbers)) for objective in objectives]
    return Programs(list(numbers)), np.array(which)


class GoalTask(Task):
    """A task with a goal instead of a target: `GoalTask(Goal.of("There is a red block."))`.

    Args:
        goal: anything that `Goal.of` takes.
        starting_grid: the initial world.
        target_grid: a world in which the goal holds, for display (default: the start); it is not scored.
        terminate_on_success: end the game when the goal holds; if False, pay in each step in which it holds.
        **options: as in `Task`.

    """

    objective: Any

    def __init__(
        self,
        goal: Any,
        starting_grid: npt.ArrayLike | None = None,
        *,
        dialog: Any = "",
        target_grid: npt.ArrayLike | None = None,
        ids: str | None = "iglu",
        terminate_on_success: bool = True,
        **options: Any,
    ) -> None:
        if target_grid is None:
            target_grid = np.zeros(ZONE_SHAPE, np.int8) if starting_grid is None else starting_grid
        super().__init__(dialog, target_grid, starting_grid=starting_grid, ids=ids, **options)
        object.__setattr__(self, "objective", GoalObjective(Goal.of(goal), terminate_on_success))

    @property
    def goal(self) -> Goal:
        """The goal."""
        goal: Goal = self.objective.goal
        return goal

    @property
    def is_complete_at_start(self) -> bool:
        """Whether the goal holds at the start, and the game ends when it holds."""
        ends: bool = self.objective.terminate_on_success
        return ends and self.goal.holds(self.start_grid)

    def replace(self, **changes: Any) -> Task:
        """Return a copy with other constructor arguments, also `goal`."""
        arguments = {
            name: getattr(self, name) for name in ("dialog", "target_grid", "starting_grid", "full_grid")
        }
        arguments |= {name: getattr(self, name) for name in ("goal", "invariant", "task_id", "ids")}
        arguments["terminate_on_success"] = self.objective.terminate_on_success
        return type(self)(**{**arguments, **changes})

    def _content(self) -> tuple[Any, ...]:
        return (*super()._content(), self.objective)

    def __repr__(self) -> str:
        return f"GoalTask({self.goal.text!r})"


class GoalTasks:
    """Task source: goals of a space, each with a random world in which it does not hold.

    Args:
        goals: a `GoalSpace` (default: `statement_goals()`).
        scenes: function from a generator to a starting grid (default: the empty zone).
        terminate_on_success: as in `GoalTask`.

    """

    def __init__(
        self, goals: GoalSpace | None = None, scenes: Any = None, terminate_on_success: bool = True
    ) -> None:
        self.goals = statement_goals() if goals is None else goals
        self.scenes = scenes
        self.terminate_on_success = terminate_on_success

    def sample(self, rng: np.random.Generator) -> GoalTask:
        """Return a task."""
        grid = None if self.scenes is None else self.scenes(rng)
        goal = self.goals.sample(rng, np.zeros(ZONE_SHAPE, np.int8) if grid is None else grid)
        return GoalTask(goal, grid, terminate_on_success=self.terminate_on_success)
