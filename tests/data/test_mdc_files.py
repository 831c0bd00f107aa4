"""Files of others about the Minecraft corpus: discourse relations (MSDC), and samples of action prediction (BAP)."""

import json

import pytest
from test_mdc import state, write_pack

from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.data import CDMDataset, Corpus, utterance_frame
from iglu_marl.data.mdc.bap_files import read_bap, write_bap
from iglu_marl.data.mdc.discourse import Relation, read_discourse, relations
from iglu_marl.evaluation.action_prediction import bap_samples, oracle, published

SESSION = "B1-A2-C7-1522435497386"
CHAT = [
    "<Builder> Mission has started.",
    "<Architect> Two red blocks, please. Side by side!",
    "<Builder> ok?",
]


@pytest.fixture
def corpus(tmp_path):
    red, other = ("red", 0, 1, 0), ("red", 1, 1, 0)
    pose = {"BuilderPosition": {"X": 1.5, "Y": 1.0, "Z": -2.0, "Yaw": -170.0, "Pitch": 20.0}}
    steps = [
        (CHAT[:1],),
        (CHAT[:2],),
        (CHAT[:2], red),
        (CHAT[:2], red, other),
        (CHAT, red, other),
        (CHAT, red),
    ]
    states = [state(chat, *blocks, **pose) for chat, *blocks in steps]
    return write_pack(tmp_path / "mdc", {SESSION: states})


def _annotated(tmp_path, actions, **changes):
    units = [
        ("Builder", "Mission has started. "),
        ("Architect", "two red blocks,"),
        ("Architect", "please"),
        ("Architect", "side by side"),
        ("Builder", actions),
        ("Builder", "ok?"),
        ("Architect", "words that nobody said"),
    ]
    links = [(1, 2, "Comment"), (1, 3, "Elaboration"), (3, 4, "Result"), (4, 5, "Confirmation_question")]
    content = {
        "id": "C7-B1-A2",
        "edus": [{"speaker": speaker, "text": text} for speaker, text in units],
        "relations": [{"x": x, "y": y, "type": kind} for x, y, kind in links],
    }
    file = tmp_path / "msdc.json"
    file.write_text(json.dumps([{**content, **changes}]))
    return file


@pytest.mark.parametrize("actions", ["1rh1p 1rj1p ", "place red 0 1 0, place red 1 1 0"])
def test_discourse_relations_join_the_utterances(actions, corpus, tmp_path):
    discourse = read_discourse(_annotated(tmp_path, actions))
    (session,) = Corpus.open(corpus).sessions.values()
    expected = [
        Relation("Comment", 1, False, 1, False),
        Relation("Elaboration", 1, False, 1, False),
        Relation("Result", 1, False, 1, True),
        Relation("Confirmation_question", 1, True, 2, False),
    ]
    assert relations(session, discourse) == expected
    frame = utterance_frame(CDMDataset(corpus), discourse=discourse)
    assert frame["relations"].tolist() == [[], expected[:3], expected[3:]]
    assert relations(session, {}) is None
    with pytest.raises(DataError, match="CDMDataset"):
        utterance_frame({}, discourse=discourse)


@pytest.mark.parametrize(
    "changes",
    [{"relations": [{"x": 0, "y": 99, "type": "Comment"}]}, {"edus": 5}, {"relations": [{"x": 0, "y": 1}]}],
)
def test_damaged_annotations_are_refused(changes, tmp_path):
    with pytest.raises(DataError, match=r"msdc\.json"):
        read_discourse(_annotated(tmp_path, "1rh1p", **changes))


def test_bap_samples_are_written_and_read_back(corpus, tmp_path):
    (session,) = Corpus.open(corpus).sessions.values()
    samples = list(bap_samples([session]))
    assert write_bap(tmp_path / "bap.json", samples) == 2
    first, second = json.loads((tmp_path / "bap.json").read_text())
    assert first["prev_utterances"][1] == {
        "speaker": "Architect",
        "utterance": ["Two", "red", "blocks", ",", "please", ".", "Side", "by", "side", "!"],
    }
    place = [{"action_type": "placement", "block": {"x": x, "y": 1, "z": 0, "type": "red"}} for x in (0, 1)]
    remove = {"action_type": "removal", "block": place[1]["block"]}
    assert (first["next_builder_actions"], first["prev_config"]) == (place, [])
    assert (second["builder_action_history"], second["next_builder_actions"]) == (place, [remove])
    assert (first["orig_experiment_id"], first["sample_id"], second["sample_id"]) == (SESSION, 2, 5)
    position = {"x": 1.5, "y": 1.0, "z": -2.0, "yaw": -170.0, "pitch": 20.0}
    assert first["prev_builder_position"] == pytest.approx(position)
    again = read_bap(tmp_path / "bap.json")
    for one, other in zip(samples, again, strict=True):
        assert (one.actions, one.unit, one.structure) == (other.actions, other.unit, other.structure)
        assert grid_to_blocks(one.target) == grid_to_blocks(other.target)
        assert one.situation.pose == pytest.approx(other.situation.pose)
        assert one.situation.new_from == other.situation.new_from
    assert published(tmp_path / "bap.json", again).rows == oracle(again).rows


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"prev_config": [{"x": 9, "y": 1, "z": 0, "type": "red"}]}, "sample 0.*build zone"),
        ({"next_builder_actions": [{"action_type": "move", "block": {}}]}, "sample 0"),
        ({"prev_utterances": 3}, "sample 0"),
    ],
)
def test_damaged_samples_are_refused(change, expected, corpus, tmp_path):
    write_bap(tmp_path / "bap.json", bap_samples(Corpus.open(corpus).sessions.values()))
    rows = json.loads((tmp_path / "bap.json").read_text())
    (tmp_path / "bap.json").write_text(json.dumps([{**rows[0], **change}]))
    with pytest.raises(DataError, match=f"(?s){expected}"):
        read_bap(tmp_path / "bap.json")
