"""The game as the environment of TRL's GRPO trainer: by itself, and in a run of the real trainer."""

from __future__ import annotations

import importlib.util
import inspect
import json
from typing import Any

import pytest
from llm_server import architect_says, obedient

from iglu_marl import ConfigError, Task
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.text.export import generated_records
from iglu_marl.text.trl import OVER, ArchitectEnvironment, BuilderEnvironment, rows

TOWER = [(2, -1, -3, 6), (2, 0, -3, 1), (-1, -1, 0, 3)]
TASK = Task("", blocks_to_grid(TOWER), task_id="tower")


def right_edits(seen: str) -> list[dict[str, Any]]:
    """What a builder does that reads the newest message in what it sees."""
    order = obedient([{"content": "You are the builder"}, {"content": seen}])
    edits: list[dict[str, Any]] = json.loads(order.partition("```json")[2].strip("` \n"))["edits"]
    return edits


def test_a_game_by_calls_of_tools() -> None:
    environment = BuilderEnvironment(tasks=[TASK])
    seen = environment.reset(seed=1, prompt=[])
    assert environment.get_reward() == 0
    for _ in range(3):
        assert seen != OVER
        seen = environment.build(right_edits(seen))
    assert seen == OVER
    assert environment.get_reward() == pytest.approx(1)
    assert environment.build([]) == OVER
    assert environment.get_reward() == pytest.approx(1)
    assert environment.reset(seed=1) == BuilderEnvironment(tasks=[TASK]).reset(seed=1)
    assert environment.get_reward() == 0


def test_an_architect_by_calls_of_tools() -> None:
    environment = ArchitectEnvironment(tasks=[TASK], show_changes=True)
    seen = environment.reset(seed=1)
    while seen != OVER:
        seen = environment.speak(architect_says(seen))
    assert environment.get_reward() == pytest.approx(1)


def test_two_models_learn_together_each_by_its_own_reward() -> None:
    """The other role is another model's, whose words cost it alone."""
    options: dict[str, Any] = {"tasks": [TASK], "show_changes": True, "word_cost": 0.01}
    builder = BuilderEnvironment(other=lambda chat: architect_says(chat[-1]["content"]), **options)
    seen, words = builder.reset(seed=1), 0
    while seen != OVER:
        seen = builder.build(right_edits(seen))
    assert builder.get_reward() == pytest.approx(1), "its edits are no words"

    def other(chat: list[dict[str, Any]]) -> str:
        assert [part["role"] for part in chat[:2]] == ["system", "user"]
        assert "You are the builder" in chat[0]["content"]
        return json.dumps({"edits": right_edits(chat[-1]["content"]), "say": ""})

    architect = ArchitectEnvironment(other=other, **options)
    seen = architect.reset(seed=1)
    while seen != OVER:
        said = architect_says(seen)
        words += len(said.split())
        seen = architect.speak(said)
    assert architect.get_reward() == pytest.approx(1 - 0.01 * words)
    rules = rows([0], BuilderEnvironment, other=other, **options)[0]["prompt"][0]["content"]
    assert "You are the builder" in rules


def test_tools_return_no_pictures() -> None:
    with pytest.raises(ConfigError, match="expected a text"):
        BuilderEnvironment(view="own")
    with pytest.raises(ConfigError, match="expected a text"):
        next(generated_records([0], view="own"))


@pytest.mark.parametrize(
    ("environment", "tool"), [(BuilderEnvironment, "build"), (ArchitectEnvironment, "speak")]
)
def test_the_trainer_finds_what_it_needs(environment: Any, tool: str) -> None:
    """All public methods but two are tools, and each has to say what its arguments are."""
    public = [
        name for name, _ in inspect.getmembers(environment, inspect.isfunction) if not name.startswith("_")
    ]
    assert sorted(public) == sorted(["reset", "get_reward", tool])
    found = rows(range(3), environment)
    assert [row["seed"] for row in found] == [0, 1, 2]
    rules = found[0]["prompt"][0]["content"]
    assert f'calls of the tool "{tool}"' in rules
    assert not any(text in rules for text in ("JSON object and nothing else", "write only", "message alone"))
    own = rows([0], environment, tasks=[TASK], max_edits=7)[0]["prompt"][0]["content"]
    assert ("At most 7 edits" in own) == (tool == "build")
    if importlib.util.find_spec("transformers"):
        from transformers.utils import get_json_schema

        schema = get_json_schema(getattr(environment(), tool))["function"]
        assert schema["name"] == tool
        assert all(part["description"] for part in schema["parameters"]["properties"].values())
