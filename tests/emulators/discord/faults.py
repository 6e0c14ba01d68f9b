"""Faults and rate limits that a test puts on REST routes. Knows no socket and no Discord state."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any


@dataclass(slots=True)
class Fault:
    """What goes wrong on the next `times` requests to a route (`*` is a wildcard in method and path).

    Nothing happens before `until` is set. `drop` cuts the connection instead of answering. With `carried_out` the
    request takes effect first, so that only its answer is lost.
    """

    method: str
    path: str
    status: int = 500
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    until: asyncio.Event | None = None
    drop: bool = False
    carried_out: bool = False
    times: int = 1


@dataclass(slots=True)
class _RateLimit:
    method: str
    path: str
    count: int
    seconds: float
    hits: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RateState:
    """How a request stands against its limit: the headers to send, and the seconds to wait when it is over it."""

    headers: dict[str, str]
    retry_after: float | None


class RouteRules:
    """The faults and limits in force."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._faults: list[Fault] = []
        self._limits: list[_RateLimit] = []

    def add_fault(self, fault: Fault) -> None:
        """Put a fault in force; the oldest matching one is used first."""
        self._faults.append(fault)

    def add_limit(self, method: str, path: str, *, count: int, seconds: float) -> None:
        """Allow `count` requests per `seconds` to each path that matches."""
        self._limits.append(_RateLimit(method, path, count, seconds))

    def clear(self) -> None:
        """Lift everything."""
        self._faults.clear()
        self._limits.clear()

    def take_fault(self, method: str, path: str) -> Fault | None:
        """The fault for this request, used up by it."""
        for fault in self._faults:
            if fnmatch(method, fault.method) and fnmatch(path, fault.path):
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault
        return None

    def count(self, method: str, path: str) -> RateState | None:
        """Count this request against its limit; `None` where no limit is in force."""
        limit = next((item for item in self._limits if item.method == method and fnmatch(path, item.path)), None)
        if limit is None:
            return None
        now = self._clock()
        hits = [at for at in limit.hits.get(path, []) if now - at < limit.seconds]
        reset_after = limit.seconds - (now - hits[0]) if hits else limit.seconds
        over = len(hits) >= limit.count
        if not over:
            hits.append(now)
        limit.hits[path] = hits
        headers = {
            "X-RateLimit-Limit": str(limit.count),
            "X-RateLimit-Remaining": str(limit.count - len(hits)),
            "X-RateLimit-Reset": f"{time.time() + reset_after:.3f}",
            "X-RateLimit-Reset-After": f"{reset_after:.3f}",
            "X-RateLimit-Bucket": f"bucket{abs(hash((limit.method, limit.path)))}",
        }
        return RateState(headers, reset_after if over else None)
