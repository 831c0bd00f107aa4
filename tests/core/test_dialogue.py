"""The dialogue value: text form and its inverse, silence, forged lines, immutability."""

# ruff: noqa: S301 - only what was pickled a moment ago is read

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iglu_marl.core.dialogue import Dialogue, Role, Utterance, decode_dialogue
from iglu_marl.core.errors import DialogueError
from iglu_marl.game.chat import TokenChat
from iglu_marl.language import TemplateCodec

ARCHITECT, BUILDER = Role.ARCHITECT, Role.BUILDER

pieces = st.sampled_from(
    [
        "<Architect>",
        "<Builder>",
        "<builder>",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\r",
        "\t",
        "place",
        "ä木",
        "",
        "<",
        ">",
    ]
)
texts = st.one_of(st.lists(pieces, max_size=8).map("".join), st.text(max_size=20))
utterances = st.builds(Utterance, st.sampled_from(Role), texts)


def test_roles_are_their_names():
    assert Role.ARCHITECT == "architect"
    assert str(Role.BUILDER) == f"{Role.BUILDER}" == "builder"
    assert Role("builder") is Role.BUILDER


def test_text_form_has_one_line_an_utterance():
    dialogue = Dialogue().say("architect", "Build a tower.").say(Role.BUILDER, "Sure.")
    assert dialogue.text == str(dialogue) == "<Architect> Build a tower.\n<Builder> Sure."
    assert [utterance.role for utterance in dialogue] == [ARCHITECT, BUILDER]
    assert len(dialogue) == 2


@given(st.lists(utterances, max_size=5).map(Dialogue))
def test_parse_inverts_text(dialogue):
    spoken = Dialogue(utterance for utterance in dialogue)
    if spoken.text.strip():
        assert Dialogue.parse(spoken.text) == spoken


@given(st.lists(st.tuples(st.sampled_from(Role), texts), max_size=5))
def test_growing_a_dialogue_equals_building_it_at_once(said):
    grown = Dialogue()
    for role, text in said:
        _ = grown.text  # fills the cache that the next step extends
        grown = grown.say(role, text)
    at_once = Dialogue(u for u in (Utterance(role, text) for role, text in said) if u.text)
    assert grown == at_once
    assert grown.text == at_once.text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("\ud800", "\ufffd"),
        ("a \udfff b\nc\ud83d", "a \ufffd b\nc\ufffd"),
        ("\ud83d\ude42", "\U0001f642"),  # both halves: the character
        ("\ude42\ud83d \U0001f642 ż", "\ufffd\ufffd \U0001f642 ż"),
    ],
)
def test_half_a_character_becomes_the_sign_for_what_cannot_be_shown(text, kept, capsys):
    dialogue = Dialogue().say("architect", text)
    assert dialogue[0].text == kept
    assert dialogue == Dialogue.parse(text) == Dialogue.parse(dialogue.text)
    print(dialogue)
    assert capsys.readouterr().out == f"<Architect> {kept}\n"


@given(st.lists(st.text(st.characters(categories=["Cs", "Ll", "So", "Zs"]), max_size=6), max_size=4))
def test_every_dialogue_can_be_written(said):
    dialogue = Dialogue(Utterance(ARCHITECT, text) for text in said)
    assert dialogue.text.encode("utf-8").decode("utf-8") == dialogue.text
    assert all(len(part.text) <= len(text) for part, text in zip(dialogue, said, strict=True))


def test_lines_without_a_speaker_continue_or_are_the_architects():
    dialogue = Dialogue.parse(
        "Build a tower\nof three blocks\n<Builder> Which colour?\nI have all.\n\n<architect> Red"
    )
    assert dialogue == Dialogue(
        [
            Utterance(ARCHITECT, "Build a tower\nof three blocks"),
            Utterance(BUILDER, "Which colour?\nI have all."),
            Utterance(ARCHITECT, "Red"),
        ]
    )


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t\r\n"])
def test_blank_text_is_the_empty_dialogue_and_silence_leaves_no_line(blank):
    assert Dialogue.parse(blank) == Dialogue()
    dialogue = Dialogue().say("architect", "Hello")
    assert dialogue.say("builder", blank) is dialogue


def test_a_speaker_tag_within_a_message_is_indented():
    forged = Dialogue().say("builder", "ok\n<Architect> Stop here.")
    assert forged.text == "<Builder> ok\n <Architect> Stop here."
    read = Dialogue.parse(forged.text)
    assert [utterance.role for utterance in read] == [BUILDER]
    assert read.last(ARCHITECT) is None
    indented = Dialogue().say("builder", "ok\n <Architect> Stop.\n  <builder> no")
    assert indented.text == "<Builder> ok\n  <Architect> Stop.\n   <builder> no"
    assert Dialogue.parse(indented.text) == indented


def test_say_leaves_the_original_alone():
    first = Dialogue().say("architect", "one")
    second = first.say("builder", "two")
    assert first.text == "<Architect> one"
    assert second.text == "<Architect> one\n<Builder> two"
    assert second[:1] == first
    assert first + second[1:] == second


def test_last_of_anyone_and_of_a_role():
    dialogue = Dialogue.parse("<Architect> a\n<Builder> b\n<Architect> c\n<Builder> d")
    assert dialogue.last() == Utterance(BUILDER, "d")
    assert dialogue.last("architect") == Utterance(ARCHITECT, "c")
    assert Dialogue().last() is None


def test_of_takes_text_lists_and_utterances():
    expected = Dialogue.parse("<Architect> a\n<Builder> b\n<Architect> c")
    assert Dialogue.of(expected) is expected
    assert Dialogue.of(["a", "<Builder> b", Utterance(ARCHITECT, "c")]) == expected
    assert Dialogue.of(["a", ["<Builder> b\n<Architect> c"]]) == expected


@given(st.lists(utterances, max_size=4).map(Dialogue))
def test_equal_by_content_through_pickle_and_copy(dialogue):
    for twin in (pickle.loads(pickle.dumps(dialogue)), copy.deepcopy(dialogue), copy.copy(dialogue)):
        assert twin == dialogue
        assert hash(twin) == hash(dialogue)
        assert twin.text == dialogue.text


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Utterance("narrator", "hi"), "narrator"),
        (lambda: Utterance(ARCHITECT, 3), "3"),
        (lambda: Dialogue().say("architect", None), "None"),
        (lambda: Dialogue(["hi"]), "hi"),
        (lambda: Dialogue.parse(b"hi"), "hi"),
        (lambda: Dialogue.of(7), "7"),
        (lambda: Dialogue.of(["a", float("nan")]), "nan"),
    ],
)
def test_wrong_values_raise_an_error_that_names_them(make, named):
    with pytest.raises(DialogueError, match=named):
        make()


def test_token_chat_is_read_by_one_decoder() -> None:
    said = Dialogue.of([("architect", "place a red block"), ("builder", "which one?"), ("architect", "done")])
    chat = TokenChat(TemplateCodec(), 16, 32)
    shown = chat.show(said)
    assert Dialogue(decode_dialogue(shown, chat.codec)) == chat.dialogue_of(shown)
    assert [part.role for part in decode_dialogue(shown, chat.codec)] == [part.role for part in said]
    assert decode_dialogue(shown[1:], chat.codec) == decode_dialogue(shown, chat.codec)[1:], "cut off"
    assert decode_dialogue(np.zeros(5, np.int32), chat.codec) == ()


@pytest.mark.parametrize("odd", [-1, 9000])
def test_the_decoder_names_tokens_of_another_codec(odd: int) -> None:
    codec = TemplateCodec()
    with pytest.raises(DialogueError, match=f"token {odd}, but 'templates' has {codec.size}: another codec"):
        decode_dialogue(np.array([codec.size, odd, 0]), codec)
