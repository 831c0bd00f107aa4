"""The Minecraft Dialogue Corpus: counts and items of the shared pack, timelines, actions, tasks, and dirty packs."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_packs import first_hit

from iglu_marl import DataError, Role, Task, to_iglu2022_ids
from iglu_marl.core.grid import (
    COLOR_NAMES,
    ZONE_SHAPE,
    BlockGrid,
    canonical,
    color_at,
    grid_to_blocks,
    in_zone,
)
from iglu_marl.data import CDMDataset, Corpus, action_sequences
from iglu_marl.data.mdc.corpus import HUMAN_EYE_HEIGHT, CorpusSkip
from iglu_marl.data.mdc.dataset import without_top_layer
from iglu_marl.tasks import TaskSet
from iglu_marl.tasks.bundled import silent_builder_tasks

STATS = "mdc"  # key of stats.json


def statistics(corpus: Corpus) -> dict[str, Any]:
    """Return the figures of stats.json."""
    sessions = list(corpus.sessions.values())
    noted = corpus.report().counts
    said = [utterance for session in sessions for utterance in session.dialogue]
    start = "Mission has started."
    texts = [[utterance.text for utterance in session.dialogue] for session in sessions]
    starts = [own.index(start) for own in texts if start in own]
    edits = [(old, new) for session in sessions for old, new in session.edits[:, 4:].tolist()]
    finals = [session.final_grid for session in sessions]
    pairs = [(session.final_grid, session.gold) for session in sessions if session.gold is not None]
    return {
        "sessions": len(sessions),
        "sessions_by_split": dict(Counter(session.split or "none" for session in sessions)),
        "structures": len(corpus.structures),
        "groups": len({session.group for session in sessions}),
        "gold_configurations": len(corpus.gold),
        "world_states": sum(len(session) for session in sessions),
        "utterances": {
            "all_including_start_message": len(said),
            "Architect": sum(u.role is Role.ARCHITECT for u in said),
            "Builder_including_start_message": sum(u.role is Role.BUILDER for u in said),
            "start_messages": sum(place == 0 for place in starts),
            "start_messages_not_first": sum(place > 0 for place in starts),
        },
        "null_fields_in_world_states": {
            "BuilderPosition": noted.get("no_pose", 0),
            "BuilderInventory": noted.get("no_inventory", 0),
            "ScreenshotPath": noted.get("no_picture", 0),
        },
        "edits_between_consecutive_states": {
            "put": sum(not old for old, _ in edits),
            "remove": sum(not new for _, new in edits),
            "recolour": sum(bool(old and new) for old, new in edits),
        },
        "states_with_blocks_outside_11x11": noted.get("outside_zone", 0),
        "final_worlds": {
            "keep_all_9_layers": _blocks(finals),
            "upstream_rule_drops_Y9": _blocks([without_top_layer(grid) for grid in finals]),
            "final_blocks_outside_11x11": sum(len(session.outside()) for session in sessions),
            "final_blocks_in_top_layer_Y9": int(sum(np.count_nonzero(grid[8]) for grid in finals)),
            "equal_to_gold_up_to_shift_and_quarter_turns": sum(
                canonical(final) == canonical(gold) for final, gold in pairs
            ),
            "equal_to_gold_at_same_place": sum(np.array_equal(final, gold) for final, gold in pairs),
        },
        "gold_blocks": _blocks(corpus.gold.values()),
        "action_sequences": dict(
            Counter(session.split or "none" for session in sessions for _ in action_sequences(session))
        ),
    }


def _blocks(grids: Iterable[BlockGrid]) -> dict[str, Any]:
    counts = sum((np.bincount(grid.ravel(), minlength=7) for grid in grids), np.zeros(7, np.int64))
    by_color = {COLOR_NAMES[color]: int(counts[color]) for color in range(1, 7)}
    return {"by_colour": by_color, "total": sum(by_color.values())}


@pytest.fixture
def pack(shared: Path) -> Path:
    return shared / "data" / "mdc.zip"


@pytest.fixture
def corpus(pack: Path) -> Corpus:
    return Corpus.open(pack)


def blocks_2022(grid: Any) -> list[list[int]]:
    return [list(block) for block in grid_to_blocks(to_iglu2022_ids(grid))]


# -- the shared pack


def flat(value: Any, place: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {place: value}
    return {key: leaf for name, part in value.items() for key, leaf in flat(part, f"{place}/{name}").items()}


@pytest.mark.slow
def test_every_count_of_the_shared_pack(corpus: Corpus, stats: dict[str, Any]) -> None:
    kept = {key: value for key, value in stats.items() if key not in ("items", "upstream_rules")}
    edits = kept.pop(
        "edits_between_consecutive_states"
    )  # which count the recorder's dropouts as edits: see below
    assert edits == {"put": 16147, "remove": 6553, "recolour": 2}
    expected = flat(kept)
    found = flat(statistics(corpus))
    assert {key: found.get(key) for key in expected} == expected
    assert len(expected) > 25


def is_dropout(state: dict[str, Any]) -> bool:
    """Nothing was recorded: no position, no inventory, no block."""
    return not any(state[name] for name in ("BuilderPosition", "BuilderInventory", "BlocksInGrid"))


def edits_of(states: list[dict[str, Any]]) -> Counter[str]:
    """How many cells change from state to state, and how, by the files alone."""
    counts: Counter[str] = Counter()
    before: dict[tuple[int, ...], str] = {}
    for state in states:
        now = {tuple(b["AbsoluteCoordinates"].values()): b["Type"] for b in state["BlocksInGrid"]}
        counts["put"] += len(now.keys() - before.keys())
        counts["remove"] += len(before.keys() - now.keys())
        counts["recolour"] += sum(before.get(cell, kind) != kind for cell, kind in now.items())
        before = now
    return counts


@pytest.mark.slow
def test_dropouts_of_the_recorder_are_no_edits(corpus: Corpus, pack: Path, stats: dict[str, Any]) -> None:
    as_written, without, dropouts = Counter[str](), Counter[str](), []
    with zipfile.ZipFile(pack) as archive:
        for member in archive.namelist():
            if member.endswith("postprocessed-observations.json"):
                states = json.loads(archive.read(member))["WorldStates"]
                dropouts += [(member.split("/")[-2], n) for n, s in enumerate(states) if is_dropout(s)]
                as_written += edits_of(states)
                without += edits_of([state for state in states if not is_dropout(state)])
    assert as_written == stats["edits_between_consecutive_states"]
    assert without == statistics(corpus)["edits_between_consecutive_states"]
    assert without == {"put": 15351, "remove": 5757, "recolour": 2}
    noted = [(s.name, s.number) for s in corpus.report().skipped if s.reason is CorpusSkip.DROPOUT]
    assert sorted(noted) == sorted(dropouts)
    assert len(dropouts) == 45
    session = corpus.sessions["B1-A3-C2-1522434666266"]
    assert ("B1-A3-C2-1522434666266", 130) in dropouts
    assert np.count_nonzero(session.grids[129]) == np.count_nonzero(session.grids[130]) == 40
    assert not {130, 131} & set(session.edits[:, 0].tolist())


def test_every_item_of_the_shared_pack(corpus: Corpus, pack: Path, stats: dict[str, Any]) -> None:
    whole = CDMDataset(pack, mode="sessions")
    upstream = CDMDataset(pack, upstream_rules=True)
    for item in stats["items"]:
        session = corpus.sessions[item["session"]]
        assert session.structure == item["structure"]
        assert session.split == item["split"]
        assert len(session) == item["world_states"]
        assert len(session.dialogue) == item["utterances"]
        assert len(session.outside()) == item["blocks_outside_11x11_in_final_state"]
        for dataset, key in ((whole, "final_blocks"), (upstream, "final_blocks_upstream_rule")):
            task = dataset.by_id(item["session"])
            assert task.dialog == item["dialog"]
            assert blocks_2022(task.target_grid) == item[key]


def test_upstream_rules(pack: Path, stats: dict[str, Any]) -> None:
    dataset = CDMDataset(pack, upstream_rules=True)
    counts = {"tasks": len(dataset), "structures": len(dataset.tasks), "skipped": len(dataset.left_out)}
    assert counts == stats["upstream_rules"]
    assert all(isinstance(task, Task) and not task.target_grid[8].any() for task in dataset)
    assert isinstance(dataset.tasks["C73"][0], Task)


def test_a_zip_a_folder_and_a_part_of_it_hold_the_same_games(
    corpus: Corpus, pack: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(pack) as archive:
        wanted = [n for n in archive.namelist() if "-C8-" in n or n.endswith(("splits.json", "C8.xml"))]
        archive.extractall(tmp_path / "mdc", wanted)
    for path, structures in ((tmp_path / "mdc", None), (tmp_path, None), (pack, "C8")):
        part = Corpus.open(path, structures=structures)
        assert list(part.structures) == list(part.gold) == ["C8"]
        for name, session in part.sessions.items():
            whole = corpus.sessions[name]
            assert session.dialogue == whole.dialogue
            assert session.split == whole.split
            np.testing.assert_array_equal(session.grids, whole.grids)
            np.testing.assert_array_equal(session.poses(), whole.poses())


# -- timelines


def test_a_timeline_in_full(corpus: Corpus) -> None:
    session = corpus.sessions["B25-A3-C73-1523384830418"]
    assert (session.builder, session.architect, session.structure) == (25, 3, "C73")
    assert session.started_ms == 1523384830418
    assert str(session.timestamps[30]) == "2018-04-10T18:31:25"
    assert session.inventories[30].tolist() == [20, 20, 20, 20, 15, 17]
    blocks = np.count_nonzero(session.grids[30]) + len(session.outside(30))
    assert session.inventories[30].sum() + blocks == 120
    assert session.heard[-1] == len(session.dialogue)
    assert (np.diff(session.times_s) >= 0).all()
    assert session.times_s[0] == 0
    assert not session.grids.flags.writeable
    assert np.isfinite(session.poses()[30]).all()


def test_people_looked_at_what_they_changed(corpus: Corpus) -> None:
    """Pose, gaze, cells and heights fit together: from where a builder stood still, its gaze meets its edit."""
    seen, agreed = 0, 0
    for session in list(corpus.sessions.values())[::12]:
        poses = session.poses(HUMAN_EYE_HEIGHT)
        edits = Counter(session.edits[:, 0].tolist())
        for state, x, y, z, _, new in session.edits.tolist():
            still = state and np.array_equal(poses[state], poses[state - 1])
            if still and edits[state] == 1 and in_zone(x, y, z):
                grid, (yaw, pitch) = session.grids[state - 1], np.radians(poses[state][3:])
                sight = np.sin(yaw) * np.cos(pitch), np.sin(pitch), -np.cos(yaw) * np.cos(pitch)
                hit, before = first_hit(
                    lambda cell, grid=grid: cell[1] < -1 or (in_zone(*cell) and color_at(grid, cell) > 0),
                    poses[state][:3] + 0.5,
                    sight,
                    8,
                )
                seen, agreed = seen + 1, agreed + ((before if new else hit) == (x, y, z))
    assert seen > 20
    assert agreed >= 0.97 * seen


# -- actions


def test_actions_lead_from_world_to_world(corpus: Corpus) -> None:
    counts: Counter[str | None] = Counter()
    dropped = 0
    for session in corpus.sessions.values():
        world = np.zeros(ZONE_SHAPE, np.int8)
        heard = 0
        for sequence in action_sequences(session):
            counts[session.split] += 1
            np.testing.assert_array_equal(sequence.before, world)
            for action in sequence.actions:
                x, y, z = action.cell
                there = world[y + 1, x + 5, z + 5]
                assert there == (0 if action.place else action.color)
                world[y + 1, x + 5, z + 5] = action.color if action.place else 0
            np.testing.assert_array_equal(sequence.after, world)
            assert len({(a.cell, a.place) for a in sequence.actions}) == len(sequence.actions) > 0
            assert sequence.new_from == heard <= sequence.heard
            heard = sequence.heard
            dropped += sequence.dropped
            assert sequence.dialogue == session.dialogue[:heard]
    # The published counts, by other rules for words and blocks of one moment, are 3,709 and 1,331.
    assert counts == {"train": 3702, "val": 1321}
    assert dropped > 0


def session_of(tmp_path: Path, states: list[dict[str, Any]], name: str = "B1-A2-C7-1522435497386") -> Any:
    write_pack(tmp_path, {name: states})
    return Corpus.open(tmp_path).sessions[name]


def test_net_edits_by_hand(tmp_path: Path) -> None:
    red, blue, green = ("red", 0, 1, 0), ("blue", 1, 1, 0), ("green", 0, 1, 0)
    start = ["<Builder> Mission has started."]
    asked = [*start, "<Architect> a red one"]
    answered = [*asked, "<Builder> so?"]
    states = [
        *(state(start), state(asked), state(asked, red)),
        state(asked, red, blue),  # a slip
        state(answered, red),  # the blue one goes, and at the same moment the next words come
        state(answered, green),
    ]
    first, second = action_sequences(session_of(tmp_path, states))
    assert [tuple(action) for action in first.actions] == [(True, 0, -1, 0, 6)]
    assert (first.first_state, first.last_state, first.heard) == (2, 4, 2)
    assert [tuple(action) for action in second.actions] == [(False, 0, -1, 0, 6), (True, 0, -1, 0, 3)]
    assert second.new_dialogue.text == "<Builder> so?"
    assert second.name.endswith("/1")
    assert second.pose is None


# -- tasks


def test_the_dataset_as_the_documentation_uses_it(pack: Path) -> None:
    dataset = CDMDataset(pack)
    session = dataset.tasks["C73"][0]
    assert len(dataset.tasks) == 114
    assert sum(map(len, dataset.tasks.values())) == 382
    assert len(dataset) == sum(len(s) for listed in dataset.tasks.values() for s in listed) == 5023
    assert sum(1 for _ in dataset) == len(dataset)
    assert dataset.by_id(session.task_id) is session
    assert isinstance(session.sample(), Task)
    assert isinstance(dataset.reset(), Task)
    np.testing.assert_array_equal(session.structures[-1], dataset.corpus.sessions[session.task_id].final_grid)
    with pytest.raises(DataError, match="no id 'C73'"):
        dataset.by_id("C73")


def test_task_sets_read_the_corpus(corpus: Corpus, pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = TaskSet(preset=["C8", "C73"], path=pack)
    assert len(source.tasks["C8"]) == len(corpus.structures["C8"])
    np.testing.assert_array_equal(source["C8"].target_grid, corpus.gold["C8"])
    assert source["C8"].dialogue == corpus.structures["C8"][0].dialogue
    silent = TaskSet(preset=list(corpus.gold), path=pack, dialog=False)
    assert len(silent) == 114
    assert {task.dialog for task in silent} == {""}
    with pytest.raises(DataError, match="C3"):
        TaskSet(preset=["C3"], path=pack)
    assert TaskSet(preset=["C3"], path=pack.parent)["C3"].target_size == 3, "from structures-dev.json"
    monkeypatch.setenv("IGLU_DATA_PATH", str(pack))
    assert silent_builder_tasks().preset == ["C8"]  # type: ignore[attr-defined]
    drawn = {source.sample(np.random.default_rng(seed)).task_id.split("-")[2] for seed in range(20)}
    assert drawn == {"C8", "C73"}


# -- packs made for these tests


def state(chat: list[str] | Any, *blocks: tuple[str, int, int, int], **changes: Any) -> dict[str, Any]:
    return {
        "Timestamp": "2018-03-30 18:35:07",
        "ChatHistory": chat,
        "BlocksInGrid": [
            {"AbsoluteCoordinates": {"X": x, "Y": y, "Z": z}, "Type": f"cwc_minecraft_{color}_rn"}
            for color, x, y, z in blocks
        ],
        "BuilderPosition": None,
        "BuilderInventory": [],
        "ScreenshotPath": None,
        **changes,
    }


def write_pack(folder: Path, sessions: dict[str, Any], gold: dict[str, str] | None = None) -> Path:
    logs = folder / "data" / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / "splits.json").write_text('{"train": ["C7"], "val": [], "test": []}')
    for name, states in sessions.items():
        place = logs / "data-3-30" / "logs" / name
        place.mkdir(parents=True)
        content = states if isinstance(states, str) else json.dumps({"WorldStates": states})
        (place / "postprocessed-observations.json").write_text(content)
    for name, text in (gold or {}).items():
        place = folder / "data" / "gold-configurations"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.xml").write_text(text)
    return folder


GOOD = "B1-A2-C7-1"


RED = ("red", 0, 1, 0)
NOTHING = {"BuilderInventory": None}
HUGE = [{"Type": "cwc_minecraft_red_rn", "Quantity": 10**30}]
FAR = {"X": 10**400, "Y": 1, "Z": 1, "Yaw": 0, "Pitch": 0}


def dirty_states() -> Iterator[tuple[str, Any, list[tuple[int, int, int, int]]]]:
    """A fault, states that have it, and the blocks that are left at the end."""
    kept = [(0, -1, 0, 6)]
    yield "outside_zone", [state([], RED, ("red", 6, 1, 0))], kept
    yield "outside_zone", [state([], RED, ("red", 0, 10, 0))], kept
    yield "bad_block", [state([], RED, ("pink", 1, 1, 0))], kept
    yield "bad_block", [state([], RED, ("blue", 0, 1, 0))], kept
    yield "bad_block", [state([], RED, ("blue", 0.5, 1, 0))], kept  # type: ignore[arg-type]
    yield "bad_block", [state([], BlocksInGrid=["?", {"Type": "cwc_minecraft_red_rn"}])], []
    yield "bad_state", [state([], RED), state([], BlocksInGrid=None), "?"], kept
    yield "bad_state", [state([], RED), state("hello")], kept
    yield "dropout", [state([], RED), state([], **NOTHING), state([], **NOTHING)], kept
    yield "dropout", [state([], **NOTHING), state([], RED), state([], **NOTHING), state([])], []
    yield "changed_chat", [state(["<Architect> a"], RED), state(["<Architect> b"], RED)], kept
    yield "bad_utterance", [state(["no speaker", 7], RED)], kept
    yield "no_time", [state([], RED, Timestamp="yesterday")], kept
    yield "no_inventory", [state([], RED, BuilderInventory=[{"Type": "cwc_minecraft_red_rn"}])], kept
    yield "no_inventory", [state([], RED, BuilderInventory=HUGE)], kept
    yield "no_pose", [state([], RED, BuilderPosition=FAR)], kept
    yield "no_pose", [state([], RED, BuilderPosition={**FAR, "X": "NaN"})], kept


@pytest.mark.parametrize(("reason", "states", "blocks"), list(dirty_states()))
def test_dirty_states_are_counted(reason: str, states: Any, blocks: Any, tmp_path: Path) -> None:
    corpus = Corpus.open(write_pack(tmp_path, {GOOD: states}))
    session = corpus.sessions[GOOD]
    assert corpus.report().counts[reason] >= 1
    assert grid_to_blocks(session.final_grid) == blocks
    assert len(session.dialogue) == session.heard[-1]
    statistics(corpus)


@pytest.mark.parametrize("content", ["{", '{"WorldStates": []}', '{"WorldStates": [1]}'])
def test_broken_sessions_are_counted(content: str, tmp_path: Path) -> None:
    good = [state(["<Architect> a"], ("red", 0, 1, 0))]
    sessions = {"B0-A2-C7-1": good, "B1-A2-C7-2": content, "B3-A2-C9-3": good, "what-is-this": good}
    corpus = Corpus.open(write_pack(tmp_path, sessions))
    assert list(corpus.sessions) == ["B0-A2-C7-1", "B3-A2-C9-3"]
    counts = corpus.report().counts
    assert (counts["bad_session"], counts["bad_name"], counts["no_split"]) == (1, 1, 1)
    assert grid_to_blocks(corpus.sessions["B3-A2-C9-3"].final_grid) == [(0, -1, 0, 6)]
    assert corpus.sessions["B3-A2-C9-3"].split is None
    for report in (corpus.report(), Corpus.open(tmp_path, structures="C7").report()):
        assert [e.name for e in report.skipped if e.reason is CorpusSkip.BAD_SESSION] == ["B1-A2-C7-2"]


def test_gold_structures(tmp_path: Path) -> None:
    red = '<DrawBlock type="cwcmod:cwc_minecraft_red_rn" x="100" y="1" z="95"/>'
    blue = '<DrawBlock type="cwcmod:cwc_blue_rn" x="105" y="9" z="105" />'
    wrong = ["<Draw/>", red, red.replace("red", "pink"), red.replace("95", "94"), red.replace("95", "a")]
    gold = {"C7": f"\ufeff{red}{blue}", "C9": red + "".join(wrong), "C11": "nothing"}
    corpus = Corpus.open(write_pack(tmp_path, {GOOD: [state([], RED)]}, gold))
    assert list(corpus.gold) == ["C7", "C9"]
    assert grid_to_blocks(corpus.gold["C7"]) == [(0, -1, -5, 6), (5, 7, 5, 1)]
    assert grid_to_blocks(corpus.gold["C9"]) == [(0, -1, -5, 6)]
    assert corpus.report().counts["bad_gold"] == 5
