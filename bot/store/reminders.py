"""Reminders: what somebody asked to be told, when, and in which session. One that was told is gone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, delete, func, insert, select, update

from bot.store.database import Tx
from bot.store.reminder_tables import reminders
from bot.store.sessions import SessionRow, to_session
from bot.store.tables import messages, sessions

_here = reminders.c


@dataclass(frozen=True, kw_only=True, slots=True)
class NewReminder:
    """What somebody asks to be told, and when."""

    author_key: str
    author_name: str
    author_locale: str | None
    reply_to: str | None
    text: str
    wall_time: datetime
    """Without a zone."""
    zone: str
    repeat: str | None
    due_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Reminder(NewReminder):
    """A reminder that is kept, and where it is to be told."""

    id: int
    session: SessionRow
    tries: int


_COLUMNS = tuple(column.label(f"reminder_{column.name}") for column in _here)
_SELECT = select(sessions, *_COLUMNS).join(sessions, sessions.c.id == _here.session_id)
_DUE = _SELECT.where(_here.try_at <= bindparam("now"), _here.is_sending.is_(False)).order_by(_here.due_at, _here.id)
_OF = _SELECT.where(_here.author_key == bindparam("author_key"), _here.is_sending.is_(False))


def asked_by(tx: Tx, message_id: int) -> str | None:
    """The platform's id of a message, for a reminder to refer to."""
    return tx.execute(select(messages.c.platform_message_id).where(messages.c.id == message_id)).scalar()


def add_reminder(tx: Tx, session_id: int, new: NewReminder, now: datetime) -> int:
    """Keep a reminder; returns its number."""
    made = tx.execute(insert(reminders).values({**_values(session_id, new), "made_at": now})).inserted_primary_key
    assert made is not None
    return int(made[0])


def change_reminder(tx: Tx, number: int, session_id: int, new: NewReminder) -> None:
    """Let a reminder be another one under the same number."""
    tx.execute(update(reminders).where(_here.id == number).values({**_values(session_id, new), "tries": 0}))


def _values(session_id: int, new: NewReminder) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "author_key": new.author_key,
        "author_name": new.author_name,
        "author_locale": new.author_locale,
        "reply_to": new.reply_to,
        "text": new.text,
        "wall_time": new.wall_time.isoformat(),
        "zone": new.zone,
        "repeat": new.repeat,
        "due_at": new.due_at,
        "try_at": new.due_at,
    }


def reminders_of(tx: Tx, author_key: str, session_id: int | None = None) -> list[Reminder]:
    """What somebody waits for, in one session or in all, the next first."""
    found = _OF.order_by(_here.due_at, _here.id)
    if session_id is not None:
        found = found.where(_here.session_id == session_id)
    return [_reminder(row) for row in tx.execute(found, {"author_key": author_key})]


def count_reminders(tx: Tx, author_key: str) -> int:
    """How many somebody waits for, everywhere."""
    mine = select(func.count()).select_from(reminders).where(_here.author_key == author_key)
    return int(tx.execute(mine).scalar_one())


def cancel_reminder(tx: Tx, author_key: str, number: int) -> bool:
    """Forget a reminder of somebody; whether they waited for it."""
    return tx.execute(delete(reminders).where(_here.id == number, _here.author_key == author_key)).rowcount > 0


def forget_reminders(tx: Tx, author_key: str) -> int:
    """Forget all reminders of somebody; how many there were."""
    return tx.execute(delete(reminders).where(_here.author_key == author_key)).rowcount


def count_reminders_in(tx: Tx, session_id: int) -> int:
    """How many people wait for in a session."""
    there = select(func.count()).select_from(reminders).where(_here.session_id == session_id)
    return int(tx.execute(there).scalar_one())


def forget_reminders_in(tx: Tx, session_id: int) -> int:
    """Forget all reminders of a session; how many there were."""
    return tx.execute(delete(reminders).where(_here.session_id == session_id)).rowcount


def due_reminders(tx: Tx, now: datetime) -> list[Reminder]:
    """What is to be told now, the oldest first."""
    return [_reminder(row) for row in tx.execute(_DUE, {"now": now})]


def claim(tx: Tx, reminder: Reminder, next_at: datetime | None) -> bool:
    """Note that a reminder is told now, before it is, so that it is never told twice. One that repeats waits for its
    next time; false where it waits no longer, or for another time.
    """
    mine = (_here.id == reminder.id, _here.due_at == reminder.due_at, _here.is_sending.is_(False))
    values = {"is_sending": True} if next_at is None else {"due_at": next_at, "try_at": next_at}
    return tx.execute(update(reminders).where(*mine).values(values)).rowcount > 0


def is_kept(tx: Tx, number: int) -> bool:
    """Whether there still is such a reminder."""
    return tx.execute(select(_here.id).where(_here.id == number)).first() is not None


def drop_told(tx: Tx, number: int) -> None:
    """One that was told for the last time is over."""
    tx.execute(delete(reminders).where(_here.id == number, _here.is_sending.is_(True)))


def put_off(tx: Tx, number: int, try_at: datetime) -> None:
    """One that certainly reached nobody is told again later, unless it repeats anyway."""
    mine = (_here.id == number, _here.is_sending.is_(True))
    tx.execute(update(reminders).where(*mine).values(is_sending=False, try_at=try_at, tries=_here.tries + 1))


def drop_cut_off(tx: Tx) -> int:
    """At a start: those that were being told when the process ended count as told; how many there were (S16)."""
    return tx.execute(delete(reminders).where(_here.is_sending.is_(True))).rowcount


def _reminder(row: Row[Any]) -> Reminder:
    return Reminder(
        id=row.reminder_id,
        session=to_session(row),
        author_key=row.reminder_author_key,
        author_name=row.reminder_author_name,
        author_locale=row.reminder_author_locale,
        reply_to=row.reminder_reply_to,
        text=row.reminder_text,
        wall_time=datetime.fromisoformat(row.reminder_wall_time),
        zone=row.reminder_zone,
        repeat=row.reminder_repeat,
        due_at=row.reminder_due_at,
        tries=row.reminder_tries,
    )
