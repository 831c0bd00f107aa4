"""Two builders learn to divide a structure: IPPO and MAPPO by TorchRL, against one builder alone.

    python examples/team_division.py --algorithm mappo --seed 0

Both builders stand at the centre and see the target, four of the eight cells around them. They turn by 45° and place
red blocks. Seven steps are too few for one of them. "alone": one builder. "ippo": two builders, each critic observes
one of them. "mappo": each critic observes both. With `--chat`, each may say one of four symbols at each step. Needs
the extra `rl`.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import typer

from iglu_marl import Task
from iglu_marl.core.extras import extra
from iglu_marl.envs import VectorGame
from iglu_marl.envs.wrappers import discretize

with extra("rl", script=True):
    import torch
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule
    from torch import nn
    from torch.distributions import Categorical
    from torchrl.modules import MultiAgentMLP, ProbabilisticActor
    from torchrl.objectives import ClipPPOLoss, ValueEstimators

GROUP = "agents"
CELLS = [(x, -1, z) for x in (-1, 0, 1) for z in (-1, 0, 1) if x or z]
ACTIONS = ({}, {"camera": (45, 0)}, {"camera": (-45, 0)}, {"hotbar": 6})
SYMBOLS, STEPS = 4, 7


class Games:
    """Many games side by side, observed as one row of numbers for each builder."""

    def __init__(self, count: int, builders: int, chat: bool, seed: int) -> None:
        tasks = [
            Task("", [(*cell, 6) for cell in cells], invariant=False, pose=(0, 0, 0, 0, -50))
            for cells in combinations(CELLS, 4)
        ]
        game = VectorGame(
            count,
            architects=0,
            builders=builders,
            tasks=tasks,
            sees={f"builder_{k}": "all" for k in range(builders)},
            builder_sees=("grid", "pose", "dialog"),
            builder_can_ask=chat,
            controls="discrete",
            select_and_place=True,
            chat="tokens",
            vocabulary=SYMBOLS,
            dialog_length=2 * builders,
            max_steps=STEPS,
            max_turns=None,
            autoreset_mode="SameStep",
            **({"max_message_length": 1} if chat else {}),
        )
        self.agents, self.count, self.chat = list(game.possible_agents), count, chat
        self._game = discretize(game, table=ACTIONS)
        self.actions = len(ACTIONS) * (SYMBOLS + 1 if chat else 1)
        seen, _ = self._game.reset(seed=seed)
        self.observed = self._rows(seen)

    def _rows(self, seen: Any) -> torch.Tensor:
        """Return float32 [games, builders, numbers]: missing and placed blocks, yaw of all, the last symbols."""
        rows = []
        for agent in self.agents:
            own = seen[agent]
            cells = [own[key][:, 0, 4:7, 4:7].reshape(self.count, 9) != 0 for key in ("target_grid", "grid")]
            own_pose = own["agentPos"][:, None]
            poses = np.concatenate([own_pose, own.get("others", own_pose[:, :0])], axis=1)
            yaw = np.radians(poses[..., 4])
            said = np.eye(SYMBOLS + len(self.agents) + 1)[own["dialog"]].reshape(self.count, -1)
            rows.append(np.concatenate([*cells, np.sin(yaw), np.cos(yaw), said * self.chat], axis=1))
        return torch.tensor(np.stack(rows, axis=1), dtype=torch.float32)

    def step(self, chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Play actions [games, builders]. Return rewards, and which games were completed and which are over."""
        actions: dict[str, Any] = dict(zip(self.agents, chosen.T.numpy(), strict=True))
        if self.chat:
            actions = {agent: np.stack(np.divmod(own, SYMBOLS + 1), axis=1) for agent, own in actions.items()}
        seen, rewards, completed, cut, _ = self._game.step(actions)
        self.observed = self._rows(seen)
        paid, done, late = (
            torch.tensor(np.asarray(each[self.agents[0]])) for each in (rewards, completed, cut)
        )
        return paid.float(), done, done | late


def make_modules(games: Games, central: bool) -> tuple[ProbabilisticActor, ClipPPOLoss]:
    """Return the actor and the loss. The builders share parameters, and know who they are by what they observe."""
    inputs, agents = games.observed.shape[-1] + len(games.agents), len(games.agents)

    def network(outputs: int, centralized: bool) -> MultiAgentMLP:
        shape: dict[str, Any] = {"n_agent_inputs": inputs, "n_agent_outputs": outputs, "n_agents": agents}
        return MultiAgentMLP(**shape, centralized=centralized, share_params=True, depth=2, num_cells=128)

    seen = (GROUP, "observation")
    actor = ProbabilisticActor(
        TensorDictModule(network(games.actions, False), [seen], [(GROUP, "logits")]),
        in_keys={"logits": (GROUP, "logits")},
        out_keys=[(GROUP, "action")],
        distribution_class=Categorical,
        return_log_prob=True,
        log_prob_key=(GROUP, "log_prob"),
    )
    loss = ClipPPOLoss(
        actor, TensorDictModule(network(1, central), [seen], [(GROUP, "value")]), entropy_coeff=0.01
    )
    keys = ("reward", "action", "value", "done", "terminated")
    loss.set_keys(sample_log_prob=(GROUP, "log_prob"), **{key: (GROUP, key) for key in keys})
    loss.make_value_estimator(ValueEstimators.GAE, gamma=0.99, lmbda=0.95)
    return actor, loss


def rollout(games: Games, actor: ProbabilisticActor, length: int) -> tuple[TensorDict, float]:
    """Play; return a batch [games, length] and the share of completed structures."""
    agents, steps, ended = len(games.agents), [], []
    marks = torch.eye(agents).expand(games.count, agents, agents)
    observed = torch.cat([games.observed, marks], dim=2)
    for _ in range(length):
        data = TensorDict(
            {GROUP: TensorDict({"observation": observed}, [games.count, agents])}, [games.count]
        )
        with torch.no_grad():
            actor(data)
        reward, completed, over = games.step(data[GROUP, "action"])
        observed = torch.cat([games.observed, marks], dim=2)
        after = {"observation": observed}
        for name, value in (("reward", reward), ("done", over), ("terminated", over)):
            after[name] = value[:, None, None].expand(-1, agents, 1)
        data["next", GROUP] = TensorDict(after, [games.count, agents])
        steps.append(data)
        ended.append(completed[over])
    return torch.stack(steps, dim=1), torch.cat(ended).float().mean().item()


def main(
    algorithm: str = "mappo", chat: bool = False, iterations: int = 150, games: int = 256, seed: int = 0
) -> list[float]:
    """Train; print and return the share of completed structures of each iteration."""
    if algorithm not in ("alone", "ippo", "mappo"):
        raise typer.BadParameter(f"algorithm is {algorithm!r}, expected alone, ippo or mappo")
    torch.set_num_threads(1)  # networks as small as these are slower on several
    torch.manual_seed(seed)
    played = Games(games, 1 if algorithm == "alone" else 2, chat, seed)
    actor, loss = make_modules(played, central=algorithm == "mappo")
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    shares = []
    for number in range(iterations):
        data, share = rollout(played, actor, 2 * STEPS)
        with torch.no_grad():
            loss.value_estimator(data)
        flat = data.reshape(-1)
        for _ in range(4):
            for part in torch.randperm(len(flat)).split(512):
                losses = loss(flat[part])
                optimizer.zero_grad()
                sum(losses[name] for name in ("loss_objective", "loss_critic", "loss_entropy")).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 1.0)
                optimizer.step()
        shares.append(share)
        if (number + 1) % 10 == 0 or number + 1 == iterations:
            print(f"{number + 1}: completed {np.mean(shares[-10:]):.3f}", flush=True)
    return shares


if __name__ == "__main__":
    typer.run(main)
