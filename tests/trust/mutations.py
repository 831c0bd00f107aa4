"""Mutation testing: single wrong edits of the package, each of which a test must detect.

`mutations.json` lists file, old text, new text, and the tests that concern the file. Edits are applied one at a time
to a copy of the checkout. A random part of them is tried.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trust.driver import ROOT, Figures, expect, main

MUTATIONS: list[dict[str, str]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
QUICK, FULL = 4, len(MUTATIONS)
SHARE = 0.95  # of the mutations, which has to be noticed
LIMIT_S = 900  # for the tests of one
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider")


def passes(copy: Path, tests: set[str]) -> bool:
    """Whether tests pass in a copy of the checkout (not if they hang). Raises `Broken` if they cannot run."""
    # Without bytecode: that of a file that is edited twice in a second would be taken for current.
    own = {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": f"{copy}.kernels", "PYTHONDONTWRITEBYTECODE": "1"}
    own["HYPOTHESIS_PROFILE"] = "ci"
    try:
        done = subprocess.run(
            [*PYTEST, *sorted(tests)],
            cwd=copy,
            env=os.environ | own,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    expect(
        done.returncode < 3, f"pytest ended with {done.returncode}:", done.stdout[-500:], done.stderr[-500:]
    )
    return done.returncode == 0


def drive(amount: int, seed: int) -> Figures:
    """Try `amount` mutations; print a table to stderr."""
    chosen = random.Random(seed).sample(MUTATIONS, min(amount, FULL))
    for number, change in enumerate(MUTATIONS):
        found = (ROOT / change["file"]).read_text("utf-8").count(change["old"])
        expect(
            found == 1, f"mutation {number}: {change['file']} has {change['old']!r} {found} times, expected 1"
        )
    unnoticed = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(
            ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "site")
        )
        tests = {name for change in chosen for name in change["tests"].split()}
        expect(passes(copy, tests), "without a mutation, some of these tests fail:", *sorted(tests))
        for change in chosen:
            begun, path = time.perf_counter(), copy / change["file"]
            text = path.read_text("utf-8")
            path.write_text(text.replace(change["old"], change["new"]), "utf-8")
            if survived := passes(copy, set(change["tests"].split())):
                unnoticed.append(f"{change['file']}: {change['old']} -> {change['new']}")
            path.write_text(text, "utf-8")
            what = f"{change['file']}: {change['old'].strip()} -> {change['new'].strip()}".replace("\n", " ")
            word, seconds = "UNNOTICED" if survived else "noticed", time.perf_counter() - begun
            print(f"{word:9} {seconds:4.0f} s  {what:.150}", file=sys.stderr, flush=True)
    noticed = len(chosen) - len(unnoticed)
    expect(
        noticed >= SHARE * len(chosen), f"{noticed} of {len(chosen)} mutations are noticed; not:", *unnoticed
    )
    return {"mutations": len(chosen), "noticed": noticed, "unnoticed": unnoticed}


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
