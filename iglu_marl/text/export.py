"""Datasets of prompts: what a builder or an architect is asked, a good answer, and what makes any answer right.

Each record is a JSON object: `prompt` (a chat), `completion` (the answer, as a chat message), `start` and `target`
(blocks as [x, y, z, colour id]), `id`, `source`, `split` and `role`. So the same file serves supervised training
(prompt and completion) and training by rewards (prompt, start and target, and `rewards`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl._version import __version__
from iglu_marl.agents.llm.builder import builder_chat
from iglu_marl.agents.llm.decision import ModelClient
from iglu_marl.agents.llm.reading import Unreadable, read_message, read_order
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.world_text import told_changes
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import json_line, new_folder
from iglu_marl.core.grid import BlockGrid, blocks_to_grid, cell_index, grid_to_blocks
from iglu_marl.core.parsing import MIB, parse_json, read_file, reading
from iglu_marl.data.splits import SPLIT_VERSION, Split
from iglu_marl.evaluation.action_prediction import Sample
from iglu_marl.evaluation.metrics import change_counts
from iglu_marl.language import Failure, expand, parse
from iglu_marl.planning import Edit
from iglu_marl.text.game import MESSAGE_LENGTH, NoBackend, TextGame, edits_of, order_text

Record = dict[str, Any]
CARD, LIMIT = "README.md", 4096 * MIB


# -------------------------------------------------------------------------------------------------------- rewards


def order_reward(
    reply: str, start: Any, target: Any, *, invariant: bool = False, max_edits: int = 30
) -> float:
    """F1 of the changes that a builder's reply makes against those that are asked for; 0 when it cannot be read.

    start, target: blocks as records have them, or grids [9, 11, 11].
    """
    begun, wanted = _grid(start), _grid(target)
    try:
        edits = read_order(reply, begun, max_edits).edits
    except Unreadable:
        return 0.0
    return change_counts(begun, wanted, _after(begun, edits), invariant=invariant).f1


def message_reward(reply: str, start: Any, target: Any, *, invariant: bool = False) -> float:
    """F1 of the changes that an architect's message leads to, as the grammar reads it; 0 when it reads nothing."""
    begun, wanted = _grid(start), _grid(target)
    try:
        found = parse(read_message(reply))
    except Unreadable:
        return 0.0
    edits = found if found is None or isinstance(found, Failure) else expand(found, begun)
    if edits is None or isinstance(edits, Failure):
        return 0.0
    built = _after(begun, [Edit(*edit.cell, edit.color or 0) for edit in edits])
    return change_counts(begun, wanted, built, invariant=invariant).f1


def rewards(
    completions: Sequence[Any], start: Sequence[Any], target: Sequence[Any], role: Sequence[str], **_: Any
) -> list[float]:
    """The rewards of many replies, in the form that trainers want: columns of records by name, texts or messages."""
    functions = {"builder": order_reward, "architect": message_reward}
    return [
        functions[who](reply if isinstance(reply, str) else reply[-1]["content"], begun, wanted)
        for reply, begun, wanted, who in zip(completions, start, target, role, strict=True)
    ]


def _grid(blocks: Any) -> BlockGrid:
    return blocks if isinstance(blocks, np.ndarray) else blocks_to_grid([tuple(block) for block in blocks])


def _after(grid: BlockGrid, edits: Iterable[Edit]) -> BlockGrid:
    after = grid.copy()
    for edit in edits:
        after[cell_index(*edit.cell)] = edit.color
    return after


# -------------------------------------------------------------------------------------------------------- records


def sample_records(
    samples: Iterable[Sample], *, source: str, split: str, view: str = "layers", max_edits: int = 30
) -> Iterator[Record]:
    """What a builder is asked in each sample of builder action prediction, and what a person did then.

    Samples of more than max_edits edits, or of none, and those in which an architect has said nothing, are left out.
    """
    settings = LLMSettings(model="export", view=view, max_edits=max_edits)
    client = ModelClient(Role.BUILDER, settings, NoBackend())
    for sample in samples:
        situation = sample.situation
        start = np.asarray(situation.grid)
        edits = edits_of(start, sample.target)
        if not 0 < len(edits) <= max_edits or situation.dialogue.last(Role.ARCHITECT) is None:
            continue
        client.dialogue = list(situation.dialogue)
        x, y, z, yaw, pitch = situation.pose or (0.0, 0.0, 0.0, 0.0, 0.0)
        chat = builder_chat(
            client,
            client.dialogue[-settings.history :],
            {"agentPos": np.array([x, y, z, pitch, yaw])},
            start,
            limit=f"{MESSAGE_LENGTH} characters",
            can_ask=True,
        )
        prompt = [{"role": part.speaker, "content": part.text} for part in chat]
        yield _record(sample.name, source, split, "builder", prompt, order_text(edits), start, sample.target)


def generated_records(
    seeds: Iterable[int], *, role: str = "builder", view: str = "layers", **options: Any
) -> Iterator[Record]:
    """The turns of games on random structures that go as they should, by the part that a structure belongs to.

    options: as of `TextGame`. Raises `ConfigError` for another role than "builder" and "architect".
    """
    if role not in ("builder", "architect"):
        raise ConfigError(f"role is {role!r}, expected builder or architect")
    game = TextGame(role="both" if role == "architect" else role, view=view, **options)
    for seed in seeds:
        messages, done, number = game.reset(seed), False, 0
        split = Split.of(game.target).value
        while not done:
            start, asked = game.grid.copy(), game.turn
            reply = right_reply(game)
            target = (
                game.target
                if asked is Role.ARCHITECT
                else _after(start, read_order(reply, start, 1089).edits)
            )
            prompt = messages
            messages, _, done, info = game.step(reply)
            if asked.value == role and not info["problem"]:
                yield _record(
                    f"random-{seed}/{number}", "generated", split, role, prompt, reply, start, target
                )
                number += 1


def right_reply(game: TextGame) -> str:
    """What an architect says that goes from the ground up, and what a builder does that reads it."""
    if game.turn is Role.ARCHITECT:
        return told_changes(game.grid, game.target, limit=1).partition("\n")[0]
    said = game.dialogue.last(Role.ARCHITECT)
    found = None if said is None else parse(said.text)
    edits = found if found is None or isinstance(found, Failure) else expand(found, game.grid)
    if edits is None or isinstance(edits, Failure):
        return order_text([])
    return order_text([Edit(*edit.cell, edit.color or 0) for edit in edits])


def _record(
    name: str,
    source: str,
    split: str,
    role: str,
    prompt: list[dict[str, Any]],
    answer: str,
    start: BlockGrid,
    target: BlockGrid,
) -> Record:
    return {
        "id": name,
        "source": source,
        "split": split,
        "role": role,
        "prompt": prompt,
        "completion": [{"role": "assistant", "content": answer}],
        "start": [list(map(int, block)) for block in grid_to_blocks(start)],
        "target": [list(map(int, block)) for block in grid_to_blocks(target)],
    }


def transcript_records(transcript: Path, games: Path | None = None) -> Iterator[Record]:
    """The chats and replies of a transcript, with what came of them: why a reply could not be read, and the game.

    games: the `games.jsonl` of the evaluation that they were written in; its games' measures stand beside their chats.
    Raises `DataError` for files that are none.
    """
    outcomes = {} if games is None else _outcomes(games)
    for number, line in enumerate(read_file(transcript, LIMIT).splitlines(), 1):
        place = f"{transcript}, line {number}"
        with reading(place):
            entry = parse_json(line, place)
            reply = entry["reply"]
            if reply["failure"] is not None:
                continue
            messages = [{"role": part["speaker"], "content": part["text"]} for part in entry["messages"]]
            found = {
                "id": f"{transcript.stem}/{number}",
                "source": "transcript",
                "split": "train",
                "role": entry["role"],
                "prompt": messages,
                "completion": [{"role": "assistant", "content": reply["text"]}],
                "readable": not entry["problem"],
                "problem": entry["problem"],
                "attempt": entry["attempt"],
            }
            if games is not None:
                if (outcome := outcomes.get((entry["role"], entry.get("game")))) is None:
                    continue
                found["outcome"] = outcome
        yield found


def _outcomes(games: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """What came of the games of an evaluation, by role and the seed of who played it."""
    found = {}
    for number, line in enumerate(read_file(games, LIMIT).splitlines()[1:], 2):
        with reading(f"{games}, line {number}"):
            row = parse_json(line, f"{games}, line {number}")
            if not row["scored"]:
                continue
            names = ("architect", "builder", "task", "episode", "completed", "f1", "change_f1", "steps")
            for player, role in enumerate(Role):
                own = int(np.random.SeedSequence([row["seed"], player]).generate_state(1)[0])
                found[role.value, own] = {name: row[name] for name in names}
    return found


# ---------------------------------------------------------------------------------------------------------- files


def write_dataset(records: Iterable[Record], folder: Path, about: Mapping[str, Any]) -> dict[str, int]:
    """A folder with a file of JSON lines for each split, and a data card by which `datasets` loads it; whole or not.

    Returns how many records each split has. Raises `DataError` for a folder that is not empty, or no records.
    """
    counts: Counter[str] = Counter()
    with new_folder(folder, marker=CARD) as made:
        files = {}
        try:
            for record in records:
                split = record["split"]
                if split not in files:
                    files[split] = (made / f"{split}.jsonl").open("wb")
                files[split].write(json_line(record))
                counts[split] += 1
        finally:
            for file in files.values():
                file.close()
        if not counts:
            raise DataError(f"there are no records for {folder}")
        (made / CARD).write_text(_card(counts, about), encoding="utf-8")
    return {split.value: counts[split.value] for split in Split if counts[split.value]}


def _card(counts: Mapping[str, int], about: Mapping[str, Any]) -> str:
    splits = [split.value for split in Split if counts[split.value]]
    names = {"val": "validation"}
    files = "\n".join(f"  - split: {names.get(split, split)}\n    path: {split}.jsonl" for split in splits)
    numbers = "\n".join(f"- {split}: {counts[split]:,}" for split in splits)
    return (
        f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}\n---\n\n# Prompts of the building game\n\n"
        f"Made by iglu_marl {__version__}, split version {SPLIT_VERSION}: {json.dumps(dict(about))}.\n\n{numbers}\n\n"
        "`prompt` and `completion` are chats; `start` and `target` blocks as [x, y, z, colour id]. Any reply is "
        "rewarded by `iglu_marl.text.rewards`. Texts of a corpus stay under that corpus's licence.\n"
    )
