"""The PettingZoo parallel loop: both agents act in every step, and an empty utterance is silence.

    python examples/parallel_loop.py --steps 300

With `chat="tokens"` utterances and dialogs are arrays of token ids, as learning libraries like them.
"""

from __future__ import annotations

import typer

import iglu_marl
from iglu_marl.tasks import RandomTasks


def main(steps: int = 300, seed: int = 0) -> dict[str, float]:
    """Play one game of random actions, and return the return of each agent."""
    env = iglu_marl.parallel_env(
        tasks=RandomTasks(max_blocks=4, num_colors=2),
        chat="tokens",
        vocabulary=8,  # that many symbols without a meaning; "templates" for the words of the instructions
        max_message_length=4,
        message_cost=0.01,
        max_steps=steps,
        max_turns=None,
    )
    observations, _infos = env.reset(seed=seed)
    for agent in env.agents:
        env.action_space(agent).seed(seed)
        print(f"{agent} observes {', '.join(observations[agent])}")

    returns = dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        observations, rewards, _terminations, _truncations, _infos = env.step(actions)
        for agent, reward in rewards.items():
            returns[agent] += reward

    print(", ".join(f"{agent}: {value:+.2f}" for agent, value in returns.items()))
    env.close()
    return returns


if __name__ == "__main__":
    typer.run(main)
