"""Language over the building zone: instructions, questions, goals, and vocabularies for token chat.

Exports are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:
    from iglu_marl.language.blocks import CellEdit as CellEdit
    from iglu_marl.language.blocks import EditKind as EditKind
    from iglu_marl.language.blocks import Failure as Failure
    from iglu_marl.language.blocks import Reason as Reason
    from iglu_marl.language.dialogue_acts import DialogueAct as DialogueAct
    from iglu_marl.language.dialogue_acts import SmallTalk as SmallTalk
    from iglu_marl.language.dialogue_acts import parse_small_talk as parse_small_talk
    from iglu_marl.language.discourse import Discourse as Discourse
    from iglu_marl.language.generator import Generator as Generator
    from iglu_marl.language.goals import GoalSpace as GoalSpace
    from iglu_marl.language.goals import GoalTasks as GoalTasks
    from iglu_marl.language.grammar.constructions import Construction as Construction
    from iglu_marl.language.grammar.constructions import constructions as constructions
    from iglu_marl.language.instructions import fits as fits
    from iglu_marl.language.instructions import parse as parse
    from iglu_marl.language.instructions import render as render
    from iglu_marl.language.instructions import render_place as render_place
    from iglu_marl.language.instructions import say as say
    from iglu_marl.language.instructions import wordings as wordings
    from iglu_marl.language.phrases import Link as Link
    from iglu_marl.language.phrases import Phrase as Phrase
    from iglu_marl.language.questions import Question as Question
    from iglu_marl.language.questions import parse as parse_question  # noqa: F401
    from iglu_marl.language.references import At as At
    from iglu_marl.language.references import Beside as Beside
    from iglu_marl.language.references import Blocks as Blocks
    from iglu_marl.language.references import Context as Context
    from iglu_marl.language.repair import Understanding as Understanding
    from iglu_marl.language.repair import understand as understand
    from iglu_marl.language.repair import understand_answer as understand_answer
    from iglu_marl.language.scene import Scene as Scene
    from iglu_marl.language.scene.interpreter import Programs as Programs
    from iglu_marl.language.scene.interpreter import answer as answer
    from iglu_marl.language.scene.program import Program as Program
    from iglu_marl.language.shapes import Direction as Direction
    from iglu_marl.language.shapes import Shape as Shape
    from iglu_marl.language.verbs import Build as Build
    from iglu_marl.language.verbs import ExpectedWorld as ExpectedWorld
    from iglu_marl.language.verbs import Instruction as Instruction
    from iglu_marl.language.verbs import Place as Place
    from iglu_marl.language.verbs import Sequence as Sequence
    from iglu_marl.language.verbs import done as done
    from iglu_marl.language.verbs import expand as expand
    from iglu_marl.language.verbs import outcomes as outcomes
    from iglu_marl.language.verbs import progress as progress
    from iglu_marl.language.vocabulary import SymbolCodec as SymbolCodec
    from iglu_marl.language.vocabulary import TemplateCodec as TemplateCodec
    from iglu_marl.language.vocabulary import make_codec as make_codec

_MOVED = {  # module -> names that were exported until 0.2; import them from the module
    "generator": "Record",
    "goals": "Goal GoalTask statement_goals",
    "placing": "Corners Sides Spots",
    "references": "Between Edge Floating Free LastBlock Level NextTo PartOf Portion Recent Remaining Spot Union",
    "scene": "Thing",
    "shapes": "Kind shape_cells",
    "verbs": "Clear Copy Extend Facing Mirror Move Pick Remove Replace Resize Rotate Undo",
}
_RENAMED = {  # old name -> where it is now
    "Again": "verbs:Repeat",
    "Amend": "verbs:Correct",
    "Check": "verbs:AssertCount",
    "Either": "verbs:Ambiguous",
    "It": "references:Anaphor",
    "Look": "verbs:SetFocus",
    "New": "placing:BlockSpec",
    "Put": "verbs:PlaceGoal",
    "Said": "dialogue_acts:SmallTalk",
    "Them": "references:PluralAnaphor",
    "Then": "verbs:Sequence",
    "You": "references:BuilderPosition",
    "answered": "repair:understand_answer",
    "clarified": "verbs:bind_referent",
    "read": "dialogue_acts:parse_small_talk",
}
_RENAMED |= {name: f"{module}:{name}" for module, names in _MOVED.items() for name in names.split()}

__getattr__, __dir__, __all__ = lazy_exports(
    __name__, renamed={old: f"{__name__}.{place}" for old, place in _RENAMED.items()}
)
