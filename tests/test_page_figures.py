"""The figures of the pages are those that their commands print: `make figures` fails where a page has others."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COG = (sys.executable, "-m", "cogapp", "-P", "-I", str(ROOT), "-p", "from benchmarks import figures")
TEXTS = [
    "Put a red block in the middle.",
    "Put a green block in the north west corner.",
    "Sing me a song.",
]


def cog(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COG, *options, page], capture_output=True, text=True, check=False)


def write_texts(path: Path, texts: list[str]) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["GameId", "InputInstruction", "IsInstructionClear"])
        rows.writerows([number, text, "Yes"] for number, text in enumerate(texts))


def test_a_changed_digit_and_a_sentence_that_is_no_longer_read_are_found(tmp_path: Path) -> None:
    page, data = tmp_path / "page.md", tmp_path / "texts.csv"
    write_texts(data, TEXTS)
    command = f"python -m benchmarks.human_instructions --json --data {data}"
    page.write_text(
        "# Page\n\n<!-- [[[cog\n"
        f'figures.values("{command}", {{"understood": "{{share_understood:.1%}} of {{instructions}}"}})\n'
        "]]] -->\n<!-- [[[end]]] -->\n"
    )
    assert cog(page, "-r").returncode == 0
    assert "| understood | 66.7 % of 3 |" in page.read_text()
    assert cog(page, "--check").returncode == 0

    written = page.read_text()
    page.write_text(written.replace("66.7", "66.8"))
    changed = cog(page, "--check", "--diff")
    assert changed.returncode != 0
    assert "-| understood | 66.8 % of 3 |" in changed.stdout

    page.write_text(written)
    write_texts(data, [TEXTS[0], "Plac a grene blokc in teh cornre.", TEXTS[2]])
    assert cog(page, "--check").returncode != 0


def test_a_command_that_fails_is_named_with_its_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '<!-- [[[cog\nfigures.table("iglu-marl predict --corpus moon")\n]]] -->\n<!-- [[[end]]] -->\n'
    )
    failed = cog(page, "-r")
    assert failed.returncode != 0
    assert "iglu-marl predict --corpus moon: exit code 2" in failed.stderr + failed.stdout
    assert "moon" in failed.stderr + failed.stdout
