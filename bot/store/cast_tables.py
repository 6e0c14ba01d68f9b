"""The table of who of a cast a message calls. A message without a row in it calls whoever has the session."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import Column, ForeignKey, Index, Integer
from sqlmodel import Field, SQLModel

from bot.store.tables import ANSWERED, core


class Calling(SQLModel, table=True):
    """One persona that a message calls. The message itself counts as answered once all have answered."""

    __tablename__: ClassVar[str] = "calling"
    __table_args__ = (Index("ix_calling_answered_by", "answered_by", sqlite_where=ANSWERED),)

    message_id: int = Field(sa_column=Column(Integer, ForeignKey("message.id"), primary_key=True))
    persona_id: str = Field(primary_key=True)
    ordinal: int
    """Its place in the order in which they answer."""
    answered_by: int | None = None


callings = core(Calling)
