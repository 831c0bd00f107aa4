"""A predictor that combines the grammar with a trained model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from iglu_marl import Role
from iglu_marl.core.grid import NetAction
from iglu_marl.evaluation.action_prediction import Situation
from iglu_marl.language import Context, Failure, parse_small_talk
from iglu_marl.language.repair import Understanding, understand, understand_answer

if TYPE_CHECKING:
    from iglu_marl.agents.learned.checkpoint import TrainedModel
    from iglu_marl.agents.learned.language import LanguageModel


@dataclass
class Hybrid:
    """A predictor that asks the grammar first, then the model.

    What the architect said since the builder last did something is read by the grammar, one utterance after the other;
    an utterance that lacks something may be completed by the next. If all of it can be done, that is the prediction.
    Else it is the model's.
    """

    model: TrainedModel | LanguageModel

    def __call__(self, situation: Situation) -> npt.NDArray[np.int8] | list[NetAction]:
        """Return the world afterwards, or actions."""
        read_as = self._read(situation)
        return self.model(situation) if isinstance(read_as, Understanding) or read_as is None else read_as

    @property
    def fingerprint(self) -> str:
        """Hash of the model."""
        return self.model.fingerprint

    def _read(self, situation: Situation) -> npt.NDArray[np.int8] | Understanding | None:
        """Return the world that all new utterances lead to, or the one that failed; None without any."""
        world, context = situation.grid, _context(situation)
        failed: Understanding | None = None
        understood = False
        for said in situation.dialogue[situation.new_from :]:
            if said.role is not Role.ARCHITECT:
                continue
            heard = None
            if failed is not None and failed.question is not None:
                heard = understand_answer(failed, said.text, world, context)
            elif failed is not None and failed.instruction is not None:  # understood, but cannot be followed
                return failed
            elif parse_small_talk(said.text) is not None:  # a greeting, say
                continue
            heard = heard or understand(said.text, world, context)
            if isinstance(heard.found, Failure):
                failed = heard
                continue
            failed, understood = None, True
            context = context.after(heard.instruction, world, heard.found[0])
            world = heard.found[0].grid.astype(np.int8)
        if failed is not None:
            return failed
        return world if understood else None


def _context(situation: Situation) -> Context:
    """Return the context of the new utterances: earlier actions, and the builder's pose."""
    cells = [tuple(action.cell for action in part) for part in situation.history]
    pose: Any = situation.pose
    return Context(
        last=cells[-1] if cells else (),
        earlier=tuple(cells[:-1]),
        yaw_deg=None if pose is None else pose[3],
        position=None if pose is None else tuple(pose[:3]),
    )
