"""The one way to compile a kernel: Numba with a disk cache where there is a place to write one.

Kernels live in a few files only (`core/rules.py`, `rendering/painter.py`, `language/kernels.py`, and those of
`planning/` that are named so), none of which calls another's: Numba's cache does not notice an edited callee in another
module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile lazily, cached on disk; uncached where no cache folder can be written (a read-only install)."""
    # No fastmath anywhere: the dynamics are exact to the last bit.
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # Numba raises "no locator available" while decorating
        return cast(Function, numba.njit(nogil=True)(function))
