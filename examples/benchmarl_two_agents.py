"""BenchMARL: its own algorithms (MAPPO, IPPO, QMIX, …) on the game of architect and builder.

    python examples/benchmarl_two_agents.py --algorithm mappo --iterations 20
    python examples/benchmarl_two_agents.py --level team-assist-v2 --algorithm iql

`PettingZooClass` of BenchMARL describes an environment of TorchRL's PettingZoo wrapper. `align` gives both agents the
same Box and the same actions, so that they are one group, and `mask` marks the actions that have an effect. In the
game, the architect sees a blue or a red block and says one of four symbols. A team level of the benchmark is taken as
it is.
BenchMARL needs an older TorchRL, so `make adapters` installs it into a separate environment.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

import iglu_marl
from iglu_marl import Task, benchmark
from iglu_marl.core.extras import extra
from iglu_marl.envs.wrappers import align, discretize, mask

with extra("benchmarl", script=True):
    from benchmarl.algorithms import algorithm_config_registry
    from benchmarl.environments.pettingzoo.common import PettingZooClass
    from benchmarl.experiment import Experiment, ExperimentConfig
    from benchmarl.models.mlp import MlpConfig
    from torchrl.envs import MarlGroupMapType, PettingZooWrapper

# What the builder can do, one number each: look around, and place a blue or a red block.
ACTIONS = (
    {},
    *({"camera": (yaw, pitch)} for yaw, pitch in ((-5, 0), (5, 0), (0, -5), (0, 5))),
    *({"inventory": color, "placement": 1} for color in (1, 6)),
)


class ArchitectBuilder(PettingZooClass):
    """The game as a task of BenchMARL. config: `max_steps` of an episode, `level` of the benchmark; "": none."""

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], Any]:
        """Return a function that makes one environment."""
        return lambda: PettingZooWrapper(
            self.game(), group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, seed=seed, device=device
        )

    def game(self) -> Any:
        """Return a level, or the game with equal spaces for both agents and masked actions."""
        if self.config["level"]:
            return benchmark.make(self.config["level"], "train")
        env = iglu_marl.parallel_env(
            tasks=[Task("", [(0, -1, 0, color)]) for color in (1, 6)],
            controls="flying",
            chat="tokens",
            vocabulary=4,
            max_message_length=1,
            dialog_length=2,  # the speaker's mark and the latest symbol
            architect_sees=("target_grid", "dialog"),
            builder_sees=("pose", "dialog"),
            completion="cover",  # a block in the other colour may stay,
            wrong_scale=0,  # and costs nothing
            max_steps=self.config["max_steps"],
            max_turns=None,
        )
        return mask(align(discretize(env, table=ACTIONS), actions="discrete", words="one-hot"))

    def supports_continuous_actions(self) -> bool:
        return False

    def supports_discrete_actions(self) -> bool:
        return True

    def has_state(self) -> bool:
        """Return False: central critics see the observations of both agents."""
        return False

    def has_render(self, env: Any) -> bool:
        return False

    def max_steps(self, env: Any) -> int:
        return int(self.config["max_steps"])

    @staticmethod
    def env_name() -> str:
        return "iglu_marl"


def main(
    level: str = "",
    algorithm: str = "mappo",
    iterations: int = 20,
    batch: int = 1000,
    max_steps: int = 50,
    seed: int = 0,
    output: Path = Path("benchmarl"),
) -> float:
    """Train, and return the mean return of the last evaluation.

    level: one of teams; none: the game of this page. batch: steps for each update.
    """
    max_steps = benchmark.find(level).max_steps if level else max_steps
    config = ExperimentConfig.get_from_yaml()
    config.loggers = ["csv"]
    config.max_n_iters, config.max_n_frames = iterations, None
    config.on_policy_collected_frames_per_batch = config.off_policy_collected_frames_per_batch = batch
    config.on_policy_n_envs_per_worker = config.off_policy_n_envs_per_worker = 1
    config.on_policy_n_minibatch_iters, config.on_policy_minibatch_size = 4, 250
    config.evaluation_interval, config.evaluation_episodes = batch * max(1, iterations // 2), 20
    config.render = False
    config.create_json = True
    output.mkdir(parents=True, exist_ok=True)
    config.save_folder = str(output)
    experiment = Experiment(
        task=ArchitectBuilder("architect_builder", {"max_steps": max_steps, "level": level}),
        algorithm_config=algorithm_config_registry[algorithm].get_from_yaml(),
        model_config=MlpConfig.get_from_yaml(),
        critic_model_config=MlpConfig.get_from_yaml(),
        seed=seed,
        config=config,
    )
    experiment.run()
    result = float(experiment.mean_return)
    print(f"{algorithm}: mean return {result:.2f} after {iterations * batch:,} steps")
    return result


if __name__ == "__main__":
    typer.run(main)
