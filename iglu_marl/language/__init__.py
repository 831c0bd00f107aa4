"""Language over the building zone: instructions, questions, goals, and vocabularies for token chat.

Exports are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:
    from iglu_marl.language.blocks import CellEdit as CellEdit
    from iglu_marl.language.blocks import EditKind, Reason
    from iglu_marl.language.blocks import Failure as Failure
    from iglu_marl.language.dialogue_acts import DialogueAct as DialogueAct
    from iglu_marl.language.dialogue_acts import SmallTalk as Said
    from iglu_marl.language.dialogue_acts import parse_small_talk as parse_small_talk
    from iglu_marl.language.dialogue_acts import parse_small_talk as read
    from iglu_marl.language.discourse import Discourse as Discourse
    from iglu_marl.language.generator import Generator as Generator
    from iglu_marl.language.generator import Record
    from iglu_marl.language.goals import Goal, GoalTask, GoalTasks, statement_goals
    from iglu_marl.language.goals import GoalSpace as GoalSpace
    from iglu_marl.language.grammar.constructions import Construction
    from iglu_marl.language.grammar.constructions import constructions as constructions
    from iglu_marl.language.instructions import fits, render_place, wordings
    from iglu_marl.language.instructions import parse as parse
    from iglu_marl.language.instructions import render as render
    from iglu_marl.language.instructions import say as say
    from iglu_marl.language.phrases import Link, Phrase
    from iglu_marl.language.placing import BlockSpec as New
    from iglu_marl.language.placing import Corners, Sides, Spots
    from iglu_marl.language.questions import Question
    from iglu_marl.language.questions import parse as parse_question
    from iglu_marl.language.references import Anaphor as It
    from iglu_marl.language.references import At as At
    from iglu_marl.language.references import (
        Beside,
        Between,
        Edge,
        Floating,
        Free,
        LastBlock,
        Level,
        NextTo,
        PartOf,
        Portion,
        Recent,
        Remaining,
        Spot,
        Union,
    )
    from iglu_marl.language.references import Blocks as Blocks
    from iglu_marl.language.references import BuilderPosition as You
    from iglu_marl.language.references import Context as Context
    from iglu_marl.language.references import PluralAnaphor as Them
    from iglu_marl.language.repair import Understanding as Understanding
    from iglu_marl.language.repair import understand as understand
    from iglu_marl.language.repair import understand_answer as answered
    from iglu_marl.language.scene.graph import Scene as Scene
    from iglu_marl.language.scene.graph import Thing
    from iglu_marl.language.scene.interpreter import Programs
    from iglu_marl.language.scene.interpreter import answer as answer
    from iglu_marl.language.scene.program import Program as Program
    from iglu_marl.language.shapes import Direction, Kind, shape_cells
    from iglu_marl.language.shapes import Shape as Shape
    from iglu_marl.language.verbs import Ambiguous as Either
    from iglu_marl.language.verbs import AssertCount as Check
    from iglu_marl.language.verbs import Build as Build
    from iglu_marl.language.verbs import (
        Clear,
        Copy,
        ExpectedWorld,
        Extend,
        Facing,
        Mirror,
        Move,
        Pick,
        Remove,
        Replace,
        Resize,
        Rotate,
        Undo,
        expand,
    )
    from iglu_marl.language.verbs import Correct as Amend
    from iglu_marl.language.verbs import Instruction as Instruction
    from iglu_marl.language.verbs import Place as Place
    from iglu_marl.language.verbs import PlaceGoal as Put
    from iglu_marl.language.verbs import Repeat as Again
    from iglu_marl.language.verbs import Sequence as Then
    from iglu_marl.language.verbs import SetFocus as Look
    from iglu_marl.language.verbs import bind_referent as clarified
    from iglu_marl.language.verbs import done as done
    from iglu_marl.language.verbs import outcomes as outcomes
    from iglu_marl.language.verbs import progress as progress
    from iglu_marl.language.vocabulary import SymbolCodec
    from iglu_marl.language.vocabulary import TemplateCodec as TemplateCodec
    from iglu_marl.language.vocabulary import make_codec as make_codec

__getattr__, __dir__, __all__ = lazy_exports(__name__)
