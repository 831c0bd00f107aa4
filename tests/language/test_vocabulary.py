"""Vocabularies for token chat: closed, append-only, round trips."""

import hashlib
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iglu_marl.core.dialogue import Codec
from iglu_marl.core.errors import ConfigError, DialogueError
from iglu_marl.language import TemplateCodec, make_codec
from iglu_marl.language.grammar.reader import grammar
from iglu_marl.language.grammar.templates import templates, words
from iglu_marl.language.grammar.vocabulary import UNKNOWN, SymbolCodec

# ruff: noqa: S301 - only what was pickled a moment ago is read

CODEC = TemplateCodec()
# Of each version of the word list: how many words it has, and the SHA-256 of them, one a line.
EDITIONS = {
    "1": (167, "5d20ffb03a19c62f08f3a36b1589340ae2a4160936f262923e40d7d46a88e054"),
    "2": (395, "5899ff731ce3aa4bf4ba474dd570a857139633bfb5b35b7089bf46a4140a7375"),
    "3": (411, "16f69c4e71789c8ffc51f967bf877c55deb5adaca7f0d47cf96ed9bf699acce1"),
}


def test_both_codecs_meet_the_protocol():
    assert isinstance(CODEC, Codec)
    assert isinstance(SymbolCodec(8), Codec)


def test_the_word_list_covers_all_that_is_said_and_nothing_twice():
    talk = " ".join(form for forms in templates()["talk"].values() for form in forms)
    small = {"word", "other", "color"}  # what stands for others in the forms of small talk
    said = grammar().words_of(*grammar().categories, said=True)
    # A message of tokens has short forms.
    sentences = {"rising", "end", "filled", "arms", "bar", "including", "stem", "shared"}
    assert (said | set(words(talk))) - small - sentences <= set(CODEC.words)
    assert {str(number) for number in range(21)} | set(templates()["numbers"]) <= set(CODEC.words)
    assert len(CODEC.words) == len(set(CODEC.words)) == CODEC.size - 2
    assert all(words(word) == [word] for word in CODEC.words)


@pytest.mark.parametrize("version", EDITIONS)
def test_words_keep_their_tokens_forever(version):
    """Trained policies depend on them."""
    count, digest = EDITIONS[version]
    listed = "\n".join(CODEC.words[:count])
    assert hashlib.sha256(listed.encode()).hexdigest() == digest, (
        f"words of version {version} of the vocabulary have changed or moved; new words go to the end of words.txt"
    )


def test_new_words_are_a_new_version():
    assert CODEC.version == list(EDITIONS)[-1]
    assert len(CODEC.words) == EDITIONS[CODEC.version][0], (
        "words.txt has other words than this version of the vocabulary: raise TemplateCodec.version, and add the "
        "version with its count and SHA-256 to EDITIONS"
    )
    assert CODEC.size == len(CODEC.words) + 2


@given(st.lists(st.integers(1, CODEC.size - 1), max_size=20))
def test_tokens_survive_their_text(tokens):
    assert CODEC.encode(CODEC.decode(tokens)) == tokens


@given(st.text(max_size=60))
def test_any_text_becomes_tokens_of_the_vocabulary_that_survive_their_text(text):
    tokens = CODEC.encode(text)
    assert all(1 <= token < CODEC.size for token in tokens)
    assert CODEC.encode(CODEC.decode(tokens)) == tokens


def test_words_case_punctuation_and_unknown_words():
    assert (
        CODEC.decode(CODEC.encode("Place a RED block -- on the ground!")) == "place a red block on the ground"
    )
    assert CODEC.encode("place a castle") == [*CODEC.encode("place a"), UNKNOWN]
    assert CODEC.decode(CODEC.encode("Which color?")) == "which color?"
    assert CODEC.decode([UNKNOWN]) == "<unk>"
    assert CODEC.encode(" .,") == []


@pytest.mark.parametrize("codec", [CODEC, SymbolCodec(5)])
def test_padding_is_skipped_and_arrays_are_welcome(codec):
    tokens = np.array([3, 2, 0, 0], dtype=np.int32)
    assert codec.decode(tokens) == codec.decode([3, 2])
    assert codec.decode([]) == codec.decode([0, 0]) == ""


@pytest.mark.parametrize("codec", [CODEC, SymbolCodec(5)])
@pytest.mark.parametrize("token", [-1, 100_000, 1.5, "a"])
def test_tokens_outside_of_the_vocabulary_are_refused(codec, token):
    with pytest.raises(DialogueError, match=f"expected integers 0..{codec.size - 1}"):
        codec.decode([token])


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(1, n)))))
def test_symbols_survive_their_text(case):
    count, tokens = case
    codec = SymbolCodec(count)
    assert codec.size == count + 1
    assert codec.encode(codec.decode(tokens)) == tokens


def test_symbol_text():
    assert SymbolCodec(20).decode([17, 3]) == "s17 s3"
    assert SymbolCodec(20).encode("s17 hello s3 s21 s0 s s٣ s² S20") == [17, 3, 20]
    assert SymbolCodec(20).encode(f"s{'9' * 5000} s4") == [4]


@pytest.mark.parametrize("count", [0, -3, 2.0, True, None, 10**9])
def test_bad_symbol_counts_are_refused(count):
    with pytest.raises(ConfigError, match="symbols"):
        SymbolCodec(count)


def test_make_codec():
    assert make_codec("templates") == CODEC
    assert make_codec(12) == SymbolCodec(12)
    assert make_codec(CODEC) is CODEC
    for wrong in ("english", None, True, 0, object()):
        with pytest.raises(ConfigError):
            make_codec(wrong)


@pytest.mark.parametrize("codec", [CODEC, SymbolCodec(7)])
def test_codecs_are_values(codec):
    twin = pickle.loads(pickle.dumps(codec))
    assert twin == codec
    assert hash(twin) == hash(codec)
    assert SymbolCodec(7) != SymbolCodec(8)
