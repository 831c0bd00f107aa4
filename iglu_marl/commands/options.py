"""The options that several commands share, and the checks of options.

A check runs when the command line is parsed and raises `ConfigError` with the option as it is typed. Defaults are not
checked, so that expensive modules are imported only when an option needs them.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import pkgutil
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import CallbackParam, Context, Option
from typer.models import OptionInfo

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import check_writable
from iglu_marl.core.tables import TABLE_FORMS
from iglu_marl.core.text import similar
from iglu_marl.game.profiles import TEAMS, team_options

# ------------------------------------------------------------------------------------------------------ checks

Check = Callable[[CallbackParam, Any], Any]


def expect(option: str, value: Any, valid: bool, expected: str) -> None:
    """Raise `ConfigError` unless the value of an option is valid."""
    if not valid:
        shown = str(value) if isinstance(value, Path) else value
        raise ConfigError(f"{option} is {shown!r}, expected {expected}")


def expect_one_of(option: str, value: Any, known: Collection[Any]) -> None:
    """Raise `ConfigError` with the nearest name unless the value of an option is known."""
    if value not in known:
        names = [str(name) for name in known]
        raise ConfigError(f"{option} is {value!r}{similar(value, names)}, expected one of {', '.join(names)}")


def _any_of(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _check(test: Callable[[str, Any], None]) -> Check:
    def check(param: CallbackParam, value: Any) -> Any:
        if value is not None and value != param.default:
            test(str(param.opts[0]), value)
        return value

    return check


def one_of(*names: str) -> Check:
    """Return a check for one of these names."""
    return _check(lambda option, value: expect_one_of(option, value, names))


def one_in(place: str) -> Check:
    """Return a check for a name in a collection of the package, "module:NAME", which is imported on use."""
    return _check(lambda option, value: expect_one_of(option, value, pkgutil.resolve_name(place)))


def at_least(least: int) -> Check:
    """Return a check for an integer that is `least` or more."""
    expected = f"an integer of {least} or more"
    return _check(lambda option, value: expect(option, value, value >= least, expected))


def within(least: float, most: float, unit: str = "") -> Check:
    """Return a check for a number in the closed interval `least`..`most`."""
    expected = f"{least:g}..{most:g} {unit}".rstrip()
    return _check(lambda option, value: expect(option, value, least <= value <= most, expected))


def each_in(place: str) -> Check:
    """Return the check `one_in` for an option that may be repeated."""

    def test(option: str, names: Sequence[str]) -> None:
        for name in names:
            expect_one_of(option, name, pkgutil.resolve_name(place))

    return _check(test)


positive = _check(lambda option, value: expect(option, value, 0 < value < math.inf, "a number above 0"))
known_controls = one_in("iglu_marl.core.controls:ALL_CONTROLS")


def in_options(message: str, command: Callable[..., Any]) -> str:
    """Replace the arguments of the API that a message names by the options of a command.

    `output=…` becomes `--output …`, `append=True` becomes `--append`, and a leading `seed is …` `--seed is …`.
    """
    spelled: dict[str, list[str]] = {}  # --verify, and --no-verify if it exists
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        about = getattr(parameter.annotation, "__metadata__", (None,))[0]
        if isinstance(about, OptionInfo):
            # Typer stores the first name of an option in `default`.
            names = (about.default, *(about.param_decls or ()), f"--{name.replace('_', '-')}")
            spelled[name] = next(word for word in names if isinstance(word, str)).split("/")

    def option(found: re.Match[str]) -> str:
        value = found[2]
        if (name := found[1] or found[3]) not in spelled:
            return found[0]
        on, *off = spelled[name]
        if value == "False" and off:
            return off[0]
        return on if value in (None, "True") else f"{on} {value}"

    return re.sub(r"\b(\w+)=([^\s,;()]+)|^(\w+)(?= is )", option, message)


# ----------------------------------------------------------------------------------------------------- options


def choice(*names: str, about: str = "") -> Any:
    """Return an option whose value is one of a few names, which its help lists."""
    return Option(help=_any_of(names) + (about and f": {about}"), callback=one_of(*names))


def integer(least: int, about: str) -> Any:
    """Return an option whose value is an integer of `least` or more."""
    return Option(help=about, callback=at_least(least))


def _writable(check: Check | None = None, **form: bool) -> Check:
    def test(param: CallbackParam, value: Path | None) -> Path | None:
        if value is not None:
            if check is not None:
                check(param, value)
            check_writable(value, ConfigError, **form)
        return value

    return test


writable_file, writable_folder = _writable(), _writable(folder=True)


def output_file(about: str, *names: str, check: Check | None = None, parents: bool = False) -> Any:
    """Return an option for a file to write. Default name: --output. parents: whether its folder may be missing."""
    return Option(*(names or ("--output", "-o")), help=about, callback=_writable(check, parents=parents))


def output_folder(about: str, *names: str) -> Any:
    """Return an option for a folder to write. Default name: --output."""
    return Option(*(names or ("--output", "-o")), help=about, callback=writable_folder)


Json = Annotated[bool, Option("--json", help="Print the result as JSON only.")]
TableForm = Annotated[
    str | None,
    Option(
        "--format",
        help=f"Print only the tables, as {_any_of(TABLE_FORMS)}.",
        callback=one_of(*TABLE_FORMS),
    ),
]
Seed = Annotated[int, integer(0, "Seed of all randomness.")]


# tasks and corpora
def task_source(default: str) -> Any:
    """Return the option for a source of tasks, by name (see `iglu_marl.tasks.named`)."""
    return Option(
        "--task-source",
        help="Tasks: bundled, turns, random, iglu-singleturn, iglu-multiturn, mdc (also NAME:test), a file of "
        f"structures (.json, .vox, .schem, .nbt, .litematic, .npy), FILE.py:Class or module:Class. Default: {default}.",
    )


TaskSource = Annotated[str | None, task_source("bundled")]
GameTasks = Annotated[str | None, task_source("those of the team, else bundled")]
TaskId = Annotated[str | None, Option(help="Task, by key or id. Default: chosen by the seed.")]
Data = Annotated[
    Path | None, Option(help="Minecraft Dialogue Corpus (zip or folder), with structures such as C7.")
]
PackPath = Annotated[
    Path | None,
    Option("--data", help="Corpus (zip or folder). Default: IGLU_DATA_PATH, then the download folder."),
]
Structures = Annotated[
    list[str] | None, Option(help="Structure of a dataset, such as C7; may be repeated. Default: all.")
]

# the game in the browser
GamesFolder = Annotated[Path, Option("--folder", help="Folder of the recorded games.")]
GAMES_FOLDER = Path("iglu-marl-games")
Database = Annotated[
    str | None,
    Option("--db", help="SQLAlchemy URL of the database. Default: SQLite in the folder of the games."),
]

# the game and who plays it
AS_TRAINED = "Default: that of the trained agent, else"
Controls = Annotated[
    str | None,
    Option(help=f"Action encoding of the builder. {AS_TRAINED} walking.", callback=known_controls),
]
Team = Annotated[str | None, choice(*TEAMS, about="game of a team, by name")]
Architects = Annotated[int | None, integer(0, "Number of architects. Default: that of the team, else 1.")]
Builders = Annotated[int | None, integer(1, "Number of builders. Default: that of the team, else 1.")]
Chat = Annotated[str | None, choice("text", "tokens", about=f"form of the messages. {AS_TRAINED} text.")]
Api = Annotated[
    str,
    Option(
        "--api",
        help="PettingZoo API of the games: aec or parallel.",
        callback=one_of("aec", "parallel"),
    ),
]
TextView = Annotated[str, choice("layers", "coordinates", about="form of the world in the prompts")]
Processes = Annotated[int, integer(1, "Number of processes.")]
MinariAgent = Annotated[
    str, Option("--agent", help="With --minari: the agent to export, builder_0 or architect_0.")
]
Host = Annotated[str, Option(help="Address to listen at. Default: this machine only.")]


def port_option(default: str = "8000") -> Any:
    """Return the option for the port of a server."""
    return Option(help=f"Port to listen at; 0: a free one. Default: {default}.", callback=within(0, 65_535))


Port = Annotated[int, port_option()]
MaxSteps = Annotated[int, integer(1, "Maximum number of builder steps per game.")]


def steps_of_game(usual: int) -> Any:
    """Return the option for the length of games, whose default is that of the team, or the usual one."""
    return integer(1, f"Maximum number of builder steps per game. Default: that of the team, else {usual:,}.")


def game_of_team(
    team: str | None, architects: int | None, builders: int | None, api: str = "aec"
) -> dict[str, Any]:
    """Return the options of the game of a team, by its name and the numbers of its agents; {} for a pair."""
    numbers = {"architects": architects, "builders": builders}
    given = {name: number for name, number in numbers.items() if number is not None}
    game = given if team is None else team_options(team, given)
    if api == "parallel":  # each step is a turn
        game.pop("turn_steps", None)
    return game


KeepGoing = Annotated[
    bool, Option("--keep-going", help="Count an error of an agent as a failure, and continue.")
]
Baselines = Annotated[
    bool, Option("--baselines/--no-baselines", help="Measure the builders nothing and random as well.")
]
KeepUnbuilt = Annotated[
    bool, Option("--keep-unbuilt", help="Keep tasks that nobody built: their target is the start.")
]
Episode = Annotated[int, integer(0, "Index of a game in the recording, from 0.")]
# Language models: these options apply to the agents named llm while the command runs.


def _environment(variable: str, check: Check | None = None, usual: int | None = None) -> Any:
    """Return a check that sets an environment variable while the command and its processes run.

    usual: for a variable that is not set.
    """

    @contextlib.contextmanager
    def changed(value: str) -> Iterator[None]:
        before = os.environ.get(variable)
        os.environ[variable] = value
        try:
            yield
        finally:
            if before is None:
                del os.environ[variable]
            else:
                os.environ[variable] = before

    def pass_on(context: Context, param: CallbackParam, value: Any) -> Any:
        if value is None and variable not in os.environ:
            value = usual
        if value is not None:
            if check is not None:
                check(param, value)
            context.with_resource(changed(str(value)))
        return value

    return pass_on


LLMModel = Annotated[
    str | None,
    Option(
        "--llm-model",
        help="Agents named llm or scripted-llm: model name or local folder. Default: IGLU_MARL_LLM_MODEL.",
        callback=_environment("IGLU_MARL_LLM_MODEL"),
    ),
]
LLMEndpoint = Annotated[
    str | None,
    Option(
        "--llm-endpoint",
        help="Agents named llm or scripted-llm: URL of the server, https://host/v1.",
        callback=_environment("IGLU_MARL_LLM_ENDPOINT"),
    ),
]
LLMView = Annotated[
    str | None,
    Option(
        help="Agents named llm or scripted-llm: form of the world in the prompts: layers, coordinates.",
        callback=_environment("IGLU_MARL_LLM_VIEW", one_in("iglu_marl.agents.llm.settings:VIEWS")),
    ),
]
Concurrency = Annotated[
    int | None,
    Option(
        help="Agents named llm or scripted-llm: games and requests at once in each process.",
        callback=_environment("IGLU_MARL_LLM_CONCURRENCY"),
    ),
]
LLM_TASKS, LLM_TOKENS = 20, 5_000_000  # of an evaluation with language models, unless asked otherwise
LLMTokens = Annotated[
    int | None,
    Option(
        "--llm-tokens",
        help="Limit of tokens of all language models; 0: none. Default: IGLU_MARL_LLM_MAX_TOTAL_TOKENS, or 5,000,000.",
        callback=_environment("IGLU_MARL_LLM_MAX_TOTAL_TOKENS", at_least(0), LLM_TOKENS),
    ),
]


def agent_name(role: Role, about: str) -> Any:
    """Return an option whose value is the name of an agent."""
    check = _check(lambda option, value: expect_agent(option, value, role))
    return Option(help=about, callback=check)


Architect = Annotated[str, agent_name(Role.ARCHITECT, "Architect, by name or FILE.py:Class.")]
Builder = Annotated[str, agent_name(Role.BUILDER, "Builder, by name or FILE.py:Class.")]


def expect_agent(option: str, value: str, role: Role, *others: str) -> None:
    """Raise `ConfigError` unless a value names an agent (see `registry.find`) or is one of `others`."""
    from iglu_marl.agents.registry import find, known

    if value not in others and find(value, role) is None:
        expect_one_of(option, value, [*known(role), *others, "llm:MODEL@ENDPOINT", "module:attribute"])
