"""Prompts: text files in sections with placeholders. Files of your own can replace any section."""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

from iglu_marl import ConfigError, DataError, Utterance
from iglu_marl.core.parsing import MIB, decoded, read_file
from iglu_marl.core.text import strip_control

_SECTION = re.compile(r"^\[\[(\w+)\]\][ ]*\n", re.MULTILINE)
_ESCAPED = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "<>[]|`"})


class Prompts:
    """The prompts of a role, by section.

    A section starts with a line `[[name]]`. In it, `$name` is a placeholder and `$$` a dollar sign.

    Args:
        role: "architect" or "builder".
        folder: may have a file `architect.txt` or `builder.txt`, whose sections replace those of the package.

    Raises:
        ConfigError: for a file that cannot be read, an unknown section, or an unknown `$name`.

    """

    def __init__(self, role: str, folder: str | Path = "") -> None:
        packaged = resources.files("iglu_marl.agents.llm").joinpath("prompts", f"{role}.txt")
        self._sections = _sections(packaged.read_text(encoding="utf-8"))
        self._place = "the prompts of the package"
        if not folder:
            return
        path = Path(folder) / f"{role}.txt"
        if not Path(folder).is_dir():
            raise ConfigError(f"prompts is {str(folder)!r}, expected a folder with {role}.txt")
        if not path.exists():
            return  # the folder replaces only the other role's prompts
        try:
            own = _sections(decoded(read_file(path, MIB), f"{path}"))
        except DataError as error:
            raise ConfigError(f"{error}") from None
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
        """Return a section with its placeholders filled in; values are inserted verbatim."""
        return string.Template(self._sections[section]).substitute(values)

    @property
    def digest(self) -> str:
        """Digest of all sections: 12 hexadecimal digits."""
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


def quoted(text: str) -> str:
    """Return a text as a JSON string, with line ends and marks of chat templates escaped."""
    return json.dumps(strip_control(text), ensure_ascii=False).translate(_ESCAPED)


def quote_dialogue(utterances: Iterable[Utterance], done: Mapping[int, str] | None = None) -> str:
    """Return a dialogue as data: one JSON object per line, with line ends and marks of chat templates escaped.

    done: number of a message -> what was built for it.
    """
    lines = []
    for number, said in enumerate(utterances):
        came = "" if done is None or number not in done else f', "done": {json.dumps(done[number])}'
        speaker = said.role.value if said.number is None else f"{said.role.value} {said.number}"
        lines.append(f'{{"speaker": "{speaker}", "text": {quoted(said.text)}{came}}}')
    return "\n".join(lines) or "(nothing has been said)"


def joined(values: Mapping[str, object]) -> str:
    """Format a mapping as `a 1, b 2`."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
