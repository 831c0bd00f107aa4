"""Modules and names of the older tools: those that are missing here say what to use."""

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


def add_modules(package: str, modules: Mapping[str, types.ModuleType | Mapping[str, str]]) -> None:
    """Make modules importable below a package, by their names there.

    modules: a module that has the names of the tool's; or what to use in place of each of its names.
    """
    for name, content in modules.items():
        path = f"{package}.{name}"
        module = content
        if not isinstance(module, types.ModuleType):
            module = types.ModuleType(path, "Its names say what to use.")
            module.__getattr__ = absent_names(path, content)  # type: ignore[method-assign, arg-type]
        sys.modules[path] = module
        parent, _, last = path.rpartition(".")
        setattr(sys.modules[parent], last, module)
