"""What test_rllib.py asks of RLlib, run by the Python of the environment that has them; prints JSON.

.venv-rllib/bin/python tests/in_rllib.py
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


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
        told = training()
    print(
        json.dumps({"gymnasium": gymnasium.__version__, "printed": shown.getvalue().splitlines()[0], **told})
    )


if __name__ == "__main__":
    main()
