"""A vocabulary of a corpus: known and unknown words, order, a length that fits, and its use in games."""

from __future__ import annotations

import pickle

import gymnasium as gym
import numpy as np
import pytest

from iglu_marl import ConfigError, Dialogue, Subtasks, Task
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.envs import VectorGame
from iglu_marl.language import TemplateCodec, fit_vocabulary
from iglu_marl.language.grammar.vocabulary import WordCodec
from iglu_marl.tasks import BundledTasks

ONE = blocks_to_grid([(0, -1, 0, 1)])


def test_words_are_counted_once_an_utterance() -> None:
    codec = fit_vocabulary(["Fill the gap, the GAP!", "Fill the gap, the GAP!", "the edge? don't"], least=1)
    assert codec.words == ("the", "gap", "?", "don't", "edge", "fill")
    assert codec.encode("The edge of it?") == [2, 6, 1, 1, 4]
    assert codec.decode([0, 2, 3, 4, 1]) == "the gap? <unk>"
    assert codec.dialog_length == 6  # five words and the mark of the speaker
    assert fit_vocabulary(["the gap", "the edge"]).words == ("the",)
    assert fit_vocabulary("the gap", least=1).dialog_length == 3
    for nothing in ([], [""], ["once"]):
        with pytest.raises(ConfigError, match="no word that occurs 2 times"):
            fit_vocabulary(nothing)


def test_dialogues_tasks_and_sessions_fit() -> None:
    said = "<Architect> Put it there.\n<Builder> Where?\n<Architect> There, there."
    for one in (Dialogue.parse(said), Task(said, ONE), Subtasks([said], [ONE])):
        codec = fit_vocabulary([one], least=1)
        assert codec.words == ("there", "?", "it", "put", "where")
        assert codec.dialog_length == 4 + 3 + 3
    assert pickle.loads(pickle.dumps(codec)) == codec  # noqa: S301
    assert codec != WordCodec(("there",))
    assert codec.version != WordCodec(("there",)).version
    assert TemplateCodec() == TemplateCodec() != WordCodec(TemplateCodec().words)


def test_games_show_whole_dialogues_in_its_tokens() -> None:
    tasks = BundledTasks(mode="turns")
    codec = fit_vocabulary(tasks, least=1)
    assert codec.dialog_length is not None
    options = {"tasks": tasks, "chat": "tokens", "vocabulary": codec, "dialog_length": codec.dialog_length}
    env = gym.make_vec("IGLUGridworldVector-v0", num_envs=4, **options)
    observation, _ = env.reset(seed=0)
    longest = max(tasks, key=lambda task: len(codec.encode(task.dialog)))
    single = gym.make("IGLUGridworldVector-v0", **{**options, "tasks": longest})
    for shown in (*observation["dialog"], single.reset(seed=0)[0]["dialog"]):
        assert len(shown) == codec.dialog_length
        assert shown[0] >= codec.size, "the mark of the first speaker"
        assert 1 not in shown, "no unknown word"
    assert np.count_nonzero(shown) == codec.dialog_length
    VectorGame(2, chat="tokens", vocabulary=codec)  # which needs tokens that come back from their text
