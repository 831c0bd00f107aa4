"""Exports of a package: loaded at first use, and former ones for one more version.

The imports below `if TYPE_CHECKING:` in a package's `__init__.py` are its list of names, which type checkers and
editors read, too. `from module import name as name` is an export. `from module import name`, or `… as former`, is a
name that was exported until the last version: it works with a `DeprecationWarning`, and type checkers refuse it.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

Places = dict[str, tuple[str, str]]  # name -> (module that defines it, its name there)


@cache
def parse_exports(package: str) -> tuple[Places, Places]:
    """Return the exports of a package, and its former exports."""
    path = sys.modules[package].__file__
    assert path is not None
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    exports: Places = {}
    former: Places = {}
    for block in tree.body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    for alias in line.names:
                        found = exports if alias.asname == alias.name else former
                        found[alias.asname or alias.name] = (line.module, alias.name)
    return exports, former


def lazy_exports(
    package: str, submodules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: the package's `__name__`.
        submodules: submodules that can be used as attributes without an import of their own.

    """
    exports, _ = parse_exports(package)
    public = sorted(exports)
    load_former = deprecated_names(package)

    def load(name: str) -> Any:
        if name in exports:
            module, attribute = exports[name]
            value = getattr(import_module(module), attribute)
        elif name in submodules:
            value = import_module(f"{package}.{name}")
        else:
            return load_former(name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public, *submodules})

    return load, listed, public


def deprecated_names(package: str) -> Callable[[str], Any]:
    """Return a `__getattr__` that finds former exports, with a `DeprecationWarning`."""

    def load(name: str) -> Any:
        module, attribute = parse_exports(package)[1].get(name, ("", ""))
        if not module:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        caller = 1
        while sys._getframe(caller).f_globals is globals():  # called by `lazy_exports`
            caller += 1
        value = getattr(import_module(module), attribute)
        top = import_module(package.partition(".")[0])
        place = top.__name__ if attribute in top.__all__ else module
        text = f"{package}.{name} is now {place}.{attribute}; the old name goes with the next version"
        warnings.warn(text, DeprecationWarning, stacklevel=caller + 1)
        return value

    return load
