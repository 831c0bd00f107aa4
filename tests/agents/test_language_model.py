"""Language models fine-tuned on people's edits: a tiny one with random weights, through the real path."""

from __future__ import annotations

import importlib.util
import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from requirements import ROOT, require
from test_learned import small_corpus
from test_llm_local import save_model
from typer.testing import CliRunner

from iglu_marl import DataError, Dialogue, Role, Utterance
from iglu_marl.agents.learned.builder import load_model
from iglu_marl.cli import app
from iglu_marl.core.edits import edited
from iglu_marl.core.grid import COLOR_NAMES, NetAction
from iglu_marl.data.situations import Sample, Situation
from iglu_marl.evaluation.action_prediction import predict_actions

pytestmark = [
    pytest.mark.system,
    pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning"),  # peft reads it
]


@pytest.fixture(scope="module", autouse=True)
def needed() -> None:
    for library in ("torch", "transformers", "peft"):
        require("pretrained", importlib.util.find_spec(library), f"{library} is not installed")
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def base(needed: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("base"))


def sample(color: int, yaw_deg: float = 0.0, filled: bool = False) -> Sample:
    """Someone asks for a block of a colour before the builder, or for its removal."""
    name = COLOR_NAMES[color]
    said = Utterance(Role.ARCHITECT, f"{'remove the' if filled else 'place a'} {name} block")
    ahead = {0.0: (0, -2), 90.0: (2, 0), 180.0: (0, 2), 270.0: (-2, 0)}[yaw_deg]
    action = NetAction(not filled, ahead[0], -1, ahead[1], color)
    grid = np.zeros((9, 11, 11), np.int8)
    if filled:
        grid = edited(grid, [action._replace(place=True)])
    situation = Situation(Dialogue([said]), grid, pose=(0.0, 0.0, 0.0, yaw_deg, 0.0))
    return Sample(f"{name}-{yaw_deg}", name, situation, edited(grid, [action]), (action,))


SAMPLES = [
    sample(color, yaw, filled)
    for color in (1, 6)
    for yaw in (0.0, 90.0, 180.0, 270.0)
    for filled in (False, True)
]


def test_a_frame_is_the_builders() -> None:
    from iglu_marl.agents.learned.language import edit_line, frame, prompt

    lines = {edit_line(one.actions[0], frame(one.situation)) for one in SAMPLES if one.actions[0].place}
    assert lines == {"+blue 0 1 -2\n", "+red 0 1 -2\n"}, "the same edit in each direction of view"
    shown = prompt(SAMPLES[1].situation, 1)
    assert shown == "World:\n+blue 0 1 -2\nDone:\n*Architect: remove the blue block\nEdits:\n"


def test_the_page_shows_a_prompt() -> None:
    from iglu_marl.agents.learned.language import edit_line, prompt

    page = (ROOT / "docs" / "action_prediction.md").read_text("utf-8").partition("\n## A language model\n")[2]
    said = ("a blue one in front of you", "a red one on top of it")
    dialogue = Dialogue([Utterance(Role.ARCHITECT, text) for text in said])
    done = NetAction(True, 0, -1, -2, 1)
    grid = edited(np.zeros((9, 11, 11), np.int8), [done, NetAction(True, 3, -1, 0, 3)])
    situation = Situation(dialogue, grid, 1, (0.0, 0.0, 0.0, 0.0, 0.0), ((done,),))
    text = prompt(situation, 2) + edit_line(NetAction(True, 0, 0, -2, 6), 0)
    assert f"```text\n{text}```" in page


def test_long_dialogues_lose_their_oldest_utterances(base: Path) -> None:
    from transformers import AutoTokenizer

    from iglu_marl.agents.learned.language import Writer

    said = [Utterance(Role.ARCHITECT, f"message number {number}") for number in range(40)]
    situation = Situation(Dialogue(said), np.zeros((9, 11, 11), np.int8), new_from=39)
    writer = Writer(AutoTokenizer.from_pretrained(base), 200)
    text = writer.tokenizer.decode(writer.prompt(situation))
    assert len(writer.prompt(situation)) <= 200
    assert text.startswith("World:")
    assert text.endswith("*Architect: message number 39\nEdits:\n")
    assert "message number 38" in text
    assert "message number 1\n" not in text


def test_a_model_learns_and_writes_only_what_the_world_allows(base: Path, tmp_path: Path) -> None:
    from iglu_marl.agents.learned.language import LanguageConfig, LanguageModel, train_language

    config = LanguageConfig(base=str(base), epochs=20, batch_size=8, learning_rate=0.02, device="cpu")
    rows: list[dict[str, float]] = []
    model = train_language(SAMPLES, SAMPLES, tmp_path / "tuned", config, on_step=rows.append)
    before, after = model.notes["held_out_loss"]["before"], model.notes["held_out_loss"]["after"]
    assert after < before / 2
    assert rows[-1]["step"] == model.notes["steps"] == 40
    for one in SAMPLES[:4]:
        grid = one.situation.grid
        for action in model(one.situation):
            assert action.place == (grid[action.y + 1, action.x + 5, action.z + 5] == 0)
            grid = edited(grid, [action])

    loaded = LanguageModel.load(tmp_path / "tuned")
    assert loaded.fingerprint == model.fingerprint
    assert loaded(SAMPLES[0].situation) == model(SAMPLES[0].situation)
    played = load_model(tmp_path / "tuned")
    assert isinstance(played, LanguageModel), "a learned builder plays it"
    assert predict_actions(loaded, SAMPLES[:6], name="tuned").interval().value > 0.2


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    from iglu_marl.agents.learned.language import LanguageModel

    for content in ("{", '{"format": "another", "version": 1}', "[]"):
        (tmp_path / "language.json").write_text(content)
        with pytest.raises(DataError, match="no language model of this version"):
            LanguageModel.load(tmp_path)


def test_train_and_predict_from_the_command_line(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    pack, tuned = str(small_corpus(tmp_path / "pack")), str(tmp_path / "tuned")
    train = ["llm", "--base", str(base), "--data", pack, "--output", tuned, "--device", "cpu"]
    trainer = runpy.run_path(str(ROOT / "examples" / "train_predictors.py"))["app"]
    done = CliRunner().invoke(trainer, [*train, "--held-out", "2", "--batch-size", "32", "--json"])
    assert done.exit_code == 0, done.output
    notes = json.loads(done.stdout)
    assert notes["steps"] == 2
    assert notes["held_out_loss"]["after"] != notes["held_out_loss"]["before"]
    predict = ["predict", "--data", pack, "--trained", tuned, "--count", "2", "--json"]
    done = CliRunner().invoke(app, [*predict, "--output", str(tmp_path / "predictions")])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["model-tuned"]["samples"] == 2
