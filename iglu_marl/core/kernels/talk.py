"""Dialogues of tokens, in batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

from iglu_marl.core.jit import jit

Array = npt.NDArray[Any]


class Talk(NamedTuple):
    """The dialogues of a batch in tokens, and the current utterances."""

    dialog: (
        Array  # int32 [n, length]: the latest tokens, each utterance behind its speaker's mark, then zeros
    )
    length: Array  # int32 [n]: tokens in it
    spoken: Array  # int32 [n]: tokens that the architect spoke in this step
    architect: Array  # int64 [n, words]: what it says, 0 = padding
    builder: Array  # the same of the builder; no rows where it cannot speak
    marks: Array  # int32 [2]: of architect and builder


class TeamTalk(NamedTuple):
    """The dialogues of a batch of teams in tokens, and the current utterances; agents are numbered as in the game."""

    dialogs: Array  # int32 [groups, n, length]: what a group of agents hears, the first one everything
    lengths: Array  # int32 [groups, n]: tokens in it
    hears: Array  # bool [agents, groups]: whether a group hears an agent
    said: Array  # int64 [agents, n, words]: 0 = padding; without builders that cannot speak
    spoken: Array  # int32 [n, architects]: tokens that they spoke in this step
    first_mark: int  # of the first agent


@jit
def note_to_team(talk, agent, i):
    """Append what an agent says in game i to the dialogues of those who hear it. Returns its number of tokens."""
    said, words = talk.said[agent, i], 0
    for k in range(said.size):
        words += said[k] != 0
    if words > 0:
        for group in range(talk.dialogs.shape[0]):
            if talk.hears[agent, group]:
                note(talk.dialogs[group], talk.lengths[group], i, talk.first_mark + agent, said)
    return words


@jit
def note(dialog, length, i, mark, said):
    """Append an utterance to dialogue i, whose oldest tokens make room. Returns its number of tokens; 0 is silence."""
    words = 0
    for k in range(said.size):
        words += said[k] != 0
    if words == 0:
        return 0
    room, old = dialog.shape[1], int(length[i])
    drop = max(0, old + words + 1 - room)
    for k in range(old - drop):
        dialog[i, k] = dialog[i, k + drop]
    place = old - drop  # negative when the utterance alone is too long
    if place >= 0:
        dialog[i, place] = mark
    for k in range(said.size):
        if said[k] != 0:
            place += 1
            if place >= 0:
                dialog[i, place] = said[k]
    length[i] = place + 1
    return words
