"""`iglu-marl new`: write an agent or task source that runs, with its test."""

from __future__ import annotations

import keyword
import re
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from typer import Argument

from iglu_marl.commands.options import one_of, output_folder
from iglu_marl.commands.output import text_console
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import made_folder, usable_path, write_text

# Command that scores what was written, by kind.
SCORED = {
    "builder": "iglu-marl evaluate --architect scripted --builder {place} --task-source random --count 5",
    "architect": "iglu-marl evaluate --architect {place} --builder scripted --task-source random --count 5",
    "task-source": "iglu-marl evaluate --task-source {place} --count 5",
}


def new(
    kind: Annotated[
        str, Argument(metavar="KIND", help="builder, architect or task-source.", callback=one_of(*SCORED))
    ],
    name: Annotated[str, Argument(metavar="NAME", help="Name of the file and, in CamelCase, of the class.")],
    output: Annotated[Path, output_folder("Folder for NAME.py and test_NAME.py.")] = Path(),
) -> None:
    """Write a builder, architect or task source that runs, with its test, and print what to do with it.

    Examples: iglu-marl new builder MyBuilder
    """
    class_name = "".join(part.capitalize() for part in name.split("_"))
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or keyword.iskeyword(class_name):
        raise ConfigError(f"NAME is {name!r}, expected a Python name in lower case, such as my_builder")
    templates = files("iglu_marl.commands") / "templates"
    texts = {
        output / f"{prefix}{name}.py": (templates / f"{prefix}{kind}.txt").read_text(encoding="utf-8")
        for prefix in ("", "test_")
    }
    for path in [output / name, *texts]:
        if usable_path(path, ConfigError).exists():
            raise ConfigError(f"{path} exists; choose another NAME or another folder (--output)")
    for path in texts:
        if path.stem in {*sys.stdlib_module_names, "conftest"} or find_spec(path.stem) is not None:
            raise ConfigError(
                f"NAME is {name!r}, which would hide the module {path.stem}; choose another, such as my_{name}"
            )
    made_folder(output)
    for path, text in texts.items():
        write_text(path, text.replace("NAME", name).replace("CLASS", class_name))
    paths = list(texts)
    console = text_console()
    console.print(f"Written: {paths[0]} (class {class_name}) and {paths[1]}")
    console.print(f"Test it:   python -m pytest {paths[1]}  (needs pytest: pip install pytest)")
    place = f"{paths[0]}:{class_name}"
    console.print(f"Score it:  {SCORED[kind].format(place=place)}")
    if kind != "task-source":
        console.print(f"Watch it:  iglu-marl demo --{kind} {place}")
