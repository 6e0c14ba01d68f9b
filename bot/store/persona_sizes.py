"""How much the cards of a place, or of a person, take: their files, and what they say."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, select

from bot.store.database import Tx
from bot.store.persona_tables import persona_files, persona_versions, personas
from bot.store.personas import CURRENT_VERSION


def count_files(tx: Tx, place_key: str) -> tuple[int, int]:
    """How many cards a place has files of, and their bytes: its drafts and the lately removed ones count as well."""
    return _count_files(tx, personas.c.place_key == place_key)


def count_files_of(tx: Tx, key: str) -> tuple[int, int]:
    """The same of those that a person has brought, wherever that was."""
    return _count_files(tx, personas.c.created_by == key)


def text_size(tx: Tx, place_key: str) -> int:
    """Characters of what the cards of a place say now, drafts among them and removed ones not."""
    return _text_size(tx, personas.c.place_key == place_key)


def text_size_of(tx: Tx, key: str) -> int:
    """The same of those that a person has brought, wherever that was."""
    return _text_size(tx, personas.c.created_by == key)


def _text_size(tx: Tx, which: ColumnElement[bool]) -> int:
    kept = select(func.coalesce(func.sum(func.length(persona_versions.c.card)), 0))
    said = kept.join_from(personas, persona_versions, CURRENT_VERSION).where(which, personas.c.retired_at.is_(None))
    return int(tx.execute(said).scalar_one())


def _count_files(tx: Tx, which: ColumnElement[bool]) -> tuple[int, int]:
    size = func.length(persona_files.c.data) + func.coalesce(func.length(persona_files.c.picture), 0)
    kept = select(func.count(), func.coalesce(func.sum(size), 0)).join_from(
        personas, persona_files, persona_files.c.persona_id == personas.c.id
    )
    count, size_bytes = tx.execute(kept.where(which)).one()
    return count, size_bytes
