"""Datasets: recorded sessions and worlds as task sources.

| names | use |
|---|---|
| `MultiturnDataset` (`IGLUDataset`), `SingleturnDataset`, `CDMDataset` | the corpora as task sources |
| `bundled.load()`, `read_sessions` | the bundled sessions; a folder in the IGLU multi-turn layout |
| `Corpus`, `action_sequences` | Minecraft Dialogue Corpus: timelines, and the builder's net actions |
| `read_recording`, `trajectory_of`, `nearest_controls` | the builders' action logs (IGLU) |
| `clarifying_questions`, `question_bank`, `RankingTask`, `Bm25` | when to ask, and what |
| `human_evaluation` | judgements of the agents of IGLU 2022 |
| `tasks_from_folder`, `write_tasks` | your own task files |
| `write_sessions`, `EpisodeRecorder`, `SessionRecord` | sessions and episodes in the IGLU multi-turn layout |
| `Split`, `check_split` | the split of the structures into train, val and test |
| `utterance_frame`, `task_frame`, `write_parquet`, `statistics` | corpora as tables |

Color ids are this project's (1 blue, 2 yellow, 3 green, 4 orange, 5 purple, 6 red), mapped by color name. Exports are
loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:
    from iglu_marl.data import bundled as bundled
    from iglu_marl.data.dataset import Dataset as Dataset
    from iglu_marl.data.iglu.action_log import parse_action_log as parse_action_log
    from iglu_marl.data.iglu.action_log import read_recording as read_recording
    from iglu_marl.data.iglu.clarifying_questions import Bm25 as Bm25
    from iglu_marl.data.iglu.clarifying_questions import RankingTask as RankingTask
    from iglu_marl.data.iglu.clarifying_questions import clarifying_questions as clarifying_questions
    from iglu_marl.data.iglu.clarifying_questions import question_bank as question_bank
    from iglu_marl.data.iglu.human_evaluation import Unavailable as Unavailable
    from iglu_marl.data.iglu.human_evaluation import human_evaluation as human_evaluation
    from iglu_marl.data.iglu.multiturn import read_sessions as read_sessions
    from iglu_marl.data.iglu.multiturn_dataset import IGLUDataset as IGLUDataset
    from iglu_marl.data.iglu.multiturn_dataset import MultiturnDataset as MultiturnDataset
    from iglu_marl.data.iglu.singleturn import SingleturnDataset as SingleturnDataset
    from iglu_marl.data.iglu.trajectory import nearest_controls as nearest_controls
    from iglu_marl.data.iglu.trajectory import trajectory_of as trajectory_of
    from iglu_marl.data.iglu.writer import EpisodeRecorder as EpisodeRecorder
    from iglu_marl.data.iglu.writer import SessionRecord as SessionRecord
    from iglu_marl.data.iglu.writer import write_sessions as write_sessions
    from iglu_marl.data.mdc.action_sequences import action_sequences as action_sequences
    from iglu_marl.data.mdc.corpus import Corpus as Corpus
    from iglu_marl.data.mdc.dataset import CDMDataset as CDMDataset
    from iglu_marl.data.packs.store import MissingPackError as MissingPackError
    from iglu_marl.data.packs.store import find_pack as find_pack
    from iglu_marl.data.parquet import statistics as statistics
    from iglu_marl.data.parquet import task_frame as task_frame
    from iglu_marl.data.parquet import write_parquet as write_parquet
    from iglu_marl.data.report import Report as Report
    from iglu_marl.data.splits import Split as Split
    from iglu_marl.data.splits import SplitWarning as SplitWarning
    from iglu_marl.data.splits import check_split as check_split
    from iglu_marl.data.task_files import tasks_from_folder as tasks_from_folder
    from iglu_marl.data.task_files import write_tasks as write_tasks
    from iglu_marl.data.utterances import utterance_frame as utterance_frame

_RENAMED = {  # exports of version 0.2: old name -> its place below this package
    "Tape": "iglu.action_log:ActionLog",
    "parse_tape": "iglu.action_log:parse_action_log",
    "Recording": "iglu.action_log:BuildRecording",
    "Action": "mdc.action_sequences:NetAction",
    "Skip": "iglu.multiturn:MultiturnSkip",
    "Trajectory": "iglu.trajectory:RecordedTrajectory",
    "SingleturnReport": "report:Report",
    "WriteReport": "report:Report",
}
_MOVED = {  # exports of version 0.2 that keep their name, by their module
    "iglu.clarifying_questions": ("RankingScores",),
    "iglu.human_evaluation": ("Feedback", "HumanEvaluation"),
    "iglu.multiturn": ("Row", "group_sessions", "read_rows", "read_session", "read_world"),
    "iglu.multiturn_dataset": ("SessionWorlds",),
    "iglu.singleturn": ("Game", "SingleturnSkip", "read_games"),
    "iglu.trajectory": ("ControlSequence",),
    "iglu.world_files": ("RecordedWorld", "RecordedWorlds"),
    "mdc.action_sequences": ("ActionSequence",),
    "mdc.reader": ("read_gold",),
    "report": ("Skipped",),
    "splits": ("SharedStructure",),
    "task_files": ("OwnTasks",),
}
_RENAMED |= {name: f"{module}:{name}" for module, names in _MOVED.items() for name in names}
__getattr__, __dir__, __all__ = lazy_exports(
    __name__, renamed={old: f"{__name__}.{place}" for old, place in _RENAMED.items()}
)
