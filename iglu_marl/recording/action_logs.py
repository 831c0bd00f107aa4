"""Action logs of the IGLU data as a Minari dataset: the controls that follow people's actions, as episodes.

`write_action_logs` follows each log with actions of the encoding "continuous" (see `iglu_marl.data.nearest_controls`)
and steps the environment through them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from iglu_marl._version import __version__
from iglu_marl.core.arguments import as_count
from iglu_marl.core.controls import Controls
from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.errors import DataError
from iglu_marl.core.jobs import MOST_PROCESSES, do_jobs, each
from iglu_marl.core.task import Task
from iglu_marl.data.iglu.action_log import BuildRecording, read_action_log
from iglu_marl.data.iglu.trajectory import ControlSequence, nearest_controls, trajectory_of
from iglu_marl.data.report import Report, Skipped, SkipReason
from iglu_marl.envs.registration import RECORDED_ID
from iglu_marl.envs.single import STATE_SIGHTS
from iglu_marl.game.config import GameConfig
from iglu_marl.recording.offline import minari_module, play_actions, spec_of, write_episodes
from iglu_marl.recording.recorded_env import RecordedEnv, episode_options
from iglu_marl.recording.values import config_to_json, controls_to_json

DIALOG_LENGTH = 12_000  # observed characters; an attribute of HDF5 has less than 64 KiB

Source = tuple[str, bytes] | BuildRecording | ControlSequence
Episode = dict[str, Any] | Skipped


class LogSkip(SkipReason):
    """Why an action log gives no episode."""

    DAMAGED = "a damaged world file"
    NOTHING_DONE = "a log without an action"
    NOTHING_BUILT = "a log whose final world equals its start, so that there is no task"


def write_action_logs(
    logs: Iterable[Source],
    dataset_id: str,
    *,
    tasks: Mapping[str, Task] | None = None,
    report: Report[LogSkip] | None = None,
    pov_size: tuple[int, int] | None = None,
    stride: int = 1,
    processes: int = 1,
    **metadata: Any,
) -> Any:
    """Write action logs as a Minari dataset, and return it.

    The target of an episode is the final world of its log. The episode ends when the target is complete, or as
    truncated with the last action. Its metadata are `name`, `instruction`, `dialog` (the last 12,000 characters),
    `completed`, `actions_left_out` (those after completion) and `ControlSequence.residual`. `recover_environment()` of
    the dataset returns a `RecordedEnv`; an episode's `options` are those of its reset.

    Args:
        logs: (name, content) of world files, results of `read_action_log`, or results of `nearest_controls`.
        dataset_id: such as "iglu/logs-v0".
        tasks: tasks by name of the log, which give the dialogue, such as `MultiturnDataset.tasks_by_file()`.
        report: counts skipped logs.
        pov_size: (height, width) of pictures `pov`; None: no pictures.
        stride: see `nearest_controls`.
        processes: number of worker processes; the order is that of `logs`.
        metadata: further arguments of `minari.create_dataset_from_buffers`, such as `author`, and `append=True`.

    Raises:
        DataError: if Minari is missing, or there is no episode.
        ConfigError: if Minari refuses the id, or `processes` is not in 1..1024.

    """
    minari_module()
    as_count("processes", processes, 1, MOST_PROCESSES)
    report = Report() if report is None else report
    words, env = tasks or {}, _env(pov_size)
    jobs = ((log, words.get(_name(log))) for log in logs)
    episodes = do_jobs(each(partial(_episode, pov_size, stride)), jobs, processes=processes, in_order=True)
    return write_episodes(
        dataset_id,
        _report_skips((episode for _, episode in episodes), report),
        env.observation_space,
        env.action_space,
        **{
            "algorithm_name": "people",
            "description": "Recorded builders of the IGLU data, followed by the nearest controls.",
            "requirements": [f"iglu_marl>={__version__}"],
            "env": spec_of(RECORDED_ID, game=_game(pov_size)),
            **metadata,
        },
    )


def _name(log: Source) -> str:
    if isinstance(log, ControlSequence):
        return log.trajectory.name
    return log.name if isinstance(log, BuildRecording) else log[0]


def _report_skips(made: Iterable[Episode], report: Report[LogSkip]) -> Iterator[dict[str, Any]]:
    for episode in made:
        if isinstance(episode, Skipped):
            report.skipped.append(episode)
        else:
            report.tasks += 1
            yield episode


def _game(pov_size: tuple[int, int] | None) -> dict[str, Any]:
    """Return the `GAME_KEYS` of the episodes: a single builder that flies, without limits of steps and turns."""
    config = GameConfig(
        controls="continuous",
        turn_steps=None,
        max_turns=None,
        max_steps=None,
        dialog_length=DIALOG_LENGTH,
        pov_size=pov_size or (64, 64),
        builder_sees=(*("pov",) * (pov_size is not None), *STATE_SIGHTS),
    )
    return {
        "view": "single",
        "config": config_to_json(config),
        "controls": controls_to_json(Controls("continuous")),
        "recorded": True,
        "observes": {"id": "gridworld", "target_in_obs": True},
    }


@lru_cache(maxsize=1)
def _env(pov_size: tuple[int, int] | None) -> RecordedEnv:
    """Return the environment of the episodes, one per process."""
    return RecordedEnv(_game(pov_size))


def _episode(pov_size: tuple[int, int] | None, stride: int, job: tuple[Source, Task | None]) -> Episode:
    log, task = job
    name = _name(log)
    try:
        sequence = _controls_of(log, stride)
    except DataError as error:
        return Skipped(LogSkip.DAMAGED, name, None, str(error)[:200])
    path = sequence.trajectory
    if not len(sequence):
        return Skipped(LogSkip.NOTHING_DONE, name)
    if np.array_equal(path.start, path.end):
        return Skipped(LogSkip.NOTHING_BUILT, name)
    wanted = Task(
        Dialogue() if task is None else task.dialogue,
        path.end,
        None if task is None or not task.instruction else task.instruction,
        starting_grid=path.start,
        invariant=False,
        task_id=name,
        ids="iglu",
    )
    pose = next(sequence.replay()).pose[0].tolist()
    fields = play_actions(_env(pov_size), sequence.actions, None, episode_options(wanted, pose))
    assert fields is not None  # there are actions
    metadata = {
        "name": name,
        "instruction": wanted.instruction[-DIALOG_LENGTH:],
        "dialog": wanted.dialog[-DIALOG_LENGTH:],
        "completed": fields["terminations"][-1],
        "actions_left_out": len(sequence) - len(fields["rewards"]),
        **sequence.residual,
    }
    del fields["infos"]  # they repeat the target at every step
    return {**fields, "metadata": metadata}


def _controls_of(log: Source, stride: int) -> ControlSequence:
    if isinstance(log, ControlSequence):
        return log
    recording = log if isinstance(log, BuildRecording) else read_action_log(log[1], name=log[0])
    return nearest_controls(trajectory_of(recording), stride=stride)
