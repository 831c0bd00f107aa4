"""Both agents learn with token chat: runs, controls, cross-play and the code that emerges (docs/emergent_chat.md).

`python -m benchmarks.two_agents --seeds 3` trains and measures everything, and writes docs/learning/two_agents.json,
the curves in docs/images/ and the tables of the page on standard output. `--workers 2` trains two pairs at a time.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.curves import cross_play_table, plot_curves, show_or_measure, table
from benchmarks.examples import load_example
from benchmarks.harness import run_all
from iglu_marl.core.files import json_ready
from iglu_marl.core.text import markdown_table
from iglu_marl.evaluation import language_metrics

REPEATS = 100  # games for each meaning in the last measurements
SAMPLES = 1000  # messages for each meaning, to estimate information from
RUNS: dict[str, dict[str, str]] = {
    "shared critic": {"critic": "shared"},
    "independent critics": {"critic": "independent"},
    "no chat": {"critic": "shared", "channel": "mute"},
    "scrambled chat": {"critic": "shared", "channel": "scrambled"},
}
TALKING = ("shared critic", "independent critics")
SYMBOLS = "abcdefghijklmnopqrstuvwxyz"


# -------------------------------------------------------------------------------------------- training


def train(options: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[int, float]], float]:
    """Train a pair; return its weights, its curve and CPU seconds."""
    import torch

    torch.set_num_threads(1)
    example = load_example("ppo_two_agents")
    began = time.process_time()
    pair, curve = example.train(example.Settings(**options), report=False)
    seconds = time.process_time() - began
    return {key: value.numpy() for key, value in pair.state_dict().items()}, curve, seconds


def pair_of(example: ModuleType, options: dict[str, Any], weights: dict[str, Any]) -> Any:
    import torch

    pair = example.Pair(example.Settings(**options))
    pair.load_state_dict({key: torch.as_tensor(value) for key, value in weights.items()})
    return pair


# -------------------------------------------------------------------------------------------- without chat


def best_without_chat(example: ModuleType, settings: Any) -> tuple[float, list[int]]:
    """Return the largest success rate without messages, and the actions that reach it.

    Exact: without messages, what a builder observes depends on its own actions only, so its policy is an action
    sequence, or a mixture of several. All of them are played, in a game that none completes.
    """
    import torch

    tasks = example.meanings(settings)
    sequences = np.array(
        list(itertools.product(range(example.PLACE + settings.colors), repeat=settings.limit))
    )
    games = example.Games(settings._replace(channel="mute", limit=settings.limit + 1), len(sequences), 0)
    games.reset(0, [example.Task("", [(5, -1, 5, 1)], invariant=False)] * len(sequences))
    wanted = np.stack([task.target_grid for task in tasks]).reshape(len(tasks), -1)
    met = np.zeros((len(sequences), len(tasks)), bool)
    silence = torch.zeros((len(sequences), settings.words), dtype=torch.long)
    for actions in sequences.T:
        games.step(silence, torch.as_tensor(actions))
        grids = games.env.worlds.grid.reshape(len(sequences), -1)
        # Wanted grids hold one block: equal to them are grids with one block, in that cell, of that colour.
        for number, grid in enumerate(wanted):
            cell = int(grid.argmax())
            met[:, number] |= (grids[:, cell] == grid[cell]) & (games.env.worlds.blocks == 1)
    best = int(met.sum(axis=1).argmax())
    return float(met[best].mean()), sequences[best].tolist()


# -------------------------------------------------------------------------------------------- the code


def information(first: Sequence[Any], second: Sequence[Any]) -> float:
    """Return the mutual information of two paired samples in bits, with bias correction (may be below 0)."""
    return language_metrics.mutual_information(first, second, resamples=1).value


def look_at_code(example: ModuleType, pair: Any) -> dict[str, Any]:
    """Return the architect's message for each meaning, and the information of its symbols (bits)."""
    import torch

    settings = pair.settings
    tasks = example.meanings(settings)
    places, colors = (np.arange(len(tasks)) // settings.colors, np.arange(len(tasks)) % settings.colors)
    games = example.Games(settings, len(tasks), 0)
    torch.manual_seed(0)
    with torch.no_grad():
        speech = pair.message(games.reset(0, tasks).architect)
        likeliest = speech.logits.argmax(-1).numpy()
        said = speech.sample((SAMPLES,)).numpy()  # [samples, meanings, words]
    parts = {"colour": np.tile(colors, SAMPLES).tolist(), "place": np.tile(places, SAMPLES).tolist()}
    flat = said.reshape(-1, settings.words)
    heard = {f"symbol {k + 1}": flat[:, k].tolist() for k in range(settings.words)}
    heard["message"] = [tuple(row) for row in flat.tolist()]
    return {
        "messages": {
            task.task_id: "".join(SYMBOLS[s] for s in row) for task, row in zip(tasks, likeliest, strict=True)
        },
        "distinct": len({tuple(row) for row in likeliest.tolist()}),
        "consistency": float((said == likeliest).all(-1).mean()),
        "information": {
            name: {part: information(symbols, values) for part, values in parts.items()}
            for name, symbols in heard.items()
        },
        "information about both": information(
            heard["message"], list(zip(parts["colour"], parts["place"], strict=True))
        ),
        "topographic similarity": language_metrics.topographic_similarity(
            np.stack([colors, places], 1), likeliest, resamples=1
        ).value,
    }


# -------------------------------------------------------------------------------------------- measuring


def measure(example: ModuleType, settings: Any, pair: Any) -> dict[str, float]:
    """Return success in the training channel, and with messages removed or permuted among the games."""
    channels = {"success": settings.channel, "muted": "mute", "scrambled": "scrambled"}
    return {
        name: example.success(pair, settings._replace(channel=channel), REPEATS, seed=1)
        for name, channel in channels.items()
    }


def cross_play(example: ModuleType, settings: Any, pairs: list[Any]) -> list[list[float]]:
    """Return success of architect i (rows) with builder j (columns)."""
    return [
        [example.success(builder, settings, REPEATS, speaker=architect, seed=1) for builder in pairs]
        for architect in pairs
    ]


def run(seeds: int, workers: int, total_steps: int | None) -> dict[str, Any]:
    """Train and measure all runs; `docs/emergent_chat.md` describes the result."""
    example = load_example("ppo_two_agents")
    more = {} if total_steps is None else {"total_steps": total_steps}
    jobs = [{**options, **more, "seed": seed} for options in RUNS.values() for seed in range(seeds)]
    began = time.perf_counter()
    trained = run_all(train, [(job,) for job in jobs], workers, "training", Console(stderr=True))
    wall = time.perf_counter() - began
    best, actions = best_without_chat(example, example.Settings(**more))
    result: dict[str, Any] = {
        "settings": example.Settings(**more)._asdict(),
        "wall seconds of training": round(wall, 1),
        "best without chat": best,
        "actions of the best without chat": actions,
        "runs": {},
        "cross-play": {},
    }
    for number, (name, options) in enumerate(RUNS.items()):
        mine = slice(number * seeds, (number + 1) * seeds)
        settings = example.Settings(**options, **more)
        pairs = [
            pair_of(example, job, weights)
            for job, (weights, *_) in zip(jobs[mine], trained[mine], strict=True)
        ]
        result["runs"][name] = [
            {
                "seed": seed,
                **measure(example, settings, pair),
                "cpu seconds": round(seconds, 1),
                "curve": curve,
                **({"code": look_at_code(example, pair)} if name in TALKING else {}),
            }
            for seed, (pair, (_, curve, seconds)) in enumerate(zip(pairs, trained[mine], strict=True))
        ]
        if name in TALKING:
            result["cross-play"][name] = cross_play(example, settings, pairs)
    return json_ready(result, digits=4)


# -------------------------------------------------------------------------------------------- showing


def success_table(result: dict[str, Any]) -> str:
    rows = {}
    for name, seeds in result["runs"].items():
        columns = ("success", "muted", "scrambled") if name in TALKING else ("success",)
        rows[name] = {column: [one[column] for one in seeds] for column in columns}
    return table(rows)


def code_table(result: dict[str, Any]) -> str:
    words = result["settings"]["words"]
    asked = [(f"symbol {k + 1}", part) for k in range(words) for part in ("colour", "place")]
    head = [f"I({symbol}; {part})" for symbol, part in asked]
    head += ["I(message; both)", "different messages", "consistency", "topographic similarity"]
    rows = []
    for name in TALKING:
        for one in result["runs"][name]:
            code = one["code"]
            row = [f"{code['information'][symbol][part]:.2f}" for symbol, part in asked]
            row += [
                f"{code['information about both']:.2f}",
                str(code["distinct"]),
                f"{code['consistency']:.1%}",
            ]
            row.append(f"{code['topographic similarity']:.2f}")
            rows.append([f"{name}, seed {one['seed']}", *row])
    return markdown_table(["", *head], rows).strip()


def message_table(result: dict[str, Any], name: str) -> str:
    """Return the messages of all seeds of a run as Markdown: colours in rows, places within seeds in columns."""
    codes = {one["seed"]: one["code"]["messages"] for one in result["runs"][name]}
    meanings = list(dict.fromkeys(tuple(meaning.split()) for meaning in next(iter(codes.values()))))
    colors, places = (list(dict.fromkeys(part)) for part in zip(*meanings, strict=True))
    head = [f"{seed}: {place}" for seed in codes for place in places]
    rows = [
        [color, *(f"`{code[f'{color} {place}']}`" for code in codes.values() for place in places)]
        for color in colors
    ]
    return markdown_table(["", *head], rows).strip()


def tables(result: dict[str, Any]) -> dict[str, str]:
    return {
        "success": success_table(result),
        **{f"cross-play, {name}": cross_play_table(matrix) for name, matrix in result["cross-play"].items()},
        "code": code_table(result),
        **{f"messages, {name}": message_table(result, name) for name in TALKING},
    }


def show(result: dict[str, Any], images: Path) -> None:
    plot_curves(
        {
            name: [tuple(zip(*one["curve"], strict=True)) for one in seeds]
            for name, seeds in result["runs"].items()
        },
        images / "learning_two_agents.svg",
        ylabel="exact completions",
        lines={"best possible without chat": result["best without chat"]},
    )
    for title, text in tables(result).items():
        print(f"\n{title}\n\n{text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1, help="pairs trained at a time")
    parser.add_argument("--total-steps", type=int, help="environment steps of each run")
    show_or_measure(
        parser, "two_agents", lambda given: run(given.seeds, given.workers, given.total_steps), show
    )


if __name__ == "__main__":
    main()
