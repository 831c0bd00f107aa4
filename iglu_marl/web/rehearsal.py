"""A rehearsal of a study: simulated participants go through it, with agents that play for them, in simulated time.

They call what pages call: `Sessions` and `Rooms`. All that a study stores is stored, in a folder of its own.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from iglu_marl.agents.registry import reader_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, IgluMarlError
from iglu_marl.core.task import Task
from iglu_marl.recording import replay
from iglu_marl.web import clock
from iglu_marl.web import store as db
from iglu_marl.web.inputs import CommandFrame, RemoteHands
from iglu_marl.web.options import AGENTS, PERSON, ServerOptions
from iglu_marl.web.partners import AT_ONCE, Partner
from iglu_marl.web.rooms import Client, Room, Rooms, Words
from iglu_marl.web.server import options_for
from iglu_marl.web.sessions import Sessions
from iglu_marl.web.study import OVER, Study

PLAYER = "scripted"  # the agent that plays for a participant
READING_S = {"consent": 20, "instructions": 45, "quiz": 30, "before": 30, "between": 20, "questions": 60}
REACTION_S = 4.0  # to a partner who is there, and to the end of a game
LETTERS_PER_S = 5.0  # of somebody who types
KNOWS = 0.95  # share of right answers
STEP_S = 0.5  # of the rehearsal's time
ACTS = 5  # of a builder in a step; agents at full speed would make 10
LONGEST_S = 24 * 3600.0


@dataclasses.dataclass(frozen=True)
class Crowd:
    """The participants of a rehearsal.

    every_s: mean between arrivals. dropouts: share who close the page for good, at any moment; half of those who play
    leave by the button.
    """

    participants: int = 60
    every_s: float = 20.0
    dropouts: float = 0.2
    seed: int = 0


class _Hands(RemoteHands):
    """The hands of a builder for whom an agent plays."""

    act: Any = None

    def action(self, yaw_deg: float, pitch_deg: float) -> Any:
        """Return the agent's action, once."""
        act, self.act = self.act, None
        return act


class _Visitor:
    """A participant with a page."""

    def __init__(self, number: int, comes_at: float, crowd: Crowd, rng: np.random.Generator) -> None:
        self.code, self.rng = f"R{number:03}", rng
        self.due = self.came = comes_at  # when it does something next
        self.stays_s = float(rng.exponential(400.0)) if rng.random() < crowd.dropouts else np.inf
        self.view: dict[str, Any] = {}
        self.outcome = ""  # "turned away", "dropped out", or the last stage
        self.waits: list[float] = []
        self.asked_at: float | None = None  # when it began to wait
        self._offered_at: float | None = None
        self.client: Client | None = None
        self._player: Partner | None = None
        self._returns = False  # from a game
        self._held: tuple[float, str, Any, float] | None = None  # when something is said and done

    async def act(self, sessions: Sessions) -> None:
        """Do what comes next, and set `due`."""
        now = clock.monotonic()
        try:
            if now - self.came >= self.stays_s:
                self._drop_out()
            elif self.client is not None:
                self._look_at_game()
            elif not self.view:
                self._show(await sessions.enter({"code": self.code, "touch": False}))
            elif self._returns:
                self._returns = False
                self._show(await sessions.enter({"token": self.view["token"]}))
            elif self.view["stage"] == "game":
                await self._ask_for_game(sessions)
            else:
                stage = self.view["stage"]
                asked = {"token": self.view["token"], "stage": stage, "agree": True}
                self._show(
                    await sessions.next_stage({**asked, "answers": self._answers(sessions.study, stage)})
                )
        except ConfigError:
            self.outcome = "turned away"

    def _show(self, view: dict[str, Any]) -> None:
        self.view, self.asked_at, self._offered_at = view, None, None
        if view["stage"] in OVER:
            self.outcome = view["stage"]
        mean_s = READING_S.get(view["stage"], REACTION_S)
        self.due = clock.monotonic() + float(self.rng.gamma(4.0, mean_s / 4.0))

    def _answers(self, study: Study, stage: str) -> dict[str, str]:
        answers = {}
        for one in study.asked(stage):
            scale = [str(step) for step in range(1, one.steps + 1)] if one.kind == "likert" else one.options
            knows = one.expected and self.rng.random() < KNOWS
            chosen = str(self.rng.choice(scale)) if scale else "rehearsal"
            answers[one.name] = one.expected if knows else chosen
        return answers

    async def _ask_for_game(self, sessions: Sessions) -> None:
        """Ask for a game, or for a partner once a second."""
        now = clock.monotonic()
        self.asked_at = self.asked_at or now
        ready = self._offered_at is not None and now - self._offered_at >= REACTION_S
        answer = await sessions.game({"token": self.view["token"], "ready": ready})
        self.due = now + 1.0
        if "stage" in answer or "play" in answer:
            self.waits.append(now - self.asked_at)
            self.asked_at = self._offered_at = None
        if "stage" in answer:
            self._show(await sessions.enter({"token": self.view["token"]}))
        elif "play" in answer:
            self._join(sessions.rooms, answer["play"])
        else:
            self._offered_at = (self._offered_at or now) if answer.get("offered") else None

    def _join(self, rooms: Rooms, token: str) -> None:
        self.client = rooms.enter(token)
        room = rooms.room_of(token)
        assert room is not None
        assert self.client is not None
        player = self.client.player
        if player in room.hands:
            room.hands[player] = _Hands(room.game.config.controls)
        self._player = Partner(room.game, player, PLAYER, AT_ONCE, int(self.rng.integers(2**31)))
        self._held = None
        self.due = clock.monotonic() + 1.0

    def _look_at_game(self) -> None:
        """See whether the game is over."""
        assert self.client is not None
        now = clock.monotonic()
        self.due = now + 1.0
        if self.client.room.over:
            self.client.room.leave(self.client)
            self.client = self._player = None
            self._returns, self.due = True, now + REACTION_S
        elif self.client.room.coach:
            self.client.room.learn(self.client, "done")

    def _drop_out(self) -> None:
        self.outcome = "dropped out"
        if self.client is not None:
            self.client.room.leave(self.client, for_good=self.rng.random() < 0.5)

    def play(self) -> None:
        """Say and do what the agent has decided; an architect needs time to type."""
        if self._player is None or self.client is None:
            return
        now, room = clock.monotonic(), self.client.room
        if self._held is None and (action := self._player.decided()) is not None:
            builds = self.client.role == Role.BUILDER
            words, act = (action["say"], action["act"]) if builds else (action, None)
            typed_s = len(words) / LETTERS_PER_S
            self._held = now if builds else now + typed_s, words, act, typed_s
        if self._held is not None and now >= self._held[0]:
            _, words, act, typed_s = self._held
            self._held = None
            room.say(self.client, Words(words, "typed", typed_s))
            hands = room.hands.get(self.client.player)
            if act is not None and isinstance(hands, _Hands):
                room.move(self.client, CommandFrame(1, 0, ()))
                hands.act = act

    def look(self) -> None:
        """Show the agent what has happened."""
        if self._held is None and self._player is not None and self.client is not None:
            self._player.consult(self.client.room.game)


def _play(room: Room, players: list[_Visitor]) -> None:
    """Play a step of a game: several ticks while the builder acts, one while it waits for words."""
    for _ in range(ACTS):
        for one in players:
            one.play()
        room.run_tick()
        for one in players:
            one.look()
        if not room.playing or room.game.episode.floor == Role.ARCHITECT:
            break


async def _run(
    sessions: Sessions, rooms: Rooms, crowd: Crowd, pass_by: Callable[[float], None]
) -> list[_Visitor]:
    """Let the participants come and go until nothing happens any more."""
    rng = np.random.default_rng(crowd.seed)
    times = clock.monotonic() + np.cumsum(rng.exponential(crowd.every_s, crowd.participants))
    seeds = rng.spawn(crowd.participants)
    visitors = [_Visitor(k, float(at), crowd, seeds[k]) for k, at in enumerate(times)]
    end, checked = clock.monotonic() + LONGEST_S, clock.monotonic()
    patience = max(300.0, 2 * sessions.study.wait_s)
    while there := [one for one in visitors if not one.outcome]:
        now = clock.monotonic()
        if now > end or all(one.asked_at and now - one.asked_at > patience for one in there):
            break
        for one in there:
            if now >= min(one.due, one.came + one.stays_s):
                await one.act(sessions)
        for room in [room for room in rooms.rooms.values() if room.playing]:
            _play(room, [one for one in there if one.client is not None and one.client.room is room])
        if now - checked >= 1.0:
            checked = now
            rooms.check(now)
        await sessions.settle()
        pass_by(STEP_S)
    for room in rooms.rooms.values():  # of those who are away for longer than the rehearsal
        room.end("left")
    await sessions.settle()
    return visitors


def run_rehearsal(
    study: Study, folder: Path, tasks: Mapping[str, Task], crowd: Crowd
) -> tuple[dict[str, Any], db.Store]:
    """Rehearse a study. Return its report (counts, seconds, and a list of `problems`) and the database.

    folder: gets database and recordings. Raises `ConfigError` if no server could run the study.
    """
    fallback = {role: _player_for(name) for role, name in study.fallback.items()}
    conditions = tuple(dataclasses.replace(one, partner=_player_for(one.partner)) for one in study.conditions)
    study = dataclasses.replace(study, conditions=conditions, fallback=fallback, reader="grammar")
    names = {role: [fallback.get(role, PLAYER)] for role in Role}
    for one in conditions:
        names[one.other] += [one.partner] if one.partner != PERSON else []
    agents = {role: tuple(dict.fromkeys((*AGENTS[role], *used))) for role, used in names.items()}
    options = options_for(study, ServerOptions(folder=folder, tasks=tasks, agents=agents, free_mb=1.0))
    store = db.Store(f"sqlite:///{folder / 'studies.db'}")
    visitors, took_s = asyncio.run(_rehearse(study, options, store, crowd))
    return _report(study, folder, visitors, store, took_s), store


def _player_for(name: str) -> str:
    """Return the agent that plays for another one in a rehearsal: language models are replaced."""
    return PLAYER if reader_of(name) == "model" else name


async def _rehearse(
    study: Study, options: ServerOptions, store: db.Store, crowd: Crowd
) -> tuple[list[_Visitor], float]:
    """Return the participants, and the seconds that all of it took them."""
    with clock.simulated() as pass_by:
        begun = clock.monotonic()
        rooms, sessions = Rooms(options, AT_ONCE), Sessions(study, store)
        await sessions.resume(rooms)
        visitors = await _run(sessions, rooms, crowd, pass_by)
        await rooms.close()
        return visitors, clock.monotonic() - begun


def _report(
    study: Study, folder: Path, visitors: list[_Visitor], store: db.Store, took_s: float
) -> dict[str, Any]:
    people = {row["code"]: row for row in store.do(db.rows, db.PARTICIPANTS, study.name)}
    games = store.do(db.rows, db.GAMES, study.name)
    counted = [row for row in games if row["condition"] in study.paired and not row["practice"]]
    met: dict[str, set[str]] = defaultdict(set)  # the people of a game
    for row in counted:
        met[row["recording"]].add(row["code"])
    balance: dict[str, Counter[str]] = {one.name: Counter() for one in study.conditions}
    waits: list[float] = []
    for one in (one for one in visitors if one.code in people):
        condition = people[one.code]["condition"]
        balance[condition][one.outcome or "still waiting"] += 1
        waits += one.waits if condition in study.paired else []
    over = [row for row in people.values() if row["stage"] in OVER and row["stage"] != "refused"]
    return {
        "participants": len(visitors),
        "hours": round(took_s / 3600, 2),
        "balance": {name: dict(counts) for name, counts in balance.items()},
        "pairs": len({frozenset(codes) for codes in met.values() if len(codes) > 1}),
        "games": dict(Counter({row["recording"]: row["how"] for row in games}.values())),
        "fallbacks": sum(row["partner"] != PERSON for row in counted),
        "wait_s": {
            str(share): round(float(np.percentile(waits or [0.0], share)), 1) for share in (50, 95, 100)
        },
        "minutes": round(median([row["finished"] - row["came"] for row in over] or [0.0]) / 60, 1),
        "problems": _problems(folder, visitors, games),
    }


def _problems(folder: Path, visitors: list[_Visitor], games: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong, one line each: who waits for ever, games without an end, recordings that do not replay."""
    stranded = [one.code for one in visitors if not one.outcome]
    problems = [f"{code} waits for a partner, and nobody comes any more" for code in stranded]
    problems += [
        f"the game {one['recording']} of {one['code']} has no end" for one in games if not one["how"]
    ]
    for recording, row in {game["recording"]: game for game in games}.items():
        try:
            result = replay(folder / recording)
            if (result.intersection, result.target_blocks) != (row["right"], row["blocks"]):
                problems.append(f"the recording {recording} has another result than the database")
        except IgluMarlError as error:
            problems.append(str(error))
    return problems
