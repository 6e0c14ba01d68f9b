"""Conversations: which one a session is in, opening, resuming and closing them, and the intervals they listened to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import bindparam, func, insert, or_, select, update

from bot.store.carrying import carry
from bot.store.database import Tx
from bot.store.given_ids import next_id
from bot.store.sessions import SessionRow, session_by_id
from bot.store.tables import NOTHING_IN_MEMORY, conversations, listenings, messages, sessions

# Statements of the hot path are made once: building one costs more than running it.
_BY_ID = select(conversations).where(conversations.c.id == bindparam("id"))
_NEWEST = select(func.coalesce(func.max(messages.c.id), 0))
_COVERS = (
    select(listenings.c.id)
    .where(
        listenings.c.conversation_id == bindparam("conversation_id"),
        listenings.c.from_position <= bindparam("first"),
        func.coalesce(listenings.c.to_position, bindparam("last")) >= bindparam("last"),
    )
    .limit(1)
)


_LISTENING = (
    select(conversations.c.id, conversations.c.persona_id)
    .join(listenings, listenings.c.conversation_id == conversations.c.id)
    .where(
        conversations.c.session_id == bindparam("session_id"),
        conversations.c.closed_at.is_(None),
        listenings.c.to_position.is_(None),
    )
)
_OPEN = (
    select(conversations.c.id)
    .where(
        conversations.c.session_id == bindparam("session_id"),
        conversations.c.persona_id == bindparam("persona_id"),
        conversations.c.closed_at.is_(None),
    )
    .order_by(conversations.c.id.desc())
)

Switch = Literal["separate", "shared", "carry"]
"""What a change of persona means for what was said before (`PERSONA_SWITCH`)."""


def ensure_conversation(
    tx: Tx, session: SessionRow, persona_id: str, now: datetime, switch: Switch = "separate"
) -> int:
    """The open conversation of this persona here, made current: the running one, a resumed one, or a new one.

    Another persona's conversation stops listening where this one begins, so that what was said while a persona was
    away stays unknown to it; with `carry` the new one is told what the other knows of people, and with `shared` it
    goes on with the other's conversation.
    """
    current = conversation_by_id(tx, session.conversation_id) if session.conversation_id is not None else None
    if current is not None and current.persona_id == persona_id:
        return current.id
    if current is not None and switch == "shared":
        tx.execute(update(conversations).where(conversations.c.id == current.id).values(persona_id=persona_id))
        return current.id
    resumed = open_conversation(tx, session.id, persona_id)
    conversation_id = _make_current(tx, session, resumed or _open(tx, session.id, persona_id, now))
    if current is not None and switch == "carry":
        carry(tx, current.id, conversation_id, now)
    return conversation_id


def reset_conversation(tx: Tx, session: SessionRow, persona_id: str, now: datetime) -> int:
    """Close the current conversation and those of a cast, which keep everything they have, and open the persona's next
    one.
    """
    ended = {*listening(tx, session.id).values(), session.conversation_id} - {None}
    tx.execute(update(conversations).where(conversations.c.id.in_(ended)).values(closed_at=now))
    _stop_listening(tx, ended)
    return _make_current(tx, session, _open(tx, session.id, persona_id, now))


def listen_together(
    tx: Tx, session: SessionRow, persona_ids: Sequence[str], now: datetime, switch: Switch = "separate"
) -> None:
    """From now on let the conversations of exactly these personas listen in a session, the current one among them: a
    cast. Each is resumed, or opened; `carry` tells a new one what the current one knows of people. With `shared` all of
    them share the current one.
    """
    present = listening(tx, session.id)
    current_id = session_by_id(tx, session.id).conversation_id
    wanted = () if switch == "shared" else persona_ids
    _stop_listening(tx, {number for persona_id, number in present.items() if persona_id not in wanted} - {current_id})
    for persona_id in wanted:
        if persona_id not in present:
            conversation_id = open_conversation(tx, session.id, persona_id) or _open(tx, session.id, persona_id, now)
            tx.execute(insert(listenings).values(conversation_id=conversation_id, from_position=next_position(tx)))
            if switch == "carry" and current_id is not None:
                carry(tx, current_id, conversation_id, now)


def listening(tx: Tx, session_id: int) -> dict[str, int]:
    """The conversations that listen in a session now, by their personas."""
    rows = tx.execute(_LISTENING, {"session_id": session_id})
    return {row.persona_id: row.id for row in sorted(rows, key=lambda row: int(row.id))}


def open_conversation(tx: Tx, session_id: int, persona_id: str) -> int | None:
    """The newest conversation of a persona in a session that was not closed, whether it listens or not."""
    return tx.execute(_OPEN, {"session_id": session_id, "persona_id": persona_id}).scalar()


def _stop_listening(tx: Tx, conversation_ids: Collection[int | None]) -> None:
    if conversation_ids:
        still_open = (listenings.c.conversation_id.in_(conversation_ids), listenings.c.to_position.is_(None))
        tx.execute(update(listenings).where(*still_open).values(to_position=next_position(tx) - 1))


def _open(tx: Tx, session_id: int, persona_id: str, now: datetime) -> int:
    new = next_id(tx, conversations)
    tx.execute(
        insert(conversations).values(
            id=new,
            session_id=session_id,
            persona_id=persona_id,
            opened_at=now,
            watermark=NOTHING_IN_MEMORY,
            generation=0,
            greeted=False,
        )
    )
    return new


def _make_current(tx: Tx, session: SessionRow, conversation_id: int) -> int:
    _stop_listening(tx, {session.conversation_id} - {None})
    tx.execute(insert(listenings).values(conversation_id=conversation_id, from_position=next_position(tx)))
    tx.execute(update(sessions).where(sessions.c.id == session.id).values(conversation_id=conversation_id))
    return conversation_id


def hear_burst(tx: Tx, conversation_id: int, burst: Sequence[int]) -> None:
    """Let a conversation have heard what it answers, also when that was said before it began: a turn that waited
    through a switch or a reset is answered by the new one. What others said in between stays unknown to it.
    """
    if _covers(tx, conversation_id, burst[0], burst[-1]):
        return
    for position in burst:
        if not _covers(tx, conversation_id, position, position):
            one = {"from_position": position, "to_position": position}
            tx.execute(insert(listenings).values(conversation_id=conversation_id, **one))


def _covers(tx: Tx, conversation_id: int, first: int, last: int) -> bool:
    facts = {"conversation_id": conversation_id, "first": first, "last": last}
    return tx.execute(_COVERS, facts).scalar() is not None


def conversation_hearing(tx: Tx, session: SessionRow, position: int) -> int | None:
    """The newest conversation of a session that listened when something was said."""
    heard_it = (
        conversations.c.session_id == session.id,
        listenings.c.from_position <= position,
        or_(listenings.c.to_position.is_(None), listenings.c.to_position >= position),
    )
    found = (
        select(func.max(conversations.c.id))
        .join(listenings, listenings.c.conversation_id == conversations.c.id)
        .where(*heard_it)
    )
    return tx.execute(found).scalar()


def next_position(tx: Tx) -> int:
    """The position that the next message will get; ids are never reused."""
    return int(tx.execute(_NEWEST).scalar_one()) + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationRow:
    """A conversation as queries return it."""

    id: int
    persona_id: str
    watermark: int
    generation: int
    """How often what was said before has changed since (R4)."""
    is_greeted: bool


def conversation_by_id(tx: Tx, conversation_id: int) -> ConversationRow:
    """A conversation that is known to exist."""
    row = tx.execute(_BY_ID, {"id": conversation_id}).one()
    return ConversationRow(
        id=row.id,
        persona_id=row.persona_id,
        watermark=row.watermark,
        generation=row.generation,
        is_greeted=row.greeted,
    )


def mark_greeted(tx: Tx, conversation_id: int) -> bool:
    """Note that the persona has greeted; false when it had already."""
    greet = update(conversations).where(conversations.c.id == conversation_id, conversations.c.greeted.is_(False))
    return tx.execute(greet.values(greeted=True)).rowcount > 0


def raise_generation(tx: Tx, conversation_id: int) -> None:
    """Note that something which prompts of this conversation were made of has changed behind them."""
    tx.execute(
        update(conversations)
        .where(conversations.c.id == conversation_id)
        .values(generation=conversations.c.generation + 1)
    )


def raise_generations(tx: Tx, session_id: int) -> None:
    """The same for every conversation of a session that goes on: all may have heard what has changed."""
    tx.execute(
        update(conversations)
        .where(conversations.c.session_id == session_id, conversations.c.closed_at.is_(None))
        .values(generation=conversations.c.generation + 1)
    )
