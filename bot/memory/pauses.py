"""How long folding waits after it failed, by the record of a conversation's compactions. Knows no clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from bot.store.compactions import CompactionRow, Outcome, newest_folds
from bot.store.database import Tx

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
"""Between two attempts after failures; the pauses double."""
ATTEMPTS_LOOKED_AT = 12
"""How many failures in a row a pause grows with."""


def paused_until(tx: Tx, conversation_id: int) -> datetime | None:
    """As `next_try`, of a conversation. What stands behind an attempt that did not fail is not read."""
    newest = newest_folds(tx, conversation_id, 1)
    if newest and newest[0].outcome is Outcome.FAILED:
        newest = newest_folds(tx, conversation_id, ATTEMPTS_LOOKED_AT)
    return next_try(newest)


def is_paused(tx: Tx, conversation_id: int, now: datetime) -> bool:
    """Whether it is too early to try again."""
    again_at = paused_until(tx, conversation_id)
    return again_at is not None and now < again_at


def next_try(attempts: Sequence[CompactionRow]) -> datetime | None:
    """From when on what failed is tried again by itself; `None` where the newest attempt to fold did not fail."""
    folding = [attempt for attempt in attempts if attempt.messages]
    failures = len([*takewhile(lambda attempt: attempt.outcome is Outcome.FAILED, folding)])
    if not failures:
        return None
    pause: timedelta = min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE)
    return folding[0].began_at + pause
