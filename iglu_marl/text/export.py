"""Datasets of prompts with a good answer and the data to score any other answer.

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
from iglu_marl.agents.llm.world_text import describe_changes
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import json_line, new_folder
from iglu_marl.core.grid import BlockGrid, blocks_to_grid, cell_index, grid_to_blocks
from iglu_marl.data.situations import Sample
from iglu_marl.data.splits import SPLIT_VERSION, Split
from iglu_marl.evaluation.metrics import change_counts
from iglu_marl.language import Failure, parse
from iglu_marl.language.meaning.verbs import expand
from iglu_marl.planning import Edit
from iglu_marl.text.game import MESSAGE_LENGTH, TextGame, edits_of, order_text

Record = dict[str, Any]
CARD = "README.md"
MAX_EDITS = 30  # of a builder's reply


def order_reward(reply: str, start: Any, target: Any) -> float:
    """Return the F1 of the changes in a builder's reply against the required ones; 0 if it cannot be read.

    start, target: blocks [x, y, z, colour id], or a grid [9, 11, 11].
    """
    begun, wanted = _as_grid(start), _as_grid(target)
    try:
        edits = read_order(reply, begun, MAX_EDITS).edits
    except Unreadable:
        return 0.0
    return change_counts(begun, wanted, _apply_edits(begun, edits)).f1


def message_reward(reply: str, start: Any, target: Any) -> float:
    """Return the F1 of the changes that the grammar reads in an architect's message; 0 if it reads none."""
    begun, wanted = _as_grid(start), _as_grid(target)
    try:
        found = parse(read_message(reply))
    except Unreadable:
        return 0.0
    edits = found if found is None or isinstance(found, Failure) else expand(found, begun)
    if edits is None or isinstance(edits, Failure):
        return 0.0
    built = _apply_edits(begun, [Edit(*edit.cell, edit.color or 0) for edit in edits])
    return change_counts(begun, wanted, built).f1


def rewards(
    completions: Sequence[Any], start: Sequence[Any], target: Sequence[Any], role: Sequence[str], **_: Any
) -> list[float]:
    """Return the rewards of many replies (texts or messages), with columns of records as trainers pass them."""
    functions = {"builder": order_reward, "architect": message_reward}
    if not len(completions) == len(start) == len(target) == len(role):
        raise ConfigError(
            "completions, start, target and role differ in length, expected a reply for each record"
        )
    return [
        functions[who](reply if isinstance(reply, str) else reply[-1]["content"], begun, wanted)
        for reply, begun, wanted, who in zip(completions, start, target, role, strict=True)
    ]


def _as_grid(blocks: Any) -> BlockGrid:
    return blocks if isinstance(blocks, np.ndarray) else blocks_to_grid([tuple(block) for block in blocks])


def _apply_edits(grid: BlockGrid, edits: Iterable[Edit]) -> BlockGrid:
    after = grid.copy()
    for edit in edits:
        after[cell_index(*edit.cell)] = edit.color
    return after


def sample_records(
    samples: Iterable[Sample], *, source: str, split: str, view: str = "layers"
) -> Iterator[Record]:
    """Yield a record for each sample of builder action prediction; the answer is what the person did.

    Samples without edits, with more than `MAX_EDITS`, or without an utterance of the architect are skipped.
    """
    settings = LLMSettings(model="export", view=view, max_edits=MAX_EDITS)
    client = ModelClient(Role.BUILDER, settings, None, "json")
    for sample in samples:
        situation = sample.situation
        start = np.asarray(situation.grid)
        edits = edits_of(start, sample.target)
        if not 0 < len(edits) <= MAX_EDITS or situation.dialogue.last(Role.ARCHITECT) is None:
            continue
        client.dialogue = list(situation.dialogue)
        x, y, z, yaw, pitch = situation.pose or (0.0, 0.0, 0.0, 0.0, 0.0)
        chat = builder_chat(
            client,
            client.dialogue[-settings.history :],
            {"agentPos": np.array([x, y, z, pitch, yaw])},
            start,
            limit=MESSAGE_LENGTH,
            can_ask=True,
        )
        prompt = [{"role": part.speaker, "content": part.text} for part in chat]
        yield _record(sample.name, source, split, "builder", prompt, order_text(edits), start, sample.target)


def generated_records(
    seeds: Iterable[int], *, role: str = "builder", view: str = "layers", **options: Any
) -> Iterator[Record]:
    """Yield a record for each turn of reference games on random structures, with the split of the structure.

    options: those of `TextGame`. Raises `ConfigError` unless `role` is "builder" or "architect" and answers are texts.
    """
    if role not in ("builder", "architect"):
        raise ConfigError(f"role is {role!r}, expected builder or architect")
    if options.get("answers", "json") != "json":
        raise ConfigError(f"answers is {options['answers']!r}, expected 'json', as completions are texts")
    if view == "own":
        raise ConfigError("view is 'own', expected a text, as records have no pictures")
    game = TextGame(role="both" if role == "architect" else role, view=view, **options)
    for seed in seeds:
        messages, done, number = game.reset(seed), False, 0
        split = Split.of(game.target).value
        while not done:
            start, asked = game.grid.copy(), game.turn
            reply = reference_reply(game)
            target = game.target
            if asked is Role.BUILDER:
                target = _apply_edits(start, read_order(reply, start, 1089).edits)
            prompt = messages
            messages, _, done, info = game.step(reply)
            if asked.value == role and not info["problem"]:
                name = f"random-{seed}/{number}"
                yield _record(name, "generated", split, role, prompt, reply, start, target)
                number += 1


def reference_reply(game: TextGame) -> str:
    """Return a correct reply: the lowest remaining change as an instruction, or the edits that it asks for."""
    if game.turn is Role.ARCHITECT:
        return describe_changes(game.grid, game.target, limit=1).partition("\n")[0]
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
    prompt: Any,
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


def write_dataset(records: Iterable[Record], folder: Path, about: Mapping[str, Any]) -> dict[str, int]:
    """Write a JSON lines file per split, and a data card for the library `datasets`. Returns the records per split.

    The folder is written completely or not at all. Raises `DataError` if it is not empty, or without records.
    """
    counts: Counter[str] = Counter()
    with new_folder(folder) as made:
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
        (made / CARD).write_text(_data_card(counts, about), encoding="utf-8")
    return {split.value: counts[split.value] for split in Split if counts[split.value]}


def _data_card(counts: Mapping[str, int], about: Mapping[str, Any]) -> str:
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
