"""Prompts: text files in sections, whose places are filled in. Yours may replace any section."""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

from iglu_marl import ConfigError, Utterance
from iglu_marl.core.text import cleaned

_SECTION = re.compile(r"^\[\[(\w+)\]\][ ]*\n", re.MULTILINE)
_ESCAPED = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "<>[]|`"})


class Prompts:
    """The prompts of a role, by section. `fill(section, **values)` gives a text.

    role: "architect" or "builder". folder: one with a file `architect.txt` or `builder.txt`; sections that it has
    replace those that come along. A section begins with a line `[[name]]`; `$name` in it is filled in, `$$` is a
    dollar. Raises `ConfigError` for a file that cannot be read, an unknown section, or an unknown `$name`.
    """

    def __init__(self, role: str, folder: str | Path = "") -> None:
        packaged = resources.files("iglu_marl.agents.llm").joinpath("prompts", f"{role}.txt")
        self._sections = _sections(packaged.read_text(encoding="utf-8"))
        self._place = "the prompts that come along"
        if not folder:
            return
        path = Path(folder) / f"{role}.txt"
        if not Path(folder).is_dir():
            raise ConfigError(f"prompts is {str(folder)!r}, expected a folder with {role}.txt")
        if not path.exists():
            return  # the other role's alone
        try:
            own = _sections(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from None
        for name, text in own.items():
            if name not in self._sections:
                raise ConfigError(f"{path} has a section [[{name}]], expected: {', '.join(self._sections)}")
            known = _names(self._sections[name])
            if odd := [part for part in _names(text) if part not in known]:
                shown = ", ".join(f"${part}" for part in known) or "none"
                raise ConfigError(f"{path}, section [[{name}]], has ${odd[0]}, expected of these: {shown}")
        if not own:
            raise ConfigError(f"{path} has no section, expected lines such as [[system]]")
        self._sections |= own
        self._place = str(path)

    def fill(self, section: str, **values: object) -> str:
        """The text of a section with its places filled in; values are taken as they are."""
        return string.Template(self._sections[section]).substitute(values)

    @property
    def digest(self) -> str:
        """A name for what they say: 12 hexadecimal digits."""
        return hashlib.blake2b(json.dumps(self._sections).encode(), digest_size=6).hexdigest()

    def __repr__(self) -> str:
        return f"Prompts({self._place})"


def _sections(text: str) -> dict[str, str]:
    parts = _SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _names(text: str) -> list[str]:
    found = []
    for match in string.Template.pattern.finditer(text):
        if match["invalid"] is not None:
            raise ConfigError(
                f"a prompt has a lone $ before {text[match.end() : match.end() + 20]!r}; write $$"
            )
        name = match["named"] or match["braced"]
        if name and name not in found:
            found.append(name)
    return found


def quoted(utterances: Iterable[Utterance], done: Mapping[int, str] | None = None) -> str:
    """A dialogue as data: one JSON object a line. No text can end its line, or look like a mark of a chat.

    done: what was done for a message, by its number.
    """
    lines = []
    for number, said in enumerate(utterances):
        came = "" if done is None or number not in done else f', "done": {json.dumps(done[number])}'
        text = json.dumps(cleaned(said.text), ensure_ascii=False).translate(_ESCAPED)
        lines.append(f'{{"speaker": "{said.role.value}", "text": {text}{came}}}')
    return "\n".join(lines) or "(nothing has been said)"


def joined(values: Mapping[str, object]) -> str:
    """`a 1, b 2` of a mapping."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
