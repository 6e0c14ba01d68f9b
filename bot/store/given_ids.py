"""Ids of sessions and conversations, of which none is given twice: what comes late of a call that was under way, or is
kept by another process, never means somebody else.
"""

from __future__ import annotations

from sqlalchemy import Table, func, select

from bot.store.database import Tx
from bot.store.ledger import recall, remember

NEWEST = "newest "
"""Before a table's name, where the last id is remembered that was given there."""


def next_id(tx: Tx, table: Table) -> int:
    """An id for a new row. SQLite by itself gives that of the newest row again once it is deleted."""
    given = int(recall(tx, NEWEST + table.name) or 0)
    newest: int = tx.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()
    new = max(given, newest) + 1
    remember(tx, NEWEST + table.name, str(new))
    return new
