"""What becomes of a memory whose sources are edited or gone: its items are looked at again, or go as well."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import and_, bindparam, exists, or_, select, update

from bot.store.database import Tx
from bot.store.memories import GIST, retire
from bot.store.memory_tables import LIVE_ITEM, memory_items, memory_sources
from bot.store.tables import Standing, messages

_STILL_SAID = (
    messages.c.deleted_at.is_(None),
    messages.c.standing == Standing.LIVE.value,
    or_(messages.c.text != "", messages.c.tool_calls.is_not(None)),  # what was said in privacy has no words left
)
_CITED = select(memory_sources.c.item_id).where(memory_sources.c.item_id == memory_items.c.id)
_UNSAID = and_(
    exists(_CITED),
    ~exists(_CITED.join(messages, messages.c.id == memory_sources.c.message_id).where(*_STILL_SAID)),
)
"""Of an item: it has sources, and nothing of them is said any more."""
_STALE = (
    select(memory_items.c.id, memory_sources.c.message_id)
    .join(memory_sources, memory_items.c.id == memory_sources.c.item_id)
    .join(messages, messages.c.id == memory_sources.c.message_id)
    .where(
        memory_items.c.conversation_id == bindparam("conversation_id"), memory_items.c.stale, LIVE_ITEM, *_STILL_SAID
    )
    .order_by(memory_items.c.id, memory_sources.c.message_id)
)


def mark_stale(tx: Tx, message_id: int, by: str, now: datetime) -> None:
    """A source was edited or is gone: its items are looked at again by the next compaction, retired ones as soon as
    they are taken back. One whose every source is gone goes at once (D31).
    """
    items = [*tx.execute(select(memory_sources.c.item_id).where(memory_sources.c.message_id == message_id)).scalars()]
    if items:
        tx.execute(update(memory_items).where(memory_items.c.id.in_(items)).values(stale=True))
        retire(tx, (memory_items.c.id.in_(items), _UNSAID), by, now)


def drop_unsaid(tx: Tx, conversation_id: int, now: datetime) -> None:
    """Items came back: those go again of which meanwhile every source is gone, and gists that may tell of such."""
    is_gone = or_(and_(memory_items.c.kind == GIST, memory_items.c.stale), _UNSAID)
    retire(tx, (memory_items.c.conversation_id == conversation_id, is_gone), "unsaid", now)


def mark_checked(tx: Tx, items: Sequence[int]) -> None:
    """Stale items were looked at again: what is left of them holds."""
    if items:
        tx.execute(update(memory_items).where(memory_items.c.id.in_(items), LIVE_ITEM).values(stale=False))


def stale_sources(tx: Tx, conversation_id: int) -> dict[int, tuple[int, ...]]:
    """The stale items, oldest first, each with the messages that it goes back to and that still are said."""
    sources: dict[int, tuple[int, ...]] = {}
    for item_id, message_id in tx.execute(_STALE, {"conversation_id": conversation_id}):
        sources[item_id] = (*sources.get(item_id, ()), message_id)
    return sources
