"""One game as text: a chat, the reply to it, and its reward."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from iglu_marl.agents.llm.architect import architect_chat, difference_section
from iglu_marl.agents.llm.builder import builder_chat
from iglu_marl.agents.llm.messages import Message
from iglu_marl.agents.llm.prompting import quote_dialogue
from iglu_marl.agents.llm.reading import Unreadable, read_message, read_order, text_of_calls, text_of_content
from iglu_marl.agents.llm.schemas import TOOLS
from iglu_marl.agents.llm.settings import VIEWS, LLMSettings
from iglu_marl.agents.llm.world_text import describe_edits
from iglu_marl.core.arguments import MAX_SEED, as_count, as_number, check_flags, check_option
from iglu_marl.core.dialogue import Dialogue, Role, Speaker
from iglu_marl.core.errors import ConfigError, StateError
from iglu_marl.core.grid import COLOR_NAMES, BlockGrid, cell_index, color_at
from iglu_marl.core.task import Task, as_task, is_task
from iglu_marl.evaluation.metrics import change_counts, exact_match, intersection_counts
from iglu_marl.evaluation.selection import tasks_of
from iglu_marl.game.config import TEAM_OPTIONS, GameConfig
from iglu_marl.planning import Edit
from iglu_marl.tasks import TaskSource, sample_task
from iglu_marl.tasks.named import as_source
from iglu_marl.tasks.source import open_task
from iglu_marl.text.partners import FREE, Architects, Builders
from iglu_marl.text.seats import TextSeat, block_counts

ROLES = ("builder", "architect", "both")
REWARDS = ("change_f1", "intersection")
OBSERVATIONS = ("full", "delta")
ANSWERS = ("json", "lines", "tools")
GAME_VIEWS = (*VIEWS, "own")
MESSAGE_LENGTH = 200
QUESTION_COST, ERROR_COST = 0.02, 0.1  # a whole game is worth 1
PICTURE = (256, 256)  # height and width of the builder's view

ChatMessage = dict[str, Any]
"""A message of a chat in the usual format: {"role": …, "content": …}."""


@runtime_checkable
class GamePartner(Protocol):
    """A partner that runs the game: it may change `target` and `grid`, and decides when the game is over."""

    over: bool

    def reset(self, task: Task, seed: int) -> None:
        """Start an episode."""

    def answer(self, game: TextGame, said: str) -> None:
        """React to a reply (said: its message), or speak first."""


class TextGame:
    """The building game for language models: `reset` returns a chat, `step` takes the reply to it.

    The model's builder has no body: its edits happen at once, as far as it has blocks. A partner who builds flies. The
    same seed gives the same game. A game can be pickled at any time, if its partner can.

    Args:
        role: role of the model: "builder", "architect" or "both"; in a team, it plays all agents of the role.
        partner: name of the other agent (see `iglu_marl.agents.registry`); "none" for a builder that is given the
            dialogue of the task; or an own `GamePartner`.
        tasks: anything that `iglu_marl.evaluation.tasks_of` accepts; "random" samples structures of up to 8 blocks.
            None: those of the team, if it has some, else "random".
        observations: "full": each chat is complete; "delta": after the first, only the new part, to be appended.
        answers: format that the rules ask for, "json" or "lines" (an architect: the plain message), or "tools"; all are
            read.
        view: how builds are shown: "layers", "coordinates", or "own": to a builder only the picture of its view, as a
            part of a message.
        show_changes: whether an architect sees the remaining changes, as instructions that it could copy.
        reward: gain of a turn in "change_f1" (F1 of the changes against the start) or "intersection" (blocks in the
            maximal intersection).
        question_cost: subtracted for a message of the builder.
        word_cost: subtracted for each word.
        error_cost: subtracted for an unreadable reply.
        invariant: whether the structure may stand anywhere; False: only at the target's place.
        max_replies: limit per game; None: 2 per block to change plus 10 (without a partner: 1). For a team that the
            model plays, 1 per agent and block plus 10.
        max_edits: limit per reply.
        history: number of newest utterances that are shown.
        prompts: folder with your own prompts.
        rules: what else the model reads before the game, such as its limits.
        team: name of a team, see `iglu_marl.env`; None: one architect and one builder.
        team_options: `architects`, `builders`, `sees`, `hearers` and `inventories` of `GameConfig`.

    Raises:
        ConfigError: for invalid arguments.

    """

    def __init__(
        self,
        role: str = "builder",
        partner: str | GamePartner = "scripted",
        tasks: Any = None,
        *,
        observations: str = "full",
        answers: str = "json",
        view: str = "layers",
        show_changes: bool = False,
        reward: str = "change_f1",
        question_cost: float = QUESTION_COST,
        word_cost: float = 0.0,
        error_cost: float = ERROR_COST,
        invariant: bool = False,
        max_replies: int | None = None,
        max_edits: int = 30,
        history: int = 40,
        prompts: str = "",
        rules: str = "",
        team: str | None = None,
        **team_options: Any,
    ) -> None:
        for name, value, known in (
            ("role", role, ROLES), ("observations", observations, OBSERVATIONS), ("reward", reward, REWARDS),
            ("view", view, GAME_VIEWS), ("answers", answers, ANSWERS),
        ):  # fmt: skip
            check_option(name, value, known)
        check_flags(show_changes=show_changes, invariant=invariant)
        question_cost = as_number("question_cost", question_cost)
        word_cost, error_cost = as_number("word_cost", word_cost), as_number("error_cost", error_cost)
        if max_replies is not None:
            max_replies = as_count("max_replies", max_replies, 1, 2**31 - 1, " or None")
        if not isinstance(partner, (str, GamePartner)):
            raise ConfigError(f"partner is {partner!r:.80}, expected an agent's name, or 'none'")
        if partner == "none" and role != "builder":
            raise ConfigError(f"partner is 'none' and role {role!r}, expected a partner, or role 'builder'")
        self.role, self.partner, self.observations = role, partner, observations
        self.show_changes, self.reward = show_changes, reward
        self.question_cost, self.word_cost, self.error_cost = question_cost, word_cost, error_cost
        self.invariant, self.max_replies = invariant, max_replies
        self.config = _team_config(team, team_options)
        if role != "both" and not (self.config.architects and self.config.builders):
            raise ConfigError(f"role is {role!r}, expected 'both' without architects")
        self._tasks = _task_source(tasks, self.config)
        self.rules, self.view = rules, view
        shown: dict[str, Any] = {"view": view, "pictures": False}
        if view == "own":
            shown = {"view": "coordinates", "pictures": True}
        settings = LLMSettings("text game", **shown, max_edits=max_edits, history=history, prompts=prompts)
        self.settings = settings
        self.seats = {agent: TextSeat(self, agent, answers) for agent in self.config.agents}
        self._seats = [seat for seat in self.seats.values() if role in (seat.role.value, "both")]
        self._partner = _partner(role, partner, self.config)
        self._in_progress = False

    @property
    def turn(self) -> Role:
        """Role of the next reply."""
        return self._seats[self._next].role

    @property
    def agent(self) -> str:
        """Name of the agent of the next reply, such as "builder_0"."""
        return self._seats[self._next].agent

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Tools of the next reply."""
        return TOOLS[self.turn]

    @property
    def score(self) -> float:
        """Progress: 0 at the start, 1 at the target; "intersection" can fall below 0."""
        return self._score(self.grid)

    @property
    def completed(self) -> bool:
        """Whether the build is the target."""
        return exact_match(self.grid, self.target, invariant=self.invariant)

    def reset(self, seed: int, task: Any = None) -> list[ChatMessage]:
        """Start an episode, and return the first chat. task: used instead of sampling one by the seed."""
        rng = np.random.default_rng(as_count("seed", seed, 0, MAX_SEED))
        chosen = self._sample_task(rng) if task is None else open_task(as_task(task))
        self.seed, self.task = seed, chosen.in_ids("iglu")
        self.start: BlockGrid = self.task.start_grid.copy()
        self.target: BlockGrid = self.task.target_grid.copy()
        self.grid: BlockGrid = self.start.copy()
        self.dialogue = self.task.dialogue if self.partner == "none" else Dialogue()
        for seat in self._seats:
            seat.begin(seed)
        self.counts: Counter[str] = Counter()
        self.pose = np.zeros(5)  # the builder's x, y, z, pitch and yaw, as it is shown
        changes = int(np.count_nonzero(self.start != self.target))
        self._limit = self.max_replies or (
            1 if self.partner == "none" else max(2, len(self._seats)) * changes + 10
        )
        self._in_progress = True
        self._next, self.said = 0, dict[str, str]()
        if self._partner is not None:
            self._partner.reset(self.task, seed)
            if self.role == "builder":
                self._partner.answer(self, "")
        return self._chat()

    def begin_round(self, start: BlockGrid, target: BlockGrid) -> None:
        """Continue with another world and target, and with all blocks."""
        self.start, self.target, self.grid = start, target, start.copy()
        for seat in self._seats:
            seat.used[:] = 0

    def step(self, reply: Any) -> tuple[list[ChatMessage], float, bool, dict[str, Any]]:
        """Take a reply, and return (messages, reward, done, info); `messages` is [] if the game is over.

        Args:
            reply: a text; a message with "content" or "tool_calls"; an order {"edits": [...], "say": ""} or
                {"say": ""}; or a list of edits, as JSON objects or `Edit`.

        Returns:
            The next chat, the reward of the reply's agent, and the outcome. `info` has score, gain, completed,
            truncated, problem (why the reply could not be used), role and agent (of the reply), said, edits (their
            number), replies, task, and `rewards` of all agents of the model: they share gains, each pays for its own
            reply.

        Raises:
            StateError: if no game is in progress.

        """
        if not self._in_progress:
            raise StateError("no game is in progress: call reset() before step()")
        text, seat, before = _reply_text(reply), self._seats[self._next], self.score
        client, role = seat.client, seat.role
        cost, said, made, problem = 0.0, "", 0, ""
        try:
            said, made = (self._apply_message if role is Role.ARCHITECT else self._apply_order)(seat, text)
        except Unreadable as reason:
            problem, cost = str(reason), self.error_cost
        client.problem = problem
        self.counts.update(replies=1, unread=bool(problem), words=len(said.split()), edits=made)
        if said:
            cost += self.word_cost * len(said.split()) + (self.question_cost if role is Role.BUILDER else 0.0)
            self.counts["questions"] += role is Role.BUILDER
        gain = self.score - before
        if isinstance(self.partner, GamePartner):  # it ends the game, and may change the target
            if not problem:
                self._next = (self._next + 1) % len(self._seats)
                self.partner.answer(self, said)
            completed = self.partner.over
        else:
            if not (problem or self.completed):
                self._next_turn(seat, said)
            gain, completed = self.score - before, self.completed
        truncated = not completed and self.counts["replies"] >= self._limit
        rewards = {one.agent: gain - cost * (one is seat) for one in self._seats}
        info = {
            "role": role.value, "agent": seat.agent, "score": self.score, "gain": gain, "completed": completed,
            "truncated": truncated, "problem": problem, "said": said, "edits": made, "replies": self.counts["replies"],
            "task": self.task.task_id, "rewards": rewards,
        }  # fmt: skip
        self._in_progress = not (completed or truncated)
        messages = self._chat() if self._in_progress else []
        return messages, rewards[seat.agent], not self._in_progress, info

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def _apply_message(self, seat: TextSeat, text: str) -> tuple[str, int]:
        said = seat.client.clip_message(read_message(text), MESSAGE_LENGTH)
        self.say(seat.place.me, said)
        return said, 0

    def say(self, speaker: Speaker, text: str) -> None:
        """Add a message to the dialogue. speaker: role and number (None in a game of two)."""
        self.dialogue = self.dialogue.say(speaker[0], text, speaker[1])

    def _apply_order(self, seat: TextSeat, text: str) -> tuple[str, int]:
        order = read_order(text, self.grid, seat.client.settings.max_edits)
        after = self.grid.copy()
        for edit in order.edits:
            after[cell_index(*edit.cell)] = edit.color
        used = seat.used + block_counts(after) - block_counts(self.grid)
        for color, left in enumerate(seat.stock - used, start=1):
            if left < 0:
                raise Unreadable(f"there are {-int(left)} too few {COLOR_NAMES[color]} blocks for this")
        said = seat.client.clip_message(order.say, MESSAGE_LENGTH)
        self.counts["wrong"] += int(np.count_nonzero((after != self.grid) & (after != self.target)))
        self.grid, seat.used = after, used
        seat.done.note(self.dialogue.of_speakers(seat.heard), describe_edits(order.edits, after))
        self.say(seat.place.me, said)
        return said, len(order.edits)

    def _next_turn(self, seat: TextSeat, said: str) -> None:
        self.said[seat.agent] = said
        self._next = (self._next + 1) % len(self._seats)
        if self._next == 0 and self._partner is not None:
            before = self.grid
            self._partner.answer(self, said)
            wrong = (self.grid != before) & (self.grid != self.target)
            self.counts["wrong"] += int(np.count_nonzero(wrong))

    def _score(self, grid: BlockGrid) -> float:
        if self.reward == "change_f1":
            return change_counts(self.start, self.target, grid, invariant=self.invariant).f1
        counts = [
            intersection_counts(one, self.target, invariant=self.invariant) for one in (self.start, grid)
        ]
        most = counts[1].asked - counts[0].right
        return (counts[1].right - counts[0].right) / max(1, most)

    def _sample_task(self, rng: np.random.Generator) -> Task:
        if isinstance(self._tasks, TaskSource):
            return sample_task(self._tasks, rng)
        chosen: Task = self._tasks[int(rng.integers(len(self._tasks)))]
        return chosen

    def _chat(self) -> list[ChatMessage]:
        seat = self._seats[self._next]
        client = seat.client
        client.dialogue = list(self.dialogue.of_speakers(seat.heard))
        full = self.observations == "full" or seat.shown is None
        messages = self._full_chat(seat) if full else (Message("user", self._delta_chat(seat)),)
        if full and self.rules:
            system = messages[0]
            messages = (system._replace(text=f"{system.text}\n\nThis game\n{self.rules}"), *messages[1:])
        seat.shown = len(client.dialogue), self.grid.copy()
        return [message.as_chat() for message in messages]

    def _full_chat(self, seat: TextSeat) -> tuple[Message, ...]:
        client = seat.client
        said = client.dialogue[-client.settings.history :]
        seen = {"grid": self.grid, **seat.target(self.target)}
        if seat.role is Role.ARCHITECT:
            shown: dict[str, Any] = {
                "limit": MESSAGE_LENGTH,
                "show_changes": self.show_changes,
                "seat": seat.place,
            }
            return architect_chat(client, said, seen, **shown)
        seen |= {"agentPos": self.pose, "inventory": seat.stock - seat.used}
        if self.view == "own":
            from iglu_marl.rendering.painter import Painter

            x, y, z, pitch, yaw = self.pose
            seen["pov"] = Painter().render_scenes(self.grid[None], [(x, y, z, yaw, pitch)], PICTURE)[0]
        can_ask = self.partner != "none" and getattr(self.partner, "can_ask", True)
        done = seat.done.of(client.dialogue)
        grid = None if self.view == "own" else self.grid
        return builder_chat(
            client, said, seen, grid, limit=MESSAGE_LENGTH, can_ask=can_ask, done=done, seat=seat.place
        )

    def _delta_chat(self, seat: TextSeat) -> str:
        assert seat.shown is not None
        client, (heard, grid) = seat.client, seat.shown
        said, changed = client.dialogue[heard:], edits_of(grid, self.grid)
        parts = {
            "done": client.part("done", edits=describe_edits(changed, self.grid)),
            "dialogue": client.part("said", lines=quote_dialogue(said)) if said else "",
            "note": client.note_section(),
        }
        if seat.role is Role.ARCHITECT:
            seen = {"grid": self.grid, **seat.target(self.target)}
            parts["difference"] = difference_section(client, seen) if self.show_changes else ""
        return client.part("delta", **parts).strip()


def edits_of(before: BlockGrid, after: BlockGrid) -> list[Edit]:
    """Return the edits that lead from one build to another."""
    found = []
    for y, x, z in np.argwhere(before != after).tolist():
        cell = (x - 5, y - 1, z - 5)
        found.append(Edit(*cell, color_at(after, cell)))
    return found


def _reply_text(reply: Any) -> str:
    if isinstance(reply, str):
        return reply
    if isinstance(reply, Mapping):
        if "content" in reply or "tool_calls" in reply:
            return text_of_calls(reply.get("tool_calls")) or text_of_content(reply.get("content")) or ""
        return json.dumps(dict(reply))
    if isinstance(reply, Sequence) and all(isinstance(edit, Edit) for edit in reply):
        return order_text(reply)
    if isinstance(reply, Sequence) and all(isinstance(edit, Mapping) for edit in reply):
        return json.dumps({"edits": [dict(edit) for edit in reply]})
    raise ConfigError(f"a reply is {reply!r:.80}, expected a text, a message, an order or a list of edits")


def order_text(edits: Iterable[Edit], say: str = "") -> str:
    """Return a builder's reply as JSON."""
    return json.dumps({"edits": [_edit_object(edit) for edit in edits], "say": say})


def _edit_object(edit: Edit) -> dict[str, Any]:
    color = {"color": COLOR_NAMES[edit.color]} if edit.color else {}
    place = {"east": edit.x, "north": -edit.z, "height": edit.y + 2}
    return {"action": "place" if edit.color else "remove", **color, **place}


def _team_config(team: str | None, options: Mapping[str, Any]) -> GameConfig:
    for name in options:
        check_option("an option of the team", name, TEAM_OPTIONS)
    return GameConfig.of(team, {**options, **FREE})


def _task_source(tasks: Any, config: GameConfig) -> Any:
    if tasks is None:
        tasks = "random" if config.tasks is None else config.tasks
    if isinstance(tasks, str) and tasks == "random":
        return as_source(tasks)
    if isinstance(tasks, TaskSource) and not is_task(tasks):
        return tasks
    return tasks_of(tasks)


def _partner(
    role: str, name: str | GamePartner, config: GameConfig
) -> GamePartner | Architects | Builders | None:
    if isinstance(name, GamePartner):
        return name
    if role == "both" or name == "none":
        return None
    return Architects(name, config) if role == "builder" else Builders(name, config)
