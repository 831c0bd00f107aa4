"""How well a builder follows whole dialogues: `python -m benchmarks.dialogues [SOURCE ...]`.

A source is `bundled`, the Minecraft Dialogue Corpus, a pack in the IGLU multi-turn layout, or a JSON file of dialogues
(docs/understanding.md). Without one: the bundled sessions, and what is found in the folder `--shared`.

Each session is heard twice, with one builder each:

- from the true world: each turn starts in the world that people left. It is right if the result is an accepted world.
- in its own world: each turn starts in the world that the builder made. The end is compared with the true end.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.harness import run_command
from iglu_marl import DataError, Role, Subtasks
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.agents.scripted.plan_executor import PlanExecutor
from iglu_marl.core.edits import net_actions
from iglu_marl.core.grid import Cell, blocks_to_grid, color_id
from iglu_marl.core.imports import imported
from iglu_marl.core.scoring import Counts, micro
from iglu_marl.data import Corpus, MultiturnDataset, bundled
from iglu_marl.data.mdc.action_sequences import ActionSequence, action_sequences, turns
from iglu_marl.evaluation.metrics import action_counts, intersection_counts
from iglu_marl.language import DialogueAct, Failure, parse, parse_small_talk, say
from iglu_marl.language.talk.discourse import Reader

Grid = npt.NDArray[np.int8]
EMPTY = blocks_to_grid(())
TAKEN = ("request", "no request", "question", "refusal")  # how a text is taken
OUTCOMES = ("right", "asked", "partly", "wrong", "nothing")  # of a turn


@dataclass(frozen=True)
class Turn:
    """What was said in a turn, the world before it, and the worlds that are accepted after it.

    pose: the builder's eye (x, y, z) and yaw in degrees before it acted, if known. order: the cells that it changed, in
    its order, if known.
    ask: whether a question is the right reaction. answer: the architect's answer to it, if any.
    mistaken: whether the person who built made a mistake, which the next turn corrects.
    """

    lines: tuple[tuple[Role, str], ...]
    before: Grid
    worlds: tuple[Grid, ...]
    ask: bool = False
    answer: str | None = None
    mistaken: bool = False
    pose: tuple[float, ...] | None = None
    order: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Session:
    """A dialogue with its worlds."""

    name: str
    turns: tuple[Turn, ...]


class _InstantExecutor(PlanExecutor):
    """Builds at once, without a body."""

    def pursue(self, goal: Grid) -> bool:
        self.settled = goal.copy()
        return True

    def settle(self) -> Grid:
        return self.settled


class Follower(ScriptedBuilder):
    """A scripted builder without a body: it hears texts, and follows them at once.

    said: its reply to the last text, "" if none. taken: how it took that text, one of `TAKEN`. understood: whether
    that text is an instruction that it knows, whether or not it can be followed here.
    """

    def __init__(self, grid: Grid = EMPTY, reader: Reader | None = None) -> None:
        super().__init__(can_ask=True, reader=reader)
        self._executor = _InstantExecutor(self.game, type(self).__name__)
        x, y, z, yaw, _ = self._executor.pose
        self.discourse.stand((x, y, z), yaw)
        self._executor.settled = self._shown = grid.copy()
        self.said, self.taken, self.understood = "", "no request", False

    @property
    def grid(self) -> Grid:
        """The world as the builder left it."""
        return self._executor.settle()

    def show(self, grid: Grid, order: tuple[Cell, ...] = ()) -> None:
        """Replace the world by what people left, who changed cells in this order.

        Where the builder did something else, it takes their changes since the last call for its own, gives them the
        name of which the architect spoke, and drops what it asked.
        """
        differs = not np.array_equal(grid, self.grid)
        self.discourse.notice(self._shown if differs else grid, grid, order)
        if differs:
            self._executor.settled, self._executor.changes = grid.copy(), {}
        self._shown = grid.copy()

    def stand(self, pose: tuple[float, ...] | None) -> None:
        """Take the pose (x, y, z, yaw) from which a person built."""
        if pose is not None:
            self.discourse.stand((pose[0], pose[1], pose[2]), pose[3])

    def heard(self, role: Role, text: str) -> None:
        """Hear a line of the dialogue."""
        if role is Role.ARCHITECT:
            self.hear(text)
        else:
            self.discourse.overhear(text)

    def hear(self, text: str) -> None:
        """Hear a text of the architect, and do what it asks for."""
        self._aside = self._remark = ""
        self._followed = False
        self._take(text)
        self.said = " ".join(filter(None, (self._aside, self._remark)))
        if self.said:
            self.discourse.overhear(self.said)
        if self._followed:
            self.taken = "request"
        elif self.said in ("", say(DialogueAct.OKAY)):
            self.taken = "no request"
        else:
            self.taken = "question" if self._asks() else "refusal"
        self.understood = self._followed or not isinstance(parse(text), Failure)

    def report(self) -> dict[str, Any]:
        """Return how it took the last text."""
        return {"taken": self.taken, "said": self.said, "read": self.understood}

    def _asks(self) -> bool:
        """Return whether it asked about the request, not about a word."""
        act = parse_small_talk(self.said)
        return "?" in self.said and (act is None or act.talk != DialogueAct.MEAN_OTHER)

    def _work_on(self, *arguments: Any) -> bool:
        self._followed = True
        return super()._work_on(*arguments)


def _joined(given: Iterable[Turn]) -> tuple[Turn, ...]:
    """Return the turns in which the architect speaks; others belong to the turn before."""
    found: list[Turn] = []
    for turn in given:
        if found and all(role is not Role.ARCHITECT for role, _ in turn.lines):
            lines, order = found[-1].lines + turn.lines, found[-1].order + turn.order
            found[-1] = replace(found[-1], lines=lines, worlds=turn.worlds, order=order)
        else:
            found.append(turn)
    return tuple(found)


def _of_corpus(name: str, session: Subtasks, acts: Sequence[ActionSequence] = ()) -> Session:
    worlds = [EMPTY if session.starting_grid is None else session.starting_grid, *session.structures]
    lines = [tuple((one.role, one.text) for one in turn) for turn in session.turns]
    turns = [Turn(said, worlds[n], (worlds[n + 1],)) for n, said in enumerate(lines)]
    for n, act in enumerate(acts):
        order = tuple((one.x, one.y, one.z) for one in act.actions)
        turns[n] = replace(turns[n], pose=act.pose, order=order)
    return Session(name, _joined(turns))


def _of_file(entry: dict[str, Any]) -> Session:
    before, found = _world(entry.get("start", ())), list[Turn]()
    for turn in entry["turns"]:
        lines = turn.get("dialogue") or [(Role.ARCHITECT, text) for text in turn["say"]]
        worlds = tuple(map(_world, turn["worlds"]))
        if found and found[-1].mistaken:  # the correction leads to what was asked for
            found[-1] = replace(found[-1], worlds=worlds)
        said = tuple((Role(role), text) for role, text in lines)
        more = turn.get("ask", False), turn.get("answer"), turn.get("mistake", False)
        found.append(Turn(said, before, worlds, *more))
        before = worlds[0]
    return Session(entry["name"], _joined(found))


def _world(blocks: Iterable[Any]) -> Grid:
    return blocks_to_grid((x, y, z, color_id(color)) for x, y, z, color in blocks)


def read_source(source: str, split: str = "val") -> list[Session]:
    """Return the sessions of a source. Raises `DataError` if it is none."""
    if source == "bundled":
        return _named(bundled.load())
    if source.endswith(".json"):
        return [*map(_of_file, json.loads(Path(source).read_text(encoding="utf-8")))]
    try:
        corpus = Corpus.open(source, fetch=False)
    except DataError:
        return _named(MultiturnDataset(path=source, fetch=False).tasks)
    chosen = (one for one in corpus.sessions.values() if split in ("all", one.split))
    made = ((one.name, turns(one), action_sequences(one)) for one in chosen)
    return [_of_corpus(name, session, acts) for name, session, acts in made if session is not None]


def _named(tasks: Any) -> list[Session]:
    entries = [(name, one) for name, sessions in tasks.items() for one in sessions]
    return [_of_corpus(one.task_id or f"{name}-{n}", one) for n, (name, one) in enumerate(entries)]


def _hear(follower: Follower, turn: Turn) -> tuple[list[dict[str, Any]], bool]:
    """Let a follower hear a turn; return how it took each text, and whether it only asked."""
    before, texts = follower.grid.copy(), list[dict[str, Any]]()
    follower.stand(turn.pose)
    for role, text in turn.lines:
        follower.heard(role, text)
        if role is Role.ARCHITECT:
            texts.append({"text": text, **follower.report()})
    asked = follower.taken == "question" and np.array_equal(follower.grid, before)
    if turn.ask and asked and turn.answer:
        follower.hear(turn.answer)
        texts.append({"answer": turn.answer, **follower.report()})
    return texts, asked


def _accepted(grid: Grid, worlds: Iterable[Grid]) -> bool:
    return any(np.array_equal(grid, world) for world in worlds)


def from_true_world(session: Session, reader: Reader | None = None) -> list[dict[str, Any]]:
    """Return a row for each turn, which starts in the true world.

    "Partly": it did only what was asked for, and reported what it did not understand.
    """
    follower, rows = Follower(session.turns[0].before, reader), []
    for turn, earlier in zip(session.turns, (None, *session.turns), strict=False):
        follower.show(turn.before, () if earlier is None else earlier.order)
        texts, asked = _hear(follower, turn)
        right = _accepted(follower.grid, turn.worlds)
        if not right and not np.array_equal(follower.grid, turn.before):
            made = net_actions(turn.before, follower.grid)
            reported = any(text["said"] not in ("", say(DialogueAct.DONE)) for text in texts)
            within = any(made <= net_actions(turn.before, world) for world in turn.worlds)
            outcome = "partly" if reported and within else "wrong"
        elif asked and turn.ask:
            outcome = "asked"
        else:
            outcome = "right" if right else "nothing"
        idle = [text for text in texts if text["taken"] == "no request"]
        if len(idle) < len(texts) or _accepted(turn.before, turn.worlds):  # else one of them was a request
            for text in idle:
                text["read"] = True
        counts = _best(action_counts(turn.before, world, follower.grid) for world in turn.worlds)
        rows.append({"texts": texts, "outcome": outcome, "counts": counts})
    return rows


def _best(counts: Iterable[Counts]) -> Counts:
    return max(counts, key=lambda one: one.f1)


def in_own_world(session: Session, reader: Reader | None = None) -> dict[str, Any]:
    """Return what a builder made of a whole session.

    A correction is only heard where the builder did not do what was asked for.
    """
    follower, texts, needless = Follower(session.turns[0].before, reader), [], False
    for turn in session.turns:
        if needless:
            needless = False
            continue
        before = follower.grid.copy()
        texts += _hear(follower, turn)[0]
        made = net_actions(before, follower.grid)
        needless = turn.mistaken and any(made == net_actions(turn.before, world) for world in turn.worlds)
    taken = [text["taken"] for text in texts]
    start, ends = session.turns[0].before, session.turns[-1].worlds
    return {
        "counts": _best(action_counts(start, end, follower.grid) for end in ends),
        "structure": _best(intersection_counts(follower.grid, end, invariant=False) for end in ends),
        "finished": _accepted(follower.grid, ends),
        "questions": taken.count("question"),
        "answered": sum(pair == ("question", "request") for pair in pairwise(taken)),
    }


def follow(session: Session, reader: str | None = None) -> dict[str, Any]:
    """Follow a session in both ways. reader: "module:attribute" of what reads what the rules do not understand."""
    read = imported(reader) if reader else None
    return {"name": session.name, "turns": from_true_world(session, read), "own": in_own_world(session, read)}


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the figures of both ways."""
    done = [turn for row in rows for turn in row["turns"]]
    texts = [text for turn in done for text in turn["texts"] if "text" in text]
    outcomes = Counter(turn["outcome"] for turn in done)
    own = [row["own"] for row in rows]
    return {
        "true": {
            "sessions": len(rows),
            "texts": len(texts),
            "read": sum(text["read"] for text in texts),
            **{f"taken as {kind}": sum(text["taken"] == kind for text in texts) for kind in TAKEN},
            "turns": len(done),
            **{outcome: outcomes[outcome] for outcome in OUTCOMES},
            **_scores(turn["counts"] for turn in done),
        },
        "own": {
            "sessions": len(rows),
            **_scores(one["counts"] for one in own),
            "share of a structure": float(np.mean([one["structure"].recall for one in own])),
            "F1 of a structure": float(np.mean([one["structure"].f1 for one in own])),
            **{key: sum(one[key] for one in own) for key in ("finished", "questions", "answered")},
        },
    }


def _scores(counts: Iterable[Counts]) -> dict[str, float]:
    total = micro(counts)
    return {"F1": total.f1, "precision": total.precision, "recall": total.recall}


def main_figures(figures: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the figures that are compared most: turns and precision from the true world, F1 in its own."""
    true, own = figures["true"], figures["own"]
    kept = {key: true[key] for key in ("sessions", "texts", "read", "turns", "precision")}
    return {**kept, "turns_right": true["right"], "turns_wrong": true["wrong"], "f1_own_world": own["F1"]}


def show(figures: dict[str, dict[str, dict[str, float]]], console: Console) -> None:
    for way, title in (("true", "from the true world"), ("own", "in its own world")):
        table = Table("", *figures, title=title)
        for name in next(iter(figures.values()))[way]:
            table.add_row(name, *(_cell(name, one[way]) for one in figures.values()))
        console.print(table)


def _cell(name: str, figures: dict[str, float]) -> str:
    value = figures[name]
    whole = {"read": "texts", **dict.fromkeys(OUTCOMES, "turns"), "finished": "sessions"}.get(name)
    if whole:
        return f"{value} ({value / max(1, figures[whole]):.1%})"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def transcript(row: dict[str, Any]) -> str:
    lines = [f"== {row['name']}: {row['own']}"]
    for turn in row["turns"]:
        lines.append(f"-- {turn['outcome']}")
        for text in turn["texts"]:
            lines.append(
                f"   {text.get('text', text.get('answer'))!r}\n      {text['taken']}: {text['said']}"
            )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help="bundled, a JSON file, a pack or folder")
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="where others are looked for")
    parser.add_argument(
        "--split", default="val", choices=("train", "val", "test", "all"), help="of Minecraft"
    )
    parser.add_argument("--count", type=int, help="largest number of sessions of each source")
    parser.add_argument("--every", type=int, default=1, help="1 in EVERY sessions, from the EVERY/2-th on")
    parser.add_argument("--show", type=int, default=0, help="number of transcripts to print of each source")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--data", help="one more source")
    parser.add_argument("--reader", metavar="MODULE:NAME", help="reads what the rules do not understand")
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        help="file for all figures and turns; without a name, print the main figures",
    )
    args = parser.parse_args(arguments)
    args.sources += [args.data] * bool(args.data)
    figures, results = {}, {}
    found = [*args.shared.glob("data/dialogues-*.json"), *args.shared.glob("data/mdc.zip")]
    console = Console(stderr=True)
    with ProcessPoolExecutor(args.processes) as pool:
        for source in args.sources or ["bundled", *map(str, sorted(found))]:
            began, name = time.perf_counter(), Path(source).stem
            sessions = read_source(source, args.split)[args.every // 2 :: args.every][: args.count]
            task = partial(follow, reader=args.reader)
            run = map(task, sessions) if args.processes == 1 else pool.map(task, sessions, chunksize=2)
            rows = [*track(run, name, len(sessions), console=console)]
            figures[name] = summary(rows)
            seconds = round(time.perf_counter() - began, 1)
            results[name] = {**figures[name], "seconds": seconds, "sessions": rows}
            print("\n".join(map(transcript, rows[: args.show])), end="\n" if args.show else "")
    if args.json == "-":
        found_by = {name: main_figures(one) for name, one in figures.items()}
        print(json.dumps(found_by if len(found_by) > 1 else next(iter(found_by.values()))))
        return 0
    show(figures, Console())
    if args.json is not None:
        settings = {key: str(value) for key, value in vars(args).items()}
        text = json.dumps({"settings": settings, "sources": results}) + "\n"
        Path(args.json).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    run_command(main)
