"""Language over the building zone: instructions, small talk, and vocabularies for token chat."""

from __future__ import annotations

from iglu_marl.language.instructions import Action, Edit, Failure, Reason, parse, render, wordings
from iglu_marl.language.talk import Said, Talk, read, say
from iglu_marl.language.vocabulary import SymbolCodec, TemplateCodec, make_codec

__all__ = [
    "Action",
    "Edit",
    "Failure",
    "Reason",
    "Said",
    "SymbolCodec",
    "Talk",
    "TemplateCodec",
    "make_codec",
    "parse",
    "read",
    "render",
    "say",
    "wordings",
]
