"""Takes out of every prompt what was refused: it counts as never said, for good, and only the database has it still."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import update

from bot.store.conversations import raise_generations
from bot.store.database import Tx
from bot.store.gists import forget_gists
from bot.store.sessions import SessionRow
from bot.store.stale import mark_stale
from bot.store.tables import MessageKind, Standing, messages


def withhold(tx: Tx, session: SessionRow, ids: Collection[int], now: datetime) -> None:
    """Let no model read again what people said in these messages of a session, nor what was noted of it."""
    said = (messages.c.session_id == session.id, messages.c.kind == MessageKind.SAID.value, messages.c.id.in_(ids))
    tx.execute(update(messages).where(*said).values(standing=Standing.REFUSED.value))
    raise_generations(tx, session.id)
    for message_id in ids:
        mark_stale(tx, message_id, f"refused:{message_id}", now)
        forget_gists(tx, message_id, f"refused:{message_id}", now)
