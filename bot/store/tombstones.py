"""Who was forgotten, and up to when: what they said before that must not come back by an event that is late, or told
twice. Keeps no key, only a hash of it: nobody reads a number there, but whoever has the file can try them all, since
what hashes are made with stands beside them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, func, select

from bot.store.database import Tx
from bot.store.ledger import recall, recall_all, remember
from bot.store.ledger_tables import move_spent
from bot.store.tables import MessageKind, messages, remembered

PEPPER, STONE, COUNT, SCRUBBED = "erasure-key", "erased ", "erasures", "scrubbed"
"""Names of what is remembered: what hashes are made with, each of them behind `STONE`, how many there were, and after
how many the files were last left without what was deleted.
"""
WANTED = "to erase "
"""Before the key of somebody whom another process wants erased by the bot that runs; gone with them."""

CLOCKS_DIFFER = timedelta(minutes=10)
"""What is older than that was said before, whether or not we had heard it; platforms have clocks of their own."""

# Statements of the hot path are made once: building one costs more than running it.
_RECALL = select(remembered.c.value).where(remembered.c.name == bindparam("name"))


def set_tombstone(tx: Tx, key: str, places: Iterable[str], now: datetime) -> None:
    """Somebody is about to be forgotten, with the places that are their private chats. The platform's clock counts,
    which their messages were sent by; buttons are pressed by our own.
    """
    said = (messages.c.author_key == key, messages.c.kind == MessageKind.SAID.value)
    newest = tx.execute(select(func.max(messages.c.sent_at)).where(*said)).scalar()
    until = max(newest or now - CLOCKS_DIFFER, now - CLOCKS_DIFFER)
    pepper = recall(tx, PEPPER) or secrets.token_hex(16)
    remember(tx, PEPPER, pepper)
    stone = STONE + _hash(key, pepper)
    remember(tx, stone, until.isoformat())
    for scope, spender in (("person", key), *(("place", place) for place in places)):
        move_spent(tx, scope, spender, STONE + _hash(spender, pepper))  # nobody gets a limit anew by being forgotten
    remember(tx, COUNT, str(erasures(tx) + 1))
    tx.execute(delete(remembered).where(remembered.c.name == WANTED + key))


def want_erased(tx: Tx, key: str) -> None:
    """Let the bot that runs forget somebody: it ends what is being answered, and has them in mind."""
    remember(tx, WANTED + key, "")


def wanted_erasures(tx: Tx) -> list[str]:
    """Whom it is to forget."""
    return [*recall_all(tx, WANTED)]


def erased_until(tx: Tx, key: str) -> datetime | None:
    """Up to when what somebody said is forgotten; `None` for those who never asked for that."""
    pepper = tx.execute(_RECALL, {"name": PEPPER}).scalar()
    if pepper is None:
        return None
    until = tx.execute(_RECALL, {"name": STONE + _hash(key, pepper)}).scalar()
    return datetime.fromisoformat(until) if until else None


def welcome_back(tx: Tx, key: str, place_key: str) -> None:
    """Somebody who was forgotten speaks again: what they, and their private chat, had spent of a limit counts on."""
    pepper = recall(tx, PEPPER) or ""
    for scope, spender in (("person", key), ("place", place_key)):
        move_spent(tx, scope, STONE + _hash(spender, pepper), spender)


def erasures(tx: Tx) -> int:
    """How many there were, by whichever process."""
    return int(tx.execute(_RECALL, {"name": COUNT}).scalar() or 0)


def is_scrubbed(tx: Tx) -> bool:
    """Whether nothing is left in the files since the last erasure; not so where a process ended in between."""
    return int(tx.execute(_RECALL, {"name": SCRUBBED}).scalar() or 0) == erasures(tx)


def note_scrubbed(tx: Tx, count: int) -> None:
    """The files are without what so many erasures have deleted."""
    remember(tx, SCRUBBED, str(count))


def _hash(key: str, pepper: str) -> str:
    return hmac.digest(pepper.encode(), key.encode(), hashlib.sha256).hex()
