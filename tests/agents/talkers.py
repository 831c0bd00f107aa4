"""Partners of the agents under test: an architect with prepared lines, and people in either place."""

from __future__ import annotations

from typing import Any

import numpy as np

import iglu_marl
from iglu_marl import Controls, Role, Task, Worlds
from iglu_marl.agents import ScriptedArchitect, ScriptedBuilder
from iglu_marl.core.grid import blocks_to_grid, cell_index, grid_to_blocks
from iglu_marl.language import CellEdit, TemplateCodec, parse

SHAPE = (9, 11, 11)
EMPTY = np.zeros(SHAPE, np.int32)


class Speaker:
    """An architect that says given lines, one a turn, and then nothing."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines

    def reset(self, role: Role, seed: int | None) -> None:
        self.left = list(self.lines)

    def act(self, observation: Any) -> str:
        return self.left.pop(0) if self.left else ""

    def close(self) -> None:
        pass


class Person:
    """A person in the place of the builder: says things, changes the world, and hears a scripted architect.

    moves: cells by which the person walks before each utterance; 0: the test moves it by `pose`.
    """

    def __init__(
        self, target: np.ndarray, grid: np.ndarray = EMPTY, *, moves: float = 0.1, **options: Any
    ) -> None:
        self.agent = ScriptedArchitect(**options)
        self.agent.reset(Role.ARCHITECT, 0)
        self.target, self.grid = target.astype(np.int32), grid.astype(np.int32)
        self.pose, self.moves = np.array((0.0, 0.63, 0.0, 0.0, 0.0)), moves
        self.dialogue = iglu_marl.Dialogue()

    def says(self, text: str = "") -> str:
        """Return what the architect says then."""
        self.dialogue = self.dialogue.say("builder", text)
        self.pose = self.pose + (self.moves, 0.0, 0.0, 0.0, 0.0)
        observation = {
            "dialog": self.dialogue.text,
            "target_grid": self.target,
            "grid": self.grid.copy(),
            "agentPos": self.pose,
        }
        reply: str = self.agent.act(observation)
        self.dialogue = self.dialogue.say("architect", reply)
        return reply

    def places(self, *blocks: tuple[int, int, int, int]) -> None:
        for x, y, z, color in blocks:
            self.grid[cell_index(x, y, z)] = color

    def obeys(self, text: str) -> None:
        """Carry out an instruction about one block."""
        edit = parse(text)
        assert isinstance(edit, CellEdit), text
        assert self.grid[cell_index(*edit.cell)] == (edit.old_color or 0)
        self.places((*edit.cell, edit.after))


class Instructor:
    """A person in the place of the architect, with a scripted builder in a world of its own.

    `tell` and `says` leave out the example requests of a refusal, `step` does not.
    """

    def __init__(
        self,
        *blocks: tuple[int, int, int, int],
        controls: Any = "flying",
        tokens: bool = False,
        select_and_place: bool = False,
    ) -> None:
        self.agent = ScriptedBuilder(controls, can_ask=True, select_and_place=select_and_place)
        self.agent.reset(Role.BUILDER, 0)
        self.controls = Controls(controls, can_yield=True, select_and_place=select_and_place)
        self.world = Worlds(1)
        self.world.spawn(0, Task("", EMPTY, starting_grid=blocks_to_grid(blocks)))
        self.dialogue = iglu_marl.Dialogue()
        self.tokens = tokens

    def observe(self) -> dict[str, Any]:
        dialog: Any = self.dialogue.text
        if self.tokens:
            codec = TemplateCodec()
            marks = {Role.ARCHITECT: codec.size, Role.BUILDER: codec.size + 1}
            said = [token for part in self.dialogue for token in (marks[part.role], *codec.encode(part.text))]
            dialog = np.array(said[-64:] + [0] * (64 - len(said)), np.int32)
        pose, grid = self.world.seen_pose[0].copy(), self.world.grid[0].astype(np.int32)
        return {"dialog": dialog, "agentPos": pose, "grid": grid}

    def step(self, text: str = "") -> str:
        """Say something, and return what the builder says in its next step."""
        self.dialogue = self.dialogue.say("architect", text)
        action = self.agent.act(self.observe())
        reply: str = TemplateCodec().decode(action["say"]) if self.tokens else action["say"]
        records, index = self.controls.yielding() if reply else self.controls.encode(action["act"])
        self.world.step(records[index : index + 1])
        self.dialogue = self.dialogue.say("builder", reply)
        return reply

    def _plain_step(self, text: str = "") -> str:
        return self.step(text).partition(" I can read requests like ")[0]

    def tell(self, text: str, limit: int = 400) -> str:
        """Say something and wait for the reply; return "" when none comes."""
        return next((reply for said in (text, *[""] * limit) if (reply := self._plain_step(said))), "")

    def says(self, text: str) -> list[str]:
        """Return all that the builder says until it has nothing left to do."""
        replies = [self._plain_step(text)]
        while not self.agent.idle and len(replies) < 400:
            replies.append(self._plain_step())
        return [reply for reply in replies if reply]

    @property
    def blocks(self) -> list[tuple[int, int, int, int]]:
        return sorted(grid_to_blocks(self.world.grid[0]))
