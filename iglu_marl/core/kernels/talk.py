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
    in_turns: bool  # whether only the agent whose turn it is acts


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
