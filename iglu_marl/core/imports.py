"""Import of objects given as `module:attribute` or `path/to/file.py:attribute`."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

from iglu_marl.core.errors import IgluMarlError


def imported(place: str) -> Any:
    """Return an attribute of a module or of a Python file. Modules are searched in the current folder first.

    Raises `ImportError` for a missing module or file and for one that raises an error, `AttributeError` for a missing
    attribute, and `ValueError` for a place without one of the parts.
    """
    name, _, attribute = place.rpartition(":")
    if not name or not attribute:
        raise ValueError(f"{place!r} is not module:attribute or FILE.py:attribute")
    if not name.endswith(".py"):
        if "" not in sys.path and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return reduce(getattr, attribute.split("."), _run(name, importlib.import_module, name))
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        raise ImportError(f"there is no file {path}")
    name = str(path)  # of the module, too: a file may be called as an installed module is
    if name not in sys.modules:
        sys.path.append(str(path.parent))
        spec: Any = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            _run(name, spec.loader.exec_module, sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return reduce(getattr, attribute.split("."), sys.modules[name])


def _run(name: str, load: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return load(*arguments)
    except (ImportError, IgluMarlError):
        raise
    except Exception as error:
        raise ImportError(f"{name} raises {type(error).__name__}: {error}") from error
