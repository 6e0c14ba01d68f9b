"""Rounds of tools of answers that are being made: a crash must not make a tool run twice. What was answered has its
rounds among the messages, and none here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from sqlalchemy import Column, Integer, Text, delete, insert, select
from sqlmodel import Field, SQLModel

from bot.store.database import Tx
from bot.store.tables import UNANSWERED, core, messages
from bot.store.window import LIVE


class RunningRound(SQLModel, table=True):
    """What a model called for a message that is not answered yet, and what came back, as JSON."""

    __tablename__: ClassVar[str] = "running_round"

    id: int | None = Field(default=None, primary_key=True)
    conversation_id: int
    message_id: int = Field(sa_column=Column(Integer, nullable=False, index=True))
    """The last message of the burst that it was called for."""
    exchange: str = Field(sa_column=Column(Text, nullable=False))


running_rounds = core(RunningRound)


def keep_round(tx: Tx, conversation_id: int, message_id: int, exchange: dict[str, Any]) -> None:
    """Keep a round that has ended, until its answer is stored."""
    values = {"conversation_id": conversation_id, "message_id": message_id, "exchange": json.dumps(exchange)}
    tx.execute(insert(running_rounds).values(values))


def kept_rounds(tx: Tx, conversation_id: int, burst: Sequence[int]) -> list[dict[str, Any]]:
    """The rounds that ended for a burst before its answer was cut off, in order."""
    mine = (running_rounds.c.conversation_id == conversation_id, running_rounds.c.message_id.in_(burst))
    rows = tx.execute(select(running_rounds.c.exchange).where(*mine).order_by(running_rounds.c.id))
    return [json.loads(exchange) for exchange in rows.scalars()]


def forget_rounds(tx: Tx, conversation_id: int, burst: Sequence[int]) -> None:
    """The answer to a burst is stored with its rounds, or nobody waits for it."""
    mine = (running_rounds.c.conversation_id == conversation_id, running_rounds.c.message_id.in_(burst))
    tx.execute(delete(running_rounds).where(*mine))


def forget_unwanted_rounds(tx: Tx) -> None:
    """At a start: forget those of messages that wait for no answer, such as deleted ones."""
    waiting = select(messages.c.id).where(UNANSWERED, LIVE)
    tx.execute(delete(running_rounds).where(running_rounds.c.message_id.not_in(waiting)))
