"""A pair with symbols on 252 meanings: runs, controls, cross-play and languages (docs/emergent_chat.md).

`python -m benchmarks.symbols` trains and measures everything, writes docs/learning/symbols.json and the curve in
docs/images/, and prints the tables of the page. Weights in the folder (default runs/symbols) are not trained again.
`--zoo` keeps the best pair as `symbols-pair-v0`.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.curves import cross_play_table, plot_curves, show_or_measure, table
from benchmarks.examples import load_example
from iglu_marl import __version__
from iglu_marl.agents.learned import zoo
from iglu_marl.core.files import json_ready
from iglu_marl.core.text import markdown_table
from iglu_marl.evaluation import language_metrics
from iglu_marl.evaluation.metrics import bootstrap

REPEATS = 8  # games per meaning in the last measurements, with random start directions
SAMPLES = 200  # messages per meaning, to estimate information
OPEN = "a pair that talks"
RUNS: dict[str, dict[str, Any]] = {
    OPEN: {},
    "no chat": {"channel": "mute"},
    "scrambled chat": {"channel": "scrambled"},
    "target hidden": {"hidden": True},
}
# Without messages: of 20 steps, 1 passes before it could hear, 3 are for looking down, and each build of two blocks
# after the first takes 2 more. So a builder reaches at most 8 of the 252 meanings.
BEST_WITHOUT_CHAT = 8 / 252
SYMBOLS = "abcdefghijklmnopqrstuvwxyz"
PLACES = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


# -------------------------------------------------------------------------------------------- training


def trained(example: ModuleType, folder: Path, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a pair, its settings, curve and CPU seconds (practice, conversation); from the folder if it is there."""
    import torch

    torch.set_num_threads(1)
    settings = example.Settings(**options)
    skill = folder / f"skill-{settings.seed}.pt"
    name = folder / f"{settings.channel}{'-hidden' if settings.hidden else ''}-{settings.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    pair = example.Pair(settings)
    if name.with_suffix(".pt").exists():
        pair.load_state_dict(torch.load(name.with_suffix(".pt"), weights_only=True))
        return pair, json.loads(name.with_suffix(".json").read_text(encoding="utf-8"))
    torch.manual_seed(settings.seed)
    pair = example.Pair(settings)
    began = time.process_time()
    if skill.exists():  # the practice of a seed is the same in all its runs
        pair.load_state_dict(torch.load(skill, weights_only=True))
    else:
        example.practise(pair, settings)
        torch.save(pair.state_dict(), skill)
    practised = time.process_time()
    curve = example.converse(pair, settings)
    seconds = [practised - began, time.process_time() - practised]
    facts = {"settings": settings._asdict(), "curve": curve, "cpu": seconds}
    torch.save(pair.state_dict(), name.with_suffix(".pt"))
    name.with_suffix(".json").write_text(json.dumps(facts), encoding="utf-8")
    return pair, facts


# -------------------------------------------------------------------------------------------- measuring


def measure(example: ModuleType, pair: Any, settings: Any) -> dict[str, Any]:
    """Return success rates of greedy play, by split and condition."""
    split = example.meanings(settings)
    parts = {name: np.repeat(rows, REPEATS, axis=0) for name, rows in split._asdict().items()}
    found = {name: example.success(pair, settings, rows) for name, rows in parts.items()}
    everything = np.concatenate(list(parts.values()))
    conditions: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "muted": ({"channel": "mute"}, {}),
        "scrambled": ({"channel": "scrambled"}, {}),
        "target hidden": ({"hidden": True}, {}),
        "blind builder": ({}, {"blind": True}),
        "random builder": ({}, {"lottery": True}),
    }
    for name, (changed, options) in conditions.items():
        found[name] = example.success(pair, settings._replace(**changed), everything, **options)
    return found


def blocks_of(rows: np.ndarray) -> np.ndarray:
    """Return meanings as four attributes, int [n, 4]: ring cell and colour of the first and the second block."""
    first, second = np.nonzero(rows)[1].reshape(-1, 2).T
    number = np.arange(len(rows))
    return np.stack([first, rows[number, first], second, rows[number, second]], axis=1)


def language(example: ModuleType, pair: Any, settings: Any) -> dict[str, Any]:
    """Return the architect's messages, and the metrics of its language over all meanings."""
    import torch

    rows = np.concatenate(example.meanings(settings))
    meant = blocks_of(rows)
    target = np.stack([example.task_of(row).target_grid for row in rows])
    torch.manual_seed(0)
    with torch.no_grad():
        speech = pair.message(torch.as_tensor(example.target_view(target)))
        likeliest = speech.logits.argmax(-1).numpy()
        said = speech.sample((SAMPLES,)).numpy()
        heard = torch.as_tensor(likeliest) + 1
        wishes = pair.wish(heard).probs.numpy()  # [messages, cells, colours]
    whole = {"resamples": 1}
    flat, numbers = said.reshape(-1, settings.words).tolist(), np.tile(np.arange(len(rows)), SAMPLES)
    use = language_metrics.message_use(likeliest, settings.symbols, corrected=False, **whole)
    return {
        "messages": {
            " ".join(f"{PLACES[place]}{color}" for place, color in row.reshape(2, 2)): "".join(
                SYMBOLS[symbol] for symbol in message
            )
            for row, message in zip(meant, likeliest, strict=True)
        },
        "different messages": len({tuple(row) for row in likeliest.tolist()}),
        "topographic similarity": language_metrics.topographic_similarity(meant, likeliest, **whole).value,
        "positional disentanglement": language_metrics.positional_disentanglement(
            meant, likeliest, **whole
        ).value,
        "bag-of-symbols disentanglement": language_metrics.bag_of_symbols_disentanglement(
            meant, likeliest, **whole
        ).value,
        "speaker consistency": language_metrics.speaker_consistency(flat, numbers, **whole).value,
        "causal influence": language_metrics.causal_influence(wishes.transpose(1, 0, 2), **whole).value,
        "symbol entropy": use.symbol_entropy.value,
        "same as likeliest": float((said == likeliest).all(-1).mean()),
    }


def run(folder: Path, seeds: int, control_seeds: int) -> tuple[dict[str, Any], list[Any]]:
    """Train and measure all runs; return the results and the talking pairs."""
    example = load_example("ppo_symbols")
    result: dict[str, Any] = {"best without chat": BEST_WITHOUT_CHAT, "runs": {}}
    talking: list[Any] = []
    for name, options in RUNS.items():
        result["runs"][name] = []
        for seed in range(seeds if name == OPEN else control_seeds):
            pair, facts = trained(example, folder, {**options, "seed": seed})
            settings = example.Settings(**facts["settings"])
            split = example.meanings(settings)
            entry = {"seed": seed, "cpu seconds of conversation": facts["cpu"][1], "curve": facts["curve"]}
            if name == OPEN:
                talking.append((pair, settings))
                entry.update(
                    measured=measure(example, pair, settings), code=language(example, pair, settings)
                )
            else:
                entry["measured"] = {
                    part: example.success(pair, settings, np.repeat(rows, REPEATS, axis=0))
                    for part, rows in split._asdict().items()
                }
            result["runs"][name].append(entry)
    result["cross-play"] = [
        [
            example.success(builder, settings, example.meanings(settings).trained, speaker=architect)
            for builder, _ in talking
        ]
        for architect, settings in talking
    ]
    result["settings"] = talking[0][1]._asdict()
    return json_ready(result, digits=4), talking


# -------------------------------------------------------------------------------------------- the zoo


def keep_best(result: dict[str, Any], talking: list[Any]) -> Path:
    """Keep the pair that completes most trained meanings as `symbols-pair-v0`."""
    import torch

    entries = result["runs"][OPEN]
    best = max(range(len(entries)), key=lambda number: entries[number]["measured"]["trained"])
    (pair, settings), entry, example = talking[best], entries[best], load_example("ppo_symbols")
    results = {}
    for name, rows in example.meanings(settings)._asdict().items():
        games = example.Games(settings, len(rows) * REPEATS, 2)
        done = example.play(pair, games, np.repeat(rows, REPEATS, axis=0), greedy=True).completed.numpy()
        interval = bootstrap(
            done.reshape(len(rows), REPEATS).mean(axis=1)
        )  # games of a meaning are not independent
        results[f"completed, {name} meanings"] = {
            "value": round(interval.value, 4),
            "interval": [round(interval.low, 4), round(interval.high, 4)],
            "games": len(done),
        }
    card = {
        "kind": "symbols-pair",
        "about": "Architect and builder with ten symbols of their own, on 252 builds of two blocks around the start.",
        "roles": ["architect", "builder"],
        "game": {
            "controls": "human-level",
            "chat": "tokens",
            "vocabulary": settings.symbols,
            "select_and_place": True,
            "max_message_length": settings.words,
            "architect_sees": ["target_grid"],
            "builder_sees": ["grid", "pose", "dialog"],
        },
        "network": {"words": settings.words, "symbols": settings.symbols},
        "data": "Own play on 202 of the 252 meanings; 50 pairs of blocks are held out.",
        "budget": f"{settings.updates * settings.games:,} games in "
        f"{entry['cpu seconds of conversation'] / 60:.1f} minutes of one core, "
        f"after {settings.practice_updates} x {settings.practice_games} games of practice; one seed",
        "results": results,
        "command": f"python examples/ppo_symbols.py --seed {entry['seed']}",
        "check": "python -m benchmarks.symbols",
        "versions": {"iglu_marl": __version__, "numpy": np.__version__, "torch": torch.__version__},
    }
    parts = ("speak.", "listen.", "act.")
    tensors = {
        name: value.numpy().astype(np.float16)
        for name, value in pair.state_dict().items()
        if name.startswith(parts)
    }
    return zoo.save("symbols-pair-v0", card, tensors)


# -------------------------------------------------------------------------------------------- showing


def tables(result: dict[str, Any]) -> dict[str, str]:
    columns = ("trained", "held_out")
    rows = {
        name: {column: [one["measured"][column] for one in seeds] for column in columns}
        for name, seeds in result["runs"].items()
    }
    talking = result["runs"][OPEN]
    others = [name for name in talking[0]["measured"] if name not in columns]
    codes = [
        [name, *(f"{one['code'][name]:g}" for one in talking)]
        for name in talking[0]["code"]
        if name != "messages"
    ]
    return {
        "success": table(rows),
        "conditions": table(
            {name: {"all meanings": [one["measured"][name] for one in talking]} for name in others}
        ),
        "cross-play": cross_play_table(result["cross-play"]),
        "languages": markdown_table(["", *(f"seed {one['seed']}" for one in talking)], codes).strip(),
    }


def show(result: dict[str, Any], images: Path) -> None:
    runs = {}
    for name, seeds in result["runs"].items():
        curves = [list(zip(*one["curve"], strict=True)) for one in seeds]
        runs[name + (", trained" if name == OPEN else "")] = [(games, done) for games, done, _ in curves]
        if name == OPEN:
            runs[f"{name}, held out"] = [(games, done) for games, _, done in curves]
    plot_curves(
        runs,
        images / "learning_symbols.svg",
        ylabel="exact completions",
        xlabel="games",
        lines={"most possible without chat": result["best without chat"]},
    )
    for title, text in tables(result).items():
        print(f"\n{title}\n\n{text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs") / "symbols", help="folder of weights")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--control-seeds", type=int, default=1)
    parser.add_argument("--zoo", action="store_true", help="keep the best pair in the package")

    def measured(given: argparse.Namespace) -> dict[str, Any]:
        result, talking = run(given.runs, given.seeds, given.control_seeds)
        if given.zoo:
            print(keep_best(result, talking))
        return result

    show_or_measure(parser, "symbols", measured, show)


if __name__ == "__main__":
    main()
