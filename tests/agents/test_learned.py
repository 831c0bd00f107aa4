"""The trained builder: its frame, words and symmetries, decoding, training, resuming, saving, and a game."""

from __future__ import annotations

import csv
import importlib.util
import json
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_packs import cache as cache
from made_packs import mdc_state
from probing import weighed
from requirements import ROOT, require
from talkers import Speaker
from typer.testing import CliRunner

import iglu_marl
from iglu_marl import ConfigError, DataError, Dialogue, Role, Task
from iglu_marl.agents import LearnedBuilder, agents_for
from iglu_marl.agents.learned.examples import (
    NEVER,
    batch_of,
    example_of,
    examples_of,
    shifted,
    training_batch,
)
from iglu_marl.agents.learned.frames import cell_number
from iglu_marl.agents.learned.hybrid import Hybrid
from iglu_marl.agents.learned.text import (
    Vocabulary,
)
from iglu_marl.agents.registry import named
from iglu_marl.cli import app
from iglu_marl.commands.predict import samples_of
from iglu_marl.core.grid import NetAction, blocks_to_grid, cells_of
from iglu_marl.data.mdc.corpus import Corpus
from iglu_marl.data.situations import Sample, Situation
from iglu_marl.evaluation.action_prediction import nothing, predict_actions
from iglu_marl.evaluation.prediction_samples import corpus_parts

pytestmark = pytest.mark.system

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    from iglu_marl.agents.learned import decoding
    from iglu_marl.agents.learned import model as networks
    from iglu_marl.agents.learned.checkpoint import TrainedModel
SEES = ("dialog", "inventory", "pose", "grid")
NAMES = ("", "blue", "yellow", "green", "orange", "purple", "red")


@pytest.fixture(scope="module")
def torch() -> Any:
    require("torch", HAS_TORCH, "PyTorch is not installed (the extra `rl`)")
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(threads)


PLACES = {
    "on top of it": (0, 1, 0),
    "to the left": (-1, 0, 0),
    "to the right": (1, 0, 0),
    "behind it": (0, 0, -1),
}


def lessons(count: int, seed: int, *, removals: bool = True) -> list[Sample]:
    """Samples of a little language: one block stands somewhere, another goes beside it or it goes away."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        turn = int(rng.integers(4))
        x, z = (int(value) for value in rng.integers(-3, 4, 2))
        old, color = (int(value) for value in rng.integers(1, 7, 2))
        words, (dx, dy, dz) = list(PLACES.items())[int(rng.integers(len(PLACES)))]
        for _ in range(turn):  # left of a builder that has turned: the inverse of `turned`
            dx, dz = -dz, dx
        if removals and number % 4 == 0:
            text, action = f"remove the {NAMES[old]} block", NetAction(False, x, -1, z, old)
        else:
            text = f"put a {NAMES[color]} block {words}"
            action = NetAction(True, x + dx, -1 + dy, z + dz, color)
        before = blocks_to_grid([(x, -1, z, old)])
        after = before.copy()
        after[action.y + 1, action.x + 5, action.z + 5] = action.color if action.place else 0
        situation = Situation(
            Dialogue.of(f"<Architect> {text}"),
            before,
            pose=(0.0, 0.25, 0.0, 90.0 * turn, -20.0),
            history=((NetAction(True, x, -1, z, old),),),
        )
        found.append(Sample(f"s{number}/0", f"s{number}", situation, after, (action,)))
    return found


# --------------------------------------------------------------------------------------------- frames and words


# ------------------------------------------------------------------------------------------------- the symmetries


def rich_situation(turn: int = 0, colors: tuple[int, ...] = tuple(range(7))) -> Situation:
    """A world with a past; turned by quarter turns (clockwise, with its builder), in other colours."""

    def at(x: int, z: int) -> tuple[int, int]:
        for _ in range(turn):
            x, z = -z, x
        return x, z

    blocks = [(1, -1, 2, 3), (1, 0, 2, 6), (-2, -1, 0, 6), (0, -1, -4, 1)]
    past = [[(True, 1, -1, 2, 3), (True, 1, 0, 2, 6)], [(False, 4, -1, 4, 2), (True, -2, -1, 0, 6)]]
    sides = ["north", "east", "south", "west"]
    x, z = at(2, 3)
    text = f"a {NAMES[colors[3]]} block {sides[(1 + turn) % 4]} of the {NAMES[colors[6]]} one, left of it"
    return Situation(
        Dialogue.of(f"<Architect> hello\n<Builder> {NAMES[colors[1]]}?\n<Architect> {text}"),
        blocks_to_grid([(*_level(at(x, z), y), colors[color]) for x, y, z, color in blocks]),
        1,
        (float(x), 0.25, float(z), 20.0 + 90.0 * turn, -10.0),
        tuple(
            tuple(NetAction(place, *_level(at(x, z), y), colors[color]) for place, x, y, z, color in part)
            for part in past
        ),
    )


def _level(place: tuple[int, int], y: int) -> tuple[int, int, int]:
    return place[0], y, place[1]


def fresh_model(torch: Any, words: int = 40, **sizes: int) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        small = {"embedding": 12, "hidden": 8, "text": 16, "mention": 6, "channels": 8, "blocks": 2, **sizes}
        model = networks.EditModel(networks.ModelConfig(words, **small)).eval()
        for part in model.parameters():  # away from the biases that make everything improbable
            torch.nn.init.normal_(part, 0.0, 0.3)
    return model


def looked_at(model: Any, *situations: Situation) -> Any:
    vocabulary = Vocabulary(["a", "block", "of", "the", "one", "it", "hello", "?"])
    return decoding.marginals(model, [example_of(situation, vocabulary) for situation in situations])


def test_a_turned_world_is_answered_with_turned_actions(torch: Any) -> None:
    model = fresh_model(torch)
    straight = looked_at(model, rich_situation())[0].reshape(9, 11, 11, 7)
    for turn in (1, 2, 3):
        found = looked_at(model, rich_situation(turn))[0].reshape(9, 11, 11, 7)
        # grids are [y, x, z]: a quarter turn clockwise takes x to z
        assert np.allclose(found, np.rot90(straight, turn, (1, 2)), atol=1e-5), turn
    other = looked_at(model, replace(rich_situation(), pose=(2.0, 0.25, 3.0, 200.0, -10.0)))[0]
    assert not np.allclose(other.reshape(9, 11, 11, 7), straight, atol=1e-3)


def test_other_colors_are_answered_in_other_colors(torch: Any) -> None:
    model = fresh_model(torch)
    order = (0, 4, 2, 6, 5, 1, 3)
    straight, other = looked_at(model, rich_situation(), rich_situation(0, order))
    assert np.allclose(straight[:, 0], other[:, 0], atol=1e-5)
    for color in range(1, 7):
        assert np.allclose(straight[:, color], other[:, order[color]], atol=1e-5)
    assert not np.allclose(straight[:, 1], straight[:, 3], atol=1e-3)


def test_a_prefix_is_done() -> None:
    actions = [NetAction(False, 1, 0, 2, 6), NetAction(True, 1, 0, 2, 1), NetAction(True, 3, -1, 3, 2)]
    example = example_of(rich_situation(), Vocabulary([]), actions)
    top, far, late = cell_number(1, 0, 2), cell_number(3, -1, 3), cell_number(-2, -1, 0)
    assert (example.since[late], example.since[top], example.since[far]) == (0, 2, NEVER)
    assert example.latest.sum() == 2
    batch = batch_of([example, example], [np.arange(0), np.arange(2)], [0, 0])
    assert (batch.grid[:, top].tolist(), batch.done[:, top].tolist()) == ([6, 1], [0, 1])
    assert batch.since[:, late].tolist() == [0, 2]
    assert batch.since[1, top] == 0
    assert np.flatnonzero(batch.remove[0]).tolist() == [top]
    assert np.flatnonzero(batch.place[0]).tolist() == sorted((top, far))
    assert not batch.remove[1].any()
    assert (np.flatnonzero(batch.place[1]).tolist(), batch.progress.tolist()) == ([far], [0, 2])
    assert example.grid[top] == 6, "the example itself has not changed"

    rng = np.random.default_rng(0)
    moved = [shifted(example, rng) for _ in range(40)]
    assert any(one is not example for one in moved)
    for one in moved:
        step = int(one.actions[0, 0] - example.actions[0, 0])
        assert np.array_equal(one.actions[:, 0], example.actions[:, 0] + step)
        assert one.grid[one.actions[0, 0]] == 6
        assert (one.since < NEVER).sum() == (example.since < NEVER).sum()


# ------------------------------------------------------------------------------------------------------- decoding


def test_decoding_by_hand(torch: Any) -> None:
    example = example_of(rich_situation(), Vocabulary([]))
    block, free, other = cell_number(1, -1, 2), cell_number(2, -1, 2), cell_number(-2, -1, 0)
    chances = np.zeros((1089, 7), np.float32)
    chances[free, [2, 5]] = 0.3, 0.6
    chances[block, [0, 4]] = 0.5, 0.4
    chances[other, 2] = 0.9  # something stands there, and is not taken away
    chances[cell_number(5, 7, 5), 0] = 1.0  # nothing stands there
    rows = decoding.chosen(chances, example.grid, 0.35)
    assert sorted(rows.tolist()) == sorted([[block, 0, 3], [block, 1, 4], [free, 1, 5]])
    assert decoding.chosen(chances, example.grid, 0.7).tolist() == []
    assert decoding.as_actions(rows)[0] == NetAction(False, 1, -1, 2, 3)


# ------------------------------------------------------------------------------------------------------- training


TRAINER = "train_edits"  # of the examples
SIZES: dict[str, Any] = {
    "embedding": 16, "hidden": 12, "text": 32, "mention": 8, "channels": 12, "blocks": 1, "dropout": 0.0
}  # fmt: skip


def same(one: Any, other: Any) -> bool:
    return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)


def test_it_learns_a_little_language(torch: Any, tmp_path: Path) -> None:
    train = runpy.run_path(str(ROOT / "examples" / f"{TRAINER}.py"))["train"]
    options: dict[str, Any] = {"batch_size": 16, "learning_rate": 1e-2, **SIZES}
    held_out, unseen = lessons(12, 2), lessons(24, 3)
    model = train(lessons(96, 1), held_out, tmp_path, epochs=12, **options)
    with (tmp_path / "curve.csv").open(newline="") as file:
        curve = list(csv.DictReader(file))
    assert len(curve) == 12
    for name in ("place_loss", "color_loss"):
        assert float(curve[-1][name]) < 0.5 * float(curve[0][name])
    assert model.notes["held_out_f1"] == pytest.approx(max(float(row["f1"]) for row in curve), abs=1e-5)
    assert predict_actions(model, unseen).interval().value > 0.35
    assert predict_actions(nothing, unseen).interval().value == 0.0
    at_once = model.predict([one.situation for one in unseen])
    assert at_once == [model(one.situation) for one in unseen]
    again = [train(lessons(32, 1), held_out, tmp_path / name, epochs=2, **options) for name in ("a", "b")]
    assert same(again[0].model.state_dict(), again[1].model.state_dict()), "the seed decides"
    with pytest.raises(DataError, match="nothing to learn"):
        train([], held_out, tmp_path)


def fresh(torch: Any, folder: Path, *words: str) -> Any:
    """A saved model, untrained."""
    vocabulary = Vocabulary(words)
    model = TrainedModel(fresh_model(torch, len(vocabulary)), vocabulary, 0.3)
    model.save(folder)
    return model


def test_a_model_is_the_same_after_loading(torch: Any, tmp_path: Path) -> None:
    model = fresh(torch, tmp_path, "block", "put", "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "weights.npz"]
    again = TrainedModel.load(tmp_path)
    assert same(model.model.state_dict(), again.model.state_dict())
    assert again.vocabulary.words == model.vocabulary.words
    situations = [one.situation for one in lessons(5, 1)]
    assert again.predict(situations) == model.predict(situations)
    assert again.fingerprint == model.fingerprint
    again.threshold = 0.5
    assert again.fingerprint != model.fingerprint


def test_damaged_models_are_refused(torch: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no model"):
        TrainedModel.load(tmp_path)
    fresh(torch, tmp_path)
    whole = (tmp_path / "weights.npz").read_bytes()
    other = tmp_path / "other"
    fresh(torch, other, "more", "words")
    for content in (whole[: len(whole) // 2], b"", (other / "weights.npz").read_bytes()):
        (tmp_path / "weights.npz").write_bytes(content)
        with pytest.raises(DataError, match="no model"):
            TrainedModel.load(tmp_path)


# --------------------------------------------------------------------------------------------------------- a game


def obedient(situation: Situation) -> Any:
    """A predictor without a model: "red 1 0 -1 2" is placed, "off 0 -1 2" is taken away."""
    words = situation.dialogue[-1].text.split()
    made = []
    for name, *cell in (words[first : first + 4] for first in range(0, len(words), 4)):
        x, y, z = map(int, cell)
        color = int(situation.grid[y + 1, x + 5, z + 5]) if name == "off" else NAMES.index(name)
        made.append(NetAction(name != "off", x, y, z, color))
    return made


@pytest.mark.parametrize("controls", ["walking", "flying"])
@pytest.mark.parametrize("ask", [False, True])
def test_it_builds_what_it_predicts(controls: str, ask: bool) -> None:
    target = blocks_to_grid([(0, -1, -2, 6), (1, -1, -2, 3), (0, 0, -2, 2)])
    options = {"turn_steps": 400, "max_steps": 2000, "max_turns": 12}
    env = iglu_marl.env(controls=controls, builder_can_ask=ask, builder_sees=SEES, **options)
    seen: list[Situation] = []

    def predictor(situation: Situation) -> Any:
        seen.append(situation)
        return obedient(situation)

    architect = Speaker("red 0 -1 -2 blue 1 -1 -2", "off 1 -1 -2", "green 1 -1 -2 yellow 0 0 -2")
    builder = LearnedBuilder.for_env(env, model=predictor)
    task = Task("", target, invariant=False)
    game = iglu_marl.play(env, {"architect": architect, "builder": builder}, seed=0, options={"task": task})
    assert game.completed
    assert [one.new_from for one in seen] == [0, 1, 2]
    assert [len(one.dialogue) for one in seen] == [1, 2, 3]
    assert seen[2].history == (
        (NetAction(True, 0, -1, -2, 6), NetAction(True, 1, -1, -2, 1)),
        (NetAction(False, 1, -1, -2, 1),),
    )
    assert seen[0].pose is not None


def test_it_does_what_can_be_done(torch: Any) -> None:
    """One of the predicted edits is impossible: a 21st red block."""
    options = {"turn_steps": 2000, "max_turns": 1, "max_steps": 2000, "max_message_length": 500}
    env = iglu_marl.env(controls="flying", builder_sees=SEES, **options)
    row = [(x, -1, z, 6) for x in range(-5, 5) for z in (-3, 3)]
    texts = " ".join(f"red {x} {y} {z}" for x, y, z, _ in row) + " red 0 -1 0 blue 0 -1 1"
    builder = LearnedBuilder.for_env(env, model=obedient)
    task = Task("", blocks_to_grid([(5, 7, 5, 1)]))
    agents = {"architect": Speaker(texts), "builder": builder}
    game = iglu_marl.play(env, agents, seed=0, options={"task": task})
    assert game.grid is not None
    assert np.array_equal(game.grid, blocks_to_grid([*row, (0, -1, 1, 1)]))


def told(*lines: str) -> Situation:
    return Situation(
        Dialogue.of("\n".join(lines)), blocks_to_grid([(0, -1, 0, 6)]), pose=(0, 0.25, 4, 0, -20)
    )


def test_the_grammar_goes_first() -> None:
    guess = [NetAction(True, 3, -1, 3, 2)]
    first = Hybrid(lambda situation: guess)
    read = first(told("<Architect> hello", "<Architect> put a blue block on top of the red block"))
    assert np.array_equal(read, blocks_to_grid([(0, -1, 0, 6), (0, 0, 0, 1)]))
    also = first(
        told("<Architect> put a block on top of the red block", "<Builder> What colour?", "<Architect> blue")
    )
    assert np.array_equal(also, read), "an answer completes what was asked"
    chained = first(told("<Architect> put a blue block on top of the red block", "<Architect> make it green"))
    assert np.array_equal(chained, blocks_to_grid([(0, -1, 0, 6), (0, 0, 0, 3)]))
    for lines in (["<Architect> like a staircase, you know"], ["<Architect> hi!"], ["<Builder> so?"]):
        assert first(told(*lines)) == guess


def test_by_name(torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = iglu_marl.env(controls="flying", builder_sees=SEES, turn_steps=40, max_turns=2)
    monkeypatch.delenv("IGLU_MARL_MODEL", raising=False)
    of_the_zoo = agents_for(env, builder="learned")
    assert iglu_marl.play(env, of_the_zoo, seed=0).builder_steps > 0
    fresh(torch, tmp_path, "block")
    monkeypatch.setenv("IGLU_MARL_MODEL", str(tmp_path))
    own = agents_for(env, builder="learned")
    assert iglu_marl.play(env, own, seed=0).builder_steps > 0


def test_the_grammar_and_the_model_play_by_name(torch: Any) -> None:
    env = iglu_marl.env(controls="flying", builder_sees=SEES, turn_steps=400, max_turns=2)
    task = Task("", blocks_to_grid([(0, -1, 0, 6), (0, 0, 0, 1)]), starting_grid=[(0, -1, 0, 6)])
    builder = named("edits-v1+grammar", Role.BUILDER).for_env(env)
    agents = {"architect": Speaker("put a blue block on top of the red block"), "builder": builder}
    assert iglu_marl.play(env, agents, seed=0, options={"task": task}).completed


def test_without_torch() -> None:
    """The names are there; using them says what to install."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from iglu_marl.agents import LearnedBuilder\n"
        "from iglu_marl.evaluation.action_prediction import Situation\n"
        "LearnedBuilder(lambda situation: [])\n"
        "try: LearnedBuilder('folder')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingExtraError")
    assert "[rl]'" in done.stdout


# -------------------------------------------------------------------------------------------------- the commands


def small_corpus(folder: Path) -> Path:
    """Twenty sessions, each of a structure of its own, in which one block after the other is put on a pile."""
    splits = {"train": [f"C{number}" for number in range(1, 19)], "val": ["C30", "C31"], "test": []}
    logs = folder / "data" / "logs"
    logs.mkdir(parents=True)
    (logs / "splits.json").write_text(json.dumps(splits))
    for number, structure in enumerate([*splits["train"], *splits["val"]]):
        color = NAMES[1 + number % 6]
        said, blocks, states = [f"<Architect> a {color} pile"], list[tuple[str, int, int, int]](), []
        states.append(mdc_state(said[:]))
        for height in range(1, 4):
            blocks.append((color, number % 5, height, 0))
            states.append(mdc_state(said[:], *blocks))
            said.append(f"<Architect> another {color} one on top")
            states.append(mdc_state(said[:], *blocks))
        place = logs / "data-3-30" / "logs" / f"B1-A2-{structure}-{1522435497386 + number}"
        place.mkdir(parents=True)
        (place / "postprocessed-observations.json").write_text(json.dumps({"WorldStates": states}))
    return folder


def test_train_and_predict_from_the_command_line(torch: Any, tmp_path: Path, cache: Path) -> None:
    pack, model = small_corpus(tmp_path / "pack"), tmp_path / "model"
    line = ["--data", str(pack), "--channels", "8", "--epochs", "1", "--members", "2", "-o", str(model)]
    trainer = runpy.run_path(str(ROOT / "examples" / f"{TRAINER}.py"))["app"]
    done = CliRunner().invoke(trainer, line)
    assert done.exit_code == 0, done.output
    assert {path.name for path in model.iterdir()} == {"model.json", "weights.npz", "seed-0", "seed-1"}
    again = CliRunner().invoke(trainer, line)
    assert isinstance(again.exception, ConfigError)
    both, *alone = (TrainedModel.load(model / name) for name in ("", "seed-0", "seed-1"))
    seen = examples_of(corpus_parts(Corpus.open(pack))[1], both.vocabulary)
    mean = np.mean([decoding.marginals(one.model, seen) for one in alone], axis=0)
    assert np.allclose(decoding.marginals(both.model, seen), mean, atol=1e-5)
    weights = (model / "seed-0" / "weights.npz").read_bytes()
    for path in (model / "model.json", model / "seed-1" / "model.json"):
        path.unlink()  # as after an interruption
    assert "seed 0 " not in CliRunner().invoke(trainer, line).output
    assert (model / "seed-0" / "weights.npz").read_bytes() == weights
    assert same(TrainedModel.load(model).model.state_dict(), both.model.state_dict())
    options = ["predict", "--data", str(pack), "--trained", str(model), "--json"]
    done = CliRunner().invoke(app, [*options, "-o", str(tmp_path / "predicted")])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["model-model"]["samples"] == 6
    with pytest.raises(DataError, match="no samples"):
        samples_of("mdc", pack, "test")


def test_no_other_split_is_touched(tmp_path: Path, cache: Path) -> None:
    corpus = Corpus.open(small_corpus(tmp_path / "pack"))
    taught, held_out = corpus_parts(corpus)
    structures = {sample.structure for sample in taught}, {sample.structure for sample in held_out}
    assert all(structures)
    assert structures[0].isdisjoint(structures[1])
    assert structures[0] | structures[1] == {f"C{number}" for number in range(1, 19)}


@pytest.mark.parametrize(
    ("said", "yaw", "history", "sums", "best"),
    [
        ("put a red block on top of the blue tower", 0.0, False, (0.0230, 0.0621, 1.9282), ((0, 1, 0), 6, 0.9346)),
        ("remove the red block", 90.0, True, (1.3105, 0.0002, 0.0004), ((3, -1, -2), 0, 0.9101)),
    ],
)  # fmt: skip
def test_released_weights_answer_as_they_did(
    torch: Any, said: str, yaw: float, history: bool, sums: tuple[float, ...], best: tuple[Any, int, float]
) -> None:

    model = TrainedModel.named("edits-v1")
    blocks = [(0, -1, 0, 1), (0, 0, 0, 1), (3, -1, -2, 6)]
    grid, dialogue = blocks_to_grid(blocks), Dialogue().say(Role.ARCHITECT, said)
    before = (tuple(NetAction(True, *block) for block in blocks[:2]), (NetAction(True, *blocks[2]),))
    situation = Situation(dialogue, grid, 0, (0.0, 0.0, 3.0, yaw, -20.0), before if history else ())
    (found,) = decoding.marginals(model.model, [example_of(situation, model.vocabulary)])
    assert found.sum(0)[[0, 1, 6]] == pytest.approx(sums, abs=2e-3)
    cell, color = np.unravel_index(found.argmax(), found.shape)
    assert (tuple(cells_of(np.ones(grid.shape))[cell].tolist()), int(color)) == best[:2]
    assert found[cell, color] == pytest.approx(best[2], abs=2e-3)
    assert found[grid.ravel() == 0, 0].max() < 1e-9  # nothing is there to be removed


def test_released_weights_score_a_rich_situation_as_they_did(torch: Any) -> None:
    """Weighted sums of logits and losses, as recorded."""

    model = TrainedModel.named("edits-v1")
    actions = [NetAction(True, 3, -1, 3, 2), NetAction(False, 1, 0, 2, 6), NetAction(True, 0, -1, 0, 4)]
    examples = [example_of(rich_situation(turn), model.vocabulary, actions) for turn in (0, 1)]
    batch = networks.tensors(batch_of(examples, [np.array([0]), np.array([], int)], [0, 5]))
    with torch.no_grad():
        scores = model.model.eval()(batch)
        losses = networks.losses(scores, batch)
    assert weighed(*scores) == pytest.approx(-17.2898, abs=0.1)
    assert weighed(losses) == pytest.approx(1.6808, abs=0.01)
    drawn = training_batch(examples * 20, np.random.default_rng(3))
    assert weighed(*vars(drawn).values()) == pytest.approx(16448.699, abs=0.01)
