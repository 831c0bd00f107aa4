"""The database of studies: SQLite by default, or any that SQLAlchemy supports, by its URL.

All calls run in one thread (`Store.call`), never in the server's event loop; each call is one transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import secrets
import socket
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sql

from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import PRIVATE, opened
from iglu_marl.core.tables import csv_text
from iglu_marl.web import clock
from iglu_marl.web.locks import FileLock
from iglu_marl.web.study import LEFT_OUT, OVER, Study, SurveyQuestion

SCHEMA = 6
ERRORS = (sql.exc.SQLAlchemyError,)  # of the database
_LOCKED_BY = """
    SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND objid::bigint = :key AND database = (
        SELECT oid FROM pg_database WHERE datname = current_database())
"""
_PLACE_FACTS = ("recording", "game", "practice", "tick")  # of a message
_WORD_FACTS = ("player", "agent", "to", "text", "how", "typed_s", "reader")
RETRY_S = (0.5, 1.0, 2.0, 5.0)  # between attempts to write; the last one repeats
_Result = TypeVar("_Result")
_log = logging.getLogger("uvicorn.error")
_tables = sql.MetaData()


def _table(name: str, *columns: Any) -> sql.Table:
    return sql.Table(name, _tables, sql.Column("id", sql.Integer, primary_key=True), *columns)


def _table_of_participants(name: str, *columns: Any) -> sql.Table:
    owner = sql.ForeignKey("participants.id", ondelete="CASCADE")
    return _table(name, sql.Column("participant", sql.Integer, owner, index=True, nullable=False), *columns)


def _text(name: str, **options: Any) -> Any:
    return sql.Column(name, sql.String, nullable=False, server_default="", **options)


def _time(name: str) -> Any:
    return sql.Column(name, sql.Float)  # seconds since 1970


def _number(name: str) -> Any:
    return sql.Column(name, sql.Integer, nullable=False, server_default="0")


SCHEMAS = sql.Table("schema_version", _tables, sql.Column("version", sql.Integer, nullable=False))
PARTICIPANTS = _table(
    "participants",
    _text("study", index=True),
    _text("code"),
    _text("token", index=True),
    _text("condition"),
    _text("stage"),
    _number("game"),
    _number("place"),  # row of the order of tasks
    sql.Column("team", sql.Integer),  # the same number for people who stay together
    _text("role"),  # of those, in the first game
    _text("version"),  # digest of the study when the participant came
    _time("came"),
    _time("seen"),
    _time("finished"),
    _time("placed"),  # when the first game after practice could begin; from then on the participant counts
    sql.UniqueConstraint("study", "code"),
)
GAMES = _table_of_participants(
    "games",
    _number("number"),
    _text("task"),
    _text("role"),
    _text("partner"),
    _text("recording"),
    _text("how"),
    _text("ended_by"),  # role that left or did nothing
    _text("why"),  # it ended, for this participant
    _number("practice"),  # 1: of the practice or the tutorial
    sql.Column("right", sql.Integer),
    sql.Column("blocks", sql.Integer),
    _time("begun"),
    _time("ended"),
)
ANSWERS = _table_of_participants(
    "answers",
    _text("question"),
    _text("answer"),
    _time("at"),
    sql.Column("passed", sql.Integer),  # of a check of attention: 1, or 0
    sql.Column("game", sql.Integer),  # the game before, if the question follows one
)
EVENTS = _table_of_participants("events", _text("kind"), _text("detail"), _time("at"))
STUDIES = _table("studies", _text("study", index=True), _text("version"), _text("content"), _time("at"))


@contextlib.contextmanager
def in_words(failed: str) -> Iterator[None]:
    """Raise `DataError` with these words in place of errors of the database."""
    try:
        yield
    except ERRORS as error:
        raise DataError(f"{failed}: {str(error).partition(chr(10))[0]:.200}") from None


class Store:
    """The database of a server. url: for SQLAlchemy, such as sqlite:///study.db or postgresql+psycopg://…"""

    def __init__(self, url: str) -> None:
        try:
            self._engine = sql.create_engine(url, pool_pre_ping=not url.startswith("sqlite"))
        except (sql.exc.ArgumentError, ImportError) as error:
            raise ConfigError(f"the database {url!r:.80} cannot be used: {error!s:.200}") from None
        if self._engine.dialect.name == "sqlite":
            sql.event.listen(self._engine, "connect", _prepare_sqlite)
            _make_private(self._engine.url.database)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._owned, self._process = contextlib.ExitStack(), os.getpid()
        self._lock: FileLock | _AdvisoryLock | None = None
        with in_words(f"the database {url!r:.80} cannot be opened"), contextlib.ExitStack() as stack:
            stack.callback(self.close)
            self._run(_make_tables)
            stack.pop_all()

    def own(self, study: str) -> None:
        """Become the only server of a study in this database, until `close`. Raises `DataError`, naming another."""
        place, kind = self._engine.url.database, self._engine.dialect.name
        taken = f"the study {study!r} has a running server on this database"
        if kind == "sqlite" and place and place != ":memory:" and not place.startswith("file:"):
            self._lock = FileLock(Path(f"{place}.{study}.lock"), taken)
            self._owned.callback(self._lock.close)
        elif kind == "postgresql":
            with in_words("the database cannot be used"):
                self._lock = _AdvisoryLock(self._engine, study, taken)
            self._owned.callback(self._lock.close)

    async def check_lock(self) -> None:
        """Take the lock of `own` again where it was lost. Raises `DataError` if another server has it."""
        if self._lock is not None:
            try:
                await asyncio.get_running_loop().run_in_executor(self._thread, self._lock.check)
            except ERRORS as error:
                _log.error("the lock of the study cannot be checked, and will be again: %s", str(error)[:200])

    async def keep(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        """Run `work` as `call` does, again and again while the database is busy or its disk is full."""
        for pause_s in itertools.chain(RETRY_S, itertools.repeat(RETRY_S[-1])):
            try:
                return await self.call(work, *arguments)
            except sql.exc.OperationalError as error:
                _log.error("the database could not be written, and will be again in %s s: %s", pause_s, error)
                await asyncio.sleep(pause_s)
        raise AssertionError  # pragma: no cover

    async def call(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        """Run `work(connection, *arguments)` in the store's thread, as one transaction."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, work, *arguments)

    def do(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        """Run `work(connection, *arguments)` in this thread, as one transaction. Raises `DataError`."""
        with in_words("the database cannot be used"):
            return self._run(work, *arguments)

    def _run(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        with self._engine.begin() as connection:
            return work(connection, *arguments)

    def backup(self, path: Path) -> None:
        """Write a copy of an SQLite database to a new file, while it is in use. Raises `ConfigError`, `DataError`."""
        if self._engine.dialect.name != "sqlite":
            raise ConfigError("this database is not SQLite; use its own program for backups, such as pg_dump")
        with in_words(f"the backup {path} cannot be written"), self._engine.connect() as connection:
            connection.exec_driver_sql("VACUUM INTO ?", (str(path),))
        path.chmod(PRIVATE)

    def close(self) -> None:
        """Finish pending calls, and close the database. Does nothing in a forked process, whose parent has it."""
        if self._process != os.getpid():
            return
        self._thread.shutdown()
        self._owned.close()
        self._engine.dispose()


class _AdvisoryLock:
    """The lock of a study in PostgreSQL, which ends with its connection."""

    def __init__(self, engine: sql.Engine, study: str, taken: str) -> None:
        self._engine, self._taken = engine, taken
        self._key = {"key": zlib.crc32(f"iglu_marl {study}".encode())}
        self._connection: sql.Connection | None = None
        self.check()

    def check(self) -> None:
        """Take the lock, unless it is held. Raises `DataError` if another server has it, and errors of the database."""
        try:
            if self._connection is None:
                self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
                name = {"name": f"iglu_marl: process {os.getpid()} on {socket.gethostname()}"[:63]}
                self._connection.execute(
                    sql.text("SELECT set_config('application_name', :name, false)"), name
                )
            # who has the lock gets it again
            if self._connection.execute(sql.text("SELECT pg_try_advisory_lock(:key)"), self._key).scalar():
                return
            other = self._connection.execute(sql.text(_LOCKED_BY), self._key).scalar()
        except ERRORS:
            self.close()
            raise
        self.close()
        raise DataError(f"{self._taken}: {other or 'unknown'}")

    def close(self) -> None:
        """Give the lock back."""
        if self._connection is not None:
            with contextlib.suppress(*ERRORS):
                self._connection.invalidate()
            self._connection.close()
            self._connection = None


def _make_private(path: str | None) -> None:
    """Make a new database readable by its owner only; SQLite's files beside it get the same mode."""
    if path and path != ":memory:" and not path.startswith("file:"):
        with contextlib.suppress(OSError):  # reported when it is opened
            opened(path, "ab", PRIVATE).close()


def _prepare_sqlite(connection: Any, _: Any) -> None:
    with contextlib.ExitStack() as stack:
        stack.callback(connection.close)  # it may be no database
        for setting in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=5000", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")
        stack.pop_all()


def _make_tables(connection: sql.Connection) -> None:
    """Create the tables in a new database. Raises `DataError`, and changes nothing, for those of another version."""
    begun = sql.inspect(connection).has_table(SCHEMAS.name)
    version = connection.execute(sql.select(SCHEMAS.c.version)).scalar() if begun else None
    if version is None:
        _tables.create_all(connection)
        connection.execute(sql.insert(SCHEMAS).values(version=SCHEMA))
    elif version != SCHEMA:
        reads = "the release that wrote it reads it" if version < SCHEMA else "a newer iglu_marl reads it"
        raise DataError(f"the database has version {version} of its tables, expected {SCHEMA}; {reads}")


# ---------------------------------------------------------------------------------------------- participants


def _people(connection: sql.Connection, chosen: Any) -> list[dict[str, Any]]:
    """Return participants as rows; the last arrived first."""
    found = connection.execute(sql.select(PARTICIPANTS).where(chosen).order_by(PARTICIPANTS.c.id.desc()))
    return [dict(row) for row in found.mappings()]


def _change(connection: sql.Connection, chosen: Any, **values: Any) -> int:
    """Change participants, and return their number."""
    return int(connection.execute(sql.update(PARTICIPANTS).where(chosen).values(**values)).rowcount)


def keep_study(connection: sql.Connection, study: Study) -> None:
    """Store a version of a study. Raises `ConfigError` if participants of another version are under way."""
    there = PARTICIPANTS.c.seen >= clock.time() - 60 * study.drop_minutes
    mine = (PARTICIPANTS.c.study == study.name) & PARTICIPANTS.c.version.not_in(("", study.version))
    if count := _count(connection, mine & there & PARTICIPANTS.c.stage.not_in(OVER)):
        raise ConfigError(
            f"the study {study.name!r} has changed while participants are under way ({count}), expected the file as it "
            "was; wait until they have finished, or give the changed study another name"
        )
    known = sql.select(STUDIES.c.id).where(STUDIES.c.study == study.name, STUDIES.c.version == study.version)
    if connection.execute(known).first() is None:
        content = study.source or repr(study)
        row = {"study": study.name, "version": study.version, "content": content, "at": clock.time()}
        connection.execute(sql.insert(STUDIES).values(**row))


def enter(
    connection: sql.Connection, study: Study, code: str, facts: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the row of the participant with this code: a known one, or a new one in the emptiest condition.

    facts: kept in the event `came`. Raises `ConfigError` if the study is full.
    """
    now, table = clock.time(), PARTICIPANTS
    mine = table.c.study == study.name
    own = mine & (table.c.code == code)
    if known := _people(connection, own):
        _change(connection, own, seen=now)
        return known[0]
    if _placed(connection, study) >= study.most:
        raise ConfigError("This study has all the participants that it needs. Thank you!")
    counts = _counts(study)
    chosen = sql.select(table.c.condition, sql.func.count()).where(counts).group_by(table.c.condition)
    counted = dict(connection.execute(chosen).all())
    fewest = min(counted.get(one.name, 0) for one in study.conditions)
    lone = [name for name in study.paired if _alone(connection, study, name) % 2]
    condition = secrets.choice(
        lone or [one.name for one in study.conditions if counted.get(one.name, 0) == fewest]
    )
    values = {
        "study": study.name, "code": code, "token": secrets.token_urlsafe(16), "condition": condition,
        "stage": study.next_stage(""), "game": 0, "came": now, "seen": now,
        "place": _count(connection, mine & (table.c.condition == condition)),
        "version": study.version,
    }  # fmt: skip
    connection.execute(sql.insert(table).values(**values))
    (made,) = _people(connection, own)
    note(connection, made["id"], "came", {"condition": condition, **(facts or {})})
    return made


def _counts(study: Study) -> Any:
    """Return the condition of a row in the balance: the participant is done, or still there."""
    table = PARTICIPANTS
    lost = table.c.stage.not_in(OVER) & (table.c.seen < clock.time() - 60 * study.drop_minutes)
    return (table.c.study == study.name) & ~lost & table.c.stage.not_in(LEFT_OUT)


def _count(connection: sql.Connection, chosen: Any) -> int:
    """Return the number of participants of a condition of rows."""
    return int(connection.execute(sql.select(sql.func.count()).where(chosen)).scalar() or 0)


def _placed(connection: sql.Connection, study: Study) -> int:
    """Return the number of participants who count among the study's `most`."""
    return _count(connection, _counts(study) & PARTICIPANTS.c.placed.is_not(None))


def place(connection: sql.Connection, study: Study, participant: int) -> bool:
    """Count a participant from now on; return False if the study is full."""
    if _placed(connection, study) >= study.most:
        return False
    return _change(connection, PARTICIPANTS.c.id == participant, placed=clock.time()) > 0


def _alone(connection: sql.Connection, study: Study, condition: str) -> int:
    """Return the number of participants of a condition who still need partners."""
    table = PARTICIPANTS
    mine = _counts(study) & (table.c.condition == condition) & table.c.stage.not_in(("questions", "done"))
    return _count(connection, mine & table.c.team.is_(None))


def join_team(connection: sql.Connection, study: Study, roles: Mapping[int, str]) -> None:
    """Store that participants play together, with their roles in the first game."""
    table = PARTICIPANTS
    team = 1 + (connection.execute(sql.select(sql.func.max(table.c.team))).scalar() or 0)
    condition = sql.select(table.c.condition).where(table.c.id == min(roles)).scalar_subquery()
    mine = (table.c.study == study.name) & (table.c.condition == condition)
    before = connection.execute(sql.select(sql.func.count(table.c.team.distinct())).where(mine)).scalar()
    for participant, role in roles.items():
        _change(connection, table.c.id == participant, team=team, role=role, place=before)
        note(connection, participant, "paired", {"role": role})


def members(connection: sql.Connection, team: int) -> list[dict[str, Any]]:
    """Return the participants of a team, as rows."""
    return _people(connection, PARTICIPANTS.c.team == team)


def part(connection: sql.Connection, participants: Iterable[int]) -> None:
    """Store that participants have no partners any more."""
    _change(connection, PARTICIPANTS.c.id.in_(tuple(participants)), team=None, role="")


def by_token(connection: sql.Connection, token: str) -> dict[str, Any] | None:
    """Return the participant with this token, as a row."""
    own = PARTICIPANTS.c.token == token
    found = _people(connection, own)
    if found:
        _change(connection, own, seen=clock.time())
    return found[0] if found else None


def by_id(connection: sql.Connection, participant: int) -> dict[str, Any] | None:
    """Return the participant with this number, as a row."""
    found = _people(connection, PARTICIPANTS.c.id == participant)
    return found[0] if found else None


def advance(
    connection: sql.Connection, participant: int, before: str, game: int, after: str, next_game: int
) -> bool:
    """Move a participant to another stage; return False if another tab already has."""
    table = PARTICIPANTS
    finished = {"finished": clock.time() if after in OVER else None}
    own = (table.c.id == participant) & (table.c.stage == before) & (table.c.game == game)
    done = _change(connection, own, stage=after, game=next_game, **finished)
    if done:
        note(connection, participant, "stage", {"stage": after, "game": next_game})
    return done > 0


def keep_answers(
    connection: sql.Connection,
    questions: Iterable[SurveyQuestion],
    participant: int,
    answers: Mapping[str, str],
    game: int | None,
) -> None:
    """Store the answers of a questionnaire, by question."""
    for one in questions:
        answer = answers.get(one.name, "")
        passed = one.passed(answer)
        row = {"participant": participant, "question": one.name, "answer": answer, "at": clock.time()}
        row |= {"passed": None if passed is None else int(passed), "game": game}
        connection.execute(sql.insert(ANSWERS).values(**row))


def failed_checks(connection: sql.Connection, participant: int) -> int:
    """Return the number of attention checks that a participant has failed."""
    return _count(connection, (ANSWERS.c.participant == participant) & (ANSWERS.c.passed == 0))


def note(
    connection: sql.Connection, participant: int, kind: str, detail: Any = "", at: float | None = None
) -> None:
    """Store an event. at: when, by default now."""
    when = clock.time() if at is None else at
    row = {
        "participant": participant,
        "kind": kind,
        "detail": json.dumps(detail, ensure_ascii=False),
        "at": when,
    }
    connection.execute(sql.insert(EVENTS).values(**row))


def last_stage(connection: sql.Connection, participant: int, but: str) -> str:
    """Return the last stage that a participant reached, except one; "" if there is none."""
    mine = (EVENTS.c.participant == participant) & (EVENTS.c.kind == "stage")
    chosen = sql.select(EVENTS.c.detail).where(mine).order_by(EVENTS.c.id.desc())
    stages = (json.loads(detail)["stage"] for detail in connection.execute(chosen).scalars())
    return next((stage for stage in stages if stage != but), "")


def events(connection: sql.Connection, participant: int, kind: str) -> int:
    """Return how many events of a kind a participant has."""
    return _count(connection, (EVENTS.c.participant == participant) & (EVENTS.c.kind == kind))


def game_begun(connection: sql.Connection, roles: Mapping[int, str], facts: Mapping[str, Any]) -> None:
    """Store a new game for its players. roles: by participant. facts: columns that are the same for all."""
    for participant, role in roles.items():
        own = {"participant": participant, "role": str(role), "begun": clock.time(), "how": ""}
        connection.execute(sql.insert(GAMES).values(**own, **facts))


def unended(connection: sql.Connection, study: str) -> dict[str, list[dict[str, Any]]]:
    """Return games without an end, by recording: a row for each player."""
    found: dict[str, list[dict[str, Any]]] = {}
    chosen = sql.select(GAMES).join(PARTICIPANTS, GAMES.c.participant == PARTICIPANTS.c.id)
    for row in connection.execute(chosen.where(PARTICIPANTS.c.study == study, GAMES.c.how == "")).mappings():
        found.setdefault(row["recording"], []).append(dict(row))
    return found


def game_ended(
    connection: sql.Connection, recording: str, how: str, ended_by: str = "", why: str = "", **columns: int
) -> None:
    """Store the end of a recorded game, for all its players. why: for `ended_by`, and for all if nobody ended it."""
    own = sql.case((GAMES.c.role.in_((ended_by, "")), why), else_="partner") if ended_by else why or how
    values = {"how": how, "ended": clock.time(), "ended_by": ended_by, "why": own, **columns}
    open_game = (GAMES.c.recording == recording) & (GAMES.c.how == "")
    connection.execute(sql.update(GAMES).where(open_game).values(**values))


# -------------------------------------------------------------------------------------------------- the study


def status(connection: sql.Connection, study: str) -> list[dict[str, Any]]:
    """Return the number of participants by condition and stage."""
    people = rows(connection, PARTICIPANTS, study)
    counts = Counter((row["condition"], row["stage"]) for row in people)
    names = ("condition", "stage", "participants")
    return [dict(zip(names, (*place, count), strict=True)) for place, count in sorted(counts.items())]


def _rows(connection: sql.Connection, table: sql.Table, study: str) -> sql.CursorResult[Any]:
    people, joined = PARTICIPANTS, table.c.get("participant")
    own = [column for column in table.c if column.name not in ("id", "participant", "token")]
    if joined is None:
        chosen = sql.select(*own)
    else:
        chosen = sql.select(people.c.code, people.c.condition, *own).join(people, joined == people.c.id)
    return connection.execute(chosen.where(people.c.study == study).order_by(table.c.id))


def rows(connection: sql.Connection, table: sql.Table, study: str) -> list[dict[str, Any]]:
    """Return the rows of a study, each with the participant's code and condition, without tokens."""
    return [dict(row) for row in _rows(connection, table, study).mappings()]


def messages(connection: sql.Connection, study: str) -> Iterator[list[Any]]:
    """Yield what was said in the games of a study, in order: by whom, to whom, when and how; a header first."""
    names = (*_PLACE_FACTS, *_WORD_FACTS)
    yield ["code", "condition", "at", *names]
    for row in rows(connection, EVENTS, study):
        if row["kind"] in ("said", "heard"):
            detail = json.loads(row["detail"])
            detail["to"] = " ".join(detail.get("to", ()))
            code = row["code"] if row["kind"] == "said" else ""
            yield [code, row["condition"], row["at"], *(detail.get(name, "") for name in names)]


def forget(connection: sql.Connection, study: str, code: str) -> list[str]:
    """Delete all data of a participant; return the recordings of its games.

    Raises `ConfigError` if there is no such participant.
    """
    table = PARTICIPANTS
    found = _people(connection, (table.c.study == study) & (table.c.code == code))
    if not found:
        raise ConfigError(f"the study {study!r} has no participant {code!r:.80}")
    own = found[0]["id"]
    played = sql.select(GAMES.c.recording).where(GAMES.c.participant == own)
    names = list(connection.execute(played).scalars())
    connection.execute(sql.delete(table).where(table.c.id == own))  # and all that refers to it
    return names


def export(connection: sql.Connection, study: str, folder: Path) -> list[str]:
    """Write participants, games, messages, answers, events and versions as CSV, and each version as it was written.

    Return the names of the recordings.
    """

    def write(name: str, table: Iterable[Sequence[Any]]) -> None:
        (folder / f"{name}.csv").write_text(csv_text(table), encoding="utf-8")

    for table in (PARTICIPANTS, GAMES, ANSWERS, EVENTS):
        found = _rows(connection, table, study)
        write(table.name, [list(found.keys()), *found])
    write("messages", messages(connection, study))
    versions = [["version", "file", "at"]]
    for one in connection.execute(sql.select(STUDIES).where(STUDIES.c.study == study)).mappings():
        file = f"study-{one['version']}.toml"
        (folder / file).write_text(one["content"], encoding="utf-8")
        versions.append([one["version"], file, one["at"]])
    write("versions", versions)
    return [str(row["recording"]) for row in rows(connection, GAMES, study)]
