"""What people did on the tapes of the IGLU data, as a Minari dataset: the nearest actions, in an environment of ours.

`write_tapes` follows each tape with actions of the encoding "continuous" (see `iglu_marl.data.nearest_controls`) and
steps the environment through them; the words that belong to a tape are its task's.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from functools import lru_cache, partial
from typing import Any

import numpy as np

from iglu_marl._version import __version__
from iglu_marl.core.controls import Controls
from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.task import Task
from iglu_marl.data.iglu.event_stream import TapeRecording, read_recording
from iglu_marl.data.iglu.minari_export import minari_module, write_episodes
from iglu_marl.data.iglu.trajectory import ControlSequence, nearest_controls, trajectory_of
from iglu_marl.data.report import Report, Skipped, SkipReason
from iglu_marl.game.config import GameConfig
from iglu_marl.recording.offline import played_episode, recorded_spec
from iglu_marl.recording.recorded_env import RecordedEnv, episode_options
from iglu_marl.recording.values import config_to_json, controls_to_json

DIALOG_LENGTH = 12_000  # characters that are observed; an attribute of HDF5 has less than 64 KiB

Tape = tuple[str, bytes] | TapeRecording | ControlSequence
Made = dict[str, Any] | Skipped


class TapeSkip(SkipReason):
    """Why a tape is no episode."""

    DAMAGED = "a damaged world file"
    NOTHING_DONE = "a tape on which nothing happens"
    NOTHING_BUILT = "a tape that ends with the world that it begins with, so that nothing is asked for"


def write_tapes(
    tapes: Iterable[Tape],
    dataset_id: str,
    *,
    tasks: Mapping[str, Task] | None = None,
    report: Report[TapeSkip] | None = None,
    pov_size: tuple[int, int] | None = None,
    stride: int = 1,
    processes: int = 1,
    **metadata: Any,
) -> Any:
    """Write tapes as a Minari dataset, and return it.

    tapes: names and contents of world files, recordings (`read_recording`), or control sequences (`nearest_controls`).
    dataset_id: such as "iglu/tapes-v0". tasks: by the names of tapes, those whose words belong to them, such as
        `MultiturnDataset.tasks_by_file()`; what is to be built is always the world at the end of the tape.
    report: gets what is left out, and why. pov_size: with (height, width), there are pictures `pov`, too.
    stride: see `nearest_controls`. processes: how many follow tapes at the same time; the order is that of `tapes`.
    metadata: further arguments of `minari.create_dataset_from_buffers`, such as `author` and `description`, and
        `append=True` to add to a dataset that exists.

    An episode ends, as in every environment, when the target stands; one whose tape led elsewhere ends as truncated.
    Its metadata tell `name`, `instruction`, `dialog` (the latest 12,000 characters), `completed`, `actions_left_out`
    (those after the target stood) and how near its actions came (`ControlSequence.residual`).
    `recover_environment()` of the dataset gives a `RecordedEnv`; an episode's `options` are those of its reset.
    Raises `DataError` without Minari or without an episode, and `ConfigError` for an id that Minari refuses.
    """
    minari_module()
    if processes < 1:
        raise ConfigError(f"processes is {processes!r}, expected an integer of 1 or more")
    report = Report() if report is None else report
    words, env = tasks or {}, _env(pov_size)
    jobs = ((tape, words.get(_name(tape))) for tape in tapes)
    return write_episodes(
        dataset_id,
        _kept(_in_order(partial(_episode, pov_size, stride), jobs, processes), report),
        env.observation_space,
        env.action_space,
        **{
            "algorithm_name": "people",
            "description": "Recorded builders of the IGLU data, followed by the nearest controls.",
            "requirements": [f"iglu_marl>={__version__}"],
            "env": recorded_spec(game=_game(pov_size)),
            **metadata,
        },
    )


def _name(tape: Tape) -> str:
    if isinstance(tape, ControlSequence):
        return tape.trajectory.name
    return tape.name if isinstance(tape, TapeRecording) else tape[0]


def _kept(made: Iterable[Made], report: Report[TapeSkip]) -> Iterator[dict[str, Any]]:
    """The episodes; what is none is noted."""
    for each in made:
        if isinstance(each, Skipped):
            report.skipped.append(each)
        else:
            report.tasks += 1
            yield each


def _in_order(function: Callable[[Any], Made], jobs: Iterable[Any], processes: int) -> Iterator[Made]:
    """What a function makes of each job, in their order, with a few jobs a process under way."""
    if processes == 1:
        yield from map(function, jobs)
        return
    # Forks inherit locks of threads.
    pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))
    waiting: deque[Future[Made]] = deque()
    try:
        for job in jobs:
            waiting.append(pool.submit(function, job))
            if len(waiting) > 4 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


# ----------------------------------------------------------------------------------------------- one tape


def _game(pov_size: tuple[int, int] | None) -> dict[str, Any]:
    """The game of tapes, as a recording's header has it: a lone builder who flies, with all the time it needs."""
    config = GameConfig(
        controls="continuous",
        turn_steps=None,
        max_turns=None,
        max_steps=None,
        dialog_length=DIALOG_LENGTH,
        pov_size=pov_size or (64, 64),
    )
    return {
        "view": "single",
        "config": config_to_json(config),
        "controls": controls_to_json(Controls("continuous")),
        "recorded": True,
        "observes": {
            "id": "gridworld",
            "render": pov_size is not None,
            "vector_state": True,
            "target_in_obs": True,
        },
    }


@lru_cache(maxsize=1)
def _env(pov_size: tuple[int, int] | None) -> RecordedEnv:
    """The environment of tapes, one in each process."""
    return RecordedEnv(_game(pov_size))


def _episode(pov_size: tuple[int, int] | None, stride: int, job: tuple[Tape, Task | None]) -> Made:
    """A tape as the fields of an episode, or why it is none."""
    tape, task = job
    name = _name(tape)
    try:
        sequence = _followed(tape, stride)
    except DataError as error:
        return Skipped(TapeSkip.DAMAGED, name, None, str(error)[:200])
    path = sequence.trajectory
    if not len(sequence):
        return Skipped(TapeSkip.NOTHING_DONE, name)
    if np.array_equal(path.start, path.end):
        return Skipped(TapeSkip.NOTHING_BUILT, name)
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
    fields = played_episode(_env(pov_size), sequence.actions, None, episode_options(wanted, pose))
    assert fields is not None  # there are actions
    metadata = {
        "name": name,
        "instruction": wanted.instruction[-DIALOG_LENGTH:],
        "dialog": wanted.dialog[-DIALOG_LENGTH:],
        "completed": fields["terminations"][-1],
        "actions_left_out": len(sequence) - len(fields["rewards"]),
        **sequence.residual,
    }
    del fields["infos"]  # the target again, at every step
    return {**fields, "metadata": metadata}


def _followed(tape: Tape, stride: int) -> ControlSequence:
    if isinstance(tape, ControlSequence):
        return tape
    recording = tape if isinstance(tape, TapeRecording) else read_recording(tape[1], name=tape[0])
    return nearest_controls(trajectory_of(recording), stride=stride)
