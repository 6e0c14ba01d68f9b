"""What one persona knows of people comes along to the next one (`PERSONA_SWITCH=carry`)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Row, insert, select

from bot.memory.items import ItemKind
from bot.store.database import Tx
from bot.store.memories import insert_rows, read_ground, retire
from bot.store.memory_tables import memory_items, memory_sources

_CARRIED = (
    "kind", "text", "tokens", "subject", "subject_name", "category", "day", "people", "state", "pinned", "stale",
    "valid_from",
)  # fmt: skip
"""The columns that a carried item shares with the one it was."""


def carry(tx: Tx, from_id: int, to_id: int, now: datetime) -> None:
    """Let a conversation know what another one knows of people and of what they agreed on, as items of its own with
    the same sources (`PERSONA_SWITCH=carry`). What holds no longer there holds no longer here.
    """
    ground = read_ground(tx, to_id)
    if ground is None:
        return
    by = f"carry:{from_id}"
    known, theirs = _carried(tx, to_id, is_live=True), _carried(tx, from_id, is_live=True)
    outdated = _carried(tx, from_id, is_live=False).keys() - theirs.keys()
    gone = [row.id for what, row in known.items() if what in outdated and not row.pinned]
    retire(tx, (memory_items.c.id.in_(gone),), by, now)
    for what, row in theirs.items():
        if what in known:
            continue
        values = {name: row._mapping[name] for name in _CARRIED}
        (item_id,) = insert_rows(tx, ground, [values], by, now)
        cited = select(memory_sources.c.message_id).where(memory_sources.c.item_id == row.id)
        sources = [{"item_id": item_id, "message_id": source} for source in tx.execute(cited).scalars()]
        if sources:
            tx.execute(insert(memory_sources), sources)


def _carried(tx: Tx, conversation_id: int, *, is_live: bool) -> dict[tuple[str, str | None, str], Row[Any]]:
    """Facts and agreements by what makes two the same."""
    found = (
        select(memory_items)
        .where(
            memory_items.c.conversation_id == conversation_id,
            memory_items.c.kind.in_((ItemKind.FACT.value, ItemKind.CONSENSUS.value)),
            memory_items.c.retired_at.is_(None) if is_live else memory_items.c.retired_at.is_not(None),
        )
        .order_by(memory_items.c.id)
    )
    return {(row.kind, row.subject, row.text): row for row in tx.execute(found)}
