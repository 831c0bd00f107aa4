"""Participants of a study: from consent to completion code, alone or in pairs.

The state is in the database, so a reload, a second tab or another device continues at the same place. A restarted
server resumes running games.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, IgluMarlError
from iglu_marl.recording import read_recording
from iglu_marl.web import store as db
from iglu_marl.web.limits import json_of
from iglu_marl.web.rooms import PERSON, Room, Rooms, Seat
from iglu_marl.web.study import CODE, OVER, Study, other_role

_log = logging.getLogger("uvicorn.error")
GONE_S = 10.0  # a waiting participant whose page does not ask for this long is gone
BROKEN = "broken"  # end of a game that cannot be resumed


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


@dataclass
class _Waiting:
    participant: int
    since: float
    asked: float


class Sessions:
    """The participants of a study. rooms: the server's, once it runs."""

    rooms: Rooms

    def __init__(self, study: Study, store: db.Store) -> None:
        self.study, self.store = study, store
        self._seats: dict[tuple[int, int], str] = {}  # participant and game -> the token of the seat
        self._waiting: dict[tuple[str, int], list[_Waiting]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def routes(self) -> list[Route]:
        """Return the routes of the study's page."""
        return [
            Route(f"/api/study/{name}", self._answering(answer), methods=["POST"])
            for name, answer in (
                ("about", self.about),
                ("enter", self.enter),
                ("next", self.next_stage),
                ("game", self.game),
            )
        ]

    def _answering(self, answer: Callable[[dict[str, Any]], Any]) -> Any:
        async def endpoint(request: Request) -> Response:
            asked = await json_of(request)
            if isinstance(asked, Response):
                return asked
            try:
                return JSONResponse(await answer(asked))
            except ConfigError as error:
                return JSONResponse({"error": str(error)[:300]}, 400)
            except IgluMarlError as error:  # an error of the server: logged, not shown
                _log.error("a participant could not continue: %s", error)
                return JSONResponse({"error": "That did not work. Please try again in a minute."}, 500)

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
        await asyncio.gather(*self._tasks, return_exceptions=True)
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
        if not isinstance(code, str) or CODE.fullmatch(code) is None:
            raise ConfigError("This is no participant code.")
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
            after = "failed" if self.study.failed(kept) else "done"
            if db.advance(connection, row["id"], "questions", row["game"], after, row["game"]):
                db.keep_answers(connection, self.study, row["id"], kept)

        await self.store.call(keep)

    async def game(self, asked: dict[str, Any]) -> dict[str, Any]:
        """{"token"} -> {"play": the token of a seat}, {"wait": seconds} or {"stage": another one}."""
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
            return await self._begin(row)

    # -- games

    async def _begin(self, row: dict[str, Any]) -> dict[str, Any]:
        """Start a game with an agent or with a waiting person, or wait for one."""
        study, condition, number = self.study, self.study.condition(row["condition"]), row["game"]
        role, practice = condition.role, number < len(study.practice)
        if practice or condition.partner != PERSON:
            agent = study.fallback[other_role(role)] if practice else condition.partner
            await self._open(row, role, agent)
            return {"play": self._seats[row["id"], number]}
        now, queue = time.monotonic(), self._waiting.setdefault((condition.name, number), [])
        queue[:] = [one for one in queue if now - one.asked < GONE_S or one.participant == row["id"]]
        mine = next((one for one in queue if one.participant == row["id"]), None)
        other = next((one for one in queue if one is not mine), None)
        if other is not None:
            queue[:] = [one for one in queue if one is not other and one is not mine]
            first = mine is not None and mine.since < other.since
            await self._open(row, role if first else other_role(role), PERSON, other.participant)
            return {"play": self._seats[row["id"], number]}
        if mine is None:
            mine = _Waiting(row["id"], now, now)
            queue.append(mine)
        mine.asked = now
        left = study.wait_s - (now - mine.since)
        if left > 0:
            return {"wait": round(left, 1)}
        queue.remove(mine)
        await self._open(row, role, study.fallback[other_role(role)])
        return {"play": self._seats[row["id"], number]}

    async def _open(self, row: dict[str, Any], role: Role, partner: str, other: int | None = None) -> None:
        """Start a game, and store it for its players."""
        number, task = row["game"], self.study.games(row["condition"])[row["game"]]
        seat = await self.rooms.create(role, partner, task)
        room = self.rooms.room_of(seat.token)
        assert room is not None
        players: list[tuple[int, Seat, str]] = [(row["id"], seat, partner)]
        if other is not None:
            theirs = room.seats[other_role(role)]
            self.rooms.claim(theirs.invitation)
            players.append((other, theirs, PERSON))
        theirs_row = None if other is None else await self.store.call(db.by_id, other)
        room.until = time.monotonic() + min(self._left(one) for one in (row, theirs_row) if one is not None)
        begun = {
            participant: {
                "number": number, "task": task, "role": own.role.value, "partner": name,
                "recording": room.recording, "how": "",
            }
            for participant, own, name in players
        }  # fmt: skip
        await self.store.call(db.game_begun, begun)
        for participant, own, _ in players:
            self._seats[participant, number] = own.token
        self._follow(room, number, {participant: own.role for participant, own, _ in players})

    def _follow(self, room: Room, number: int, players: Mapping[int, Role]) -> None:
        """Store the end of a game when it comes."""

        def store_end(ended: Room) -> None:
            worlds = ended.game.episode.worlds
            facts = ended.recording, ended.over, int(worlds.best[0]), int(worlds.target_blocks[0])
            idle = [who for who, role in players.items() if role == ended.idle]

            def note(connection: Any) -> None:
                self._note_end(connection, *facts, number, list(players))
                for who in idle:
                    db.note(connection, who, "idle", {"game": number})

            task = asyncio.get_running_loop().create_task(self.store.call(note))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        room.on_end.append(store_end)

    def _note_end(
        self,
        connection: Any,
        recording: str,
        how: str,
        right: int,
        blocks: int,
        number: int,
        players: list[int],
    ) -> None:
        """Store a game's end and advance its players, unless it was broken off: then they play it again."""
        db.game_ended(connection, recording, how, right, blocks)
        for participant in players:
            row = db.by_id(connection, participant)
            if row is not None and how != BROKEN:
                db.advance(connection, participant, "game", number, *self._after_game(row))

    def _after_game(self, row: dict[str, Any]) -> tuple[str, int]:
        """Return stage and game after the present game."""
        following = row["game"] + 1
        if following < len(self.study.games(row["condition"])):
            return "game", following
        return ("questions" if self.study.questions else "done"), following

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
            view["code"] = study.completion_code if stage == "done" else study.failed_code
        return view
