"""The benchmark of language models as people run it, with Inspect AI: commands, logs, marks, and what is checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from llm_server import LLMServer, Misbehaviour, llm_server
from requirements import require

from iglu_marl import Task, evaluate
from iglu_marl.agents import LLMBuilder
from iglu_marl.agents.llm import ChatRequest, LLMSettings
from iglu_marl.agents.llm.endpoint import EndpointBackend
from iglu_marl.agents.llm.messages import Message
from iglu_marl.agents.llm.prompting import quoted
from iglu_marl.benchmark.model_players import PLAYERS
from iglu_marl.benchmark.models import find_level, outcome
from iglu_marl.text.game import edits_of, order_text

LEVEL, GAMES = "clarification", 4


@pytest.fixture(scope="module", autouse=True)
def _inspect() -> None:
    require("inspect", find_spec("inspect_ai"), "Inspect AI is not installed")


# Inspect finds tasks by the name of the installed package, not of one on the path.
INSTALLED = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `iglu-marl llm WORDS` in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "iglu_marl", "llm", *words],
        cwd=folder,
        env={**INSTALLED, "COLUMNS": "400"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def replies_of(level: str, games: int) -> tuple[dict[str, str], list[float]]:
    """Replies by prompt, and scores: every other game is played right."""
    chosen, replies, scores = find_level(level), {}, []
    for number in range(games):
        game, chat = chosen.start(number)
        while chat:
            reply = PLAYERS["oracle" if number % 2 == 0 else "silent"](game, chat)
            replies[Message.of_chat(chat[-1]).text] = reply
            chat = game.step(reply)[0]
        scores.append(outcome(chosen, number, 0, game).score)
    return replies, scores


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder with a log of a model behind a server, also as JSON, and the requests that the server got."""
    from inspect_ai.log import read_eval_log, write_eval_log

    folder = tmp_path_factory.mktemp("runs")
    replies, _ = replies_of(LEVEL, GAMES)
    with llm_server(lambda messages: replies[messages[-1]["content"]]) as server:
        model = f"some-model@{server.url}"
        words = ("--level", LEVEL, "--games", str(GAMES), "--price", "1,2", "-o", "logs")
        done = command(folder, "benchmark", model, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "50.0" in done.stdout
        assert "$0.0" in done.stdout
        (path,) = (folder / "logs").iterdir()
        write_eval_log(read_eval_log(str(path), resolve_attachments=True), str(folder / "log.json"))
        return folder, server.seen


def results(folder: Path) -> list[Any]:
    from iglu_marl.benchmark.model_report import read_results

    return read_results([folder])


def test_a_server_gives_the_same_scores_as_the_games_themselves(logs: Any) -> None:
    folder, seen = logs
    (result,) = results(folder / "logs")
    assert [row.score for row in result.rows.values()] == replies_of(LEVEL, GAMES)[1] == [1, 0, 1, 0]
    assert result.marks == [f"games={GAMES}", f"{GAMES} of 100 games"]
    assert result.verify() == []
    assert result.tokens > 1000
    assert result.cost is not None
    assert {(one["temperature"], one["max_tokens"]) for one in seen} == {(0.0, 8192)}


def test_inspect_evaluate_and_text_games_give_the_same_scores(tmp_path: Path) -> None:
    """Of one model on the same tasks, whose prompts differ: it does every other request."""
    level, replies = find_level("requests"), {}
    rounds = [level.game(number).rounds[0] for number in range(GAMES)]
    for number, one in enumerate(rounds):
        edits = edits_of(one.start, one.target) if number % 2 == 0 else []
        replies[quoted(one.text)] = order_text(edits)

    def answer(messages: list[dict[str, Any]]) -> str:
        return next(reply for text, reply in replies.items() if text in messages[-1]["content"])

    with llm_server(answer) as server:
        settings = LLMSettings("some-model", server.url, cache="off")
        own, backend = [], EndpointBackend(settings)
        for number in range(GAMES):
            game, chat = level.start(number)
            while chat:
                (reply,) = backend.complete([ChatRequest(tuple(map(Message.of_chat, chat)))])
                chat = game.step(reply.text)[0]
            own.append(outcome(level, number, 0, game).score)
        backend.close()
        tasks = [Task(f"<Architect> {one.text}", one.target, starting_grid=one.start) for one in rounds]
        builder = partial(LLMBuilder.for_env, settings=settings)
        config = {"max_message_length": 1000, "max_steps": 500}
        games = evaluate("replay", {"llm": builder}, tasks, controls="flying", config=config, progress=False)
        words = ("--level", level.name, "--games", str(GAMES), "-o", "logs")
        assert command(tmp_path, "benchmark", f"some-model@{server.url}", *words).returncode == 0
    (result,) = results(tmp_path / "logs")
    assert [row.score for row in result.rows.values()] == own == [1, 0, 1, 0]
    assert [row["completed"] for row in games.rows] == [True, False, True, False]


def _duplicate(log: dict[str, Any]) -> None:
    log["samples"][1] = log["samples"][0]


def _raise_score(log: dict[str, Any]) -> None:
    log["samples"][1]["metadata"]["outcome"].update(score=1.0, success=True)


def _change_reply(log: dict[str, Any]) -> None:
    log["samples"][0]["messages"][2]["content"] = '{"edits": []}'


def _change_prompt(log: dict[str, Any]) -> None:
    log["samples"][0]["messages"][0]["content"] += " The solution is known."


def _drop_game(log: dict[str, Any]) -> None:
    del log["samples"][2]


def _other_tasks(log: dict[str, Any]) -> None:
    log["eval"]["metadata"]["digest"] = "0" * 12


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_duplicate, "each once"),
        (_raise_score, "game 1 has another outcome"),
        (_change_reply, "game 0 has another outcome"),
        (_change_prompt, "game 0 has another outcome"),
        (_drop_game, "each once"),
        (_other_tasks, "the tasks are others"),
    ],
)
def test_changed_logs_do_not_verify(
    logs: Any, tmp_path: Path, change: Callable[[Any], None], problem: str
) -> None:
    path = logs[0] / "log.json"
    content = json.loads(path.read_text())
    change(content)
    (tmp_path / path.name).write_text(json.dumps(content))
    (result,) = results(tmp_path / path.name)
    assert any(problem in one for one in result.verify())


@pytest.mark.parametrize(
    ("where", "value", "mark"),
    [
        (("plan", "config", "temperature"), 0.7, "temperature=0.7"),
        (("plan", "config", "top_p"), 0.5, "top_p=0.5"),
        (("plan", "config", "max_tokens"), 100, "max_tokens=100"),
        (("plan", "config", "system_message"), "Think.", "system_message=Think."),
        (("eval", "model_generate_config", "seed"), 3, "seed=3"),
        (("eval", "model_args", "stop"), "x", "stop=x"),
        (("eval", "config", "message_limit"), 9, "message_limit=9"),
        (("eval", "config", "epochs"), 2, "epochs=2"),
        (("eval", "task_args", "seed"), 5, "seed=5"),
        (("eval", "task_version"), 1, "version 1"),
        (("eval", "model"), "mockllm/model", "provider mockllm"),
        (("eval", "model"), "iglu_marl/oracle", "no model: oracle"),
        (("plan", "steps"), [], "another solver"),
        (
            ("eval", "model_roles"),
            {"builder": {"model": "iglu_marl/oracle", "config": {"top_k": 1}, "args": {}}},
            "builder: no model: oracle",
        ),
    ],
)
def test_what_is_not_in_the_strict_profile_is_a_mark(
    logs: Any, tmp_path: Path, where: tuple[str, ...], value: Any, mark: str
) -> None:
    path = logs[0] / "log.json"
    content = json.loads(path.read_text())
    place = content
    for name in where[:-1]:
        place = place[name]
    place[where[-1]] = value
    (tmp_path / path.name).write_text(json.dumps(content))
    (result,) = results(tmp_path / path.name)
    assert mark in result.marks


def test_two_roles_get_the_same_sampling_and_a_partner_without_a_model_is_a_mark(tmp_path: Path) -> None:
    with llm_server(lambda messages: "Build it.") as server:
        words = ("--level", "pair", "--games", "1", "--partner", "silent", "-o", "logs")
        done = command(tmp_path, "benchmark", f"m@{server.url}", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        assert {(one["temperature"], one["max_tokens"]) for one in server.seen} == {(0.0, 8192)}
    assert "builder: no model: silent" in done.stdout
    assert "openai-api/iglu/m + iglu_marl/silent" in done.stdout


def test_players_without_a_model_and_the_report(tmp_path: Path) -> None:
    words = ("--level", "requests", "--level", "architect", "--games", "2", "-o", "logs")
    done = command(tmp_path, "benchmark", "oracle", "copy", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    report = command(tmp_path, "report", "--verify", "logs")
    assert (report.returncode, report.stdout) == (0, done.stdout)
    assert "| `iglu_marl/copy` | max_tokens=8192, temperature=0.0 | 2 of 9 | 0.0 " in report.stdout
    assert "no model: copy" in report.stdout


@pytest.mark.parametrize(
    "fault",
    [
        Misbehaviour(401, body=b'{"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}'),
        Misbehaviour(
            400,
            body=b'{"error": {"message": "This model\'s maximum context length is 1024 tokens", "type": '
            b'"BadRequestError", "code": "context_length_exceeded"}}',
        ),
        Misbehaviour(400, body=b'{"error": {"message": "\'max_tokens\' is too large: 8192.", "code": 400}}'),
    ],
    ids=["key", "context", "limit"],
)
def test_a_server_that_refuses_gives_no_row_of_zeros(fault: Misbehaviour, tmp_path: Path) -> None:
    def run(server: LLMServer) -> subprocess.CompletedProcess[str]:
        server.always = fault
        words = ("--level", "viewpoint", "--games", "2", "-o", "logs")
        return command(tmp_path, "benchmark", f"m@{server.url}", *words)

    with llm_server() as server:
        done = run(server)
    assert done.returncode == 1, done.stdout
    assert "inspect eval-retry" in done.stdout
    assert "| 0.0 (" not in done.stdout


def test_without_inspect_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "inspect_ai.py").write_text("raise ImportError(name='inspect_ai')")
    code = "from iglu_marl.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "llm", "benchmark", "oracle"],
        env={**INSTALLED, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "[inspect]" in done.stderr


def test_inspect_finds_the_tasks_by_name(tmp_path: Path) -> None:
    words = ["eval", "iglu_marl/requests", "--model", "iglu_marl/copy", "-T", "games=1", "--display", "none"]
    code = "from inspect_ai._cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", f"import iglu_marl.benchmark.inspect_tasks; {code}", *words],
        cwd=tmp_path,
        env=INSTALLED,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "logs").iterdir())
