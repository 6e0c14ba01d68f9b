"""Messages that are posted again in another face, as proxy bots do for people (D08): each stays the one row it was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select, update

from bot.chat import Inbound
from bot.store import conversations
from bot.store.database import Tx
from bot.store.images import forget_images, record_images
from bot.store.messages import NewMessage
from bot.store.people import name_in_lines
from bot.store.sessions import SessionRow
from bot.store.tables import ADDRESSED, messages

REPOST_WITHIN = timedelta(seconds=10)
"""How soon a message is posted again; proxy bots take about half a second."""
MARK_CHARS = 32
"""How much a message may lose meanwhile: the mark by which its author tells the proxy bot whose face it wants."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Original:
    """The message that was posted first."""

    id: int
    author_key: str
    is_waiting: bool
    """Whether its turn was taken back when it was deleted, so that it waits for an answer again."""


def find_original(tx: Tx, session: SessionRow, inbound: Inbound) -> Original | None:
    """The addressed message of a moment ago that an inbound repeats word for word, but for its mark."""
    if not inbound.text.strip():
        return None
    columns = (messages.c.id, messages.c.author_key, messages.c.deleted_at, messages.c.answered_by)
    rows = tx.execute(
        select(*columns, func.substr(messages.c.text, 1, messages.c.words).label("said"))
        .where(
            ADDRESSED,
            messages.c.session_id == session.id,
            messages.c.sent_at >= inbound.sent_at - REPOST_WITHIN,
            messages.c.author_key != inbound.author.key,
        )
        .order_by(messages.c.id.desc())
    )
    for row in rows:
        if inbound.text in row.said and len(row.said) - len(inbound.text) <= MARK_CHARS:
            is_waiting = row.deleted_at is not None and row.answered_by is None
            return Original(id=row.id, author_key=row.author_key, is_waiting=is_waiting)
    return None


def take_over(tx: Tx, session: SessionRow, original: Original, inbound: Inbound, new: NewMessage) -> int:
    """Let a row be the message as it stands there now. Its author stays who wrote it, under the new name."""
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
    if session.conversation_id is not None:
        conversations.raise_generation(tx, session.conversation_id)
    return original.id
