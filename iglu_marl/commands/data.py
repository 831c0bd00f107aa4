"""`iglu-marl data`: list, download and check the packs of human data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from rich.console import Group
from rich.progress import TextColumn
from rich.table import Column, Table
from typer import Argument, Option

from iglu_marl.commands.options import Json, PackPath, output_folder
from iglu_marl.commands.output import print_json, text_console
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.parsing import PlaceholderError
from iglu_marl.data.packs.archive import MemberError, Pack
from iglu_marl.data.packs.cache import pack_folder
from iglu_marl.data.packs.registry import PACKS, SKILLS_FILE, PackInfo, known_file, known_pack
from iglu_marl.data.packs.store import find_pack, local_pack
from iglu_marl.data.progress import progress_bar
from iglu_marl.data.skills import skills_file

SHOWN = 10  # problems in the table
FIELDS = ("name", "title", "description", "licence", "citation", "page", "url", "size", "sha256")

PackName = Annotated[str, Argument(metavar="PACK", help="Pack: iglu-multiturn, iglu-singleturn or mdc.")]


def _facts(info: PackInfo) -> dict[str, Any]:
    return {name: getattr(info, name) for name in FIELDS}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


# -------------------------------------------------------------------------------------------------------- list


def list_packs(as_json: Json = False) -> None:
    """List the packs and their places on this machine.

    Examples: iglu-marl data list
    """
    console = text_console(as_json)
    table = Table(Column("pack", no_wrap=True), "what", Column("on this machine", overflow="fold"))
    facts = []
    for info in PACKS.values():
        place, problem = None, None
        try:
            pack = local_pack(info.name)
            if pack is not None:
                place = pack.location
                pack.close()
        except DataError as error:
            problem = str(error)
        facts.append({**_facts(info), "location": place, "problem": problem})
        here = place or problem or f"no: iglu-marl data fetch {info.name}"
        size = f", {_megabytes(info.size)}" if info.size else ""
        table.add_row(info.name, f"{info.title} ({info.licence}{size})", here)
    skills = skills_file()
    facts.append(
        {**_facts(SKILLS_FILE), "location": None if skills is None else str(skills), "problem": None}
    )
    here = str(skills or f"no: iglu-marl data fetch {SKILLS_FILE.name}")
    table.add_row(SKILLS_FILE.name, f"{SKILLS_FILE.title} ({SKILLS_FILE.licence})", here)
    console.print(table)
    console.print(f"Download folder: {pack_folder()}. IGLU_DATA_PATH names further places.")
    print_json(as_json, facts)


# ------------------------------------------------------------------------------------------------------- fetch


def fetch_packs(
    names: Annotated[
        list[str] | None, Argument(metavar="PACK...", help="Packs to download, or skills. Default: all.")
    ] = None,
    url: Annotated[str | None, Option(help="URL of the pack, if only one is named.")] = None,
    output: Annotated[Path | None, output_folder("Download folder. Default: the cache of this user.")] = None,
    force: Annotated[bool, Option("--force", help="Download existing packs again.")] = False,
    as_json: Json = False,
) -> None:
    """Download packs and check them; also skills, the competition's labels of the structures C1 to C157.

    Examples: iglu-marl data fetch iglu-singleturn; iglu-marl data fetch skills
    """
    from iglu_marl.data.packs.fetch import fetch_pack

    if url is not None and len(names or []) != 1:
        raise ConfigError(f"--url needs exactly one pack, but {len(names or []) or 'no'} packs are named")
    chosen = [known_file(name) for name in names or (*PACKS, SKILLS_FILE.name)]
    console = text_console(as_json)
    found = {}
    for info in chosen:
        console.print(f"{info.title}: {url or info.url}")
        path = fetch_pack(info.name, output, url=url, force=force, progress=False if as_json else None)
        found[info.name] = str(path)
        console.print(
            f"  [green]is at[/] {path} ({_megabytes(path.stat().st_size)}); licence: {info.licence}"
        )
    print_json(as_json, found)


# -------------------------------------------------------------------------------------------------------- info


def _contents(info: PackInfo, pack: Pack) -> dict[str, Any]:
    """Return what a pack contains, without reading its members."""
    sizes = pack.sizes()
    return {
        "location": pack.location,
        "root": pack.root,
        "files": len(sizes),
        "bytes": sum(sizes.values()),
        "missing": info.missing(sizes),
        "left_out": pack.skipped_counts,
        "fingerprint": pack.fingerprint,
    }


def show_pack(
    name: PackName,
    path: PackPath = None,
    as_json: Json = False,
) -> None:
    """Show the licence, citation and contents of a pack.

    Examples: iglu-marl data info mdc
    """
    info = known_pack(name)
    facts = _facts(info)
    pack = local_pack(name, path)
    if pack is not None:
        with pack:
            facts |= _contents(info, pack)
    if print_json(as_json, facts):
        return
    table = Table(Column(no_wrap=True), Column(overflow="fold"), title=info.title, show_header=False)
    for key, value in facts.items():
        if value not in (None, "", {}, []):
            lines = map(str, value) if isinstance(value, (list, tuple)) else [_text(value)]
            table.add_row(key.replace("_", " "), Group(*lines))
    console = text_console(as_json)
    console.print(table)
    if pack is None:
        console.print(f"Not on this machine: iglu-marl data fetch {name}")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count} {key}" for key, count in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


# ------------------------------------------------------------------------------------------------------ verify


def problems_of(info: PackInfo, pack: Pack, step: Callable[[int], object] = lambda size: None) -> list[str]:
    """Read all of a pack and return its problems, [] if it is complete.

    step: is called after each member with its size in bytes.
    """
    found = [f"left out {entry}" for entry in pack.skipped]
    found += [f"missing {part}" for part in info.missing(pack.names())]
    for name, size in pack.sizes().items():
        try:
            pack.read(name)
        except (MemberError, PlaceholderError) as error:
            found.append(str(error))
        step(size)
    return found


def _like_upstream(info: PackInfo, pack: Pack) -> bool | None:
    """Return whether this is the published file, None if that is unknown."""
    from iglu_marl.data.packs.fetch import sha256_of

    path = Path(pack.location)
    if info.sha256 is None or not path.is_file():
        return None
    return path.stat().st_size == info.size and sha256_of(path) == info.sha256


def verify_pack(name: PackName, path: PackPath = None, as_json: Json = False) -> bool:
    """Read all of a pack and compare its checksums.

    Exit code 1 if it is damaged.

    Examples: iglu-marl data verify mdc
    """
    info = known_pack(name)
    with find_pack(name, path, fetch=False) as pack:
        facts = _contents(info, pack)
        with progress_bar(not as_json, TextColumn("{task.percentage:.0f} %")) as progress:
            bar = progress.add_task(info.name, total=max(1, facts["bytes"]))
            problems = problems_of(info, pack, lambda size: progress.advance(bar, size))
        upstream = _like_upstream(info, pack)
    facts |= {"whole": not problems, "problems": problems, "upstream_file": upstream}
    if print_json(as_json, facts):
        return not problems
    console = text_console(as_json)
    console.print(f"{facts['location']}: {facts['files']:,} files, {_megabytes(facts['bytes'])}")
    if upstream is not None:
        console.print(f"  {'identical to' if upstream else 'differs from'} the published file")
    for problem in problems[:SHOWN]:
        console.print(f"  {problem}", style="red")
    if len(problems) > SHOWN:
        console.print(f"  and {len(problems) - SHOWN} more (--json lists all)")
    if problems:
        console.print(f"  damaged: {len(problems)} problems")
    else:
        console.print("  complete and readable", style="green")
    return not problems
