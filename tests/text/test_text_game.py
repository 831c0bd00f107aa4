"""The game as strings: chats, replies in every form, rewards, many games at once."""

from __future__ import annotations

import asyncio
import io
import json
import pickle
from typing import Any

import numpy as np
import pytest
from llm_server import architect_says, builder_does, obedient
from PIL import Image

from iglu_marl import ConfigError, Role, StateError, Task
from iglu_marl.agents.llm.messages import Message
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.planning import Edit
from iglu_marl.text import TextGame, play_async
from iglu_marl.text.game import ChatMessage, edits_of, order_text

TOWER = [(2, -1, -3, 6), (2, 0, -3, 1), (-1, -1, 0, 3)]
RED = '{"edits": [{"action": "place", "color": "red", "east": 2, "north": 3, "height": 1}]}'


def task(blocks: Any = TOWER, **more: Any) -> Task:
    return Task("", blocks_to_grid(blocks), task_id="tower", **more)


def played(game: TextGame, seed: int, answer: Any = obedient, about: Any = None) -> list[Any]:
    """All that comes of a game whose chats are answered like this."""
    messages, found = game.reset(seed, about), list[Any]()
    done = False
    while not done:
        reply = answer(messages)
        messages, reward, done, info = game.step(reply)
        found.append((reply, messages, reward, done, info))
    return found


@pytest.mark.parametrize("role", ["builder", "architect", "both"])
def test_a_whole_game_is_worth_one(role: str) -> None:
    """Reading the chats and nothing else is enough, in every role; the same seed gives the same game."""
    game = TextGame(role=role, tasks=[task(), task(TOWER[:2])], show_changes=True)
    turns = played(game, 3)
    assert turns[-1][-1]["completed"]
    assert sum(reward for _, _, reward, _, _ in turns) == pytest.approx(1)
    assert turns == played(TextGame(role=role, tasks=[task(), task(TOWER[:2])], show_changes=True), 3)
    assert {info["role"] for *_, info in turns} == ({"builder", "architect"} if role == "both" else {role})
    assert turns[-1][1] == []
    with pytest.raises(StateError, match="reset"):
        game.step("")


def test_nothing_in_an_architects_chat_earns_by_being_copied() -> None:
    """Of a whole game; with what is still to be done, its first line does."""

    def copied(line: int, **options: Any) -> float:
        game = TextGame(role="architect", max_replies=1, **options)
        lines = game.reset(0)[-1]["content"].splitlines()
        return float(game.step(lines[line % len(lines)])[1]) if line < len(lines) else 0.0

    most = len(TextGame(role="architect").reset(0)[-1]["content"].splitlines())
    assert max(copied(line) for line in range(most)) == 0
    assert any(copied(line, show_changes=True) > 0 for line in range(most, most + 4))


@pytest.mark.parametrize("role", ["builder", "architect"])
@pytest.mark.parametrize("observations", ["full", "delta"])
def test_each_way_of_answering_has_its_prompt(role: str, observations: str) -> None:
    """No chat asks for both; either reply is read."""
    tool = {"builder": "build", "architect": "speak"}[role]
    for answers in ("json", "tools"):
        game = TextGame(role=role, tasks=[task()], answers=answers, observations=observations)
        chats = [*game.reset(0), *game.step({"edits": [], "say": "Where?"})[0]]
        told = "\n".join(message["content"] for message in chats).replace("JSON object a line", "")
        assert ("tool" in told) == (f'tool "{tool}"' in told) == (answers == "tools")
        assert ("JSON object" in told) == (answers == "json" and role == "builder")
        assert ("write only: WAIT" in told) == (answers == "json" and role == "architect")


def test_the_messages_of_a_builder_do_not_reveal_the_target() -> None:
    game = TextGame(partner="random", tasks=[task([(4, 5, 4, 5)])])
    for message in game.reset(0):
        assert "purple: 4" not in message["content"]
        assert "TARGET" not in message["content"]


def test_replies_have_many_forms() -> None:
    edit = json.loads(RED)["edits"][0]
    call = {"function": {"name": "build", "arguments": RED}}
    for reply in (
        RED,
        f"<think>Blue?</think>{RED}",
        {"edits": [edit], "say": ""},
        {"role": "assistant", "content": RED},
        {"role": "assistant", "content": [{"type": "text", "text": f"It's{chr(10)}{RED}"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        [Edit(2, -1, -3, 6)],
        [edit],
    ):
        game = TextGame(tasks=[task()])
        game.reset(0)
        _, reward, _, info = game.step(reply)
        assert (reward, info["edits"], info["problem"]) == (0.5, 1, "")
    assert game.tools[0]["function"]["name"] == "build"
    with pytest.raises(ConfigError, match="a reply is 3"):
        game.step(3)


def test_a_reply_that_cannot_be_read_changes_nothing_and_says_why() -> None:
    game = TextGame(tasks=[task()], error_cost=0.1, max_replies=3)
    first = game.reset(0)
    messages, reward, done, info = game.step("I will.")
    assert (reward, done, info["edits"]) == (-0.1, False, 0)
    assert "no JSON object" in info["problem"]
    assert f"NOTE\nYour last reply could not be used: {info['problem']}." in messages[1]["content"]
    assert messages[1]["content"].startswith(first[1]["content"].partition("BUILD NOW")[0])
    lay = [Edit(x, y, 5, 3) for x in range(-5, 6) for y in (-1, 0)]
    _, _, _, info = game.step(lay)
    assert info["problem"] == "there are 2 too few green blocks for this"
    _, _, done, info = game.step("")
    assert done
    assert info["truncated"]


def test_the_picture_of_a_builder_changes_with_what_is_built() -> None:
    """It is a part of a message, in the usual format."""
    game = TextGame(tasks=[task()], view="own")
    first, again = game.reset(0)[1], game.step(RED)[0][1]
    assert [part["type"] for part in first["content"]] == ["text", "image_url"]
    message = Message.of_chat(first)
    assert message.as_chat() == first
    assert Image.open(io.BytesIO(message.pictures[0])).size == (256, 256)
    assert "through your own eyes" in message.text
    assert Message.of_chat(again).pictures != message.pictures


def test_what_talk_costs() -> None:
    game = TextGame(tasks=[task()], question_cost=0.2, word_cost=0.01)
    game.reset(0)
    _, reward, _, info = game.step({"edits": [], "say": "Which red one?"})
    assert reward == pytest.approx(-0.23)
    assert info["said"] == "Which red one?"
    assert "Which red one?" in game.dialogue.text


def test_rewards_may_count_blocks() -> None:
    shares = TextGame(tasks=[task()], reward="intersection")
    assert [reward for _, _, reward, _, _ in played(shares, 0)] == pytest.approx([1 / 3] * 3)
    anywhere = TextGame(tasks=[task(TOWER[:1])], invariant=True)
    anywhere.reset(0)
    _, reward, done, _ = anywhere.step([Edit(-5, -1, 2, 6)])
    assert (reward, done) == (1, True)


def test_replies_are_counted() -> None:
    game = TextGame(tasks=[task()])
    turns = played(game, 0, lambda _: {"edits": [], "say": ""})
    assert len(turns) == 2 * 3 + 10
    assert turns[-1][-1]["truncated"]


def test_only_what_is_new() -> None:
    """In the delta form the chats are appended, and lead to the same game."""
    whole = played(TextGame(tasks=[task()]), 0)
    game = TextGame(tasks=[task()], observations="delta")
    first = game.reset(0)
    assert [message["role"] for message in first] == ["system", "user"]
    (news,), *_ = game.step(whole[0][0])
    assert news["content"].startswith("DONE\ngreen at 1 west, height 1")
    assert '"text": "Place a red block on the ground' in news["content"]
    assert "BUILD NOW" not in news["content"]
    assert len(news["content"]) < 400
    architect = TextGame(role="architect", tasks=[task()], observations="delta", show_changes=True)
    chat = architect.reset(0)
    (news,), *_ = architect.step(architect_says(chat[1]["content"]))
    assert "BUILT SINCE\n" in news["content"]
    assert "STILL TO DO\n" in news["content"]


def test_a_recorded_instruction_is_a_game_of_one_reply() -> None:
    told = Task("<Architect> A red one, please.", blocks_to_grid(TOWER[:1]), task_id="told")
    game = TextGame(partner="none", tasks=[told])
    messages = game.reset(0)
    assert "A red one, please." in messages[1]["content"]
    _, reward, done, info = game.step([Edit(0, -1, 0, 6)])
    assert (reward, done, info["completed"], info["truncated"]) == (0, True, False, True)


def test_a_pickled_game_plays_alike() -> None:
    for role in ("builder", "architect", "both"):
        game = TextGame(role=role, tasks=[task()])
        messages = game.reset(1)
        messages, *_ = game.step(obedient(messages))
        copied = pickle.loads(pickle.dumps(game))  # noqa: S301 (our own)
        assert copied.step(obedient(messages)) == game.step(obedient(messages))
        assert np.array_equal(copied.grid, game.grid)


def test_games_wait_for_their_replies_together() -> None:
    under_way, most = 0, 0

    async def answer(chat: list[ChatMessage]) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        told = [
            part["content"] for part in chat if "newest last" in part["content"] or "SAID" in part["content"]
        ]
        return builder_does(told[-1])

    whole = asyncio.run(play_async(answer, range(6), at_once=4))
    assert most == 4
    assert [game.seed for game in whole] == [*range(6)]
    assert [game.total for game in whole] == pytest.approx([1] * 6)
    grown = asyncio.run(play_async(answer, range(6), observations="delta"))
    assert [game.total for game in grown] == pytest.approx([1] * 6)
    chat = grown[0].turns[-1][0]
    assert [part["role"] for part in chat[:4]] == ["system", "user", "assistant", "user"]


def test_two_roles_have_traces_and_rewards_of_their_own() -> None:
    """They share what is built. Each pays for its own words, and the builder for a question."""
    said = iter(
        [
            "Place a red block.",
            "say Where?",
            "Place a red block on the ground, at the centre.",
            "place red at 0 0 1",
        ]
    )

    async def answer(chat: list[ChatMessage]) -> str:
        return next(said)

    costs = {"word_cost": 0.01, "question_cost": 0.1, "answers": "lines"}
    tasks = [Task("", [(0, -1, 0, 6)])]
    (played,) = asyncio.run(play_async(answer, [0], role="both", tasks=tasks, **costs))
    traces = played.traces
    replies = {agent: [reply for _, reply, _ in turns] for agent, turns in traces.items()}
    assert replies == {
        "architect_0": ["Place a red block.", "Place a red block on the ground, at the centre."],
        "builder_0": ["say Where?", "place red at 0 0 1"],
    }
    rewards = {agent: [reward for _, _, reward in turns] for agent, turns in traces.items()}
    assert rewards["architect_0"] == pytest.approx([-0.04, 1 - 0.1])
    assert rewards["builder_0"] == pytest.approx([-0.11, 1])
    assert played.info["rewards"] == {"architect_0": 1.0, "builder_0": 1.0}
    assert "architect" in traces["architect_0"][0][0][0]["content"]


@pytest.mark.parametrize("observations", ["full", "delta"])
def test_a_model_plays_all_agents_of_a_team(observations: str) -> None:
    """Each agent has a chat of its own, with its part of the target and its blocks."""
    parts = {"architect_0": "layers:0-0", "architect_1": "layers:1-8"}
    stocks = {"builder_0": {"red": 1}, "builder_1": {"blue": 20, "green": 20}}
    game = TextGame(
        "both", tasks=[task()], architects=2, builders=2, sees=parts, inventories=stocks, show_changes=True,
        observations=observations,
    )  # fmt: skip
    chats: dict[str, list[ChatMessage]] = {}
    messages, total, done, agents = game.reset(0), 0.0, False, list[str]()
    while not done:
        chats[game.agent] = chats.get(game.agent, []) + messages
        rules, told = chats[game.agent][0]["content"], messages[-1]["content"]
        assert f"You are {game.agent.replace('_', ' ')}." in rules
        if game.turn is Role.ARCHITECT:
            assert f"Of the target you see: {parts[game.agent].replace(':', ' ')}." in rules
            target = told.partition("TARGET\n")[2].partition("\n\n")[0]
            assert not target or ("height 2" in target) == (game.agent == "architect_1")
            assert bool(target) == (observations == "full" or len(chats[game.agent]) == 2)
            reply = architect_says(told) if "nothing in your part" not in told else "WAIT"
        else:
            asked = game.dialogue[-1 if game.dialogue[-1].role is Role.ARCHITECT else -2].text
            color = 6 if "red" in asked else 3 if "green" in asked else 1
            edits = [edit for edit in edits_of(game.grid, game.target) if edit.color == color][:1]
            able = game.agent == ("builder_0" if color == 6 else "builder_1")
            reply = order_text(edits if able else [])
        messages, reward, done, info = game.step(reply)
        total += reward
        agents.append(info["agent"])
        assert not info["problem"]
    assert info["completed"]
    assert total == pytest.approx(1)
    assert agents[:4] == ["architect_0", "architect_1", "builder_0", "builder_1"]


def test_a_builder_of_a_team_has_its_own_blocks_and_hears_its_own_architect() -> None:
    game = TextGame(
        "both", tasks=[task()], architects=2, builders=2, inventories={"builder_0": {"red": 1}},
        hearers={"architect_0": "builder_0", "architect_1": "builder_1"},
    )  # fmt: skip
    game.reset(0)
    game.step("Red, please.")
    messages, *_ = game.step("Blue, please.")
    assert "Red, please." in messages[1]["content"]
    assert "Blue, please." not in messages[1]["content"]
    two = json.dumps({"edits": [json.loads(RED)["edits"][0], {**json.loads(RED)["edits"][0], "height": 2}]})
    messages, _, _, info = game.step(two)
    assert info["problem"] == "there are 1 too few red blocks for this"
    assert "Red, please." in messages[1]["content"]  # once more
    messages, *_ = game.step('{"edits": []}')
    assert "Blue, please." in messages[1]["content"]
    messages, _, _, info = game.step(two)
    assert (info["agent"], info["problem"], info["edits"]) == ("builder_1", "", 2)


def test_builders_of_a_team_take_turns_with_a_partner_of_ones_own() -> None:
    class Partner:
        over = False

        def reset(self, task: Task, seed: int) -> None:
            self.heard = list[str]()

        def answer(self, game: TextGame, said: str) -> None:
            self.heard.append(said)

    partner = Partner()
    game = TextGame(partner=partner, tasks=[task()], builders=2)
    game.reset(0)
    agents = [game.step({"edits": [], "say": word})[3]["agent"] for word in ("one", "two", "three")]
    assert agents == ["builder_0", "builder_1", "builder_0"]
    assert partner.heard == ["", "one", "two", "three"]


@pytest.mark.parametrize("options", [{"team": "craft"}, {"team": "relay"}, {"architects": 2, "builders": 2}])
@pytest.mark.parametrize("role", ["builder", "architect"])
def test_agents_of_this_package_are_partners_in_a_team(role: str, options: dict[str, Any]) -> None:
    """They see and hear what their seats do; a copy made midway plays on as the game does."""
    game = TextGame(role, show_changes=True, max_replies=60, **options)
    game.reset(5)
    done, built = False, 0
    while not done:
        if role == "architect":
            begun = len(game.dialogue) >= game.config.architects
            asked = "WAIT" if begun else "Place a red block on the ground, at the centre."
        else:
            asked = order_text(edits_of(game.grid, game.target)[:1])
        if len(game.dialogue) == 4:
            game = pickle.loads(pickle.dumps(game))  # noqa: S301 (our own)
        _, _, done, info = game.step(asked)
        built = max(built, int((game.grid != 0).sum()))
    assert built
    if role == "builder":
        assert info["completed"]
        assert {said.role for said in game.dialogue} == {Role.ARCHITECT}


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"role": "onlooker"}, "role is 'onlooker', expected one of builder"),
        ({"reward": "praise"}, "expected one of change_f1"),
        ({"max_replies": 0}, "max_replies is 0"),
        ({"max_replies": np.zeros(2)}, "max_replies is array.*expected an integer"),
        ({"partner": 5}, "partner is 5, expected an agent's name"),
        ({"word_cost": float("nan")}, "word_cost is nan, expected a finite number"),
        ({"invariant": "yes"}, "invariant is 'yes', expected True or False"),
        ({"role": "architect", "partner": "none"}, "expected a partner"),
        ({"team": "orchestra"}, "expected a GameConfig or one of 'craft'"),
        ({"team": "assistant"}, "role is 'builder', expected 'both' without architects"),
        ({"architect": 2}, "an option of the team is 'architect', expected one of architects, builders"),
    ],
)
def test_wrong_arguments(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        TextGame(**wrong)
