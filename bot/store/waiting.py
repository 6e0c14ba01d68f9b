"""Who still waits for an answer in a session. Reads what is open alone, however much was said before."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, func, select, union_all

from bot.store.database import Tx
from bot.store.tables import SENDING, UNANSWERED, messages
from bot.store.window import LIVE

# Two partial indexes hold all that is open; "+ 0" keeps SQLite from walking through the session by its order instead.
_OPEN = union_all(
    select(messages.c.id).where(messages.c.session_id == bindparam("session_id"), UNANSWERED),
    select(messages.c.id).where(SENDING),
)
_WAITS = select(func.min(messages.c.position)).where(
    messages.c.id.in_(_OPEN),
    messages.c.session_id + 0 == bindparam("session_id"),
    messages.c.sent_at >= bindparam("since"),
    LIVE,
)


def open_end(tx: Tx, session_id: int, since: datetime) -> int | None:
    """The first position at which an answer is still to come or on its way; `None` where nobody waits. What was asked
    before `since` waits for no answer any more.
    """
    return tx.execute(_WAITS, {"session_id": session_id, "since": since}).scalar()
