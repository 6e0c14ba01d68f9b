"""What a conversation has said and heard since it began, in pages, and what its memory goes back to. Reads only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, bindparam, func, not_, select

from bot.memory.items import Item
from bot.store.compactions import Outcome, Reason
from bot.store.database import Tx
from bot.store.memories import read_memory
from bot.store.memory_tables import LIVE_ITEM, compactions, memory_items, memory_sources
from bot.store.tables import MessageKind, messages, sent_parts
from bot.store.window import LIVE, SAID_OR_HEARD, SHOWN

_SAID = messages.c.kind.in_((MessageKind.SAID.value, MessageKind.REPLY.value))
IN_HISTORY = and_(
    messages.c.session_id == bindparam("session_id"),
    _SAID,
    messages.c.text != "",
    LIVE,
    SHOWN,
    not_(messages.c.is_private),
    SAID_OR_HEARD,
)
"""What people can read again of the conversation and the session that the parameters mean."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryRow:
    """One message as people read it again."""

    position: int
    author_name: str
    text: str
    sent_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """Where messages became notes: how many, why and when."""

    messages: int
    reason: Reason
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryPage:
    """Messages in order, and the compactions that ended after one of them, each with how many of the page it covers."""

    rows: tuple[HistoryRow, ...]
    folded: tuple[tuple[int, Folded], ...]


def count_history(tx: Tx, session_id: int, conversation_id: int) -> int:
    """How many messages `read_history` can show."""
    facts = {"session_id": session_id, "conversation_id": conversation_id}
    return int(tx.execute(select(func.count()).select_from(messages).where(IN_HISTORY), facts).scalar_one())


def read_history(tx: Tx, session_id: int, conversation_id: int, *, newer: int, limit: int) -> HistoryPage:
    """The messages before the `newer` newest ones, whether they stand before or after the watermark."""
    has_next = newer > 0
    found = (
        select(messages.c.position, messages.c.author_name, messages.c.text, messages.c.sent_at)
        .where(IN_HISTORY)
        .order_by(messages.c.position.desc(), messages.c.id.desc())
        .offset(newer - has_next)
        .limit(limit + has_next)
    )
    facts = {"session_id": session_id, "conversation_id": conversation_id}
    rows = [HistoryRow(**row._mapping) for row in tx.execute(found, facts)][::-1]
    next_position = rows[-1].position if has_next and rows else None
    if has_next:
        rows = rows[:-1]
    if not rows:
        return HistoryPage(rows=(), folded=())
    folded = _folded_between(tx, conversation_id, rows[0].position, next_position)
    places = [sum(row.position <= to_position for row in rows) for to_position, _ in folded]
    return HistoryPage(rows=tuple(rows), folded=tuple(zip(places, (each for _, each in folded), strict=True)))


def _folded_between(tx: Tx, conversation_id: int, first: int, next_position: int | None) -> list[tuple[int, Folded]]:
    """The compactions that ended within some positions, each with the last one it covers."""
    found = select(
        compactions.c.to_position, compactions.c.messages, compactions.c.reason, compactions.c.began_at.label("at")
    ).where(
        compactions.c.conversation_id == conversation_id,
        compactions.c.outcome.in_((Outcome.DONE.value, Outcome.SEALED.value)),
        compactions.c.messages > 0,
        compactions.c.to_position >= first,
    )
    if next_position is not None:
        found = found.where(compactions.c.to_position < next_position)
    rows = tx.execute(found.order_by(compactions.c.id))
    return [(row.to_position, Folded(messages=row.messages, reason=Reason(row.reason), at=row.at)) for row in rows]


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A message that an item goes back to, by the platform's id where it is known."""

    platform_message_id: str | None
    sent_at: datetime


def read_sources(tx: Tx, item_ids: Sequence[int]) -> Mapping[int, list[Source]]:
    """What items go back to, the oldest first, without what was deleted since."""
    own = (
        select(func.min(sent_parts.c.platform_message_id))
        .where(sent_parts.c.message_id == messages.c.id, sent_parts.c.ordinal == 0)
        .scalar_subquery()
    )
    known = func.coalesce(messages.c.platform_message_id, own).label("platform_message_id")
    rows = tx.execute(
        select(memory_sources.c.item_id, known, messages.c.sent_at)
        .join(messages, messages.c.id == memory_sources.c.message_id)
        .where(memory_sources.c.item_id.in_(item_ids), messages.c.deleted_at.is_(None))
        .order_by(messages.c.position, messages.c.id)
    )
    found: dict[int, list[Source]] = {}
    for row in rows:
        found.setdefault(row.item_id, []).append(
            Source(platform_message_id=row.platform_message_id, sent_at=row.sent_at)
        )
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A live item, and who made it: the key of a person, or a compaction."""

    item: Item
    made_by: str


def find_item(tx: Tx, conversation_id: int, item_id: int) -> Kept | None:
    """A live item of a conversation."""
    item = read_memory(tx, conversation_id).by_id().get(item_id)
    if item is None:
        return None
    made_by = tx.execute(select(memory_items.c.made_by).where(memory_items.c.id == item_id)).scalar_one()
    return Kept(item=item, made_by=made_by)


def count_by(tx: Tx, conversation_id: int, author_key: str) -> int:
    """How many live items somebody wrote down by hand."""
    mine = (memory_items.c.conversation_id == conversation_id, memory_items.c.made_by == author_key, LIVE_ITEM)
    return int(tx.execute(select(func.count()).select_from(memory_items).where(*mine)).scalar_one())


def read_people(tx: Tx, session_id: int, conversation_id: int) -> dict[str, str]:
    """Everybody who is remembered or has spoken in a session, by key, with the newest name."""
    said = (
        messages.c.session_id == session_id,
        messages.c.kind == MessageKind.SAID.value,
        messages.c.author_key.is_not(None),
        messages.c.author_name != "",
    )
    newest = select(func.max(messages.c.id)).where(*said).group_by(messages.c.author_key)
    rows = tx.execute(select(messages.c.author_key, messages.c.author_name).where(messages.c.id.in_(newest)))
    spoke = {row.author_key: row.author_name for row in rows}
    return {**remembered_people(tx, conversation_id), **spoke}


def remembered_people(tx: Tx, conversation_id: int) -> dict[str, str]:
    """Whom the live items of a conversation are about, by key."""
    items = read_memory(tx, conversation_id).items
    return {item.new.subject: item.new.subject_name for item in items if item.new.subject}
