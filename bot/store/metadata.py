"""What extensions keep for a session: JSON values by namespace and name. What they mean only the extension knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Column, ForeignKey, Index, Integer, Text, delete, func, select, text, update
from sqlalchemy.dialects.sqlite import insert
from sqlmodel import Field, SQLModel

from bot.store.database import Tx
from bot.store.tables import UtcDateTime, core

ABOUT_SOMEBODY = text("about IS NOT NULL")


class ExtensionMetadata(SQLModel, table=True):
    """One value that an extension keeps."""

    __tablename__: ClassVar[str] = "extension_metadata"
    __table_args__ = (Index("ix_extension_metadata_about", "about", sqlite_where=ABOUT_SOMEBODY),)

    session_id: int = Field(sa_column=Column(Integer, ForeignKey("chat_session.id"), primary_key=True))
    namespace: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    about: str | None = None
    """The key of the person it tells something of; it goes when all that is known of them goes."""
    value: str = Field(sa_column=Column(Text, nullable=False))
    set_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


extension_metadata = core(ExtensionMetadata)
_here = extension_metadata.c


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """One value with whose it is."""

    namespace: str
    name: str
    value: Any
    about: str | None


def read_values(tx: Tx, session_id: int, namespace: str) -> dict[str, Any]:
    """All that one extension keeps for a session, by name."""
    found = select(_here.name, _here.value).where(_here.session_id == session_id, _here.namespace == namespace)
    return {row.name: json.loads(row.value) for row in tx.execute(found.order_by(_here.name))}


def put_value(
    tx: Tx, session_id: int, namespace: str, name: str, value: str, *, about: str | None, now: datetime
) -> None:
    """Keep a value, in place of one of that name; `value` is JSON."""
    row = {"value": value, "about": about, "set_at": now}
    keys = {"session_id": session_id, "namespace": namespace, "name": name}
    put = insert(extension_metadata).values(**keys, **row)
    tx.execute(put.on_conflict_do_update(index_elements=list(keys), set_=row))


def drop_value(tx: Tx, session_id: int, namespace: str, name: str) -> bool:
    """Forget a value; whether it was there."""
    mine = (_here.session_id == session_id, _here.namespace == namespace, _here.name == name)
    return tx.execute(delete(extension_metadata).where(*mine)).rowcount > 0


def read_kept(tx: Tx, session_id: int) -> list[Kept]:
    """All that extensions keep for a session, for an export."""
    found = select(extension_metadata).where(_here.session_id == session_id).order_by(_here.namespace, _here.name)
    return [
        Kept(namespace=row.namespace, name=row.name, value=json.loads(row.value), about=row.about)
        for row in tx.execute(found)
    ]


def count_kept(tx: Tx, session_id: int) -> int:
    """How many values extensions keep for a session."""
    return int(tx.execute(select(func.count()).where(_here.session_id == session_id)).scalar_one())


def erase_kept(tx: Tx, session_id: int) -> int:
    """Remove all that extensions keep for a session, for good; how many values there were."""
    return tx.execute(delete(extension_metadata).where(_here.session_id == session_id)).rowcount


def move_kept(tx: Tx, old_session_id: int, new_session_id: int) -> None:
    """One session is merged into another (T23): what both have of one name stays as the other has it."""
    theirs = extension_metadata.alias()
    taken = select(theirs.c.name).where(theirs.c.session_id == new_session_id, theirs.c.namespace == _here.namespace)
    tx.execute(delete(extension_metadata).where(_here.session_id == old_session_id, _here.name.in_(taken)))
    moved = update(extension_metadata).where(_here.session_id == old_session_id)
    tx.execute(moved.values(session_id=new_session_id))


def move_about(tx: Tx, old_key: str, new_key: str) -> None:
    """Whoever was known by one key has another from now on (T11, T23)."""
    tx.execute(update(extension_metadata).where(_here.about == old_key).values(about=new_key))
