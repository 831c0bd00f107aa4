"""People as agents in a loop of your own: each has a page in the browser, served from a thread of this process.

The extra `web` is needed when a person's first observation arrives.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, Unpack

from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, DialogueTracker, require_entry
from iglu_marl.agents.settings import MESSAGE_CHARACTERS, Options, Settings, check_pair
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec, Role, Utterance
from iglu_marl.core.errors import AgentError, DialogueError
from iglu_marl.core.extras import extra
from iglu_marl.core.kernels.records import STEP_S
from iglu_marl.core.observed import observed_grid
from iglu_marl.core.scoring import Alignment, Shifts, Target, align
from iglu_marl.core.task import Task
from iglu_marl.envs.live import Shown
from iglu_marl.game.seats import unwrap_game
from iglu_marl.rendering.palette import HEX_COLORS
from iglu_marl.web.inputs import CommandFrame, RemoteHands
from iglu_marl.web.options import ServerOptions
from iglu_marl.web.rooms import Client, Seat, Words, new_token

HOST = "127.0.0.1"
LOOK_S = 0.2  # between two looks for Ctrl+C while a person is waited for
CLOSE_S = 3.0  # for the last message to the page
GONE = "You have left the game. This page can be closed."


class PersonLeft(AgentError):
    """The person left the game on its page, so the agent cannot continue."""


class _Page:
    """A page in the browser for one player. It takes the part of a `Room` for the connections of its server.

    The program calls `show` and `wait`; the other methods are called in the server's thread.
    """

    def __init__(self, player: Role, agent: HumanArchitect | HumanBuilder, port: int, opens: bool) -> None:
        self.player, self.agent, self.over = player, agent, ""
        self.game = SimpleNamespace(ticks=0, config=SimpleNamespace(max_message_length=agent.limit))
        self.hands: dict[str, RemoteHands] = {}
        self.clients: set[Client] = set()
        self.words: deque[str] = deque()
        self.said = 0  # messages that were taken
        self._port, self._opens = port, opens
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._left = False
        self.loop: Any = None  # of the server's thread, once it runs
        self.restart()

    def restart(self) -> None:
        """Show an empty page until the first observation of the next episode."""
        with self._changed:
            self._shown, self._said = Shown(), list[Utterance]()
            self.words.clear()

    # -- the program

    def show(self, seen: Mapping[str, Any], said: Any, turn: Role) -> None:
        """Send what changed to the page. The first call starts the server and opens the page."""
        with self._changed:
            self.game.ticks += 1
            self._said += said
            self._turn = turn
            self._shown.take(self.game.ticks, seen, len(self._said))
        if self._thread is None:
            self._start()
        self._wake()

    def wait(self, until: float | None = None) -> None:
        """Wait until a moment (monotonic seconds), or for a message; and for the person, if it is away.

        Raises `PersonLeft` when the person has left.
        """
        with self._changed:
            while True:
                if self._left:
                    raise PersonLeft(f"the person who plays {self.player} has left the game")
                rest = LOOK_S if until is None else until - time.monotonic()
                if self.clients and (self.words if until is None else rest <= 0):
                    return
                self._changed.wait(min(rest, LOOK_S) if rest > 0 else LOOK_S)

    def close(self) -> None:
        """Show that the game is over, and stop the server."""
        if self._thread is None:
            return
        self.over = "ended"
        self._call(self._dismiss)
        with self._changed:
            self._changed.wait_for(lambda: not self.clients, CLOSE_S)
        self._server.should_exit = True
        self._thread.join(2 * CLOSE_S)
        self._thread = None

    def _start(self) -> None:
        with extra("web"):
            from iglu_marl.web.server import person_app
            from iglu_marl.web.serving import Server, listen, open_page
        self._token = new_token()
        options = ServerOptions()
        self._server = Server(person_app(self, options, GONE), options)
        bound = listen(HOST, self._port)
        self._thread = threading.Thread(target=self._server.serve_at, args=(bound,), daemon=True)
        self._thread.start()
        page = f"http://{HOST}:{bound.getsockname()[1]}/play#{self._token}"
        opened = self._opens and open_page(page)
        print(f"{'The' if opened else 'Open the'} page of {self.player}: {page}", flush=True)

    def _wake(self) -> None:
        for client in tuple(self.clients):
            self._call(client.wake.set)

    def _call(self, function: Any) -> None:
        """Call a function in the server's thread."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(function)

    def _dismiss(self) -> None:
        for client in tuple(self.clients):
            if (frame := client.frame()) is not None:
                client.notes.append(frame)
            client.notify("status", **self.status())
            client.dismiss()

    # -- the server

    async def beat(self) -> None:
        """Let the page hear from the server each second, also while the program computes."""
        while True:
            await asyncio.sleep(1.0)
            for client in tuple(self.clients):
                client.notify("beat")

    def enter(self, token: str, page: str = "") -> Client | None:
        """Return a connection for the person, None for a wrong token. A connection before it is closed."""
        if token != self._token or self._left:
            return None
        for other in self.clients:
            other.notify("elsewhere")
            other.dismiss()
        room: Any = self
        client = Client(room, Seat(self.player))
        for hands in self.hands.values():
            hands.forget()
        with self._changed:
            self.clients = {client}
            self._changed.notify_all()
        client.notify("welcome", **self._welcome())
        client.notify("status", **self.status())
        return client

    def leave(self, client: Client, for_good: bool = False, why: str = "") -> None:
        """Remove a connection; `for_good`: the person has left."""
        with self._changed:
            self.clients.discard(client)
            self._left = self._left or for_good
            self._changed.notify_all()

    def expects(self, client: Client) -> int:
        """Return the number of the next message, from 1."""
        return self.said + 1

    def say(self, client: Client, words: Words) -> None:
        """Queue a message, or show why the chat cannot send it."""
        try:
            self.agent.check_words(words.text)
        except (AgentError, DialogueError) as error:
            client.notify("refused", text=str(error))
            return
        with self._changed:
            self.words.append(words.text)
            self.said += 1
            self._changed.notify_all()
        client.notify("said", n=self.said)

    def move(self, client: Client, frame: CommandFrame) -> None:
        """Queue a command frame of a builder."""
        with self._changed:
            for hands in self.hands.values():
                hands.take(frame)

    def show_typing(self, client: Client) -> None:
        """Do nothing: the others are no people on pages."""

    def changes(self, player: str, since: int) -> dict[str, Any]:
        """Return the message with the changes since a tick."""
        with self._changed:
            shown = self._shown
            said = self._said[shown.heard_since(since) :]
            return {
                "t": "frame",
                "tick": self.game.ticks,
                "floor": str(self._turn),
                **shown.since(since),
                "said": [[utterance.speaker, utterance.text] for utterance in said],
            }

    def status(self) -> dict[str, Any]:
        """Return the state of the game for the page."""
        return {"state": "over" if self.over else "playing", "how": self.over, "here": {}}

    def _welcome(self) -> dict[str, Any]:
        return {
            "role": self.player,
            "player": self.player,
            "speakers": {str(role): str(role) for role in Role},
            "token": self._token,
            "examples": True,
            "task": "",
            "colors": HEX_COLORS,
            "limit": self.agent.limit,
            "said": self.said,
            "turns": True,  # an empty message is silence, and motion is not predicted
        }


def _heard(tracker: DialogueTracker, observation: Mapping[str, Any]) -> tuple[Utterance, ...]:
    """Return the new utterances of an observation; none without a dialog."""
    dialogs = [observation[key] for key in DIALOG_KEYS if key in observation]
    return tracker.hear(dialogs[0]) if dialogs else ()


class HumanArchitect:
    """A person who sees the target and explains it, on a page in the browser.

    `act` waits for a message; an empty one is silence, and the builder continues. To follow the builder at work, pass
    `watch` to `iglu_marl.play` as `on_step`: the page then shows each step (`step_s` seconds a step; 0 = at once), and
    messages entered meanwhile are sent at the next turns.

    It receives the task (`privileged`), and its page shows the progress, unless it sees only a part of the target. When
    the person leaves, `act` raises `PersonLeft`; Ctrl+C interrupts it.

    Args:
        codec: vocabulary of token chat; None = the templates.
        message_length: characters or tokens of a message.
        shifts: of the game's score.
        step_s: seconds per step that is watched.
        port: port of the page; 0 = a free one.
        open_browser: whether to open the page in this machine's browser. Its address is printed in any case.

    """

    privileged = True

    def __init__(
        self,
        *,
        codec: Codec | None = None,
        message_length: int = MESSAGE_CHARACTERS,
        shifts: Shifts = "all",
        step_s: float = STEP_S,
        port: int = 0,
        open_browser: bool = True,
    ) -> None:
        self.shifts, self.step_s = shifts, step_s
        self.limit = message_length if codec is None else MESSAGE_CHARACTERS
        self._dialogue = DialogueTracker(codec, message_length)
        self._page = _Page(Role.ARCHITECT, self, port, open_browser)
        self._forget(None)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> Self:
        """Return one that fits an environment's chat and score. Raises `AgentError` for a game of a team."""
        check_pair(env, cls)
        fitting = Settings.of(env).only("codec", "message_length")
        return cls(**{**fitting, "shifts": unwrap_game(env).config.shifts, **options})

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of its seat, see `iglu_marl.game.seats.GameSeat`."""
        needs: dict[str, Any] = {"role": Role.ARCHITECT, "pair": True}
        if self._dialogue.tokens:
            return {**needs, "chat": "tokens", **self._dialogue.made_for}
        return {**needs, "chat": "text", "max_characters": self.limit}

    def _forget(self, task: Task | None) -> None:
        self._dialogue.forget()
        self._page.restart()
        self._task = task
        self._due = time.monotonic()

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Start an episode. Raises `AgentError` for another role than the architect's."""
        if role != Role.ARCHITECT:
            raise AgentError(f"a HumanArchitect cannot play the {role}")
        self._forget(task)

    def act(self, observation: Any) -> Any:
        """Show target and build, and return the person's message.

        Raises `AgentError` if target or build are not observed, `PersonLeft` if the person leaves.
        """
        self._show(observation, Role.ARCHITECT)
        self._page.wait()
        self._due = time.monotonic()
        return self._dialogue.utter(self._page.words.popleft())

    def watch(self, env: Any) -> None:
        """Show the state of an environment; pass it to `iglu_marl.play` as `on_step`."""
        self._show(env.unwrapped.observe("architect_0"), Role.BUILDER)
        self._page.wait(self._due)
        self._due = max(self._due + self.step_s, time.monotonic())

    def check_words(self, text: str) -> None:
        """Raise `AgentError` or `DialogueError` if the chat cannot send a text."""
        self._dialogue.utter(text)

    def close(self) -> None:
        """Close the page."""
        self._page.close()

    def _show(self, observation: Any, turn: Role) -> None:
        hint = 'add them to architect_sees=("target_grid", "grid", "dialog", "pose")'
        for key in ("target_grid", "grid"):
            require_entry(observation, (key,), "HumanArchitect", hint)
        names = ("agentPos", "grid", "target_grid", "target_mask", "target_sides")
        seen: dict[str, Any] = {name: np.array(observation[name]) for name in names if name in observation}
        if np.all(observation.get("target_mask", 1)):
            seen["score"], seen["ghost"] = self._measured(seen["grid"], seen["target_grid"])
        self._page.show(seen, _heard(self._dialogue, observation), turn)

    def _measured(self, grid: Any, goal: npt.NDArray[np.int8]) -> tuple[list[int], npt.NDArray[np.int8]]:
        """Return the numbers of right blocks and of blocks of the target, and the target as it lies over the build."""
        task = None if self._task is None else self._task.in_ids("iglu")
        options = (True, None) if task is None else (task.is_invariant, task.full_grid)
        prepared = Target(goal, self.shifts, *options)
        matches = prepared.match_counts(grid)
        best = int(matches.max())
        in_place = matches[0, 10, 10] == best
        where = Alignment(0, 0, 0) if in_place else prepared.alignment(grid)[1]
        return [best, int(prepared.size)], align(goal, where)


class HumanBuilder(BuilderBase):
    """A person who builds, on a page in the browser: mouse and keys, or touch.

    The page shows only the observation, of which it needs `pose` and `grid`. `act` waits until the step is due
    (`step_s` seconds after the last; 0 = at once), and while no page is open. When the person leaves, it raises
    `PersonLeft`; Ctrl+C interrupts it. In a window of pygame: `iglu_marl.agents.WindowBuilder`.

    Args:
        controls: action encoding, and with `options` the settings of the game, as in `Settings`.
        step_s: seconds per step.
        port: port of the page; 0 = a free one.
        open_browser: whether to open the page in this machine's browser. Its address is printed in any case.
        options: as of `Settings`.

    """

    reads = "anything"

    def __init__(
        self,
        controls: ControlsName = "human-level",
        *,
        step_s: float = STEP_S,
        port: int = 0,
        open_browser: bool = True,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        self.step_s = step_s
        self.limit = (
            MESSAGE_CHARACTERS if self.game.tokens else self.game.message_length or MESSAGE_CHARACTERS
        )
        self._page = _Page(Role.BUILDER, self, port, open_browser)
        abilities = self.game.only("select_and_place", "can_yield")
        self._page.hands[Role.BUILDER] = RemoteHands(self.game.controls, **abilities)
        self._forget(None)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._page.restart()
        self._due = time.monotonic()

    def act(self, observation: Any) -> Any:
        """Show the observation, and return the person's action in this step.

        Raises `AgentError` if pose or world are not observed, `PersonLeft` if the person leaves.
        """
        hands = self._page.hands[Role.BUILDER]
        self._show(observation, hands.inputs.active)
        self._page.wait(self._due)
        self._due = max(self._due + self.step_s, time.monotonic())
        words = self._page.words.popleft() if self._page.words else ""
        pitch, yaw = np.asarray(observation["agentPos"], float).ravel()[3:5].tolist()
        action = hands.action(yaw, pitch)
        return self._with_words(hands.inputs.still() if action is None else action, words)

    def check_words(self, text: str) -> None:
        """Raise `AgentError` or `DialogueError` if the chat cannot send a text."""
        if not self.can_ask:
            raise AgentError("In this game the builder cannot speak.")
        self._dialogue.utter(text)

    def close(self) -> None:
        """Close the page."""
        self._page.close()

    def _show(self, observation: Any, active: int) -> None:
        hint = 'set builder_sees=("pose", "grid", …), or use iglu_marl.agents.WindowBuilder, which shows pictures'
        for key in ("agentPos", "grid"):
            require_entry(observation, (key,), "HumanBuilder", hint)
        names = ("agentPos", "target_grid", "target_mask", "target_sides")
        seen: dict[str, Any] = {name: np.array(observation[name]) for name in names if name in observation}
        seen |= {"grid": np.array(observed_grid(observation)), "active": active}
        if "inventory" in observation:
            seen["inventory"] = np.asarray(observation["inventory"]).ravel()[:6].astype(int)
        self._page.show(seen, _heard(self._dialogue, observation), Role.BUILDER)
