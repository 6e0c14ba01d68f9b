"""The tables of people: what each chose for themselves, and what they are called in the lines of a session."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Column, ForeignKey, Integer
from sqlmodel import Field, SQLModel

from bot.store.tables import UtcDateTime, core


class Person(SQLModel, table=True):
    """What somebody chose for themselves, everywhere on a platform."""

    __tablename__: ClassVar[str] = "person"

    key: str = Field(primary_key=True)
    private_since: datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
    """Since when their messages are not kept; null = they are."""
    zone: str | None = None
    """IANA name of the time zone that they live in; null = that of the chat."""


class Naming(SQLModel, table=True):
    """What a person is called in the lines of a session: two people of one name must not become one there."""

    __tablename__: ClassVar[str] = "naming"

    session_id: int = Field(sa_column=Column(Integer, ForeignKey("chat_session.id"), primary_key=True))
    name: str = Field(primary_key=True)
    """In one case and one width, so that names which look alike count as one."""
    author_key: str


people = core(Person)
namings = core(Naming)
