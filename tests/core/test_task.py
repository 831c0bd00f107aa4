"""Task and Subtasks: validation, texts, worlds, sampling, ids; all as values."""

# ruff: noqa: S301 - only what was pickled a moment ago is read

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import TaskError
from iglu_marl.core.grid import ZONE_SHAPE, blocks_to_grid, color_id, to_iglu2022_ids
from iglu_marl.core.task import Subtasks, Task

grids = hnp.arrays(np.int8, ZONE_SHAPE, elements=st.integers(0, 6), fill=st.just(0))
ONE = blocks_to_grid([(0, -1, 0, 1)])
TWO = blocks_to_grid([(0, -1, 0, 1), (0, 0, 0, 2)])
THREE = blocks_to_grid([(0, -1, 0, 1), (0, 0, 0, 2), (0, 1, 0, 6)])


# -- grids


@settings(max_examples=25)
@given(grids, st.sampled_from([np.int8, np.int64, np.float32, np.float64, np.uint8]))
def test_grids_are_copied_read_only_int8(grid, dtype):
    given_grid = grid.astype(dtype)
    task = Task("", given_grid, starting_grid=given_grid, full_grid=given_grid)
    for held in (task.target_grid, task.starting_grid, task.full_grid, task.start_grid):
        assert held.dtype == np.int8
        assert np.array_equal(held, grid)
        assert not held.flags.writeable
        assert not np.shares_memory(held, given_grid)


@pytest.mark.parametrize("blocks", [[(0, -1, 0, 1)], np.array([[0, -1, 0, 1]]), ((0.0, -1.0, 0.0, 1.0),)])
def test_starting_blocks_make_a_dense_start(blocks):
    task = Task("", TWO, starting_grid=blocks)
    assert np.array_equal(task.starting_grid, ONE)
    assert np.array_equal(task.start_grid, ONE)


def test_no_start_is_an_empty_world():
    task = Task("", ONE)
    assert task.starting_grid.shape == ZONE_SHAPE
    assert not task.starting_grid.any()
    assert not task.starting_grid.flags.writeable
    assert task == Task("", ONE, starting_grid=[]) == pickle.loads(pickle.dumps(task))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"target_grid": np.zeros((11, 9, 11))}, r"target_grid has shape \(11, 9, 11\)"),
        ({"target_grid": None}, "target_grid"),
        ({"starting_grid": [[1], [1, 2]]}, "starting_grid"),
        ({"full_grid": np.zeros((2, 2))}, "full_grid"),
        ({"dialog": 12}, "^dialog: .*12.*; task 'C7'$"),
        ({"dialog": None}, "^dialog: "),
        ({"instruction": 3.5}, "^instruction: .*; task 'C7'$"),
        ({"invariant": "yes"}, "invariant is 'yes'"),
        ({"ids": "iglu2021"}, "ids is 'iglu2021'"),
    ],
)
def test_bad_input_names_the_value_and_the_task(arguments, named):
    arguments = {"dialog": "", "target_grid": ONE, **arguments}
    with pytest.raises(TaskError, match=named) as caught:
        Task(**arguments, task_id="C7")
    assert str(caught.value).endswith("; task 'C7'")
    with pytest.raises(TaskError) as without:
        Task(**arguments)
    assert str(without.value) == str(caught.value).removesuffix("; task 'C7'")


# -- texts


GREETED = "<Architect> Hello\n<Builder> Hi"
STACK = "Please, build a stack of three blue blocks somewhere."
ASKED = "<Architect> Add a row\n<Builder> Which colour?\n<Architect> Red"
TWO_SAID = "<Architect> a\n<Builder> b"


@pytest.mark.parametrize(
    ("said", "given_instruction", "dialog", "before", "instruction"),
    [
        (f"{GREETED}\n<Architect> A tower", "", f"{GREETED}\n<Architect> A tower", GREETED, "A tower"),
        # a closing remark of the builder is none
        (f"<Architect> {STACK}\n<Builder> Sure.", "", f"<Architect> {STACK}\n<Builder> Sure.", "", STACK),
        ("", "", "", "", ""),
        # question and answer belong to it
        (f"{GREETED}\n{ASKED}", ASKED, f"{GREETED}\n{ASKED}", GREETED, ASKED),
        # one that the dialog lacks is appended
        (GREETED, "A tower", f"{GREETED}\n<Architect> A tower", GREETED, "A tower"),
        ("", "Build it", "<Architect> Build it", "", "Build it"),
        # at the end of a text without tags
        ("Hello.\nA tower", "A tower", "Hello.\nA tower", "<Architect> Hello.", "A tower"),
        # dialogs as values
        (Dialogue.parse(TWO_SAID), "", TWO_SAID, "", "a"),
        (["a", "<Builder> b"], "", TWO_SAID, "", "a"),
        ((Utterance(Role.ARCHITECT, "a"), Utterance(Role.BUILDER, "b")), "", TWO_SAID, "", "a"),
    ],
)
def test_the_instruction_is_the_last_utterance_of_the_architect_or_the_given_one(
    said, given_instruction, dialog, before, instruction
):
    task = Task(said, ONE, **({"instruction": given_instruction} if given_instruction else {}))
    assert task.dialog == task.chat == dialog
    assert task.previous_dialog == before
    assert task.instruction == task.last_instruction == instruction
    assert task.dialogue == Dialogue.parse(dialog)


def test_texts_can_be_written_to_a_file():
    for task in (Task("a \ud800", ONE), Task("a", ONE, instruction="\udfff b"), Task(["a \ud800"], ONE)):
        for text in (task.dialog, task.instruction, task.previous_dialog, task.dialogue.text):
            assert text.encode("utf-8").decode("utf-8") == text
    assert Task("a \ud800", ONE).instruction == "a \ufffd"
    assert Task("a", ONE, instruction="\udfff b").dialog == "a\n<Architect> \ufffd b"


utterances = st.builds(
    Utterance,
    st.sampled_from(Role),
    st.text(st.sampled_from("ab <>\nArchitect"), min_size=1).filter(str.strip),
)


@given(st.lists(utterances, max_size=4), st.lists(utterances, min_size=1, max_size=3))
def test_dialog_is_previous_dialog_and_instruction(before, now):
    """However the current instruction is made up, what was said before it and it itself give the whole."""
    task = Task(Dialogue([*before, *now]), ONE, Dialogue(now))
    assert task.previous_dialogue + Dialogue(now) == task.dialogue
    assert task.dialogue == Dialogue([*before, *now])


# -- questions about the task


def test_invariance_follows_the_start_unless_said():
    assert Task("", ONE).is_invariant
    assert Task("", ONE, starting_grid=np.zeros(ZONE_SHAPE)).is_invariant
    assert not Task("", TWO, starting_grid=ONE).is_invariant
    assert Task("", TWO, starting_grid=ONE, invariant=True).is_invariant
    assert not Task("", ONE, invariant=False).is_invariant
    assert Task("", ONE).invariant is None


def test_complete_at_start_means_no_change_is_asked():
    assert Task("", ONE, starting_grid=ONE).is_complete_at_start
    assert Task("", np.zeros(ZONE_SHAPE)).is_complete_at_start
    assert not Task("", ONE).is_complete_at_start
    recolored = blocks_to_grid([(0, -1, 0, 2)])
    assert not Task("", recolored, starting_grid=ONE).is_complete_at_start


@settings(max_examples=25)
@given(grids, grids)
def test_id_tables_translate_every_grid_by_colour_name(target, start):
    task = Task("<Architect> hi", target, starting_grid=start, full_grid=target, ids="iglu")
    there = task.in_ids("iglu2022")
    assert there.ids == "iglu2022"
    assert np.array_equal(there.target_grid, to_iglu2022_ids(target))
    assert np.array_equal(there.starting_grid, to_iglu2022_ids(start))
    assert np.array_equal(there.full_grid, to_iglu2022_ids(target))
    assert there.in_ids("iglu") == task
    assert there.in_ids("iglu2022") is there


def test_tasks_without_ids_are_read_in_any_ids():
    task = Task("", blocks_to_grid([(0, -1, 0, color_id("red"))]))
    assert task.ids is None
    assert task.in_ids("iglu2022") is task
    with pytest.raises(TaskError, match="peer"):
        task.in_ids("peer")


# -- a value


def test_tasks_are_frozen():
    task = Task("", ONE)
    with pytest.raises(AttributeError, match="frozen"):
        task.target_grid = TWO
    with pytest.raises(AttributeError, match="frozen"):
        del task.invariant
    with pytest.raises(AttributeError):
        task.new_attribute = 1
    with pytest.raises(ValueError, match="read-only"):
        task.target_grid[0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        task.start_grid[0, 0, 0] = 1


def test_equality_and_hash_are_by_content():
    arguments = {
        "dialog": "<Architect> a",
        "target_grid": TWO,
        "starting_grid": ONE,
        "task_id": "x",
        "ids": "iglu",
    }
    task = Task(**arguments)
    assert task == Task(**arguments)
    assert hash(task) == hash(Task(**arguments))
    others = {
        "dialog": "<Architect> b",
        "target_grid": THREE,
        "starting_grid": None,
        "task_id": "y",
        "ids": None,
    }
    for name, value in {**others, "full_grid": TWO, "invariant": False}.items():
        assert task != task.replace(**{name: value}), name
    assert task != "task"


def test_replace_keeps_the_rest_and_refuses_unknown_names():
    asked = "<Architect> a\n<Builder> b\n<Architect> c"
    task = Task(asked, ONE, asked, task_id="x", ids="iglu")
    changed = task.replace(invariant=False)
    assert changed.invariant is False
    assert changed.replace(invariant=None) == task
    assert changed.previous_dialog == ""
    assert task.replace(dialog="<Architect> d").instruction == "d"
    with pytest.raises(TaskError, match="colour"):
        task.replace(colour=3)


def test_pickled_tasks_are_equal_and_still_read_only():
    task = Task("<Architect> a", TWO, starting_grid=ONE, full_grid=THREE, task_id="x")
    twin = pickle.loads(pickle.dumps(task))
    assert twin == task
    assert hash(twin) == hash(task)
    for grid in (twin.target_grid, twin.starting_grid, twin.full_grid):
        assert not grid.flags.writeable
    assert copy.deepcopy(task) is task
    assert copy.copy(task) is task


# -- sessions


def session(**options):
    dialog = [
        "<Architect> Place a blue block.",
        [
            "<Builder> Done.",
            "<Architect> Put another on it.",
            "<Builder> Which colour?",
            "<Architect> Yellow.",
        ],
        "Top it with red.",
    ]
    return Subtasks(dialog, [ONE, [(0, -1, 0, 1), (0, 0, 0, 2)], THREE.astype(float)], **options)


def test_turns_are_consecutive_worlds_and_all_that_was_said():
    turns = list(session(task_id="c1", ids="iglu"))
    assert len(turns) == len(session()) == 3
    assert not turns[0].starting_grid.any()
    assert [np.count_nonzero(turn.start_grid) for turn in turns] == [0, 1, 2]
    assert [turn.target_size for turn in turns] == [1, 2, 3]
    for before, after in pairwise(turns):
        assert np.array_equal(after.start_grid, before.target_grid)
        assert after.dialog.startswith(before.dialog)
    assert all(np.array_equal(turn.full_grid, THREE) for turn in turns)
    assert all(turn.task_id == "c1" and turn.ids == "iglu" for turn in turns)


def test_an_instruction_begins_and_ends_with_the_architect():
    turn = ["<Builder> ready?", "<Architect> a red one", "<Builder> done"]
    task = Subtasks(["before", turn], [ONE, TWO])[1]
    assert task.instruction == "a red one"
    assert task.previous_dialog == "<Architect> before\n<Builder> ready?"
    assert task.dialog == "\n".join(["<Architect> before", *turn])


def test_an_instruction_is_one_utterance_or_instruction_question_answer():
    first, second, third = session()
    assert first.instruction == "Place a blue block."
    assert second.instruction == (
        "<Architect> Put another on it.\n<Builder> Which colour?\n<Architect> Yellow."
    )
    assert second.previous_dialog == "<Architect> Place a blue block.\n<Builder> Done."
    assert third.instruction == "Top it with red."
    assert third.previous_dialog == second.dialog


def test_indexing():
    it = session()
    assert it[-1] == it[2]
    assert it[0] is it[0]
    assert it[1:] == [it[1], it[2]]
    with pytest.raises(IndexError):
        it[3]


def test_several_turns_as_one_task():
    whole = session().create_task(2, start=0)
    assert not whole.starting_grid.any()
    assert whole.target_size == 3
    assert whole.previous_dialog == ""
    assert whole.instruction.count("<Architect>") == 4
    with pytest.raises(IndexError, match="after"):
        session().create_task(0, start=1)


def test_sampling_reaches_every_turn_and_follows_the_generator():
    it = session()
    drawn = [it.sample(np.random.default_rng(seed)) for seed in range(40)]
    assert set(drawn) == set(it)
    assert [it.sample(np.random.default_rng(seed)) for seed in range(40)] == drawn


def test_overriding_sample_changes_reset():
    class Last(Subtasks):
        def sample(self, rng=None):
            return self.create_task(len(self) - 1)

    assert Last(["a", "b"], [ONE, TWO]).reset().target_size == 2


def test_progressive_tasks_know_what_comes_next():
    it = session(progressive=True)
    task, seen = it[0], []
    while task is not None:
        seen.append(task)
        task = task.next_task
    assert seen == list(it)
    assert session()[0].next_task is None


def test_progress_survives_translation_and_pickling():
    first = session(progressive=True, ids="iglu")[0]
    assert first.in_ids("iglu2022").next_task == first.next_task.in_ids("iglu2022")
    twin = pickle.loads(pickle.dumps(first))
    assert twin == first
    assert twin.next_task == first.next_task
    assert not twin.next_task.target_grid.flags.writeable


def test_sessions_are_values():
    it = session(task_id="c1")
    assert it == session(task_id="c1")
    assert it != session()
    for twin in (pickle.loads(pickle.dumps(it)), copy.deepcopy(it)):
        assert twin == it
        assert hash(twin) == hash(it)
        assert not any(world.flags.writeable for world in (*twin.structures, twin.full_grid))
    assert "3 turns" in repr(it)


def test_a_starting_world_of_the_session():
    it = Subtasks(["a"], [TWO], starting_grid=[(0, -1, 0, 1)])
    assert np.array_equal(it[0].starting_grid, ONE)
    assert not it[0].is_invariant


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Subtasks([], []), "0 turns"),
        (lambda: Subtasks(["a"], [ONE, TWO]), "1 turns of dialog and 2 structures"),
        (lambda: Subtasks("a", [ONE]), "one text"),
        (lambda: Subtasks([None], [ONE], task_id="c9"), "^turn 0: .*; task 'c9'$"),
        (lambda: Subtasks(["a"], [np.zeros(3)], task_id="c9"), r"structure_seq\[0\].*'c9'"),
        (lambda: Subtasks(["a"], [ONE], starting_grid=[(9, 9, 9, 1)]), "outside"),
        (lambda: Subtasks(["a"], [ONE], ids="mdc"), "ids is 'mdc'"),
    ],
)
def test_bad_sessions_are_refused(make, named):
    with pytest.raises(TaskError, match=named):
        make()
