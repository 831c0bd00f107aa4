"""How well a builder that sees pictures does what it is asked, on pairs and wordings that it never learned from.

    python -m benchmarks.pov_builder --model runs/pov/model.npz --episodes 300
    python -m benchmarks.pov_builder --model runs/pov/model.npz --sentences 500
    python -m benchmarks.pov_builder --model runs/pov/model.npz --structures 40

Single requests: *exact* is a build that is as asked in the end, *first try* one that got there with as many changes as
the teacher needs. Sentences: all of verb, colours and cell understood. Structures: with the scripted architect; F1 is
of blocks at their place, neither shifted nor turned.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

import iglu_marl
from iglu_marl import Role, Task
from iglu_marl.agents import ScriptedArchitect
from iglu_marl.agents.learned.pov_builder import Knows, PovBuilder, load
from iglu_marl.agents.learned.pov_model import PovModel
from iglu_marl.agents.learned.pov_training import judge, sentences_to_read
from iglu_marl.evaluation.metrics import bootstrap


def shown(name: str, values: list[float]) -> str:
    return f"{name:28} {bootstrap(values, resamples=2000).text()}  n = {len(values)}"


def single_requests(
    model: PovModel, episodes: int, temperature: float, knows: Knows = "pictures", seed: int = 0
) -> None:
    """Measure held-out pairs of cell and colour: all, by layer, and by verb."""
    made = judge(model, episodes, seed=seed, temperature=temperature, knows=knows)
    print(f"{knows}, temperature {temperature}")
    groups = {
        "all": made,
        **{f"layer {layer + 1}": [one for one in made if one.layer == layer] for layer in range(3)},
        "placements": [one for one in made if one.verb == 1],
        "removals": [one for one in made if one.verb == 2],
    }
    for name, some in groups.items():
        if some:
            print(shown(f"  {name}, exact", [one.exact for one in some]))
            print(shown(f"  {name}, first try", [one.first_try for one in some]))


def sentences(model: PovModel, count: int, seed: int = 0) -> None:
    """Measure how many held-out wordings of held-out pairs are understood."""
    requests = sentences_to_read(np.random.default_rng(seed), count, held_out=True)
    with torch.no_grad():
        made = model.reader(torch.from_numpy(requests.sentences))
    found = np.stack([part.argmax(1).numpy() for part in made], 1)
    print(shown("sentences understood", (found == requests.asked).all(1).tolist()))


def random_structure(rng: np.random.Generator) -> np.ndarray:
    """Return 4 to 8 connected blocks in three layers without overhangs, int8 [9, 11, 11]."""
    grid = np.zeros((9, 11, 11), np.int8)
    grid[0, rng.integers(1, 10), rng.integers(1, 10)] = rng.integers(1, 7)
    sides = np.array([(1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
    count = rng.integers(4, 9)
    while np.count_nonzero(grid) < count:
        filled = np.argwhere(grid)
        y, x, z = (filled[rng.integers(len(filled))] + sides[rng.integers(5)]).tolist()
        if y < 3 and 0 <= x < 11 and 0 <= z < 11 and (y == 0 or grid[y - 1, x, z]):
            grid[y, x, z] = rng.integers(1, 7)
    return grid


def structures(model: PovModel, count: int, max_steps: int, temperature: float, seed: int = 2026) -> None:
    """Play whole structures with the scripted architect."""
    rng = np.random.default_rng(seed)
    f1, complete, used = [], [], []
    for number in range(count):
        target = random_structure(rng)
        env = iglu_marl.env(tasks=Task("", target, invariant=False), max_steps=max_steps, max_turns=None)
        agents = {
            Role.ARCHITECT: ScriptedArchitect.for_env(env),
            Role.BUILDER: PovBuilder.for_env(env, model=model, temperature=temperature),
        }
        iglu_marl.play(env, agents, seed=number)
        worlds = env.unwrapped.episode.worlds
        grid = worlds.grid[0]
        common = np.count_nonzero((grid == target) & (target != 0))
        f1.append(2 * common / (np.count_nonzero(grid) + np.count_nonzero(target)))
        complete.append(bool((grid == target).all()))
        used.append(int(worlds.steps[0]))
        print(f"{number:3} {np.count_nonzero(target)} blocks  F1 {f1[-1]:.2f}  {used[-1]} steps", flush=True)
    print(shown("structures, F1", f1))
    print(shown("structures, complete", complete))
    print(f"steps: {np.mean(used):.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", required=True, help="model.npz")
    parser.add_argument("--episodes", type=int, default=0, help="single requests")
    parser.add_argument("--sentences", type=int, default=0)
    parser.add_argument("--structures", type=int, default=0)
    parser.add_argument("--max-steps", type=int, default=3000, help="of a structure")
    parser.add_argument("--temperature", type=float, default=0.5)
    parser.add_argument("--knows", default="pictures", choices=("pictures", "memoryless", "blind", "pose"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = load(options.model)
    if options.episodes:
        single_requests(model, options.episodes, options.temperature, options.knows, options.seed)
    if options.sentences:
        sentences(model, options.sentences, options.seed)
    if options.structures:
        structures(model, options.structures, options.max_steps, options.temperature)


if __name__ == "__main__":
    main()
