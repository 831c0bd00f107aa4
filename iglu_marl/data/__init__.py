"""Datasets: recorded sessions and worlds, read into tasks.

- `MultiturnDataset` (also `IGLUDataset`) and `SingleturnDataset`: the IGLU data, as sources of tasks;
- `clarifying_questions`, `question_bank`, `RankingTask`, `Bm25`: when to ask, and what;
- `human_evaluation`: what people said of the agents of IGLU 2022;
- `CDMDataset`, `Corpus`, `action_sequences`: the Minecraft Dialogue Corpus, its timelines, its builders' actions;
- `read_recording`, `trajectory_of`, `nearest_controls`: the tapes of recorded builders;
- `write_sessions`, `EpisodeRecorder`: sessions and played episodes in the upstream multi-turn layout;
- `tasks_from_folder`, `write_tasks`: your own files of tasks;
- `Split`, `check_split`: one split of the structures into train, val and test, for all of these;
- `utterance_frame`, `task_frame`, `write_parquet`, `statistics`: corpora as tables, and their figures;
- `bundled.load()`: the sessions that come with the package; `read_sessions`: others in the multi-turn layout.

Colour ids are this project's everywhere (1 blue, 2 yellow, 3 green, 4 orange, 5 purple, 6 red), translated by
colour name. Everything is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import members

if TYPE_CHECKING:
    from iglu_marl.data import bundled as bundled
    from iglu_marl.data.dataset import Dataset as Dataset
    from iglu_marl.data.iglu.clarifying_questions import Bm25 as Bm25
    from iglu_marl.data.iglu.clarifying_questions import RankingScores as RankingScores
    from iglu_marl.data.iglu.clarifying_questions import RankingTask as RankingTask
    from iglu_marl.data.iglu.clarifying_questions import clarifying_questions as clarifying_questions
    from iglu_marl.data.iglu.clarifying_questions import question_bank as question_bank
    from iglu_marl.data.iglu.event_stream import Recording as Recording
    from iglu_marl.data.iglu.event_stream import Tape as Tape
    from iglu_marl.data.iglu.event_stream import parse_tape as parse_tape
    from iglu_marl.data.iglu.event_stream import read_recording as read_recording
    from iglu_marl.data.iglu.human_evaluation import Feedback as Feedback
    from iglu_marl.data.iglu.human_evaluation import HumanEvaluation as HumanEvaluation
    from iglu_marl.data.iglu.human_evaluation import Unavailable as Unavailable
    from iglu_marl.data.iglu.human_evaluation import human_evaluation as human_evaluation
    from iglu_marl.data.iglu.multiturn import Row as Row
    from iglu_marl.data.iglu.multiturn import Skip as Skip
    from iglu_marl.data.iglu.multiturn import group_sessions as group_sessions
    from iglu_marl.data.iglu.multiturn import read_rows as read_rows
    from iglu_marl.data.iglu.multiturn import read_session as read_session
    from iglu_marl.data.iglu.multiturn import read_sessions as read_sessions
    from iglu_marl.data.iglu.multiturn import read_world as read_world
    from iglu_marl.data.iglu.multiturn_dataset import IGLUDataset as IGLUDataset
    from iglu_marl.data.iglu.multiturn_dataset import MultiturnDataset as MultiturnDataset
    from iglu_marl.data.iglu.multiturn_dataset import SessionWorlds as SessionWorlds
    from iglu_marl.data.iglu.singleturn import Game as Game
    from iglu_marl.data.iglu.singleturn import SingleturnDataset as SingleturnDataset
    from iglu_marl.data.iglu.singleturn import SingleturnSkip as SingleturnSkip
    from iglu_marl.data.iglu.singleturn import read_games as read_games
    from iglu_marl.data.iglu.trajectory import ControlSequence as ControlSequence
    from iglu_marl.data.iglu.trajectory import Trajectory as Trajectory
    from iglu_marl.data.iglu.trajectory import nearest_controls as nearest_controls
    from iglu_marl.data.iglu.trajectory import trajectory_of as trajectory_of
    from iglu_marl.data.iglu.world_files import RecordedWorld as RecordedWorld
    from iglu_marl.data.iglu.world_files import RecordedWorlds as RecordedWorlds
    from iglu_marl.data.iglu.writer import EpisodeRecorder as EpisodeRecorder
    from iglu_marl.data.iglu.writer import SessionRecord as SessionRecord
    from iglu_marl.data.iglu.writer import write_sessions as write_sessions
    from iglu_marl.data.mdc.action_sequences import Action as Action
    from iglu_marl.data.mdc.action_sequences import ActionSequence as ActionSequence
    from iglu_marl.data.mdc.action_sequences import action_sequences as action_sequences
    from iglu_marl.data.mdc.corpus import Corpus as Corpus
    from iglu_marl.data.mdc.corpus import read_gold as read_gold
    from iglu_marl.data.mdc.dataset import CDMDataset as CDMDataset
    from iglu_marl.data.packs.store import MissingPackError as MissingPackError
    from iglu_marl.data.packs.store import find_pack as find_pack
    from iglu_marl.data.parquet import statistics as statistics
    from iglu_marl.data.parquet import task_frame as task_frame
    from iglu_marl.data.parquet import write_parquet as write_parquet
    from iglu_marl.data.report import Report as Report
    from iglu_marl.data.report import SingleturnReport as SingleturnReport
    from iglu_marl.data.report import Skipped as Skipped
    from iglu_marl.data.report import WriteReport as WriteReport
    from iglu_marl.data.splits import SharedStructure as SharedStructure
    from iglu_marl.data.splits import Split as Split
    from iglu_marl.data.splits import SplitWarning as SplitWarning
    from iglu_marl.data.splits import check_split as check_split
    from iglu_marl.data.task_files import OwnTasks as OwnTasks
    from iglu_marl.data.task_files import tasks_from_folder as tasks_from_folder
    from iglu_marl.data.task_files import write_tasks as write_tasks
    from iglu_marl.data.utterances import utterance_frame as utterance_frame

__getattr__, __dir__, __all__ = members(__name__)
