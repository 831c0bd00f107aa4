"""Language over the building zone: instructions, questions, goals, and vocabularies for token chat.

Exports are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:
    from iglu_marl.language.generator import Generator as Generator
    from iglu_marl.language.goals import GoalSpace as GoalSpace
    from iglu_marl.language.grammar.constructions import constructions as constructions
    from iglu_marl.language.grammar.dialogue_acts import DialogueAct as DialogueAct
    from iglu_marl.language.grammar.dialogue_acts import parse_small_talk as parse_small_talk
    from iglu_marl.language.grammar.instructions import parse as parse
    from iglu_marl.language.grammar.instructions import render as render
    from iglu_marl.language.grammar.instructions import say as say
    from iglu_marl.language.grammar.vocabulary import TemplateCodec as TemplateCodec
    from iglu_marl.language.grammar.vocabulary import fit_vocabulary as fit_vocabulary
    from iglu_marl.language.grammar.vocabulary import make_codec as make_codec
    from iglu_marl.language.meaning.blocks import CellEdit as CellEdit
    from iglu_marl.language.meaning.blocks import Failure as Failure
    from iglu_marl.language.meaning.context import Context as Context
    from iglu_marl.language.meaning.references import At as At
    from iglu_marl.language.meaning.references import Blocks as Blocks
    from iglu_marl.language.meaning.shapes import Shape as Shape
    from iglu_marl.language.meaning.verbs import Build as Build
    from iglu_marl.language.meaning.verbs import Instruction as Instruction
    from iglu_marl.language.meaning.verbs import Place as Place
    from iglu_marl.language.meaning.verbs import done as done
    from iglu_marl.language.meaning.verbs import outcomes as outcomes
    from iglu_marl.language.meaning.verbs import progress as progress
    from iglu_marl.language.scene.graph import Scene as Scene
    from iglu_marl.language.scene.interpreter import answer as answer
    from iglu_marl.language.scene.program import Program as Program
    from iglu_marl.language.talk.discourse import Discourse as Discourse
    from iglu_marl.language.talk.repair import Understanding as Understanding
    from iglu_marl.language.talk.repair import understand as understand

__getattr__, __dir__, __all__ = lazy_exports(__name__)
