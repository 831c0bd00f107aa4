"""What pyproject.toml cannot say: on a package page the links of README.md are absolute.

They lead to the files of this version below `Source` of `[project.urls]`; while none is set, the text is README.md
without relative links and pictures.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent
_LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+\))")


def described(text: str, source: str | None, version: str) -> str:
    """A Markdown text whose relative links and pictures lead into a repository, as forges have their addresses."""

    def turned(link: re.Match[str]) -> str:
        if source is None:
            return "" if link[1] else link[2].removeprefix("[").removesuffix("](")
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}{link[2]}{source.rstrip('/')}/{kind}/v{version}/{link[3]}"

    return _LINK.sub(turned, text)


if __name__ == "__main__":
    from setuptools import setup
    from setuptools.compat.py310 import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(
        r'__version__ = "(.*)"', (ROOT / "iglu_marl" / "_version.py").read_text(encoding="utf-8")
    )
    assert version is not None
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    setup(
        long_description=described(readme, project.get("urls", {}).get("Source"), version[1]),
        long_description_content_type="text/markdown",
    )
