"""Finding packs: where a pack of data may be, and which of them is used.

`find_pack("mdc")` looks at the path that it is given; else at what `IGLU_DATA_PATH` leads to; else in this
user's own folder, where `iglu-marl data fetch` puts packs; else in `~/.iglu`, where the IGLU tools put theirs; else it
fetches the pack. The first place that has the pack is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import PlaceholderError, check_placeholder
from iglu_marl.data.packs.archive import (
    MemberError,
    Pack,
    PackFolder,
    Unsafe,
    open_pack,
)
from iglu_marl.data.packs.cache import pack_folder
from iglu_marl.data.packs.fetch import FetchError, fetch_pack
from iglu_marl.data.packs.registry import DATA_PATH_VARIABLE, PACKS, PackInfo, known_pack, open_as

__all__ = [
    "DATA_PATH_VARIABLE",
    "OFFLINE_VARIABLE",
    "PACKS",
    "MemberError",
    "MissingPackError",
    "Pack",
    "PackFolder",
    "PackInfo",
    "PlaceholderError",
    "Unsafe",
    "check_placeholder",
    "find_pack",
    "known_pack",
    "local_pack",
    "offline",
    "open_as",
    "open_pack",
    "pack_folder",
]

OFFLINE_VARIABLE = "IGLU_MARL_OFFLINE"


class MissingPackError(DataError):
    """A pack is not on this machine and was not fetched; the message says what to get and where to put it."""


def offline() -> bool:
    """Whether `IGLU_MARL_OFFLINE` forbids to fetch anything."""
    return os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in ("", "0", "false", "no")


def _usual_places(info: PackInfo, folder: Path) -> Iterator[Path]:
    """Files and folders in `folder` that may be the pack, by their names."""
    for name in (info.filename, *info.usual_names):
        if (folder / name).exists():
            yield folder / name
    for name in info.peer_folders:
        if any((folder / name / marker).exists() for marker in info.markers):
            yield folder / name


def _peer_home() -> Path:
    """Where the IGLU tools keep what they download."""
    return Path(os.path.expanduser("~/.iglu"))


def _among(info: PackInfo, folder: Path, follow_links: bool) -> Pack | None:
    """The pack among the entries of `folder`. Raises `PlaceholderError` if nothing but placeholders is there."""
    placeholder: PlaceholderError | None = None
    for candidate in _usual_places(info, folder):
        try:
            return open_as(info, candidate, follow_links)
        except PlaceholderError as error:
            placeholder = placeholder or error
    if placeholder is not None:
        raise placeholder
    return None


def _at_path(info: PackInfo, place: Path, follow_links: bool) -> Pack:
    """The pack that a given path leads to: a zip, a folder that is the pack, or a folder with packs in it."""
    if not place.exists():
        raise DataError(f"{place} does not exist; expected {info.name} as a zip archive or a folder")
    found = _among(info, place, follow_links) if place.is_dir() else None
    return found or open_as(info, place, follow_links)


def _at_variable(info: PackInfo, follow_links: bool) -> Pack | None:
    """The pack that `IGLU_DATA_PATH` leads to, which may as well lead to other data: then None."""
    value = os.environ.get(DATA_PATH_VARIABLE)
    if not value:
        return None
    place = Path(value).expanduser()
    if not place.exists():
        raise DataError(f"{DATA_PATH_VARIABLE} names {place}, which does not exist")
    if place.is_dir():
        # Only the top is looked at: the folder may hold much else.
        whole = any((place / marker).exists() for marker in info.markers)
        return open_as(info, place, follow_links) if whole else _among(info, place, follow_links)
    if place.suffix.lower() != ".zip":
        return None
    pack = open_pack(place)
    root = info.root(pack.names())
    return None if root is None else pack.below(root)


def local_pack(
    name: str, path: str | os.PathLike[str] | None = None, follow_links: bool = False
) -> Pack | None:
    """The pack of that name on this machine, or None: like `find_pack`, but never fetches.

    Raises `DataError` for an unknown name and for a place that is named and does not have the pack;
    `PlaceholderError` when all there is are pointers or web pages.
    """
    info = known_pack(name)
    if path is not None:
        return _at_path(info, Path(path).expanduser(), follow_links)
    placeholder: PlaceholderError | None = None
    try:
        found = _at_variable(info, follow_links)
        if found is not None:
            return found
    except PlaceholderError as error:
        placeholder = error
    for folder in (pack_folder(), _peer_home()):
        found = _among(info, folder, follow_links) if folder.is_dir() else None
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
    follow_links: bool = False,
    progress: bool | None = None,
) -> Pack:
    """The pack of that name: from `path`, `IGLU_DATA_PATH`, this user's folder, the IGLU tools' one, or fetched.

    name: a key of `PACKS`. path: a zip, a folder that is the pack (or has it inside, such as a clone of its
    repository), or a folder that has packs under their usual names. fetch: whether it may be downloaded;
    `IGLU_MARL_OFFLINE=1` forbids it everywhere. follow_links: read what links in a folder lead to, as in the caches of
    data hubs; otherwise they are left out, and named where something is missing. progress: whether to show a bar
    (default: on a terminal).

    Raises `MissingPackError`, which says what to get and where to put it, when the pack is nowhere and could
    not be fetched; `DataError` for an unknown name, or when the place named for it is wrong or damaged.
    """
    info = known_pack(name)
    try:
        found = local_pack(name, path, follow_links)
        reason = f"{OFFLINE_VARIABLE} is set" if offline() else ""
    except PlaceholderError as error:
        if path is not None:
            raise
        found, reason = None, str(error)
    if found is not None:
        return found
    if fetch and not offline():
        try:
            return open_as(info, fetch_pack(name, progress=progress))
        except FetchError as error:
            reason = f"{reason}; {error}" if reason else str(error)
            raise MissingPackError(_advice(info, reason)) from error
    raise MissingPackError(_advice(info, reason))


def _advice(info: PackInfo, reason: str) -> str:
    """What to get from where, and where to put it."""
    size = f", {info.size:,} bytes" if info.size else ""
    return (
        f"the data of {info.title} ({info.name}) are not on this machine{f': {reason}' if reason else ''}\n"
        f"  get   {info.url}{size}\n"
        f"        (project page: {info.page}; licence: {info.licence})\n"
        f"  put   it at {pack_folder() / info.filename}\n"
        f"  or    keep it anywhere, and pass path=FILE or set {DATA_PATH_VARIABLE} to the file or its folder\n"
        f"  or    run `iglu-marl data fetch {info.name}` where there is a network"
    )
