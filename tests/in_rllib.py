"""What test_rllib.py asks of Ray and RLlib, run by the Python of the environment that has them; prints JSON.

.venv-rllib/bin/python tests/in_rllib.py teams | levels
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

TEAMS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "1x2": (None, {"builders": 2}),
    "2x1": (None, {"architects": 2, "sees": {"architect_1": "none"}}),
    "2x2": (None, {"architects": 2, "builders": 2}),
    "1x3": (None, {"builders": 3}),
    "craft": ("craft", {}),
    "division": ("division", {}),
    "assistant": ("assistant", {}),
    "relay": ("relay", {}),
}
TEAM_GAME: dict[str, Any] = {
    "chat": "tokens",
    "vocabulary": 4,
    "max_message_length": 1,
    "dialog_length": 4,
    "builder_sees": ("inventory", "dialog", "pose"),
    "max_steps": 6,
}


def teams() -> dict[str, Any]:
    """RLlib's check of teams in both APIs, flattened and aligned; an iteration of PPO with one policy for each role."""
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv, PettingZooEnv
    from ray.rllib.utils.pre_checks.env import check_multiagent_environments
    from ray.tune.registry import register_env

    import iglu_marl
    from iglu_marl.envs.wrappers import align, discretize, flatten

    def made(make: Any, wrap: Any, team: str) -> Any:
        name, options = TEAMS[team]
        return wrap(discretize(make(name, **{**TEAM_GAME, **options}), "multidiscrete"))

    checked = []
    for team in TEAMS:
        for wrap in (flatten, align):
            check_multiagent_environments(ParallelPettingZooEnv(made(iglu_marl.parallel_env, wrap, team)))
            check_multiagent_environments(PettingZooEnv(made(iglu_marl.env, wrap, team)))
        checked.append(team)
    register_env("team", lambda config: ParallelPettingZooEnv(made(iglu_marl.parallel_env, flatten, "2x2")))
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    config = (
        PPOConfig()
        .environment("team")
        .env_runners(num_env_runners=0, rollout_fragment_length="auto")
        .multi_agent(
            policies={"architect", "builder"},
            policy_mapping_fn=lambda agent, *_, **__: agent.rpartition("_")[0],
        )
        .training(train_batch_size_per_learner=60, minibatch_size=60, num_epochs=1)
    )
    algo = config.build_algo()
    result = algo.train()
    algo.stop()
    ray.shutdown()
    print("teams")
    return {
        "checked": checked,
        "agents": sorted(result["env_runners"]["agent_episode_returns_mean"]),
        "learned": {
            role: int(result["learners"][role]["num_module_steps_trained"])
            for role in ("architect", "builder")
        },
    }


def levels() -> dict[str, Any]:
    """RLlib's check of the levels of teams as they are, and a random game of each."""
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
    from ray.rllib.utils.pre_checks.env import check_multiagent_environments

    from iglu_marl import benchmark

    steps = {}
    for level in benchmark.levels("team"):
        env = ParallelPettingZooEnv(benchmark.make(level))
        check_multiagent_environments(env)
        env.reset(seed=0)
        over, count = False, 0
        while not over:
            _, _, ended, cut, _ = env.step(env.action_space.sample())
            over, count = ended["__all__"] or cut["__all__"], count + 1
        steps[level.name] = count
    print("levels")
    return {"steps": steps}


def main() -> None:
    import gymnasium

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        answer = {"teams": teams, "levels": levels}[sys.argv[1]]()
    print(
        json.dumps(
            {"gymnasium": gymnasium.__version__, "printed": shown.getvalue().splitlines()[0], **answer}
        )
    )


if __name__ == "__main__":
    main()
