"""Packs of data: a zip archive or a folder, read through the same interface and without extraction.

Members with unsafe names or kinds are left out and listed in `Pack.skipped`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from iglu_marl.core.errors import DataError
from iglu_marl.core.files import usable_path
from iglu_marl.core.parsing import BROKEN, PlaceholderError, check_placeholder, too_large
from iglu_marl.core.text import fix_surrogates
from iglu_marl.data.report import Report, Skipped, SkipReason

MAX_MEMBER_BYTES = 1 << 30  # upstream's largest file has 172 MB; a larger one is a mistake or a zip bomb
MAX_ARCHIVE_BYTES = 1 << 33  # all members of a zip together
MAX_MEMBERS = 1 << 20


class MemberError(DataError):
    """A member of a pack is missing, damaged or too large. Other members may be fine."""


class Unsafe(SkipReason):
    """Why a member of a pack is left out, or could not be read."""

    ABSOLUTE = "an absolute path"
    PARENT = "a path with '..'"
    BACKSLASH = "a backslash in its name"
    BAD_NAME = "a name that is empty or not valid text"
    LINK = "a link"
    SPECIAL = "neither a file nor a folder"
    TOO_LARGE = f"larger than {MAX_MEMBER_BYTES >> 20} MiB"
    DOUBLED = "the same name as a later member"
    DAMAGED = "damaged or not readable"


def _explain(path: Path) -> DataError:
    """Return the error for a file that is not a readable zip archive."""
    with path.open("rb") as file:
        head = file.read(1024)
    try:
        check_placeholder(head, str(path))
    except PlaceholderError as error:
        return error
    if not head:
        return DataError(f"{path} is empty, expected a zip archive")
    if head.startswith(b"PK"):
        return DataError(
            f"{path} is a truncated or damaged zip archive ({path.stat().st_size:,} bytes, without a directory "
            "at its end): download it again"
        )
    return DataError(
        f"{path} is no zip archive (it starts with {head[:8]!r}), expected a zip archive or a folder"
    )


def _member_name(written: str) -> str | Unsafe:
    """Return the name of a member with "/" separators, or why it is unsafe."""
    if "\\" in written:
        return Unsafe.BACKSLASH
    if written.startswith("/") or re.match(r"[A-Za-z]:", written):
        return Unsafe.ABSOLUTE
    parts = [part for part in written.split("/") if part not in ("", ".")]
    if ".." in parts:
        return Unsafe.PARENT
    whole = parts and "\0" not in written and fix_surrogates(written) == written
    return "/".join(parts) if whole else Unsafe.BAD_NAME


def _fault(mode: int, size: int) -> Unsafe | None:
    """Return why a member of this mode (0: unknown) and size is left out, if it is."""
    if stat.S_ISLNK(mode):
        return Unsafe.LINK
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return Unsafe.SPECIAL
    return Unsafe.TOO_LARGE if size > MAX_MEMBER_BYTES else None


def _digest(entries: Iterable[object]) -> str:
    text = "\n".join(map(repr, entries))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


class _Source:
    """A zip archive or folder: the sizes of its safe files by name, and what is left out."""

    fingerprint = ""

    def __init__(self, path: Path) -> None:
        self.location = str(path)
        self.report = Report[Unsafe]()
        self.sizes: dict[str, int] = {}
        self.closed = False

    def read(self, name: str) -> bytes:
        return Path(self.location, *name.split("/")).read_bytes()

    def close(self) -> None:
        self.closed = True


class _ZipSource(_Source):
    """A zip archive."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        status = path.stat()
        try:
            self._archive = zipfile.ZipFile(path)
        except BROKEN as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # EINVAL: a seek before 0
                raise
            raise _explain(path) from None
        infos = self._archive.infolist()
        self._members = self._index(infos)
        self.sizes = {name: info.file_size for name, info in self._members.items()}
        unpacked = sum(self.sizes.values())
        if unpacked > MAX_ARCHIVE_BYTES or len(infos) > MAX_MEMBERS:
            self.close()
            raise DataError(
                f"{path} has {len(infos):,} members of {unpacked:,} bytes unpacked, expected at most "
                f"{MAX_MEMBERS:,} of {MAX_ARCHIVE_BYTES:,}"
            )
        entries = ((info.orig_filename, info.CRC, info.file_size, info.header_offset) for info in infos)
        self.fingerprint = f"zip-{status.st_size}-{status.st_mtime_ns}-{_digest(entries)}"

    def _index(self, infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            name = _member_name(info.orig_filename)
            mode = info.external_attr >> 16 if info.create_system == 3 else 0  # 3: Unix
            reason = name if isinstance(name, Unsafe) else _fault(mode, info.file_size)
            if reason is not None:
                self.report.skip(reason, info.orig_filename)
            elif not info.is_dir():
                if name in members:
                    self.report.skip(Unsafe.DOUBLED, members[name].orig_filename)
                members[name] = info
        return members

    def read(self, name: str) -> bytes:
        return self._archive.read(self._members[name])

    def close(self) -> None:
        super().close()
        self._archive.close()


class _FolderSource(_Source):
    """A folder, without `.git`. Links are left out."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        files = sorted(self._walk(path, ""))
        self.sizes = {name: status.st_size for name, status in files}
        self.fingerprint = f"folder-{_digest((name, s.st_size, s.st_mtime_ns) for name, s in files)}"

    def _walk(self, folder: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the names of all readable files."""
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            raise DataError(f"the folder {folder} cannot be read: {error.strerror}") from None
        for entry in entries:
            written = prefix + entry.name
            name, status = _member_name(written), entry.stat(follow_symlinks=False)
            reason = name if isinstance(name, Unsafe) else _fault(status.st_mode, status.st_size)
            if reason is not None:
                target = os.readlink(entry.path) if entry.is_symlink() else ""
                self.report.skip(reason, written, None, target and f"to {fix_surrogates(target)}")
            elif not stat.S_ISDIR(status.st_mode):
                yield written, status
            elif entry.name != ".git":
                yield from self._walk(folder / entry.name, f"{written}/")


class Pack:
    """An opened pack: files by name. `open_pack` and `find_pack` return packs.

    A pack is a context manager. Names are relative to the folder `root` in it, "" or "a/b/".

    Attributes:
        location: path of the zip or folder.
        skipped: members left out for safety, and damaged members that were read.
        fingerprint: a text that changes when the contents may have changed.

    """

    def __init__(self, source: _Source, root: str = "") -> None:
        self._source = source
        self.root = root
        self.location = source.location
        self.skipped = source.report.skipped
        self.fingerprint = f"{source.fingerprint}{f'-{root}' if root else ''}"
        self._sizes = {
            name[len(root) :]: size for name, size in sorted(source.sizes.items()) if name.startswith(root)
        }

    @property
    def left_out(self) -> list[Skipped[Unsafe]]:
        """Members left out for safety when the pack was opened."""
        return [entry for entry in self.skipped if entry.reason is not Unsafe.DAMAGED]

    @property
    def links(self) -> str:
        """End of an error about something missing: "", or which links were left out and what to do."""
        linked = [entry.name for entry in self.skipped if entry.reason is Unsafe.LINK]
        if not linked:
            return ""
        shown = ", ".join(map(repr, linked[:3]))
        return f"; {len(linked)} links in it are left out, such as {shown}: copy the folder with its files (cp -rL)"

    @property
    def skipped_counts(self) -> dict[str, int]:
        """Number of skipped members by lower-case name of the reason."""
        return self._source.report.counts

    def names(self) -> list[str]:
        """Return all files, sorted, with "/" separators."""
        return list(self._sizes)

    def sizes(self) -> dict[str, int]:
        """Return all files with their unpacked sizes in bytes."""
        return dict(self._sizes)

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return name in self._sizes

    def read(self, name: str, limit: int = MAX_MEMBER_BYTES) -> bytes:
        """Return the contents of a file.

        Raises:
            MemberError: if there is no such file, it has more than `limit` bytes, or it is damaged.
            PlaceholderError: if it is a pointer or a web page instead of the data.
            DataError: if the pack is closed.

        """
        if self._source.closed:
            raise DataError(f"the pack {self.location} has been closed; open it again")
        if name not in self._sizes:
            raise MemberError(f"{self.location} has no file {self.root + name!r}{self.links}")
        full = self.root + name
        place = f"{full!r} in {self.location}"
        if self._sizes[name] > limit:
            raise MemberError(too_large(place, self._sizes[name], limit))
        try:
            content = self._source.read(full)
        except DataError:
            raise
        except BROKEN as error:
            known = Skipped(Unsafe.DAMAGED, full, None, str(error))
            if known not in self.skipped:
                self.skipped.append(known)
            raise MemberError(f"{place} cannot be read: {error}") from None
        check_placeholder(content[:1024], place)
        return content

    def below(self, root: str) -> Pack:
        """Return the part of this pack below the folder `root`. Both share the opened file."""
        inside = root.strip("/")
        return Pack(self._source, f"{self.root}{inside}/" if inside else self.root)

    def close(self) -> None:
        """Close the file. Names and fingerprint remain; reading raises."""
        self._source.close()

    def __enter__(self) -> Pack:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._sizes)

    def __repr__(self) -> str:
        inside = f", root={self.root!r}" if self.root else ""
        return f"Pack({self.location!r}{inside}, {len(self)} files)"


def open_pack(path: str | os.PathLike[str]) -> Pack:
    """Open a zip archive or a folder as a pack, without extraction. Links in it are left out.

    Raises:
        PlaceholderError: if it is a Git LFS pointer or a web page.
        DataError: if it does not exist, is not an archive, or is truncated.

    """
    place = Path(os.path.abspath(usable_path(Path(path).expanduser(), named=False)))
    expected = "expected a zip archive or a folder with data"
    try:
        mode = place.stat().st_mode
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            raise DataError(f"{place} is neither a file nor a folder; {expected}")
        return Pack(_FolderSource(place) if stat.S_ISDIR(mode) else _ZipSource(place))
    except FileNotFoundError:
        raise DataError(f"{place} does not exist; {expected}") from None
    except OSError as error:
        raise DataError(f"{place} cannot be read: {error.strerror or error}") from None


def open_files(folder: Path, names: Iterable[str]) -> Pack:
    """Open those files of a folder that exist as a pack. The rest of the folder, which may be large, is not read."""
    source = _Source(folder)
    files = {name: folder / name for name in names}
    source.sizes = {name: file.stat().st_size for name, file in files.items() if file.is_file()}
    return Pack(source)
