"""The tables of what models were asked and what that costs: the ledger, and the counters of limits, which go along when
a place or a person gets another key (T09, T11, T23).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table, Text, delete, func, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlmodel import SQLModel

from bot.store.database import Tx
from bot.store.tables import UtcDateTime

HELD_BACK = "quota"
"""The outcome of a call that a limit had no room for: nobody was asked."""

model_calls = Table(
    # One call to a model: what for, how many tokens, how long, how it ended, and what it cost.
    "model_call",
    SQLModel.metadata,
    Column("id", Integer, primary_key=True),
    Column("purpose", String, nullable=False),
    Column("session_id", Integer, index=True),
    Column("conversation_id", Integer),
    Column("persona_id", String),
    Column("author_key", String),  # who had asked; nobody once that person is forgotten
    Column("model", String, nullable=False),
    Column("input_tokens", Integer),  # as the server counted; null with output tokens = all of it is estimated
    Column("cached_tokens", Integer),
    Column("output_tokens", Integer),
    Column("reasoning_tokens", Integer),
    Column("cost", BigInteger),  # in billionths of `currency`; null = nobody knows the price
    Column("currency", String),  # null where it costs nothing
    Column("estimated_tokens", Integer, nullable=False),
    Column("prompt_usage", Text),  # JSON: what it filled, part by part
    Column("prefix_break", String),  # why it did not begin with its predecessor
    Column("first_token_ms", Integer, nullable=False),
    Column("total_ms", Integer, nullable=False),
    Column("outcome", String, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index("ix_model_call_at", "at"),
    Index("ix_model_call_author", "author_key", "at"),
)

budgets = Table(
    # What was spent of a limit in a day or a month: tokens, or billionths of a currency.
    "budget",
    SQLModel.metadata,
    Column("scope", String, primary_key=True),
    Column("scope_key", String, primary_key=True),
    Column("period", String, primary_key=True),
    Column("unit", String, primary_key=True),
    Column("spent", BigInteger, nullable=False),
)

reservations = Table(
    # What calls under way may come to spend. One whose process died counts until it expires.
    "reservation",
    SQLModel.metadata,
    Column("id", Integer, primary_key=True),
    Column("author_key", String),
    Column("place_key", String, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("cost", BigInteger, nullable=False),
    Column("currency", String),
    Column("expires_at", UtcDateTime, nullable=False),
)

quota_notices = Table(
    # That a person or a place was told of a limit in a day or a month: nobody is told twice (X10).
    "quota_notice",
    SQLModel.metadata,
    Column("listener", String, primary_key=True),
    Column("limit", String, primary_key=True),
    Column("period", String, primary_key=True),
    Column("kind", String, primary_key=True),
)

tokens_read = func.coalesce(
    model_calls.c.input_tokens, func.iif(model_calls.c.output_tokens.is_not(None), model_calls.c.estimated_tokens, 0)
)
"""Of a call: as its server counted, else as we did; nothing of one that failed."""

_RESERVED_FOR = {"person": reservations.c.author_key, "place": reservations.c.place_key}
_INSERT = insert(budgets)
ADD_SPENT = _INSERT.on_conflict_do_update(
    index_elements=[*budgets.primary_key], set_={"spent": budgets.c.spent + _INSERT.excluded.spent}
)
"""Adds to a counter, or begins one."""


def move_spender(tx: Tx, old_key: str, new_key: str) -> None:
    """A place, or whoever was known by one key, has another from now on (T09, T11, T23)."""
    for scope in _RESERVED_FOR:
        move_spent(tx, scope, old_key, new_key)


def move_spent(tx: Tx, scope: str, old_key: str, new_key: str) -> None:
    """What a person, or a place, has spent counts under another key: who speaks in a chat's own name has its key."""
    mine = (budgets.c.scope == scope, budgets.c.scope_key == old_key)
    for row in tx.execute(select(budgets).where(*mine)).all():
        tx.execute(ADD_SPENT, {**row._asdict(), "scope_key": new_key})
    tx.execute(delete(budgets).where(*mine))
    told = update(quota_notices).prefix_with("OR REPLACE").where(quota_notices.c.listener == old_key)
    tx.execute(told.values(listener=new_key))
    column = _RESERVED_FOR[scope]
    tx.execute(update(reservations).where(column == old_key).values({column.name: new_key}))
