"""An architect that names block after block in plain words, and checks what became of each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, Role
from iglu_marl.agents.ears import DIALOG_KEYS, Ears, need
from iglu_marl.agents.settings import Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.grid import Cell
from iglu_marl.language import Edit, Said, Talk, read, render, say
from iglu_marl.planning import order_edits

PATIENCE = 6  # turns without anything visible happening before something new is said
REPEAT_AFTER = 60  # turns of waiting before the same is said again, whatever is happening
PERSISTENCE = 3  # tries at one block before another is asked for instead
MAX_REFUSALS = 2  # by each block that is left, before the rest is given up

_HINT = 'let it see it: architect_sees=("target_grid", "grid", "dialog", "pose")'
_NOT_HEARD = frozenset(
    {
        Talk.NOT_UNDERSTOOD,
        Talk.UNKNOWN_WORD,
        Talk.WHICH_COLOR,
        Talk.WHICH_HEIGHT,
        Talk.WHICH_PLACE,
        Talk.OUTSIDE,
    }
)
_REFUSED = frozenset({Talk.NO_BLOCKS, Talk.OCCUPIED, Talk.NOTHING_THERE, Talk.WRONG_COLOR, Talk.UNREACHABLE})


class ScriptedArchitect:
    """Says one edit per turn in the plain phrasing of `iglu_marl.language`, in an order in which things can be built.

    It looks at `target_grid` and `grid` and takes the target where the map has it, neither shifted nor turned. It
    keeps silent for as long as the builder is seen to work on what was asked, asks for wrong blocks to be removed or
    changed, says an instruction again in other words when it was not understood, and comes back later to what cannot
    be done now.

    controls: how the builder moves, which decides what is a good order. codec: the vocabulary of token chat (None:
    text, or the template vocabulary when the dialog is seen to hold tokens). message_length: of token utterances.
    patience: turns in which nothing visible happens before it goes on; repeat_after: turns before it repeats itself
    even so. varied: random wordings instead of the plainest.
    """

    def __init__(
        self,
        *,
        controls: ControlsName = "walking",
        codec: Codec | None = None,
        message_length: int = 16,
        patience: int = PATIENCE,
        repeat_after: int = REPEAT_AFTER,
        varied: bool = False,
    ) -> None:
        if patience < 1 or repeat_after < 1:
            raise AgentError(f"patience is {patience} and repeat_after {repeat_after}, expected 1 or more")
        self.controls: ControlsName = controls
        self.patience, self.repeat_after, self.varied = patience, repeat_after, varied
        self._ears = Ears(codec, message_length)
        self._forget(None)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> ScriptedArchitect:
        """One that fits an environment's chat and its builder."""
        settings = Settings.of(env)
        fitting: dict[str, Any] = {"controls": settings.controls}
        if settings.tokens:
            fitting |= {"codec": settings.codec, "message_length": settings.message_length}
        return cls(**{**fitting, **options})

    def _forget(self, seed: int | None) -> None:
        self._ears.forget()
        self._rng = np.random.default_rng(seed)
        self._asked: Edit | None = None
        self._base: npt.NDArray[Any] | None = None  # the build when that was asked
        self._last = b""  # what could be seen a turn ago
        self._goal = b""
        self._still = self._waited = 0
        self._sees_pose = False
        self._tries: Counter[Cell] = Counter()
        self._refusals: Counter[Cell] = Counter()
        self._order: list[Cell] = []
        self._closed = False

    # -- Agent

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode; raises `AgentError` for another role than the architect's."""
        if role != Role.ARCHITECT:
            raise AgentError(f"a ScriptedArchitect cannot play the {role}")
        self._forget(seed)

    def act(self, observation: Any) -> Any:
        """The next instruction, or silence. Raises `AgentError` when target_grid or grid is not observed."""
        target = need(observation, ("target_grid",), "ScriptedArchitect", _HINT)
        grid = need(observation, ("grid",), "ScriptedArchitect", _HINT)
        answer = self._answer(observation)
        self._watch(grid, observation.get("agentPos"))
        if (goal := target.tobytes()) != self._goal:  # of the next turn of a progressive task
            self._goal, self._tries, self._refusals = goal, Counter(), Counter()
        return self._ears.utter(self._speak(grid, target, answer))

    def close(self) -> None:
        """Nothing is held."""

    # -- looking and listening

    def _answer(self, observation: Any) -> Said | None:
        """The latest new words of the builder, as far as they are understood."""
        dialog = next((observation[key] for key in DIALOG_KEYS if key in observation), None)
        fresh = () if dialog is None else self._ears.hear(dialog)
        texts = [utterance.text for utterance in fresh if utterance.role == Role.BUILDER]
        return read(texts[-1]) if texts else None

    def _watch(self, grid: npt.NDArray[Any], pose: Any) -> None:
        """Count the turns in which nothing visible happened."""
        self._sees_pose = pose is not None
        seen = grid.tobytes() + (b"" if pose is None else np.asarray(pose).tobytes())
        self._still = self._still + 1 if seen == self._last else 0
        self._last = seen
        self._waited += 1

    def _at_work(self, grid: npt.NDArray[Any], target: npt.NDArray[Any]) -> bool:
        """Whether the last instruction is not yet done, or not yet tidied up after."""
        assert self._asked is not None
        assert self._base is not None
        if _color_at(grid, self._asked.cell) != self._asked.after:
            return _color_at(target, self._asked.cell) == self._asked.after  # else it is no longer wanted
        odd = (grid != target) & (grid != self._base)
        return bool(odd.any())

    # -- speaking

    def _speak(self, grid: npt.NDArray[Any], target: npt.NDArray[Any], answer: Said | None) -> str:
        if self._asked is None or not self._at_work(grid, target):
            return self._next(grid, target)
        talk, cell = None if answer is None else answer.talk, self._asked.cell
        patience = self.patience if self._sees_pose else self.repeat_after
        if talk in _REFUSED:
            self._refusals[cell] += 1
            self._tries[cell] += PERSISTENCE
        elif talk not in _NOT_HEARD and self._still < patience:
            if self._waited < self.repeat_after or _color_at(grid, cell) == self._asked.after:
                return ""
            self._waited = 0
            return self._words(self._asked)
        self._tries[cell] += 1
        return self._next(grid, target, other_words=talk in _NOT_HEARD)

    def _words(self, edit: Edit, other_words: bool = False) -> str:
        return render(edit, self._rng if self.varied or other_words else None)

    def _next(self, grid: npt.NDArray[Any], target: npt.NDArray[Any], other_words: bool = False) -> str:
        """Ask for the next edit; say the closing line when there is none, once."""
        self._still = self._waited = 0
        if self._asked is not None and _color_at(grid, self._asked.cell) == self._asked.after:
            self._tries[self._asked.cell] = 0
            self._refusals.clear()  # what could not be done before may be possible now
        cells = self._open_cells(grid, target)
        if any(self._refusals[cell] < MAX_REFUSALS for cell in cells):
            # The first of those that were tried least.
            cell = min(cells, key=lambda cell: self._tries[cell] // PERSISTENCE)
            self._asked = Edit.between(cell, _color_at(grid, cell), _color_at(target, cell))
            self._base = grid.copy()
            self._closed = False
            return self._words(self._asked, other_words)
        self._asked = None
        if self._closed:
            return ""
        self._closed = True
        return say(Talk.GIVE_UP if cells else Talk.COMPLETE)

    def _open_cells(self, grid: npt.NDArray[Any], target: npt.NDArray[Any]) -> list[Cell]:
        """The cells that are not as they shall be, in the order thought of at first, while that will do."""
        differing = int(np.count_nonzero(grid != target))
        cells = [cell for cell in self._order if _color_at(grid, cell) != _color_at(target, cell)]
        if len(cells) < differing:  # the world has changed in ways that were not asked for
            self._order = list(dict.fromkeys(edit.cell for edit in order_edits(grid, target, self.controls)))
            cells = self._order
        return cells


def _color_at(grid: npt.NDArray[Any], cell: Cell) -> int:
    x, y, z = cell
    return int(grid[y + 1, x + 5, z + 5])
