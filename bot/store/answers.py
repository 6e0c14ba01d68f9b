"""The newest answer of a conversation: looked up, superseded to be given anew, or undone with what it answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, exists, not_, or_, select, update

from bot.store import cast
from bot.store.conversations import (
    conversation_by_id,
    listening,
    raise_generations,
)
from bot.store.database import Tx
from bot.store.moods import take_back_mood
from bot.store.tables import (
    MessageKind,
    ReplyState,
    Standing,
    messages,
    sent_parts,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LastReply:
    """The newest answer of a conversation, for /retry, /undo and /continue."""

    id: int
    session_id: int
    conversation_id: int
    persona_id: str
    persona_name: str
    is_called: bool
    """Whether its burst calls this persona, as one of a cast."""
    kind: MessageKind
    position: int
    state: ReplyState
    is_cut: bool
    """Whether it stops before its own end."""
    text: str
    """Empty when a crash cut it off, so that nobody knows what was seen of it (S16), or when it was deleted."""
    burst: tuple[int, ...]
    """What it answered, without what its author has deleted since, or what was refused."""
    asker_key: str | None
    asker_platform_message_id: str | None
    platform_message_ids: tuple[str, ...]
    is_in_memory: bool
    is_private: bool
    """Whether it answered somebody who wanted privacy, so that what was asked is forgotten."""


def newest_reply(tx: Tx, session_id: int) -> LastReply | None:
    """The newest live answer of any persona that listens in a session now."""
    found = [last_reply(tx, conversation_id) for conversation_id in listening(tx, session_id).values()]
    return max(filter(None, found), key=lambda reply: (reply.position, reply.id), default=None)


def last_reply(tx: Tx, conversation_id: int) -> LastReply | None:
    """The newest live answer of a conversation, failed ones included; greetings answer nobody and are not meant."""
    answer = tx.execute(
        select(messages)
        .where(
            messages.c.conversation_id == conversation_id,
            messages.c.kind.in_((MessageKind.REPLY.value, MessageKind.NOTICE.value)),
            _answers_somebody(),
            messages.c.standing == Standing.LIVE.value,  # one whose message was deleted can still be asked for again
        )
        .order_by(messages.c.position.desc(), messages.c.id.desc())
        .limit(1)
    ).first()
    if answer is None:
        return None
    burst = tx.execute(select(messages).where(cast.is_answered_by(answer.id)).order_by(messages.c.id)).all()
    watermark = conversation_by_id(tx, answer.conversation_id).watermark
    parts = (
        select(sent_parts.c.platform_message_id)
        .where(sent_parts.c.message_id.in_(select(messages.c.id).where(_with_continuations(answer))))
        .order_by(sent_parts.c.message_id, sent_parts.c.ordinal)
    )
    return LastReply(
        id=answer.id,
        session_id=answer.session_id,
        conversation_id=answer.conversation_id,
        persona_id=answer.persona_id,
        persona_name=answer.author_name,
        is_called=cast.calls(tx, burst[-1].id, answer.persona_id),
        kind=MessageKind(answer.kind),
        position=answer.position,
        state=ReplyState(answer.state),
        is_cut=answer.cut,
        text=answer.text if answer.deleted_at is None else "",
        burst=tuple(row.id for row in burst if row.deleted_at is None and row.standing != Standing.REFUSED.value),
        asker_key=burst[-1].author_key,
        asker_platform_message_id=burst[-1].platform_message_id,
        platform_message_ids=tuple(part for (part,) in tx.execute(parts) if part),
        is_in_memory=min(answer.position, *(row.id for row in burst)) <= watermark,
        is_private=any(row.is_private for row in burst),
    )


def supersede(tx: Tx, reply: LastReply) -> None:
    """Take a reply out of every prompt and let its burst be answered again, at the same position."""
    _set_standing(tx, reply, Standing.SUPERSEDED)
    # What was deleted since as well: an answered message in between would part the rest of the burst.
    tx.execute(update(messages).where(cast.is_answered_by(reply.id)).values(answered_by=None))
    cast.take_back_answer(tx, reply.id)
    raise_generations(tx, reply.session_id)


def undo(tx: Tx, reply: LastReply) -> None:
    """Take a burst and its reply out of every prompt; what others of a cast have answered as well stays with theirs."""
    _set_standing(tx, reply, Standing.UNDONE)
    said = and_(messages.c.id.in_(reply.burst), not_(cast.HAS_LIVE_ANSWER))
    tx.execute(update(messages).where(said).values(standing=Standing.UNDONE.value))
    raise_generations(tx, reply.session_id)


def _set_standing(tx: Tx, reply: LastReply, standing: Standing) -> None:
    row = tx.execute(select(messages).where(messages.c.id == reply.id)).one()
    ids = tx.execute(select(messages.c.id).where(_with_continuations(row))).scalars().all()
    its_tools = (messages.c.kind == MessageKind.TOOL.value, messages.c.answered_by.in_(ids))
    for rows in ((messages.c.id.in_(ids),), its_tools):
        tx.execute(update(messages).where(*rows).values(standing=standing.value))
    speakers = select(messages.c.conversation_id, messages.c.persona_id).where(messages.c.id.in_(ids)).distinct()
    for conversation_id, persona_id in tx.execute(speakers).all():
        take_back_mood(tx, conversation_id, persona_id, row.position)


def _answers_somebody() -> ColumnElement[bool]:
    """Whether a reply has a burst; its tool rounds refer to it as well."""
    asked = messages.alias()
    return or_(exists().where(asked.c.answered_by == messages.c.id, asked.c.addressed), cast.IS_ANSWER)


def _with_continuations(answer: Row[Any]) -> ColumnElement[bool]:
    """The answer and what followed from it at the same position: what /continue added to it, and what others of a cast
    said to it.
    """
    is_its_own = messages.c.conversation_id == answer.conversation_id
    return and_(
        messages.c.session_id == answer.session_id,
        messages.c.position == answer.position,
        or_(is_its_own, not_(_answers_somebody())),
        messages.c.kind.in_((MessageKind.REPLY.value, MessageKind.NOTICE.value)),
        messages.c.id >= answer.id,
    )
