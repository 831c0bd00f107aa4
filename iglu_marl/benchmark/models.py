"""The benchmark of language models: fixed rungs, from single blocks by their coordinates to pictures, and a row each.

`run_models(agent)` plays them, with many games in flight, and gives a `Result` for each; what needs data or sights that
are not there is skipped, with the reason. Rows of players without sense and of scripted ones come with the package.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.registry import known, named
from iglu_marl.benchmark.ladder import MODEL_RUNGS, Rung, find
from iglu_marl.benchmark.results import Result, Run, digest_of, versions
from iglu_marl.benchmark.splits import some_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.parsing import parse_json, reading
from iglu_marl.data.packs.store import MissingPackError
from iglu_marl.evaluation import Evaluation, evaluate
from iglu_marl.game.agent import add_counts

EPISODES = 20  # of each rung, in rows that are compared
ROWS = "models.json"


class NotPlayed(Exception):
    """A rung cannot be played by an agent; says why."""


def player(rung: Rung, agent: str) -> tuple[Role, Any]:
    """The role in which an agent is measured on a rung, and what makes it. Raises `NotPlayed`."""
    role = Role.BUILDER if rung.architects else Role.ARCHITECT
    is_model = agent == "llm" or agent.startswith(NamedModel.PREFIX)
    if not (is_model or agent in known(role)):
        raise NotPlayed(f"there is no {role.value} {agent!r}")
    if not is_model or role is Role.BUILDER:
        return role, agent
    maker = (
        NamedModel(named("llm", role), "", None)
        if agent == "llm"
        else NamedModel.of(agent, named("llm", role))
    )
    if not maker.settings().pictures:
        raise NotPlayed("the model sees no pictures; where it does: IGLU_MARL_LLM_PICTURES=true")
    return role, replace(maker, view="picture")


def run_models(
    agent: str,
    rungs: Iterable[str] = (),
    *,
    name: str = "",
    episodes: int = EPISODES,
    seed: int = 0,
    output: Path,
    processes: int = 1,
    concurrency: int | None = None,
    command: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> list[Result]:
    """Play the rungs (all, if none is named), and write a result file for each into `output`; returns the results.

    agent: a name of `iglu_marl.agents`, such as "llm" or "llm:MODEL@ENDPOINT". name: in tables. The games are kept in
    `output`, too: what was broken off, or what failed on the way, is played when it is started again. progress: is told
    what is played, and what is skipped and why. Raises `ConfigError` for another rung, and what `evaluate` raises.
    """
    names = tuple(rungs) or tuple(rung.name for rung in MODEL_RUNGS)
    found = []
    for rung in map(find, names):
        if rung not in MODEL_RUNGS:
            raise ConfigError(
                f"rung is {rung.name!r}, expected one of {', '.join(one.name for one in MODEL_RUNGS)}"
            )
        try:
            role, maker = player(rung, agent)
            tasks = some_of(rung.tasks("test"), episodes)
        except (NotPlayed, MissingPackError) as reason:
            progress(f"{rung.name}: skipped, {str(reason).partition(chr(10))[0]}")
            continue
        progress(rung.name)
        two = {
            Role.BUILDER: {"scripted": "scripted"},
            Role.ARCHITECT: {one: one for one in rung.architects.get("test", ())},
        }
        two[role] = {name or agent: maker}
        played = evaluate(
            two[Role.ARCHITECT], two[Role.BUILDER], tasks, controls=rung.controls, seed=seed, processes=processes,
            concurrency=concurrency, output=output / rung.name, examples=0, on_error="count", progress=False,
            config={**rung.game, "builder_sees": rung.sees, "max_steps": rung.max_steps},
        )  # fmt: skip
        result = result_of(rung, name or agent, played, role, command)
        result.write(output / f"{rung.name}.json")
        found.append(result)
    return found


def result_of(rung: Rung, name: str, played: Evaluation, role: Role, command: str = "") -> Result:
    """The result of a rung's games."""
    (entry,) = played.summary()
    means = {"success": "completed", "completed": "completed", "f1": "change_f1", "steps": "steps"}
    scores = {measure: entry[source].value if entry["games"] else 0.0 for measure, source in means.items()}
    taken: dict[str, Any] = {}
    for part in played.models():
        add_counts(taken, {key: value for key, value in part.items() if not isinstance(value, str)})
    models = {
        **taken,
        "games": entry["games"],
        "failed": entry["failed"],
        "errors": entry["errors"],
        "interval": [round(end, 4) for end in entry["completed"][1:]] if entry["games"] else [0.0, 1.0],
        "settings": played.settings.get("agents", {}).get(f"{role.value}s", {}).get(name, {}),
    }
    return Result(
        rung.name, rung.digest, name, "test", len(played.tasks), digest_of(played.tasks), 0, (Run(0, scores),), command,
        versions(), models,
    )  # fmt: skip


@lru_cache(maxsize=1)
def reference_results() -> tuple[Result, ...]:
    """The results of players without sense and of scripted ones that come with the package."""
    place = files("iglu_marl.benchmark") / ROWS
    with reading(str(place)):
        return tuple(Result.from_json(part) for part in parse_json(place.read_bytes(), str(place)))


def write_results(results: Iterable[Result], path: Path) -> None:
    """Several results in one file, as `reference_results` reads them."""
    path.write_text(json.dumps([result.to_json() for result in results], indent=1) + "\n", encoding="utf-8")
