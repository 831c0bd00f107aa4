"""One game as text: a chat, the reply to it, and its reward."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.llm.architect import architect_chat, difference_section
from iglu_marl.agents.llm.builder import builder_chat
from iglu_marl.agents.llm.decision import ModelClient
from iglu_marl.agents.llm.messages import ChatRequest, Message, Reply
from iglu_marl.agents.llm.prompting import quote_dialogue
from iglu_marl.agents.llm.reading import Unreadable, read_message, read_order, text_of_calls, text_of_content
from iglu_marl.agents.llm.schemas import TOOLS
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.world_text import describe_edits
from iglu_marl.agents.registry import named
from iglu_marl.core.arguments import MAX_SEED, as_count, as_number, check_flags, check_option
from iglu_marl.core.dialogue import Dialogue, Role
from iglu_marl.core.errors import ConfigError, StateError
from iglu_marl.core.grid import COLOR_NAMES, BlockGrid, cell_index, color_at
from iglu_marl.core.task import Task, as_task, is_task
from iglu_marl.envs.aec import raw_env
from iglu_marl.evaluation.metrics import change_counts, exact_match, intersection_counts
from iglu_marl.evaluation.selection import tasks_of
from iglu_marl.game.agent import Agent, begin
from iglu_marl.planning import Edit
from iglu_marl.tasks import TaskSource, sample_task
from iglu_marl.tasks.random_tasks import RandomTasks

ROLES = ("builder", "architect", "both")
REWARDS = ("change_f1", "intersection")
OBSERVATIONS = ("full", "delta")
ANSWERS = ("json", "tools")
BLOCKS_OF_A_COLOR = 20  # the builder's initial inventory
SILENCES = 8  # silent turns of an architect until the builder is asked anyway
TURN_STEPS = 200  # per turn of a partner who builds
MESSAGE_LENGTH = 200

ChatMessage = dict[str, Any]
"""A message of a chat in the usual format: {"role": …, "content": …}."""


class NoBackend:
    """A backend without a model: replies are passed to `step`."""

    sees_pictures = False

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Raise: there is no model."""
        raise NotImplementedError

    def fits(self, request: ChatRequest) -> bool:
        """Return True."""
        return True

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return 0."""
        return 0.0

    def close(self) -> None:
        """Do nothing."""


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
    same seed gives the same game. A game can be pickled at any time if its arguments can.

    Args:
        role: role of the model: "builder", "architect" or "both".
        partner: name of the other agent (see `iglu_marl.agents.registry`); "none" for a builder that is given the
            dialogue of the task; or an own `GamePartner`.
        tasks: anything that `iglu_marl.evaluation.tasks_of` accepts; "random" samples structures of up to 8 blocks.
        observations: "full": each chat is complete; "delta": after the first, only the new part, to be appended.
        answers: format that the rules ask for, "json" (an architect: the plain message) or "tools"; both are read.
        view: how builds are shown: "layers", "coordinates" or "auto".
        show_changes: whether an architect sees the remaining changes, as instructions that it could copy.
        reward: gain of a turn in "change_f1" (F1 of the changes against the start) or "intersection" (blocks in the
            maximal intersection).
        normalised: scale the reward so that a whole game has at most 1; otherwise "intersection" counts blocks.
        question_cost: subtracted for a message of the builder.
        word_cost: subtracted for each word.
        error_cost: subtracted for an unreadable reply.
        invariant: whether the structure may stand anywhere; False: only at the target's place.
        max_replies: limit per game; None: 2 per block to change plus 10 (without a partner: 1).
        max_edits: limit per reply.
        history: number of newest utterances that are shown.
        prompts: folder with your own prompts.

    Raises:
        ConfigError: for invalid arguments.

    """

    def __init__(
        self,
        role: str = "builder",
        partner: str | GamePartner = "scripted",
        tasks: Any = "random",
        *,
        observations: str = "full",
        answers: str = "json",
        view: str = "layers",
        show_changes: bool = False,
        reward: str = "change_f1",
        normalised: bool = True,
        question_cost: float = 0.0,
        word_cost: float = 0.0,
        error_cost: float = 0.0,
        invariant: bool = False,
        max_replies: int | None = None,
        max_edits: int = 30,
        history: int = 40,
        prompts: str = "",
    ) -> None:
        self._arguments = {name: value for name, value in locals().items() if name != "self"}
        for name, value, known in (
            ("role", role, ROLES), ("observations", observations, OBSERVATIONS), ("reward", reward, REWARDS),
            ("view", view, ("layers", "coordinates", "auto")), ("answers", answers, ANSWERS),
        ):  # fmt: skip
            check_option(name, value, known)
        check_flags(show_changes=show_changes, normalised=normalised, invariant=invariant)
        question_cost = as_number("question_cost", question_cost)
        word_cost, error_cost = as_number("word_cost", word_cost), as_number("error_cost", error_cost)
        if max_replies is not None:
            max_replies = as_count("max_replies", max_replies, 1, 2**31 - 1, " or None")
        if not isinstance(partner, (str, GamePartner)):
            raise ConfigError(f"partner is {partner!r:.80}, expected an agent's name, or 'none'")
        if partner == "none" and role != "builder":
            raise ConfigError(f"partner is 'none' and role {role!r}, expected a partner, or role 'builder'")
        self.role, self.partner, self.observations = role, partner, observations
        self.show_changes, self.reward, self.normalised = show_changes, reward, normalised
        self.question_cost, self.word_cost, self.error_cost = question_cost, word_cost, error_cost
        self.invariant, self.max_replies = invariant, max_replies
        self._tasks = _task_source(tasks)
        settings = LLMSettings("text game", view=view, max_edits=max_edits, history=history, prompts=prompts)
        self.settings = settings
        self._clients = {one: ModelClient(one, settings, NoBackend(), answers == "tools") for one in Role}
        self._partner = _partner(role, partner)
        self._replies: list[Any] | None = None  # of this episode; None: not started, or over

    @property
    def turn(self) -> Role:
        """Role of the next reply."""
        return self._turn

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Tools of the next reply."""
        return TOOLS[self._turn]

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
        chosen = self._sample_task(rng) if task is None else as_task(task)
        self.seed, self.task = seed, chosen.in_ids("iglu")
        self._given = task
        self.start: BlockGrid = self.task.start_grid.copy()
        self.target: BlockGrid = self.task.target_grid.copy()
        self.grid: BlockGrid = self.start.copy()
        self.dialogue = self.task.dialogue if self.partner == "none" else Dialogue()
        for client in self._clients.values():
            client.begin(seed)
        self._done: dict[int, str] = {}
        self.counts: Counter[str] = Counter()
        self.pose = np.zeros(5)  # the builder's x, y, z, pitch and yaw, as it is shown
        self._shown_utterances, self._shown_grid = 0, self.grid.copy()  # what the last chat showed
        changes = int(np.count_nonzero(self.start != self.target))
        self._limit = self.max_replies or (1 if self.partner == "none" else 2 * changes + 10)
        self._replies = []
        self._turn = Role.BUILDER if self.role == "builder" else Role.ARCHITECT
        if self._partner is not None:
            self._partner.reset(self.task, seed)
            if self.role == "builder":
                self._partner.answer(self, "")
        return self._chat(full=True)

    def step(self, reply: Any) -> tuple[list[ChatMessage], float, bool, dict[str, Any]]:
        """Take a reply, and return (messages, reward, done, info); `messages` is [] if the game is over.

        Args:
            reply: a text; a message with "content" or "tool_calls"; an order {"edits": [...], "say": ""} or
                {"say": ""}; or a list of edits, as JSON objects or `Edit`.

        Returns:
            The next chat and the outcome. `info` has score, gain, completed, truncated, problem (why the reply could
            not be used), role (of the reply), said, edits (their number), replies and task.

        Raises:
            StateError: if no game is in progress.

        """
        if self._replies is None:
            raise StateError("no game is in progress: call reset() before step()")
        text, role, before = _reply_text(reply), self._turn, self.score
        self._replies.append(text)
        client = self._clients[role]
        cost, said, made, problem = 0.0, "", 0, ""
        client.remark = ""
        try:
            said, made = self._apply_message(text) if role is Role.ARCHITECT else self._apply_order(text)
        except Unreadable as reason:
            problem, cost = str(reason), self.error_cost
        client.problem = problem
        self.counts.update(replies=1, unread=bool(problem), words=len(said.split()), edits=made)
        if said:
            cost += self.word_cost * len(said.split()) + (self.question_cost if role is Role.BUILDER else 0.0)
            self.counts["questions"] += role is Role.BUILDER
        gain = self.score - before
        if isinstance(
            self.partner, GamePartner
        ):  # it decides when the game is over, and may change the target
            if not problem:
                self.partner.answer(self, said)
            completed = self.partner.over
        else:
            if not (problem or self.completed):
                self._next_turn(said)
            gain, completed = self.score - before, self.completed
        truncated = not completed and len(self._replies) >= self._limit
        info = {
            "role": role.value, "score": self.score, "gain": gain, "completed": completed, "truncated": truncated,
            "problem": problem, "said": said, "edits": made, "replies": len(self._replies), "task": self.task.task_id,
        }  # fmt: skip
        over = completed or truncated
        messages = [] if over else self._chat(full=self.observations == "full")
        if over:
            self._replies = None
        return messages, self._reward(gain) - cost, over, info

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def __reduce__(self) -> Any:
        begun = None if self._replies is None else (self.seed, self._given, self._replies)
        return _restore, (self._arguments, begun)

    def _apply_message(self, text: str) -> tuple[str, int]:
        said = self._clients[Role.ARCHITECT].clip_message(read_message(text), MESSAGE_LENGTH)
        self.dialogue = self.dialogue.say(Role.ARCHITECT, said)
        return said, 0

    def _apply_order(self, text: str) -> tuple[str, int]:
        client = self._clients[Role.BUILDER]
        order = read_order(text, self.grid, client.settings.max_edits)
        after = self.grid.copy()
        for edit in order.edits:
            after[cell_index(*edit.cell)] = edit.color
        for color, left in enumerate(self._inventory(after), start=1):
            if left < 0:
                raise Unreadable(f"there are {-int(left)} too few {COLOR_NAMES[color]} blocks for this")
        said = client.clip_message(order.say, MESSAGE_LENGTH)
        self.counts["wrong"] += int(np.count_nonzero((after != self.grid) & (after != self.target)))
        self.grid = after
        self._note(order.edits)
        self.dialogue = self.dialogue.say(Role.BUILDER, said)
        return said, len(order.edits)

    def _note(self, edits: Sequence[Edit]) -> None:
        """Record the edits for the message that asked for them."""
        asked = [number for number, one in enumerate(self.dialogue) if one.role is Role.ARCHITECT]
        for number in asked:
            self._done.setdefault(number, "see the next messages")
        if asked:
            self._done[asked[-1]] = describe_edits(edits, self.grid)

    def _next_turn(self, said: str) -> None:
        if self._partner is not None:
            before = self.grid
            self._partner.answer(self, said)
            wrong = (self.grid != before) & (self.grid != self.target)
            self.counts["wrong"] += int(np.count_nonzero(wrong))
        elif self.role == "both":
            self._turn = Role.BUILDER if self._turn is Role.ARCHITECT else Role.ARCHITECT

    def _score(self, grid: BlockGrid) -> float:
        if self.reward == "change_f1":
            return change_counts(self.start, self.target, grid, invariant=self.invariant).f1
        counts = [
            intersection_counts(one, self.target, invariant=self.invariant) for one in (self.start, grid)
        ]
        most = counts[1].asked - counts[0].right
        return (counts[1].right - counts[0].right) / max(1, most)

    def _reward(self, gain: float) -> float:
        if self.normalised or self.reward == "change_f1":
            return gain
        begun = intersection_counts(self.start, self.target, invariant=self.invariant)
        return round(gain * max(1, begun.asked - begun.right))

    def _inventory(self, grid: BlockGrid) -> npt.NDArray[np.int64]:
        """Return the number of blocks left of each colour, int64 [6]."""
        stood, stands = (np.bincount(one.ravel(), minlength=7)[1:] for one in (self.start, grid))
        return np.asarray(BLOCKS_OF_A_COLOR + stood - stands)

    def _sample_task(self, rng: np.random.Generator) -> Task:
        if isinstance(self._tasks, TaskSource):
            return sample_task(self._tasks, rng)
        chosen: Task = self._tasks[int(rng.integers(len(self._tasks)))]
        return chosen

    def _chat(self, full: bool) -> list[ChatMessage]:
        client = self._clients[self._turn]
        client.dialogue = list(self.dialogue)
        messages = self._full_chat(client) if full else (Message("user", self._delta_chat(client)),)
        self._shown_utterances, self._shown_grid = len(self.dialogue), self.grid.copy()
        return [{"role": part.speaker, "content": part.text} for part in messages]

    def _full_chat(self, client: ModelClient) -> tuple[Message, ...]:
        said = client.dialogue[-client.settings.history :]
        limit = f"{MESSAGE_LENGTH} characters"
        if self._turn is Role.ARCHITECT:
            seen = {"grid": self.grid, "target_grid": self.target}
            return architect_chat(client, said, seen, limit=limit, show_changes=self.show_changes)
        numbers = range(len(self.dialogue))
        done = {n: self._done.get(n, "not yet") for n in numbers if self.dialogue[n].role is Role.ARCHITECT}
        has = {"agentPos": self.pose, "inventory": self._inventory(self.grid)}
        can_ask = self.partner != "none" and getattr(self.partner, "can_ask", True)
        return builder_chat(client, said, has, self.grid, limit=limit, can_ask=can_ask, done=done)

    def _delta_chat(self, client: ModelClient) -> str:
        said = list(self.dialogue)[self._shown_utterances :]
        changed = edits_of(self._shown_grid, self.grid)
        parts = {
            "done": client.part("done", edits=describe_edits(changed, self.grid)),
            "dialogue": client.part("said", lines=quote_dialogue(said)) if said else "",
            "note": client.note_section(),
        }
        if self._turn is Role.ARCHITECT:
            seen = {"grid": self.grid, "target_grid": self.target}
            parts["difference"] = difference_section(client, seen) if self.show_changes else ""
        return client.part("delta", **parts).strip()


def edits_of(before: BlockGrid, after: BlockGrid) -> list[Edit]:
    """Return the edits that lead from one build to another."""
    found = []
    for y, x, z in np.argwhere(before != after).tolist():
        cell = (x - 5, y - 1, z - 5)
        found.append(Edit(*cell, color_at(after, cell)))
    return found


def _restore(arguments: dict[str, Any], begun: tuple[int, Any, list[str]] | None) -> TextGame:
    game = TextGame(**arguments)
    if begun is not None:
        seed, task, replies = begun
        game.reset(seed, task)
        for reply in replies:
            game.step(reply)
    return game


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
        return json.dumps([dict(edit) for edit in reply])
    raise ConfigError(f"a reply is {reply!r:.80}, expected a text, a message, an order or a list of edits")


def order_text(edits: Iterable[Edit], say: str = "") -> str:
    """Return a builder's reply as JSON."""
    return json.dumps({"edits": [_edit_object(edit) for edit in edits], "say": say})


def _edit_object(edit: Edit) -> dict[str, Any]:
    color = {"color": COLOR_NAMES[edit.color]} if edit.color else {}
    place = {"east": edit.x, "north": -edit.z, "height": edit.y + 2}
    return {"action": "place" if edit.color else "remove", **color, **place}


def _task_source(tasks: Any) -> Any:
    if isinstance(tasks, str) and tasks == "random":
        return RandomTasks(max_blocks=8, height_levels=3, num_colors=6)
    if isinstance(tasks, TaskSource) and not is_task(tasks):
        return tasks
    return tasks_of(tasks)


# ------------------------------------------------------------------------------------------------------- partners


def _partner(role: str, name: str | GamePartner) -> GamePartner | _Architect | _Builder | None:
    if isinstance(name, GamePartner):
        return name
    if role == "both" or name == "none":
        return None
    return _Architect(name) if role == "builder" else _Builder(name)


@lru_cache(maxsize=1)
def _settings_env() -> Any:
    """Return an environment from which agents read the settings of the game; it is never stepped."""
    return _make_env()


def _make_env() -> Any:
    return raw_env(
        controls="flying", builder_can_ask=True, builder_sees=("dialog", "inventory", "pose", "grid"), max_turns=None,
        max_steps=None, turn_steps=TURN_STEPS,
    )  # fmt: skip


class _Architect:
    """A partner for the model's builder. It observes target and build, and a builder that stands still."""

    def __init__(self, name: str) -> None:
        self._agent: Agent = named(name, Role.ARCHITECT).for_env(_settings_env())

    def reset(self, task: Task, seed: int) -> None:
        begin(self._agent, Role.ARCHITECT, seed, task)

    def answer(self, game: TextGame, said: str) -> None:
        """Say the next utterance, after at most `SILENCES` silent turns."""
        for _ in range(SILENCES):
            seen = {
                "dialog": game.dialogue.text, "grid": game.grid.astype(np.int32), "agentPos": np.zeros(5, np.float32),
                "target_grid": game.target.astype(np.int32),
            }  # fmt: skip
            if text := str(self._agent.act(seen)):
                game.dialogue = game.dialogue.say(Role.ARCHITECT, text)
                return


class _Builder:
    """A partner for the model's architect. It flies in an environment of its own."""

    def __init__(self, name: str) -> None:
        self._env = _make_env()
        self._agent: Agent = named(name, Role.BUILDER).for_env(self._env)

    def reset(self, task: Task, seed: int) -> None:
        self._env.reset(seed=seed, options={"task": task})
        begin(self._agent, Role.BUILDER, seed, task)

    def answer(self, game: TextGame, said: str) -> None:
        """Hear the utterance, build, and optionally speak."""
        env = self._env
        heard = len(env.unwrapped.episode.dialogue)
        env.step(said)
        while env.agent_selection == "builder_0":
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            env.step(self._agent.act(observation))
        for utterance in list(env.unwrapped.episode.dialogue)[heard:]:
            if utterance.role is Role.BUILDER:
                game.dialogue = game.dialogue.say(Role.BUILDER, utterance.text)
        game.grid = env.unwrapped.episode.worlds.grid[0].copy()
