"""Write games of an expert on a level as a Minari dataset: `python -m benchmarks.demonstrate LEVEL [--games N]`.

In Python: `iglu_marl.benchmark.demonstrations.write_demonstrations(level, dataset)`.
"""

from __future__ import annotations

import json
from typing import Annotated

from typer import Option

from benchmarks.harness import run_options
from iglu_marl.commands import options as opt
from iglu_marl.commands.benchmark import Level
from iglu_marl.commands.output import stoppable, text_console


def demonstrate_level(
    level: Level,
    dataset: Annotated[
        str,
        Option(
            help="Id of the dataset. Default: such as iglu/see-ground-train-v2, or iglu/see-ground-train-fold2-v2."
        ),
    ] = "",
    split: Annotated[str, opt.choice("train", "validation", "test")] = "train",
    games: Annotated[int, opt.integer(1, "Games of the expert; those that fail are left out.")] = 100,
    fold: Annotated[int, opt.integer(0, "Seed of the training run, which determines what is held out.")] = 0,
    seed: Annotated[int, opt.integer(0, "Seed of the tasks and games.")] = 0,
    as_json: opt.Json = False,
) -> None:
    """Write games of an expert on a level as a Minari dataset, for imitation."""
    from iglu_marl.benchmark.demonstrations import write_demonstrations

    name, _, version = level.rpartition("-v")
    console = text_console(as_json)
    with stoppable(lambda: "Nothing is written before all games are played."):
        made = write_demonstrations(
            level,
            dataset or f"iglu/{name}-{split}{f'-fold{fold}' if fold else ''}-v{version}",
            split,  # type: ignore[arg-type]  # checked
            games,
            fold=fold,
            seed=seed,
        )
    found = {"dataset": made.spec.dataset_id, "episodes": made.total_episodes, "steps": made.total_steps}
    if as_json:
        print(
            json.dumps(
                {name: value if isinstance(value, str) else int(value) for name, value in found.items()}
            )
        )
        return
    console.print(f"{found['dataset']}: {found['episodes']} games, {found['steps']} steps of the builder")


if __name__ == "__main__":
    run_options(demonstrate_level)
