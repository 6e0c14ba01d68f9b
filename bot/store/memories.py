"""Memory in the database: what a conversation remembers now, and how items come and go.

Rows are never changed in what they say: an update retires one row and makes another, so that an undo is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, insert, select, update

from bot.memory.items import Add, Category, FollowUpState, Item, ItemKind, Memory, NewItem
from bot.store.database import Tx
from bot.store.memory_tables import LIVE_ITEM, memory_items, memory_sources
from bot.store.tables import conversations, messages, sessions

GIST = "gist"
"""Kind of the row that holds a conversation's gist; it is no item of its own."""

BY_ITSELF = ("compaction:", "carry:")
"""How `made_by` begins of what nobody wrote down by hand."""

Count = Callable[[str], int]
NOTHING_SENT: Mapping[int, datetime] = {}
"""No message whose time is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """Whose memory it is, where, and what it stood on when the messages were read (R4)."""

    conversation_id: int
    persona_id: str
    place_key: str
    visibility: str
    watermark: int
    generation: int


# Statements of the hot path are made once: building one costs more than running it.
_LIVE = (
    select(
        memory_items.c.id,
        memory_items.c.kind,
        memory_items.c.text,
        memory_items.c.subject,
        memory_items.c.subject_name,
        memory_items.c.category,
        memory_items.c.day,
        memory_items.c.people,
        memory_items.c.state,
        memory_items.c.pinned,
        memory_items.c.tokens,
        memory_items.c.stale,
    )
    .where(memory_items.c.conversation_id == bindparam("conversation_id"), LIVE_ITEM)
    .order_by(memory_items.c.id)
)
_SOURCED = (
    _LIVE.add_columns(
        memory_items.c.valid_from,
        memory_items.c.made_at,
        memory_items.c.made_by,
        func.group_concat(memory_sources.c.message_id),
        func.max(messages.c.sent_at),
    )
    .outerjoin(memory_sources, memory_sources.c.item_id == memory_items.c.id)
    .outerjoin(messages, messages.c.id == memory_sources.c.message_id)
    .group_by(memory_items.c.id)
)
_WITHOUT_SOURCES = (None, None, "", None, None)
_GROUND = (
    select(
        conversations.c.id.label("conversation_id"),
        conversations.c.persona_id,
        sessions.c.place_key,
        sessions.c.visibility,
        conversations.c.watermark,
        conversations.c.generation,
    )
    .join(sessions, sessions.c.id == conversations.c.session_id)
    .where(conversations.c.id == bindparam("conversation_id"), conversations.c.closed_at.is_(None))
)
_SENT_AT = select(messages.c.id, messages.c.sent_at).where(messages.c.id.in_(bindparam("sources", expanding=True)))
_INSERT = insert(memory_items).returning(memory_items.c.id, sort_by_parameter_order=True)
_INSERT_SOURCES = insert(memory_sources)
_RETIREMENT = {
    "retired_by": bindparam("by", type_=memory_items.c.retired_by.type),
    "retired_at": bindparam("at", type_=memory_items.c.retired_at.type),
    "valid_to": bindparam("until", type_=memory_items.c.valid_to.type),
}
_RETIRE = update(memory_items).where(memory_items.c.id == bindparam("item"), LIVE_ITEM).values(_RETIREMENT)
_RETIRE_GIST = (
    update(memory_items)
    .where(memory_items.c.conversation_id == bindparam("conversation"), memory_items.c.kind == GIST, LIVE_ITEM)
    .values(_RETIREMENT)
)
_BLANK: dict[str, Any] = dict.fromkeys(("subject", "category", "day", "state", "replaces"))
_BLANK |= {"subject_name": "", "people": "", "pinned": False, "stale": False}
"""What an item has that says nothing about it; rows that are inserted together have the same columns."""


def read_memory(tx: Tx, conversation_id: int, *, with_sources: bool = True) -> Memory:
    """What a conversation remembers now. A prompt needs no sources nor times, and an old memory has thousands."""
    rows = tx.execute(_SOURCED if with_sources else _LIVE, {"conversation_id": conversation_id}).all()
    return Memory(
        gist=next((row[2] for row in rows if row[1] == GIST), ""),
        items=tuple(_item(row) for row in rows if row[1] != GIST),
    )


def _item(row: Any) -> Item:
    item_id, kind, text, subject, subject_name, category, day, people, state, pinned, tokens, stale, *sourced = row
    since, made_at, made_by, sources, last_said_at = sourced or _WITHOUT_SOURCES
    new = NewItem(
        kind=ItemKind(kind),
        text=text,
        subject=subject,
        subject_name=subject_name,
        category=Category(category) if category else None,
        day=day,
        people=tuple(filter(None, people.split("\n"))) if people else (),
        state=FollowUpState(state) if state else None,
        sources=tuple(sorted(map(int, sources.split(",")))) if sources else (),
        pinned=pinned,
    )
    by_hand = not made_by.startswith(BY_ITSELF)
    said_at = made_at if by_hand else last_said_at or since
    return Item(id=item_id, new=new, tokens=tokens, stale=stale, since=since, said_at=said_at)


def read_ground(tx: Tx, conversation_id: int) -> Ground | None:
    """What a compaction of this conversation would stand on; `None` once it is closed."""
    row = tx.execute(_GROUND, {"conversation_id": conversation_id}).first()
    return Ground(**row._mapping) if row else None


def insert_item(tx: Tx, ground: Ground, add: Add, made_by: str, count: Count, now: datetime) -> int:
    """Keep a new item, and retire the one that it replaces; returns its id."""
    return insert_items(tx, ground, (add,), made_by, count, now)[0]


def insert_items(
    tx: Tx,
    ground: Ground,
    adds: Sequence[Add],
    made_by: str,
    count: Count,
    now: datetime,
    *,
    gist: str = "",
    sent_at: Mapping[int, datetime] = NOTHING_SENT,
) -> list[int]:
    """Keep new items, and retire those that they replace; a `gist` takes the place of the one before. Returns the ids
    of the items. `sent_at` are the times of messages as far as they are known.
    """
    said_at = first_said(tx, [add.item.sources for add in adds], sent_at)
    rows = [_values(add, since or now, count) for add, since in zip(adds, said_at, strict=True)]
    if gist:
        tx.execute(_RETIRE_GIST, {"conversation": ground.conversation_id, "by": made_by, "at": now, "until": now})
        rows.append({**_BLANK, "kind": GIST, "text": gist, "tokens": count(gist), "valid_from": now})
    ids = insert_rows(tx, ground, rows, made_by, now)[: len(adds)]
    cited = zip(ids, adds, strict=True)
    sources = [{"item_id": item_id, "message_id": source} for item_id, add in cited for source in add.item.sources]
    if sources:
        tx.execute(_INSERT_SOURCES, sources)
    replaced = {add.replaces: since for add, since in zip(adds, said_at, strict=True) if add.replaces is not None}
    retire_items(tx, replaced, made_by, now)
    return ids


def _values(add: Add, valid_from: datetime, count: Count) -> dict[str, Any]:
    new = add.item
    return {
        "kind": new.kind.value,
        "text": new.text,
        "tokens": count(new.text),
        "subject": new.subject,
        "subject_name": new.subject_name,
        "category": new.category and new.category.value,
        "day": new.day,
        "people": "\n".join(new.people),
        "state": new.state and new.state.value,
        "pinned": new.pinned,
        "stale": False,
        "replaces": add.replaces,
        "valid_from": valid_from,
    }


def insert_rows(tx: Tx, ground: Ground, rows: Sequence[dict[str, Any]], made_by: str, now: datetime) -> list[int]:
    """The ids of rows that have been inserted; all of them say the same columns."""
    if not rows:
        return []
    shared = {
        "conversation_id": ground.conversation_id,
        "persona_id": ground.persona_id,
        "place_key": ground.place_key,
        "visibility": ground.visibility,
        "made_by": made_by,
        "made_at": now,
    }
    return [*tx.execute(_INSERT, [{**shared, **row} for row in rows]).scalars()]


def first_said(
    tx: Tx, cited: Sequence[Sequence[int]], known: Mapping[int, datetime] = NOTHING_SENT
) -> list[datetime | None]:
    """When the oldest message of each of these groups was sent; looked up unless it is known."""
    every = {source for group in cited for source in group}
    sent_at = known
    if not every <= known.keys():
        sent_at = {row.id: row.sent_at for row in tx.execute(_SENT_AT, {"sources": tuple(every)})}
    return [min((sent_at[source] for source in group if source in sent_at), default=None) for group in cited]


def retire_items(tx: Tx, until: Mapping[int, datetime | None], by: str, now: datetime) -> None:
    """Let items hold no longer, each until the moment at which something else was said, or until now."""
    if until:
        gone = [{"item": item, "by": by, "at": now, "until": moment or now} for item, moment in until.items()]
        tx.execute(_RETIRE, gone)


def retire(tx: Tx, which: Sequence[Any], by: str, now: datetime, *, valid_to: datetime | None = None) -> int:
    """Let live items hold no longer; how many there were."""
    values = {"retired_by": by, "retired_at": now, "valid_to": valid_to or now}
    return tx.execute(update(memory_items).where(*which, LIVE_ITEM), values).rowcount


def retire_item(tx: Tx, conversation_id: int, item_id: int, by: str, now: datetime) -> bool:
    """Forget one item by somebody's word; whether it was there."""
    which = (memory_items.c.id == item_id, memory_items.c.conversation_id == conversation_id)
    return retire(tx, which, by, now) > 0


def retire_kinds(tx: Tx, conversation_id: int, kinds: Iterable[str], by: str, now: datetime) -> int:
    """Forget all items of some kinds (`GIST` is one); how many there were."""
    which = (memory_items.c.conversation_id == conversation_id, memory_items.c.kind.in_(tuple(kinds)))
    return retire(tx, which, by, now)


def set_pinned(tx: Tx, conversation_id: int, item_id: int, *, pinned: bool) -> bool:
    """Pin an item, so that no compaction touches it, or let it go; whether it was there."""
    which = (memory_items.c.id == item_id, memory_items.c.conversation_id == conversation_id, LIVE_ITEM)
    return tx.execute(update(memory_items).where(*which).values(pinned=pinned)).rowcount > 0
