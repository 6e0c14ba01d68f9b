"""Closing bursts that get no answer: a stopped turn, one that somebody gave up waiting for, or one that is too old."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import select

from bot.store import cast
from bot.store.bursts import read_burst
from bot.store.conversations import conversation_by_id, conversation_hearing, open_conversation
from bot.store.database import Tx
from bot.store.privacy import forget_asked
from bot.store.replies import NewReply, insert_reply
from bot.store.sessions import SessionRow, session_by_id
from bot.store.tables import UNANSWERED, MessageKind, ReplyState, messages
from bot.store.window import LIVE


def close_burst(tx: Tx, new: NewReply, now: datetime) -> None:
    """Mark a burst answered by nothing shown: a stopped turn, or an answer that stayed empty."""
    forget_asked(tx, insert_reply(tx, new, ReplyState.SENT, now))


def close_waiting(tx: Tx, session: SessionRow, waiting: Iterable[tuple[int, str | None]], now: datetime) -> None:
    """Mark messages answered that somebody has given up waiting for, each by the persona of a cast that it calls, if it
    does; /retry still answers them.
    """
    for message_id, persona_id in waiting:
        if burst := read_burst(tx, session.id, message_id, persona_id):
            _close_unheard(tx, session, burst, persona_id, now)


def close_expired(tx: Tx, now: datetime, within: timedelta) -> int:
    """At a start: mark every burst answered whose newest message is too old for an answer; returns how many were.

    Left open, one would stand at the head of its session for ever. The conversation that heard it keeps it, so that
    /retry still answers it.
    """
    too_old = select(messages.c.id, messages.c.session_id).where(UNANSWERED, LIVE, messages.c.sent_at < now - within)
    expired = {row.id: row.session_id for row in tx.execute(too_old)}
    closed = 0
    for message_id in sorted(expired):
        for persona_id in cast.waited_for(tx, message_id) or (None,):
            burst = read_burst(tx, expired[message_id], message_id, persona_id)
            if burst and expired.keys() >= set(burst):
                _close_unheard(tx, session_by_id(tx, expired[message_id]), burst, persona_id, now)
                closed += 1
    return closed


def _close_unheard(tx: Tx, session: SessionRow, burst: tuple[int, ...], persona_id: str | None, now: datetime) -> None:
    its_own = open_conversation(tx, session.id, persona_id) if persona_id is not None else None
    conversation_id = its_own or conversation_hearing(tx, session, burst[-1]) or session.conversation_id
    if conversation_id is None:
        return
    persona_id = persona_id or conversation_by_id(tx, conversation_id).persona_id
    new = NewReply(
        session=session,
        conversation_id=conversation_id,
        persona_id=persona_id,
        persona_name="",
        position=burst[-1],
        burst=burst,
        kind=MessageKind.NOTICE,
    )
    close_burst(tx, new, now)
