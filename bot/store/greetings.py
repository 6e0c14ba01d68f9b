"""Which greeting of its card a conversation begins with. Knows no card: a greeting is a number."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, exists, select, update
from sqlalchemy.dialects.sqlite import insert

from bot.store.conversations import raise_generation
from bot.store.database import Tx
from bot.store.lore_tables import chosen_greetings
from bot.store.tables import MessageKind, Standing, conversations, listenings, messages, sent_parts
from bot.store.window import LIVE

_CHOSEN = select(chosen_greetings.c.number).where(chosen_greetings.c.conversation_id == bindparam("conversation_id"))


def chosen_greeting(tx: Tx, conversation_id: int) -> int | None:
    """The greeting that a conversation begins with, where that is not just the card's first."""
    return tx.execute(_CHOSEN, {"conversation_id": conversation_id}).scalar()


def keep_greeting(tx: Tx, conversation_id: int, number: int) -> None:
    """Let a conversation begin with a greeting of its card."""
    put = insert(chosen_greetings).values(conversation_id=conversation_id, number=number)
    tx.execute(put.on_conflict_do_update(index_elements=["conversation_id"], set_={"number": number}))


def choose_greeting(tx: Tx, conversation_id: int, number: int) -> tuple[str, ...] | None:
    """The same by somebody's choice, as long as nobody has spoken to the persona: `None` when it is too late. What was
    said of another greeting is out of every prompt; returns the platform's ids of its messages.
    """
    if has_begun(tx, conversation_id):
        return None
    keep_greeting(tx, conversation_id, number)
    said = tx.execute(select(messages.c.id).where(_said(conversation_id))).scalars().all()
    if not said:
        return ()
    tx.execute(update(messages).where(messages.c.id.in_(said)).values(standing=Standing.SUPERSEDED.value))
    tx.execute(update(conversations).where(conversations.c.id == conversation_id).values(greeted=False))
    raise_generation(tx, conversation_id)
    parts = select(sent_parts.c.platform_message_id).where(sent_parts.c.message_id.in_(said))
    return tuple(part for part in tx.execute(parts).scalars() if part)


def has_begun(tx: Tx, conversation_id: int) -> bool:
    """Whether somebody has spoken to the persona in a conversation: then its greeting stays what it is."""
    heard = exists().where(
        listenings.c.conversation_id == conversation_id,
        messages.c.session_id == conversations.c.session_id,
        messages.c.position >= listenings.c.from_position,
        messages.c.kind == MessageKind.SAID.value,
        messages.c.addressed,
        LIVE,
    )
    return bool(tx.execute(select(heard).where(conversations.c.id == conversation_id)).scalar())


def has_spoken(tx: Tx, conversation_id: int, persona_id: str) -> bool:
    """Whether a persona has said something in a conversation."""
    its = (messages.c.persona_id == persona_id, _said(conversation_id))
    return tx.execute(select(messages.c.id).where(*its).limit(1)).first() is not None


def _said(conversation_id: int) -> Any:
    """What has been said in a conversation: greetings, as long as nobody has spoken to the persona."""
    is_reply = (messages.c.kind == MessageKind.REPLY.value) & LIVE
    return (messages.c.conversation_id == conversation_id) & is_reply
