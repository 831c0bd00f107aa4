"""Language over the building zone: instructions, questions, goals, and vocabularies for token chat.

Exports are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:
    from iglu_marl.language.blocks import CellEdit as CellEdit
    from iglu_marl.language.blocks import Failure as Failure
    from iglu_marl.language.dialogue_acts import DialogueAct as DialogueAct
    from iglu_marl.language.dialogue_acts import parse_small_talk as parse_small_talk
    from iglu_marl.language.discourse import Discourse as Discourse
    from iglu_marl.language.generator import Generator as Generator
    from iglu_marl.language.goals import GoalSpace as GoalSpace
    from iglu_marl.language.grammar.constructions import constructions as constructions
    from iglu_marl.language.instructions import parse as parse
    from iglu_marl.language.instructions import render as render
    from iglu_marl.language.instructions import say as say
    from iglu_marl.language.references import At as At
    from iglu_marl.language.references import Blocks as Blocks
    from iglu_marl.language.references import Context as Context
    from iglu_marl.language.repair import Understanding as Understanding
    from iglu_marl.language.repair import understand as understand
    from iglu_marl.language.scene.graph import Scene as Scene
    from iglu_marl.language.scene.interpreter import answer as answer
    from iglu_marl.language.scene.program import Program as Program
    from iglu_marl.language.shapes import Shape as Shape
    from iglu_marl.language.verbs import Build as Build
    from iglu_marl.language.verbs import Instruction as Instruction
    from iglu_marl.language.verbs import Place as Place
    from iglu_marl.language.verbs import done as done
    from iglu_marl.language.verbs import outcomes as outcomes
    from iglu_marl.language.verbs import progress as progress
    from iglu_marl.language.vocabulary import TemplateCodec as TemplateCodec
    from iglu_marl.language.vocabulary import make_codec as make_codec

__getattr__, __dir__, __all__ = lazy_exports(__name__)
