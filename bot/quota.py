"""How often one person is answered: a sliding window of one minute, one notice per window (X10).

Money limits come with the ledger's prices; this module knows neither store nor platform.
"""

from __future__ import annotations

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
    """Counts admitted messages per person. `per_minute` of 0 admits everything."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._times: dict[str, deque[float]] = {}
        self._told: dict[str, float] = {}

    def admit(self, author_key: str) -> Admission:
        """Count one message of a person against the limit."""
        if not self._per_minute:
            return Admission.ADMITTED
        now = self._clock()
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
        self._forget_old(now)
        return Admission.NOTICE

    def _forget_old(self, now: float) -> None:
        # Strangers come and go; what is older than a window decides nothing any more.
        for key in [key for key, times in self._times.items() if not times or now - times[-1] >= WINDOW_SECONDS]:
            del self._times[key]
        for key in [key for key, told in self._told.items() if now - told >= WINDOW_SECONDS]:
            del self._told[key]
