"""The tables of imported persona cards. Files and pictures have a table of their own, which no hot query touches."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Column, ForeignKey, LargeBinary, String, Text
from sqlmodel import Field, SQLModel

from bot.store.tables import UtcDateTime, core


def _persona_id() -> Any:
    return Field(sa_column=Column(String, ForeignKey("persona.id"), primary_key=True))


class PersonaRow(SQLModel, table=True):
    """A card that was imported. Its id is never given again, and the row stays when the card is removed."""

    __tablename__: ClassVar[str] = "persona"

    id: str = Field(primary_key=True)
    place_key: str | None = Field(default=None, index=True)
    """Where it can be seen; null = everywhere."""
    name: str
    """What people call it, also when it is gone."""
    version: int = 1
    """Number of the version that counts."""
    accepted: str | None = Field(default=None, sa_column=Column(Text))
    """JSON: what of its proposals takes effect."""
    accepted_by: str | None = None
    created_by: str
    created_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    confirmed_at: datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
    """Null while whoever brought it has not said yes to what was shown of it."""
    retired_at: datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
    retired_by: str | None = None


class PersonaVersion(SQLModel, table=True):
    """What a card said from some time on. `card` is the whole of it as JSON, in our words."""

    __tablename__: ClassVar[str] = "persona_version"

    persona_id: str = _persona_id()
    number: int = Field(primary_key=True)
    card: str = Field(sa_column=Column(Text, nullable=False))
    change: str
    """What made it: "import", the name of the field that was edited, or "revert 2"."""
    changed_by: str
    changed_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class PersonaFile(SQLModel, table=True):
    """The file that a card came in, as it was."""

    __tablename__: ClassVar[str] = "persona_file"

    persona_id: str = _persona_id()
    container: str
    sha256: str = Field(index=True)
    data: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    picture: bytes | None = Field(default=None, sa_column=Column(LargeBinary))
    """Empty where the file is the picture."""


personas = core(PersonaRow)
persona_versions = core(PersonaVersion)
persona_files = core(PersonaFile)
