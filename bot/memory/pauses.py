"""How long folding waits after it failed, by the record of a conversation's compactions. Knows no clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from bot.store.compactions import CompactionRow, Outcome

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
"""Between two attempts after failures; the pauses double."""


def next_try(attempts: Sequence[CompactionRow]) -> datetime | None:
    """From when on what failed is tried again by itself; `None` where the newest attempt to fold did not fail."""
    folding = [attempt for attempt in attempts if attempt.messages]
    failures = len([*takewhile(lambda attempt: attempt.outcome is Outcome.FAILED, folding)])
    if not failures:
        return None
    pause: timedelta = min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE)
    return folding[0].began_at + pause
