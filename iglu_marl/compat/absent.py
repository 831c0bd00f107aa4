"""Names of the older tools that are missing here: their errors say what to use."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from typing import Any


def absent_attribute(owner: str, name: str, instead: Mapping[str, str]) -> AttributeError:
    """Return the error for a missing attribute. instead: what to use in place of each name of the tool."""
    if name in instead:
        return AttributeError(f"{owner}.{name} of the older tool is not here; use {instead[name]}")
    return AttributeError(f"{owner!r} object has no attribute {name!r}")


def absent_names(module: str, instead: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: names of the tool raise `ImportError`, others `AttributeError`."""

    def missing(name: str) -> Any:
        error = absent_attribute(module, name, instead)
        # `from module import name` replaces an AttributeError by an error without our text.
        raise ImportError(str(error), name=module) if name in instead else error

    return missing


def add_absent_modules(package: str, modules: Mapping[str, Mapping[str, str]]) -> None:
    """Make modules importable of which only the errors are here. modules: `instead` of each, by its name."""
    for name, instead in modules.items():
        module = types.ModuleType(f"{package}.{name}", "Its names say what to use.")
        module.__getattr__ = absent_names(module.__name__, instead)  # type: ignore[method-assign]
        sys.modules[module.__name__] = module
