"""Packs: opened from zips and folders alike, safe against hostile ones, and found in all the places."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from made_packs import write_folder

from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import PlaceholderError
from iglu_marl.data.packs import archive
from iglu_marl.data.packs.archive import MemberError, Unsafe, open_pack
from iglu_marl.data.packs.registry import PACKS, known_pack, open_as
from iglu_marl.data.packs.store import MissingPackError, find_pack, local_pack

FILES = {
    "LICENSE": b"MIT",
    ".DS_Store": b"\0\0",
    "a/b/step-2": b'{"x": 1}',
    "a/b/step-10": b"{}",
    "a/empty": b"",
    "ünïcode/ß": "ß".encode(),
}
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 13977030\n"
PAGE = b"\xef\xbb\xbf  <!-- x --><!DOCTYPE HTML>\n<html><title>GitHub</title></html>"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data of the machine's own, and no network."""
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "own-cache"))


def zip_bytes(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return stream.getvalue()


def write(path: Path, content: bytes) -> Path:
    write_folder(path.parent, {path.name: content})
    return path


METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflated": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}


@pytest.fixture(params=["folder", *METHODS])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same files, stored in one way or another."""
    if request.param == "folder":
        return write_folder(tmp_path / "pack", FILES)
    return write(tmp_path / "pack.zip", zip_bytes({"a/": b"", **FILES}, METHODS[request.param]))


def test_all_ways_of_storing_give_the_same(place: Path) -> None:
    with open_pack(place) as pack:
        assert pack.names() == sorted(FILES)
        assert {name: pack.read(name) for name in pack.names()} == FILES
        assert pack.sizes() == {name: len(content) for name, content in FILES.items()}
        assert pack.location == str(place)
        assert pack.skipped == []
        assert pack.has("a/empty")
        assert not pack.has("a")
        assert len(pack) == len(FILES)


def test_the_fingerprint_is_stable_and_notices_changes(place: Path) -> None:
    def fingerprint() -> str:
        with open_pack(place) as pack:
            return pack.fingerprint

    def change(file: Path, content: bytes | None, mtime_ns: int) -> None:
        if content is not None:
            file.write_bytes(content)
        os.utime(file, ns=(0, mtime_ns))
        seen.add(fingerprint())

    first = fingerprint()
    assert fingerprint() == first
    seen = {first}
    if place.is_dir():
        change(place / "LICENSE", b"TIM", 5)
        (place / "LICENSE").rename(place / "LICENCE")
        change(place / "LICENCE", None, 5)
    else:  # the time alone, and other contents of the same time
        time = place.stat().st_mtime_ns
        change(place, None, time + 1)
        change(place, zip_bytes({**FILES, "LICENSE": b"TIM"}), time)
    assert len(seen) == 3


def with_kind(name: str, mode: int, content: bytes = b"/etc/passwd") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        info = zipfile.ZipInfo(name)
        info.create_system = 3
        info.external_attr = mode << 16
        made.writestr(info, content)
        made.writestr("good", b"good")
    return stream.getvalue()


HOSTILE_NAMES = {
    "/etc/passwd": Unsafe.ABSOLUTE,
    "C:relative": Unsafe.ABSOLUTE,
    "a/../../up": Unsafe.PARENT,
    "..\\up": Unsafe.BACKSLASH,
    "./": Unsafe.BAD_NAME,
}


@pytest.mark.parametrize(("name", "reason"), HOSTILE_NAMES.items())
def test_members_that_lead_elsewhere_are_left_out(tmp_path: Path, name: str, reason: Unsafe) -> None:
    before = set(tmp_path.rglob("*"))
    path = write(tmp_path / "x.zip", zip_bytes({name: b"bad", "good": b"good"}))
    with open_pack(path) as pack:
        assert pack.names() == ["good"]
        assert [(entry.name, entry.reason) for entry in pack.skipped] == [(name, reason)]
        assert pack.skipped_counts == {reason.name.lower(): 1}
        assert pack.read("good") == b"good"
        with pytest.raises(MemberError):
            pack.read(name)
    assert set(tmp_path.rglob("*")) - before == {path}


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (stat.S_IFLNK | 0o777, Unsafe.LINK),
        (stat.S_IFIFO | 0o644, Unsafe.SPECIAL),
        (stat.S_IFREG | 0o644, None),
        (0, None),
    ],
)
def test_links_and_devices_in_zips_are_left_out(tmp_path: Path, mode: int, reason: Unsafe | None) -> None:
    with open_pack(write(tmp_path / "x.zip", with_kind("thing", mode))) as pack:
        assert pack.has("thing") == (reason is None)
        assert [entry.reason for entry in pack.skipped] == ([reason] if reason else [])


def test_links_and_pipes_in_folders_are_left_out(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret" / "file", b"secret")
    folder = write_folder(tmp_path / "pack", {"good": b"good", ".git/config": b"git"})
    (folder / "link").symlink_to(secret)
    (folder / "folder").symlink_to(secret.parent)
    (folder / "round").symlink_to(folder)
    (folder / "back\\slash").write_bytes(b"")
    os.mkfifo(folder / "pipe")
    with open_pack(folder) as pack:
        assert pack.names() == ["good"]
        assert pack.skipped_counts == {"link": 3, "special": 1, "backslash": 1}
        assert "pipe: neither a file nor a folder" in map(str, pack.skipped)
    (tmp_path / "short-cut").symlink_to(folder)
    with open_pack(tmp_path / "short-cut") as pack:
        assert pack.read("good") == b"good"


def test_members_that_would_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 1000)
    files = {"bomb": b"\0" * 1001, "good": b"\0" * 1000}
    for place in (write(tmp_path / "x.zip", zip_bytes(files)), write_folder(tmp_path / "x", files)):
        with open_pack(place) as pack:
            assert pack.names() == ["good"]
            assert pack.skipped_counts == {"too_large": 1}


def test_more_than_a_member_declares_is_not_unpacked(tmp_path: Path) -> None:
    content = bytearray(zip_bytes({"bomb": b"\0" * 1_000_000}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.find(signature) + offset
        content[at : at + 4] = (10).to_bytes(4, "little")
    with (
        open_pack(write(tmp_path / "x.zip", bytes(content))) as pack,
        pytest.raises(MemberError, match="CRC"),
    ):
        pack.read("bomb")


def test_archives_that_would_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.zip", zip_bytes({f"{number}": b"\0" * 1000 for number in range(5)}))
    for name, limit in (("MAX_ARCHIVE_BYTES", 4999), ("MAX_MEMBERS", 4)):
        with monkeypatch.context() as patch:
            patch.setattr(archive, name, limit)
            with pytest.raises(
                DataError, match=r"x\.zip has 5 members of 5,000 bytes unpacked, expected at most"
            ):
                open_pack(path)
    open_pack(path).close()


def test_of_two_members_of_one_name_the_last_counts(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr("same", b"old")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("same", b"new")
        made.writestr("./other", b"tidied")
    with open_pack(write(tmp_path / "x.zip", stream.getvalue())) as pack:
        assert pack.read("same") == b"new"
        assert pack.read("other") == b"tidied"
        assert pack.skipped_counts == {"doubled": 1}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_damaged_member_does_not_spoil_the_others(tmp_path: Path, method: int) -> None:
    noise = np.random.default_rng(0).bytes(1000)
    content = bytearray(zip_bytes({"bad": noise, "good": b"good"}, method))
    content[500] ^= 0xFF
    with open_pack(write(tmp_path / "x.zip", bytes(content))) as pack:
        for _ in range(2):
            with pytest.raises(MemberError, match=r"'bad' in .*x\.zip cannot be read"):
                pack.read("bad")
        assert pack.read("good") == b"good"
        assert [(entry.name, entry.reason) for entry in pack.skipped] == [("bad", Unsafe.DAMAGED)]


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"", DataError, r"x\.zip is empty"),
        (zip_bytes(FILES)[:-40], DataError, r"x\.zip is a truncated or damaged zip archive \(\d+ bytes"),
        (POINTER, PlaceholderError, "Git LFS pointer.*git lfs pull.*13,977,030 bytes"),
        (PAGE, PlaceholderError, "web page"),
        (b"<!-- - -> -- --><!----> \n<!-- a\nb --->\n<!doctype HTML>", PlaceholderError, "web page"),
        (b"<!-- <html> -->", DataError, "no zip archive"),
        (b"hello, world", DataError, r"no zip archive \(it starts with b'hello, w'\)"),
    ],
)
def test_files_that_are_no_packs(tmp_path: Path, content: bytes, kind: type[DataError], message: str) -> None:
    with pytest.raises(kind, match=message):
        open_pack(write(tmp_path / "x.zip", content))


def test_places_that_are_no_packs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.zip does not exist"):
        open_pack(tmp_path / "nothing.zip")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="neither a file nor a folder"):
        open_pack(tmp_path / "pipe")
    with open_pack(tmp_path) as pack:
        assert pack.names() == []


def test_pointers_inside_of_packs(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "clone", {"gamedata.json": POINTER})
    with (
        open_pack(folder) as pack,
        pytest.raises(PlaceholderError, match=r"'gamedata\.json' in .*clone is a Git LFS pointer"),
    ):
        pack.read("gamedata.json")


MULTI = {"dialogs.csv": b"PartitionKey\n", "builder-data/1-c1/step-2": b"{}"}
SINGLE = {
    "clarifying_questions_train.csv": b"GameId\n",
    "initial_world_states/builder-data/1-c1/step-2": b"{}",
}
MDC = {"data/logs/splits.json": b"{}", "data/gold-configurations/C1.xml": b"<x/>"}
CONTENTS = {"iglu-multiturn": MULTI, "iglu-singleturn": SINGLE, "mdc": MDC}


def put(path: Path, files: dict[str, bytes], below: str = "") -> Path:
    named = {below + name: content for name, content in files.items()}
    return write(path, zip_bytes(named)) if path.suffix == ".zip" else write_folder(path, named)


@pytest.mark.parametrize("name", PACKS)
@pytest.mark.parametrize("below", ["", "repository-1a2b/datasets/pack/"])
@pytest.mark.parametrize("kind", [".zip", ""])
def test_a_path_may_lead_to_the_pack_or_above(tmp_path: Path, name: str, below: str, kind: str) -> None:
    path = put(tmp_path / f"whatever{kind}", CONTENTS[name], below)
    with find_pack(name, path) as pack:
        assert pack.names() == sorted(CONTENTS[name])
        assert pack.root == below
        for other in set(PACKS) - {name}:
            with pytest.raises(DataError, match=f"is not {other}: expected.*it looks like {name}"):
                find_pack(other, path)


@pytest.mark.parametrize("kind", [".zip", ""])
def test_a_path_may_be_a_folder_of_packs(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, files in CONTENTS.items():
        put(tmp_path / "all" / f"{name}{kind}", files)
    write(tmp_path / "all" / "structures.json", b"{}")
    for name, files in CONTENTS.items():
        assert find_pack(name, tmp_path / "all").names() == sorted(files)
        assert find_pack(name, f"{tmp_path}/all/{name}{kind}").names() == sorted(files)
        with pytest.raises(MissingPackError):
            find_pack(name)
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path / "all"))
    for name, files in CONTENTS.items():
        assert find_pack(name).names() == sorted(files)


def test_the_variable_may_lead_to_one_pack_or_to_other_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(put(tmp_path / "my.zip", MDC)))
    assert find_pack("mdc").location == str(tmp_path / "my.zip")
    assert local_pack("iglu-multiturn") is None
    monkeypatch.setenv("IGLU_DATA_PATH", str(put(tmp_path / "plain", SINGLE)))
    assert find_pack("iglu-singleturn").location == str(tmp_path / "plain")
    assert local_pack("mdc") is None
    monkeypatch.setenv("IGLU_DATA_PATH", str(write(tmp_path / "structures.json", b"{}")))
    assert local_pack("mdc") is None
    monkeypatch.setenv("IGLU_DATA_PATH", "")
    assert local_pack("mdc") is None
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path / "nothing"))
    with pytest.raises(DataError, match=r"IGLU_DATA_PATH names .*nothing, which does not exist"):
        find_pack("mdc")
    monkeypatch.setenv("IGLU_DATA_PATH", str(write(tmp_path / "broken" / "mdc.zip", b"PK").parent))
    with pytest.raises(DataError, match=r"mdc\.zip is a truncated"):
        find_pack("mdc")


PEERS = {"iglu-multiturn": "data/iglu/", "iglu-singleturn": "data/single_turn_dataset/", "mdc": ""}


@pytest.mark.parametrize("name", CONTENTS)
def test_what_the_iglu_tools_have_downloaded_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They unpack it below `~/.iglu`, or below the folder that the variable names."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert local_pack(name) is None
    for folder in (tmp_path / "home" / ".iglu", tmp_path / "elsewhere"):
        put(folder, CONTENTS[name], PEERS[name])
        (folder / "iglu").mkdir()  # something else of that name is no pack
        found = find_pack(name, fetch=False)
        assert found.names() == sorted(CONTENTS[name])
        assert Path(found.location) == folder / PEERS[name]
        for other in set(PACKS) - {name}:
            assert local_pack(other) is None
        monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path / "elsewhere"))


def test_a_clone_with_pointers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone without `git lfs` has the single-turn files, and a pointer in the multi-turn zip's place."""
    clone = put(tmp_path / "iglu-datasets", SINGLE, "datasets/singleturn/")
    pointer = write(clone / "datasets" / "multiturn_dataset.zip", POINTER)
    assert find_pack("iglu-singleturn", clone).has("clarifying_questions_train.csv")
    with pytest.raises(PlaceholderError, match="git lfs pull"):
        find_pack("iglu-multiturn", clone)
    monkeypatch.setenv("IGLU_DATA_PATH", str(clone))
    assert find_pack("iglu-singleturn").root in ("", "datasets/singleturn/")
    with pytest.raises(MissingPackError, match="Git LFS pointer"):
        find_pack("iglu-multiturn")
    own = put(tmp_path / "own-cache" / "packs" / "iglu-multiturn.zip", MULTI)
    assert find_pack("iglu-multiturn").location == str(own)
    pointer.write_bytes(zip_bytes(MULTI))
    assert find_pack("iglu-multiturn").location == str(pointer)


def test_a_missing_pack_says_what_to_get_and_where_to_put_it(tmp_path: Path) -> None:
    for info in PACKS.values():
        with pytest.raises(MissingPackError) as caught:
            find_pack(info.name)
        facts = (info.title, info.url, info.page, info.licence)
        for part in (*facts, "IGLU_DATA_PATH", "path=", "IGLU_MARL_OFFLINE"):
            assert part in str(caught.value)
        put(tmp_path / "own-cache" / "packs" / info.filename, CONTENTS[info.name])
        assert find_pack(info.name).names() == sorted(CONTENTS[info.name])


def test_where_the_top_folder_is() -> None:
    multi, single = PACKS["iglu-multiturn"], PACKS["iglu-singleturn"]
    assert multi.root(["builder-data/1-c1/step-2"]) == ""
    assert multi.root(["x/initial_world_states/builder-data/1-c1/step-2"]) is None
    assert multi.root(["builder-data", "multi_turn_dialogs.csv", "xbuilder-data/y"]) is None
    assert multi.root(["__MACOSX/builder-data/._x", "p/builder-data/x"]) == "p/"
    assert multi.root(["deep/er/dialogs.csv", "b/dialogs.csv", "a/dialogs.csv", "builder-data/x"]) == "a/"
    assert single.root([]) is None
    assert single.missing(["question_bank.csv", "initial_world_states/builder-data/x"]) == [
        "clarifying_questions_train.csv",
        "target_world_states/builder-data/",
    ]


@pytest.mark.parametrize(
    ("name", "files", "missing"),
    [("iglu-multiturn", 506, ["dialogs.csv"]), ("iglu-singleturn", 3565, []), ("mdc", 499, [])],
)
def test_the_shared_packs(shared: Path, name: str, files: int, missing: list[str]) -> None:
    info = known_pack(name)
    with open_as(info, shared / "data" / f"{name}.zip") as pack:
        assert len(pack) == files
        assert pack.skipped == []
        assert info.missing(pack.names()) == missing
        assert pack.read(pack.names()[0])
    assert find_pack(name, shared / "data").location == str(shared / "data" / f"{name}.zip")
