"""The benchmark of language models: seven fixed levels, from single blocks by their coordinates to pictures.

`run_models(agent)` plays them with many concurrent games and returns a `Result` for each. Levels whose data is missing
or whose observations the agent cannot use are skipped. Results of random and scripted agents come with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.registry import find as find_agent
from iglu_marl.agents.registry import named
from iglu_marl.benchmark.catalog import MODEL_LEVELS, Level, find
from iglu_marl.benchmark.results import Result, Run, digest_of, versions
from iglu_marl.benchmark.splits import some_of
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.parsing import parse_json, wrap_errors
from iglu_marl.data.packs.store import MissingPackError
from iglu_marl.evaluation import Evaluation, evaluate
from iglu_marl.evaluation.metrics import share_interval
from iglu_marl.game.agent import add_counts

EPISODES = 20  # per level, in results that are compared
ROWS = "models.json"


class NotPlayed(Exception):
    """An agent cannot play a level."""


def player(level: Level, agent: str) -> tuple[Role, Any]:
    """Return the role in which an agent is measured on a level, and its specification.

    Raises `NotPlayed` if the agent cannot play the level.
    """
    role = Role.BUILDER if level.architects else Role.ARCHITECT
    is_model = agent == "llm" or agent.startswith(NamedModel.PREFIX)
    if find_agent(agent, role) is None:
        raise NotPlayed(f"there is no {role.value} {agent!r}")
    if not is_model or role is Role.BUILDER:
        return role, agent
    maker = (
        NamedModel(named("llm", role), "", None)
        if agent == "llm"
        else NamedModel.of(agent, named("llm", role))
    )
    if not maker.settings().pictures:
        raise NotPlayed("the model reads no pictures (if it does, set IGLU_MARL_LLM_PICTURES=true)")
    return role, replace(maker, view="picture")


def run_models(
    agent: str,
    levels: Iterable[str] = (),
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
    """Play levels, write a result file for each, and return the results.

    Args:
        agent: a name of `iglu_marl.agents`, such as "llm" or "llm:MODEL@ENDPOINT".
        levels: names of `MODEL_LEVELS`; (): all.
        name: name of the agent in tables.
        episodes: games per level.
        seed: seed of the evaluation.
        output: folder for result files and games. If it is used again, only missing and failed games are played.
        processes: number of worker processes.
        concurrency: concurrent games per process; None: what the agent asks for.
        command: the command line, kept in the result.
        progress: called with the name of each level, and the reason if it is skipped.

    Raises:
        ConfigError: if a level is unknown; also all errors of `evaluate`.

    """
    names = tuple(levels) or tuple(level.name for level in MODEL_LEVELS)
    found = []
    for level in map(find, names):
        if level not in MODEL_LEVELS:
            raise ConfigError(
                f"level is {level.name!r}, expected one of {', '.join(one.name for one in MODEL_LEVELS)}"
            )
        try:
            role, maker = player(level, agent)
            tasks = some_of(level.tasks("test"), episodes)
        except (NotPlayed, MissingPackError) as reason:
            progress(f"{level.name}: skipped, {str(reason).partition(chr(10))[0]}")
            continue
        progress(level.name)
        two = {
            Role.BUILDER: {"scripted": "scripted"},
            Role.ARCHITECT: {one: one for one in level.architects.get("test", ())},
        }
        two[role] = {name or agent: maker}
        played = evaluate(
            two[Role.ARCHITECT], two[Role.BUILDER], tasks, controls=level.controls, seed=seed, processes=processes,
            concurrency=concurrency, output=output / level.name, examples=0, on_error="count", progress=False,
            config={**level.game, "builder_sees": level.sees, "max_steps": level.max_steps},
        )  # fmt: skip
        result = result_of(level, name or agent, played, role, command)
        result.write(output / f"{level.name}.json")
        found.append(result)
    return found


def result_of(level: Level, name: str, played: Evaluation, role: Role, command: str = "") -> Result:
    """Return the result of a level's games."""
    (entry,) = played.summary()
    means = {"success": "completed", "completed": "completed", "f1": "change_f1", "steps": "steps"}
    scores = {measure: entry[source].value if entry["games"] else 0.0 for measure, source in means.items()}
    ends = share_interval(scores["success"], entry["games"])[1:] if entry["games"] else (0.0, 1.0)
    taken: dict[str, Any] = {}
    for part in played.models():
        add_counts(taken, {key: value for key, value in part.items() if not isinstance(value, str)})
    models = {
        **taken,
        "games": entry["games"],
        "failed": entry["failed"],
        "errors": entry["errors"],
        "interval": [round(end, 4) for end in ends],
        "settings": played.settings.get("agents", {}).get(f"{role.value}s", {}).get(name, {}),
    }
    return Result(
        level.name, level.digest, name, "test", len(played.tasks), digest_of(played.tasks), 0, (Run(0, scores),),
        command, versions(), models,
    )  # fmt: skip


@lru_cache(maxsize=1)
def reference_results() -> tuple[Result, ...]:
    """Return the results of random and scripted agents that come with the package."""
    place = files("iglu_marl.benchmark") / ROWS
    with wrap_errors(str(place)):
        return tuple(Result.from_json(part) for part in parse_json(place.read_bytes(), str(place)))
