"""People in a loop of their own, at pages in the browser; and `iglu-marl play`, which opens one."""

from __future__ import annotations

import _thread
import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import iglu_marl
from iglu_marl import Agent, AgentError, ConfigError, Role, Task
from iglu_marl.agents import RandomArchitect, ScriptedBuilder, registry
from iglu_marl.recording import read_recording
from iglu_marl.web import HumanArchitect, HumanBuilder, PersonLeft

RED_AHEAD = Task("", [(0, -1, -2, 6)], invariant=False)
SEES = ("pose", "grid", "inventory", "dialog")
PAGE = re.compile(r"http://(127\.0\.0\.1:\d+)/play#(\S+)")
REQUEST = "Place a red block on the ground, 2 blocks north of the centre."


class Visitor:
    """A page without a browser: it joins, and keeps what it is sent."""

    def __init__(self, address: str) -> None:
        found = PAGE.search(address)
        assert found is not None, address
        connecting = connect(f"ws://{found[1]}/ws", origin=f"http://{found[1]}")
        self.socket: Any = connecting.__enter__()  # it is closed by its user
        self.messages: list[dict[str, Any]] = []
        self.send(t="join", token=found[2])
        self.number = 0

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def hear(self, until: Callable[[dict[str, Any]], Any]) -> None:
        """Receive messages until one passes, or the connection ends."""
        try:
            while not self.messages or not until(self.messages[-1]):
                self.messages.append(json.loads(self.socket.recv(timeout=60)))
        except ConnectionClosed:
            pass

    def do(self, *events: list[Any]) -> None:
        self.number += 1
        self.send(t="in", n=self.number, held=0, events=list(events))


def visited(person: Callable[[Visitor], None], program: Callable[[], Any]) -> tuple[Any, Visitor]:
    """Run a program whose agent prints the address of its page, and a person at that page, in a thread."""
    printed, write = threading.Event(), sys.stdout.write
    pages: list[str] = []

    def noting(text: str) -> int:
        if PAGE.search(text):
            pages.append(text)
            printed.set()
        return write(text)

    def visit() -> Visitor:
        assert printed.wait(60)
        visitor = Visitor(pages[0])
        with closing(visitor.socket):
            person(visitor)
        return visitor

    def visit_or_stop() -> Visitor:
        try:
            return visit()
        except BaseException:
            _thread.interrupt_main()  # nobody will answer the program
            raise

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(sys.stdout, "write", noting)
        visit_done = pool.submit(visit_or_stop)
        try:
            return program(), visit_done.result(60)
        except KeyboardInterrupt:
            visit_done.result(0)
            raise


def place_ahead(me: Visitor) -> None:
    """Red in hand, look down at the ground ahead, place; stay until the end."""
    me.hear(lambda message: message["t"] == "frame")
    me.do(["choose", 6], ["turn", 0, -37], ["place"])
    me.hear(lambda message: message.get("state") == "over")


@pytest.mark.parametrize("controls", ["human-level", "flying", "walking"])
@pytest.mark.parametrize("api", ["aec", "parallel", "single"])
def test_a_person_builds_in_any_environment(api: str, controls: str) -> None:
    if api == "single":
        env: Any = gym.make("IGLUGridworldVector-v0", action_space=controls, tasks=RED_AHEAD)
    else:
        make = iglu_marl.raw_env if api == "aec" else iglu_marl.parallel_env
        env = make(tasks=RED_AHEAD, controls=controls, builder_sees=SEES, max_turns=None)
    builder = HumanBuilder.for_env(env, open_browser=False, step_s=0.01)
    agents: Any = builder
    if api != "single":
        agents = {"architect": RandomArchitect.for_env(env, silence=1.0), "builder": builder}

    def play() -> Any:
        with closing(builder):
            return iglu_marl.play(env, agents, seed=1)

    trajectory, me = visited(place_ahead, play)
    assert trajectory.completed
    sent = json.dumps(me.messages)
    assert not any(key in sent for key in ('"target_grid"', '"ghost"', '"score"'))


def test_a_person_explains() -> None:
    """What is written while the builder works is said at the next turn; the progress is shown."""
    env = iglu_marl.raw_env(tasks=RED_AHEAD, builder_sees=SEES, turn_steps=200, max_steps=None)
    architect = HumanArchitect.for_env(env, open_browser=False, step_s=0.0)

    def explain(me: Visitor) -> None:
        me.send(t="say", text="")
        me.send(t="say", text=REQUEST)
        me.hear(lambda message: message.get("state") == "over")

    def play() -> Any:
        with closing(architect):
            agents = {"architect": architect, "builder": ScriptedBuilder.for_env(env)}
            return iglu_marl.play(env, agents, seed=1, on_step=architect.watch)

    trajectory, me = visited(explain, play)
    assert trajectory.completed
    assert [one.text for one in trajectory.dialogue][:1] == [REQUEST]
    frames = [message for message in me.messages if message["t"] == "frame"]
    assert frames[0]["target_grid"] == frames[0]["ghost"] == [[0, -1, -2, 6]]
    assert [frame["score"] for frame in frames if "score" in frame] == [[0, 1], [1, 1]]


def test_it_plays_where_an_event_loop_runs() -> None:
    """As in a notebook."""
    env = gym.make("IGLUGridworldVector-v0", action_space="human-level", tasks=RED_AHEAD)
    builder = HumanBuilder.for_env(env, open_browser=False, step_s=0.01)

    async def cell() -> Any:
        with closing(builder):
            return iglu_marl.play(env, builder, seed=1)

    assert visited(place_ahead, lambda: asyncio.run(cell()))[0].completed


def acting(**options: Any) -> Any:
    """A builder's first step; the agent is closed afterwards."""
    env = gym.make("IGLUGridworldVector-v0", action_space="human-level", tasks=RED_AHEAD)
    observation, _ = env.reset(seed=0)
    with closing(HumanBuilder.for_env(env, open_browser=False, **options)) as builder:
        builder.reset(Role.BUILDER, 0)
        while True:
            builder.act(observation)


def test_a_person_leaves() -> None:
    def leaving() -> None:
        with pytest.raises(PersonLeft):
            acting()

    visited(lambda me: me.send(t="leave"), leaving)


def test_a_builder_who_cannot_speak_is_told_so() -> None:
    def speak(me: Visitor) -> None:
        me.send(t="say", text="Hello?")
        me.hear(lambda message: message["t"] == "refused")
        me.send(t="leave")

    def program() -> None:
        with pytest.raises(PersonLeft):
            acting()

    me = visited(speak, program)[1]
    assert me.messages[-1]["text"] == "In this game the builder cannot speak."


def test_ctrl_c_interrupts_an_agent_that_waits() -> None:
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # ignored where tests run in the background
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            acting()
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_port_in_use_is_an_error() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(ConfigError, match="choose another port, or 0 for a free one"):
            acting(port=other.getsockname()[1])


def test_they_are_agents_by_name() -> None:
    env = iglu_marl.raw_env(tasks=RED_AHEAD, builder_sees=SEES)
    agents = registry.agents_for(env, "human", "human")
    assert [type(agent) for agent in agents.values()] == [HumanArchitect, HumanBuilder]
    for agent, wrong in zip(agents.values(), (Role.BUILDER, Role.ARCHITECT), strict=True):
        assert isinstance(agent, Agent)
        with pytest.raises(AgentError, match="cannot play"):
            agent.reset(wrong, 0)


# --------------------------------------------------------------------------------------------- iglu-marl play


@pytest.mark.slow
@pytest.mark.system
def test_play_opens_a_game(tmp_path: Path) -> None:
    """Without a display it prints the address. Ctrl+C ends it; the exit code is 0 where all games are complete."""
    from test_play import without_a_display

    structures = {"colours": {"1": "red"}, "structures": {"one": {"blocks": [[0, -1, -2, 1]]}}}
    (tmp_path / "one.json").write_text(json.dumps(structures))
    words = ["play", "--task-source", "one.json", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "iglu_marl", *words],
        cwd=tmp_path,
        env=without_a_display(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        address = next(line for line in server.stderr if "/play#" in line)
        assert address.startswith("Open this page in a browser")
        me = Visitor(address)
        me.hear(lambda message: message.get("said"))
        me.do(["choose", 6], ["turn", 0, -37], ["place"])
        me.hear(lambda message: message.get("state") == "over")
        assert me.messages[-1]["how"] == "complete"
        server.send_signal(signal.SIGINT)
        (facts,) = json.loads(server.communicate(timeout=60)[0])
        assert server.returncode == 0
    assert facts["completed"]
    assert (facts["task"], facts["right"], facts["blocks"]) == ("one", 1, 1)
    (recording,) = read_recording(tmp_path / facts["recording"])
    assert recording.header["agents"]["builder"] == "person"
