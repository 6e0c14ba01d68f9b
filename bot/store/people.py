"""People: whether they want privacy, where they live, and what each is called in a session's lines. Knows them by their
keys alone.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.dialects import sqlite

from bot.store.database import Tx
from bot.store.ledger_tables import model_calls
from bot.store.people_tables import namings, people
from bot.store.tables import messages, overrides

_LINE_MARKS = str.maketrans({":": " ", "：": " ", "[": "(", "]": ")"})
"""What means something in a prompt's lines: who speaks, and a note of the chat's (X03)."""

# Statements of the hot path are made once: building one costs more than running it.
_PRIVATE_SINCE = select(people.c.private_since).where(people.c.key == bindparam("key"))
_PRIVATE = select(people.c.key).where(
    people.c.key.in_(bindparam("keys", expanding=True)), people.c.private_since.is_not(None)
)
_ZONE = select(people.c.zone).where(people.c.key == bindparam("key"))
_HOLDER = select(namings.c.author_key).where(
    namings.c.session_id == bindparam("session_id"), namings.c.name == bindparam("name")
)


def wants_privacy(tx: Tx, author_key: str) -> bool:
    """Whether what this person says is not to be kept."""
    return tx.execute(_PRIVATE_SINCE, {"key": author_key}).scalar() is not None


def set_privacy(tx: Tx, author_key: str, since: datetime | None) -> bool:
    """Let somebody have privacy from now on, or no longer (`None`); false when it was so already."""
    if wants_privacy(tx, author_key) == (since is not None):
        return False
    _choose(tx, author_key, {"private_since": since})
    return True


def _choose(tx: Tx, key: str, chosen: dict[str, Any]) -> None:
    put = sqlite.insert(people).values(key=key, **chosen)
    tx.execute(put.on_conflict_do_update(index_elements=["key"], set_=chosen))


def zone_of(tx: Tx, key: str) -> str | None:
    """The time zone that somebody lives in, by its IANA name; `None` where they have told none."""
    return tx.execute(_ZONE, {"key": key}).scalar()


def set_zone(tx: Tx, key: str, zone: str | None) -> None:
    """Let somebody live in a time zone, or in that of each chat (`None`)."""
    _choose(tx, key, {"zone": zone})


def private_among(tx: Tx, keys: Iterable[str]) -> frozenset[str]:
    """Who of these people wants privacy."""
    return frozenset(tx.execute(_PRIVATE, {"keys": tuple(keys)}).scalars())


def name_in_lines(tx: Tx, session_id: int, author_key: str, name: str) -> str:
    """What somebody is called in a session where several speak: their name, with a number behind it if somebody else
    had it there first. It stays theirs, so that lines written once never change.
    """
    name = _in_line(name)
    for number in itertools.count(1):
        called = name if number == 1 else f"{name} ({number})"
        place = {"session_id": session_id, "name": _alike(called)}
        holder = tx.execute(_HOLDER, place).scalar()
        if holder is None:
            tx.execute(insert(namings).values(**place, author_key=author_key))
        if holder in (None, author_key):
            return called
    raise AssertionError  # numbers do not end


def give_name(tx: Tx, session_id: int, name: str, *, of: str, to: str) -> None:
    """What one account was called is somebody else's name from now on, if nobody else had it first."""
    held = (namings.c.session_id == session_id, namings.c.name == _alike(_in_line(name)), namings.c.author_key == of)
    tx.execute(update(namings).where(*held).values(author_key=to))


def _in_line(name: str) -> str:
    return " ".join(name.translate(_LINE_MARKS).split()) or "?"


def _alike(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def move_identity(tx: Tx, old_key: str, new_key: str) -> None:
    """A chat that speaks for itself, as anonymous administrators let it, has another id from now on (T11, T23)."""
    since = tx.execute(_PRIVATE_SINCE, {"key": old_key}).scalar()
    if since is not None:
        set_privacy(tx, new_key, since)
    tx.execute(delete(people).where(people.c.key == old_key))
    for key in (namings.c.author_key, messages.c.author_key, model_calls.c.author_key, overrides.c.set_by):
        tx.execute(update(key.table).where(key == old_key).values({key.name: new_key}))
