"""Run all benchmarks with pytest-benchmark and print one table. Further arguments go to pytest.

`python -m benchmarks -k pixels` runs some; `python -m benchmarks --benchmark-json=figures.json` saves them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

OPTIONS = [
    "--benchmark-only",
    "--benchmark-columns=median,min,max,ops,rounds",
    "--benchmark-sort=fullname",
    "--benchmark-group-by=group",
    "--benchmark-warmup=on",
    "-q",
    "-p",
    "no:cacheprovider",
    "-o",
    "python_files=bench_*.py",
    "-o",
    "python_functions=bench_*",
]


def main() -> int:
    folder = Path(__file__).parent
    return int(pytest.main([*OPTIONS, *sys.argv[1:], str(folder)]))


if __name__ == "__main__":
    sys.exit(main())
