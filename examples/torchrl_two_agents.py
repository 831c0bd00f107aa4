"""TorchRL: PPO with one network for architect and builder.

    python examples/torchrl_two_agents.py --iterations 20

`align` gives both agents the same Box (with a mark of who it is) and the same Discrete actions, and `mask` says which
of them an agent has and which have an effect, so TorchRL can put the two into one group and share the parameters. The
architect sees a blue or a red block and says one of four symbols; the builder hears it, looks around and places blocks
of either colour. Needs the extra `rl`.
"""

from __future__ import annotations

from typing import Any

import typer

import iglu_marl
from iglu_marl import Task
from iglu_marl.core.extras import extra
from iglu_marl.envs.wrappers import align, discretize, mask

with extra("rl", script=True):
    import torch
    from tensordict.nn import TensorDictModule
    from torch import nn
    from torchrl.collectors import Collector
    from torchrl.envs import MarlGroupMapType, PettingZooWrapper, RewardSum, TransformedEnv
    from torchrl.modules import MaskedCategorical, ProbabilisticActor
    from torchrl.objectives import ClipPPOLoss, ValueEstimators

GROUP = "agents"


# What the builder can do, one number each: look around, and place a blue or a red block.
ACTIONS = (
    {},
    *({"camera": (yaw, pitch)} for yaw, pitch in ((-5, 0), (5, 0), (0, -5), (0, 5))),
    *({"inventory": color, "placement": 1} for color in (1, 6)),
)


def make_env(max_steps: int, seed: int) -> TransformedEnv:
    """Return the game with both agents in one group; tensors have the shape [2, …]."""
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
        max_steps=max_steps,
        max_turns=None,
    )
    alike = mask(align(discretize(env, table=ACTIONS), actions="discrete", words="one-hot"))
    both = PettingZooWrapper(alike, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, seed=seed)
    total = RewardSum(in_keys=[(GROUP, "reward")], out_keys=[(GROUP, "episode_reward")])
    return TransformedEnv(both, total)


def network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, outputs)
    )


def make_modules(env: TransformedEnv) -> tuple[ProbabilisticActor, TensorDictModule, ClipPPOLoss]:
    """Return actor, critic and loss."""
    inputs = env.observation_spec[GROUP, "observation"].shape[-1]
    outputs = env.full_action_spec_unbatched[GROUP, "action"].space.n
    logits = TensorDictModule(network(inputs, outputs), [(GROUP, "observation")], [(GROUP, "logits")])
    actor = ProbabilisticActor(
        logits,
        in_keys={"logits": (GROUP, "logits"), "mask": (GROUP, "action_mask")},
        out_keys=[(GROUP, "action")],
        spec=env.full_action_spec_unbatched,
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=(GROUP, "log_prob"),
    )
    critic = TensorDictModule(network(inputs, 1), [(GROUP, "observation")], [(GROUP, "value")])
    loss = ClipPPOLoss(
        actor,
        critic,
        entropy_coeff=0.01,
        normalize_advantage=True,
        normalize_advantage_exclude_dims=(-2,),  # each agent by itself
    )
    loss.set_keys(
        reward=(GROUP, "reward"),
        action=(GROUP, "action"),
        sample_log_prob=(GROUP, "log_prob"),
        value=(GROUP, "value"),
        done=(GROUP, "done"),
        terminated=(GROUP, "terminated"),
    )
    loss.make_value_estimator(ValueEstimators.GAE, gamma=0.99, lmbda=0.95)
    return actor, critic, loss


def main(
    iterations: int = 20, batch: int = 1000, epochs: int = 4, max_steps: int = 50, seed: int = 0
) -> list[dict[str, float]]:
    """Train; print and return the measurements of each iteration. batch: steps for each update."""
    torch.set_num_threads(1)  # networks as small as this one are slower on several
    torch.manual_seed(seed)
    env = make_env(max_steps, seed)
    actor, _critic, loss = make_modules(env)
    optimizer = torch.optim.Adam(loss.parameters(), lr=3e-4)
    collector = Collector(
        env,
        actor,
        frames_per_batch=batch,
        total_frames=batch * iterations,
        auto_register_policy_transforms=False,  # the policy has no memory to reset
    )
    rows = []
    for number, data in enumerate(collector):
        with torch.no_grad():
            loss.value_estimator(data)
        flat = data.reshape(-1)
        for _ in range(epochs):
            for part in torch.randperm(len(flat)).split(250):
                losses = loss(flat[part])
                optimizer.zero_grad()
                sum(losses[name] for name in ("loss_objective", "loss_critic", "loss_entropy")).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 1.0)
                optimizer.step()
        rows.append(summary(data))
        print(
            f"{number + 1}: {', '.join(f'{name} {value:.2f}' for name, value in rows[-1].items())}",
            flush=True,
        )
    collector.shutdown()
    return rows


def summary(data: Any) -> dict[str, float]:
    """Return the number, mean return and completed share of the episodes that ended in a batch."""
    ended = data["next", GROUP, "done"][:, 0, 0]
    returns = data["next", GROUP, "episode_reward"][ended][:, 0, 0]
    completed = data["next", GROUP, "terminated"][ended][:, 0, 0].float()
    return {
        "episodes": float(len(returns)),
        "return": returns.mean().item(),
        "completed": completed.mean().item(),
    }


if __name__ == "__main__":
    typer.run(main)
