"""Evaluation: metrics of games and actions, and every architect with every builder on the same tasks.

`evaluate` plays and measures; `metrics` has the measures by themselves, `language_metrics` those of messages;
`action_prediction` asks what a builder does next, `clarification` when it asks back, and what. Members load when they
are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import members

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.evaluation.evaluation import DEFAULTS as DEFAULTS
    from iglu_marl.evaluation.evaluation import Evaluation as Evaluation
    from iglu_marl.evaluation.evaluation import evaluate as evaluate
    from iglu_marl.evaluation.open_loop import OpenLoop as OpenLoop
    from iglu_marl.evaluation.open_loop import best_open_loop as best_open_loop
    from iglu_marl.evaluation.results import MEASURES as MEASURES
    from iglu_marl.evaluation.results import is_scored as is_scored
    from iglu_marl.evaluation.selection import digest as digest
    from iglu_marl.evaluation.selection import factory as factory
    from iglu_marl.evaluation.selection import named as named
    from iglu_marl.evaluation.selection import tasks_of as tasks_of

__getattr__, __dir__, __all__ = members(
    __name__, ("action_prediction", "clarification", "language_metrics", "metrics")
)
