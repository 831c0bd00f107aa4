"""A budget of tokens and cost, and a limit on requests per minute."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from iglu_marl import ConfigError
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.core.files import write_text
from iglu_marl.core.jobs import SHARED_FOLDER
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors

LOCK_TIMEOUT_S, LOCK_POLL_S = 60.0, 0.005


def shared_file(settings: LLMSettings) -> str:
    """Return the file that keeps the spending: the ledger, or a file shared by the job's processes; "" for none."""
    folder = os.environ.get(SHARED_FOLDER, "")
    if settings.ledger or not folder:
        return settings.ledger
    about = f"{settings.endpoint} {settings.model} {settings.max_total_tokens} {settings.max_cost}"
    return str(Path(folder, f"{hashlib.blake2b(about.encode(), digest_size=6).hexdigest()}.json"))


class SharedValue:
    """A JSON value that threads update, and with a file also processes. Raises `ConfigError` naming the file."""

    def __init__(self, file: str | os.PathLike[str] = "") -> None:
        self.file = file
        self._kept: Any = None
        self._lock = threading.Lock()  # so that only one thread of each process waits for the file lock

    def change(self, change: Callable[[Any], Any]) -> Any:
        """Replace the value (None at first) by `change(value)`, and return that."""
        with self._lock:
            if self.file:
                return self._change_file(Path(self.file), change)
            self._kept = change(self._kept)
            return self._kept

    def _change_file(self, path: Path, change: Callable[[Any], Any]) -> Any:
        import filelock

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(f"{path}.lock", timeout=LOCK_TIMEOUT_S)
            with lock.acquire(poll_interval=LOCK_POLL_S):
                kept = parse_json(read_file(path, MIB), f"{path}", ConfigError) if path.exists() else None
                after = change(kept)
                if after != kept:
                    write_text(path, json.dumps(after) + "\n", ConfigError)
                return after
        except OSError as error:  # filelock.Timeout is one
            raise ConfigError(f"the file {path} cannot be used: {error.strerror or error}") from None


class TokenCount(NamedTuple):
    """Numbers of tokens sent and received."""

    prompt: int = 0
    completion: int = 0

    def plus(self, other: TokenCount) -> TokenCount:
        """Return the sum."""
        return TokenCount(self.prompt + other.prompt, self.completion + other.completion)

    def minus(self, other: TokenCount) -> TokenCount:
        """Return the difference."""
        return TokenCount(self.prompt - other.prompt, self.completion - other.completion)


class Budget:
    """A limit on tokens and cost. The upper bound of a call is reserved before the call is sent.

    Args:
        max_tokens: limit of all tokens; 0 = none.
        max_cost: limit of the cost; 0 = none.
        prompt_price: price of a million tokens sent.
        completion_price: price of a million tokens received.
        ledger: file that keeps the spending across processes and runs. The reservations of a killed process count
            as spent.

    Raises:
        ConfigError: if the ledger cannot be read or written.

    """

    def __init__(
        self,
        max_tokens: int = 0,
        max_cost: float = 0.0,
        *,
        prompt_price: float = 0.0,
        completion_price: float = 0.0,
        ledger: str | os.PathLike[str] = "",
    ) -> None:
        self.max_tokens, self.max_cost = max_tokens, max_cost
        self.prompt_price, self.completion_price = prompt_price, completion_price
        self._ledger = SharedValue(ledger)
        self._change(lambda spent: spent)

    @classmethod
    def of(cls, settings: LLMSettings) -> Budget:
        """Return the budget of these settings."""
        return cls(
            settings.max_total_tokens,
            settings.max_cost,
            prompt_price=settings.prompt_price,
            completion_price=settings.reply_price,
            ledger=shared_file(settings),
        )

    @property
    def spent(self) -> TokenCount:
        """Tokens that are spent or reserved."""
        return self._change(lambda spent: spent)

    def cost(self, tokens: TokenCount) -> float:
        """Return the cost of tokens, in the unit of the prices."""
        return (tokens.prompt * self.prompt_price + tokens.completion * self.completion_price) / 1e6

    def allows(self, spent: TokenCount) -> bool:
        """Return whether a total of `spent` is within the limits."""
        within = not self.max_tokens or sum(spent) <= self.max_tokens
        return within and (not self.max_cost or self.cost(spent) <= self.max_cost)

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
        self._change(lambda spent: spent.minus(reserved).plus(used))

    def _change(self, change: Callable[[TokenCount], TokenCount]) -> TokenCount:
        return TokenCount(
            **self._ledger.change(lambda kept: change(_spent(kept, self._ledger.file))._asdict())
        )


def _spent(kept: Any, path: str | os.PathLike[str]) -> TokenCount:
    if kept is None:
        return TokenCount()
    with wrap_errors(
        f"{path} is no ledger of spent tokens; repair it, or remove it to start at 0", ConfigError
    ):
        spent = TokenCount(**kept)
    if not all(type(number) is int and number >= 0 for number in spent):
        raise ConfigError(f"{path} holds {kept!r:.80}, expected tokens spent")
    return spent


class _Times(TypedDict):
    """Times in seconds: when the latest requests are due, oldest first, and until when none may be sent."""

    due: list[float]
    closed_until: float


class RateLimit:
    """Limit the requests per minute, and send none while a server has asked to wait.

    Args:
        per_minute: 0 = no limit.
        file: shares the limit between processes; "" = this process only.
        clock: seconds; processes that share a file need the same clock.
        sleep: replaced in tests.

    """

    def __init__(
        self,
        per_minute: float = 0.0,
        *,
        file: str | os.PathLike[str] = "",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._count = max(1, int(per_minute)) if per_minute else 0
        self._window_s = 60.0 * self._count / per_minute if per_minute else 0.0
        self._clock, self._sleep = clock, sleep
        self._times = SharedValue(file)

    def _change(self, change: Callable[[_Times], _Times]) -> _Times:
        times: _Times = self._times.change(lambda kept: change(kept or _Times(due=[], closed_until=0.0)))
        return times

    def hold(self, wait_s: float) -> None:
        """Send nothing for the next `wait_s` seconds."""
        until = self._clock() + wait_s
        self._change(lambda times: {**times, "closed_until": max(times["closed_until"], until)})

    @property
    def paused_s(self) -> float:
        """Seconds until requests may be sent again after `hold`."""
        return max(0.0, self._change(lambda times: times)["closed_until"] - self._clock())

    def wait(self) -> None:
        """Block until the next request may be sent."""
        now = due = self._clock()

        def enter(times: _Times) -> _Times:
            nonlocal due
            due = max(now, times["closed_until"])
            if not self._count:
                return times
            if len(times["due"]) >= self._count:
                due = max(due, times["due"][-self._count] + self._window_s)
            return {**times, "due": [*times["due"], due][-self._count :]}

        self._change(enter)
        if due > now:
            self._sleep(due - now)
        while (paused_s := self.paused_s) > 0:  # a server asked to wait in the meantime
            self._sleep(paused_s)
