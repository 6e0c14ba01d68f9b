"""Sessions that have gone quiet: which of them wait for the idle sweep, oldest first, and until when one is left alone.

How many others there are costs nothing: a partial index holds only those that wait.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select, update

from bot.store.conversations import listening
from bot.store.database import Tx
from bot.store.sessions import SessionRow, to_session
from bot.store.tables import conversations, overrides, sessions

# Statements that run every half minute are made once.
_WAITING = (
    select(sessions, conversations.c.persona_id)
    .outerjoin(conversations, conversations.c.id == sessions.c.conversation_id)
    .where(sessions.c.sweep_from <= bindparam("before"))
    .order_by(sessions.c.sweep_from)
    .limit(bindparam("limit"))
)
_VALUES = select(overrides.c.value).where(overrides.c.name == bindparam("name")).distinct()
_PUT_OFF = update(sessions).where(
    sessions.c.id == bindparam("session"),
    sessions.c.last_human_at == bindparam("quiet_since"),
    sessions.c.sweep_from == bindparam("waited_since"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class QuietSession:
    """A session that waits for the sweep."""

    session: SessionRow
    conversations: Mapping[str, int]
    """Those it is in now, by whose they are: one, of a cast each has its own, and none where nobody has talked to a
    persona yet.
    """
    last_human_at: datetime
    sweep_from: datetime


def quiet_sessions(tx: Tx, *, before: datetime, limit: int) -> list[QuietSession]:
    """Those that have waited since then or longer, the longest first."""
    return [
        QuietSession(
            session=to_session(row),
            conversations=listening(tx, row.id) | ({row.persona_id: row.conversation_id} if row.persona_id else {}),
            last_human_at=row.last_human_at,
            sweep_from=row.sweep_from,
        )
        for row in tx.execute(_WAITING, {"before": before, "limit": limit})
    ]


def overridden_numbers(tx: Tx, name: str) -> set[int]:
    """Every number that some session, channel or place has for a key."""
    values = (json.loads(value) for value in tx.execute(_VALUES, {"name": name}).scalars())
    return {value for value in values if isinstance(value, int)}


def put_off(tx: Tx, quiet: QuietSession, sweep_from: datetime | None) -> None:
    """Let a session wait from another moment on, `None` = until somebody speaks there again. Whoever has spoken or
    deleted something in the meantime has set the clock, and that counts.
    """
    facts = {"session": quiet.session.id, "quiet_since": quiet.last_human_at, "waited_since": quiet.sweep_from}
    tx.execute(_PUT_OFF, {**facts, "sweep_from": sweep_from})
