"""A language model as the reader of what the rules of the scripted builder do not understand."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import pytest
from llm_server import ScriptedBackend

import iglu_marl
from iglu_marl import AgentError, Role, Task, evaluate
from iglu_marl.agents import ReplayArchitect, agents_for
from iglu_marl.agents.llm import Reply, RequestFailure
from iglu_marl.agents.llm.reader import AssistedBuilder, LLMReader
from iglu_marl.agents.registry import partner_for
from iglu_marl.core.grid import blocks_to_grid, cells_of
from iglu_marl.language import Discourse, Failure

EMPTY = blocks_to_grid(())
SEES = ("dialog", "pose", "grid")
ODD = "Grow me a crimson beanpole amidships, twice a brick's stature."
TOWER = {(0, 0, 1): "red", (0, 0, 2): "red"}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("IGLU_MARL_LLM_"):
            monkeypatch.delenv(name)


def edits(blocks: dict[tuple[int, int, int], str], say: str = "") -> str:
    keys = ("east", "north", "height")
    made = [
        {"action": "place", "color": color, **dict(zip(keys, at, strict=True))}
        for at, color in blocks.items()
    ]
    return json.dumps({"edits": made, "say": say})


def saying(*replies: Any) -> tuple[ScriptedBackend, Discourse]:
    """A backend with these replies, and a discourse that asks it."""
    left = list(replies)
    backend = ScriptedBackend(lambda _: left.pop(0))
    discourse = Discourse(LLMReader(backend=backend))
    discourse.stand((0.0, -0.25, 0.0), 90.0)
    return backend, discourse


def test_the_model_reads_what_the_rules_do_not() -> None:
    backend, discourse = saying(edits(TOWER, say="Done!"), edits({(0, 0, 3): "blue"}))
    world = EMPTY
    for text, asked in ((ODD, 1), ("Make it green.", 1), ("Undo that.", 1)):
        heard = discourse.hear(text, world)
        assert not isinstance(heard.found, Failure), text
        assert (heard.text, len(backend.requests)) == (text, asked)
        world = heard.found[0].grid
        colors = sorted(set(world[world != 0].tolist()))
        assert (cells_of(world).tolist(), colors) == ([[0, -1, 0], [0, 0, 0]], [3 if "green" in text else 6])
    discourse.hear("Stick a cerulean one atop.", world)
    rules, seen = (message.text for message in backend.requests[1].messages)
    assert "You are the builder" in rules
    assert seen.index(ODD[:9]) < seen.index("Undo that.") < seen.index("cerulean")  # the dialogue, in order
    assert "height 2" in seen
    assert "look east" in seen


@pytest.mark.parametrize(
    "reply",
    [
        edits({}, say="What is a beanpole?"),
        edits({}),
        Reply(failure=RequestFailure.UNREACHABLE, detail="nobody there", sent=3),
        "I cannot do that.",
    ],
    ids=["asks", "nothing", "unreachable", "unreadable"],
)
def test_without_edits_the_rules_answer(reply: Any) -> None:
    _, discourse = saying(*[reply] * 5)
    assert discourse.hear(ODD, EMPTY) == Discourse().hear(ODD, EMPTY)


def test_a_block_is_replaced_and_one_that_stands_is_left() -> None:
    world = blocks_to_grid([(0, -1, 0, 1), (1, -1, 0, 6)])
    _, discourse = saying(edits({(0, 0, 1): "red", (1, 0, 1): "red"}))
    heard = discourse.hear("Crimsonise the whole shebang.", world)
    assert not isinstance(heard.found, Failure)
    assert heard.found[0].cells == ((0, -1, 0),)
    assert set(heard.found[0].grid[heard.found[0].grid != 0]) == {6}


def test_a_builder_by_name_plays_and_counts() -> None:
    task = Task(f"<Architect> {ODD}", [(0, -1, 0, 6), (0, 0, 0, 6)], invariant=False)
    env = iglu_marl.env(tasks=task, builder_sees=SEES)
    backend = ScriptedBackend(lambda _: edits(TOWER))
    builder = AssistedBuilder.for_env(env, backend=backend)
    game = iglu_marl.play(env, {"architect": ReplayArchitect.for_env(env), "builder": builder}, seed=0)
    assert game.completed
    assert (builder.stats.requests, len(backend.requests)) == (1, 1)
    with pytest.raises(AgentError, match="cannot play the architect"):
        builder.reset(Role.ARCHITECT, 0)
    builder.close()


def test_the_name_takes_the_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    env = iglu_marl.env(builder_sees=SEES)
    with pytest.raises(iglu_marl.ConfigError, match="IGLU_MARL_LLM_MODEL"):
        agents_for(env, builder="scripted-llm")
    monkeypatch.setenv("IGLU_MARL_LLM_MODEL", "some-model")
    monkeypatch.setenv("IGLU_MARL_LLM_ENDPOINT", "http://127.0.0.1:9/v1")
    results = evaluate({"scripted": "scripted"}, {"ours": "scripted-llm"}, [Task("", [(0, -1, 0, 6)])])
    assert results.rows[0]["completed"]  # the rules understand all that this architect says
    assert "some-model" in json.dumps(results.settings)


def test_in_real_time_it_stands_still_until_the_reply_arrives() -> None:
    task = Task(f"<Architect> {ODD}", [(0, -1, 0, 6), (0, 0, 0, 6)], invariant=False)
    env = iglu_marl.env(tasks=task, builder_sees=SEES, max_steps=400, max_turns=None)
    arrive, waited = threading.Event(), []

    def reply(_: Any) -> str:
        assert arrive.wait(10)
        return edits(TOWER)

    backend = ScriptedBackend(reply)
    builder = AssistedBuilder.for_env(env, backend=backend, background=True)

    class Patient:
        """The builder, whose first step this thread sees before the reply arrives."""

        reset, close = builder.reset, builder.close

        def act(self, observation: Any) -> Any:
            made = builder.act(observation)
            waited.append((arrive.is_set(), builder.idle, made))
            if not arrive.is_set():
                arrive.set()
            return made

    game = iglu_marl.play(env, {"architect": ReplayArchitect.for_env(env), "builder": Patient()}, seed=0)
    assert game.completed
    assert len(backend.requests) == 1
    assert waited[0][:2] == (False, False)
    assert waited[0][2] == builder._executor.state.wait()


def test_a_game_without_the_service_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MODEL", "m"), ("ENDPOINT", "http://127.0.0.1:9/v1"), ("RETRIES", "0")):
        monkeypatch.setenv(f"IGLU_MARL_LLM_{name}", value)
    task = Task(f"<Architect> {ODD}", [(0, -1, 0, 6), (0, 0, 0, 6)], invariant=False)
    (row,) = evaluate({"replay": "replay"}, {"ours": "scripted-llm"}, [task]).rows
    assert not row["scored"]
    assert "unreachable" in row["error"]


def test_a_partner_of_people_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_MARL_LLM_MODEL", "some-model")
    monkeypatch.setenv("IGLU_MARL_LLM_ENDPOINT", "http://127.0.0.1:9/v1")
    partner: Any = partner_for(iglu_marl.env(builder_sees=SEES), Role.BUILDER, "scripted-llm")
    assert partner._reader.background
    partner.close()
