"""Messages that are posted again in another face, as proxy bots do for people (D08): each stays the one row it was.

That a message was posted again is certain only once the first one is deleted, which may be told before or after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, func, select, update

from bot.chat import Inbound
from bot.store import conversations
from bot.store.database import Tx
from bot.store.images import forget_images, move_images, record_images
from bot.store.messages import NewMessage
from bot.store.people import give_name, name_in_lines
from bot.store.sessions import SessionRow
from bot.store.tables import ADDRESSED, messages

REPOST_WITHIN = timedelta(seconds=10)
"""How soon a message is posted again; proxy bots take about half a second."""
MARK_CHARS = 32
"""How much a message may lose meanwhile: the mark by which its author tells the proxy bot whose face it wants."""
LEAST_CHARS = 4
"""How much must be left beside a mark: shorter words are said again by chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Original:
    """The message that was posted first."""

    id: int | None
    """`None` = there is no row of it."""
    author_key: str
    is_private: bool
    is_deleted: bool
    is_answered: bool

    @property
    def goes_on(self) -> bool:
        """Whether its row is to be the message that was posted again; of a forgotten one nothing is kept anew."""
        return self.is_deleted and not (self.is_private and self.is_answered) and self.id is not None

    @property
    def is_waiting(self) -> bool:
        """Whether its turn was taken back when it was deleted, so that it waits for an answer again."""
        return self.goes_on and not self.is_answered


@dataclass(frozen=True, kw_only=True, slots=True)
class Repost:
    """A message that may be one posted again, as long as the first one still stands."""

    id: int
    original: Original
    name: str
    """What its author is called, and whose face it has, below."""
    face_key: str
    sent_at: datetime


def spans(said: str) -> Iterator[tuple[int, int]]:
    """Where in a text the words can be that a proxy bot leaves of it: all of it, or the larger part without a mark."""
    yield 0, len(said)
    for lost in range(1, min(MARK_CHARS, len(said) - LEAST_CHARS, (len(said) - 1) // 2) + 1):
        for start in range(lost + 1):
            yield start, len(said) - lost + start


def repeats(posted: str, said: str) -> bool:
    """Whether the one text can be the other one without its mark."""
    return bool(posted.strip()) and any(posted == said[start:end] for start, end in spans(said))


_COLUMNS = (
    messages.c.id,
    messages.c.author_key,
    messages.c.is_private,
    messages.c.deleted_at.is_not(None).label("is_deleted"),
    messages.c.answered_by.is_not(None).label("is_answered"),
)


def find_original(tx: Tx, session: SessionRow, inbound: Inbound) -> Original | None:
    """The addressed message of a moment ago that an inbound repeats word for word, but for its mark: the newest that
    was deleted, or else the newest.
    """
    since = inbound.sent_at - REPOST_WITHIN
    recent = (messages.c.sent_at >= since, messages.c.author_key != inbound.author.key)
    said = func.substr(messages.c.text, 1, messages.c.words).label("said")
    rows = [row for row in _addressed(tx, session, *recent, more=(said,)) if repeats(inbound.text, row.said)]
    return max((_original(row) for row in rows), key=lambda it: (it.is_deleted, it.id or 0), default=None)


def original_by_id(tx: Tx, session: SessionRow, platform_message_id: str) -> Original | None:
    """The addressed message that the platform knows, or knew, by that id."""
    rows = _addressed(tx, session, messages.c.platform_message_id == platform_message_id)
    return next((_original(row) for row in rows), None)


def _addressed(tx: Tx, session: SessionRow, *where: ColumnElement[bool], more: tuple[Any, ...] = ()) -> Any:
    mine = messages.c.session_id == session.id
    return tx.execute(select(*_COLUMNS, *more).where(ADDRESSED, mine, *where).order_by(messages.c.id.desc())).all()


def _original(row: Any) -> Original:
    return Original(
        id=row.id,
        author_key=row.author_key,
        is_private=row.is_private,
        is_deleted=row.is_deleted,
        is_answered=row.is_answered,
    )


def take_over(tx: Tx, session: SessionRow, original: Original, inbound: Inbound, new: NewMessage) -> int:
    """Let a row be the message as it stands there now. Its author stays who wrote it, under the new name."""
    assert original.id is not None
    changed = {
        "platform_message_id": inbound.message_id,
        "author_name": name_in_lines(tx, session.id, original.author_key, inbound.author.name),
        "text": new.text,
        "words": len(inbound.text),
        "tokens": new.tokens,
        "deleted_at": None,
    }
    tx.execute(update(messages).where(messages.c.id == original.id).values(changed))
    forget_images(tx, original.id)
    record_images(tx, session.id, original.id, inbound.attachments)
    conversations.raise_generations(tx, session.id)
    return original.id


def merge(tx: Tx, session: SessionRow, repost: Repost) -> bool:
    """The first message is deleted after the second was recorded: let the first one's row be both. In privacy it keeps
    its own words, since the second has none. False when the second is gone as well.
    """
    row = tx.execute(select(messages).where(messages.c.id == repost.id)).one()
    if row.deleted_at is not None:
        return False
    nothing = {"platform_message_id": None, "text": "", "words": 0, "tokens": 0, "quote": ""}
    tx.execute(update(messages).where(messages.c.id == row.id).values(**nothing, deleted_at=row.sent_at))
    original, changed = repost.original, {"platform_message_id": row.platform_message_id}
    assert original.id is not None
    if not original.is_private:
        give_name(tx, session.id, repost.name, of=repost.face_key, to=original.author_key)
        changed["author_name"] = name_in_lines(tx, session.id, original.author_key, repost.name)
        changed |= {"text": row.text, "words": row.words, "tokens": row.tokens, "edited_at": row.edited_at}
        forget_images(tx, original.id)
        move_images(tx, row.id, original.id)
    tx.execute(update(messages).where(messages.c.id == original.id).values(changed))
    conversations.raise_generations(tx, session.id)
    return True
