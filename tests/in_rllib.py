"""What test_rllib.py asks of Ray and RLlib, run by the Python of the environment that has them; prints JSON.

.venv-rllib/bin/python tests/in_rllib.py rays | training
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def plain(value: Any) -> Any:
    """Rows without what depends on the clock."""
    return [{key: part for key, part in row.items() if key != "seconds"} for row in value]


def rays() -> dict[str, Any]:
    """Two workers and none: the same rollouts, the same evaluation; and an evaluation that goes on where it was."""
    example = runpy.run_path(str(EXAMPLES / "ray_rollouts.py"))
    alone = example["rollouts"](0, 6, 50, 3)
    tasks = example["tasks_of"]("bundled", count=4)
    settings, rows = example["games"](tasks, 3, None)
    with tempfile.TemporaryDirectory() as folder:
        arguments = {"workers": 2, "worlds": 6, "steps": 50, "count": 4, "seed": 3, "output": folder}
        rolled, evaluation = example["main"](**arguments)
        files = sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("games.jsonl"))
        lines = [Path(folder, name).read_text().splitlines() for name in files]
        Path(folder, files[0]).write_text("\n".join(lines[0][:-1]) + "\n" + lines[0][-1][:20])  # as if killed
        kept = lines[1]
        _, again = example["main"](**arguments)
        resumed = Path(folder, files[1]).read_text().splitlines()
    return {
        "rollouts": all(np.array_equal(rolled[key], alone[key]) for key in alone),
        "moved": bool(np.ptp(alone["poses"]) > 1) and bool(alone["rewards"].any()),
        "rows": plain(evaluation.rows) == plain(rows),
        "settings": evaluation.settings == settings,
        "games": len(evaluation.rows),
        "files": files,
        "resumed": plain(again.rows) == plain(rows) and resumed == kept,
    }


def training() -> dict[str, Any]:
    """RLlib's check of the environment, and one iteration with a policy for each role on two env runners."""
    from ray.rllib.utils.pre_checks.env import check_multiagent_environments

    example = runpy.run_path(str(EXAMPLES / "rllib_two_agents.py"))
    env = example["make_env"]({"max_steps": 20})
    check_multiagent_environments(env)
    (result,) = example["main"](iterations=1, env_runners=2, batch=200, max_steps=20)
    runners, learners = result["env_runners"], result["learners"]
    return {
        "spaces": {agent: str(space) for agent, space in sorted(env.action_space.spaces.items())},
        "steps": int(runners["num_env_steps_sampled_lifetime"]),
        "runners": int(result["fault_tolerance"]["num_healthy_workers"]),
        "learned": {role: int(learners[role]["num_module_steps_trained"]) for role in example["ROLES"]},
        "weights": {role: int(learners[role]["num_trainable_parameters"]) for role in example["ROLES"]},
        "agents": sorted(runners["agent_episode_returns_mean"]),
    }


def main() -> None:
    import gymnasium

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        told = {"rays": rays, "training": training}[sys.argv[1]]()
    print(
        json.dumps({"gymnasium": gymnasium.__version__, "printed": shown.getvalue().splitlines()[0], **told})
    )


if __name__ == "__main__":
    main()
