"""A budget of tokens and cost."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from iglu_marl import ConfigError
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.core.files import write_text
from iglu_marl.core.jobs import SHARED_FOLDER
from iglu_marl.core.parsing import parse_json, wrap_errors

LOCK_TIMEOUT_S, LOCK_POLL_S = 60.0, 0.005


def shared_file(settings: LLMSettings) -> str:
    """Return the file that keeps the spending: the ledger, or a file shared by the job's processes; "" for none."""
    folder = os.environ.get(SHARED_FOLDER, "")
    if settings.ledger or not folder:
        return settings.ledger
    about = f"{settings.endpoint} {settings.model} {settings.max_total_tokens} {settings.max_cost}"
    return str(Path(folder, f"{hashlib.blake2b(about.encode(), digest_size=6).hexdigest()}.json"))


class TokenCount(NamedTuple):
    """Numbers of tokens sent and received."""

    prompt: int = 0
    completion: int = 0

    def plus(self, other: TokenCount, times: int = 1) -> TokenCount:
        """Return the sum of this and a multiple of another."""
        return TokenCount(self.prompt + times * other.prompt, self.completion + times * other.completion)


class Budget:
    """The limits of settings on tokens and cost. The upper bound of a call is reserved before the call is sent.

    A ledger keeps the spending across processes and runs. The reservations of a killed process count as spent.
    Raises `ConfigError` if it cannot be read or written.
    """

    def __init__(self, settings: LLMSettings) -> None:
        self.settings, self.ledger = settings, shared_file(settings)
        self._lock, self._spent = threading.Lock(), TokenCount()
        self._change(lambda spent: spent)

    @property
    def spent(self) -> TokenCount:
        """Tokens that are spent or reserved."""
        return self._change(lambda spent: spent)

    def allows(self, spent: TokenCount) -> bool:
        """Return whether a total of `spent` is within the limits."""
        tokens, cost = self.settings.max_total_tokens, self.settings.max_cost
        return (not tokens or sum(spent) <= tokens) and (not cost or self.settings.cost(*spent) <= cost)

    def reserve(self, tokens: TokenCount) -> bool:
        """Reserve tokens for a call. Returns False, without a reservation, if they exceed the budget."""
        granted = False

        def change(spent: TokenCount) -> TokenCount:
            nonlocal granted
            granted = self.allows(spent.plus(tokens))
            return spent.plus(tokens) if granted else spent

        self._change(change)
        return granted

    def settle(self, reserved: TokenCount, used: TokenCount) -> None:
        """Replace the reservation of a finished call by the tokens that it used."""
        self._change(lambda spent: spent.plus(reserved, -1).plus(used))

    def _change(self, change: Callable[[TokenCount], TokenCount]) -> TokenCount:
        """Replace what is spent by `change` of it, and return that; with a ledger, for all processes."""
        with self._lock:  # so that only one thread of each process waits for the file lock
            self._spent = self._change_ledger(change) if self.ledger else change(self._spent)
            return self._spent

    def _change_ledger(self, change: Callable[[TokenCount], TokenCount]) -> TokenCount:
        import filelock

        path = Path(self.ledger)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(f"{path}.lock", timeout=LOCK_TIMEOUT_S)
            with lock.acquire(poll_interval=LOCK_POLL_S):
                before = _read_ledger(path) if path.exists() else TokenCount()
                after = change(before)
                if after != before:
                    write_text(path, json.dumps(after._asdict()) + "\n", ConfigError)
                return after
        except OSError as error:  # filelock.Timeout is one
            raise ConfigError(f"the file {path} cannot be used: {error.strerror or error}") from None


def _read_ledger(path: Path) -> TokenCount:
    kept = parse_json(path.read_bytes(), f"{path}", ConfigError)
    with wrap_errors(
        f"{path} is no ledger of spent tokens; repair it, or remove it to start at 0", ConfigError
    ):
        spent = TokenCount(**kept)
    if not all(type(number) is int and number >= 0 for number in spent):
        raise ConfigError(f"{path} holds {kept!r:.80}, expected tokens spent")
    return spent
