"""One row per utterance, for all corpora that have dialogues: who said what when, where the builder was, and the
blocks that stood when it was said and when the next one was.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import Block, BlockGrid, grid_to_blocks
from iglu_marl.core.task import Subtasks
from iglu_marl.data.dataset import Dataset, Entry, Record
from iglu_marl.data.iglu.multiturn_dataset import MultiturnDataset
from iglu_marl.data.iglu.singleturn import Game, SingleturnDataset
from iglu_marl.data.iglu.trajectory import to_pose
from iglu_marl.data.iglu.world_files import RecordedWorlds
from iglu_marl.data.mdc.corpus import Corpus, Session
from iglu_marl.data.mdc.dataset import CDMDataset

COLUMNS = (
    *("session", "structure", "split", "number", "time_s", "speaker", "text"),
    *("blocks_before", "blocks_after", "x", "y", "z", "yaw_deg", "pitch_deg"),
)
Pose = Sequence[float] | None
Sessions = Dataset | Mapping[str, Iterable[Entry]]


def utterance_frame(source: Sessions | Corpus) -> Any:
    """A `pandas.DataFrame` with a row for each utterance, in order; its columns are:

    session, structure, split: names (None where there is none). number: of the utterance in its session, from 0.
    time_s: seconds since the session's first state; NaN where no times are kept, as in the IGLU data.
    speaker: "architect" or "builder". text: what was said.
    blocks_before, blocks_after: the worlds when it was said and when the next one was, lists of blocks (x, y, z, color
        id); after the last one, the world at the end. None where nobody knows: an unclear single-turn instruction was
        not built.
    x, y, z, yaw_deg, pitch_deg: the builder's eye (cells) and gaze when it was said; NaN where unknown.

    source: `CDMDataset` or `Corpus`, `MultiturnDataset`, `SingleturnDataset` (its games, also the unclear ones, with
    the clarifying question), your own tasks, or sessions by structure as `bundled.load()` gives them. Raises
    `DataError` for anything else.
    """
    import pandas as pd

    frame = pd.DataFrame(rows(source), columns=list(COLUMNS), dtype=object)
    numbers = ["time_s", "x", "y", "z", "yaw_deg", "pitch_deg"]
    return frame.astype({"number": "int64", **dict.fromkeys(numbers, "float64")})


def rows(source: Sessions | Corpus) -> Iterator[Record]:
    """The rows of `utterance_frame` as dicts, one by one."""
    if isinstance(source, SingleturnDataset):
        parts = {source.games[name].structure: part for name, part in source.part_names().items()}
        for game in source.games.values():
            yield from _game(source, game, parts.get(game.structure))
    elif isinstance(source, CDMDataset):
        for session in source.sessions():
            yield from _timeline(session)
    elif isinstance(source, Corpus):
        for session in source.sessions.values():
            yield from _timeline(session)
    elif not isinstance(source, (Dataset, Mapping)):
        raise DataError(f"a corpus is {source!r:.80}, expected a dataset, or sessions by structure")
    else:
        parts = source.part_names() if isinstance(source, Dataset) else {}
        for name, entries in (source.tasks if isinstance(source, Dataset) else source).items():
            for entry in entries:
                known: Record = {"session": entry.task_id, "structure": name, "split": None}
                if isinstance(source, Dataset):
                    known["split"] = parts.get(str(entry.task_id))
                    record = source._records(name, entry)[0]
                    known |= {key: record[key] for key in ("structure", "split") if key in record}
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
    told = {"number": number, "time_s": time_s, "speaker": said.role.value, "text": said.text}
    return {**known, **told, "blocks_before": before, "blocks_after": after, **place}


def _timeline(session: Session) -> Iterator[Record]:
    """The utterances of a session of the Minecraft corpus."""
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
    """The utterances of a session in turns, or of a task: all words of a turn come before what is built in it.

    poses: where the builder was when each turn began.
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
    """Where the builder was at the end of a world file."""
    file = worlds.file(name)
    if any(math.isnan(value) for value in (*file.avatar_pos, *file.avatar_look)):
        return None
    return to_pose(file.avatar_pos, *file.avatar_look)


def _poses(data: MultiturnDataset, entry: Subtasks) -> list[Pose]:
    """Where the builder was when each turn of a session began: where the turn before had left it."""
    name = str(entry.task_id)
    return [None] + [_avatar(data.worlds, data.file_of(name, turn)) for turn in range(len(entry) - 1)]


def _game(data: SingleturnDataset, game: Game, split: str | None) -> Iterator[Record]:
    """The instruction of a game, and the question that was asked instead of building."""
    known = {"session": game.game_id, "structure": game.structure, "split": split}
    start, built = data.worlds.get(game.start_path), data.worlds.get(game.rebuilt_path)
    before, after = (None if grid is None else grid_to_blocks(grid) for grid in (start, built))
    pose = None if start is None else _avatar(data.worlds, game.start_path)
    asked = Utterance(Role.BUILDER, game.question)
    told = Utterance(Role.ARCHITECT, game.instruction)
    yield _row(known, 0, told, before, before if asked.text else after, pose)
    if asked.text:
        yield _row(known, 1, asked, before, after, pose)
