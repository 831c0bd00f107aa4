"""Run code of a tool: `python runner.py CHECKOUT` against a checkout, `python runner.py` against this package.

Standard library and NumPy only. Standard input: a JSON list of lists of pieces of code; the pieces of a list share
their names. Standard output, last line: a JSON list of results alike, the value of each last expression or its error.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import json
import os
import re
import sys
import types
from typing import Any

import numpy as np

IMPORTS = (
    (r"^( *)import gym$", r"\1from iglu_marl.compat import gym"),
    (r"^( *)import (gridworld|iglu)$", r"\1import iglu_marl.compat.\2 as \2"),
    (r"^( *)from (gym|gridworld|iglu|iglu_datasets)\b", r"\1from iglu_marl.compat.\2"),
    (r"^( *)from clevr_robot_env\b", r"\1from iglu_marl.compat.clevr_robot"),
)


SEED = "import random, numpy\nrandom.seed(0)\nnumpy.random.seed(0)"  # the older tools draw from these


def migrated(code: str) -> str:
    """Return code of a tool with the imports of this package."""
    for before, after in IMPORTS:
        code = re.sub(before, after, code, flags=re.MULTILINE)
    return code


def _use(checkout: str) -> None:
    """Make the packages of a checkout importable under the names that its documents use."""
    sys.path.insert(0, checkout)
    if not hasattr(np, "int"):  # older code uses this alias
        np.int = int  # type: ignore[attr-defined]  # noqa: NPY001
    scripts = os.path.join(checkout, "iglu_dataset_scripts")
    if os.path.isdir(scripts):
        sys.modules["iglu_datasets"] = importlib.import_module("iglu_dataset_scripts")
        sys.modules["iglu_datasets.task"] = importlib.import_module("iglu_dataset_scripts.task")
    if os.path.isfile(os.path.join(checkout, "mujoco_env.py")):
        package = sys.modules["clevr_robot_env"] = types.ModuleType("clevr_robot_env")
        package.__path__ = [checkout]
        package.ClevrEnv = importlib.import_module("clevr_robot_env.env").ClevrEnv  # type: ignore[attr-defined]
    if os.path.isfile(os.path.join(checkout, "iglu", "handlers.py")):  # its __init__ starts a download
        package = sys.modules["iglu"] = types.ModuleType("iglu")
        package.__path__ = [os.path.join(checkout, "iglu")]


def sig(module: str, name: str) -> list[str]:
    """Return the arguments of a function or class that may be given by position, with their defaults."""
    place = module if len(sys.argv) > 1 else migrated(f"from {module}").split()[1]
    parameters = inspect.signature(getattr(importlib.import_module(place), name)).parameters.values()
    return [
        str(one.replace(annotation=one.empty)) for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD
    ]


def plain(value: Any) -> Any:
    """Return a result as JSON: numbers to five digits, arrays as nested lists, other objects by their type."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return round(value, 5)
    return value if value is None or isinstance(value, (bool, int, str)) else f"<{type(value).__name__}>"


def result(code: str, names: dict[str, Any]) -> Any:
    """Run code. Return `{"value": …}` of its last expression, or `{"error": …}`."""
    exec(SEED, names)  # noqa: S102
    try:
        tree = ast.parse(code if len(sys.argv) > 1 else migrated(code))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "probe", "exec"), names)  # noqa: S102 (the code of the list)
        value = None if last is None else eval(compile(ast.Expression(last.value), "probe", "eval"), names)  # type: ignore[attr-defined]  # noqa: S307
        return {"value": plain(value)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".partition("(")[0].strip()}


def main() -> None:
    """Read lists of code, write lists of results."""
    with contextlib.redirect_stdout(sys.stderr):
        if len(sys.argv) > 1:
            _use(sys.argv[1])
        found = []
        for pieces in json.load(sys.stdin):
            names: dict[str, Any] = {"__name__": "__main__", "sig": sig}
            found.append([result(code, names) for code in pieces])
    print("\n" + json.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # windows and threads of the tools do not matter any more


if __name__ == "__main__":
    main()
