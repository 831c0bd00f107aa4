"""A predictor that combines the grammar with a trained model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import Role
from iglu_marl.data.situations import Predictor, Situation
from iglu_marl.language import Context, Discourse, Failure


@dataclass
class Hybrid:
    """A predictor that asks the grammar first, then the model.

    What the architect said since the builder last did something is heard as by the scripted builder. If all of it can
    be done, that is the prediction. Else it is the model's.
    """

    model: Predictor

    def __call__(self, situation: Situation) -> Any:
        """Return the world afterwards, or actions."""
        world = self._read(situation)
        return self.model(situation) if world is None else world

    @property
    def fingerprint(self) -> str:
        """Hash of the model."""
        return getattr(self.model, "fingerprint", "")

    def _read(self, situation: Situation) -> npt.NDArray[np.int8] | None:
        """Return the world that all new requests lead to; None if there is none, or if one cannot be followed."""
        discourse, world, failed, followed = Discourse(), situation.grid, False, False
        discourse.context = _context(situation)
        for said in situation.dialogue[situation.new_from :]:
            heard = discourse.hear(said.text, world) if said.role is Role.ARCHITECT else None
            if heard is None or heard.act != "request":
                continue
            failed = isinstance(heard.found, Failure)
            if heard.instruction is not None and not isinstance(heard.found, Failure):
                discourse.follow(heard.instruction, world, heard.found[0])
                world, followed = heard.found[0].grid.astype(np.int8), True
            elif heard.question is None:
                return None
        return world if followed and not failed else None


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
