"""Takes things out of a conversation's memory by somebody's word, and takes that back where it can be."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import and_, bindparam, delete, func, or_, select, update

from bot.store.compactions import Outcome, undo_compaction
from bot.store.conversations import raise_generation
from bot.store.database import Tx
from bot.store.lore_tables import lore_states
from bot.store.memories import retire_item, retire_kinds
from bot.store.memory_tables import compactions, memory_items, memory_sources
from bot.store.moods import moods
from bot.store.rounds import running_rounds
from bot.store.stale import drop_unsaid
from bot.store.tables import MessageKind, images, messages
from bot.store.window import SAID_OR_HEARD

AT_ONCE = 500
"""Ids in one statement; SQLite takes 32,766 parameters."""


class Act(StrEnum):
    """What can be taken back."""

    CLEARED = "cleared"
    FORGOTTEN = "forgotten"
    FOLDED = "folded"


_CLEARED, _FORGOTTEN = "clear:", "forget:"
"""Before the key of whoever did it, in `retired_by`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """What was taken back: how many items returned, or how many messages stand word for word again."""

    act: Act
    count: int
    done_at: datetime
    stay: int = 0
    """Items of a compaction that people pinned or edited since."""


def clear_kinds(tx: Tx, conversation_id: int, kinds: Collection[str], author_key: str, now: datetime) -> int:
    """Forget all items of some kinds at once; how many there were."""
    raise_generation(tx, conversation_id)
    return retire_kinds(tx, conversation_id, kinds, _CLEARED + author_key, now)


def forget_item(tx: Tx, conversation_id: int, item_id: int, author_key: str, now: datetime) -> bool:
    """Forget one item; whether it was there."""
    raise_generation(tx, conversation_id)
    return retire_item(tx, conversation_id, item_id, _FORGOTTEN + author_key, now)


def erase_history(tx: Tx, session_id: int, conversation_id: int, now: datetime) -> int:
    """Remove the words of everything that a conversation has said and heard, commands as well; how many messages there
    were. What was made of them stays in memory, and no compaction of them can be taken back.
    """
    is_said = and_(messages.c.kind.in_((MessageKind.SAID.value, MessageKind.REPLY.value)), messages.c.text != "")
    found = select(messages.c.id, is_said.label("is_said")).where(
        messages.c.session_id == bindparam("session_id"), SAID_OR_HEARD
    )
    rows = tx.execute(found, {"session_id": session_id, "conversation_id": conversation_id}).all()
    ids = [row.id for row in rows]
    gone = {
        "text": "",
        "words": 0,
        "quote": "",
        "tokens": 0,
        "tool_calls": None,
        "deleted_at": func.coalesce(messages.c.deleted_at, now),
    }
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        tx.execute(update(messages).where(messages.c.id.in_(some)).values(gone))
        tx.execute(delete(images).where(images.c.message_id.in_(some)))
        tx.execute(delete(running_rounds).where(running_rounds.c.message_id.in_(some)))
    tx.execute(
        update(compactions)
        .where(compactions.c.conversation_id == conversation_id, compactions.c.outcome == Outcome.DONE.value)
        .values(outcome=Outcome.SEALED.value)
    )
    raise_generation(tx, conversation_id)
    return sum(row.is_said for row in rows)


def erase_memory(tx: Tx, conversation_id: int) -> int:
    """Remove all items for good, those of the past as well, what compactions have said, how the persona felt, and where
    its lore stood; how many items were live.
    """
    mine = memory_items.c.conversation_id == conversation_id
    live = tx.execute(select(func.count()).where(mine, memory_items.c.retired_at.is_(None))).scalar_one()
    tx.execute(delete(memory_sources).where(memory_sources.c.item_id.in_(select(memory_items.c.id).where(mine))))
    tx.execute(delete(memory_items).where(mine))
    for table in (moods, lore_states):
        tx.execute(delete(table).where(table.c.conversation_id == conversation_id))
    said = {"delta": "", "focus": "", "problem": ""}
    tx.execute(update(compactions).where(compactions.c.conversation_id == conversation_id).values(said))
    raise_generation(tx, conversation_id)
    return int(live)


def undo_newest(tx: Tx, conversation_id: int, now: datetime) -> Undone | None:
    """Take back what took most out of sight last: items that somebody cleared or forgot return, or the messages of the
    newest compaction do. `None` where there is nothing.
    """
    by_hand = tx.execute(
        select(memory_items.c.retired_by, memory_items.c.retired_at)
        .where(
            memory_items.c.conversation_id == conversation_id,
            or_(memory_items.c.retired_by.startswith(_CLEARED), memory_items.c.retired_by.startswith(_FORGOTTEN)),
        )
        .order_by(memory_items.c.retired_at.desc())
        .limit(1)
    ).first()
    folded_at = tx.execute(
        select(func.max(compactions.c.ended_at)).where(
            compactions.c.conversation_id == conversation_id,
            compactions.c.outcome == Outcome.DONE.value,
            compactions.c.messages > 0,  # what made the memory shorter since then goes with it
        )
    ).scalar()
    if by_hand is not None and (folded_at is None or by_hand.retired_at >= folded_at):
        raise_generation(tx, conversation_id)
        count = _revive(tx, conversation_id, by_hand.retired_by, by_hand.retired_at)
        act = Act.CLEARED if by_hand.retired_by.startswith(_CLEARED) else Act.FORGOTTEN
        return Undone(act=act, count=count, done_at=by_hand.retired_at)
    unfolded = undo_compaction(tx, conversation_id, now)
    if unfolded is None:
        return None
    return Undone(act=Act.FOLDED, count=unfolded.messages, done_at=unfolded.began_at, stay=unfolded.stay)


def _revive(tx: Tx, conversation_id: int, by: str, retired_at: datetime) -> int:
    """Take back what somebody's word retired at that moment; how many items returned."""
    which = and_(
        memory_items.c.conversation_id == conversation_id,
        memory_items.c.retired_by == by,
        memory_items.c.retired_at == retired_at,
    )
    values = {"retired_by": None, "retired_at": None, "valid_to": None}
    revived = tx.execute(update(memory_items).where(which).values(values)).rowcount
    drop_unsaid(tx, conversation_id, retired_at)
    return revived
