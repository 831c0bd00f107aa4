"""Prompts: text files in sections with placeholders. Files of your own can replace any section."""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

from iglu_marl import ConfigError, Utterance
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
        ConfigError: for an unknown section, or an unknown `$name`.
        DataError: for a file that cannot be read.

    """

    def __init__(self, role: str, folder: str | Path = "") -> None:
        packaged = resources.files("iglu_marl.agents.llm").joinpath("prompts", f"{role}.txt")
        self._sections = _sections(packaged.read_text(encoding="utf-8"))
        path = Path(folder) / f"{role}.txt"
        if folder and not Path(folder).is_dir():
            raise ConfigError(f"prompts is {str(folder)!r}, expected a folder with {role}.txt")
        if folder and path.exists():  # a folder may replace only the other role's prompts
            own = _sections(decoded(read_file(path, MIB), f"{path}"))
            if not own:
                raise ConfigError(f"{path} has no section, expected lines such as [[system]]")
            for name, text in own.items():
                if name not in self._sections:
                    known = ", ".join(self._sections)
                    raise ConfigError(f"{path} has a section [[{name}]], expected: {known}")
                values = dict.fromkeys(re.findall(r"\$\{?(\w+)", self._sections[name]), "")
                try:
                    string.Template(text).substitute(values)
                except (KeyError, ValueError) as error:
                    shown = ", ".join(f"${part}" for part in values) or "none"
                    raise ConfigError(
                        f"{path}, section [[{name}]]: {error} is no placeholder, expected of these: {shown}; $$ is a "
                        "dollar sign"
                    ) from None
            self._sections |= own

    def fill(self, section: str, **values: object) -> str:
        """Return a section with its placeholders filled in; values are inserted verbatim."""
        return string.Template(self._sections[section]).substitute(values)

    @property
    def digest(self) -> str:
        """Digest of all sections: 12 hexadecimal digits."""
        return hashlib.blake2b(json.dumps(self._sections).encode(), digest_size=6).hexdigest()


def _sections(text: str) -> dict[str, str]:
    parts = _SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


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
