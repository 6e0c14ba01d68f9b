"""How often something may happen: a sliding window of one minute, one notice per window (X10)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from enum import StrEnum

WINDOW_SECONDS = 60.0


class Admission(StrEnum):
    """Whether a message may cost a model call."""

    ADMITTED = "admitted"
    NOTICE = "notice"
    """Refused, and this is the first refusal of the window: tell the person."""
    SILENT = "silent"
    """Refused and already told."""


class Rate:
    """Counts what is admitted by key. `per_minute` of 0 admits everything. Any thread may call it: messages are counted
    where they are stored, commands where they run.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._times: dict[str, deque[float]] = {}
        self._told: dict[str, float] = {}
        self._cleaned = clock()
        self._lock = threading.Lock()  # the three above

    def admit(self, key: str, *, listener: str = "") -> Admission:
        """Count one message against the limit; a refusal is told to each `listener` once, by default to the key."""
        if not self.per_minute:
            return Admission.ADMITTED
        with self._lock:
            return self._admit(key, listener or key, self._clock())

    def left(self, key: str) -> int:
        """How many more would be admitted now."""
        with self._lock:
            now = self._clock()
            return self.per_minute - sum(now - time < WINDOW_SECONDS for time in self._times.get(key, ()))

    def _admit(self, key: str, listener: str, now: float) -> Admission:
        self._forget_old(now)
        times = self._times.setdefault(key, deque())
        while times and now - times[0] >= WINDOW_SECONDS:
            times.popleft()
        if len(times) < self.per_minute:
            times.append(now)
            return Admission.ADMITTED
        told = self._told.get(listener)
        if told is not None and now - told < WINDOW_SECONDS:
            return Admission.SILENT
        self._told[listener] = now
        return Admission.NOTICE

    def _forget_old(self, now: float) -> None:
        """Once per window: strangers come and go, and what is older than a window decides nothing any more."""
        if now - self._cleaned < WINDOW_SECONDS:
            return
        self._cleaned = now
        self._times = {key: times for key, times in self._times.items() if now - times[-1] < WINDOW_SECONDS}
        self._told = {key: told for key, told in self._told.items() if now - told < WINDOW_SECONDS}
