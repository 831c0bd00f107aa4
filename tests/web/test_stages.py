"""The stages of a study beside its games: pages, a quiz, questions at three moments, who may come and who counts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx2")

from test_pairing import PEOPLE, meet, play, rows, until_game
from test_server import joined
from test_study import ask, build_red, serving, to_the_game, until_stage, written
from typer.testing import CliRunner

from iglu_marl import ConfigError
from iglu_marl.cli import app as command
from iglu_marl.web import store as db
from iglu_marl.web.rooms import check_agents

STAGES = """
name = "stages"
instructions = "# Rules\\n\\nBuild **well**. <script>x</script>\\n\\n---\\n\\nAnother page."
completion_code = "C0DE"
quiz_code = "QU1Z"
return_url = "https://example.org/complete?cc={code}"
least_s = 0

[[conditions]]
name = "only"
tasks = ["one-red", "one-red"]

[[quiz]]
name = "who"
text = "Who builds?"
kind = "choice"
options = ["I", "the other"]
expected = "I"

[[questions]]
name = "age"
text = "How old are you?"
when = "before"

[[questions]]
name = "again"
text = "How was this game?"
kind = "likert"
when = "between"

[[questions]]
name = "thanks"
text = "*Thank you.*"
kind = "note"

[[questions]]
name = "fun"
text = "Was it fun?"
"""
ONE = """
name = "one"
least_s = 0

[[conditions]]
name = "only"
tasks = ["one-red"]
"""


def answered(client: Any, token: str, stage: str, **answers: str) -> dict[str, Any]:
    return ask(client, "next", token=token, stage=stage, answers=answers)


def test_every_stage_in_its_order(tmp_path: Path) -> None:
    with serving(written(tmp_path, STAGES), tmp_path / "games") as client:
        state = ask(client, "enter", code="P1")
        token = state["token"]
        first, second = state["pages"]
        assert "<strong>well</strong>" in first
        assert "<script>" not in first
        assert "Another page" in second
        assert ask(client, "next", token=token, stage="instructions")["stage"] == "quiz"
        assert answered(client, token, "quiz", who="the other")["stage"] == "instructions"
        ask(client, "next", token=token, stage="instructions")
        assert answered(client, token, "quiz", who="I")["stage"] == "before"
        assert answered(client, token, "before", age="40")["stage"] == "game"
        build_red(client, token)
        until_stage(client, token, "between")
        assert answered(client, token, "between", again="9")["status"] == 400
        assert answered(client, token, "between", again="3")["stage"] == "game"
        build_red(client, token)
        until_stage(client, token, "questions")  # nothing is asked between the last game and the end
        asked = ask(client, "enter", token=token)["questions"]
        assert [(one["name"], one["html"]) for one in asked] == [
            ("thanks", "<p><em>Thank you.</em></p>\n"),
            ("fun", ""),
        ]
        end = answered(client, token, "questions", fun="yes")
        assert (end["stage"], end["code"], end["url"]) == (
            "done",
            "C0DE",
            "https://example.org/complete?cc=C0DE",
        )
        given = [
            (row["question"], row["answer"], row["passed"], row["game"]) for row in rows(client, db.ANSWERS)
        ]
        assert given == [
            ("who", "the other", 0, None), ("who", "I", 1, None), ("age", "40", None, None),
            ("again", "3", None, 0), ("fun", "yes", None, 1),
        ]  # fmt: skip


def test_who_fails_the_quiz_twice_does_not_play(tmp_path: Path) -> None:
    with serving(written(tmp_path, STAGES), tmp_path / "games") as client:
        token = ask(client, "enter", code="P1")["token"]
        for stage in ("instructions", "screened"):
            ask(client, "next", token=token, stage="instructions")
            last = answered(client, token, "quiz", who="the other")
            assert last["stage"] == stage
        assert last["code"] == "QU1Z"
        assert ask(client, "game", token=token) == {"stage": "screened", "status": 200}


def test_practice_of_pairs_is_in_both_roles(tmp_path: Path) -> None:
    text = 'name = "p"\npractice = ["one-red"]\nwait_s = 30\n' + PEOPLE
    with serving(written(tmp_path, text), tmp_path / "games") as client:
        tokens = [to_the_game(client, f"P{number}") for number in range(2)]
        for token in tokens:
            state = ask(client, "enter", token=token)
            assert (state["practice"], state["number"], state["of"], state["role"]) == (True, 1, 2, "builder")
            for number, role in enumerate(("builder", "architect"), start=1):
                until_game(client, token, number)
                with joined(client, ask(client, "game", token=token)["play"]) as player:
                    assert player.until("welcome")["role"] == role
                    player.send(t="leave")
            until_game(client, token, 3)
            state = ask(client, "enter", token=token)
            assert (state["practice"], state["number"], state["of"], state["role"]) == (False, 1, 3, "")
        assert set(play(client, meet(client, *tokens)).values()) == {"builder", "architect"}


def test_a_place_counts_from_the_first_game_on(tmp_path: Path) -> None:
    """Forty who only look occupy nothing; who comes to a game too late is dismissed, and paid by its code."""
    text = ONE.replace("least_s = 0", 'most = 1\ndismissed_code = "S0RRY"')
    with serving(written(tmp_path, text), tmp_path / "games") as client:
        for number in range(40):
            assert ask(client, "enter", code=f"L{number}")["status"] == 200
        tokens = [to_the_game(client, f"P{number}") for number in range(2)]
        assert "play" in ask(client, "game", token=tokens[0])
        assert ask(client, "game", token=tokens[1])["stage"] == "dismissed"
        assert ask(client, "enter", token=tokens[1])["code"] == "S0RRY"
        assert "all the participants" in ask(client, "enter", code="late")["error"]
        assert "play" in ask(client, "game", token=tokens[0])


def test_signed_links(tmp_path: Path) -> None:
    study = written(tmp_path, ONE.replace("least_s = 0", 'links = "signed"\nparticipant = "P"'))
    games = tmp_path / "games"
    made = CliRunner().invoke(command, ["study", "links", str(study), "a", "b", "--folder", str(games)])
    assert made.exit_code == 0, made.output
    found = dict(re.findall(r"\?P=(\w)&key=(\w+)", made.output))
    assert found.keys() == {"a", "b"}
    with serving(study, games) as client:
        assert ask(client, "enter", code="a", key=found["a"])["status"] == 200
        for key in (found["b"], "", None, "é"):
            assert "invited" in ask(client, "enter", code="a", key=key)["error"]


def test_devices_and_parameters_of_the_platform(tmp_path: Path) -> None:
    text = ONE.replace("least_s = 0", 'devices = ["mouse"]\nparameters = ["STUDY_ID", "SESSION_ID"]')
    with serving(written(tmp_path, text), tmp_path / "games") as client:
        assert "another one" in ask(client, "enter", code="phone", touch=True)["error"]
        given = {"STUDY_ID": "s1", "SESSION_ID": "<b>", "other": "x"}
        assert ask(client, "enter", code="desk", touch=False, parameters=given)["status"] == 200
        (came,) = rows(client, db.EVENTS)
        assert json.loads(came["detail"]) == {"condition": "only", "device": "mouse", "STUDY_ID": "s1"}


def test_agents_can_look_like_people(tmp_path: Path) -> None:
    keys = 'partner_name = "Alex"\nexamples = "never"'
    study = written(tmp_path, ONE.replace("least_s = 0", keys))
    with serving(study, tmp_path / "games") as client:
        with joined(client, ask(client, "game", token=to_the_game(client, "P1"))["play"]) as player:
            welcome = player.until("welcome")
        assert welcome["partner"] == "Alex"
        assert set(welcome["agents"].values()) == {None}


@pytest.mark.parametrize(("reader", "builder"), [("grammar", "scripted"), ("model", "scripted-llm")])
def test_a_study_says_what_reads_an_architects_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, builder: str
) -> None:
    keys = f'reader = "{reader}"\npractice = ["one-red"]'
    study = written(tmp_path, ONE.replace("least_s = 0", keys) + 'role = "architect"\n')
    monkeypatch.delenv("IGLU_MARL_LLM_MODEL", raising=False)
    if reader == "model":
        with (
            serving(study, tmp_path / "none") as client,
            pytest.raises(ConfigError, match="IGLU_MARL_LLM_MODEL"),
        ):
            check_agents(client.app.state.options)
    monkeypatch.setenv("IGLU_MARL_LLM_MODEL", "some-model")
    monkeypatch.setenv("IGLU_MARL_LLM_ENDPOINT", "http://127.0.0.1:9/v1")
    with serving(study, tmp_path / "games") as client:
        token = to_the_game(client, "P1")
        for number in range(2):  # practice, and a game
            with joined(client, ask(client, "game", token=token)["play"]) as player:
                assert player.until("welcome")["completes"] == (reader == "grammar")
                player.until("status", state="playing")
                player.send(t="leave")
            if number == 0:
                until_game(client, token, 2)
        assert [game["partner"] for game in rows(client, db.GAMES)] == [builder] * 2
