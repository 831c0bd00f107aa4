"""The quick check of a language model, against servers that know the answers, or nothing."""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from llm_server import Misbehaviour, llm_server

from iglu_marl import ServiceRefusedError
from iglu_marl.agents.llm import LLMSettings
from iglu_marl.cli import main
from iglu_marl.text import check
from iglu_marl.text.game import edits_of, order_text

COUNT = 8  # two of them without a colour
_TEXT = re.compile(r'"text": ("(?:[^"\\]|\\.)*")')


class Oracle:
    """Builds what is meant, and asks about colours; the first `wrong` requests get the reply `odd`."""

    def __init__(self, wrong: int = 0, odd: str = "place red at 5 5 9") -> None:
        self.rounds = list(check._requests(COUNT, 0))
        self.wrong, self.odd = wrong, odd

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        said = [json.loads(text) for text in _TEXT.findall(messages[1]["content"])]
        number, asked = next(
            (number, one)
            for number, one in enumerate(self.rounds)
            if (one.text or one.before[-1].text) in said[-3:]
        )
        if number < self.wrong:
            return self.odd
        if asked.ask == "needed" and said[-1] != asked.answer:
            return "say Which colour?"
        return order_text(edits_of(asked.start, asked.target))


def settings_for(address: str) -> LLMSettings:
    return LLMSettings("m", address, cache="off", retries=0, max_edits=1089)


def test_the_requests_are_the_same_each_time_and_some_lack_a_colour() -> None:
    first, again = (list(check._requests(COUNT, 0)) for _ in range(2))
    assert [one.target.tolist() for one in first] == [one.target.tolist() for one in again]
    lacking = [one for one in first if one.ask == "needed"]
    assert len(lacking) == 2
    for one in lacking:
        assert one.text.startswith("Place a block on the ground")
        assert re.fullmatch("It is [a-z]+[.]", one.answer)


@pytest.mark.parametrize(
    ("oracle", "shares", "advice"),
    [
        (Oracle(), [0.75, 0.25, 0, 0, 0], "good enough as a builder"),
        (Oracle(4, "Hm."), [0.375, 0.125, 0, 0, 0.5], "use it as a reader"),
        (Oracle(4), [0.375, 0.125, 0.5, 0, 0], "do not use it"),
    ],
)
def test_a_builder_is_advised_by_what_it_builds(oracle: Oracle, shares: list[float], advice: str) -> None:
    with llm_server(oracle) as server:
        checked = check.check_model(settings_for(server.url), count=COUNT)
    assert list(checked.shares["the model"].values()) == shares
    assert checked.shares["the grammar"]["asked"] == 0.25
    assert all(sum(row.values()) == 1 for row in checked.shares.values())
    assert advice in checked.advice
    reader = checked.shares["as a reader"]
    assert reader["unread"] == 0
    assert reader["right"] >= shares[0]
    assert checked.stats.requests == COUNT + COUNT * (shares[1] + 3 * shares[4])


def test_an_architect_is_advised_by_who_reads_it() -> None:
    with llm_server(lambda messages: "Place a red block on the ground, at the centre.") as server:
        checked = check.check_model(settings_for(server.url), "architect", 2)
    assert checked.shares["the model"] == {"messages read": 1, "structures completed": 0}
    assert "do not use it" in checked.advice
    assert "for every builder" in check.advise_architect(0.8, 0.5)
    assert "reads everything" in check.advise_architect(0.79, 0.9)


def test_the_service_may_spoil_requests_or_all() -> None:
    with llm_server(Oracle()) as server:
        server.plan = [Misbehaviour(), Misbehaviour(500)]
        assert check.check_model(settings_for(server.url), count=2).failed == 1
        server.always = Misbehaviour(401)
        with pytest.raises(ServiceRefusedError, match="key refused"):
            check.check_model(settings_for(server.url), count=2)


@pytest.mark.parametrize("role", ["builder", "architect"])
def test_the_command(
    role: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("IGLU_MARL_LLM_CACHE", str(tmp_path))
    with llm_server(lambda messages: "say Hm?") as server:
        server.rule = lambda body, *_: (
            Misbehaviour(400, body=b'{"error": {"message": "temperature"}}')
            if "temperature" in body
            else None
        )
        line = f"iglu-marl llm check m --count 2 --role {role} --llm-endpoint {server.url}"
        outputs = []
        for more in ("", " --json"):
            monkeypatch.setattr(sys, "argv", (line + more).split())
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code
            outputs.append(capsys.readouterr().out)
    assert "Advice:" in outputs[0]
    assert "Left out, since the server rejects it: temperature" in outputs[0]
    report = json.loads(outputs[1])
    assert report["stats"]["left_out"]["temperature"] == report["stats"]["requests"] > 0


def test_a_server_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    monkeypatch.setattr(sys, "argv", f"iglu-marl llm check m --llm-endpoint {address}".split())
    with pytest.raises(SystemExit, match="2"):
        main()
    assert f"no server answers at {address}" in " ".join(capsys.readouterr().err.split())
