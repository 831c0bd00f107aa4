"""Processes beside this one, which end with it."""

from __future__ import annotations

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """Have this process end when the one that has started it was killed; else it would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
