"""`iglu-marl data`: list, fetch, info and verify, as a user sees them."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from file_server import FileServer, file_server
from shell import run, run_json

from iglu_marl import cli
from iglu_marl.core.errors import IgluMarlError
from iglu_marl.data import (
    CDMDataset,
    MultiturnDataset,
    SingleturnDataset,
    bundled,
    read_sessions,
    tasks_from_folder,
)
from iglu_marl.data.packs import registry, store
from iglu_marl.data.task_files import OwnTasks
from iglu_marl.tasks import SessionTasks

FILES = {
    "dialogs.csv": b"PartitionKey,StepId\n",
    "builder-data/1-c1/step-2": b'{"a": "some text"}',
    "LICENSE": b"MIT",
}


def make_zip(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("IGLU_DATA_PATH", "IGLU_MARL_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Upstream is this server, which has the multi-turn pack."""
    body = make_zip(FILES)
    with file_server() as running:
        running.serve("/multi.zip", body)
        for name, info in list(registry.PACKS.items()):
            monkeypatch.setitem(registry.PACKS, name, dataclasses.replace(info, url=running.url(f"/{name}")))
        info = dataclasses.replace(
            registry.PACKS["iglu-multiturn"],
            url=running.url("/multi.zip"),
            size=len(body),
            sha256=hashlib.sha256(body).hexdigest(),
        )
        monkeypatch.setitem(registry.PACKS, info.name, info)
        yield running


def call(*words: object, code: int = 0) -> str:
    return run("data", *words, code=code).output


def call_json(*words: object, code: int = 0) -> Any:
    return run_json("data", *words, code=code)


def test_from_nothing_to_a_verified_pack(server: FileServer, tmp_path: Path) -> None:
    place = str(tmp_path / "cache" / "packs" / "iglu-multiturn.zip")
    before = {row["name"]: row["location"] for row in call_json("list")}
    assert before == dict.fromkeys(("iglu-multiturn", "iglu-singleturn", "mdc", "skills"))
    assert call_json("fetch", "iglu-multiturn") == {"iglu-multiturn": place}
    after = {row["name"]: row["location"] for row in call_json("list")}
    assert after == {**before, "iglu-multiturn": place}
    facts = call_json("info", "iglu-multiturn")
    assert facts["location"] == place
    assert (facts["files"], facts["bytes"]) == (3, sum(map(len, FILES.values())))
    assert (facts["missing"], facts["left_out"], facts["licence"]) == ([], {}, "MIT")
    verdict = call_json("verify", "iglu-multiturn")
    assert (verdict["whole"], verdict["problems"], verdict["upstream_file"]) == (True, [], True)
    assert len(server.seen) == 1


def test_fetching_from_elsewhere_and_again(server: FileServer) -> None:
    mirror = server.url("/mirror.zip")
    server.files["/mirror.zip"] = server.files.pop("/multi.zip")
    with pytest.raises(store.DataError, match="answered 404"):
        call("fetch", "iglu-multiturn")
    call("fetch", "iglu-multiturn", "--url", mirror)
    call("fetch", "iglu-multiturn", "--url", mirror)
    assert [seen.status for seen in server.seen] == [404, 200]
    call("fetch", "iglu-multiturn", "--url", mirror, "--force")
    assert [seen.status for seen in server.seen] == [404, 200, 200]
    with pytest.raises(IgluMarlError, match="--url needs exactly one pack, but 2 packs are named"):
        call("fetch", "iglu-multiturn", "mdc", "--url", mirror)


def test_verify_finds_everything_that_is_wrong(tmp_path: Path) -> None:
    content = {
        "../up": b"x",
        "builder-data/1-c1/step-2": b"some text",
        "builder-data/1-c1/step-4": b"version https://git-lfs.github.com/spec/v1\nsize 5\n",
        "builder-data/1-c1/[red]step-6": b"{}",
    }
    path = tmp_path / "x.zip"
    path.write_bytes(make_zip(content).replace(b"some text", b"SOME text"))
    verdict = call_json("verify", "iglu-multiturn", "--data", path, code=1)
    assert not verdict["whole"]
    assert verdict["upstream_file"] is False
    assert verdict["left_out"] == {"parent": 1}
    parts = ("left out ../up", "missing dialogs.csv", "step-2' in .* cannot be read", "Git LFS pointer")
    assert len(verdict["problems"]) == len(parts)
    for part, problem in zip(parts, verdict["problems"], strict=True):
        assert all(piece in problem for piece in part.split(" .* "))
    text = call("verify", "iglu-multiturn", "--data", path, code=1)
    assert "left out ../up" in text
    assert "damaged: 4 problems" in text


def test_long_lists_of_problems_are_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(make_zip({"dialogs.csv": b"", **{f"../{number}": b"" for number in range(30)}}))
    text = call("verify", "iglu-multiturn", "--data", path, code=1)
    assert "and 21 more" in text  # 30 left out, and builder-data/ missing


def test_verify_does_not_fetch(server: FileServer) -> None:
    with pytest.raises(store.MissingPackError, match="not on this machine"):
        call("verify", "iglu-multiturn")
    assert server.seen == []


def test_errors_end_with_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["info", "c7"], ["verify", "mdc", "--data", "/no/such/file.zip"], ["fetch", "c7"]):
        monkeypatch.setattr("sys.argv", ["iglu-marl", "data", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == 2
        assert capsys.readouterr().err.startswith("Error: ")


def test_a_broken_place_does_not_spoil_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mdc.zip").write_bytes(b"PK")
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path / "data"))
    rows = {row["name"]: row for row in call_json("list")}
    assert "truncated or damaged" in rows["mdc"]["problem"]
    assert rows["iglu-multiturn"]["problem"] is None
    assert "truncated or damaged" in call("list")


def exported(tmp_path: Path, *arguments: Any) -> OwnTasks:
    place = tmp_path / f"{arguments[0]}.jsonl"
    told = call_json("export", *arguments, "-o", place)["tasks"]
    read = tasks_from_folder(place)
    assert len(read) == told
    return read


def test_export_of_tasks_reads_back(tmp_path: Path) -> None:
    read = exported(tmp_path, "bundled")
    assert list(read) == list(SessionTasks(bundled.load()))  # instruction, id and full structure included
    assert len(read) == 364
    assert {record["structure"] for record in read.records()} == set(bundled.load())
    session = bundled.load()["birthday-cake"][0]
    assert read.by_id(session.task_id) == session


@pytest.mark.parametrize(
    ("name", "tasks"), [("iglu-singleturn", 1416), ("iglu-multiturn", 466), ("mdc", 5023)]
)
def test_export_of_shared_packs_reads_back(shared: Path, tmp_path: Path, name: str, tasks: int) -> None:
    path = shared / "data" / f"{name}.zip"
    read = exported(tmp_path, name, "--data", path)
    datasets: dict[str, Any] = {
        "iglu-singleturn": SingleturnDataset,
        "iglu-multiturn": partial(MultiturnDataset, dialogs=False),
        "mdc": CDMDataset,
    }
    written = datasets[name](path=path)
    assert list(read) == list(written)
    assert len(written) == tasks
    labels = ("structure", "session", "clear")
    assert [[record[label] for label in labels] for record in read.records()] == [
        [record[label] for label in labels] for record in written.records()
    ]
    own = {str(task.task_id): part for part, tasks in written.split().items() for task in tasks}
    assert {record["id"]: record["split"] for record in read.records()} == {
        name: own.get(name) for name in written.ids()
    }


def test_sessions_of_the_minecraft_corpus_keep_their_names(shared: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = call_json("export", "mdc", "--data", shared / "data", "--format", "layout", "-o", out)
    assert "name" not in told["noted"]
    data, again = CDMDataset(path=shared / "data"), MultiturnDataset(path=out)
    assert {name: [str(s.task_id) for s in found] for name, found in again.tasks.items()} == {
        name: [str(s.task_id) for s in found] for name, found in data.tasks.items()
    }
    assert again.tasks == data.tasks
    assert again.report().exact


def test_export_of_sessions_reads_back(tmp_path: Path) -> None:
    assert call_json("export", "bundled", "--format", "layout", "-o", tmp_path / "out")["noted"] == {}
    again = read_sessions(tmp_path / "out")
    assert {name: list(map(list, sessions)) for name, sessions in again.items()} == {
        name: list(map(list, sessions)) for name, sessions in bundled.load().items()
    }
