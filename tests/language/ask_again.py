"""Ask a language model for the replies that `model_replies.json` lacks, one prompt of a dialogue at a time.

    python tests/language/ask_again.py FOLDER bundled tests/language/dialogues-both.json --every 3 --first 2

Sources are those of `python -m benchmarks.dialogues`. Each session is followed in its own world, and then from the true
world, up to the first prompt without a reply. That prompt is written to FOLDER/SESSION.prompt.txt, and the rules, which
are the same for all, to FOLDER/system.txt. Write the model's reply to FOLDER/SESSION.reply.txt, and call this again: it
stores the replies, also those that cannot be used, and writes the next prompts, until all are answered.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from recorded_model import FILE, RecordedModel, RecordedReader, key_of

from benchmarks.dialogues import Session, from_true_world, in_own_world, read_source
from iglu_marl.agents.llm import Reply

MODES = {"own": in_own_world, "true": from_true_world}


class Unanswered(Exception):
    """There is no reply to this prompt yet."""


class StoppingModel(RecordedModel):
    def without_reply(self, message: str) -> Reply:
        raise Unanswered(message)


def store_replies(folder: Path) -> int:
    """Move the replies in a folder to the file; return their number."""
    replies = json.loads(FILE.read_text(encoding="utf-8"))
    given = sorted(folder.glob("*.reply.txt"))
    for file in given:
        prompt = file.with_name(file.name.replace(".reply.txt", ".prompt.txt"))
        replies.setdefault(
            key_of(prompt.read_text(encoding="utf-8")), file.read_text(encoding="utf-8").strip()
        )
    if given:
        text = json.dumps(dict(sorted(replies.items())), ensure_ascii=False, indent=0)
        FILE.write_text(text + "\n", encoding="utf-8")
    for file in given:
        file.with_name(file.name.replace(".reply.txt", ".prompt.txt")).unlink()
        file.unlink()
    return len(given)


def next_prompt(session: Session, model: RecordedModel, modes: list[str]) -> str | None:
    """Return the first prompt of a session without a reply, None if all are answered."""
    try:
        for mode in modes:
            MODES[mode](session, RecordedReader(model))
    except Unanswered as prompt:
        return str(prompt)
    return None


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    parser.add_argument("--sessions", nargs="+", metavar="NAME", help="only sessions with these names")
    parser.add_argument("--first", type=int, default=0, help="number of the first session of each source")
    parser.add_argument("--every", type=int, default=1, help="1 in EVERY sessions")
    parser.add_argument("--count", type=int, help="largest number of sessions of each source")
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES))
    args = parser.parse_args(arguments)
    args.folder.mkdir(parents=True, exist_ok=True)
    print(f"{store_replies(args.folder)} replies stored")
    model, asked, finished = StoppingModel(), set[str](), 0
    for source in args.sources:
        for session in read_source(source)[args.first :: args.every][: args.count]:
            if args.sessions and session.name not in args.sessions:
                continue
            prompt = next_prompt(session, model, args.modes)
            finished += prompt is None
            if prompt is None or prompt in asked:
                continue
            asked.add(prompt)  # sessions that begin alike wait for the same reply
            name = re.sub(r"[^\w.-]+", "-", f"{Path(source).stem}.{session.name}")
            (args.folder / f"{name}.prompt.txt").write_text(prompt, encoding="utf-8")
            (args.folder / "system.txt").write_text(model.system, encoding="utf-8")
    print(f"{finished} sessions finished, {len(asked)} prompts to answer" if asked else "all answered")


if __name__ == "__main__":
    main()
