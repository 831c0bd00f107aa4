"""Instructions in plain words: reading inverts saying for every edit and wording, and never guesses."""

import contextlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from talking import edits

from iglu_marl.core.errors import DialogueError, GridError
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.language import (
    Blocks,
    CellEdit,
    Context,
    DialogueAct,
    Failure,
    TemplateCodec,
    outcomes,
    parse,
    parse_small_talk,
    render,
    say,
)
from iglu_marl.language.grammar.dialogue_acts import SmallTalk
from iglu_marl.language.grammar.instructions import MAX_CHARACTERS, MAX_WORDS
from iglu_marl.language.grammar.templates import templates
from iglu_marl.language.meaning.blocks import EditKind, Reason
from iglu_marl.language.meaning.shapes import Kind
from iglu_marl.language.meaning.verbs import Instruction, Replace, Sequence, Swap, expand

CODEC = TemplateCodec()
RED, BLUE = 6, 1
seeds = st.integers(0, 2**32).map(np.random.default_rng)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(edits(), seeds)
def test_reading_inverts_every_wording_also_through_tokens(edit, rng):
    texts = {render(edit), *(render(edit, rng) for _ in range(12))}
    assert len(texts) > 4
    for text in texts:
        assert parse(text) == edit, text
        tokens = CODEC.encode(text)
        assert len(tokens) <= MAX_WORDS == 16
        assert len(text) <= MAX_CHARACTERS == 200
        assert parse(CODEC.decode(tokens)) == edit, CODEC.decode(tokens)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # a number before a full stop is no numbering
        (
            "Remove every plus of 3. Then destroy the last block.",
            ["Remove every plus of 3.", "Remove the last block."],
        ),
        # "it" is what was placed last; only what is told without its verb shares the "it" of what comes before
        (
            "Place a red block north of the blue block. Place a green block south of it.",
            ["Place a red block north of the blue block.", "Place a green block south of it."],
        ),
        (
            "Place a red block north of the blue block and another one south of it.",
            ["Place a red block north of the blue block.", "Place a red block south of the blue block."],
        ),
    ],
)
def test_sentences_after_each_other(text, parts):
    found = parse(text)
    assert isinstance(found, Sequence)
    if "another" in text:
        grid = np.array(blocks_to_grid([(0, -1, 0, BLUE)]), np.int8)
        assert [edit.cell for edit in expand(found, grid)] == [(0, -1, -1), (0, -1, 1)]
    else:
        assert found.parts == tuple(map(parse, parts))


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (
            CellEdit("place", (2, -1, -3), color=RED),
            "Place a red block on the ground, 2 blocks east and 3 north of the centre.",
        ),
        (CellEdit("place", (0, 1, 0), color=4), "Place an orange block at the centre, at height 3."),
        (
            CellEdit("place", (1, 0, 0), color=2),
            "Place a yellow block 1 block east of the centre, at height 2.",
        ),
        (
            CellEdit("remove", (0, -1, 5), old_color=BLUE),
            "Remove the blue block on the ground, 5 blocks south of the centre.",
        ),
        (
            CellEdit("replace", (-1, -1, 0), RED, BLUE),
            "Change the blue block on the ground, 1 block west of the centre, to red.",
        ),
    ],
)
def test_the_preferred_wording(edit, text):
    assert render(edit) == text


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        (
            "Remove the blue block at the centre, on the second level.",
            CellEdit("remove", (0, 0, 0), old_color=BLUE),
        ),
        ("take away the cube in the middle on the floor", CellEdit("remove", (0, -1, 0))),
        (
            "put one red brick three north and two east at height nine",
            CellEdit("place", (2, 7, -3), color=RED),
        ),
        ("SET A RED BLOCK ON THE 3RD LAYER AT THE CENTER", CellEdit("place", (0, 1, 0), color=RED)),
        (
            "recolor the block at the centre on the ground to blue",
            CellEdit("replace", (0, -1, 0), color=BLUE),
        ),
        ("1. Place a red block at the centre, on level 2.", CellEdit("place", (0, 0, 0), color=RED)),
    ],
)
def test_other_ways_to_say_it(text, edit):
    assert parse(text) == edit


@pytest.mark.parametrize(
    ("text", "reason", "detail"),
    [
        ("", Reason.EMPTY, ""),
        ("Build a castle", Reason.UNKNOWN_WORD, "castle"),
        ("Place a pink block on the ground at the centre", Reason.UNKNOWN_WORD, "pink"),
        ("Place a red block -4 blocks east of the centre", Reason.UNKNOWN_WORD, "minus"),
        ("place a red block 6 east on the ground", Reason.OUTSIDE, "(6, -1, 0)"),
        ("place a red block at the centre at height 10", Reason.OUTSIDE, "(0, 8, 0)"),
        (f"place a red block {'9' * 5000} east on the ground", Reason.OUTSIDE, ""),
        ("place a red blue block at the centre on the ground", Reason.NOT_UNDERSTOOD, ""),
        ("place a red block at the centre on the ground to blue", Reason.NOT_UNDERSTOOD, "to blue"),
    ],
)
def test_what_is_no_instruction_fails_with_the_reason(text, reason, detail):
    failure = parse(text)
    assert isinstance(failure, Failure)
    assert not failure
    assert failure.reason is reason, failure
    assert failure.text == text
    if detail:
        assert failure.detail == detail
        assert detail in str(failure)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Paint the row blue instead of red", Replace(Blocks((RED,), Kind.ROW), BLUE)),
        ("Change the color of the block from red to blue", Replace(Blocks((RED,)), BLUE)),
        ("Swap the colors of the two towers", Swap(Blocks(kind=Kind.TOWER, count=2), None, True)),
    ],
)
def test_what_is_said_besides_is_not_dropped(text, what):
    assert parse(text) == what


def test_a_number_of_blocks_is_checked():
    grid = np.zeros((9, 11, 11), np.int8)
    for text, count in (("Build a red 3 by 3 square of {} red blocks in the middle.", 9),):
        assert not isinstance(outcomes(parse(text.format(count)), grid), Failure), text
        found = outcomes(parse(text.format(count + 1)), grid)
        assert isinstance(found, Failure)
        assert found.reason is Reason.NO_NUMBER


def test_a_middle_that_is_left_empty_is_no_remark():
    for told in ("Leave the middle empty.", "The middle is empty."):
        found = parse(f"Build a red 3 by 3 square in the middle. {told}")
        assert found.new.hollow


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("place a red block 2 east of the centre", (2, 0, 0)),
        ("change the blue block 2 east of the centre to red", (2, -1, 0)),
        # what does not fit together finds no place
        ("place a red block on the ground at height 2 at the centre", Reason.NO_MATCH),
        ("place a red block at the centre on the ground 2 east", Reason.NO_MATCH),
    ],
)
def test_a_place_without_a_height_is_the_ground_or_on_top_of_what_stands(text, cell):
    grid = np.array(blocks_to_grid([(2, -1, 0, BLUE)]), np.int8)
    found = expand(parse(text), grid)
    if isinstance(cell, Reason):
        assert found.reason is cell
    else:
        assert [edit.cell for edit in found] == [cell]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([*CODEC.words, "castle", "<unk>", ","]), max_size=20).map(" ".join)
    | st.tuples(
        st.sampled_from(["remove the block ", "put a red block ", "", "remov the blok "]),
        st.lists(
            st.sampled_from(
                ["left of the block", "the top of", "and", "on it", "blu", "next to", "in a row"]
            ),
            min_size=1,
            max_size=3,
        ),
        st.integers(1, 60),
    ).map(lambda parts: (parts[0] + f"{' '.join(parts[1])} " * parts[2])[:2000])
)
@example("remove the block " + "left of the block " * 45)  # beyond Python's stack
@example("remove the " + "bloc blok blokc " * 30)  # a reading for each way to spell it
def test_any_words_give_an_instruction_or_a_failure_and_never_anything_else(text):
    result = parse(text)
    assert isinstance(result, (Instruction, Failure))
    if isinstance(result, Instruction):
        with contextlib.suppress(DialogueError):  # people say more than there are words for
            assert parse(render(result, max_words=99, max_characters=999)) == result


@pytest.mark.parametrize("numeral", ["²", "②", "½", "Ⅷ", "٣", "３"])
@pytest.mark.parametrize(
    "text",
    [
        "remove the block {}",
        "place a red block {} blocks east of the centre, on the ground",
        "build a red row of {} east from the centre, on the ground",
    ],
)
def test_numbers_are_words_or_the_digits_0_to_9(text, numeral):
    failure = parse(text.format(numeral))
    assert isinstance(failure, Failure)
    assert (failure.reason, failure.detail) == (Reason.UNKNOWN_WORD, numeral.lower())


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(edits(), seeds, st.data())
def test_an_instruction_with_a_content_word_missing_is_never_read_as_another_edit(edit, rng, data):
    said = render(edit, rng).split()
    gone = data.draw(st.integers(0, len(said) - 1))
    result = parse(" ".join(said[:gone] + said[gone + 1 :]))
    if isinstance(result, CellEdit):
        assert result.cell == edit.cell
        assert result.action is edit.action
        assert result.color == edit.color


# -- edits


def test_an_edit_knows_what_is_there_afterwards():
    assert CellEdit.between((0, 0, 0), 0, RED) == CellEdit(EditKind.PLACE, (0, 0, 0), color=RED)
    assert CellEdit.between((0, 0, 0), RED, 0) == CellEdit(EditKind.REMOVE, (0, 0, 0), old_color=RED)
    assert CellEdit.between((0, 0, 0), RED, BLUE) == CellEdit(
        EditKind.REPLACE, (0, 0, 0), color=BLUE, old_color=RED
    )
    assert [CellEdit.between((0, 0, 0), a, b).after for a, b in [(0, 6), (6, 0), (6, 1)]] == [6, 0, 1]
    assert CellEdit("place", (np.int8(0), np.int64(0), 0), color=np.int8(6)) == CellEdit.between(
        (0, 0, 0), 0, RED
    )


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: CellEdit("paint", (0, 0, 0), color=1), "paint"),
        (lambda: CellEdit("place", (6, 0, 0), color=1), r"\(6, 0, 0\)"),
        (lambda: CellEdit("place", (0, 0), color=1), r"\(0, 0\)"),
        (lambda: CellEdit("place", (0, 0, 0), color=7), "7"),
        (lambda: CellEdit("place", (0, 0, 0), color=1, old_color=2), "old_color=2"),
        (lambda: CellEdit("remove", (0, 0, 0), old_color=0), "0"),
        (lambda: CellEdit("replace", (0, 0, 0), color=1, old_color=1), "by itself"),
        (lambda: CellEdit.between((0, 0, 0), 3, 3), "3 to 3"),
    ],
)
def test_edits_that_cannot_be_are_refused(make, named):
    with pytest.raises(GridError, match=named):
        make()


# -- small talk


def test_say_says_instructions_and_small_talk():
    edit = CellEdit("place", (0, -1, 0), color=RED)
    assert say(edit) == render(edit)
    assert say(edit, rng=np.random.default_rng(1)) == render(edit, np.random.default_rng(1))
    assert say("done") == say(DialogueAct.DONE) == "Done."
    with pytest.raises(DialogueError, match="expected an instruction that can be said"):
        say(parse("Put a green block on the tallest tower."))  # two readings


def colored(talk):
    return "{color}" in templates()["talk"][talk.value][0]


@pytest.mark.parametrize("talk", list(DialogueAct))
def test_small_talk_is_read_back_also_through_tokens(talk):
    rngs = [None, *(np.random.default_rng(seed) for seed in range(6))]
    for color in range(1, 7) if colored(talk) else [None]:
        for rng in rngs:
            forms = " ".join(templates()["talk"][talk])
            named = {name: "block" for name in ("word", "other") if f"{{{name}}}" in forms}
            text = say(talk, color, rng, **named)
            assert parse_small_talk(text) == SmallTalk(talk, color)
            tokens = CODEC.encode(text)
            assert len(tokens) <= MAX_WORDS
            assert 1 not in tokens
            assert parse_small_talk(CODEC.decode(tokens)) == SmallTalk(talk, color)
            assert isinstance(parse(text), Failure)


def test_small_talk_says_what_it_should():
    assert say("done") == "Done."
    assert say(DialogueAct.NO_BLOCKS, BLUE) == "I can't do that: no blue blocks left."
    assert say(DialogueAct.NOT_UNDERSTOOD) == "I don't understand."
    assert say(DialogueAct.COMPLETE) == "The structure is complete, thank you."
    assert parse_small_talk("i can\u2019t do that, no BLUE blocks left") == SmallTalk(
        DialogueAct.NO_BLOCKS, BLUE
    )


def test_every_wording_of_small_talk_has_one_meaning_and_every_meaning_a_wording():
    forms = [form for forms in templates()["talk"].values() for form in forms]
    assert len(forms) == len({tuple(CODEC.encode(form.replace("{color}", "red"))) for form in forms})
    assert set(templates()["talk"]) == {talk.value for talk in DialogueAct}


@settings(deadline=None)
@given(edits(), seeds)
def test_instructions_are_no_small_talk(edit, rng):
    assert parse_small_talk(render(edit, rng)) is None


@pytest.mark.parametrize(
    ("talk", "color"), [("sing", None), (DialogueAct.NO_BLOCKS, None), (DialogueAct.DONE, 3)]
)
def test_wrong_small_talk_is_refused(talk, color):
    with pytest.raises(DialogueError):
        say(talk, color)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Remove the masts.", "All masts should go."),
        ("Paint the legs red.", "All legs should be red."),
        ("Move the mast one block east.", "Move the mast 1 block east."),
        ("These are the legs.", "These are the legs."),
    ],
)
def test_what_has_a_name_can_be_said_and_read_back(text: str, said: str) -> None:
    names = Context(names={"mast": ((0, -1, 0), (0, 0, 0)), "leg": ((1, -1, 0),)})
    meant = parse(text, names)
    assert say(meant) == said
    assert parse(said, names) == meant
