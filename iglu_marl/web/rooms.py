"""Rooms: one live game each, with its players and its clock."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import math
import secrets
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.agents.registry import game_options, partner_for, reader_of
from iglu_marl.core.arguments import check_option
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.errors import ConfigError, DataError, IgluMarlError, StateError
from iglu_marl.core.files import PRIVATE, write_text
from iglu_marl.core.kernels.records import STEP_S
from iglu_marl.core.parsing import parse_json, read_file, wrap_errors
from iglu_marl.core.task import Task
from iglu_marl.envs.live import LiveGame
from iglu_marl.game.agent import begin
from iglu_marl.game.config import GameConfig
from iglu_marl.recording import Recorder, read_recording
from iglu_marl.recording.rollout import Player
from iglu_marl.recording.values import player_of
from iglu_marl.rendering.palette import HEX_COLORS
from iglu_marl.web import clock
from iglu_marl.web.inputs import CommandFrame, RemoteHands
from iglu_marl.web.options import AGENTS, PERSON, ServerOptions, expect, shown_name, team_facts
from iglu_marl.web.partners import Partner

WORDS_WAITING = 8  # queued messages of a person; more are not taken
NOTES_WAITING = 200  # queued messages for a client
OUTSIDE_TICKS = 2  # between frames of motion for views from outside; their pages interpolate
APART = 5  # cells from the middle in which the outermost of several builders start
INVITE_S = 900.0  # for which a game waits for an invited person
KEPT_S = 600.0  # how long a finished game can be looked at
THREADS = 2  # in which agents think: more would compete with the clock
SLOTS = 20  # groups of rooms that tick one after the other
HURRY_S = 0.2  # a clock that is later than this skips ticks: nobody wants a game in fast motion
FEW = 10  # games; with fewer, late ticks have another cause
SPARE = 0.1  # of the free space that new games need: with less, running games pause
LATENESS_S, LATENESS_COUNT = 10.0, 4000  # seconds and ticks of which the lateness is measured
SEATS = ".seats"  # suffix of the file beside a recording that names the players of a running game
SEATS_LIMIT = 1 << 16  # bytes of it
LOST, CLOSED = "lost network", "closed the page"  # why a person is away
STOPPED = "The other player has stopped working. You can continue, or leave the game."

_ALWAYS = {"t", "tick", "whole", "floor", "said"}  # keys of every frame
_encode = json.JSONEncoder(separators=(",", ":")).encode  # made once: `json.dumps` makes one for each frame
_log = logging.getLogger("uvicorn.error")


class Client:
    """One connection: the player whose view it has, and how far its page is up to date."""

    def __init__(self, room: Room, seat: Seat, page: str = "") -> None:
        self.room, self.player, self.seat, self.page = room, seat.player, seat, page
        self.role = role_of(seat.player)
        self.builds = self.role == Role.BUILDER
        self.notes: deque[str] = deque(maxlen=NOTES_WAITING)
        self.wake = asyncio.Event()
        self.gone = False  # to be closed after the queued messages
        self._since = -1
        self._ack = 0
        self._floor = ""

    def notify(self, kind: str, **facts: Any) -> None:
        """Queue a message."""
        self.notes.append(json.dumps({"t": kind, **facts}))
        self.wake.set()

    def dismiss(self) -> None:
        """Close the connection after the queued messages."""
        self.gone = True
        self.wake.set()

    def due(self) -> Iterator[str]:
        """Yield what is to be sent now: the frame, then messages; a new client gets its messages first."""
        newcomer = self._since < 0
        if not newcomer and not self.gone and (frame := self.frame()) is not None:
            yield frame
        while self.notes:
            yield self.notes.popleft()
        if newcomer and not self.gone and (frame := self.frame()) is not None:
            yield frame

    def frame(self) -> str | None:
        """Return the changes since the last frame; None if there are none."""
        room, game = self.room, self.room.game
        if self._since == game.ticks:
            return None
        changes = room.changes(self.player, self._since)
        hands = room.hands.get(self.player) if self.builds else None
        fresh = changes.keys() - _ALWAYS or changes.get("said") or changes["floor"] != self._floor
        fresh = fresh or (hands is not None and hands.ack != self._ack)
        if not fresh and not changes["whole"] and game.ticks - self._since < 20 and not room.over:
            return None  # sent with the next change
        self._since, self._floor = changes["tick"], changes["floor"]
        if hands is None:
            return _encode(changes)
        self._ack = hands.ack
        return _encode(
            {**changes, "ack": hands.ack, "look": [round(angle, 4) for angle in hands.inputs.look_deg]}
        )


class Words(NamedTuple):
    """A message of a person. how: "typed", by a "button", or an edited "example". typed_s: since the first key."""

    text: str
    how: str = "typed"
    typed_s: float = 0.0


@dataclass
class Seat:
    """A player of a game: an agent (by name) or a person with a token."""

    player: Player
    agent: str | None = None
    token: str = ""
    invitation: str = ""
    client: Client | None = None
    away_at: float = 0.0  # when (monotonic) the person left
    away_why: str = LOST
    said: int = 0  # messages in the recording
    active_at: float = 0.0
    acted_at: float = 0.0  # when (monotonic) the person last said or did something; 0: never
    asked_at: float = -1.0  # when the person was asked for a sign of life

    @property
    def waits(self) -> bool:
        """Whether a person is expected."""
        return self.agent is None and self.client is None


def game_for(task: Task, builder: str | None, options: ServerOptions) -> LiveGame:
    """Return the game for a task. builder: name of the agent that builds, or None if a person does."""
    own = {
        "controls": "walking",
        **options.team,
        "tasks": task,
        "max_steps": round(options.minutes * 60 / STEP_S),
        "max_turns": None,
        "builder_sees": ("inventory", "dialog", "pose", "grid"),
        **({"controls": "human-level"} if builder is None else {}),
    }
    game = game_options({Role.BUILDER: [builder]}, own, {"chat": "text"})
    return LiveGame(GameConfig.of(None, game))


def new_token() -> str:
    """Return a secret token of 128 random bits."""
    return secrets.token_urlsafe(16)


class Room:
    """One game, from its creation to its end."""

    def __init__(
        self,
        name: str,
        game: LiveGame,
        seats: Iterable[Seat],
        options: ServerOptions,
        thinking: Executor,
    ) -> None:
        self.name, self.game, self.options = name, game, options
        self.seats = {seat.player: seat for seat in seats}
        self.clients: set[Client] = set()
        self.over = ""  # how it ended
        self.over_at = 0.0
        self.origin = ""  # the address that started it
        self.until = math.inf  # when (monotonic) it ends at the latest
        self.ended_by: Player | None = None  # who left, or was inactive for too long
        self.begun_at = 0.0  # when (monotonic) all were there first
        self.on_end: list[Callable[[Room], None]] = []
        # joined, back, away, elsewhere, left, said, and in the tutorial its steps
        self.on_event: list[Callable[[str, Player, Mapping[str, Any]], None]] = []
        self.paused = False  # because the disk is full
        self.why = ""  # it ended, in words for tables
        self.goal = 0  # right blocks with which it ends; 0 = all
        self.coach: bool | None = None  # whether the page shows the tutorial; None: once in each browser
        self.recording = ""  # its file name
        self._thinking = thinking
        self._words: dict[Player, deque[Words]] = {player: deque() for player in self.seats}
        self.hands = {
            player: RemoteHands(game.config.controls)
            for player, seat in self.seats.items()
            if role_of(seat.player) == Role.BUILDER and seat.agent is None
        }
        self._recorder: Recorder | None = None
        self._live: Any = self.game
        self._partners: dict[Player, Partner] = {}

    # -- course

    def prepare(self, seed: int | None = None) -> None:
        """Open the recording, start the game and create the agents. Slow: call it in a thread."""
        path = self.options.folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{self.name}.jsonl"
        names = {str(player): seat.agent or PERSON for player, seat in self.seats.items()}
        self._recorder = Recorder(path, agents=names, private=True)
        self.recording = path.name
        self._live = self._recorder.wrap(self.game)
        edge = min(self.game.config.builders - 1, APART)
        places = np.linspace(-edge, edge, self.game.config.builders)
        self._live.reset(
            seed=int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed,
            options={"pose": [(float(x), 0.0, 0.0, 0.0, 0.0) for x in places]} if edge else None,
        )
        self._make_partners(seed)
        self.keep_seats()

    def _make_partners(self, seed: int | None) -> None:
        for player, seat in self.seats.items():
            if seat.agent is not None:
                self._partners[player] = Partner(self.game, player, seat.agent, self._thinking, seed)

    def keep_seats(self) -> None:
        """Save who plays, so that the game can be resumed after the server ended."""
        seats = {
            str(player): {"agent": seat.agent, "token": seat.token, "invitation": seat.invitation}
            for player, seat in self.seats.items()
        }
        write_text(self._seats_file, json.dumps({"seats": seats}), mode=PRIVATE)

    @property
    def _seats_file(self) -> Path:
        return (self.options.folder / self.recording).with_suffix(SEATS)

    @classmethod
    def resume(cls, path: Path, options: ServerOptions, thinking: Executor) -> Room | None:
        """Return the game of a file of seats, as after its last recorded step; None if it is over.

        Raises `DataError` if another server has it or a file is damaged, `ReplayError` if it cannot be replayed.
        """
        file = path.with_suffix(".jsonl")
        if not file.is_file():
            path.unlink()
            return None
        recorder = Recorder(file, private=True)
        try:
            try:
                game = recorder.resume()
            except StateError:
                if read_recording(file)[-1].end is None:
                    raise
                path.unlink()
                recorder.close()
                return None
            with wrap_errors(str(path)):
                kept = parse_json(read_file(path, SEATS_LIMIT), str(path))
                now = clock.monotonic()
                acted = now if game.ticks else 0.0
                seats = [
                    Seat(player_of(name), **seat, away_at=now, active_at=now, acted_at=acted)
                    for name, seat in kept["seats"].items()
                ]
                room = cls(path.stem.rpartition("-")[2], game, seats, options, thinking)
            room.recording, room._recorder = file.name, recorder
            room.begun_at = now - game.ticks * STEP_S
            for player, seat in room.seats.items():
                spoken = game.speakers[player]
                seat.said = sum(one.speaker == spoken for one in game.episode.dialogue.utterances)
            room._live = recorder.wrap(room.game)
            room._make_partners(None)
        except BaseException:
            recorder.close()
            raise
        return room

    @property
    def playing(self) -> bool:
        """Whether time passes: everybody is there, and the game is neither paused nor over."""
        return not (self.over or self.paused or any(seat.waits for seat in self.seats.values()))

    def run_tick(self) -> None:
        """Run a tick; if it fails, end this game, so that the others continue."""
        try:
            self.tick()
        except DataError as error:
            _log.error("game %s cannot be recorded, and has to be played again: %s", self.name, error)
            self.end("disk", "full disk")
        except Exception:
            _log.exception("game %s has failed", self.name)
            self.end("failed", "failed")

    def tick(self) -> None:
        """Run one step of the game with the input so far."""
        typed = {player: words[0] for player, words in self._words.items() if words}
        said = {player: words.text for player, words in typed.items()}
        acts: dict[Player, Any] = {}
        for player, hands in self.hands.items():
            yaw, pitch = self.game.view_of(player).worlds.pose[0].tolist()[3:]
            if (act := hands.action(yaw, pitch)) is not None:
                acts[player] = act
        for player in tuple(self._partners):
            words, act = self._decided(player)
            if words.strip():
                said[player] = words
            if act is not None:
                acts[player] = act
        done = self._live.tick({player: said[player] for player in self.seats if player in said}, acts)
        for player in said:
            self._confirm(player, typed.get(player), said[player])
        for partner in self._partners.values():
            partner.consult(self.game)
            if partner.is_slow(self.game.ticks):
                self._notify_hearers("thinking", partner.player)
        outside = done.edit is not None or done.utterances or self.game.ticks % OUTSIDE_TICKS == 0
        for client in self.clients:
            if outside or client.builds:
                client.wake.set()
        if done.terminated or done.truncated:
            self.end("complete" if done.terminated else "time")
        elif self.goal and done.edit is not None and self.game.episode.worlds.best[0] >= self.goal:
            self.end("practice")

    def _confirm(self, player: Player, words: Words | None, text: str) -> None:
        """Report a recorded message, and let its page know; None = of an agent."""
        facts: dict[str, Any] = {"text": text, "to": self._heard_by(player)}
        if words is None:
            self._report("said", player, **facts, agent=self.seats[player].agent)
            return
        self._words[player].popleft()
        seat = self.seats[player]
        seat.said += 1
        if seat.client is not None:
            seat.client.notify("said", n=seat.said)
        self._report("said", player, **facts, how=words.how, typed_s=words.typed_s)

    def _heard_by(self, player: Player) -> list[str]:
        hearers = self.game.config.hearers_of(self.game.agent_of[player])
        return [str(one) for one in self.seats if one != player and self.game.agent_of[one] in hearers]

    def learn(self, client: Client, step: str) -> None:
        """Report a step of the tutorial; its end ends a game that is there for it."""
        if self.coach and not self.over:
            client.seat.active_at = client.seat.acted_at = clock.monotonic()
            self._report("tutorial", client.player, step=step)
            if step in ("done", "skipped"):
                self.end("tutorial")

    def _decided(self, player: Player) -> tuple[str, Any]:
        """Return an agent's message and action. An agent that fails is removed, and nobody takes its seat."""
        try:
            action = self._partners[player].decided()
        except Exception as error:
            _log.warning("game %s: the %s has failed: %r", self.name, player, error)
            self._partners.pop(player).close()
            for client in self.clients:
                client.notify("note", text=STOPPED)
            return "", None
        if action is None:
            return "", None
        return (action["say"], action["act"]) if role_of(player) == Role.BUILDER else (action, None)

    def end(self, how: str, why: str = "") -> None:
        """End the game: complete, time, left, idle, disk or failed. Further calls do nothing. why: in words."""
        if self.over:
            return
        self.over, self.over_at, self.why = how, clock.monotonic(), why or how
        for partner in self._partners.values():
            partner.close()
        if self._recorder is not None:
            with contextlib.suppress(IgluMarlError):
                self._recorder.end(self.game)
            self._recorder.close()
            self._seats_file.unlink(missing_ok=True)
        self.send_status()
        for callback in self.on_end:
            callback(self)

    def suspend(self) -> None:
        """Leave the game to be resumed by another server process."""
        for partner in self._partners.values():
            partner.close()
        if self._recorder is not None:
            self._recorder.close()

    # -- people

    def enter(self, seat: Seat, page: str = "") -> Client:
        """Add a person to a seat. An older connection of the seat is closed.

        page: the same for all connections of a tab.
        """
        client, player = Client(self, seat, page), seat.player
        event = "back" if seat.active_at > 0 else "joined"
        if (older := seat.client) is not None:
            if page and older.page == page:  # its end has not been noticed yet
                self._report("away", player, why=LOST)
            else:
                event = "elsewhere"
            older.notify("elsewhere")
            older.dismiss()
            self.clients.discard(older)
        seat.client, seat.active_at = client, clock.monotonic()
        self._report(event, player)
        if self.playing:
            self.begun_at = self.begun_at or seat.active_at
        if player in self.hands:
            self.hands[player].forget()
        self.clients.add(client)
        client.notify("welcome", **self.facts(client))
        self.send_status()
        return client

    def leave(self, client: Client, for_good: bool = False, why: str = LOST) -> None:
        """Remove a connection; `for_good`: its person has left the game."""
        self.clients.discard(client)
        seat = client.seat
        if seat.client is not client:
            return
        seat.client, seat.away_at = None, clock.monotonic()
        seat.away_why = "pressed Leave" if for_good else why
        if seat.player in self.hands:
            self.hands[seat.player].forget()
        if not for_good:
            self._report("away", seat.player, why=why)
        elif not self.over:
            self._report("left", seat.player)
            self._lose(seat)
        self.send_status()

    def _lose(self, seat: Seat) -> None:
        """End the game of a person who is away for good."""
        self.ended_by = seat.player
        self.end("left", seat.away_why)

    def _report(self, event: str, player: Player, **facts: Any) -> None:
        if not self.over:
            for callback in self.on_event:
                callback(event, player, facts)

    def pause(self, paused: bool) -> None:
        """Stop the time of the game, or let it continue."""
        if paused != self.paused:
            self.paused = paused
            self.send_status()

    def played_s(self, player: Player) -> float:
        """Return the seconds from the beginning of the game to the last thing that a person said or did."""
        return max(0.0, self.seats[player].acted_at - self.begun_at) if self.begun_at else 0.0

    def check(self, now: float) -> None:
        """End the game where people are away or do nothing for too long."""
        if self.over:
            return
        if now > self.until:
            self.end("time")
            return
        options = self.options
        for seat in self.seats.values():
            if seat.agent is not None:
                continue
            if seat.client is not None:
                if self.playing:
                    self._check_active(seat, now - seat.active_at)
                else:
                    seat.active_at = now  # there is nothing to do
                continue
            patience = options.wait_s if seat.token else INVITE_S
            if now - seat.away_at >= patience:
                self._lose(seat)
        if not self.playing and not self.over:
            self.send_status()  # pages hear from the server each second, also without frames

    def _check_active(self, seat: Seat, idle_s: float) -> None:
        """Ask an inactive person for a sign of life, and end the game if there is none."""
        limit = self.options.idle_s
        if idle_s > limit:
            self.ended_by = seat.player
            self.end("idle")
        elif idle_s > limit / 2 and seat.asked_at < seat.active_at and seat.client is not None:
            seat.asked_at = clock.monotonic()
            left = math.ceil(limit - idle_s)
            seat.client.notify(
                "note", text=f"Are you still there? Do something, or the game ends in {left} s."
            )

    # -- input

    def expects(self, client: Client) -> int:
        """Return the number of a person's next message, from 1; 0 if none can be taken now."""
        if self.over or len(self._words[client.player]) >= WORDS_WAITING:
            return 0
        return client.seat.said + len(self._words[client.player]) + 1

    def say(self, client: Client, words: Words) -> None:
        """Queue a person's message for the next tick."""
        if self.over:
            return
        client.seat.active_at = client.seat.acted_at = clock.monotonic()
        if words.text.strip():
            self._words[client.player].append(words)

    def show_typing(self, client: Client) -> None:
        """Show those who hear a person that it is typing, unless agents and people have to look alike."""
        client.seat.active_at = clock.monotonic()
        self._notify_hearers("typing", client.player)

    def _notify_hearers(self, does: str, player: Player) -> None:
        """Show those who hear a player that it is typing or thinking, unless agents and people look alike."""
        if self.options.partner_name:
            return
        hearers = self._heard_by(player)
        for client in self.clients:
            if str(client.player) in hearers:
                client.notify(does, who=str(player))

    def move(self, client: Client, frame: CommandFrame) -> None:
        """Queue a command frame of a builder."""
        if client.player not in self.hands or not self.playing:
            return
        if client.gone:
            return  # late words of a connection that was replaced
        client.seat.active_at = client.seat.acted_at = clock.monotonic()
        self.hands[client.player].take(frame)

    # -- messages to clients

    def changes(self, player: Player, since: int) -> dict[str, Any]:
        """Return the message with `LiveGame.delta`."""
        return {"t": "frame", **self.game.delta(player, since)}

    def facts(self, client: Client) -> dict[str, Any]:
        """Return the message for a new client."""
        seat, player, sees = client.seat, client.player, self.game.config.sees
        knows = "all" in sees[player] if sees else client.role == Role.ARCHITECT
        return {
            "role": client.role.value,
            "player": str(player),
            **team_facts(self.game.config),
            "token": seat.token,
            "invites": self.open_seats,
            "examples": self._with_examples,
            "completes": self._with_examples and self._reads_by_grammar,
            "task": str(self.game.task.task_id or "") if knows else "",
            "colors": HEX_COLORS,
            "limit": self.game.config.max_message_length,
            "agents": {str(one): self._agent_name(seated.agent) for one, seated in self.seats.items()},
            "partner": self.options.partner_name,
            "left_s": self._left_s(),
            "said": seat.said,
            "coach": self.coach,
            "back": self.options.back,
        }

    @property
    def open_seats(self) -> dict[str, str]:
        """The invitations to seats that nobody has taken, by player."""
        return {str(one): seat.invitation for one, seat in self.seats.items() if seat.invitation}

    def _left_s(self) -> int:
        """Return the seconds until the game ends at the latest."""
        steps = (self.game.config.max_steps or 0) - self.game.ticks
        return max(0, math.floor(min(steps * STEP_S, self.until - clock.monotonic())))

    @property
    def _with_examples(self) -> bool:
        shown = self.options.examples
        return shown == "always" or (shown == "agents" and any(seat.agent for seat in self.seats.values()))

    @property
    def _reads_by_grammar(self) -> bool:
        """Whether no builder has a model that reads; with partners who look alike, none on offer."""
        builders = [seat.agent for seat in self.seats.values() if role_of(seat.player) == Role.BUILDER]
        if self.options.partner_name:
            builders = [*self.options.agents.get(Role.BUILDER, ())]
        return all(reader_of(builder) == "grammar" for builder in builders)

    def _agent_name(self, agent: str | None) -> str | None:
        if self.options.partner_name:
            return None  # agents and people look alike
        return agent and (shown_name(agent) if self.options.agents_named else "agent")

    def status(self) -> dict[str, Any]:
        """Return the state of the game, for all clients."""
        paused = "waiting" if self.open_seats else "paused"
        now = clock.monotonic()
        away = [seat.away_at for seat in self.seats.values() if seat.waits and seat.token]
        return {
            "state": "over" if self.over else "playing" if self.playing else paused,
            "how": self.over,
            "here": {str(player): not seat.waits for player, seat in self.seats.items()},
            "open": list(self.open_seats),
            "wait_s": max(0, math.ceil(min(away, default=now) + self.options.wait_s - now)),
            "paused": self.paused,
        }

    def send_status(self) -> None:
        """Send the state of the game to all clients."""
        for client in self.clients:
            client.notify("status", **self.status())


class Rooms:
    """All games of a server, and the tokens that open them."""

    def __init__(self, options: ServerOptions, thinking: Executor | None = None) -> None:
        self.options = options
        self.rooms: dict[str, Room] = {}
        self._tokens: dict[str, tuple[Room, Seat]] = {}
        self._late: deque[tuple[float, float]] = deque(maxlen=LATENESS_COUNT)
        self._thinking = thinking or ThreadPoolExecutor(THREADS, thread_name_prefix="agent")
        self._makers = ThreadPoolExecutor(1, thread_name_prefix="maker")  # of games: a model may be loaded
        self._slots: list[list[Room]] = [[] for _ in range(SLOTS)]  # rooms that tick together
        self.draining = False  # no new games, because the server is going to end

    # -- beginning and ending

    async def create(
        self,
        player: Player,
        partner: str | Mapping[str, str],
        task: str | Task | None = None,
        origin: str = "",
        seed: int | None = None,
    ) -> Seat:
        """Create a game with a person as `player`, and return the person's seat.

        partner: an agent's name, or "person", of all other players or by player. Raises `ConfigError` if a name is
        unknown.
        """
        options = self.options
        players = tuple(options.config.players.values())
        check_option("the role", player, players)
        seats = []
        for one in players:
            agent = None if one == player else self._partner(one, partner)
            invitation = "" if agent else new_token()
            seats.append(Seat(one, agent, invitation=invitation, away_at=clock.monotonic()))
        own = next(seat for seat in seats if seat.player == player)
        own.token, own.invitation = own.invitation, ""
        if isinstance(task, str):
            check_option("the task", task, options.tasks)
        chosen = secrets.choice(tuple(options.tasks)) if task is None else task
        builders = [seat.agent for seat in seats if role_of(seat.player) == Role.BUILDER]
        structure = chosen if isinstance(chosen, Task) else options.tasks[chosen]
        game = game_for(structure, None if None in builders else builders[0], options)
        room = Room(secrets.token_hex(6), game, seats, options, self._thinking)
        room.origin = origin
        self.rooms[room.name] = room  # at once, because it counts towards the limits
        try:
            await asyncio.get_running_loop().run_in_executor(self._makers, room.prepare, seed)
        except BaseException:
            del self.rooms[room.name]
            raise
        self._open(room)
        return own

    def _partner(self, player: Player, partner: str | Mapping[str, str]) -> str | None:
        """Return the agent that was asked for as a player; None is a person."""
        name = partner if isinstance(partner, str) else partner.get(str(player), PERSON)
        names = {shown_name(one): one for one in self.options.agents.get(role_of(player), ())}
        known = name in (*names, *names.values(), PERSON)
        expect("the partner", name, known, f"one of {', '.join((*names, PERSON))}")  # without endpoints
        return None if name == PERSON else names.get(name, name)

    def _open(self, room: Room) -> None:
        """Register the tokens of a room, and add it to the clock."""
        for seat in room.seats.values():
            for token in filter(None, (seat.token, seat.invitation)):
                self._tokens[token] = room, seat
        min(self._slots, key=len).append(room)

    async def resume(self) -> None:
        """Resume the games that were running when the server ended."""
        for path in sorted(self.options.folder.glob(f"*{SEATS}")):
            try:
                room = await asyncio.get_running_loop().run_in_executor(
                    self._makers, Room.resume, path, self.options, self._thinking
                )
            except IgluMarlError as error:
                _log.error("a game cannot be resumed: %s", error)
                continue
            if room is not None:
                self.rooms[room.name] = room
                self._open(room)

    async def clock(self) -> None:
        """Tick all rooms, each every `STEP_S`, spread evenly over that time, while the server runs.

        One timer for all, by absolute deadlines.
        """
        due = clock.monotonic()
        for slot in itertools.cycle(self._slots):
            due += STEP_S / SLOTS
            if slot or slot is self._slots[-1]:
                await asyncio.sleep(max(0.0, due - clock.monotonic()))
            for room in tuple(slot):
                if room.playing:
                    self.note_lateness(clock.monotonic() - due)
                    room.run_tick()
                elif room.over:
                    slot.remove(room)
            due = max(due, clock.monotonic() - HURRY_S)

    async def check_all(self) -> None:
        """Check all rooms once a second, while the server runs."""
        while True:
            await asyncio.sleep(1.0)
            self.check(clock.monotonic())

    def check(self, now: float) -> None:
        """Check all rooms: who is away for too long, and what is over."""
        low = self.free_mb < SPARE * self.options.free_mb
        for room in tuple(self.rooms.values()):
            room.pause(low)
            room.check(now)
            if room.over and now - room.over_at > KEPT_S and not room.clients:
                self._forget(room)

    def _forget(self, room: Room) -> None:
        del self.rooms[room.name]
        self._tokens = {token: place for token, place in self._tokens.items() if place[0] is not room}

    async def close(self) -> None:
        """Suspend all games; their recordings are complete up to now."""
        for room in self.rooms.values():
            if not room.over:
                room.suspend()
        self._thinking.shutdown(wait=False, cancel_futures=True)
        self._makers.shutdown(wait=False, cancel_futures=True)

    # -- entering

    def claim(self, invitation: str) -> str:
        """Take an invited seat, and return its new token. An invitation is valid once."""
        room, seat = self._tokens.pop(invitation)
        seat.invitation, seat.token = "", new_token()
        self._tokens[seat.token] = room, seat
        room.keep_seats()
        return seat.token

    def room_of(self, token: str) -> Room | None:
        """Return the room of a token, or None."""
        place = self._tokens.get(token)
        return None if place is None else place[0]

    def enter(self, token: str, page: str = "") -> Client | None:
        """Enter by a token or an invitation; return None if it is invalid. page: see `Room.enter`."""
        place = self._tokens.get(token)
        if place is None:
            return None
        room, seat = place
        if token == seat.invitation:
            self.claim(token)
        return room.enter(seat, page)

    # -- how busy it is

    def note_lateness(self, late_s: float) -> None:
        """Record by how much a tick was late."""
        self._late.append((clock.monotonic(), late_s))

    def lateness(self) -> float:
        """Return the 95th percentile of the lateness of recent ticks, in seconds."""
        recent = sorted(late for at, late in self._late if at > clock.monotonic() - LATENESS_S)
        return recent[int(0.95 * len(recent))] if recent else 0.0

    @property
    def free_mb(self) -> float:
        """Free space for recordings, in MB; infinite if it is unknown."""
        try:
            return shutil.disk_usage(self.options.folder).free / 1e6
        except OSError:
            return math.inf

    @property
    def is_full(self) -> bool:
        """Whether no game can start: too many, no space for recordings, or the server is going to end."""
        going = sum(not room.over for room in self.rooms.values())
        return self.draining or going >= self.options.games or self.free_mb < self.options.free_mb

    def refuses(self, origin: str) -> str:
        """Return why an address cannot start a game now; "" if it can."""
        going = [room for room in self.rooms.values() if not room.over]
        if sum(room.origin == origin for room in going) >= self.options.games_per_address:
            return "You have too many running games. End one first."
        late = len(going) > FEW and self.lateness() > self.options.late_s
        if late or self.is_full:
            return "The server is busy. Please try again in a minute."
        return ""


def check_agents(options: ServerOptions) -> None:
    """Create each agent once. Raises `ConfigError`, naming the agent, if one cannot play here."""
    task = next(iter(options.tasks.values()))
    for player in options.config.players.values():
        role = role_of(player)
        for name in options.agents.get(role, ()):
            if name in AGENTS[role]:
                continue
            try:
                game = game_for(task, name if role == Role.BUILDER else None, options)
                game.reset(seed=0)
                agent = partner_for(game, player, name)
                begin(agent, role, 0, game.task)
                agent.close()
            except IgluMarlError as error:
                raise ConfigError(f"the {player} {name!r} cannot play here: {error}") from error
