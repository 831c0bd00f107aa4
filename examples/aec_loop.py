"""The PettingZoo AEC loop: the architect speaks, the builder acts until its turn is over, and so on.

    python examples/aec_loop.py --steps 300

Both agents act at random here; put your own policies where the actions are sampled.
"""

from __future__ import annotations

import typer

import iglu_marl


def main(steps: int = 300, seed: int = 0) -> float:
    """Play one game of at most `steps` builder steps, and return the return of the builder."""
    env = iglu_marl.env(turn_steps=20, max_steps=steps)
    env.reset(seed=seed)
    for agent in env.agents:
        env.action_space(agent).seed(seed)
    returns = dict.fromkeys(env.possible_agents, 0.0)

    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _info = env.last()
        returns[agent] += reward
        if terminated or truncated:
            action = None
        elif agent == "architect_0":
            # observation: target_grid and grid (int32 [9, 11, 11]), agentPos, dialog
            left = int((observation["grid"] != observation["target_grid"]).sum())
            action = f"{left} cells are not right yet." if left < 10 else ""  # "" is silence
        else:
            # observation: pov (uint8 [64, 64, 3]), inventory, compass, dialog
            action = env.action_space(agent).sample()
        env.step(action)

    builder = float(returns["builder_0"])
    print(f"the builder's return: {builder:+.0f}")
    env.close()
    return builder


if __name__ == "__main__":
    typer.run(main)
