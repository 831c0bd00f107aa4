"""Play, record, evaluate in processes and show the server's help without the modules and calls of POSIX alone.

`python tests/without_posix.py FOLDER` writes to the folder. Processes are spawned, as on Windows. `--traces` compares
the hashes of trajectories, too.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import sys
from pathlib import Path

for _name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[_name] = None  # type: ignore[assignment]
for _place, _names in {
    os: ("fork", "mkfifo", "nice", "register_at_fork", "sched_getaffinity"),
    signal: ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPROF", "setitimer"),
}.items():
    for _name in _names:
        vars(_place).pop(_name, None)


def main(folder: Path) -> None:
    """Run it all; raise what goes wrong."""
    multiprocessing.set_start_method("spawn", force=True)
    import gymnasium

    import iglu_marl
    from iglu_marl.cli import app

    envs = gymnasium.make_vec("IGLUGridworldVector-v0", num_envs=2)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    envs.close()
    recording = folder / "a.jsonl"
    for line in (
        f"demo --output {folder / 'demo'}",
        f"record {recording} --episodes 2",
        f"replay {recording}",
        f"evaluate --count 2 --processes 2 --no-baselines --output {folder / 'out'}",
        "benchmark list",
        "tasks",
        "data list",
        "serve --help",
    ):
        code = app(line.split(), standalone_mode=False)
        assert code in (0, None), (line, code)
    recorder = iglu_marl.Recorder(recording)
    try:
        iglu_marl.Recorder(recording)
    except iglu_marl.DataError:
        pass
    else:
        raise AssertionError("two writers")
    recorder.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    if "--traces" in sys.argv:
        sys.argv = ["trajectories.py", "--check"]
        runpy.run_path(str(Path(__file__).with_name("trajectories.py")), run_name="__main__")
