"""Memory that goes along when a place gets another key, and with it whoever was known by that key (T09, T11, T23)."""

from __future__ import annotations

from sqlalchemy import func, literal, select, update

from bot.store.database import Tx
from bot.store.memory_tables import compactions, memory_items
from bot.store.tables import conversations


def move_memories(tx: Tx, session_id: int, place_key: str) -> None:
    """What is remembered in a session belongs to another place from now on."""
    here = select(conversations.c.id).where(conversations.c.session_id == session_id)
    tx.execute(update(memory_items).where(memory_items.c.conversation_id.in_(here)).values(place_key=place_key))


def move_subject(tx: Tx, old_key: str, new_key: str) -> None:
    """What is remembered of somebody, or was made, agreed on or forgotten by them, is theirs under another key."""
    items, item = update(memory_items), memory_items.c
    tx.execute(items.where(item.subject == old_key).values(subject=new_key))
    tx.execute(items.where(item.made_by == old_key).values(made_by=new_key))
    # In `retired_by` a key may stand after what was done: `forget:telegram:1`.
    is_theirs = (item.retired_by == old_key) | item.retired_by.endswith(f":{old_key}", autoescape=True)
    kept = func.substr(item.retired_by, 1, func.length(item.retired_by) - len(old_key))
    tx.execute(items.where(is_theirs).values(retired_by=kept + new_key))
    lines = func.replace("\n" + item.people + "\n", f"\n{old_key}\n", f"\n{new_key}\n")
    is_among = func.instr("\n" + item.people + "\n", f"\n{old_key}\n") > 0
    tx.execute(items.where(is_among).values(people=func.trim(lines, "\n")))
    quoted = literal(f'"{old_key}"')
    delta = func.replace(compactions.c.delta, quoted, f'"{new_key}"')
    tx.execute(update(compactions).where(func.instr(compactions.c.delta, quoted) > 0).values(delta=delta))
