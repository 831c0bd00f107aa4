"""Utterances of all corpora as a table: speaker, text and time, the builder's pose, and the world before and after."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import Block, BlockGrid, grid_to_blocks
from iglu_marl.core.task import Subtasks
from iglu_marl.data.dataset import Dataset, Entry, Record
from iglu_marl.data.iglu.multiturn_dataset import MultiturnDataset
from iglu_marl.data.iglu.singleturn import Game, SingleturnDataset
from iglu_marl.data.iglu.trajectory import to_pose
from iglu_marl.data.iglu.world_files import RecordedWorlds
from iglu_marl.data.mdc.corpus import Session
from iglu_marl.data.mdc.dataset import CDMDataset
from iglu_marl.data.mdc.discourse import Discourse, relations
from iglu_marl.data.task_files import labelled

UTTERANCE_COLUMNS = {
    "session": "the session",
    "structure": "what is built",
    "split": "the part of the split",
    "number": "number in the session, from 0",
    "time_s": "seconds since the start of the session",
    "speaker": "architect or builder",
    "text": "the utterance",
    "blocks_before": "the world at this utterance; null: unknown",
    "blocks_after": "the world at the next utterance, or at the end; null: nothing was built",
    **{axis: f"{axis} of the builder's eye, in cells" for axis in "xyz"},
    "yaw_deg": "the builder's gaze: 0 north, 90 east",
    "pitch_deg": "the builder's gaze, up positive",
}
Pose = Sequence[float] | None
Sessions = Dataset | Mapping[str, Iterable[Entry]]


def utterance_frame(source: Sessions, *, discourse: Discourse | None = None) -> Any:
    """Return a `pandas.DataFrame` with a row per utterance, in order, and the columns `UTTERANCE_COLUMNS`.

    Times and poses that a corpus does not have are NaN.

    Args:
        source: a dataset of this package, or sessions by structure (`bundled.load()`). The rows of a
            `SingleturnDataset` include unclear games and their clarifying questions.
        discourse: annotations of the Minecraft corpus (`data.mdc.discourse.read_discourse`). The column `relations`
            then has the relations that end in the utterance or in the actions after it; None: the session has none.

    Raises:
        DataError: if `source` is something else.

    """
    with extra("data"):
        import pandas as pd

    frame = pd.DataFrame(rows(source), columns=list(UTTERANCE_COLUMNS), dtype=object)
    numbers = ["time_s", "x", "y", "z", "yaw_deg", "pitch_deg"]
    if discourse is not None:
        if not isinstance(source, CDMDataset):
            raise DataError(f"the source is {source!r:.80}, expected a CDMDataset with discourse relations")
        found = {session.name: relations(session, discourse) for session in source.sessions()}
        ends = zip(frame["session"], frame["number"], strict=True)
        frame["relations"] = [
            None if (of := found[name]) is None else [link for link in of if link.target == number]
            for name, number in ends
        ]
    return frame.astype({"number": "int64", **dict.fromkeys(numbers, "float64")})


def rows(source: Sessions) -> Iterator[Record]:
    """Yield the rows of `utterance_frame` as dicts."""
    if isinstance(source, SingleturnDataset):
        parts = {source.games[name].structure: part for name, part in source.part_names().items()}
        for game in source.games.values():
            yield from _game(source, game, parts.get(game.structure))
    elif isinstance(source, CDMDataset):
        for session in source.sessions():
            yield from _timeline(session)
    elif not isinstance(source, (Dataset, Mapping)):
        raise DataError(f"a corpus is {source!r:.80}, expected a dataset, or sessions by structure")
    else:
        for _, entry, labels, _ in labelled(source):
            known = {"session": entry.task_id, "structure": labels["structure"], "split": labels.get("split")}
            poses = _poses(source, entry) if isinstance(source, MultiturnDataset) else ()
            yield from _turns(entry, known, poses)


def _row(
    known: Record,
    number: int,
    said: Utterance,
    before: list[Block] | None,
    after: list[Block] | None,
    pose: Pose = None,
    time_s: float | None = None,
) -> Record:
    place = dict(zip(("x", "y", "z", "yaw_deg", "pitch_deg"), pose or (math.nan,) * 5, strict=True))
    own = {"number": number, "time_s": time_s, "speaker": said.role.value, "text": said.text}
    return {**known, **own, "blocks_before": before, "blocks_after": after, **place}


def _timeline(session: Session) -> Iterator[Record]:
    known = {"session": session.name, "structure": session.structure, "split": session.split}
    heard, times, poses = session.heard.tolist(), session.times_s.tolist(), session.poses().tolist()
    said = list(session.dialogue)
    states: list[int] = []  # in which each utterance was first heard
    for state, count in enumerate(heard):
        states += [state] * (min(count, len(said)) - len(states))
    worlds = {state: grid_to_blocks(session.grids[state]) for state in {*states, len(session) - 1}}
    for number, (utterance, state) in enumerate(zip(said, states, strict=False)):
        following = states[number + 1] if number + 1 < len(states) else len(session) - 1
        yield _row(known, number, utterance, worlds[state], worlds[following], poses[state], times[state])


def _turns(entry: Entry, known: Record, poses: Sequence[Pose] = ()) -> Iterator[Record]:
    """Yield the rows of a session or task. All utterances of a turn come before its changes.

    `poses` are the builder's poses at the start of each turn.
    """
    turns: Sequence[tuple[Dialogue, BlockGrid]]
    if isinstance(entry, Subtasks):
        turns, world = list(zip(entry.turns, entry.structures, strict=True)), entry.starting_grid
    else:
        turns, world = [(entry.dialogue, entry.target_grid)], entry.starting_grid
    before: list[Block] = [] if world is None else grid_to_blocks(world)
    number = 0
    for turn, (said, grid) in enumerate(turns):
        after = grid_to_blocks(grid)
        pose = poses[turn] if turn < len(poses) else None
        for place, utterance in enumerate(said, start=1):
            yield _row(known, number, utterance, before, after if place == len(said) else before, pose)
            number += 1
        before = after


def _avatar(worlds: RecordedWorlds, name: str) -> Pose:
    file = worlds.file(name)
    if any(math.isnan(value) for value in (*file.avatar_pos, *file.avatar_look)):
        return None
    return to_pose(file.avatar_pos, *file.avatar_look)


def _poses(data: MultiturnDataset, entry: Subtasks) -> list[Pose]:
    """Return the builder's pose at the start of each turn: its pose at the end of the previous turn."""
    name = str(entry.task_id)
    return [None] + [_avatar(data.worlds, data.file_of(name, turn)) for turn in range(len(entry) - 1)]


def _game(data: SingleturnDataset, game: Game, split: str | None) -> Iterator[Record]:
    """Yield the rows of a game: the instruction, and the clarifying question if there is one."""
    known = {"session": game.game_id, "structure": game.structure, "split": split}
    start, built = data.worlds.get(game.start_path), data.worlds.get(game.rebuilt_path)
    before, after = (None if grid is None else grid_to_blocks(grid) for grid in (start, built))
    pose = None if start is None else _avatar(data.worlds, game.start_path)
    asked = Utterance(Role.BUILDER, game.question)
    instruction = Utterance(Role.ARCHITECT, game.instruction)
    yield _row(known, 0, instruction, before, before if asked.text else after, pose)
    if asked.text:
        yield _row(known, 1, asked, before, after, pose)
