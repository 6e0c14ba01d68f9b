"""The tables of lorebooks that people keep, of what conversations remember of theirs, and of chosen greetings."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import Column, ForeignKey, Integer, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from bot.store.tables import core


class LorebookRow(SQLModel, table=True):
    """The book of a place or of a person. `settings` is the book without its entries, as JSON of a file of ours."""

    __tablename__: ClassVar[str] = "lorebook"
    __table_args__ = (UniqueConstraint("kind", "owner_key"),)

    id: int | None = Field(default=None, primary_key=True)
    kind: str
    owner_key: str
    """Key of the place or the person."""
    settings: str = Field(sa_column=Column(Text, nullable=False))
    version: int
    """Rises with every change."""


class LoreEntryRow(SQLModel, table=True):
    """One entry, as JSON of a file of ours. Its number is its id in the book, and what people call it by."""

    __tablename__: ClassVar[str] = "lore_entry"

    book_id: int = Field(sa_column=Column(Integer, ForeignKey("lorebook.id"), primary_key=True))
    number: int = Field(sa_column=Column(Integer, primary_key=True))
    data: str = Field(sa_column=Column(Text, nullable=False))


class LoreMemory(SQLModel, table=True):
    """When which entries joined in, as JSON: for those that stay, stay away, or come once."""

    __tablename__: ClassVar[str] = "lore_state"

    conversation_id: int = Field(sa_column=Column(Integer, ForeignKey("conversation.id"), primary_key=True))
    state: str = Field(sa_column=Column(Text, nullable=False))


class ChosenGreeting(SQLModel, table=True):
    """Which greeting of its card a conversation begins with, where somebody chose one."""

    __tablename__: ClassVar[str] = "chosen_greeting"

    conversation_id: int = Field(sa_column=Column(Integer, ForeignKey("conversation.id"), primary_key=True))
    number: int


lorebooks = core(LorebookRow)
lore_entries = core(LoreEntryRow)
lore_states = core(LoreMemory)
chosen_greetings = core(ChosenGreeting)
