"""`iglu-marl serve-openenv` on this machine, as a process."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen


@contextmanager
def openenv_server(*arguments: str, python: str | Path = sys.executable) -> Iterator[str]:
    """The address of a server that is up; `python` has the library."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python), "-m", "iglu_marl", "serve-openenv", "--port", str(port), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(2)]
        address = f"http://127.0.0.1:{port}"
        try:
            assert "Getting ready" in said[0], said
            assert address in said[1], said
            while not _is_up(address):
                assert process.poll() is None, "the server has ended"
                time.sleep(0.1)
            yield address
        finally:
            process.terminate()


def _is_up(address: str) -> bool:
    try:
        urlopen(f"{address}/health", timeout=5).close()
    except OSError:
        return False
    return True
