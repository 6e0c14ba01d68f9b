"""The ledger of model calls, what endpoints refused, and small facts about ourselves."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import delete, insert, select

from bot.llm.model import Usage
from bot.store.database import Tx
from bot.store.tables import model_calls, remembered


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecord:
    """One model call as the ledger keeps it."""

    purpose: str
    model: str
    outcome: str
    session_id: int | None = None
    conversation_id: int | None = None
    persona_id: str | None = None
    author_key: str | None = None
    usage: Usage | None = None
    estimated_tokens: int = 0
    first_token_ms: int = 0
    total_ms: int = 0


def record_call(tx: Tx, call: CallRecord, now: datetime) -> None:
    """Add a call to the ledger."""
    values = {name: getattr(call, name) for name in call.__slots__ if name != "usage"}
    usage = asdict(call.usage) if call.usage is not None else {}
    tx.execute(insert(model_calls).values(**values, **usage, at=now))


def recall(tx: Tx, name: str) -> str | None:
    """A remembered fact about ourselves."""
    return tx.execute(select(remembered.c.value).where(remembered.c.name == name)).scalar()


def remember(tx: Tx, name: str, value: str) -> None:
    """Keep a fact about ourselves, replacing the former one."""
    tx.execute(delete(remembered).where(remembered.c.name == name))
    tx.execute(insert(remembered).values(name=name, value=value))
