"""The builder of structures from a visible target: curve, held-out structures, controls, teacher (docs/learning.md).

`python -m benchmarks.silent --weights runs/silent` measures the weights of `examples/dagger_silent_builder.py --save
runs/silent`, writes docs/learning/silent.json and the curve in docs/images/, and prints the table of the page. `--zoo`
keeps it as `silent-walker-v0`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.curves import plot_curves, show_or_measure
from benchmarks.examples import load_example
from iglu_marl import __version__
from iglu_marl.agents.learned import zoo
from iglu_marl.core.text import markdown_table
from iglu_marl.evaluation.metrics import bootstrap

PLAYERS = ("learned", "target hidden", "blind", "random", "teacher")


def taught(example: ModuleType, tasks: list[Any], limit: int) -> Any:
    done, share = np.zeros(len(tasks), bool), np.zeros(len(tasks))
    for number, task in enumerate(tasks):
        env = example.make(task, 1, limit)
        env.reset(seed=0)
        steps = example.shown(env.worlds, 0, most=limit)
        stood = 0
        while steps and not done[number]:
            action, _ = steps.pop()
            stood = int(env.worlds.best[0])
            _, _, over, _, _ = env.step(np.array([action]))
            done[number] = over[0]
        share[number] = 1.0 if done[number] else stood / np.count_nonzero(task.target_grid)
    return example.Played(done, share)


def measured(values: np.ndarray) -> dict[str, Any]:
    found = bootstrap(values.astype(np.float64))
    return {
        "value": round(found.value, 4),
        "interval": [round(found.low, 4), round(found.high, 4)],
        "games": len(values),
    }


def measure(example: ModuleType, net: Any, count: int, limit: int) -> dict[str, Any]:
    """Return completion and largest share of built blocks, by kind of held-out structure and player."""
    result: dict[str, Any] = {}
    for kind, tasks in example.held_out(count, seed=20_000).items():
        result[kind] = {}
        for player in PLAYERS:
            few = tasks if player == "learned" else tasks[:50]
            settings = example.Settings(
                limit=limit, hidden=player == "target hidden", blind=player == "blind"
            )
            if player == "teacher":
                played = taught(example, few, limit)
            else:
                played = example.play(None if player == "random" else net, few, settings)
            result[kind][player] = {
                "completed": measured(played.completed),
                "share of the blocks": measured(played.share),
            }
            print(kind, player, result[kind][player], flush=True)
    return result


def keep(result: dict[str, Any], net: Any) -> Path:
    """Keep the builder as `silent-walker-v0`."""
    import torch

    last = result["curve"][-1]
    results = {
        f"{measure}, {kind} structures": values
        for kind, players in result["measured"].items()
        for measure, values in players["learned"].items()
    }
    card = {
        "kind": "silent-builder",
        "about": "Builds structures of 6 to 20 blocks that it is shown, walking with the 18 actions.",
        "roles": ["builder"],
        "game": {"controls": "walking", "builder_sees": ["pose", "grid"]},
        "network": {"width": net.acts[0].out_features},
        "data": f"{last['frames']:,} frames that the planner showed (DAgger) on random structures and 21 bundled ones; "
        "other random ones and 7 bundled ones are held out.",
        "budget": f"{last['minutes']:.0f} minutes of one core, one seed",
        "results": results,
        "command": f"python examples/dagger_silent_builder.py --minutes {last['minutes']:.0f} --save runs/silent",
        "check": "python -m benchmarks.silent --weights runs/silent",
        "versions": {"iglu_marl": __version__, "numpy": np.__version__, "torch": torch.__version__},
    }
    tensors = {name: value.numpy().astype(np.float16) for name, value in net.state_dict().items()}
    return zoo.save("silent-walker-v0", card, tensors)


def table(result: dict[str, Any]) -> str:
    kinds = list(result["measured"])
    measures = ("completed", "share of the blocks")
    head = [f"{kind}: {measure}" for kind in kinds for measure in measures]
    rows = []
    for player in PLAYERS:
        cells = [player]
        for kind in kinds:
            for measure in measures:
                found = result["measured"][kind][player][measure]
                low, high = found["interval"]
                cells.append(f"{found['value']:.1%} ({low:.1%} to {high:.1%}; n = {found['games']})")
        rows.append(cells)
    return markdown_table(["", *head], rows).strip()


def show(result: dict[str, Any], images: Path) -> None:
    minutes = [one["minutes"] for one in result["curve"]]
    names = {
        "random": "random, completed",
        "bundled": "bundled, completed",
        "random, share": "random, share of the blocks",
    }
    plot_curves(
        {label: [(minutes, [one[name] for one in result["curve"]])] for name, label in names.items()},
        images / "learning_silent.svg",
        ylabel="held-out structures",
        xlabel="minutes of one core",
    )
    print(table(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--weights", type=Path, default=Path("runs") / "silent", help="without suffix")
    parser.add_argument("--count", type=int, default=200, help="random structures")
    parser.add_argument("--limit", type=int, default=1000, help="steps in an episode")
    parser.add_argument("--zoo", action="store_true", help="keep it in the package")

    def measured_and_kept(given: argparse.Namespace) -> dict[str, Any]:
        import torch

        torch.set_num_threads(1)
        example = load_example("dagger_silent_builder")
        net = example.SilentModel()
        net.load_state_dict(torch.load(given.weights.with_suffix(".pt"), weights_only=True))
        facts = json.loads(given.weights.with_suffix(".json").read_text(encoding="utf-8"))
        found = measure(example, net, given.count, given.limit)
        result = {"settings": facts["settings"], "curve": facts["curve"], "measured": found}
        if given.zoo:
            print(keep(result, net))
        return result

    show_or_measure(parser, "silent", measured_and_kept, show)


if __name__ == "__main__":
    main()
