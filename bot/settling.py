"""Stores how a turn ended: its reply with the tool rounds, and what the calls cost, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from bot.prompt.messages import ToolExchange, rows_of
from bot.store import closing, ledger, lore, replies, rounds
from bot.store.database import Tx
from bot.store.ledger import CallRecord
from bot.store.replies import NewReply, Settled, ToolResult, ToolRound
from bot.store.tables import MessageKind
from bot.store.window import Measured, Size
from bot.turn import Turn


def new_reply(turn: Turn, kind: MessageKind) -> NewReply:
    """The reply of a turn, before anything of it is known."""
    return NewReply(
        session=turn.session,
        conversation_id=turn.conversation_id,
        persona_id=turn.persona_id,
        persona_name=turn.persona_name,
        position=turn.position,
        burst=turn.burst,
        kind=kind,
        told_key=turn.asker.key or None if turn.raises is not None else None,
        lore=turn.lore_state.dump() if turn.lore_state is not None else None,
    )


def tool_round(exchange: ToolExchange, count: Callable[[str], int]) -> ToolRound:
    """A round of tools as it is kept."""
    return ToolRound(
        calls=exchange.calls,
        results=tuple(
            ToolResult(call_id=call.id, tool_name=call.name, text=result, tokens=count(result))
            for call, result in zip(exchange.calls, exchange.results, strict=True)
        ),
        call_tokens=sum(count(call.name + call.arguments) for call in exchange.calls),
    )


def answer_rows(
    turn: Turn, text: str, exchanges: Sequence[ToolExchange], count: Callable[[str], int]
) -> tuple[Measured, ...]:
    """What the next prompt has of a turn besides the messages that it read: its tool rounds and what it said."""
    said = Size(position=turn.position, kind=MessageKind.REPLY, author_key=None, addressed=False, tokens=count(text))
    return (*rows_of(turn, exchanges, count), said)


def store_settled(
    tx: Tx, reply_id: int | None, new: NewReply, settled: Settled, calls: list[CallRecord], now: datetime
) -> None:
    """What was said, in the reply's row or, where nothing was shown before, in a new one."""
    if reply_id is None:
        reply_id = replies.begin_reply(tx, new, now)
    replies.settle_reply(tx, reply_id, settled, now)
    if settled.rounds or new.kind is MessageKind.NOTICE:
        rounds.forget_rounds(tx, new.conversation_id, new.burst)
    if new.lore is not None and settled.text:
        lore.save_state(tx, new.conversation_id, new.lore)
    ledger.record_calls(tx, calls, now)


def store_unshown(
    tx: Tx, closed: NewReply | None, taken_back: int | None, calls: list[CallRecord], now: datetime
) -> None:
    """No word was shown: a reply is taken back that was begun, and a burst is closed that nobody waits for."""
    if taken_back is not None:
        replies.take_back(tx, taken_back)
    if closed is not None:
        closing.close_burst(tx, closed, now)
        rounds.forget_rounds(tx, closed.conversation_id, closed.burst)
    ledger.record_calls(tx, calls, now)
