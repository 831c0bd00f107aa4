"""Evaluation: metrics of games and actions, and every architect with every builder on the same tasks.

| module | contents |
|---|---|
| `evaluate` | plays games and averages their metrics |
| `metrics` | metrics of builds, changes, actions and talk; intervals |
| `action_prediction` | prediction of a builder's next actions |
| `clarification` | when to ask a question, and which one |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.evaluation.evaluation import ImpossibleWarning as ImpossibleWarning
    from iglu_marl.evaluation.evaluation import evaluate as evaluate
    from iglu_marl.evaluation.results import Evaluation as Evaluation
    from iglu_marl.evaluation.selection import tasks_of as tasks_of

__getattr__, __dir__, __all__ = lazy_exports(__name__, ("action_prediction", "clarification", "metrics"))
