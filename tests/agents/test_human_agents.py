"""A person at a window: what keys and mouse become in each encoding, what is shown, and the text line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pygame = pytest.importorskip("pygame")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from people import PlayedWindow, click, key_down, key_up, move_mouse, post, press, write  # noqa: E402

import iglu_marl  # noqa: E402
from iglu_marl import Agent, AgentError, Controls, Role, Task, Worlds  # noqa: E402
from iglu_marl.agents import WindowBuilder  # noqa: E402
from iglu_marl.agents.human.builder import MOUSE_DEG  # noqa: E402
from iglu_marl.agents.human.controls import InputMapper  # noqa: E402
from iglu_marl.core.actions import Action  # noqa: E402
from iglu_marl.core.controls import CONTROLS  # noqa: E402
from iglu_marl.rendering.ui.line_edit import LineEdit  # noqa: E402
from iglu_marl.rendering.ui.window import WindowClosed  # noqa: E402

RED_AHEAD = Task("", [(0, -1, -2, 6)])


# ------------------------------------------------------------------------------------------------------ inputs

DOINGS = st.one_of(
    st.tuples(
        st.just("hold"),
        st.sampled_from(["forward", "back", "left", "right", "up", "down", "fast"]),
        st.booleans(),
    ),
    st.tuples(st.just("turn"), st.floats(-400, 400), st.floats(-400, 400)),
    st.tuples(st.just("choose"), st.integers(1, 6)),
    st.sampled_from([("place",), ("remove",), ("yield_turn",), ("release",), ("step",)]),
)


@pytest.mark.slow
@pytest.mark.parametrize("select_and_place", [False, True])
@pytest.mark.parametrize("name", CONTROLS)
@given(doings=st.lists(DOINGS, max_size=25))
def test_whatever_is_pressed_is_an_action(name: Any, select_and_place: bool, doings: list[Any]) -> None:
    inputs = InputMapper(name, select_and_place=select_and_place, can_yield=True)
    controls = Controls(name, select_and_place=select_and_place, can_yield=True)
    for what, *values in (*doings, ("step",)):
        if what == "step":
            action = inputs.action(30.0)
            assert controls.space.contains(action)
            controls.encode(action)
        else:
            getattr(inputs, what)(*values)


class Body:
    """A world with inputs: what they ask for happens in it."""

    def __init__(self, name: Any, **options: Any) -> None:
        self.inputs = InputMapper(name, **options)
        self.controls = Controls(name, can_yield=True, **options)
        self.world = Worlds(1)
        self.world.spawn(0, RED_AHEAD)
        self.events: list[str] = []

    def live(self, steps: int) -> None:
        from iglu_marl.game.episode import EVENTS

        for _ in range(steps):
            action = self.inputs.action(float(self.world.pose[0, 3]))
            self.world.step(self.controls.encode_batch([action]))
            self.events.append(EVENTS[self.world.event[0]])


@pytest.mark.parametrize("name", CONTROLS)
def test_a_turn_arrives_whole(name: Any) -> None:
    body = Body(name)
    body.inputs.turn(95.0, -30.0)
    body.inputs.turn(20.0, 5.0)
    assert body.inputs.look_deg == (115.0, -25.0)
    body.live(40)
    assert body.inputs.look_deg == (0.0, 0.0)
    assert body.world.pose[0, 3:].tolist() == pytest.approx([115.0, -25.0])


@pytest.mark.parametrize("name", CONTROLS)
def test_deeds_happen_with_the_gaze_they_were_asked_with(name: Any) -> None:
    body = Body(name)
    body.live(15)
    body.inputs.choose(6)
    body.inputs.turn(0.0, -30.0)
    body.inputs.place()
    body.inputs.turn(90.0, 60.0)
    body.live(60)
    assert body.world.grid[0].nonzero()[0].tolist() == [0]
    assert body.world.grid[0].max() == 6
    assert "placed" in body.events
    body.inputs.turn(-90.0, -60.0)
    body.inputs.remove()
    body.live(60)
    assert not body.world.grid[0].any()


@pytest.mark.parametrize("name", CONTROLS)
def test_keys_move_the_way_they_say(name: Any) -> None:
    for key, axis, sign in (("forward", 2, -1), ("back", 2, 1), ("left", 0, -1), ("right", 0, 1)):
        body = Body(name)
        body.live(10)
        start = body.world.pose[0].copy()
        body.inputs.hold(key, True)
        body.live(12)
        body.inputs.hold(key, False)
        moved = (body.world.pose[0] - start)[:3]
        assert sign * moved[axis] > 0.4, (key, moved)
        assert abs(moved[2 - axis]) < 0.01
        place = body.world.pose[0].copy()
        body.live(3)
        assert np.allclose(body.world.pose[0], place)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_tapped_key_counts_for_a_step(name: Any) -> None:
    body = Body(name)
    body.live(10)
    start = body.world.pose[0].copy()
    body.inputs.hold("forward", True)
    body.inputs.hold("forward", False)
    body.live(5)
    assert body.world.pose[0, 2] < start[2]


def test_flying_up_down_and_fast() -> None:
    body = Body("flying")
    body.inputs.hold("up", True)
    body.live(10)
    high = float(body.world.pose[0, 1])
    assert high > 1.5
    body.inputs.hold("up", False)
    body.inputs.hold("down", True)
    body.live(5)
    assert body.world.pose[0, 1] < high
    body.inputs.release()
    slow, fast = Body("flying"), Body("flying")
    fast.inputs.hold("fast", True)
    for each in (slow, fast):
        each.inputs.hold("back", True)
        each.live(9)
    assert fast.world.pose[0, 2] > 2 * slow.world.pose[0, 2] > 0


def test_colours_and_hands_one_after_the_other() -> None:
    inputs = InputMapper("human-level")
    inputs.choose(3)
    inputs.place()
    inputs.choose(4)
    inputs.place()
    inputs.yield_turn()
    done = [inputs.action(0.0) for _ in range(4)]
    assert [action["hotbar"] for action in done] == [3, 4, 0, 0]
    assert [action["use"] for action in done] == [1, 1, 0, 0]
    assert [action["yield"] for action in done] == [0, 0, 1, 0]


def test_walking_does_one_thing_at_a_time() -> None:
    inputs = InputMapper("walking")
    inputs.choose(2)
    inputs.turn(10.0, 0.0)
    inputs.place()
    inputs.yield_turn()
    names = [Action(inputs.action(0.0)).name.lower() for _ in range(6)]
    assert names == ["hotbar_2", "turn_right", "turn_right", "place", "yield", "noop"]
    inputs.hold("forward", True)
    inputs.turn(20.0, 0.0)
    names = [Action(inputs.action(0.0)).name.lower() for _ in range(8)]
    assert names.count("turn_right") == 4
    assert names.count("forward") == 4


def test_where_choosing_places() -> None:
    inputs = InputMapper("human-level", select_and_place=True)
    inputs.choose(5)
    inputs.choose(2)
    inputs.place()
    colors = [inputs.action(0.0)["hotbar"] for _ in range(4)]
    assert colors == [5, 2, 2, 0]


def test_where_turns_cannot_be_ended() -> None:
    inputs = InputMapper("human-level", can_yield=False)
    inputs.yield_turn()
    assert "yield" not in inputs.action(0.0)


@pytest.mark.parametrize(
    "ask",
    [("turn", np.nan, 0.0), ("turn", 0.0, np.inf), ("choose", 7), ("choose", True), ("hold", "x", True)],
)
def test_what_nobody_can_ask_for_is_refused_at_once(ask: tuple[Any, ...]) -> None:
    inputs = InputMapper("human-level")
    with pytest.raises(iglu_marl.ActionError, match="expected"):
        getattr(inputs, ask[0])(*ask[1:])
    inputs.place()
    assert inputs.action(0.0)["use"] == 1


def test_what_waits_is_bounded() -> None:
    inputs = InputMapper("walking")
    for _ in range(1000):
        inputs.place()
    inputs.turn(3000.0, 0.0)
    inputs.turn(3000.0, 0.0)
    assert sum(inputs.action(0.0) != Action.NOOP for _ in range(2000)) == 64 + 3600 / 5


# -------------------------------------------------------------------------------------------------- the line


def test_writing_and_erasing() -> None:
    line = LineEdit(20)
    line.insert("Zażółć gęślą\njaźń")
    assert line.text == "Zażółć gęślą jaźń"
    line.key("backspace")
    line.key("home")
    line.key("delete")
    line.insert("z")
    assert (line.text, line.cursor) == ("zażółć gęślą jaź", 1)
    line.key("end")
    line.key("left")
    line.key("right")
    line.key("right")
    assert line.cursor == len(line.text)
    assert not line.key("f5")
    line.insert("  ")
    assert (line.enter(), line.text, line.cursor) == ("zażółć gęślą jaź", "", 0)


def test_a_line_ends_where_it_is_full() -> None:
    line = LineEdit(5)
    line.insert("日本語です。もっと")
    assert line.text == "日本語です"
    assert len(line.text) == line.limit
    line.insert("x")
    assert line.text == "日本語です"


# ------------------------------------------------------------------------------------------------- the builder


def watched(story: Any) -> PlayedWindow:
    """A window with a person before it; the story is called with the window."""
    window = PlayedWindow(iter(()), size=(300, 400))
    window.script = story(window)
    return window


def idle(_: PlayedWindow) -> Iterator[None]:
    while True:
        yield


def place_ahead(window: PlayedWindow) -> Iterator[None]:
    """Red in hand, look down at the ground ahead, place."""
    for _ in range(12):
        yield
    press("6", "6")
    move_mouse(0, 37 / MOUSE_DEG)
    yield
    click(3)
    while True:
        yield


def test_it_is_an_agent() -> None:
    window = watched(idle)
    assert isinstance(WindowBuilder(window=window), Agent)
    with pytest.raises(AgentError, match="cannot play the architect"):
        WindowBuilder(window=window).reset(Role.ARCHITECT, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("IGLUGridworld-v0", {}),  # no more than its picture
        ("IGLUGridworldVector-v0", {"action_space": "human-level"}),
        ("IGLUSilentBuilder-v0", {}),
        ("IGLUSilentBuilderVisual-v0", {"select_and_place": True}),
    ],
)
def test_a_person_in_the_single_agent_environments(name: str, options: dict[str, Any]) -> None:
    env = gym.make(name, tasks=RED_AHEAD, **options)
    builder = WindowBuilder.for_env(env, window=watched(place_ahead), step_s=0.0)
    trajectory = iglu_marl.play(env, builder, seed=1)
    builder.close()
    assert trajectory.completed


def test_a_person_in_the_parallel_environment() -> None:
    env = iglu_marl.parallel_env(tasks=RED_AHEAD, controls="human-level")
    builder = WindowBuilder.for_env(env, window=watched(place_ahead), step_s=0.0)
    agents = {"architect": iglu_marl.agents.ScriptedArchitect.for_env(env), "builder": builder}
    assert iglu_marl.play(env, agents, seed=1).completed
    builder.close()


def test_a_builder_cannot_see_the_target() -> None:
    pictures = []
    for block in ((0, -1, -2, 6), (3, 4, -4, 2)):
        seen: list[np.ndarray] = []

        def story(window: PlayedWindow, seen: list[np.ndarray] = seen) -> Iterator[None]:
            for step in range(25):
                yield
                if step == 5:
                    key_down("w", "w")
                    move_mouse(100, 100)
                if step == 10:
                    key_up("w")
                    click(3)
                seen.append(window.read())

        env = iglu_marl.raw_env(
            tasks=Task("", [block]), builder_sees=("pose", "grid", "inventory", "dialog"), max_steps=24
        )
        builder = WindowBuilder.for_env(env, window=watched(story), step_s=0.0)
        silent = iglu_marl.agents.RandomArchitect.for_env(env, silence=1.0)
        iglu_marl.play(env, {"architect": silent, "builder": builder}, seed=1)
        builder.close()
        pictures.append(np.array(seen[:20]))
    assert (pictures[0][0] != pictures[0][-1]).any()
    assert np.array_equal(pictures[0], pictures[1])


def test_nothing_to_see_is_an_error() -> None:
    env = iglu_marl.raw_env(tasks=RED_AHEAD, builder_sees=("dialog", "pose"))
    env.reset(seed=0)
    builder = WindowBuilder.for_env(env, window=watched(idle))
    builder.reset(Role.BUILDER, 0)
    with pytest.raises(AgentError, match=r"got \['agentPos', 'dialog'\]"):
        builder.act(env.observe("builder_0"))
    with pytest.raises(AgentError, match="got 3"):
        builder.act(3)


def test_a_line_that_the_chat_cannot_send_stays_and_escape_frees_the_mouse() -> None:
    def story(window: PlayedWindow) -> Iterator[None]:
        yield
        press("t", "t")
        yield
        write("red " * 20)
        press("return", "\r")
        yield
        seen.append((builder.line.text, "a message holds 16" in builder._refusal, window._captured))
        press("escape", "\x1b")
        yield
        yield
        seen.append((builder.line.text, builder._typing, window._captured))
        press("escape", "\x1b")
        yield
        yield
        seen.append((window.closed, window._captured))

    seen: list[Any] = []
    env = iglu_marl.parallel_env(tasks=RED_AHEAD, chat="tokens", builder_can_ask=True, controls="human-level")
    builder = WindowBuilder.for_env(env, window=watched(story), step_s=0.0)
    agents = {"architect": iglu_marl.agents.ScriptedArchitect.for_env(env), "builder": builder}
    with pytest.raises(WindowClosed):
        iglu_marl.play(env, agents, seed=0)
    assert seen == [(("red " * 20).strip(), True, False), ("", False, True), (False, False)]


def test_leaving_the_window_releases_the_keys() -> None:
    def story(window: PlayedWindow) -> Iterator[None]:
        yield
        key_down("w", "w")
        yield
        yield
        post(pygame.WINDOWFOCUSLOST)
        yield
        yield
        places.append(env.unwrapped.episode.worlds.pose[0].copy())
        for _ in range(4):
            yield
        places.append(env.unwrapped.episode.worlds.pose[0].copy())

    places: list[np.ndarray] = []
    env = gym.make("IGLUGridworldVector-v0", action_space="human-level", tasks=RED_AHEAD)
    builder = WindowBuilder.for_env(env, window=watched(story), step_s=0.0)
    with pytest.raises(WindowClosed):
        iglu_marl.play(env, builder, seed=0)
    assert places[0][2] < -0.2
    assert np.allclose(places[0], places[1])
