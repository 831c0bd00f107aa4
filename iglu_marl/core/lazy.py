"""Exports of a package: loaded at first use, and renamed ones for one more version.

The exports of a package are the imports below `if TYPE_CHECKING:` in its `__init__.py`. Type checkers and editors read
the same lines, so there is no second list.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any


def _parse_exports(package: str) -> dict[str, tuple[str, str]]:
    """Return exported name -> (module that defines it, its name there)."""
    path = sys.modules[package].__file__
    assert path is not None
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    found = {}
    for block in tree.body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    found.update(
                        {alias.asname or alias.name: (line.module, alias.name) for alias in line.names}
                    )
    return found


def lazy_exports(
    package: str, submodules: Collection[str] = (), renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: the package's `__name__`.
        submodules: submodules that can be used as attributes without an import of their own.
        renamed: as for `deprecated_names`.

    """
    exports = _parse_exports(package)
    public = sorted(exports)
    load_renamed = deprecated_names(package, renamed or {})

    def load(name: str) -> Any:
        if name in exports:
            module, attribute = exports[name]
            own = module == package  # a module of the package itself
            value = (
                import_module(f"{module}.{attribute}") if own else getattr(import_module(module), attribute)
            )
        elif name in submodules:
            value = import_module(f"{package}.{name}")
        else:
            return load_renamed(name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public, *submodules})

    return load, listed, public


def deprecated_names(package: str, renamed: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` that finds exports under their old names, with a `DeprecationWarning`.

    Args:
        package: the package's `__name__`.
        renamed: old name -> "module:name", the place where it is now.

    """

    def load(name: str) -> Any:
        if name not in renamed:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place = renamed[name]
        caller = 1
        while sys._getframe(caller).f_globals is globals():  # called by `lazy_exports`
            caller += 1
        text = f"{package}.{name} is now {place.replace(':', '.')}; the old name goes with the next version"
        warnings.warn(text, DeprecationWarning, stacklevel=caller + 1)
        return resolve_name(place)

    return load
