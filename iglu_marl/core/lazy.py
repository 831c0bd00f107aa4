"""Exports of a package, loaded at first use.

The imports below `if TYPE_CHECKING:` in a package's `__init__.py` are its list of names, which type checkers and
editors read, too: `from module import name as name`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_exports(
    package: str, submodules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: the package's `__name__`.
        submodules: submodules that can be used as attributes without an import of their own.

    """
    path = str(sys.modules[package].__file__)
    exports = {
        alias.name: line.module
        for block in ast.parse(Path(path).read_text(encoding="utf-8")).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom) and line.module
        for alias in line.names
    }
    public = sorted(exports)

    def load(name: str) -> Any:
        if name in exports:
            value = getattr(import_module(exports[name]), name)
        elif name in submodules:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public, *submodules})

    return load, listed, public
