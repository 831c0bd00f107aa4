"""The record of versions in files of ours."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

from iglu_marl._version import __version__


def versions() -> dict[str, str]:
    """Return the platform, and the versions of the libraries that a simulation depends on."""
    return {
        "iglu_marl": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        **{name: version(name) for name in ("numpy", "numba", "gymnasium", "pettingzoo")},
    }
