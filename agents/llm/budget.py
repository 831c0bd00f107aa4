"""What may be spent, and how fast: a budget of tokens and cost, and a limit on requests per minute."""

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
from iglu_marl.core.parsing import parse_json, reading

LOCK_TIMEOUT_S, LOCK_POLL_S = 60.0, 0.005


SHARED = "IGLU_MARL_SPENDING"  # the folder in which processes of one job share what may be spent


def shared_file(settings: LLMSettings) -> str:
    """Where the spending of these settings is kept: their ledger, or a file of the job's processes; "" for nowhere."""
    folder = os.environ.get(SHARED, "")
    if settings.ledger or not folder:
        return settings.ledger
    about = f"{settings.endpoint} {settings.model} {settings.max_total_tokens} {settings.max_cost}"
    return str(Path(folder, f"{hashlib.blake2b(about.encode(), digest_size=6).hexdigest()}.json"))


class SharedFile:
    """A small JSON file that threads and processes change one after the other. Raises `ConfigError`, naming it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()  # so that of each process one thread waits for the others

    def change(self, change: Callable[[Any], Any]) -> Any:
        """Put what `change` makes of the content, None if there is none, in its place; returns that."""
        import filelock

        path = self.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(f"{path}.lock", timeout=LOCK_TIMEOUT_S)
            with self._lock, lock.acquire(poll_interval=LOCK_POLL_S):
                kept = parse_json(path.read_bytes(), f"{path}", ConfigError) if path.exists() else None
                after = change(kept)
                if after != kept:
                    write_text(path, json.dumps(after) + "\n", ConfigError)
                return after
        except OSError as error:  # filelock.Timeout is one
            raise ConfigError(f"the file {path} cannot be used: {error.strerror or error}") from None


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
        self._ledger = SharedFile(ledger) if ledger else None
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
            ledger=shared_file(settings),
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
        assert self._ledger is not None
        place = self._ledger.path

        def changed(kept: Any) -> dict[str, int]:
            after = change(_spent(kept, place))
            return {"prompt": after.prompt, "completion": after.completion}

        return TokenCount(**self._ledger.change(changed))


def _spent(kept: Any, path: Path) -> TokenCount:
    """What a ledger says; nothing is spent when there is none. Raises `ConfigError` for a damaged one."""
    if kept is None:
        return TokenCount()
    with reading(f"{path} is no ledger of spent tokens; repair it, or remove it to begin at 0", ConfigError):
        spent = TokenCount(**kept)
    if not all(type(number) is int and number >= 0 for number in spent):
        raise ConfigError(f"{path} holds {kept!r:.80}, expected tokens spent")
    return spent


class _Times(TypedDict):
    """When the latest requests were or are due, oldest first, and until when none may go; in seconds of the clock."""

    due: list[float]
    closed_until: float


class RateLimit:
    """Lets at most so many requests go in any minute, and none while a server has asked to wait.

    per_minute: 0 = no limit. file: where processes keep what they share of it; "" = for this process alone. clock,
    sleep: for tests; with a file, the clock has to be that of all.
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
        self._lock = threading.Lock()
        self._file = SharedFile(file) if file else None
        self._own = _Times(due=[], closed_until=float("-inf"))

    def _change(self, change: Callable[[_Times], _Times]) -> _Times:
        if self._file is not None:
            times: _Times = self._file.change(lambda kept: change(kept or _Times(due=[], closed_until=0.0)))
            return times
        with self._lock:
            self._own = change(self._own)
            return self._own

    def hold(self, wait_s: float) -> None:
        """Let nothing go for so many seconds from now."""
        until = self._clock() + wait_s
        self._change(lambda times: {**times, "closed_until": max(times["closed_until"], until)})

    @property
    def closed_s(self) -> float:
        """Seconds for which nothing goes, because of `hold`."""
        return max(0.0, self._change(lambda times: times)["closed_until"] - self._clock())

    def wait(self) -> None:
        """Return when the next request may go."""
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
        while (closed_s := self.closed_s) > 0:  # a server asked to wait in the meantime
            self._sleep(closed_s)
