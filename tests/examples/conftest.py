"""What the tests of examples that learn have in common."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest
from requirements import require


@pytest.fixture(scope="module")
def torch() -> Iterator[Any]:
    """PyTorch on one thread; the test is skipped without it."""
    require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(threads)
