"""The table of reminders, and what of it goes along when sessions or people get another key (T09, T11, T23)."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Boolean, Column, ForeignKey, Integer, Text, update
from sqlmodel import Field, SQLModel

from bot.store.database import Tx
from bot.store.tables import UtcDateTime, core


class StoredReminder(SQLModel, table=True):
    """One reminder. When it is due goes by a clock on the wall: `due_at` is what comes of `wall_time` in `zone`."""

    __tablename__: ClassVar[str] = "reminder"
    __table_args__: ClassVar[dict[str, bool]] = {"sqlite_autoincrement": True}

    id: int | None = Field(default=None, primary_key=True)
    session_id: int = Field(sa_column=Column(Integer, ForeignKey("chat_session.id"), nullable=False, index=True))
    author_key: str = Field(index=True)
    author_name: str
    author_locale: str | None = None
    reply_to: str | None = None
    """The platform's id of the message that asked for it."""
    text: str = Field(sa_column=Column(Text, nullable=False))
    wall_time: str
    """Date and time without a zone, ISO 8601."""
    zone: str
    repeat: str | None = None
    due_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    try_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False, index=True))
    """When to tell it: when it is due, or later where telling it has failed."""
    tries: int = Field(default=0, sa_column=Column(Integer, nullable=False, server_default="0"))
    is_sending: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default="0"))
    """Whether it is being told for the last time; after a crash nobody knows whether it was."""
    made_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


reminders = core(StoredReminder)


def move_reminders(tx: Tx, old_session: int, new_session: int) -> None:
    """A session has become part of another one."""
    tx.execute(update(reminders).where(reminders.c.session_id == old_session).values(session_id=new_session))


def move_author(tx: Tx, old_key: str, new_key: str) -> None:
    """Somebody is known by another key from now on."""
    tx.execute(update(reminders).where(reminders.c.author_key == old_key).values(author_key=new_key))
