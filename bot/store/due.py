"""Follow-ups whose day has come and that nobody has been asked about yet. A partial index holds those that wait."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Row, bindparam, select, update

from bot.store.database import Tx
from bot.store.memory_tables import TO_BE_RAISED, memory_items
from bot.store.sessions import SessionRow, to_session
from bot.store.tables import MessageKind, conversations, messages, sessions

_ITEM = (
    memory_items.c.id.label("item_id"),
    memory_items.c.day.label("due_day"),
    memory_items.c.subject.label("owner_key"),
    memory_items.c.replaces.label("replaced"),
)
# Only what the session's present conversation knows, and only while the session is as private as when it was learned.
_DUE = (
    select(sessions, *_ITEM)
    .join(conversations, conversations.c.id == memory_items.c.conversation_id)
    .join(sessions, sessions.c.id == conversations.c.session_id)
    .where(
        sessions.c.conversation_id == conversations.c.id,
        TO_BE_RAISED,
        memory_items.c.day.between(bindparam("since"), bindparam("until")),
        memory_items.c.visibility == sessions.c.visibility,
        sessions.c.last_human_at.between(bindparam("active_since"), bindparam("quiet_since")),
    )
    .order_by(memory_items.c.day, memory_items.c.id)
)
_SPOKE_LAST = (
    select(messages.c.author_key)
    .where(messages.c.session_id == bindparam("session_id"), messages.c.kind == MessageKind.SAID.value)
    .order_by(messages.c.position.desc(), messages.c.id.desc())
    .limit(1)
)
_RAISED = select(memory_items.c.raised_at, memory_items.c.replaces).where(memory_items.c.id == bindparam("item_id"))


@dataclass(frozen=True, kw_only=True, slots=True)
class DueFollowUp:
    """A follow-up that can be raised, where that would be, and who owns it."""

    item_id: int
    day: date
    owner_key: str | None
    person_key: str | None
    """Whom it would be said to: its owner, or in a private chat whoever talks there."""
    session: SessionRow
    spoke_first_at: datetime | None
    """When the bot last spoke first in that session."""


def due_follow_ups(
    tx: Tx, *, since: date, until: date, active_since: datetime, quiet_since: datetime
) -> list[DueFollowUp]:
    """Those whose day lies between two days, in sessions where somebody has spoken after one moment and nobody after
    another; by day. None is among them that came up by itself before, under whatever number.
    """
    bounds = {"since": since, "until": until, "active_since": active_since, "quiet_since": quiet_since}
    rows = tx.execute(_DUE, bounds).all()
    return [_follow_up(tx, row) for row in rows if not _was_raised(tx, row.replaced)]


def _follow_up(tx: Tx, row: Row[tuple[object, ...]]) -> DueFollowUp:
    session = to_session(row)
    is_alone = session.channel.is_dm and row.owner_key is None
    return DueFollowUp(
        item_id=row.item_id,
        day=row.due_day,
        owner_key=row.owner_key,
        person_key=tx.execute(_SPOKE_LAST, {"session_id": session.id}).scalar() if is_alone else row.owner_key,
        session=session,
        spoke_first_at=row.spoke_first_at,
    )


def _was_raised(tx: Tx, item_id: int | None) -> bool:
    """Whether an item, or one that it took the place of, was raised: an edited follow-up is still the same one."""
    while item_id is not None:
        row = tx.execute(_RAISED, {"item_id": item_id}).first()
        if row is None or row.raised_at is not None:
            return row is not None
        item_id = row.replaces
    return False


def mark_raised(tx: Tx, due: DueFollowUp, now: datetime) -> bool:
    """Note that one is raised now, before it is: it is never raised twice. False where it waits no longer."""
    waiting = update(memory_items).where(memory_items.c.id == due.item_id, TO_BE_RAISED).values(raised_at=now)
    if not tx.execute(waiting).rowcount:
        return False
    tx.execute(update(sessions).where(sessions.c.id == due.session.id).values(spoke_first_at=now))
    return True
