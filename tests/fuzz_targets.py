"""What is fuzzed: everything that reads what others wrote, each as a function of bytes.

A target takes any bytes and returns, whatever they hold: an error that is not ours, or a broken promise of the reader
(see `test_damaged_input`), is a crash. `trust/fuzz.py` looks for bytes that make one; those that it has
found, and a few that reach far, lie in `tests/fuzzed/` and are run by `test_fuzzed.py`.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import io
import itertools
import json
import os
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import test_damaged_input as damaged

import iglu_marl
from iglu_marl import GameConfig, IgluMarlError, Task, Worlds, parallel_env, raw_env
from iglu_marl.agents.llm.reading import Unreadable, clip, read_message, read_order, text_of_calls
from iglu_marl.core.controls import CONTROLS, Controls
from iglu_marl.core.dialogue import Role
from iglu_marl.core.kernels.records import CONTROL, WORLD
from iglu_marl.core.state_bounds import check_state
from iglu_marl.data.packs.archive import open_pack
from iglu_marl.language import Scene, parse_small_talk, understand
from iglu_marl.language.grammar.scene_sentences import parse_question
from iglu_marl.language.talk.repair import understand_answer
from iglu_marl.tasks import RandomTasks
from iglu_marl.text import TextGame

OURS = (IgluMarlError, Unreadable)


@dataclass(frozen=True)
class FuzzTarget:
    """run: takes any bytes. seeds: good inputs. words: what inputs of this kind are made of."""

    run: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    words: tuple[bytes, ...] = ()


@functools.cache
def scratch() -> Path:
    """A folder for what readers read; in memory where there is one."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="fuzzed-", dir=memory if os.access(memory, os.W_OK) else None))


@contextmanager
def ours() -> Iterator[None]:
    """Errors of ours are answers."""
    with suppress(*OURS):
        yield


# ------------------------------------------------------------------------------------- any value, from any bytes


class Values:
    """Python values drawn from bytes, the same from the same bytes; when these are used up, the plainest ones."""

    ODD = (
        float("nan"), float("inf"), -float("inf"), 1e308, -0.0, 2**31, 2**63, -(2**63) - 1, 10**400, True, None, "",
        "²", "\ud800", "\0", b"", (), [], {}, object(), int, np.nan, np.float32(1e38), np.int64(-1), np.array([]),
        np.zeros((9, 11, 11)), np.full((9, 11, 11), 7), np.array("x"), np.array([None]), np.array([[1.0, np.nan]]),
        np.datetime64("NaT", "s"), range(3), slice(None), 1j,
    )  # fmt: skip

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def byte(self) -> int:
        """The next byte; 0 after the last."""
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def chosen(self, options: Any) -> Any:
        """One of a sequence."""
        return options[self.byte() % len(options)]

    def text(self) -> str:
        """A short text."""
        size = self.byte() % 40
        self._at += size
        return self._data[self._at - size : self._at].decode("utf-8", "surrogateescape")

    def number(self) -> float:
        """Any float."""
        found: float = struct.unpack("d", bytes(self.byte() for _ in range(8)))[0]
        return found

    def value(self, depth: int = 2) -> Any:
        """Anything."""
        kind = self.byte() % (10 if depth else 7)
        if kind < 2:
            return self.byte() - 128 if kind else self.byte() % 8
        if kind == 2:
            return self.number()
        if kind == 3:
            return self.text()
        if kind in (4, 5):
            return self.chosen(self.ODD)
        if kind == 6:
            shape = tuple(self.byte() % 4 for _ in range(self.byte() % 4))
            kinds = ("i1", "i4", "i8", "u1", "f4", "f8", "?", "U2", "O")
            return np.full(shape, self.byte()).astype(self.chosen(kinds))
        parts = [self.value(depth - 1) for _ in range(self.byte() % 5)]
        if kind == 7:
            return {str(self.chosen(range(9))): part for part in parts}
        return tuple(parts) if kind == 8 else parts

    def like(self, good: Any, depth: int = 3) -> Any:
        """A good value, of which parts may be replaced by others."""
        odd = self.byte()
        if odd < 24:
            return self.value()
        if isinstance(good, dict) and depth:
            made = {key: self.like(part, depth - 1) for key, part in good.items()}
            if odd < 32:
                made[self.text()] = self.value()
            elif odd < 40 and made:
                del made[self.chosen(list(made))]
            return made
        if isinstance(good, (list, tuple)) and depth:
            return type(good)(self.like(part, depth - 1) for part in good)
        return good


# -------------------------------------------------------------------------------------------------- the targets


def reader_target(name: str) -> FuzzTarget:
    """A reader of `test_damaged_input`, given other contents for the file that may be damaged."""
    plain = name.removeprefix("table of ")
    reader = damaged.READERS[name] if plain == name else replace(damaged.TABLES[plain], kept=None, own=set())

    def seeds() -> list[bytes]:
        return [reader.content or damaged.recorded_game(scratch())]

    def check(data: bytes) -> None:
        folder = scratch() / name  # without files of other targets
        folder.mkdir(exist_ok=True)
        reader.check(folder, data)

    return FuzzTarget(check, seeds, tuple(
        [text.encode() for text in damaged.VALUES.values() if len(text) < 200]
        + [row for row in damaged.ROWS.values() if len(row) < 200]
    ))  # fmt: skip


def run_zip(data: bytes) -> None:
    path = scratch() / "pack.zip"
    path.write_bytes(data)
    with ours(), open_pack(path) as pack:
        for name in pack.names()[:20]:
            assert not name.startswith("/")
            assert ".." not in name.split("/")
            with ours():
                pack.read(name, 1 << 20)
        str(pack.skipped).encode()


def zip_seeds() -> list[bytes]:
    made = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", method) as archive:
            for name, content in itertools.islice(damaged.MULTI.items(), 3):
                archive.writestr(name, content)
        made.append(held.getvalue())
    return made


def run_npz(data: bytes) -> None:
    """A file, or what one of the arrays in a good one is, by its number: else a checksum keeps all changes out."""
    path = scratch() / "tasks.npz"
    if data[:1] in (b"", b"P"):
        path.write_bytes(data)
    else:
        members = dict(npz_members())
        members[list(members)[data[0] % len(members)]] = data[1:]
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    with ours():
        for task in RandomTasks.load(path):
            assert isinstance(task, Task)


@functools.cache
def npz_members() -> dict[str, bytes]:
    """The arrays of `good.npz`, which is made by it."""
    path = scratch() / "good.npz"
    RandomTasks(max_blocks=3, max_cache=2).dump(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def npz_seeds() -> list[bytes]:
    parts = [bytes([number]) + part for number, part in enumerate(npz_members().values())]
    return [(scratch() / "good.npz").read_bytes(), *parts]


@functools.cache
def a_state() -> Any:
    worlds = Worlds(1)
    worlds.spawn(0, Task("", damaged.GRID, starting_grid=[(0, -1, 0, 2)]), pose=(0.3, -0.25, 0.6, 350, -40))
    worlds.step(Controls("walking").encode_batch([17]))
    return worlds.get_state()


def run_state(data: bytes) -> None:
    """A saved state that is taken is one in which every step leads to another."""
    state = np.zeros(1, WORLD)
    octets = np.frombuffer(data[: WORLD.itemsize].ljust(WORLD.itemsize, b"\0"), np.uint8)
    state.view(np.uint8)[:] = octets
    worlds = Worlds(2)
    beside = worlds.state[1].tobytes()
    with ours():
        worlds.set_state(np.concatenate([state, worlds.state[1:]]))
        controls = np.zeros(2, CONTROL)
        for mode, place, remove in ((0, 1, 0), (1, 0, 1), (3, 1, 0), (4, 0, 0)):
            controls[0]["mode"], controls[0]["place"], controls[0]["remove"] = mode, place, remove
            controls[1]["mode"] = 2  # the neighbour stands still
            worlds.step(controls)
            check_state(worlds.get_state()[1:], 1)
            for name in ("grid", "target", "start"):
                assert set(np.unique(worlds.state[name])) <= set(range(7)), name
        worlds.alignment(0)
        assert worlds.grid[1].tobytes() == np.frombuffer(beside, WORLD)[0]["grid"].tobytes()


def run_instruction(data: bytes) -> None:
    first, _, second = data.decode("utf-8", "surrogateescape").partition("\n")
    grid = np.array(a_state()["grid"][0])
    with ours():
        found = understand(first[:2000], grid)
        str(found.found).encode("utf-8", "surrogateescape")
        if second:
            understand_answer(found, second[:2000], grid)
    for reader in (parse_small_talk, parse_question):
        with ours():
            reader(first[:2000])


SENTENCES = (
    "Place a red block two north of the middle.", "Remove the block", "build a row of 3 blue blocks west of it\nred",
    "Now put two green ones on top of the tower, then remove the yellow one.", "How many red blocks are there?",
    "There is a blue column of height 4 at the centre; put a purple square of size 3 around it.", "make it ²", "yes",
    "Remove the block" + " left of the block" * 45, "plase a redd blok nort of the blu blok " * 25,
)  # fmt: skip


def run_reply(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    grid = np.array(a_state()["grid"][0])
    with ours():
        order = read_order(text, grid, 30)
        order.say.encode()
        assert len(order.edits) <= 30
    with ours():
        clip(read_message(text), 200).encode()
    with suppress(ValueError, RecursionError), ours():
        read_order(text_of_calls(json.loads(text)), grid, 30)


REPLIES = (
    '{"edits": [{"action": "place", "color": "red", "east": 0, "north": 1, "height": 1}], "say": "ok"}',
    '<think>so</think>```json\n{"say": "Place a red block."}\n```', "place red (1, 2, 3)\nremove 0 1 1", "WAIT",
    '<|channel|>final<|message|>{"edits": []}<|end|>',
    '[{"function": {"name": "place", "arguments": "{\\"color\\": \\"blue\\", \\"x\\": 1, \\"y\\": 0, \\"z\\": 2}"}}]',
)  # fmt: skip


def run_text_game(data: bytes) -> None:
    """A game of a model whose replies are anything; scores stay in range, and the stock above 0."""
    game = text_game()
    game.reset(0, Task("<Architect> a red one", damaged.GRID))
    for part in data.split(b"\0")[:6]:
        with ours():
            _, reward, done, info = game.step(part.decode("utf-8", "surrogateescape"))
            assert 0.0 <= game.score <= 1.0
            assert -1.0 <= reward <= 1.0
            json.dumps(info)
            if done:
                break


@functools.cache
def text_game() -> TextGame:
    return TextGame(partner="none", max_replies=6)


@functools.cache
def envs() -> list[Any]:
    """Environments of all action encodings; a builder alone, then pairs."""
    single = [gym.make("IGLUGridworldVector-v0", action_space=name) for name in CONTROLS]
    pairs = [parallel_env(controls=name, builder_can_ask=True) for name in CONTROLS]
    tokens = [raw_env(chat="tokens"), parallel_env(chat="tokens", vocabulary=7)]
    return [*single, *pairs, *tokens]


def good_action(env: Any) -> Any:
    if isinstance(env, gym.Env):
        return env.action_space.sample()
    actions = {agent: env.action_space(agent).sample() for agent in env.possible_agents}
    return (
        actions if hasattr(env, "parallel_env") or not hasattr(env, "agent_iter") else actions["architect_0"]
    )


def run_action(data: bytes) -> None:
    """An action that is refused changes nothing, and the game goes on."""
    values = Values(data)
    env = envs()[values.byte() % len(envs())]
    env.reset(seed=values.byte())
    for _ in range(3):
        before = env.unwrapped.get_state()
        try:
            env.step(values.like(good_action(env)))
        except IgluMarlError:
            assert env.unwrapped.get_state().episode.world.tobytes() == before.episode.world.tobytes()
        with ours():
            env.step(good_action(env))
        if hasattr(env, "agents") and not env.agents:
            return


CONSTRUCTORS: tuple[tuple[Callable[..., Any], dict[str, Any]], ...] = (
    (Task, {"dialog": "<Architect> x", "target_grid": damaged.GRID, "starting_grid": [], "invariant": True}),
    (GameConfig, {"controls": "flying", "max_steps": 10, "turn_steps": 3, "chat": "tokens", "step_cost": 0.5}),
    (raw_env, {"tasks": damaged.GRID, "max_turns": 3, "builder_sees": ["pose", "grid"], "render_size": (64, 64)}),
    (functools.partial(gym.make, "IGLUSilentBuilder-v0"), {"max_steps": 3, "action_space": "walking", "compat": None}),
    (RandomTasks, {"max_blocks": 3, "height_levels": 1, "allow_float": False, "max_dist": 2, "max_cache": 0}),
    (TextGame, {"role": "builder", "partner": "none", "tasks": "random", "max_replies": 3, "view": "layers"}),
    (Controls, {"name": "flying", "select_and_place": True, "camera_limit": 5.0, "can_yield": True}),
    (iglu_marl.intersection_scores, {"grid": np.zeros((9, 11, 11)), "target": np.zeros((9, 11, 11)), "shifts": "all"}),
    (Scene, {"grid": np.zeros((9, 11, 11), np.int8)}),
    (Worlds, {"n": 1}),
    (lambda **given: Worlds(1).spawn(0, **given), {"task": Task("", damaged.GRID), "pose": (0, 0, 0, 0, 0)}),
    (lambda **given: iglu_marl.Recorder(scratch() / "r", **given).close(), {"agents": {"builder": "x"}, "note": "n"}),
)  # fmt: skip


def run_constructor(data: bytes) -> None:
    values = Values(data)
    make, good = values.chosen(CONSTRUCTORS)
    with suppress(TypeError), ours():  # a TypeError of Python itself, for keywords that there are none of
        given = {key: values.like(part) for key, part in good.items()}
        made = None
        try:
            made = make(**given)
        finally:
            if hasattr(made, "close"):
                made.close()


# -- the server of the game in the browser


class Server:
    """The application without a network: messages go in as its server would hand them over."""

    def __init__(self) -> None:
        from iglu_marl.web import ServerOptions, create_app

        self.loop, self.folder = asyncio.new_event_loop(), scratch() / "games"
        options = ServerOptions(
            folder=self.folder,
            tasks={"one": Task("", damaged.GRID)},
            hosts=("h",),
            requests_per_s=1e6,  # all inputs come from one address, as fast as they can be run
        )
        self.app = create_app(options)
        self._lifespan = self.app.router.lifespan_context(self.app)
        self.loop.run_until_complete(self._lifespan.__aenter__())
        atexit.register(self.close)

    def close(self) -> None:
        """End the games and the server."""
        atexit.unregister(self.close)
        self.loop.run_until_complete(self._lifespan.__aexit__(None, None, None))
        self.loop.run_until_complete(asyncio.sleep(0.05))
        self.loop.close()

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer to a request."""
        told = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []
        self._call(self._scope("http", path), told, sent)
        return sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:])

    def connect(self, messages: list[str]) -> list[dict[str, Any]]:
        """What a connection is told that sends these messages and is gone."""
        told = [{"type": "websocket.connect"}]
        told += [{"type": "websocket.receive", "text": text} for text in messages]
        sent: list[dict[str, Any]] = []
        self._call(
            self._scope("websocket", "/ws"), [*told, {"type": "websocket.disconnect", "code": 1000}], sent
        )
        return sent

    def _scope(self, kind: str, path: str) -> dict[str, Any]:
        headers = [(b"host", b"h"), (b"origin", b"http://h"), (b"content-type", b"application/json")]
        return {
            "type": kind, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers,
            "method": "POST", "scheme": "http", "http_version": "1.1", "client": ("127.0.0.1", next(_PORTS)),
            "server": ("h", 80), "root_path": "", "subprotocols": [], "extensions": {},
        }  # fmt: skip

    def _call(self, scope: dict[str, Any], told: list[dict[str, Any]], sent: list[dict[str, Any]]) -> None:
        coming = iter(told)

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            for room in self.app.state.rooms.rooms.values():  # time passes, too
                if room.playing:
                    room.run_tick()
            return next(coming, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        self.loop.run_until_complete(self.app(scope, receive, send))


_PORTS = itertools.count(1024)


@functools.cache
def server() -> Server:
    return Server()


@contextmanager
def games() -> Iterator[None]:
    """Games that begin inside end with it, none of them by an error, and are forgotten."""
    yield
    rooms = server().app.state.rooms
    for room in tuple(rooms.rooms.values()):
        assert room.over != "failed"
        room.end("left")
        rooms._forget(room)
        for path in server().folder.glob(f"*{room.name}*"):
            path.unlink()


def run_messages(data: bytes) -> None:
    """Messages of somebody who plays a game with an agent, then of somebody who is in none."""
    first, _, rest = data.decode("utf-8", "replace").partition("\n")
    for role in Role:
        with games():
            asked = {"role": role.value, "partner": "scripted", "task": "one"}
            status, answer = server().post("/api/games", json.dumps(asked).encode())
            assert status == 200, answer
            join = json.dumps({"t": "join", "token": json.loads(answer)["token"]})
            told = server().connect([join, first, *rest.split("\n")[:20]])
        assert '"welcome"' in told[1]["text"]
        assert all(message["type"].startswith("websocket.") for message in told)
    assert server().connect([first])[-1]["type"] == "websocket.close"


def run_begin(data: bytes) -> None:
    with games():
        status, answer = server().post("/api/games", data)
        assert status in (200, 400, 413, 415), (status, answer)
        json.loads(answer)


MESSAGES = (
    '{"t": "in", "n": 1, "held": 2, "events": [["turn", 0, -45], ["choose", 6]]}\n{"t": "say", "text": "hi"}',
    '{"t": "in", "n": 2, "held": 1, "events": []}\n{"t": "in", "n": 3, "events": [["yield"]]}\n{"t": "leave"}',
    '{"t": "join", "token": "x"}',
)  # fmt: skip


def encoded(*texts: str) -> Callable[[], list[bytes]]:
    return lambda: [text.encode() for text in texts]


def drawn(count: int) -> Callable[[], list[bytes]]:
    """Bytes from which good values are drawn: high ones leave them as they are."""
    return lambda: [bytes([number, 7]) + b"\xff" * 40 for number in range(count)]


JSON_WORDS = (b'{"', b'": ', b"[", b"]", b"null", b"true", b"1e400", b'"\\ud800"', b"-1", b"9" * 30)
TARGETS: dict[str, FuzzTarget] = {
    "tape": reader_target("tape"),
    "world file": reader_target("step world"),
    "recording": reader_target("recording"),
    "evaluation log": reader_target("evaluation"),
    "saved state": FuzzTarget(run_state, lambda: [a_state().tobytes()], (b"\x7f", b"\xff" * 8, b"\0" * 7 + b"\x7f")),
    "npz": FuzzTarget(run_npz, npz_seeds, (b"PK\x03\x04", b"\x93NUMPY", b"'descr': '|O'", b"'shape': (")),
    "MDC": reader_target("session"),
    "MDC gold": reader_target("gold"),
    "CSV of games": reader_target("table of games"),
    "JSON of tasks": reader_target("own JSON"),
    "zip": FuzzTarget(run_zip, zip_seeds, (b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"../", b"\xff\xff\xff\xff")),
    "instruction": FuzzTarget(run_instruction, encoded(*SENTENCES), tuple(
        f" {word} ".encode() for word in dict.fromkeys(" ".join(SENTENCES).split())
    )),
    "LLM reply": FuzzTarget(run_reply, encoded(*REPLIES), (*JSON_WORDS, b"</think>", b"```", b'"edits"')),
    "text game": FuzzTarget(run_text_game, encoded("\0".join(REPLIES)), (*JSON_WORDS, b"\0")),
    "action": FuzzTarget(run_action, drawn(12), (b"\0" * 8, b"\xff" * 8)),
    "constructor": FuzzTarget(run_constructor, drawn(12), (b"\0" * 8, b"\xff" * 8)),
    "web message": FuzzTarget(run_messages, encoded(*MESSAGES), (*JSON_WORDS, b"\n", b'"t"', b'"held"')),
    "web request": FuzzTarget(run_begin, encoded('{"role": "architect", "partner": "person"}'), JSON_WORDS),
}  # fmt: skip


def run_target(name: str, data: bytes) -> None:
    """Run a target on an input, with warnings as errors. Raises whatever is no answer of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)
        TARGETS[name].run(data)
