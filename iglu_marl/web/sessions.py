"""Participants of a study: from consent to completion code, alone or in pairs.

The state is in the database, so a reload, a second tab or another device continues at the same place. A restarted
server resumes running games.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, IgluMarlError
from iglu_marl.core.parsing import parse_json
from iglu_marl.recording import read_recording
from iglu_marl.web import store as db
from iglu_marl.web.limits import MESSAGE_BYTES, POLICY, json_of, same_origin
from iglu_marl.web.pairing import READY_S, Queue
from iglu_marl.web.rooms import PERSON, Room, Rooms
from iglu_marl.web.study import CODE, OVER, Study, other_role

_log = logging.getLogger("uvicorn.error")
BROKEN = "broken"  # end of a game that cannot be resumed
UNPLAYED = "unplayed"  # end of a game of two people, one of whom left before both had said or done anything
SHORT = "short"  # event: a participant ended a game too early
AGAIN = (BROKEN, UNPLAYED)  # ends after which a game is played again
CLOSE_S = (
    10.0  # for pending writes when the server ends; games whose end is not stored are found at the next start
)
ASK_S = 1.0  # between looks at the queue for a page that waits


def _ended(path: Path) -> tuple[str, str, int, int]:
    """Return name, end, right blocks and target's blocks of a recorded game that is not resumed."""
    try:
        end = read_recording(path)[-1].end
        if end is not None:
            how = "complete" if end["terminated"] else "time" if end["truncated"] else "left"
            return path.name, how, int(end["intersection"]), int(end["target_blocks"])
    except (IgluMarlError, LookupError, TypeError, ValueError) as error:
        _log.error("a game cannot be resumed: %s", error)
    return path.name, BROKEN, 0, 0


class Sessions:
    """The participants of a study. rooms: the server's, once it runs."""

    rooms: Rooms

    def __init__(self, study: Study, store: db.Store) -> None:
        self.study, self.store = study, store
        store.do(db.keep_study, study)
        self._seats: dict[tuple[int, int], str] = {}  # participant and game -> the token of the seat
        self._queues: dict[tuple[str, int], Queue] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def routes(self) -> list[BaseRoute]:
        """Return the routes of the study's page."""
        answers = {"about": self.about, "enter": self.enter, "next": self.next_stage, "game": self.game}
        posted = (
            Route(f"/api/study/{name}", self._answering(answer), methods=["POST"])
            for name, answer in answers.items()
        )
        return [*posted, WebSocketRoute("/ws/study", self.waiting)]

    def _answering(self, answer: Callable[[dict[str, Any]], Any]) -> Any:
        async def endpoint(request: Request) -> Response:
            asked = await json_of(request)
            if isinstance(asked, Response):
                return asked
            try:
                return JSONResponse(await answer(asked))
            except ConfigError as error:
                return JSONResponse({"error": str(error)[:300]}, 400)
            except (IgluMarlError, *db.ERRORS) as error:  # an error of the server: logged, not shown
                _log.error("a participant could not continue: %s", error)
                return JSONResponse({"error": "That did not work. Please try again in a minute."}, 503)

        return endpoint

    async def status(self) -> list[dict[str, Any]]:
        """Return the number of participants by condition and stage."""
        return await self.store.call(db.status, self.study.name)

    async def resume(self, rooms: Rooms) -> None:
        """Connect participants with the server's resumed games, and record the end of the others."""
        self.rooms = rooms
        going = {room.recording: room for room in rooms.rooms.values()}
        for recording, rows in (await self.store.call(db.unended, self.study.name)).items():
            number, players = rows[0]["number"], [row["participant"] for row in rows]
            if (room := going.get(recording)) is None:
                await self.store.call(
                    self._note_end, *_ended(rooms.options.folder / recording), number, players
                )
                continue
            for row in rows:
                self._seats[row["participant"], number] = room.seats[Role(row["role"])].token
                who = await self.store.call(db.by_id, row["participant"])
                room.until = min(
                    room.until, time.monotonic() + (math.inf if who is None else self._left(who))
                )
            self._follow(room, number, {row["participant"]: Role(row["role"]) for row in rows})

    async def close(self) -> None:
        """Wait for pending writes, and close the database."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_S)
            for task in self._tasks:
                task.cancel()
        self.store.close()

    # -- requests of a participant

    async def about(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return the name of the address parameter with the participant's code."""
        return {"parameter": self.study.participant}

    async def enter(self, asked: dict[str, Any]) -> dict[str, Any]:
        """{"code"} or {"token"} -> the participant's state."""
        if isinstance(token := asked.get("token"), str):
            return self._view(await self._participant(token))
        code = asked.get("code")
        if isinstance(code, str) and set("{}%[]") & set(code):
            raise ConfigError(
                f"The link has {code[:40]} in place of your code. Please open the study from the platform's page."
            )
        if not isinstance(code, str) or CODE.fullmatch(code) is None:
            raise ConfigError("This is no participant code.")
        if self.study.codes and code not in self.study.codes:
            raise ConfigError("This code is not among those that were invited to the study.")
        row = await self.store.call(db.enter, self.study, code)
        return self._view(await self._participant(row["token"]))

    async def next_stage(self, asked: dict[str, Any]) -> dict[str, Any]:
        """{"token", "stage", "agree" or "answers"} -> the participant's next state."""
        row = await self._participant(asked.get("token"))
        stage = row["stage"]
        if asked.get("stage") == stage:
            if stage == "consent":
                await self._advance(row, "instructions" if asked.get("agree") is True else "refused")
            elif stage == "instructions":
                await self._advance(row, "game")
            elif stage == "questions":
                await self._questions(row, asked.get("answers"))
        return self._view(await self._participant(row["token"]))

    async def _questions(self, row: dict[str, Any], answers: Any) -> None:
        given = answers if isinstance(answers, dict) else {}
        kept = {one.name: one.check(given.get(one.name, "")) for one in self.study.questions}

        def keep(connection: Any) -> None:
            after = "failed" if self.study.failed(kept) else self._last(connection, row["id"])
            if db.advance(connection, row["id"], "questions", row["game"], after, row["game"]):
                db.keep_answers(connection, self.study, row["id"], kept)

        await self.store.call(keep)

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
            if len([one for one in self.rooms.rooms.values() if not one.over]) >= self.rooms.options.games:
                return {"wait": 10.0}
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
        heard, last, ready = asyncio.ensure_future(socket.receive()), None, False
        row: dict[str, Any] = {}
        try:
            while True:
                await asyncio.wait({heard}, timeout=ASK_S)
                if heard.done():
                    message = heard.result()
                    if message["type"] == "websocket.disconnect":
                        return
                    said = parse_json((message.get("text") or "")[:MESSAGE_BYTES], "the message")
                    if not row and isinstance(said, dict):
                        row = await self._participant(said.get("token"))
                    ready = said == {"t": "ready"}
                    heard = asyncio.ensure_future(socket.receive())
                if not row:
                    continue
                answer = await self.game({"token": row["token"], "ready": ready})
                ready = ready and "offered" in answer
                if answer != last:
                    await socket.send_json({"t": "state", **answer})
                    last = answer
                if "play" in answer or "stage" in answer:
                    return
        except (IgluMarlError, *db.ERRORS, RuntimeError, WebSocketDisconnect) as error:
            _log.error("a participant does not wait any more: %s", error)
        finally:
            heard.cancel()
            for queue in self._queues.values() if row else ():
                queue.remove(row["id"])
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await socket.close()

    # -- games

    async def _begin(self, row: dict[str, Any], ready: bool) -> dict[str, Any]:
        """Start a game with an agent or with a waiting person, or wait for one."""
        study, condition, number = self.study, self.study.condition(row["condition"]), row["game"]
        role, practice = self._role(row), number < len(study.practice)
        if practice or condition.partner != PERSON:
            return await self._with_agent(
                row, study.fallback[other_role(role)] if practice else condition.partner
            )
        theirs = row["pair"] and await self.store.call(db.by_id, row["pair"])
        if row["pair"] and (theirs is None or theirs["stage"] in OVER or theirs["game"] > number):
            if study.no_partner != "wait":
                return await self._without_partner(row)
            await self.store.call(db.part, [row["id"]])
            row = {**row, "pair": None}
        queue, now = self._queues.setdefault((condition.name, number), Queue()), time.monotonic()
        mine = queue.ask(row["id"], row["pair"], now, ready)
        if mine.matched and mine.other is not None:
            first, second = sorted((mine, mine.other), key=lambda one: one.since)
            for one in (first, second):
                queue.remove(one.participant)
            return await self._with_person(row, first.participant, second.participant)
        if mine.other is not None:
            left = READY_S - (now - mine.offered_at)
            return {"wait": math.ceil(left), "offered": True, "confirmed": mine.ready}
        left = study.wait_s - (now - mine.since)
        if study.no_partner == "wait":
            return {"wait": math.ceil(max(left, 1.0)), "open": True}
        if left > 0:
            return {"wait": math.ceil(left)}
        queue.remove(row["id"])
        return await self._without_partner(row)

    def _role(self, row: dict[str, Any]) -> Role:
        """Return a participant's role in its present game."""
        role = Role(row["role"] or self.study.condition(row["condition"]).role)
        swapped = self.study.roles == "swap" and row["pair"] and (row["game"] - len(self.study.practice)) % 2
        return other_role(role) if swapped else role

    async def _with_agent(self, row: dict[str, Any], agent: str) -> dict[str, Any]:
        await self._open({row["id"]: self._role(row)}, row, agent)
        return {"play": self._seats[row["id"], row["game"]]}

    async def _without_partner(self, row: dict[str, Any]) -> dict[str, Any]:
        """Do what the study wants for a participant for whom nobody is there."""
        if self.study.no_partner == "agent":
            return await self._with_agent(row, self.study.fallback[other_role(self._role(row))])
        await self._advance(row, "dismissed")
        return {"stage": "dismissed"}

    async def _with_person(self, row: dict[str, Any], first: int, second: int) -> dict[str, Any]:
        """Start a game of two participants; the first one came first."""
        role = self.study.condition(row["condition"]).role
        if self.study.pairing == "fixed" and row["pair"] is None:
            later = self.study.roles == "swap" and (row["game"] - len(self.study.practice)) % 2
            roles = {first: role, second: other_role(role)}
            stored = {who: (other_role(its) if later else its).value for who, its in roles.items()}
            await self.store.call(db.pair, self.study, stored)
            row = await self._participant(row["token"])
        players = {first: role, second: other_role(role)}
        if row["pair"] is not None:
            players = {row["id"]: self._role(row), row["pair"]: other_role(self._role(row))}
        await self._open(players, row, PERSON)
        return {"play": self._seats[row["id"], row["game"]]}

    async def _open(self, players: Mapping[int, Role], row: dict[str, Any], partner: str) -> None:
        """Start the game of a participant's row, and store it for its players."""
        number = row["game"]
        task = self.study.games(row["condition"], row["place"])[number]
        seat = await self.rooms.create(players[row["id"]], partner, task)
        room = self.rooms.room_of(seat.token)
        assert room is not None
        for other in room.seats.values():
            if other.invitation:
                self.rooms.claim(other.invitation)
        rows = [await self.store.call(db.by_id, participant) for participant in players]
        room.until = time.monotonic() + min(self._left(one) for one in rows if one is not None)
        begun = {
            participant: {
                "number": number, "task": task, "role": role.value, "partner": partner,
                "recording": room.recording, "how": "",
            }
            for participant, role in players.items()
        }  # fmt: skip
        await self.store.call(db.game_begun, begun)
        for participant, role in players.items():
            self._seats[participant, number] = room.seats[role].token
        self._follow(room, number, players)

    def _follow(self, room: Room, number: int, players: Mapping[int, Role]) -> None:
        """Store what people do in a game, and its end when it comes."""

        def store_event(kind: str, role: Role) -> None:
            tick = room.game.ticks
            for participant, own in players.items():
                if own == role:
                    self._keep(db.note, participant, kind, {"game": number, "tick": tick})

        def store_end(ended: Room) -> None:
            worlds, by = ended.game.episode.worlds, ended.ended_by
            idle = len(players) == 2 and not all(ended.seats[role].acted_at for role in players.values())
            how = UNPLAYED if by is not None and idle else ended.over
            facts = ended.recording, how, int(worlds.best[0]), int(worlds.target_blocks[0])
            short = [
                who for who, role in players.items() if role == by and self._too_short(ended, role, number)
            ]

            def note(connection: Any) -> None:
                for who, role in players.items():
                    if role == by and ended.over == "idle":
                        db.note(connection, who, "idle", {"game": number})
                    if who in short and how != UNPLAYED:
                        db.note(connection, who, SHORT, {"game": number})
                self._note_end(connection, *facts, number, list(players), by.value if by else "")

            self._keep(note)

        room.on_event.append(store_event)
        room.on_end.append(store_end)

    def _too_short(self, room: Room, role: Role, number: int) -> bool:
        """Return whether a person has played less than the study wants."""
        return number >= len(self.study.practice) and room.played_s(role) < self.study.least_s

    def _keep(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Write to the database beside the games, when it can be written."""
        task = asyncio.get_running_loop().create_task(self.store.keep(work, *arguments))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _note_end(
        self,
        connection: Any,
        recording: str,
        how: str,
        right: int,
        blocks: int,
        number: int,
        players: list[int],
        ended_by: str = "",
    ) -> None:
        """Store a game's end and advance its players, unless it has to be played again."""
        db.game_ended(connection, recording, how, right, blocks, ended_by)
        if how == UNPLAYED and number == len(self.study.practice):
            db.part(connection, players)
        for participant in players:
            row = db.by_id(connection, participant)
            if row is not None and how not in AGAIN:
                db.advance(connection, participant, "game", number, *self._after_game(connection, row))

    def _after_game(self, connection: Any, row: dict[str, Any]) -> tuple[str, int]:
        """Return stage and game after the present game."""
        following = row["game"] + 1
        if following < len(self.study.games(row["condition"])):
            return "game", following
        return ("questions" if self.study.questions else self._last(connection, row["id"])), following

    @staticmethod
    def _last(connection: Any, participant: int) -> str:
        """Return the last stage of a participant whose answers are fine."""
        return "left" if db.has_event(connection, participant, SHORT) else "done"

    # -- state of participants

    async def _participant(self, token: Any) -> dict[str, Any]:
        row = await self.store.call(db.by_token, token) if isinstance(token, str) else None
        if row is None or row["study"] != self.study.name:
            raise ConfigError("This link is unknown here. Please use the link that you received.")
        if row["stage"] in OVER or self._left(row) > 0:
            return row
        await self._advance(row, "expired")
        after: dict[str, Any] | None = await self.store.call(db.by_id, row["id"])
        return row if after is None else after

    def _left(self, row: dict[str, Any]) -> float:
        """Return the seconds that a participant has left."""
        return row["came"] + 60 * self.study.minutes - time.time() if self.study.minutes else math.inf

    async def _advance(self, row: dict[str, Any], stage: str) -> None:
        await self.store.call(db.advance, row["id"], row["stage"], row["game"], stage, row["game"])

    def _view(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the page's data."""
        study, stage = self.study, row["stage"]
        view: dict[str, Any] = {"token": row["token"], "stage": stage, "title": study.title}
        if stage in ("consent", "instructions"):
            view["text"] = study.consent if stage == "consent" else study.instructions
        elif stage == "game":
            view |= {
                "game": row["game"] + 1,
                "games": len(study.games(row["condition"])),
                "practice": row["game"] < len(study.practice),
            }
        elif stage == "questions":
            names = ("name", "text", "kind", "steps", "low", "high", "options", "required")
            view["questions"] = [{name: getattr(one, name) for name in names} for one in study.questions]
        elif stage != "refused":
            codes = {
                "done": study.completion_code,
                "left": study.left_code,
                "dismissed": study.dismissed_code,
            }
            view["code"] = codes.get(stage, study.failed_code)
        return view
