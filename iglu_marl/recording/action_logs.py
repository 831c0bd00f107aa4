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
from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.errors import DataError
from iglu_marl.core.jobs import MOST_PROCESSES, do_jobs, each
from iglu_marl.core.task import Task
from iglu_marl.data.iglu.action_log import read_action_log
from iglu_marl.data.iglu.trajectory import nearest_controls, trajectory_of
from iglu_marl.data.report import Report, Skipped, SkipReason
from iglu_marl.envs.single import STATE_SIGHTS, GridworldEnv
from iglu_marl.recording.offline import columns, minari_module, write_episodes

DIALOG_LENGTH = 12_000  # observed characters; an attribute of HDF5 has less than 64 KiB

Log = tuple[str, bytes]  # name and content of a world file
Episode = dict[str, Any] | Skipped


class LogSkip(SkipReason):
    """Why an action log gives no episode."""

    DAMAGED = "a damaged world file"
    NOTHING_DONE = "a log without an action"
    NOTHING_BUILT = "a log whose final world equals its start, so that there is no task"


def write_action_logs(
    logs: Iterable[Log],
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
    `completed`, `actions_left_out` (those after completion) and `ControlSequence.residual`.

    Args:
        logs: (name, content) of world files.
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
    jobs = ((log, words.get(log[0])) for log in logs)
    episodes = do_jobs(each(partial(_episode, pov_size, stride)), jobs, processes=processes, in_order=True)
    about = {
        "algorithm_name": "people",
        "description": "Recorded builders of the IGLU data, followed by the nearest controls.",
        "requirements": [f"iglu_marl>={__version__}"],
    }
    return write_episodes(
        dataset_id,
        _report_skips((episode for _, episode in episodes), report),
        env.observation_space,
        env.action_space,
        **{**about, **metadata},
    )


def _report_skips(made: Iterable[Episode], report: Report[LogSkip]) -> Iterator[dict[str, Any]]:
    for episode in made:
        if isinstance(episode, Skipped):
            report.skipped.append(episode)
        else:
            report.tasks += 1
            yield episode


@lru_cache(maxsize=1)
def _env(pov_size: tuple[int, int] | None) -> GridworldEnv:
    """Return the environment of the episodes, one per process: a builder that flies, without limits."""
    pictures: dict[str, Any] = {} if pov_size is None else {"pov_size": pov_size}
    return GridworldEnv(
        "continuous",
        builder_sees=(*("pov",) * bool(pictures), *STATE_SIGHTS),
        target_in_obs=True,
        max_steps=None,
        dialog_length=DIALOG_LENGTH,
        **pictures,
    )


def _episode(pov_size: tuple[int, int] | None, stride: int, job: tuple[Log, Task | None]) -> Episode:
    (name, content), task = job
    try:
        sequence = nearest_controls(trajectory_of(read_action_log(content, name=name)), stride=stride)
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
    env = _env(pov_size)
    observation, _ = env.reset(options={"task": wanted, "pose": pose})
    observations, rewards, ends = [observation], [], []
    for action in sequence.actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        observations.append(observation)
        rewards.append(float(reward))
        ends.append((terminated, truncated))
        if terminated:
            break
    spaces = env.observation_space, env.action_space
    fields = columns(*spaces, observations, sequence.actions[: len(rewards)], rewards, ends)
    metadata = {
        "name": name,
        "instruction": wanted.instruction[-DIALOG_LENGTH:],
        "dialog": wanted.dialog[-DIALOG_LENGTH:],
        "completed": fields["terminations"][-1],
        "actions_left_out": len(sequence) - len(rewards),
        **sequence.residual,
    }
    return {**fields, "metadata": metadata}
