"""Replies: begun before the first thing is shown, settled when the platform has it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, bindparam, delete, insert, select, update

from bot.chat import ChannelRef, SentPart
from bot.llm.model import ToolCall
from bot.store import cast
from bot.store.conversations import (
    hear_burst,
    next_position,
)
from bot.store.database import Tx
from bot.store.parts import begin_parts, forget_parts, mark_cut_off_parts, newest_part, settle_parts, worst_state
from bot.store.privacy import forget_asked
from bot.store.sessions import SessionRow, session_by_id
from bot.store.tables import (
    SENDING,
    MessageKind,
    ReplyState,
    Standing,
    conversations,
    messages,
    sessions,
)
from bot.store.window import LIVE, SHOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class NewReply:
    """What is known of a reply before anything of it is shown."""

    session: SessionRow
    conversation_id: int
    persona_id: str
    persona_name: str
    position: int
    burst: tuple[int, ...]
    kind: MessageKind = MessageKind.REPLY
    """NOTICE when the burst is answered by telling of a failure, which no prompt may read."""
    told_key: str | None = None
    """To whom it is said unasked."""
    lore: Mapping[str, Sequence[int]] | None = None
    """What the conversation remembers of lore once this is said, where that changes."""


_REPLY = MessageKind.REPLY.value
# Statements of the hot path are made once: building one costs more than running it.
_INSERT = insert(messages)
# Where a conversation is told now: its place may have moved while the model was thinking (T23).
_SPOT = (
    select(sessions.c.id, sessions.c.place_key, conversations.c.watermark)
    .join(conversations, conversations.c.session_id == sessions.c.id)
    .where(conversations.c.id == bindparam("conversation_id"))
)
_SETTLE = update(messages).where(messages.c.id == bindparam("reply_id"))
_ANSWERED = update(messages).where(
    messages.c.id.in_(bindparam("burst", expanding=True)), messages.c.answered_by.is_(None), cast.ALL_HAVE_ANSWERED
)


def begin_reply(tx: Tx, new: NewReply, now: datetime) -> int:
    """Insert the reply row and mark its burst answered: the transaction before the first visible request (R2, S16)."""
    reply_id = insert_reply(tx, new, ReplyState.SENDING, now)
    begin_parts(tx, reply_id)
    return reply_id


def insert_reply(tx: Tx, new: NewReply, state: ReplyState, now: datetime) -> int:
    """Insert a reply's row and mark its burst answered; returns its id."""
    reply_id = next_position(tx)
    spot = tx.execute(_SPOT, {"conversation_id": new.conversation_id}).one()
    row = {
        "id": reply_id,
        "session_id": spot.id,
        "conversation_id": new.conversation_id,
        # What it answered may have moved into memory since it was asked to go on; behind the watermark nobody would
        # ever read it.
        "position": max(new.position, spot.watermark + 1),
        "place_key": spot.place_key,
        "visibility": new.session.channel.visibility.value,
        "author_name": new.persona_name,
        "persona_id": new.persona_id,
        "told_key": new.told_key,
        "kind": new.kind.value,
        "text": "",
        "quote": "",
        "addressed": False,
        "state": state.value,
        "standing": Standing.LIVE.value,
        "cut": False,
        "tokens": 0,
        "sent_at": now,
    }
    tx.execute(_INSERT, row)
    if new.burst:
        cast.answer(tx, new.burst, new.persona_id, reply_id)
        tx.execute(_ANSWERED, {"burst": new.burst, "answered_by": reply_id})
        hear_burst(tx, new.conversation_id, new.burst)
    return reply_id


def take_back(tx: Tx, reply_id: int) -> None:
    """A reply of which nothing was shown has never begun: its burst waits for an answer again (S13)."""
    tx.execute(update(messages).where(messages.c.answered_by == reply_id).values(answered_by=None))
    cast.take_back_answer(tx, reply_id)
    forget_parts(tx, reply_id)
    tx.execute(delete(messages).where(messages.c.id == reply_id))


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """What came back of one call."""

    call_id: str
    tool_name: str
    text: str
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRound:
    """One round of the tool loop: what the model called and what came back, stored as one group."""

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    call_tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """How a reply ended."""

    text: str
    tokens: int
    parts: tuple[SentPart, ...]
    cut: bool = False
    rounds: tuple[ToolRound, ...] = ()


def settle_reply(tx: Tx, reply_id: int, settled: Settled, now: datetime) -> None:
    """Store the final text, its tool rounds and what the platform said about each part; nothing of a reply to somebody
    who was forgotten meanwhile.
    """
    state = worst_state(settled.parts)
    values = {"text": settled.text, "tokens": settled.tokens, "state": state.value, "cut": settled.cut, "sent_at": now}
    if not tx.execute(_SETTLE, {"reply_id": reply_id, **values}).rowcount:
        return
    settle_parts(tx, reply_id, settled.parts)
    for tool_round in settled.rounds:
        _store_round(tx, reply_id, tool_round, now)
    forget_asked(tx, reply_id)


def _store_round(tx: Tx, reply_id: int, tool_round: ToolRound, now: datetime) -> None:
    reply = tx.execute(select(messages).where(messages.c.id == reply_id)).one()
    shared = {
        "session_id": reply.session_id,
        "conversation_id": reply.conversation_id,
        "position": reply.position,
        "place_key": reply.place_key,
        "visibility": reply.visibility,
        "author_name": reply.author_name,
        "persona_id": reply.persona_id,
        "kind": MessageKind.TOOL.value,
        "standing": Standing.LIVE.value,
        "answered_by": reply_id,
        "addressed": False,
        "cut": False,
        "quote": "",
        "sent_at": now,
    }
    calls = json.dumps([{"id": call.id, "name": call.name, "arguments": call.arguments} for call in tool_round.calls])
    tx.execute(insert(messages).values(**shared, text="", tool_calls=calls, tokens=tool_round.call_tokens))
    for result in tool_round.results:
        came_back = {"tool_call_id": result.call_id, "tool_name": result.tool_name, "tokens": result.tokens}
        tx.execute(insert(messages).values(**shared, text=result.text, **came_back))


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenOff:
    """An answer that a crash cut off, of which somebody who waits for it has seen a part."""

    reply_id: int
    channel: ChannelRef
    newest: SentPart
    """Its last message that is known."""
    asker_locale: str | None


def broken_off(tx: Tx, since: datetime) -> list[BrokenOff]:
    """Those that were being sent to people when the last run ended, begun since then; to be asked for before
    `mark_interrupted`.
    """
    begun = select(messages.c.id, messages.c.session_id).where(
        messages.c.id.in_(select(messages.c.id).where(SENDING)),
        messages.c.kind == _REPLY,
        messages.c.sent_at >= since,
    )
    found = (_broken_off(tx, row.id, row.session_id) for row in tx.execute(begun.order_by(messages.c.id)).all())
    return [*filter(None, found)]


def _broken_off(tx: Tx, reply_id: int, session_id: int) -> BrokenOff | None:
    newest = newest_part(tx, reply_id)
    asked = select(messages).where(cast.is_answered_by(reply_id)).order_by(messages.c.id.desc())
    asker = tx.execute(asked.limit(1)).first()
    if newest is None or asker is None or asker.author_is_bot:
        return None
    channel = session_by_id(tx, session_id).channel
    return BrokenOff(reply_id=reply_id, channel=channel, newest=newest, asker_locale=asker.author_locale)


def mark_interrupted(tx: Tx) -> int:
    """After a crash: replies that were being sent are uncertain, and never sent again by themselves (S16)."""
    mark_cut_off_parts(tx)
    return tx.execute(update(messages).where(SENDING).values(state=ReplyState.UNCERTAIN.value)).rowcount


def position_to_follow(tx: Tx, reply_id: int, persona_id: str) -> int | None:
    """Where an answer to another persona's reply stands; `None` when the reply is taken back, or when the persona has
    spoken since.
    """
    reply = tx.execute(select(messages).where(messages.c.id == reply_id, LIVE, SHOWN)).first()
    if reply is None:
        return None
    since = and_(messages.c.session_id == reply.session_id, messages.c.position >= reply.position)
    spoke = and_(messages.c.id > reply_id, messages.c.persona_id == persona_id, messages.c.kind == _REPLY, LIVE)
    return None if tx.execute(select(messages.c.id).where(since, spoke).limit(1)).first() else int(reply.position)
