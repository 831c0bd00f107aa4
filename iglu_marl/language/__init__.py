"""Language over the building zone: instructions, small talk, and vocabularies for token chat."""

from __future__ import annotations

from iglu_marl.language.dialogue_acts import DialogueAct, Said, read, say
from iglu_marl.language.generator import Generator, Record
from iglu_marl.language.goals import Goal, GoalSpace, GoalTask, GoalTasks, statement_goals
from iglu_marl.language.instructions import CellEdit, EditKind, Failure, Reason, fits, parse, render, wordings
from iglu_marl.language.phrases import Link, Phrase
from iglu_marl.language.questions import Question
from iglu_marl.language.questions import parse as parse_question
from iglu_marl.language.references import At, Beside, Blocks, Context, It, LastBlock, NextTo, You
from iglu_marl.language.scene import Scene, Thing
from iglu_marl.language.scene.interpreter import Programs, answer
from iglu_marl.language.scene.program import Program
from iglu_marl.language.shapes import Direction, Kind, Shape, shape_cells
from iglu_marl.language.verbs import (
    Build,
    Copy,
    ExpectedWorld,
    Extend,
    Facing,
    Instruction,
    Mirror,
    Move,
    Pick,
    Place,
    Remove,
    Replace,
    Then,
    clarified,
    expand,
    outcomes,
)
from iglu_marl.language.verify import done, progress
from iglu_marl.language.vocabulary import SymbolCodec, TemplateCodec, make_codec

__all__ = [
    "At",
    "Beside",
    "Blocks",
    "Build",
    "CellEdit",
    "Context",
    "Copy",
    "DialogueAct",
    "Direction",
    "EditKind",
    "ExpectedWorld",
    "Extend",
    "Facing",
    "Failure",
    "Generator",
    "Goal",
    "GoalSpace",
    "GoalTask",
    "GoalTasks",
    "Instruction",
    "It",
    "Kind",
    "LastBlock",
    "Link",
    "Mirror",
    "Move",
    "NextTo",
    "Phrase",
    "Pick",
    "Place",
    "Program",
    "Programs",
    "Question",
    "Reason",
    "Record",
    "Remove",
    "Replace",
    "Said",
    "Scene",
    "Shape",
    "SymbolCodec",
    "TemplateCodec",
    "Then",
    "Thing",
    "You",
    "answer",
    "clarified",
    "done",
    "expand",
    "fits",
    "make_codec",
    "outcomes",
    "parse",
    "parse_question",
    "progress",
    "read",
    "render",
    "say",
    "shape_cells",
    "statement_goals",
    "wordings",
]
