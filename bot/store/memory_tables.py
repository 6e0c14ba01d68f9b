"""What is kept of memory: items with their sources, and every compaction as a row."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, ClassVar

from sqlalchemy import Boolean, Column, Date, ForeignKey, Index, Integer, Text, text
from sqlmodel import Field, SQLModel

from bot.store.tables import UtcDateTime, core

LIVE_ITEM = text("retired_at IS NULL")
TO_BE_RAISED = text("kind = 'follow_up' AND state = 'open' AND retired_at IS NULL AND raised_at IS NULL")


def _time(*, nullable: bool = True) -> Any:
    return Field(default=None, sa_column=Column(UtcDateTime, nullable=nullable))


class MemoryItem(SQLModel, table=True):
    """One thing that a conversation remembers, or its gist. Rows are retired, never changed in what they say."""

    __tablename__: ClassVar[str] = "memory_item"
    __table_args__ = (
        Index("ix_memory_item_conversation", "conversation_id", "id"),
        Index("ix_memory_item_due", "day", sqlite_where=TO_BE_RAISED),
        {"sqlite_autoincrement": True},
    )

    id: int | None = Field(default=None, primary_key=True)
    conversation_id: int = Field(sa_column=Column(Integer, ForeignKey("conversation.id"), nullable=False))
    persona_id: str
    place_key: str
    visibility: str
    kind: str
    text: str = Field(sa_column=Column(Text, nullable=False))
    tokens: int = 0
    subject: str | None = Field(default=None, index=True)
    subject_name: str = ""
    category: str | None = None
    day: date | None = Field(default=None, sa_column=Column(Date))
    people: str = Field(default="", sa_column=Column(Text, nullable=False))
    """Keys of those who agreed, one a line."""
    state: str | None = None
    pinned: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default="0"))
    stale: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default="0"))
    replaces: int | None = None
    valid_from: datetime = _time(nullable=False)
    """When it was first said."""
    valid_to: datetime | None = _time()
    """When something else took its place."""
    made_by: str
    """Who made it: `compaction:12`, or the key of a person."""
    made_at: datetime = _time(nullable=False)
    retired_by: str | None = None
    retired_at: datetime | None = _time()
    raised_at: datetime | None = _time()
    """When the bot came back to this follow-up without being asked."""


class MemorySource(SQLModel, table=True):
    """A message that an item goes back to."""

    __tablename__: ClassVar[str] = "memory_source"

    item_id: int = Field(sa_column=Column(Integer, ForeignKey("memory_item.id"), primary_key=True))
    message_id: int = Field(sa_column=Column(Integer, ForeignKey("message.id"), primary_key=True, index=True))


class Compaction(SQLModel, table=True):
    """One attempt to move messages into memory: what it read, why, and how it ended."""

    __tablename__: ClassVar[str] = "compaction"

    id: int | None = Field(default=None, primary_key=True)
    conversation_id: int = Field(sa_column=Column(Integer, ForeignKey("conversation.id"), nullable=False, index=True))
    reason: str
    focus: str = ""
    from_position: int
    to_position: int
    messages: int = 0
    model: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    delta: str = Field(default="", sa_column=Column(Text, nullable=False))
    outcome: str
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))
    began_at: datetime = _time(nullable=False)
    ended_at: datetime | None = _time()


memory_items = core(MemoryItem)
memory_sources = core(MemorySource)
compactions = core(Compaction)
