"""Packages whose members load when they are first used, so that importing the package costs nothing.

The public names of such a package are the imports below `if TYPE_CHECKING:` in its `__init__.py`, which type checkers
and editors read, too; there is no second list.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any


def _listed(package: str) -> dict[str, tuple[str, str]]:
    """Public name -> the module that defines it, and its name there."""
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


def members(
    package: str, submodules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    submodules: what can be used as an attribute without having been imported, too.
    """
    place_of = _listed(package)
    public = sorted(place_of)

    def load(name: str) -> Any:
        if name in place_of:
            module, attribute = place_of[name]
            whole = module == package  # a module of the package itself
            value = (
                import_module(f"{module}.{attribute}") if whole else getattr(import_module(module), attribute)
            )
        elif name in submodules:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public, *submodules})

    return load, listed, public
