"""Messages as they are heard: recorded once, edited and deleted in place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, bindparam, func, insert, select, update

from bot.chat import Inbound, InboundKind
from bot.store import conversations
from bot.store.cast_tables import callings
from bot.store.database import Tx
from bot.store.gists import forget_gists
from bot.store.images import forget_images, record_images
from bot.store.people import name_in_lines
from bot.store.privacy import forget_words
from bot.store.quotes import first_quote
from bot.store.sessions import SessionRow, touch_session
from bot.store.stale import mark_stale
from bot.store.tables import UNANSWERED, MessageKind, ReplyState, Standing, messages, sent_parts, sessions
from bot.store.window import LIVE

NOT_KEPT = 0
"""In place of the id of a message that was not recorded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewMessage:
    """What is recorded of an inbound besides what it carries itself."""

    kind: MessageKind
    text: str
    addressed: bool
    tokens: int
    is_private: bool = False
    """Whether its author wants privacy, so that it is forgotten once it is answered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """A message that was recorded before."""

    id: int
    addressed: bool
    files: str
    """What its text holds of files."""
    is_private: bool
    is_waiting: bool
    """Whether it is still to be answered."""


# Statements of the hot path are made once: building one costs more than running it.
_INSERT = insert(messages)
_TEXT = select(messages.c.text).where(messages.c.id == bindparam("message_id"))
_KNOWN = select(
    messages.c.id,
    messages.c.addressed,
    func.substr(messages.c.text, messages.c.words + 1).label("files"),
    messages.c.is_private,
    and_(messages.c.addressed, messages.c.answered_by.is_(None)).label("is_waiting"),
).where(
    messages.c.session_id == bindparam("session_id"),
    messages.c.platform_message_id == bindparam("platform_message_id"),
)

_ANSWER_OF = (
    select(messages.c.id)
    .join(sent_parts, sent_parts.c.message_id == messages.c.id)
    .where(
        messages.c.session_id == bindparam("session_id"),
        sent_parts.c.platform_message_id == bindparam("platform_message_id"),
        sent_parts.c.state != ReplyState.SENDING.value,  # what a growing reply takes back itself, it shows elsewhere
    )
)


def find(tx: Tx, session: SessionRow, platform_message_id: str) -> Known | None:
    """The message that the platform knows by that id, if it was ever heard of here."""
    row = tx.execute(_KNOWN, {"session_id": session.id, "platform_message_id": platform_message_id}).first()
    return Known(**row._mapping) if row else None


def record(tx: Tx, session: SessionRow, inbound: Inbound, new: NewMessage, now: datetime) -> int:
    """Insert a message that is heard for the first time, be it by an edit, at the position of its own id (R1). In
    privacy a command is kept without its words, and what is only overheard not at all: `NOT_KEPT`.
    """
    if new.is_private and new.kind is MessageKind.SAID and not new.addressed:
        return NOT_KEPT
    is_kept = new.addressed or not new.is_private
    message_id = conversations.next_position(tx)
    values = {
        **_common(session, inbound),
        "id": message_id,
        "position": message_id,
        "kind": new.kind.value,
        "text": new.text if is_kept else "",
        "words": len(inbound.text) if is_kept and inbound.text.strip() else 0,
        "addressed": new.addressed,
        "is_private": new.is_private,
        "tokens": new.tokens,
        "reply_to": inbound.reply_to.message_id if inbound.reply_to else None,
        "quote": first_quote(tx, session.id, inbound),
        "author_locale": inbound.author.locale,
        "author_is_bot": inbound.author.is_bot,
        "edited_at": inbound.sent_at if inbound.kind is InboundKind.EDIT else None,
    }
    if new.kind is MessageKind.SAID and not session.channel.is_dm:
        values["author_name"] = name_in_lines(tx, session.id, inbound.author.key, inbound.author.name)
    tx.execute(_INSERT, values)
    if is_kept:
        record_images(tx, session.id, message_id, inbound.attachments)
    if not inbound.author.is_bot:
        touch_session(tx, session.id, now)
    return message_id


def _common(session: SessionRow, inbound: Inbound) -> dict[str, object]:
    return {
        "session_id": session.id,
        "platform_message_id": inbound.message_id,
        "place_key": inbound.channel.place_key,
        "visibility": inbound.channel.visibility.value,
        "author_key": inbound.author.key,
        "author_name": inbound.author.name,
        "sent_at": inbound.sent_at,
        "standing": Standing.LIVE.value,
        "cut": False,
    }


def edit(
    tx: Tx, session: SessionRow, inbound: Inbound, known: Known, *, text: str, tokens: int, is_private: bool
) -> None:
    """Store the new text of a heard message (T12, D31), whose images stay while it has files at all. In privacy new
    words are kept only where the message still waits for its answer.
    """
    is_private = is_private or known.is_private
    if is_private and not known.is_waiting:
        forget_words(tx, known.id)
        _tell_memory(tx, session, known.id, inbound)
        return
    is_same = tx.execute(_TEXT, {"message_id": known.id}).scalar() == text
    words = len(inbound.text) if inbound.text.strip() else 0
    changed = {
        "text": text,
        "words": words,
        "tokens": tokens,
        "is_private": is_private,
        "edited_at": inbound.sent_at,
    }
    tx.execute(update(messages).where(messages.c.id == known.id).values(changed))
    if not inbound.attachments:
        forget_images(tx, known.id)
    if not is_same:  # platforms send edits for a link's preview, too
        _tell_memory(tx, session, known.id, inbound)


def delete(tx: Tx, session: SessionRow, inbound: Inbound, known: Known | None) -> None:
    """Take a message out of every later prompt (D31): a heard one, or the answer of ours that it is a part of. A delete
    of an unknown one is kept as a tombstone.
    """
    facts = {"session_id": session.id, "platform_message_id": inbound.message_id}
    gone = known.id if known else tx.execute(_ANSWER_OF, facts).scalar()
    if gone is None:
        record_blank(tx, session, inbound, deleted_at=inbound.sent_at)
        return
    its_tools = (messages.c.kind == MessageKind.TOOL.value, messages.c.answered_by == gone)
    for rows in ((messages.c.id == gone,), its_tools):
        tx.execute(update(messages).where(*rows).values(deleted_at=inbound.sent_at))
    forget_images(tx, gone)
    if known is not None and known.is_private:
        forget_words(tx, gone)
    _tell_memory(tx, session, gone, inbound)


def record_blank(
    tx: Tx, session: SessionRow, inbound: Inbound, *, deleted_at: datetime | None = None, is_private: bool = False
) -> int:
    """Know a message by its id and by nothing that it says, so that what comes later of it is known as well."""
    message_id = conversations.next_position(tx)
    values = {**_common(session, inbound), "id": message_id, "position": message_id, "kind": MessageKind.SAID.value}
    blank = {"text": "", "addressed": False, "tokens": 0, "quote": ""}
    tx.execute(insert(messages).values(**values, **blank, deleted_at=deleted_at, is_private=is_private))
    return message_id


def _tell_memory(tx: Tx, session: SessionRow, message_id: int, inbound: Inbound) -> None:
    by = f"{inbound.kind.value}:{message_id}"
    conversations.raise_generations(tx, session.id)
    mark_stale(tx, message_id, by, inbound.sent_at)
    forget_gists(tx, message_id, by, inbound.sent_at)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unanswered:
    """An addressed message that nobody has answered, or that one of a cast has not."""

    platform: str
    session_id: int
    message_id: int
    author_key: str
    author_locale: str | None
    author_is_bot: bool
    platform_message_id: str | None
    persona_id: str | None
    """Whose answer it waits for, where it calls a cast."""
    ordinal: int | None


def unanswered(tx: Tx, now: datetime, within: timedelta) -> list[Unanswered]:
    """Addressed messages without an answer that are young enough to be answered after a restart, oldest first."""
    called = (callings.c.message_id, callings.c.persona_id, callings.c.ordinal)
    still_called = select(*called).where(callings.c.answered_by.is_(None)).subquery()
    columns = (
        messages.c.session_id,
        messages.c.id.label("message_id"),
        messages.c.author_key,
        messages.c.author_locale,
        messages.c.author_is_bot,
        messages.c.platform_message_id,
        still_called.c.persona_id,
        still_called.c.ordinal,
    )
    rows = tx.execute(
        select(sessions.c.platform, *columns)
        .join(sessions, sessions.c.id == messages.c.session_id)
        .outerjoin(still_called, still_called.c.message_id == messages.c.id)
        .where(
            UNANSWERED,
            LIVE,
            messages.c.sent_at >= now - within,
        )
    )
    # Sorting in SQL would walk the whole table in its order.
    return [Unanswered(**row._mapping) for row in sorted(rows, key=lambda row: (row.message_id, row.ordinal or 0))]
