"""How often one person is answered: a sliding window of one minute, one notice per window (X10).

Money limits come with the ledger's prices; this module knows neither store nor platform.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from enum import StrEnum

WINDOW_SECONDS = 60.0
AUTO_PER_MINUTE = 20
"""What `auto` allows where a model costs money."""


class Admission(StrEnum):
    """Whether a message may cost a model call."""

    ADMITTED = "admitted"
    NOTICE = "notice"
    """Refused, and this is the first refusal of the window: tell the person."""
    SILENT = "silent"
    """Refused and already told."""


class Quota:
    """Counts admitted messages per person. `per_minute` of 0 admits everything. Any thread may call it: messages are
    counted where they are stored, commands where they run.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._times: dict[str, deque[float]] = {}
        self._told: dict[str, float] = {}
        self._cleaned = clock()
        self._lock = threading.Lock()  # the three above

    def admit(self, author_key: str) -> Admission:
        """Count one message of a person against the limit."""
        if not self._per_minute:
            return Admission.ADMITTED
        with self._lock:
            return self._admit(author_key, self._clock())

    def _admit(self, author_key: str, now: float) -> Admission:
        self._forget_old(now)
        times = self._times.setdefault(author_key, deque())
        while times and now - times[0] >= WINDOW_SECONDS:
            times.popleft()
        if len(times) < self._per_minute:
            times.append(now)
            return Admission.ADMITTED
        told = self._told.get(author_key)
        if told is not None and now - told < WINDOW_SECONDS:
            return Admission.SILENT
        self._told[author_key] = now
        return Admission.NOTICE

    def _forget_old(self, now: float) -> None:
        """Once per window: strangers come and go, and what is older than a window decides nothing any more."""
        if now - self._cleaned < WINDOW_SECONDS:
            return
        self._cleaned = now
        self._times = {key: times for key, times in self._times.items() if now - times[-1] < WINDOW_SECONDS}
        self._told = {key: told for key, told in self._told.items() if now - told < WINDOW_SECONDS}
