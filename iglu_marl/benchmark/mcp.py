"""The games of the benchmark of language models as tools of an MCP server: look, place, remove, say, new_game.

Needs the extra `mcp`. A server plays one game at a time, for one client. Blocks are collected until `say`, which ends
the turn, so that a turn is one reply as in `run_models`, and is judged in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from functools import wraps
from pathlib import Path
from typing import Any

from iglu_marl.agents.llm.reading import Unreadable, read_order
from iglu_marl.benchmark.models import GameRow, ModelLevel, ModelResult, outcome
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.extras import extra
from iglu_marl.core.files import made_folder

INSTRUCTIONS = (
    "A building game. look shows the rules and the state. A builder collects blocks with place and remove; say ends "
    "the turn, with an empty text or a question. An architect only says. The game goes on until it reports its result."
)


class ToolGame:
    """A game that is played by calls of tools. Errors of the player are `ValueError`.

    level: a level of `iglu_marl.benchmark.models`. seed: of the tasks. output: folder for the result file; None: none.
    name: of the player in the result.
    """

    def __init__(
        self, level: ModelLevel, seed: int = 0, output: Path | None = None, name: str = "MCP client"
    ) -> None:
        if level.pictures:
            raise ConfigError(f"level is {level.name!r}, expected one without pictures")
        self.level, self.seed, self.output, self.name = level, seed, output, name
        self.rows: dict[int, GameRow] = {}
        self.new_game(0)

    def new_game(self, number: int) -> str:
        """Start a game of the level by its number, from 0, and look."""
        if not 0 <= number < self.level.count:
            raise ValueError(f"number is {number}, expected 0..{self.level.count - 1}")
        self._number, self._edits, self._texts = number, list[dict[str, Any]](), list[str]()
        self._game, self._chat = self.level.start(number, self.seed)
        return self.look()

    def look(self) -> str:
        """Return the rules and the state of the game, or its result."""
        if not self._chat:
            row = self.rows[self._number]
            return f"The game is over: score {row.score:g}, {row.right} of {row.rounds} right. Play another: new_game."
        collected = f"\n\nCOLLECTED\n{json.dumps(self._edits)}" if self._edits else ""
        return "\n\n".join(str(part["content"]) for part in self._chat) + collected

    def place(self, color: str, east: int, north: int, height: int) -> str:
        """Collect a block to place: colour, blocks east and north of the centre (-5..5), height (1 on the ground)."""
        return self._collect(action="place", color=color, east=east, north=north, height=height)

    def remove(self, east: int, north: int, height: int) -> str:
        """Collect a block to remove: blocks east and north of the centre (-5..5), height (1 on the ground)."""
        return self._collect(action="remove", east=east, north=north, height=height)

    def _collect(self, **edit: Any) -> str:
        self._expect_turn()
        if self._game.turn is Role.ARCHITECT:
            raise ValueError("an architect does not build, expected say")
        edits = [*self._edits, edit]
        try:
            read_order(json.dumps({"edits": edits}), self._game.grid, self._game.settings.max_edits)
        except Unreadable as problem:
            raise ValueError(str(problem)) from None
        self._edits = edits
        return f"{len(edits)} collected; say ends the turn."

    def say(self, text: str = "") -> str:
        """End the turn: build what was collected, send a message (empty: none), and look."""
        self._expect_turn()
        reply = {"say": text} if self._game.turn is Role.ARCHITECT else {"edits": self._edits, "say": text}
        self._texts.append(json.dumps(reply))
        self._edits = []
        self._chat = self._game.step(self._texts[-1])[0]
        if not self._chat:
            row = outcome(self.level, self._number, self.seed, self._game)
            self.rows[self._number] = row._replace(requests=len(self._texts), replies=self._texts)
            if self.output is not None:
                self.result().write(made_folder(self.output) / f"{self.level.name}.json")
        return self.look()

    def _expect_turn(self) -> None:
        if not self._chat:
            raise ValueError("the game is over: new_game starts another")

    def result(self) -> ModelResult:
        """Return the finished games as a result."""
        count, today = max(self.rows, default=-1) + 1, datetime.now(timezone.utc).strftime("%Y-%m-%d")
        return ModelResult(
            self.level.name, self.name, count, self.level.digest(self.seed, count), self.seed, {"transport": "mcp"},
            [self.rows[number] for number in sorted(self.rows)], date=today,
        )  # fmt: skip


def make_server(game: ToolGame) -> Any:
    """Return the MCP server of a game; `run()` serves it over standard input and output."""
    with extra("mcp"):
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    server = MCPServer("iglu_marl", instructions=INSTRUCTIONS)

    def explained(tool: Callable[..., str]) -> Callable[..., str]:
        @wraps(tool)
        def call(*given: Any, **named: Any) -> str:
            try:
                return tool(*given, **named)
            except ValueError as problem:
                raise ToolError(str(problem)) from None  # of other errors a client sees no text

        return call

    for tool in (game.look, game.place, game.remove, game.say, game.new_game):
        server.tool()(explained(tool))
    return server
