"""A place that gets another key, as a group that becomes a supergroup does: all that is kept of it goes along (T09)."""

from __future__ import annotations

from sqlalchemy import delete, func, select, update

from bot.chat import ChannelRef
from bot.store.database import Tx
from bot.store.introductions import move_introduction
from bot.store.ledger_tables import model_calls, move_spender
from bot.store.lorebooks import move_books
from bot.store.memory_moves import move_memories, move_subject
from bot.store.metadata import move_about, move_kept
from bot.store.people import move_identity
from bot.store.people_tables import namings
from bot.store.personas import move_cards
from bot.store.reminder_tables import move_author, move_reminders
from bot.store.sessions import to_session
from bot.store.tables import Scope, conversations, messages, overrides, sessions


def migrate_place(tx: Tx, old: ChannelRef, new: ChannelRef) -> bool:
    """Move everything of a place to its new key in one transaction (T09); repeating it does nothing (T23).

    A session that the new place already began keeps its messages: they are added to the old story.
    """
    moved = False
    for row in tx.execute(select(sessions).where(sessions.c.place_key == old.place_key)).all():
        was = to_session(row).channel
        target = ChannelRef(platform=new.platform, place=new.place, channel=was.channel, thread=was.thread)
        _absorb(tx, target.session_key, row.id)
        keys = {
            "key": target.session_key,
            "place_key": target.place_key,
            "parent_key": target.parent_key,
            "place": new.place,
        }
        tx.execute(update(sessions).where(sessions.c.id == row.id).values(keys))
        tx.execute(update(messages).where(messages.c.session_id == row.id).values(place_key=target.place_key))
        move_memories(tx, row.id, target.place_key)
        _move_overrides(tx, Scope.SESSION, was.session_key, target.session_key)
        moved = True
    _move_overrides(tx, Scope.PLACE, old.place_key, new.place_key)
    move_introduction(tx, old.place_key, new.place_key)
    move_identity(tx, old.place_key, new.place_key)
    move_subject(tx, old.place_key, new.place_key)
    move_about(tx, old.place_key, new.place_key)
    move_author(tx, old.place_key, new.place_key)
    move_cards(tx, old.place_key, new.place_key)
    move_books(tx, old.place_key, new.place_key)
    move_spender(tx, old.place_key, new.place_key)
    return moved


def _absorb(tx: Tx, key: str, into: int) -> None:
    newcomer = tx.execute(select(sessions.c.id).where(sessions.c.key == key)).scalar()
    if newcomer is None:
        return
    # Platform ids of the two places may coincide; the newcomer's messages get others where they do.
    taken = select(messages.c.platform_message_id).where(
        messages.c.session_id == into, messages.c.platform_message_id.is_not(None)
    )
    clash = (messages.c.session_id == newcomer, messages.c.platform_message_id.in_(taken))
    tx.execute(update(messages).where(*clash).values(platform_message_id=func.printf("migrated:%d", messages.c.id)))
    tx.execute(update(messages).where(messages.c.session_id == newcomer).values(session_id=into))
    for table in (conversations, model_calls):
        tx.execute(update(table).where(table.c.session_id == newcomer).values(session_id=into))
    tx.execute(delete(namings).where(namings.c.session_id == newcomer))
    move_kept(tx, newcomer, into)
    move_reminders(tx, newcomer, into)
    tx.execute(delete(sessions).where(sessions.c.id == newcomer))


def _move_overrides(tx: Tx, scope: Scope, old_key: str, new_key: str) -> None:
    names = select(overrides.c.name).where(overrides.c.scope == scope.value, overrides.c.scope_key == new_key)
    mine = (overrides.c.scope == scope.value, overrides.c.scope_key == old_key)
    tx.execute(delete(overrides).where(*mine, overrides.c.name.in_(names)))
    tx.execute(update(overrides).where(*mine).values(scope_key=new_key))
