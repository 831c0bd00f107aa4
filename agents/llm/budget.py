"""What may be spent, and how fast: a budget of tokens and cost, and a limit on requests per minute."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from iglu_marl import ConfigError
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.core.files import write_text
from iglu_marl.core.parsing import parse_json, reading

LOCK_TIMEOUT_S = 60.0


class TokenCount(NamedTuple):
    """Tokens sent and received."""

    prompt: int = 0
    completion: int = 0

    def plus(self, other: TokenCount) -> TokenCount:
        """Both together."""
        return TokenCount(self.prompt + other.prompt, self.completion + other.completion)

    def minus(self, other: TokenCount) -> TokenCount:
        """What is left without the other."""
        return TokenCount(self.prompt - other.prompt, self.completion - other.completion)


class Budget:
    """Tokens and cost that may be spent. What a call can cost at most is reserved before it is sent.

    max_tokens, max_cost: 0 = no limit. prompt_price, completion_price: of a million tokens. ledger: a file in which
    the spending is kept, so that it counts over processes and over runs; what a process had reserved when it was
    killed counts as spent. Raises `ConfigError` for a ledger that cannot be read or written.
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
        self._spent = TokenCount()
        self._lock = threading.Lock()
        self._ledger = Path(ledger) if ledger else None
        if self._ledger is not None:
            self._with_ledger(lambda spent: spent)

    @classmethod
    def of(cls, settings: LLMSettings) -> Budget:
        """The budget that settings grant."""
        return cls(
            settings.max_total_tokens,
            settings.max_cost,
            prompt_price=settings.prompt_price,
            completion_price=settings.reply_price,
            ledger=settings.ledger,
        )

    @property
    def spent(self) -> TokenCount:
        """What is spent or reserved."""
        return self._spent if self._ledger is None else self._with_ledger(lambda spent: spent)

    def cost(self, tokens: TokenCount) -> float:
        """What tokens cost, in the unit of the prices."""
        return (tokens.prompt * self.prompt_price + tokens.completion * self.completion_price) / 1e6

    def allows(self, spent: TokenCount) -> bool:
        """Whether so much may be spent in all."""
        within = not self.max_tokens or sum(spent) <= self.max_tokens
        return within and (not self.max_cost or self.cost(spent) <= self.max_cost)

    def reserve(self, tokens: TokenCount) -> bool:
        """Set tokens aside for a call; False, and nothing is set aside, when they are more than what is left."""
        granted = False

        def change(spent: TokenCount) -> TokenCount:
            nonlocal granted
            granted = self.allows(spent.plus(tokens))
            return spent.plus(tokens) if granted else spent

        self._change(change)
        return granted

    def settle(self, reserved: TokenCount, used: TokenCount) -> None:
        """A call is over: what was reserved for it is free again, what it used is spent."""
        self._change(lambda spent: spent.minus(reserved).plus(used))

    def _change(self, change: Callable[[TokenCount], TokenCount]) -> None:
        if self._ledger is not None:
            self._with_ledger(change)
            return
        with self._lock:
            self._spent = change(self._spent)

    def _with_ledger(self, change: Callable[[TokenCount], TokenCount]) -> TokenCount:
        import filelock

        path = self._ledger
        assert path is not None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(f"{path}.lock", timeout=LOCK_TIMEOUT_S):
                spent = _read_ledger(path)
                after = change(spent)
                if after != spent or not path.exists():
                    spent_now = {"prompt": after.prompt, "completion": after.completion}
                    write_text(path, json.dumps(spent_now) + "\n", ConfigError)
                return after
        except OSError as error:  # filelock.Timeout is one
            raise ConfigError(f"the ledger {path} cannot be used: {error.strerror or error}") from None


def _read_ledger(path: Path) -> TokenCount:
    """What a ledger says; nothing is spent when there is none. Raises `ConfigError` for a damaged one."""
    if not path.exists():
        return TokenCount()
    place = f"{path} is no ledger of spent tokens; repair it, or remove it to begin at 0"
    with reading(place, ConfigError):
        kept = parse_json(path.read_bytes(), place, ConfigError)
        spent = TokenCount(**kept)
    if not all(isinstance(number, int) and number >= 0 for number in spent):
        raise ConfigError(f"{path} holds {kept!r:.80}, expected tokens spent")
    return spent


class RateLimit:
    """Lets at most so many requests go in any minute, and none while a server has asked to wait.

    per_minute: 0 = no limit. clock, sleep: for tests.
    """

    def __init__(
        self,
        per_minute: float = 0.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._count = max(1, int(per_minute)) if per_minute else 0
        self._window_s = 60.0 * self._count / per_minute if per_minute else 0.0
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._due: deque[float] = deque(maxlen=self._count or 1)
        self._closed_until = float("-inf")

    def hold(self, wait_s: float) -> None:
        """Let nothing go for so many seconds from now."""
        with self._lock:
            self._closed_until = max(self._closed_until, self._clock() + wait_s)

    @property
    def closed_s(self) -> float:
        """Seconds for which nothing goes, because of `hold`."""
        with self._lock:
            return max(0.0, self._closed_until - self._clock())

    def wait(self) -> None:
        """Return when the next request may go."""
        with self._lock:
            now = self._clock()
            due = max(now, self._closed_until)
            if self._count:
                if len(self._due) == self._count:
                    due = max(due, self._due[0] + self._window_s)
                self._due.append(due)
        if due > now:
            self._sleep(due - now)
        while (closed_s := self.closed_s) > 0:  # a server asked to wait in the meantime
            self._sleep(closed_s)
