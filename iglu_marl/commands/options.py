"""The options that several commands share, and the checks of options: each is written once.

A check runs when the command line is read, and raises `ConfigError` with the option as it is typed. An option's own
default is not checked, so what is dear to import is imported only when an option names one of its members.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import CallbackParam, Context, Option
from typer.models import OptionInfo

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.text import similar

# ------------------------------------------------------------------------------------------------------ checks

Check = Callable[[CallbackParam, Any], Any]


def expect(option: str, value: Any, valid: bool, expected: str) -> None:
    """Raise `ConfigError` unless the value of an option is valid."""
    if not valid:
        shown = str(value) if isinstance(value, Path) else value
        raise ConfigError(f"{option} is {shown!r}, expected {expected}")


def expect_one_of(option: str, value: Any, known: Collection[Any]) -> None:
    """Raise `ConfigError` unless the value of an option is one of the known ones."""
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
    """A check for one of these names."""
    return _check(lambda option, value: expect_one_of(option, value, names))


def one_in(place: str) -> Check:
    """A check for one of the names in a collection of the package, "module:NAME", imported when it is needed."""
    return _check(lambda option, value: expect_one_of(option, value, pkgutil.resolve_name(place)))


def at_least(least: int) -> Check:
    """A check for an integer of so much or more."""
    expected = f"an integer of {least} or more"
    return _check(lambda option, value: expect(option, value, value >= least, expected))


def within(least: float, most: float, unit: str = "") -> Check:
    """A check for a number between two others, or as much as one of them."""
    expected = f"{least:g}..{most:g} {unit}".rstrip()
    return _check(lambda option, value: expect(option, value, least <= value <= most, expected))


def ends_in(*suffixes: str) -> Check:
    """A check for a file with one of these suffixes."""
    expected = f"a file that ends in {_any_of(suffixes)}"
    return _check(lambda option, value: expect(option, value, value.suffix.lower() in suffixes, expected))


def each_in(place: str) -> Check:
    """A check for names in a collection of the package, as `one_in`, of an option that may be repeated."""

    def test(option: str, names: Sequence[str]) -> None:
        for name in names:
            expect_one_of(option, name, pkgutil.resolve_name(place))

    return _check(test)


positive = _check(lambda option, value: expect(option, value, 0 < value < math.inf, "a number above 0"))
known_controls = one_in("iglu_marl.core.controls:CONTROLS")


def in_options(message: str, command: Callable[..., Any]) -> str:
    """A message in the words of a command: where it names an argument of the API that is an option, the option.

    `output=…` becomes `--output …`, `append=True` `--append`, and `seed is …`, at the beginning, `--seed is …`.
    """
    spelled: dict[str, list[str]] = {}  # --verify, and --no-verify where there is that
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        about = getattr(parameter.annotation, "__metadata__", (None,))[0]
        if isinstance(about, OptionInfo):
            names = (
                about.default,
                *(about.param_decls or ()),
                f"--{name.replace('_', '-')}",
            )  # the first: Typer's
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


# ------------------------------------------------------------------------------------------------- completion

Completion = Callable[[str], list[str]]


def completed_from(names: Callable[[], Iterable[str]]) -> Completion:
    """What a shell offers for the beginning of a name; the names are looked up when it asks."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _agents(*roles: Role) -> Completion:
    def names() -> Iterable[str]:
        from iglu_marl.agents.registry import known

        return dict.fromkeys(name for role in roles for name in sorted(known(role)))

    return completed_from(names)


def _structures() -> Iterable[str]:
    from iglu_marl.tasks import BundledTasks

    return BundledTasks().tasks


def _rungs() -> Iterable[str]:
    from iglu_marl import benchmark

    return (rung.name for rung in benchmark.rungs())


an_architect, a_builder, an_agent = _agents(Role.ARCHITECT), _agents(Role.BUILDER), _agents(*Role)
a_structure, a_rung = completed_from(_structures), completed_from(_rungs)

# ----------------------------------------------------------------------------------------------------- options


def choice(*names: str, about: str = "") -> Any:
    """An option whose value is one of a few names, which its help tells."""
    return Option(
        help=_any_of(names) + (about and f": {about}"),
        callback=one_of(*names),
        autocompletion=completed_from(lambda: names),
    )


Json = Annotated[bool, Option("--json", help="Print the result as JSON, and nothing else.")]
Seed = Annotated[int, Option(help="Decides everything random.", callback=at_least(0))]

# the structures and where they are
Tasks = Annotated[Path | None, Option(help="A file of named structures (JSON). Default: the bundled ones.")]
Data = Annotated[
    Path | None, Option(help="The Minecraft Dialogue Corpus (zip or folder): structures such as C7.")
]
TaskId = Annotated[
    str | None,
    Option(help="Which structure, by name or id. Default: by the seed.", autocompletion=a_structure),
]
TaskSource = Annotated[str, Option(help="bundled, turns, random, or a file of structures (JSON)")]
PackPath = Annotated[
    Path | None, Option(help="Its zip or folder. Default: IGLU_DATA_PATH, then fetched packs.")
]
FollowLinks = Annotated[
    bool, Option("--follow-links", help="Read what links in a folder lead to, as in a hub's cache.")
]

# the game in the browser
GamesFolder = Annotated[Path, Option("--folder", help="Where games are recorded.")]
GAMES_FOLDER = Path("iglu-marl-games")
Database = Annotated[
    str | None,
    Option("--db", help="The database, as SQLAlchemy has it. Default: SQLite, in the folder of games."),
]

# the game and who plays it
AS_LEARNED = "Default: as a trained agent has learned it, else"
Controls = Annotated[
    str | None, Option(help=f"The builder's action encoding. {AS_LEARNED} walking.", callback=known_controls)
]
ScriptedControls = Annotated[str, choice("walking", "flying")]
Chat = Annotated[str | None, choice("text", "tokens", about=f"what is said. {AS_LEARNED} text.")]
View = Annotated[str, choice("aec", "parallel")]
Processes = Annotated[int, Option(help="How many to spread the games over.", callback=at_least(1))]
MinariAgent = Annotated[str, Option("--agent", help="With --minari: whose part, builder_0 or architect_0.")]
Host = Annotated[str, Option(help="The address to listen at. Default: this machine alone.")]
Port = Annotated[int, Option(help="The port.", callback=within(0, 65_535))]
MaxSteps = Annotated[int, Option(help="Builder steps of a game at most.", callback=at_least(1))]
# language models: what these say holds for the agents named llm while the command runs


def _environment(variable: str, check: Check | None = None) -> Any:
    """A check that passes a value on to the agents of this command, and of its processes, as a variable."""

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
        if value is not None:
            if check is not None:
                check(param, value)
            context.with_resource(changed(str(value)))
        return value

    return pass_on


def _of_models(variable: str, *names: str, about: str, check: Check | None = None) -> Any:
    callback = _environment(f"IGLU_MARL_LLM_{variable}", check)
    return Option(*names, help=f"Of agents named llm: {about}", callback=callback)


_MODEL = "the model's name, or a local folder. Default: IGLU_MARL_LLM_MODEL."
_known_view = one_in("iglu_marl.agents.llm.settings:VIEWS")
_VIEW = "how they are told what is built: layers, coordinates, picture, …"
LLMModel = Annotated[str | None, _of_models("MODEL", "--model", "--llm-model", about=_MODEL)]
LLMModelLong = Annotated[str | None, _of_models("MODEL", "--llm-model", about=_MODEL)]
"""Where `--model` means something else."""
LLMEndpoint = Annotated[
    str | None, _of_models("ENDPOINT", "--endpoint", "--llm-endpoint", about="the server, https://host/v1.")
]
LLMView = Annotated[str | None, _of_models("VIEW", "--view", "--llm-view", about=_VIEW, check=_known_view)]
LLMViewLong = Annotated[str | None, _of_models("VIEW", "--llm-view", about=_VIEW, check=_known_view)]
"""Where `--view` means something else."""
Concurrency = Annotated[
    int | None,
    Option(
        help="Of agents named llm: games, and requests, under way at once in each process.",
        callback=_environment("IGLU_MARL_LLM_CONCURRENCY"),
    ),
]


def agent_name(role: Role, about: str) -> Any:
    """An option whose value is the name of an agent."""
    return Option(help=about, callback=known_agent(role), autocompletion=_agents(role))


def expect_agent(option: str, value: str, role: Role, *others: str) -> None:
    """Raise `ConfigError` unless a name is that of an agent, `llm:MODEL@ENDPOINT` among them, or one of the others."""
    from iglu_marl.agents.registry import find, known

    if value not in others and find(value, role) is None:
        expect_one_of(option, value, [*known(role), *others, "llm:MODEL@ENDPOINT"])


def known_agent(role: Role) -> Check:
    """A check for the name of an agent."""
    return _check(lambda option, value: expect_agent(option, value, role))


Engine = Annotated[str, choice("auto", "opengl", "software", about="who draws the window")]
