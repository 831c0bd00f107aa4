"""RLlib, new API stack: PPO for architect and builder with one policy each, over env runners in processes of their own.

    python examples/rllib_two_agents.py --iterations 50 --env-runners 2

The architect sees a blue or a red block and says two of four symbols in each step; the builder hears them, looks around
and places blocks of either colour. RLlib's own parallel PettingZoo wrapper takes the environment once observations are
vectors and actions are numbers. Needs the extra `rllib`, which pins Gymnasium 1.2.2: give it an environment of its own.
"""

from __future__ import annotations

from typing import Any

import typer

import iglu_marl
from iglu_marl import Task
from iglu_marl.core.extras import extra
from iglu_marl.envs.wrappers import discretize, flatten

with extra("rllib", script=True):
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
    from ray.tune.registry import register_env

ROLES = ("architect", "builder")

# What the builder can do, one number each: look around, and place a blue or a red block.
ACTIONS = (
    {},
    *({"camera": (yaw, pitch)} for yaw, pitch in ((-5, 0), (5, 0), (0, -5), (0, 5))),
    *({"inventory": color, "placement": 1} for color in (1, 6)),
)


def make_env(config: dict[str, Any]) -> ParallelPettingZooEnv:
    """Return the game with Box observations, MultiDiscrete messages and Discrete moves."""
    env = iglu_marl.parallel_env(
        tasks=[Task("", [(0, -1, 0, color)]) for color in (1, 6)],
        controls="flying",
        chat="tokens",
        vocabulary=4,
        max_message_length=2,
        dialog_length=3,  # the speaker's mark and the latest message
        architect_sees=("target_grid", "dialog"),
        builder_sees=("pose", "dialog"),
        completion="cover",  # a block in the other colour may stay,
        wrong_scale=0,  # and costs nothing
        max_steps=config.get("max_steps", 50),
        max_turns=None,
    )
    return ParallelPettingZooEnv(discretize(flatten(env, words="one-hot"), table=ACTIONS))


def role_of(agent: str, episode: Any = None, **_: Any) -> str:
    """Return the name of an agent's policy."""
    return agent.removesuffix("_0")


def algorithm(env_runners: int, batch: int, max_steps: int, seed: int) -> Any:
    """Return PPO with a network per role."""
    register_env("architect_builder", make_env)
    networks = {
        role: RLModuleSpec(model_config=DefaultModelConfig(fcnet_hiddens=[128, 128])) for role in ROLES
    }
    config = (
        PPOConfig()
        .environment("architect_builder", env_config={"max_steps": max_steps})
        .env_runners(num_env_runners=env_runners, rollout_fragment_length="auto")
        .multi_agent(policies=set(ROLES), policy_mapping_fn=role_of)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=networks))
        .training(train_batch_size_per_learner=batch, minibatch_size=min(256, batch), num_epochs=4, lr=3e-4)
        .debugging(seed=seed)
    )
    return config.build_algo()


def main(
    iterations: int = 20, env_runners: int = 2, batch: int = 2000, max_steps: int = 50, seed: int = 0
) -> list[dict[str, Any]]:
    """Train, print a line per iteration, and return the results of RLlib. batch: steps for each update."""
    local = {"num_cpus": env_runners + 1, "include_dashboard": False, "log_to_driver": False}
    ray.init("local", ignore_reinit_error=True, **local)
    algo = algorithm(env_runners, batch, max_steps, seed)
    results = []
    for number in range(iterations):
        result = algo.train()
        results.append(result)
        runners = result["env_runners"]
        returns = ", ".join(f"{role} {runners['module_episode_returns_mean'][role]:+.2f}" for role in ROLES)
        print(
            f"{number + 1}: {runners['num_env_steps_sampled_lifetime']:.0f} steps, mean return: {returns}",
            flush=True,
        )
    algo.stop()
    ray.shutdown()
    return results


if __name__ == "__main__":
    typer.run(main)
