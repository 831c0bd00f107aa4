"""The silent builder of whole structures: its curve, held-out structures, controls, teacher (docs/learning.md).

`python -m benchmarks.silent --weights runs/silent` measures what `examples/dagger_silent_builder.py --save runs/silent`
trained, writes docs/learning/silent.json, the curve in docs/images/ and the table of the page. `--zoo` keeps it as
`silent-walker-v0`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.examples import load_example
from iglu_marl import __version__
from iglu_marl.agents.learned import zoo
from iglu_marl.evaluation.metrics import bootstrap

ROOT = Path(__file__).resolve().parents[1]
PLAYERS = ("learned", "target hidden", "blind", "random", "teacher")


def taught(example: ModuleType, tasks: list[Any], limit: int) -> Any:
    """What the teacher completes within the limit."""
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
    """A mean over games with its 95 % interval."""
    found = bootstrap(values.astype(np.float64))
    return {
        "value": round(found.value, 4),
        "interval": [round(found.low, 4), round(found.high, 4)],
        "games": len(values),
    }


def measure(example: ModuleType, net: Any, count: int, limit: int) -> dict[str, Any]:
    """By kind of held-out structure and player: completed, and the largest share of the blocks that stood."""
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
    """The builder as `silent-walker-v0`."""
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
    """Markdown: players in rows; completed and share of the blocks by kind of structure, with intervals."""
    kinds = list(result["measured"])
    measures = ("completed", "share of the blocks")
    head = [f"{kind}: {measure}" for kind in kinds for measure in measures]
    lines = ["| | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for player in PLAYERS:
        cells = []
        for kind in kinds:
            for measure in measures:
                found = result["measured"][kind][player][measure]
                low, high = found["interval"]
                cells.append(f"{found['value']:.1%} ({low:.1%} to {high:.1%}; n = {found['games']})")
        lines.append(f"| {player} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def show(result: dict[str, Any], images: Path) -> None:
    """Draw the curve and print the table."""
    from benchmarks.curves import plot_curves

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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", type=Path, default=Path("runs") / "silent", help="without suffix")
    parser.add_argument("--count", type=int, default=200, help="random structures")
    parser.add_argument("--limit", type=int, default=1000, help="steps in an episode")
    parser.add_argument("--zoo", action="store_true", help="keep it in the package")
    parser.add_argument("--json", type=Path, default=ROOT / "docs" / "learning" / "silent.json")
    parser.add_argument("--images", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--show", action="store_true", help="draw and print what the JSON file holds")
    given = parser.parse_args()
    if not given.show:
        import torch

        torch.set_num_threads(1)
        example = load_example("dagger_silent_builder")
        net = example.SilentModel()
        net.load_state_dict(torch.load(given.weights.with_suffix(".pt"), weights_only=True))
        told = json.loads(given.weights.with_suffix(".json").read_text(encoding="utf-8"))
        result = {
            "settings": told["settings"],
            "curve": told["curve"],
            "measured": measure(example, net, given.count, given.limit),
        }
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(result) + "\n", encoding="utf-8")
        if given.zoo:
            print(keep(result, net))
    show(json.loads(given.json.read_text(encoding="utf-8")), given.images)


if __name__ == "__main__":
    main()
