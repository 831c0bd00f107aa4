"""`iglu-marl data browse`: write a corpus as web pages with search and replays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from iglu_marl.commands.corpora import CORPORA, source_argument
from iglu_marl.commands.options import Json, PackPath, Structures, output_folder
from iglu_marl.commands.show import show_dataset


def browse(
    source: Annotated[str, source_argument(*CORPORA)],
    output: Annotated[Path, output_folder("Output folder.")] = Path("corpus"),
    path: PackPath = None,
    structure: Structures = None,
    as_json: Json = False,
) -> None:
    """Write a corpus as a folder of web pages that search all utterances and replay each session.

    Examples: iglu-marl data browse bundled -o sessions
    """
    show_dataset(source, output, path, structure, as_json)
