"""Calls of all exported functions and classes with arguments that their annotations allow, such as -1, inf or a path
of 5,000 characters.

Hypothesis makes the arguments (`from_type`). A call ends with a result or an error of ours within 10 s of CPU time (a
minute of waiting) and 4 GiB; anything else is a fault. The amount is seconds of CPU time.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import inspect
import io
import os
import pkgutil
import re
import resource
import signal
import sys
import tempfile
import time
import types
import typing
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from trust.driver import ROOT, Figures, expect, main, show_progress
from trust.fuzz import HANGS_S, Hangs, Watch, place_of

import iglu_marl
from iglu_marl import IgluMarlError
from iglu_marl.tasks import BundledTasks

QUICK, FULL = 20, 300
MEMORY = 4 << 30  # bytes of addresses, beyond those in use
NOT_EXPORTED = ("iglu_marl.commands", "iglu_marl.core.kernels",
                "iglu_marl.language.scene")  # fmt: skip  # only `Thing` is documented
# What asks a network, opens a window, starts a server, plays for minutes by default, or changes a registry.
LONG = {"evaluate", "fetch", "lazy_exports", "main", "play_human", "register", "serve"}
NUMBERS = st.sampled_from((-1, 0, 1, 2, 3, 127, 10**9, 2**31, -(2**63), 10**30))
FEW = st.sampled_from((-1, 0, 1, 10**30))  # of processes, which would all be started
FLOATS = st.sampled_from((0.0, -0.5, 1.0, 1e300, float("inf"), float("-inf"), float("nan")))
# No text is a path to elsewhere.
TEXTS = st.text(st.characters(exclude_characters="/.~"), max_size=20) | st.sampled_from(
    ("", "\0", "\ud800", "x" * 5000, "Place a red block.", "blue")
)
GRIDS = arrays.arrays(
    st.sampled_from((np.int8, np.int64, np.float64, np.bool_)),
    st.sampled_from(((9, 11, 11), (9, 11), (0,), (), (1, 9, 11, 11), (5,))),
    fill=st.sampled_from((0, 1)),
)
ANYTHING = st.none() | st.booleans() | NUMBERS | FLOATS | TEXTS | st.just([]) | st.just({})


def exported() -> dict[str, Callable[..., Any]]:
    """Return the public functions and classes, by name: exports of packages, and what docs/api names."""
    places = {"iglu_marl"} | {
        each.name for each in pkgutil.walk_packages(iglu_marl.__path__, "iglu_marl.") if each.ispkg
    }
    named = []
    for place in sorted(places):
        if not place.startswith(NOT_EXPORTED):
            with contextlib.suppress(IgluMarlError):  # an extra that is not installed
                package = importlib.import_module(place)
                named += [f"{place}.{name}" for name in getattr(package, "__all__", dir(package))]
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        named += re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.M)
    found: dict[Callable[..., Any], str] = {}
    for name in named:
        last = name.rpartition(".")[2]
        if last.startswith("_") or last in LONG:
            continue
        with contextlib.suppress(IgluMarlError, ModuleNotFoundError):  # an extra that is missing
            value = pkgutil.resolve_name(name)
            if str(getattr(value, "__module__", "")).startswith("iglu_marl") and _can_be_called(value):
                found.setdefault(value, name)
    return {name: value for value, name in found.items()}


def _can_be_called(value: Any) -> bool:
    if not inspect.isclass(value):
        return inspect.isfunction(value)
    protocol = getattr(value, "_is_protocol", False)
    return not (issubclass(value, (BaseException, enum.Enum)) or inspect.isabstract(value) or protocol)


def arguments(function: Callable[..., Any]) -> tuple[dict[str, st.SearchStrategy[Any]], bool]:
    """Return what is drawn for each parameter (or its default), and whether a parameter has no exact annotation."""
    target = function.__init__ if inspect.isclass(function) else function  # type: ignore[misc]
    try:
        hints = typing.get_type_hints(target)
    except (NameError, TypeError, AttributeError):  # names for type checkers only
        hints = {}
    drawn, loose = {}, False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        drawn[name] = FEW if name == "processes" else strategy(hints.get(name, Any))
        loose |= drawn[name] is ANYTHING
        if parameter.default is not parameter.empty:
            drawn[name] = st.one_of(st.just(parameter.default), drawn[name])
    return drawn, loose


def strategy(hint: Any) -> st.SearchStrategy[Any]:
    """Return the values of an annotation."""
    if hint is Any or hint is object:
        return ANYTHING
    array = typing.get_origin(hint) in (None, np.ndarray, typing.Union, types.UnionType)
    if array and ("ArrayLike" in str(hint) or "NestedSequence" in str(hint) or "ndarray" in str(hint)):
        return GRIDS
    try:
        found = st.from_type(hint)
        found.validate()
    except Exception:  # Hypothesis knows no such type
        return ANYTHING
    return found


def confine(folder: Path) -> None:
    """Refuse this process all programs, connections, and changes of files outside the folder, from now on."""
    changes = {"os.remove": 1, "os.rename": 2, "os.rmdir": 1, "os.mkdir": 1, "os.symlink": 2, "os.truncate": 1,
               "os.chmod": 1, "os.chown": 1, "os.link": 2, "shutil.move": 2}  # fmt: skip

    def check(event: str, args: tuple[Any, ...]) -> None:
        if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect"):
            raise PermissionError(13, "Permission denied", str(args[0]))
        paths = args[: changes.get(event, 0)]
        if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            paths = args[:1]
        for path in paths:
            if isinstance(path, (str, bytes, os.PathLike)):
                whole = os.path.abspath(os.fsdecode(path))
                if not whole.startswith(f"{folder}{os.sep}") and "\0" not in whole:
                    raise PermissionError(13, "Permission denied", whole)

    sys.addaudithook(check)


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """Limit CPU time and memory of a call, and swallow what it prints."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    signal.signal(signal.SIGPROF, Watch._late)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGALRM, Watch._late)
    signal.setitimer(signal.ITIMER_PROF, HANGS_S)
    signal.setitimer(signal.ITIMER_REAL, 6 * HANGS_S)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def registered(folder: Path) -> None:
    """Tell Hypothesis the values of common annotations. Paths are in the folder, or can have no file."""
    paths = st.sampled_from(
        ("", "\0", "x" * 5000, "/dev/null/file", str(folder), str(folder / "new" / "file"))
    )
    made = {
        int: NUMBERS,
        float: FLOATS | NUMBERS,
        str: TEXTS | paths,
        Path: paths.map(Path),
        os.PathLike: paths.map(Path),
        np.random.Generator: st.builds(np.random.default_rng, st.integers(0, 9)),
        iglu_marl.Task: st.sampled_from([*BundledTasks()][:9]),
    }
    for kind, values in made.items():
        st.register_type_strategy(kind, values)


def drive(amount: int, seed: int) -> Figures:
    """Call all names in turn for `amount` seconds. The process is confined to a new folder from then on."""
    folder = Path(tempfile.mkdtemp(prefix="names-"))
    os.environ.update(
        IGLU_MARL_OFFLINE="1",
        HF_HUB_OFFLINE="1",
        IGLU_MARL_CACHE=str(folder / "cache"),
        IGLU_DATA_PATH=str(folder),
    )
    with contextlib.suppress(ImportError):
        importlib.import_module("torch")  # under a limit of memory, its import may block
    names = exported()
    registered(folder)
    os.chdir(folder)
    confine(folder)
    expect(len(names) > 200, f"only {len(names)} names are exported")
    figures: Figures = {"names": len(names), "calls": 0, "results": 0}
    faults: dict[str, str] = {}  # the first of each place, with its arguments

    def call(name: str, data: st.DataObject) -> None:
        try:
            wanted, loose = arguments(names[name])
            given = {key: data.draw(values) for key, values in wanted.items()}
        except Exception:  # an argument refuses its own arguments
            return
        figures["calls"] += 1
        by_place = [
            given.pop(key)
            for key, parameter in inspect.signature(names[name]).parameters.items()
            if parameter.kind is parameter.POSITIONAL_ONLY
        ]
        try:
            with limits():
                names[name](*by_place, **given)
                figures["results"] += 1
        except (IgluMarlError, gymnasium.error.Error):  # `compat.gym` has the errors of Gymnasium
            pass
        except (Exception, Hangs) as error:
            if name == "iglu_marl.compat.gym.make" and isinstance(error, (ModuleNotFoundError, ValueError)):
                return  # of Gymnasium, for an id "module:name"
            odd = loose and isinstance(error, (TypeError, AttributeError, LookupError))
            if odd or isinstance(error, hypothesis.errors.HypothesisException):  # a drawn function, called
                return  # the annotation did not say what is expected
            key = f"{name}: {place_of(error)}"
            if key not in faults:
                shown = {key: repr(value)[:60] for key, value in given.items()}
                faults[key] = f"{error!s:.120} {by_place!r:.60} {shown}"
                print(f"{key}: {faults[key]}", file=sys.stderr, flush=True)

    settings = hypothesis.settings(
        max_examples=20, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    until = time.process_time() + amount
    while time.process_time() < until:
        for name in names:
            if time.process_time() > until:
                break
            run = settings(hypothesis.given(st.just(name), st.data())(call))
            with contextlib.suppress(hypothesis.errors.HypothesisException):  # of drawing
                hypothesis.seed(seed)(run)()
            show_progress({**figures, "faults": len(faults)})
        seed += 1
    expect(not faults, f"{len(faults)} faults, the first of each place: {faults}")
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
