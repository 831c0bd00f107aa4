"""`iglu-marl new`: write an agent or task source that runs, with its test."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

from typer import Argument

from iglu_marl.commands.options import one_of, output_to
from iglu_marl.commands.output import text_console
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import made_folder, write_text

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
    output: Annotated[Path, output_to("Folder for NAME.py and test_NAME.py.")] = Path(),
) -> None:
    """Write a builder, architect or task source that runs, with its test, and print what to do with it."""
    if not name.isidentifier() or name != name.lower() or name.startswith("_"):
        raise ConfigError(f"NAME is {name!r}, expected a Python name in lower case, such as my_builder")
    class_name = "".join(part.capitalize() for part in name.split("_"))
    paths = [output / f"{name}.py", output / f"test_{name}.py"]
    for path in paths:
        if path.exists():
            raise ConfigError(f"{path} exists; choose another NAME or another folder (--output)")
    made_folder(output)
    templates = files("iglu_marl.commands") / "templates"
    for path, template in zip(paths, (f"{kind}.txt", f"test_{kind}.txt"), strict=True):
        text = (templates / template).read_text(encoding="utf-8")
        write_text(path, text.replace("NAME", name).replace("CLASS", class_name))
    console = text_console()
    console.print(f"Written: {paths[0]} (class {class_name}) and {paths[1]}")
    console.print(f"Test it:   python -m pytest {paths[1]}  (needs pytest: pip install pytest)")
    place = f"{paths[0]}:{class_name}"
    console.print(f"Score it:  {SCORED[kind].format(place=place)}")
    if kind != "task-source":
        console.print(f"Watch it:  iglu-marl demo --{kind} {place}")
