"""The packs of data that this package reads: their origin, licence and layout.

They are not part of this package. `store` finds them, `fetch` downloads them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from iglu_marl.core.errors import DataError
from iglu_marl.core.text import similar
from iglu_marl.data.packs.archive import Pack, open_pack

DATA_PATH_VARIABLE = "IGLU_DATA_PATH"  # names a pack, or a folder of packs and structure files

_IGLU = "https://github.com/microsoft/iglu-datasets"
_IGLU_COMMIT = "7342931ad6ee598c5a20b0563ff0c94594f2addc"
_MDC = "https://github.com/prashant-jayan21/minecraft-dialogue-models"
_MDC_COMMIT = "9becd5cc53d60be4d93b0581aed3ad48db635f47"

_CITE_IGLU = (
    "Mohanty et al., Collecting Interactive Multi-modal Datasets for Grounded Language Understanding, "
    "arXiv:2211.06552 (2022)",
    "Kiseleva et al., IGLU 2022: Interactive Grounded Language Understanding in a Collaborative Environment "
    "at NeurIPS 2022, arXiv:2205.13771 (2022)",
    "Kiseleva et al., Interactive Grounded Language Understanding in a Collaborative Environment: IGLU 2021, "
    "NeurIPS 2021 Competitions and Demonstrations Track, PMLR, pages 146-161 (2022)",
)
_CITE_MDC = (
    "Narayan-Chen, Jayannavar and Hockenmaier, Collaborative Dialogue in Minecraft, ACL 2019, pages 5405-5415",
)


@dataclass(frozen=True)
class PackInfo:
    """Description of a pack."""

    name: str  # key in `PACKS`
    title: str  # title for people
    description: str  # description for people
    licence: str  # name of the licence
    citation: tuple[str, ...]  # works to cite
    page: str  # the project's page
    url: str  # address of the download
    # Files and folders that may be the pack besides `filename`, relative to a folder of packs.
    usual_names: tuple[str, ...]
    # Files, or folders ("/" at the end), in the top folder. The first that exists anywhere determines the top folder.
    markers: tuple[str, ...]
    expected: tuple[str, ...]  # files and folders of a complete pack
    size: int | None = None  # bytes of the download; None if upstream does not fix it
    sha256: str | None = None  # hash of the download; None if upstream does not fix it
    # Folders that have a marker but are not the top folder.
    foreign: frozenset[str] = field(default=frozenset())
    # Where the IGLU tools unpack the pack, relative to `IGLU_DATA_PATH` or `~/.iglu`.
    tool_folders: tuple[str, ...] = ()
    suffix: str = ".zip"  # of the downloaded file; another one is a file that is no pack

    @property
    def filename(self) -> str:
        """Name of the downloaded file."""
        return f"{self.name}{self.suffix}"

    def root(self, names: Iterable[str]) -> str | None:
        """Return the top folder of this pack among member files: "", or a path that ends in "/".

        In an archive or clone of a repository, it is the folder with a marker that is closest to the top. None if
        there is no marker.
        """
        listed = list(names)
        for marker in self.markers:
            found = {root for name in listed if (root := self._root_by(marker, name)) is not None}
            if found:
                return min(found, key=lambda root: (root.count("/"), root))
        return None

    def _root_by(self, marker: str, name: str) -> str | None:
        if marker.endswith("/"):
            head, found, _ = f"/{name}".partition(f"/{marker}")
            root = f"{head}/" if found else None
        else:
            root = f"/{name}".removesuffix(marker) if f"/{name}".endswith(f"/{marker}") else None
        if root is None:
            return None
        folders = root.strip("/").split("/")
        return None if folders[-1] in self.foreign or "__MACOSX" in folders else root[1:]

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return the expected files and folders that are not among `names` (relative to the top folder)."""
        listed = [f"{name}/" for name in names]
        folders = {part: f"{part.rstrip('/')}/" for part in self.expected}
        return [part for part, start in folders.items() if not any(name.startswith(start) for name in listed)]


def _archive_names(page: str, commit: str) -> tuple[str, ...]:
    """Return the usual names of clones and archives of a repository.

    Where the data are in the repository itself, its archive at a fixed commit is downloaded. Such archives have no
    fixed size or hash.
    """
    name = page.rpartition("/")[2]
    return name, f"{name}-master", f"{name}-master.zip", f"{name}-{commit}.zip"


PACKS: dict[str, PackInfo] = {
    info.name: info
    for info in (
        PackInfo(
            name="iglu-multiturn",
            title="IGLU multi-turn",
            description="Architect and builder build a known structure over many turns; with builder recordings.",
            licence="MIT",
            citation=_CITE_IGLU,
            page=_IGLU,
            url=f"{_IGLU}/raw/{_IGLU_COMMIT}/datasets/multiturn_dataset.zip",
            usual_names=(
                "iglu-multiturn",
                "multiturn_dataset.zip",
                "multiturn_dataset",
                "multiturn",
                "datasets/multiturn_dataset.zip",
                "datasets/multiturn",
                "iglu-datasets/datasets/multiturn_dataset.zip",
            ),
            markers=("dialogs.csv", "builder-data/"),
            expected=("dialogs.csv", "builder-data/"),
            foreign=frozenset({"initial_world_states", "target_world_states"}),
            tool_folders=("data/iglu", "iglu"),
            size=13_977_030,  # size and hash as in the repository's Git LFS pointer
            sha256="1d87e9bc4028bc4a0bd4e97d07e73beefdda1408b40877a32b1429070cc22a67",
        ),
        PackInfo(
            name="iglu-singleturn",
            title="IGLU single-turn",
            description="One instruction for one change of a given world; clarifying questions and their ranking.",
            licence="MIT",
            citation=_CITE_IGLU,
            page=_IGLU,
            url=f"{_IGLU}/archive/{_IGLU_COMMIT}.zip",
            usual_names=(
                *("iglu-singleturn", "singleturn", "datasets/singleturn", "single_turn_dataset.zip"),
                *_archive_names(_IGLU, _IGLU_COMMIT),
            ),
            markers=("clarifying_questions_train.csv", "target_world_states/"),
            expected=(
                "clarifying_questions_train.csv",
                "question_bank.csv",
                "initial_world_states/builder-data/",
                "target_world_states/builder-data/",
            ),
            tool_folders=("data/single_turn_dataset", "single_turn_dataset"),
        ),
        PackInfo(
            name="mdc",
            title="Minecraft Dialogue Corpus",
            description="Free dialogues of architect and builder with full timelines, and the structures they built.",
            licence="University of Illinois/NCSA",
            citation=_CITE_MDC,
            page=_MDC,
            url=f"{_MDC}/archive/{_MDC_COMMIT}.zip",
            usual_names=("mdc", *_archive_names(_MDC, _MDC_COMMIT)),
            markers=("data/logs/splits.json", "data/gold-configurations/"),
            expected=("data/logs/splits.json", "data/logs/", "data/gold-configurations/"),
            tool_folders=("", "data"),
        ),
    )
}

_GRIDWORLD = "https://github.com/iglu-contest/gridworld"
_GRIDWORLD_COMMIT = "2408fc3c0b37bfc582170bf45f0079d6f8930ecc"

SKILLS_FILE = PackInfo(
    name="skills",
    title="IGLU skills",
    description="The competition's labels (flat, flying, diagonal, tricky, tall) of the structures C1 to C157.",
    licence="AGPL-3.0",
    citation=_CITE_IGLU,
    page=f"{_GRIDWORLD}/tree/{_GRIDWORLD_COMMIT}/skills",
    url=f"{_GRIDWORLD}/raw/{_GRIDWORLD_COMMIT}/skills/skills.yaml",
    usual_names=("iglu-skills.yaml", "skills/skills.yaml", "gridworld/skills/skills.yaml"),
    markers=(),
    expected=(),
    size=5_291,
    sha256="679e3f96e20c1e126766003a2cad14645a1a0b4d7f01eb3a282f21623d703ab9",
    suffix=".yaml",
)
"""The file that `iglu_marl.data.skills` reads."""


def known_pack(name: str) -> PackInfo:
    """Return the description of a pack. Raises `DataError` for an unknown name."""
    if name not in PACKS:
        raise DataError(
            f"there is no pack {name!r}{similar(name, PACKS)}, expected one of {', '.join(PACKS)}"
        )
    return PACKS[name]


def known_file(name: str) -> PackInfo:
    """Return the description of a pack or of the file of skills. Raises `DataError` for an unknown name."""
    return SKILLS_FILE if name == SKILLS_FILE.name else known_pack(name)


def open_as(info: PackInfo, path: str | os.PathLike[str]) -> Pack:
    """Open a zip archive or folder as this pack, with names relative to the pack's top folder.

    Raises `DataError` like `open_pack`, and if no marker of this pack is in it.
    """
    pack = open_pack(path)
    root = info.root(pack.names())
    if root is not None:
        return pack.below(root)
    pack.close()
    raise DataError(
        f"{pack.location} is not {info.name}: expected {' or '.join(info.markers)} in it"
        f"{_resemblance(info, pack)}{pack.links}"
    )


def _resemblance(info: PackInfo, pack: Pack) -> str:
    names = pack.names()
    others = [other.name for other in PACKS.values() if other != info and other.root(names) is not None]
    return f"; it looks like {others[0]}" if others else f"; it has {len(names)} files, such as {names[:3]}"
