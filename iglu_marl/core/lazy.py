"""Packages whose members load when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def members(
    package: str, module_of: Mapping[str, str], submodules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    module_of: the module inside the package that defines each public name. submodules: what can be used as an
    attribute without having been imported, too.
    """
    public = sorted(module_of)

    def load(name: str) -> Any:
        if name in module_of:
            value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        elif name in submodules:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public, *submodules})

    return load, listed, public
