"""Search of the packs: `find_pack("mdc")` uses the first of these places that has the pack.

1. the given path;
2. `IGLU_DATA_PATH`; if it names a folder that is empty or not there yet, a download makes and fills it;
3. the user's folder of packs, where `iglu-marl data fetch` puts them;
4. `~/.iglu`, where the IGLU tools put them;
5. the download.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from iglu_marl.core.errors import DataError
from iglu_marl.core.files import usable_path
from iglu_marl.core.parsing import PlaceholderError
from iglu_marl.data.packs.archive import Pack, open_pack
from iglu_marl.data.packs.cache import pack_folder
from iglu_marl.data.packs.fetch import FetchError, fetch_pack
from iglu_marl.data.packs.registry import DATA_PATH_VARIABLE, PackInfo, known_pack, open_as

OFFLINE_VARIABLE = "IGLU_MARL_OFFLINE"


class MissingPackError(DataError):
    """A pack is not on this machine and was not fetched. The message names the download and where to put it."""


def offline() -> bool:
    """Whether `IGLU_MARL_OFFLINE` forbids downloads."""
    return os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in ("", "0", "false", "no")


def _usual_places(info: PackInfo, folder: Path) -> Iterator[Path]:
    """Yield files and folders in `folder` that may be the pack, by their names."""
    for name in (info.filename, *info.usual_names):
        if (folder / name).exists():
            yield folder / name
    for name in info.tool_folders:
        if any((folder / name / marker).exists() for marker in info.markers):
            yield folder / name


def _among(info: PackInfo, folder: Path) -> Pack | None:
    """Return the pack among the entries of `folder`. Raises `PlaceholderError` if all of them are placeholders."""
    placeholder: PlaceholderError | None = None
    for candidate in _usual_places(info, folder):
        try:
            return open_as(info, candidate)
        except PlaceholderError as error:
            placeholder = placeholder or error
    if placeholder is not None:
        raise placeholder
    return None


def _at_path(info: PackInfo, place: Path) -> Pack:
    """Return the pack at a path: a zip, a folder that is the pack, or a folder of packs."""
    if not usable_path(place, named=False).exists():
        raise DataError(f"{place} does not exist; expected {info.name} as a zip archive or a folder")
    found = _among(info, place) if place.is_dir() else None
    return found or open_as(info, place)


def _named_place() -> Path | None:
    """Return the place that `IGLU_DATA_PATH` names."""
    value = os.environ.get(DATA_PATH_VARIABLE)
    return Path(value).expanduser() if value else None


def _new_folder() -> Path | None:
    """Return the folder that `IGLU_DATA_PATH` names if it is empty or does not exist yet; downloads go there."""
    place = _named_place()
    if place is None or (place.exists() and (not place.is_dir() or any(place.iterdir()))):
        return None
    return None if place.suffix.lower() in (".zip", ".json", ".csv") else place


def _at_variable(info: PackInfo) -> Pack | None:
    """Return the pack at `IGLU_DATA_PATH`; None if there are only other data."""
    place = _named_place()
    if place is None or _new_folder() is not None:
        return None
    if not place.exists():
        raise DataError(f"{DATA_PATH_VARIABLE} names {place}, which does not exist")
    if place.is_dir():
        # Only the top is searched, since the folder may be large.
        whole = any((place / marker).exists() for marker in info.markers)
        return open_as(info, place) if whole else _among(info, place)
    if place.suffix.lower() != ".zip":
        return None
    pack = open_pack(place)
    root = info.root(pack.names())
    return None if root is None else pack.below(root)


def local_pack(name: str, path: str | os.PathLike[str] | None = None) -> Pack | None:
    """Return the pack on this machine; None if there is none. Like `find_pack` without the download.

    Raises:
        PlaceholderError: if only pointers or web pages are found.
        DataError: if the name is unknown, or the given place does not have the pack.

    """
    info = known_pack(name)
    if path is not None:
        return _at_path(info, Path(path).expanduser())
    placeholder: PlaceholderError | None = None
    for folder in (None, pack_folder(), Path(os.path.expanduser("~/.iglu"))):
        try:
            if folder is None:
                found = _at_variable(info)
            else:
                found = _among(info, folder) if folder.is_dir() else None
        except PlaceholderError as error:
            placeholder = placeholder or error
        else:
            if found is not None:
                return found
    if placeholder is not None:
        raise placeholder
    return None


def find_pack(
    name: str,
    path: str | os.PathLike[str] | None = None,
    fetch: bool = True,
    *,
    progress: bool | None = None,
) -> Pack:
    """Find a pack in `path`, `IGLU_DATA_PATH`, the user's folder or the IGLU tools' folder, or download it.

    Args:
        name: a key of `PACKS`.
        path: a zip, a folder that is or contains the pack (such as a clone of its repository), or a folder of packs
            under their usual names.
        fetch: whether it may be downloaded; `IGLU_MARL_OFFLINE=1` forbids all downloads.
        progress: whether to show a progress bar (default: on a terminal).

    Raises:
        MissingPackError: if the pack is not found and cannot be downloaded; the message names what to download.
        DataError: if the name is unknown, or the given place is wrong or damaged.

    """
    info = known_pack(name)
    try:
        found = local_pack(name, path)
        reason = f"{OFFLINE_VARIABLE} is set" if offline() else ""
    except PlaceholderError as error:
        if path is not None:
            raise
        found, reason = None, str(error)
    if found is not None:
        return found
    if fetch and not offline():
        try:
            return open_as(info, fetch_pack(name, _new_folder(), progress=progress))
        except FetchError as error:
            reason = f"{reason}; {error}" if reason else str(error)
            raise MissingPackError(_advice(info, reason)) from error
    raise MissingPackError(_advice(info, reason))


def _advice(info: PackInfo, reason: str) -> str:
    size = f", {info.size:,} bytes" if info.size else ""
    folder = _new_folder()
    if folder is not None:
        state = "is empty" if folder.exists() else "does not exist"
        reason = f"{DATA_PATH_VARIABLE} names {folder}, which {state}{f'; {reason}' if reason else ''}"
    return (
        f"the data of {info.title} ({info.name}) are not on this machine{f': {reason}' if reason else ''}\n"
        f"  get   {info.url}{size}\n"
        f"        (project page: {info.page}; licence: {info.licence})\n"
        f"  put   it at {(folder or pack_folder()) / info.filename}\n"
        f"  or    keep it anywhere, and pass path=FILE or set {DATA_PATH_VARIABLE} to the file or its folder\n"
        f"  or    run `iglu-marl data fetch {info.name}` where there is a network"
    )
