"""Takes out of every prompt what was refused: it counts as never said, for good, and only the database has it still."""

from __future__ import annotations

import sys
from collections.abc import Collection
from datetime import datetime

from sqlalchemy import select, update

from bot.store.conversations import next_position, raise_generations
from bot.store.database import Tx
from bot.store.gists import forget_gists
from bot.store.sessions import SessionRow
from bot.store.stale import mark_stale
from bot.store.tables import UNANSWERED, MessageKind, Standing, messages
from bot.store.window import WindowRow, read_window


def withhold(tx: Tx, session: SessionRow, ids: Collection[int], now: datetime) -> None:
    """Let no model read again what people said in these messages of a session, nor what was noted of it."""
    said = (messages.c.session_id == session.id, messages.c.kind == MessageKind.SAID.value, messages.c.id.in_(ids))
    tx.execute(update(messages).where(*said).values(standing=Standing.REFUSED.value))
    raise_generations(tx, session.id)
    for message_id in ids:
        mark_stale(tx, message_id, f"refused:{message_id}", now)
        forget_gists(tx, message_id, f"refused:{message_id}", now)


def read_answered(tx: Tx, session_id: int, conversation_id: int) -> list[WindowRow]:
    """What stands in no notes of a conversation yet, without what waits for an answer: who answers that looks at it and
    tells who asked.
    """
    rows = read_window(tx, session_id, conversation_id, up_to=next_position(tx), room=sys.maxsize)
    waiting = {*tx.execute(select(messages.c.id).where(messages.c.session_id == session_id, UNANSWERED)).scalars()}
    return [row for row in rows if row.id not in waiting]
