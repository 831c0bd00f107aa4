"""Datasets: recorded sessions and worlds as task sources.

| names | use |
|---|---|
| `MultiturnDataset` (`IGLUDataset`), `SingleturnDataset`, `CDMDataset` | the corpora as task sources |
| `bundled.load()`, `read_sessions` | the bundled sessions; a folder in the IGLU multi-turn layout |
| `Corpus`, `action_sequences` | Minecraft Dialogue Corpus: timelines, and the builder's net actions |
| `read_action_log`, `trajectory_of`, `nearest_controls` | the builders' action logs (IGLU) |
| `clarifying_questions`, `question_bank`, `RankingTask` | when to ask, and what |
| `human_evaluation` | judgements of the agents of IGLU 2022 |
| `tasks_from_folder`, `write_tasks` | your own task files |
| `write_sessions`, `EpisodeRecorder` | sessions and episodes in the IGLU multi-turn layout |
| `Split`, `check_split` | the split of the structures into train, val and test |
| `utterance_frame` | utterances of a corpus as a table; `iglu_marl.data.parquet` writes tables |

Color ids are this project's (1 blue, 2 yellow, 3 green, 4 orange, 5 purple, 6 red), mapped by color name. Exports are
loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:
    from iglu_marl.data.iglu.action_log import read_action_log as read_action_log
    from iglu_marl.data.iglu.clarifying_questions import RankingTask as RankingTask
    from iglu_marl.data.iglu.clarifying_questions import clarifying_questions as clarifying_questions
    from iglu_marl.data.iglu.clarifying_questions import question_bank as question_bank
    from iglu_marl.data.iglu.human_evaluation import human_evaluation as human_evaluation
    from iglu_marl.data.iglu.multiturn_dataset import IGLUDataset as IGLUDataset
    from iglu_marl.data.iglu.multiturn_dataset import MultiturnDataset as MultiturnDataset
    from iglu_marl.data.iglu.multiturn_dataset import read_sessions as read_sessions
    from iglu_marl.data.iglu.singleturn import SingleturnDataset as SingleturnDataset
    from iglu_marl.data.iglu.trajectory import nearest_controls as nearest_controls
    from iglu_marl.data.iglu.trajectory import trajectory_of as trajectory_of
    from iglu_marl.data.iglu.writer import EpisodeRecorder as EpisodeRecorder
    from iglu_marl.data.iglu.writer import write_sessions as write_sessions
    from iglu_marl.data.mdc.action_sequences import action_sequences as action_sequences
    from iglu_marl.data.mdc.corpus import Corpus as Corpus
    from iglu_marl.data.mdc.dataset import CDMDataset as CDMDataset
    from iglu_marl.data.packs.store import find_pack as find_pack
    from iglu_marl.data.splits import Split as Split
    from iglu_marl.data.splits import check_split as check_split
    from iglu_marl.data.task_files import tasks_from_folder as tasks_from_folder
    from iglu_marl.data.task_files import write_tasks as write_tasks
    from iglu_marl.data.utterances import utterance_frame as utterance_frame

__getattr__, __dir__, __all__ = lazy_exports(__name__, ("bundled",))
