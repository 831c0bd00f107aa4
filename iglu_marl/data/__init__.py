"""Datasets: recorded sessions and worlds, read into tasks.

- `MultiturnDataset` (also `IGLUDataset`) and `SingleturnDataset`: the IGLU data, as sources of tasks;
- `clarifying_questions`, `question_bank`, `RankingTask`, `Bm25`: when to ask, and what;
- `human_evaluation`: what people said of the agents of IGLU 2022;
- `CDMDataset`, `Corpus`, `action_sequences`: the Minecraft Dialogue Corpus, its timelines, its builders' actions;
- `read_recording`, `trajectory_of`, `nearest_controls`, `export_minari`: the tapes of recorded builders;
- `write_sessions`, `EpisodeRecorder`: sessions and played episodes in the upstream multi-turn layout;
- `tasks_from_folder`, `write_tasks`: your own files of tasks;
- `bundled.load()`: the sessions that come with the package; `read_sessions`: others in the multi-turn layout.

Colour ids are this project's everywhere (1 blue, 2 yellow, 3 green, 4 orange, 5 purple, 6 red), translated by
colour name. Everything is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iglu_marl.data import bundled as bundled
    from iglu_marl.data.bap import Action as Action
    from iglu_marl.data.bap import ActionSequence as ActionSequence
    from iglu_marl.data.bap import action_sequences as action_sequences
    from iglu_marl.data.cdm import CDMDataset as CDMDataset
    from iglu_marl.data.dataset import Dataset as Dataset
    from iglu_marl.data.evaluation import Feedback as Feedback
    from iglu_marl.data.evaluation import HumanEvaluation as HumanEvaluation
    from iglu_marl.data.evaluation import Unavailable as Unavailable
    from iglu_marl.data.evaluation import human_evaluation as human_evaluation
    from iglu_marl.data.mdc import Corpus as Corpus
    from iglu_marl.data.mdc import read_gold as read_gold
    from iglu_marl.data.minari_export import export_minari as export_minari
    from iglu_marl.data.multiturn import Report as Report
    from iglu_marl.data.multiturn import Row as Row
    from iglu_marl.data.multiturn import Skip as Skip
    from iglu_marl.data.multiturn import Skipped as Skipped
    from iglu_marl.data.multiturn import group_sessions as group_sessions
    from iglu_marl.data.multiturn import read_rows as read_rows
    from iglu_marl.data.multiturn import read_session as read_session
    from iglu_marl.data.multiturn import read_sessions as read_sessions
    from iglu_marl.data.multiturn import read_world as read_world
    from iglu_marl.data.multiturn_dataset import IGLUDataset as IGLUDataset
    from iglu_marl.data.multiturn_dataset import MultiturnDataset as MultiturnDataset
    from iglu_marl.data.multiturn_dataset import SessionWorlds as SessionWorlds
    from iglu_marl.data.own import OwnTasks as OwnTasks
    from iglu_marl.data.own import tasks_from_folder as tasks_from_folder
    from iglu_marl.data.own import write_tasks as write_tasks
    from iglu_marl.data.questions import Bm25 as Bm25
    from iglu_marl.data.questions import RankingScores as RankingScores
    from iglu_marl.data.questions import RankingTask as RankingTask
    from iglu_marl.data.questions import clarifying_questions as clarifying_questions
    from iglu_marl.data.questions import question_bank as question_bank
    from iglu_marl.data.recorded import RecordedWorld as RecordedWorld
    from iglu_marl.data.recorded import RecordedWorlds as RecordedWorlds
    from iglu_marl.data.singleturn import Game as Game
    from iglu_marl.data.singleturn import SingleturnDataset as SingleturnDataset
    from iglu_marl.data.singleturn import SingleturnReport as SingleturnReport
    from iglu_marl.data.singleturn import SingleturnSkip as SingleturnSkip
    from iglu_marl.data.singleturn import read_games as read_games
    from iglu_marl.data.store import MissingPackError as MissingPackError
    from iglu_marl.data.store import find_pack as find_pack
    from iglu_marl.data.tape import Recording as Recording
    from iglu_marl.data.tape import Tape as Tape
    from iglu_marl.data.tape import parse_tape as parse_tape
    from iglu_marl.data.tape import read_recording as read_recording
    from iglu_marl.data.trajectory import ControlSequence as ControlSequence
    from iglu_marl.data.trajectory import Trajectory as Trajectory
    from iglu_marl.data.trajectory import nearest_controls as nearest_controls
    from iglu_marl.data.trajectory import trajectory_of as trajectory_of
    from iglu_marl.data.writer import EpisodeRecorder as EpisodeRecorder
    from iglu_marl.data.writer import SessionRecord as SessionRecord
    from iglu_marl.data.writer import WriteReport as WriteReport
    from iglu_marl.data.writer import write_sessions as write_sessions

_NAMES = {
    "bap": ("Action", "ActionSequence", "action_sequences"),
    "cdm": ("CDMDataset",),
    "dataset": ("Dataset",),
    "evaluation": ("Feedback", "HumanEvaluation", "Unavailable", "human_evaluation"),
    "mdc": ("Corpus", "read_gold"),
    "minari_export": ("export_minari",),
    "multiturn": (
        "Report",
        "Row",
        "Skip",
        "Skipped",
        "group_sessions",
        "read_rows",
        "read_session",
        "read_sessions",
        "read_world",
    ),
    "multiturn_dataset": ("IGLUDataset", "MultiturnDataset", "SessionWorlds"),
    "own": ("OwnTasks", "tasks_from_folder", "write_tasks"),
    "questions": ("Bm25", "RankingScores", "RankingTask", "clarifying_questions", "question_bank"),
    "recorded": ("RecordedWorld", "RecordedWorlds"),
    "singleturn": ("Game", "SingleturnDataset", "SingleturnReport", "SingleturnSkip", "read_games"),
    "store": ("MissingPackError", "find_pack"),
    "tape": ("Recording", "Tape", "parse_tape", "read_recording"),
    "trajectory": ("ControlSequence", "Trajectory", "nearest_controls", "trajectory_of"),
    "writer": ("EpisodeRecorder", "SessionRecord", "WriteReport", "write_sessions"),
}
_MEMBERS = {name: f"iglu_marl.data.{module}" for module, names in _NAMES.items() for name in names}
_MODULES = frozenset({"bundled"})

__all__ = [
    "Action",
    "ActionSequence",
    "Bm25",
    "CDMDataset",
    "ControlSequence",
    "Corpus",
    "Dataset",
    "EpisodeRecorder",
    "Feedback",
    "Game",
    "HumanEvaluation",
    "IGLUDataset",
    "MissingPackError",
    "MultiturnDataset",
    "OwnTasks",
    "RankingScores",
    "RankingTask",
    "RecordedWorld",
    "RecordedWorlds",
    "Recording",
    "Report",
    "Row",
    "SessionRecord",
    "SessionWorlds",
    "SingleturnDataset",
    "SingleturnReport",
    "SingleturnSkip",
    "Skip",
    "Skipped",
    "Tape",
    "Trajectory",
    "Unavailable",
    "WriteReport",
    "action_sequences",
    "bundled",
    "clarifying_questions",
    "export_minari",
    "find_pack",
    "group_sessions",
    "human_evaluation",
    "nearest_controls",
    "parse_tape",
    "question_bank",
    "read_games",
    "read_gold",
    "read_recording",
    "read_rows",
    "read_session",
    "read_sessions",
    "read_world",
    "tasks_from_folder",
    "trajectory_of",
    "write_sessions",
    "write_tasks",
]


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name in _MEMBERS:
        value = getattr(importlib.import_module(_MEMBERS[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
