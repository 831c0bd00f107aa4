"""Participants of a study: from consent to completion code, alone or in pairs.

The state is in the database, so a reload, a second tab or another device continues at the same place. A restarted
server resumes running games.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import math
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from iglu_marl.agents.registry import reader_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, IgluMarlError
from iglu_marl.core.files import PRIVATE, private_folder, write_text
from iglu_marl.core.parsing import read_file
from iglu_marl.recording import read_recording
from iglu_marl.recording.rollout import Player
from iglu_marl.recording.values import player_of
from iglu_marl.web import clock
from iglu_marl.web import store as db
from iglu_marl.web.limits import POLICY, json_of, message_of, same_origin
from iglu_marl.web.options import PERSON, READING
from iglu_marl.web.pairing import READY_S, Queue
from iglu_marl.web.rooms import Room, Rooms
from iglu_marl.web.study import ASKING, CODE, OVER, Round, Study

_log = logging.getLogger("uvicorn.error")
BROKEN = "broken"  # end of a game that cannot be resumed
UNPLAYED = "unplayed"  # end of a game of people, one of whom left before all had said or done anything
SHORT = "short"  # event: a participant ended a game too early
QUIZ = "quiz failed"  # event
DISK = "disk"  # end of a game that could not be recorded
AGAIN = (BROKEN, UNPLAYED, DISK)  # ends after which a game is played again
PRACTISED = ("complete", "time", "practice", "tutorial")  # ends of a practice that need not be played again
CLOSE_S = 10.0  # for pending writes when the server ends; the next start finds games whose end is not stored
JOIN_S = 10.0  # for the first message of a page that waits
ASK_S = 1.0  # between looks at the queue for a page that waits


def _ended(path: Path) -> dict[str, Any]:
    """Return the end of a recorded game that is not resumed, as columns of its row."""
    try:
        end = read_recording(path)[-1].end
        if end is not None:
            how = "complete" if end["terminated"] else "time" if end["truncated"] else "left"
            return {"how": how, "right": int(end["intersection"]), "blocks": int(end["target_blocks"])}
    except (IgluMarlError, LookupError, TypeError, ValueError) as error:
        _log.error("a game cannot be resumed: %s", error)
    return {"how": BROKEN, "right": 0, "blocks": 0}


class Sessions:
    """The participants of a study. rooms: the server's, once it runs. writes: those that wait for the database."""

    rooms: Rooms
    failures = db.ERRORS

    def __init__(self, study: Study, store: db.Store) -> None:
        self.study, self.store = study, store
        store.do(db.keep_study, study)
        self._seats: dict[tuple[int, int], str] = {}  # participant and game -> the token of the seat
        self._queues: dict[tuple[str, int], Queue] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._pages: dict[int, WebSocket] = {}  # of participants who wait
        self.writes: set[asyncio.Task[Any]] = set()

    def routes(self) -> list[BaseRoute]:
        """Return the routes of the study's page."""
        answers = {"enter": self.enter, "next": self.next_stage, "game": self.game}
        posted = (
            Route(f"/api/study/{name}", self._answering(answer), methods=["POST"])
            for name, answer in answers.items()
        )
        return [
            *posted,
            Route("/api/study/parameters", self.parameters),
            WebSocketRoute("/ws/study", self.waiting),
        ]

    def _answering(self, answer: Callable[[dict[str, Any]], Any]) -> Any:
        async def endpoint(request: Request) -> Response:
            return JSONResponse(await answer(await json_of(request)))

        return endpoint

    async def status(self) -> list[dict[str, Any]]:
        """Return the number of participants by condition and stage."""
        return await self.store.call(db.status, self.study.name)

    async def resume(self, rooms: Rooms) -> None:
        """Connect participants with the server's resumed games, and store the end of others. Raises `DataError`."""
        self.rooms = rooms
        with db.in_words("the database cannot be used"):
            going = {room.recording: room for room in rooms.rooms.values()}
            for recording, rows in (await self.store.call(db.unended, self.study.name)).items():
                number, path = rows[0]["number"], rooms.options.folder / recording
                players = {row["participant"]: player_of(row["role"]) for row in rows}
                if (room := going.get(recording)) is not None:
                    await self._connect(room, number, players)
                    for participant in players:  # who comes back was away
                        detail = {"game": number, "tick": room.game.ticks, "why": "server"}
                        self._keep(db.note, participant, "away", detail, clock.time())
                elif path.exists():
                    await self.store.call(self._note_end, recording, _ended(path), number, [*players])
                else:
                    _log.error("the recording %s is in another folder, perhaps of another server", recording)

    async def settle(self) -> None:
        """Wait for pending writes."""
        if self.writes:
            await asyncio.wait(self.writes, timeout=CLOSE_S)

    async def close(self) -> None:
        """Wait for pending writes, and close the database."""
        await self.settle()
        for task in self.writes:
            task.cancel()
        self.store.close()

    # -- requests of a participant

    async def parameters(self, _: Request) -> Response:
        """Answer with the parameters of the study's links."""
        return JSONResponse({"parameter": self.study.participant, "parameters": self.study.parameters})

    async def enter(self, asked: dict[str, Any]) -> dict[str, Any]:
        """{"code", "key", "touch", "parameters"} or {"token"} -> the participant's state."""
        if isinstance(token := asked.get("token"), str):
            return self._view(await self._participant(token))
        code, study, touch = asked.get("code"), self.study, asked.get("touch")
        if isinstance(code, str) and set("{}%[]") & set(code):
            raise ConfigError(
                f"The link has {code[:40]} in place of your code. Please open the study from the platform's page."
            )
        if not isinstance(code, str) or CODE.fullmatch(code) is None:
            raise ConfigError("This is no participant code.")
        if study.links == "signed":
            key = sign(self.rooms.options.folder, study.name, code)
            if not secrets.compare_digest(str(asked.get("key")).encode(), key.encode()):
                raise ConfigError("This code is not among those that were invited to the study.")
        device = "touch" if touch is True else "mouse"
        if isinstance(touch, bool) and device not in study.devices:
            raise ConfigError(
                "This study cannot be done with this device. Please open the link with another one."
            )
        facts = {"device": device} if isinstance(touch, bool) else {}
        given = asked.get("parameters")
        parameters = given if isinstance(given, dict) else {}
        for name in study.parameters:
            if isinstance(value := parameters.get(name), str) and CODE.fullmatch(value):
                facts[name] = value
        row = await self.store.call(db.enter, study, code, facts)
        return self._view(await self._participant(row["token"]))

    async def next_stage(self, asked: dict[str, Any]) -> dict[str, Any]:
        """{"token", "stage", "agree" or "answers"} -> the participant's next state."""
        row = await self._participant(asked.get("token"))
        stage = row["stage"]
        if asked.get("stage") == stage:
            if stage == "consent" and asked.get("agree") is not True:
                await self._advance(row, "refused")
            elif stage in ("consent", "instructions"):
                await self._advance(row, self.study.next_stage(stage))
            elif stage == "quiz" or stage in ASKING:
                await self._questions(row, asked.get("answers"))
        return self._view(await self._participant(row["token"]))

    async def _questions(self, row: dict[str, Any], answers: Any) -> None:
        given, stage = answers if isinstance(answers, dict) else {}, row["stage"]
        asked = [one for one in self.study.asked(stage) if one.kind != "note"]
        kept = {one.name: one.check(given.get(one.name, "")) for one in asked}

        def keep(connection: Any) -> None:
            now = db.by_id(connection, row["id"])
            if now is None or (now["stage"], now["game"]) != (stage, row["game"]):
                return  # another tab has sent them
            db.keep_answers(connection, asked, row["id"], kept, row["game"] - 1 if row["game"] else None)
            after = self._after(connection, row, kept)
            db.advance(connection, row["id"], stage, row["game"], after, row["game"])

        await self.store.call(keep)

    def _after(self, connection: Any, row: dict[str, Any], answers: Mapping[str, str]) -> str:
        """Return the stage after the questions of the present one, whose answers are stored."""
        study, stage = self.study, row["stage"]
        if stage == "between":
            return "game"
        if stage == "before":
            return study.next_stage(stage)
        if stage == "quiz":
            wrong = [one.name for one in study.quiz if not one.passed(answers[one.name])]
            if not wrong:
                return study.next_stage(stage)
            db.note(connection, row["id"], QUIZ, {"wrong": wrong})
            return (
                "screened" if db.events(connection, row["id"], QUIZ) >= study.quiz_tries else "instructions"
            )
        failed = 0 < study.failed_checks <= db.failed_checks(connection, row["id"])
        return "failed" if failed else self._last(connection, row["id"])

    async def game(self, asked: dict[str, Any]) -> dict[str, Any]:
        """{"token"} -> {"play": the token of a seat}, {"wait": seconds} or {"stage": another one}.

        With `"offered": True` a partner is there, and both have to confirm that they are: by `"ready": True` within
        that time. A request without the key `ready` confirms, too.
        """
        row = await self._participant(asked.get("token"))
        # one at a time for each condition: two tabs, or two waiting participants, get one game
        async with self._locks.setdefault(row["condition"], asyncio.Lock()):
            row = await self._participant(row["token"])
            if row["stage"] != "game":
                return {"stage": row["stage"]}
            place = row["id"], row["game"]
            room = self.rooms.room_of(self._seats.get(place, ""))
            if room is not None and not room.over:
                return {"play": self._seats[place]}
            if self.rooms.is_full:
                return {"wait": 10, "open": True}
            if (
                row["placed"] is None
                and not self._round(row).practice
                and not await self.store.call(db.place, self.study, row["id"])
            ):
                await self._advance(row, "dismissed")
                return {"stage": "dismissed"}
            return await self._begin(row, asked.get("ready", True) is True)

    async def waiting(self, socket: WebSocket) -> None:
        """Send the answers of `game` to a page that waits, as they change.

        The page sends {"t": "join", "token"}, and {"t": "ready"} to confirm. When the connection ends, the participant
        leaves the queue.
        """
        if not same_origin(socket.headers):
            await socket.close(POLICY)
            return
        await socket.accept()
        row: dict[str, Any] = {}
        try:
            first = await asyncio.wait_for(message_of(socket), JOIN_S)
            row = await self._participant(first.get("token"))
            self._pages[row["id"]] = socket
            await self._send_answers(socket, row)
        except (IgluMarlError, *db.ERRORS) as error:
            _log.error("a participant does not wait any more: %s", error)
        except (RuntimeError, WebSocketDisconnect, asyncio.TimeoutError):
            pass
        finally:
            if row and self._pages.get(row["id"]) is socket:
                del self._pages[row["id"]]
                for queue in self._queues.values():
                    queue.remove(row["id"])
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await socket.close()

    async def _send_answers(self, socket: WebSocket, row: dict[str, Any]) -> None:
        """Send the answers of `game` as they change, until one is a game or another stage."""
        last, state, ready = None, "", False
        hearing = asyncio.ensure_future(message_of(socket))
        try:
            while True:
                answer = await self.game({"token": row["token"], "ready": ready})
                ready = ready and "offered" in answer
                if answer != last:
                    await socket.send_json({"t": "state", **answer})
                    last = answer
                if "play" in answer or "stage" in answer:
                    state = ""
                    return
                before, state = state, "offered" if "offered" in answer else "waits"
                if state != before:
                    self._keep(db.note, row["id"], state, {"game": row["game"]})
                await asyncio.wait({hearing}, timeout=ASK_S)
                if hearing.done():
                    ready = hearing.result() == {"t": "ready"}
                    hearing = asyncio.ensure_future(message_of(socket))
        finally:
            if not hearing.cancel():
                hearing.exception()  # the page has gone
            if state:
                self._keep(db.note, row["id"], "gone", {"game": row["game"]})

    # -- games

    async def _begin(self, row: dict[str, Any], ready: bool) -> dict[str, Any]:
        """Start a game with an agent or with a waiting person, or wait for one."""
        study, condition, team = self.study, self.study.condition(row["condition"]), row["team"]
        if self._round(row).practice or len(condition.seats) == 1:
            return await self._open({row["id"]: self._role(row)}, row)
        if team is not None:
            members = await self.store.call(db.members, team)
            there = [one for one in members if one["stage"] not in OVER and one["game"] <= row["game"]]
            if len(there) < 2:
                if study.no_partner != "wait":
                    return await self._without_partner(row)
                await self.store.call(db.part, [one["id"] for one in there])
                row, team = {**row, "team": None}, None
        queue = self._queues.setdefault((condition.name, row["game"]), Queue())
        now = clock.monotonic()
        mine = queue.ask(row["id"], team, now, ready)
        if mine.other is not None:
            people = sorted((mine, mine.other), key=lambda one: one.since)
            if mine.ready and mine.other.ready:
                for one in people:
                    queue.remove(one.participant)
                return await self._with_people(row, [one.participant for one in people])
            role = self._role(row) if team is not None else condition.seats[people.index(mine)]
            left = math.ceil(READY_S - (now - mine.offered_at))
            return {"wait": left, "offered": True, "confirmed": mine.ready, "role": str(role)}
        left_s = study.wait_s - (now - mine.since)
        if study.no_partner == "wait":
            return {"wait": math.ceil(max(left_s, 1.0)), "open": True}
        if left_s > 0:
            return {"wait": math.ceil(left_s)}
        queue.remove(row["id"])
        return await self._without_partner(row)

    def _rounds(self, row: dict[str, Any]) -> tuple[Round, ...]:
        """Return a participant's games."""
        return self.study.rounds(row["condition"], row["place"])

    def _round(self, row: dict[str, Any]) -> Round:
        """Return a participant's present game."""
        return self._rounds(row)[row["game"]]

    def _counted(self, row: dict[str, Any]) -> int:
        """Return the number of a participant's present game after practice, from 0; negative in practice."""
        return int(row["game"]) - sum(one.practice for one in self._rounds(row))

    def _role(self, row: dict[str, Any]) -> Role:
        """Return what a participant plays in its present game."""
        if (own := self._round(row).role) is not None:
            return own
        condition = self.study.condition(row["condition"])
        first = Role(row["role"]) if row["role"] else condition.role
        return self._after_turns(row, first) if row["team"] is not None else first

    def _after_turns(self, row: dict[str, Any], role: Role) -> Role:
        """Return what one of a pair plays in the present game who plays `role` in the first; or the other way round."""
        swaps = self.study.roles == "swap" and self._counted(row) % 2 == 1
        return next(one for one in Role if one != role) if swaps else role

    async def _without_partner(self, row: dict[str, Any]) -> dict[str, Any]:
        """Do what the study wants for a participant for whom nobody is there."""
        if self.study.no_partner == "agent":
            return await self._open({row["id"]: self._role(row)}, row)
        await self._advance(row, "dismissed")
        return {"stage": "dismissed"}

    async def _with_people(self, row: dict[str, Any], people: list[int]) -> dict[str, Any]:
        """Start a game of participants, in the order in which they came."""
        seats = self.study.condition(row["condition"]).seats
        if self.study.pairing == "fixed" and row["team"] is None:
            stored = {who: str(self._after_turns(row, seat)) for who, seat in zip(people, seats, strict=True)}
            await self.store.call(db.join_team, self.study, stored)
        pair = [one for who in people if (one := await self.store.call(db.by_id, who)) is not None]
        fixed = {one["id"]: self._role(one) for one in pair if one["team"] is not None}
        row = next((one for one in pair if one["id"] == row["id"]), row)
        return await self._open(fixed or dict(zip(people, seats, strict=True)), row)

    def _partner(self, row: dict[str, Any], role: Player) -> str:
        """Return the agent with which a participant plays alone."""
        condition, other = self.study.condition(row["condition"]), next(one for one in Role if one != role)
        alone = not self._round(row).practice and condition.partner != PERSON
        name = condition.partner if alone else self.study.fallback[other]
        reads = self.study.reader == "model" and (other, name) == (Role.BUILDER, "scripted")
        return READING if reads else name

    async def _open(self, players: Mapping[int, Player], row: dict[str, Any]) -> dict[str, Any]:
        """Start the game of a participant's row, and store it for its players."""
        number, task, own = row["game"], self._round(row).task, players[row["id"]]
        partner = PERSON if len(players) > 1 else self._partner(row, own)
        seat = await self.rooms.create(own, partner, task)
        room = self.rooms.room_of(seat.token)
        assert room is not None
        for other in room.seats.values():
            if other.invitation:
                self.rooms.claim(other.invitation)
        facts = {"number": number, "task": task, "recording": room.recording, "partner": partner}
        practice = int(self._round(row).practice)
        await self.store.call(db.game_begun, players, {**facts, "practice": practice})
        await self._connect(room, number, players)
        return {"play": self._seats[row["id"], number]}

    async def _connect(self, room: Room, number: int, players: Mapping[int, Player]) -> None:
        """Give participants their seats in a game."""
        for participant, role in players.items():
            self._seats[participant, number] = room.seats[role].token
        rows = [row for who in players if (row := await self.store.call(db.by_id, who)) is not None]
        if rows:
            room.until = clock.monotonic() + min(map(self._left, rows))
            self._follow(room, {**rows[0], "game": number}, players)

    def _follow(self, room: Room, row: dict[str, Any], players: Mapping[int, Player]) -> None:
        """Store what people do in the game of a participant's row, and its end when it comes."""
        number, present = row["game"], self._round(row)
        practice, room.coach = present.practice, present.tutorial
        least_s = 0.0 if practice else self.study.least_s
        if practice and not present.tutorial:
            kind, _, count = self.study.practice_until.partition(":")
            room.goal = int(count) if kind == "blocks" else 0
            if kind == "minutes":
                room.until = min(room.until, clock.monotonic() + 60 * int(count))

        def store_event(kind: str, player: Player, facts: Mapping[str, Any]) -> None:
            detail = {"game": number, "tick": room.game.ticks, **facts}
            if kind == "said":
                hearer = room.seats[Role.BUILDER].agent if "builder" in facts["to"] else None
                detail |= {"player": str(player), "recording": room.recording, "practice": int(practice)}
                detail["reader"] = "" if hearer is None else reader_of(hearer)
            owner = next((who for who, role in players.items() if role == player), None)
            if owner is None:  # an agent has spoken
                kind, owner = "heard", next(iter(players))
            self._keep(db.note, owner, kind, detail, clock.time())

        def store_end(ended: Room) -> None:
            worlds, by = ended.game.episode.worlds, ended.ended_by
            idle = len(players) > 1 and not all(ended.seats[role].acted_at for role in players.values())
            unmet = practice and self.study.practice_until and ended.over not in PRACTISED
            how = UNPLAYED if by is not None and (idle or unmet) else ended.over
            end = {"how": how, "right": int(worlds.best[0]), "blocks": int(worlds.target_blocks[0])}
            end |= {"ended_by": str(by or ""), "why": ended.why}
            short = [who for who, role in players.items() if role == by and ended.played_s(role) < least_s]

            def note(connection: Any) -> None:
                for who, role in players.items():
                    if practice and not present.tutorial:
                        db.note(
                            connection, who, "practice", {"game": number, "why": ended.why, "met": not unmet}
                        )
                    if role == by and ended.over == "idle":
                        db.note(connection, who, "idle", {"game": number})
                    if who in short and how != UNPLAYED:
                        db.note(connection, who, SHORT, {"game": number})
                self._note_end(connection, ended.recording, end, number, list(players))

            self._keep(note)

        room.on_event.append(store_event)
        room.on_end.append(store_end)

    def _keep(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Write to the database beside the games, when it can be written."""
        task = asyncio.get_running_loop().create_task(self.store.keep(work, *arguments))
        self.writes.add(task)
        task.add_done_callback(self.writes.discard)

    def _note_end(
        self, connection: Any, recording: str, end: Mapping[str, Any], number: int, players: list[int]
    ) -> None:
        """Store a game's end and advance its players, unless it has to be played again."""
        db.game_ended(connection, recording, **end)
        how = end["how"]
        found = [row for who in players if (row := db.by_id(connection, who)) is not None]
        if how == UNPLAYED and any(self._counted({**row, "game": number}) == 0 for row in found):
            db.part(connection, players)
        for row in found if how not in AGAIN else ():
            after = self._after_game(connection, {**row, "game": number})
            db.advance(connection, row["id"], "game", number, *after)

    def _after_game(self, connection: Any, row: dict[str, Any]) -> tuple[str, int]:
        """Return stage and game after the present game."""
        following, rounds = row["game"] + 1, self._rounds(row)
        if following == len(rounds):
            return (
                "questions" if self.study.asked("questions") else self._last(connection, row["id"])
            ), following
        between = self.study.asked("between") and not rounds[row["game"]].practice
        return ("between" if between else "game"), following

    @staticmethod
    def _last(connection: Any, participant: int) -> str:
        """Return the last stage of a participant whose answers are fine."""
        return "left" if db.events(connection, participant, SHORT) else "done"

    # -- state of participants

    async def _participant(self, token: Any) -> dict[str, Any]:
        row = await self.store.call(db.by_token, token) if isinstance(token, str) else None
        if row is None or row["study"] != self.study.name:
            raise ConfigError("This link is unknown here. Please use the link that you received.")
        if row["stage"] == "expired" and 0 < self._left(row) < math.inf:  # the clock was wrong
            before = await self.store.call(db.last_stage, row["id"], "expired")
            await self._advance(row, before or self.study.next_stage(""))
        elif row["stage"] in OVER or self._left(row) > 0:
            return row
        else:
            await self._advance(row, "expired")
        after: dict[str, Any] | None = await self.store.call(db.by_id, row["id"])
        return row if after is None else after

    def _left(self, row: dict[str, Any]) -> float:
        """Return the seconds that a participant has left."""
        return row["came"] + 60 * self.study.minutes - clock.time() if self.study.minutes else math.inf

    async def _advance(self, row: dict[str, Any], stage: str) -> None:
        await self.store.call(db.advance, row["id"], row["stage"], row["game"], stage, row["game"])

    def _view(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the page's data."""
        study, stage = self.study, row["stage"]
        view: dict[str, Any] = {
            "token": row["token"],
            "stage": stage,
            "title": study.title,
            "game": row["game"] + 1,
        }
        if stage not in OVER and study.minutes:
            view["left_s"] = math.ceil(self._left(row))
        if stage not in OVER:
            first, rounds = study.first_stages, self._rounds(row)
            done = first.index(stage) if stage in first else len(first) + row["game"]
            view |= {"step": done + 1, "steps": len(first) + len(rounds) + bool(study.asked("questions"))}
        if stage in ("consent", "instructions"):
            text = study.consent if stage == "consent" else study.instructions
            view["pages"] = [as_html(part) for part in re.split(r"^---$", text, flags=re.M)]
        elif stage == "game":
            rounds, practice = self._rounds(row), self._round(row).practice
            known = practice or row["role"] or row["condition"] not in study.paired
            view |= {
                "games": len(rounds),
                "practice": practice,
                "tutorial": rounds[row["game"]].tutorial,
                "until": "" if rounds[row["game"]].tutorial or not practice else study.practice_until,
                "number": sum(
                    one.practice == practice and not one.tutorial for one in rounds[: row["game"] + 1]
                ),
                "of": sum(one.practice == practice and not one.tutorial for one in rounds),
                "role": str(self._role(row)) if known else "",
            }
        elif stage == "quiz" or stage in ASKING:
            names = ("name", "text", "kind", "steps", "low", "high", "options", "required")
            view["questions"] = [{name: getattr(one, name) for name in names} for one in study.asked(stage)]
            for one in view["questions"]:
                one["html"] = as_html(one["text"]) if one["kind"] == "note" else ""
        elif stage != "refused":
            view["code"] = code = study.code_of(stage)
            view["url"] = study.return_url.replace("{code}", code) if code else ""
        return view


def as_html(markdown: str) -> str:
    """Return Markdown as HTML; tags in it are shown as text."""
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))


def sign(folder: Path, study: str, code: str) -> str:
    """Return the key of a participant's link. The secret is a file in the folder of the games, made at first use."""
    path = private_folder(folder) / ".links"
    if not path.exists():
        write_text(path, secrets.token_hex(32), mode=PRIVATE)
    secret = read_file(path, 1000)
    return hmac.new(secret, f"{study}/{code}".encode(), hashlib.sha256).hexdigest()[:24]
