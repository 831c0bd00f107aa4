"""`iglu-marl data browse`: write a corpus as web pages with search and replays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from iglu_marl.commands.corpora import CORPORA, open_corpus, source_argument
from iglu_marl.commands.options import Json, PackPath, Structures, output_folder
from iglu_marl.commands.output import print_json, text_console


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
    from iglu_marl.data import MultiturnDataset, bundled
    from iglu_marl.recording.corpus_films import write_corpus_pages

    if source == "bundled":
        corpus: Any = MultiturnDataset(path=str(bundled.files()))
    else:
        corpus = open_corpus(source, path)
    facts = write_corpus_pages(
        source,
        corpus,
        output,
        path=path,
        structures=structure or (),
        progress=False if as_json else None,
    )
    if not print_json(as_json, facts):
        left_out = len(facts["left_out"])
        without = f"; {left_out} without poses are left out" if left_out else ""
        text_console().print(f"Written: {facts['sessions']} sessions{without}. Open {facts['file']}")
