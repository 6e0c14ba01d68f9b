"""The lorebooks of places and people, entry by entry.

Knows no engine: entries are mappings as a file of ours has them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from bot.store.database import Tx
from bot.store.lore_tables import lore_entries, lorebooks


class BookKind(StrEnum):
    """Whose a book is."""

    PLACE = "place"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class BookKey:
    """Which book: of which place, or of which person."""

    kind: BookKind
    owner: str
    """Key of the place or the person."""


@dataclass(frozen=True, slots=True)
class BookVersion:
    """A book as it stands: two of the same version hold the same."""

    key: BookKey
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBook:
    """A book as it is kept: what holds for all of its entries, and these by their numbers."""

    version: int
    settings: Mapping[str, Any]
    entries: Sequence[Mapping[str, Any]]


_BOOKS = select(lorebooks.c.kind, lorebooks.c.owner_key, lorebooks.c.version).where(
    or_(
        and_(lorebooks.c.kind == BookKind.PLACE.value, lorebooks.c.owner_key == bindparam("place")),
        and_(lorebooks.c.kind == BookKind.PERSON.value, lorebooks.c.owner_key == bindparam("person")),
    )
)


def find_books(tx: Tx, place_key: str, person_key: str) -> tuple[BookVersion, ...]:
    """The books that are there for a place and for a person, in this order."""
    rows = tx.execute(_BOOKS, {"place": place_key, "person": person_key})
    found = {row.kind: BookVersion(BookKey(BookKind(row.kind), row.owner_key), row.version) for row in rows}
    return tuple(found[kind] for kind in BookKind if kind in found)


def read_book(tx: Tx, key: BookKey) -> StoredBook | None:
    """A whole book; `None` where nobody has written one."""
    book = tx.execute(select(lorebooks).where(_is(key))).first()
    if book is None:
        return None
    found = select(lore_entries.c.data).where(lore_entries.c.book_id == book.id).order_by(lore_entries.c.number)
    entries = [json.loads(data) for data in tx.execute(found).scalars()]
    return StoredBook(version=book.version, settings=json.loads(book.settings), entries=entries)


def size_of(tx: Tx, key: BookKey) -> tuple[int, int]:
    """How many entries a book has, and their characters as they are kept."""
    joined = lore_entries.join(lorebooks, lorebooks.c.id == lore_entries.c.book_id)
    found = select(func.count(), func.coalesce(func.sum(func.length(lore_entries.c.data)), 0)).select_from(joined)
    count, chars = tx.execute(found.where(_is(key))).one()
    return count, int(chars)


def read_entry(tx: Tx, key: BookKey, number: int) -> Mapping[str, Any] | None:
    """One entry of a book."""
    found = select(lore_entries.c.data).join(lorebooks, lorebooks.c.id == lore_entries.c.book_id)
    data = tx.execute(found.where(_is(key), lore_entries.c.number == number)).scalar()
    return json.loads(data) if data is not None else None


def add_entries(tx: Tx, key: BookKey, entries: Collection[Mapping[str, Any]]) -> int:
    """Write entries behind those of a book, and the book where there is none; returns the number of the first."""
    book_id = _changed(tx, key)
    newest = select(func.coalesce(func.max(lore_entries.c.number), 0)).where(lore_entries.c.book_id == book_id)
    first = int(tx.execute(newest).scalar_one()) + 1
    rows = [
        {"book_id": book_id, "number": number, "data": _written({**entry, "id": number})}
        for number, entry in enumerate(entries, first)
    ]
    if rows:
        tx.execute(lore_entries.insert(), rows)
    return first


def change_entry(tx: Tx, key: BookKey, number: int, entry: Mapping[str, Any]) -> None:
    """Let an entry that is there say something else."""
    book_id = _changed(tx, key)
    which = (lore_entries.c.book_id == book_id, lore_entries.c.number == number)
    tx.execute(update(lore_entries).where(*which).values(data=_written({**entry, "id": number})))


def remove_entry(tx: Tx, key: BookKey, number: int) -> None:
    """Take an entry out of a book."""
    book_id = _changed(tx, key)
    tx.execute(delete(lore_entries).where(lore_entries.c.book_id == book_id, lore_entries.c.number == number))


def clear_book(tx: Tx, key: BookKey) -> None:
    """Take all entries out of a book."""
    tx.execute(delete(lore_entries).where(lore_entries.c.book_id == _changed(tx, key)))


def set_settings(tx: Tx, key: BookKey, settings: Mapping[str, Any]) -> None:
    """Let a book say this of all its entries."""
    tx.execute(update(lorebooks).where(lorebooks.c.id == _changed(tx, key)).values(settings=_written(settings)))


def move_books(tx: Tx, old_key: str, new_key: str) -> None:
    """Whatever place or person was known by one key has another from now on (T09, T11); a book that is there under the
    new one stays.
    """
    for kind in BookKind:
        if tx.execute(select(lorebooks.c.id).where(_is(BookKey(kind, new_key)))).first() is None:
            moved = update(lorebooks).where(_is(BookKey(kind, old_key)))
            tx.execute(moved.values(owner_key=new_key, version=lorebooks.c.version + 1))


def _is(key: BookKey) -> Any:
    return and_(lorebooks.c.kind == key.kind.value, lorebooks.c.owner_key == key.owner)


def _changed(tx: Tx, key: BookKey) -> int:
    """The id of a book that is about to change, or to begin."""
    row = {"kind": key.kind.value, "owner_key": key.owner, "settings": "{}", "version": 1}
    put = insert(lorebooks).values(row)
    raised = put.on_conflict_do_update(
        index_elements=["kind", "owner_key"], set_={"version": lorebooks.c.version + 1}
    ).returning(lorebooks.c.id)
    return int(tx.execute(raised).scalar_one())


def _written(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
