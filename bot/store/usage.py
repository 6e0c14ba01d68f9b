"""What the ledger adds up to: calls, tokens and money since a moment, of whom, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Row, Select, func, select

from bot.store.database import Tx
from bot.store.ledger_tables import HELD_BACK, model_calls, tokens_read
from bot.store.tables import conversations, messages, sessions

By = Literal["purpose", "model", "persona", "person", "place"]

_here = model_calls.c
_persona = func.coalesce(_here.persona_id, conversations.c.persona_id)
"""Whose conversation it was: notes are taken for one, too."""
_COLUMNS: Mapping[By, Any] = {
    "purpose": _here.purpose,
    "model": _here.model,
    "persona": _persona,
    "person": _here.author_key,
    "place": sessions.c.place_key,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sum:
    """What calls of one kind come to. Tokens that a server did not count are those that we did."""

    label: str | None
    """A purpose, a model, or the key of a persona, person or place; `None` where there is none."""
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    money: Mapping[str, int] = field(default_factory=dict)
    """Billionths by currency."""
    unpriced: int = 0
    """How many of the calls cost something that nobody knows."""
    estimated: int = 0
    """Of how many the cost is estimated: they were broken off, or their server does not count."""

    def __add__(self, other: Sum) -> Sum:
        """Both together, under the label of the first."""
        currencies = {*self.money, *other.money}
        return Sum(
            label=self.label,
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            money={one: self.money.get(one, 0) + other.money.get(one, 0) for one in sorted(currencies)},
            unpriced=self.unpriced + other.unpriced,
            estimated=self.estimated + other.estimated,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """Whose calls count: all since a moment, or those that somebody asked for, in one place, by one persona."""

    since: datetime
    author_key: str | None = None
    place_key: str | None = None
    persona_id: str | None = None


def sums_of(tx: Tx, reach: Reach, by: By) -> list[Sum]:
    """The sums by something, the largest first."""
    found: dict[str | None, Sum] = {}
    for row in tx.execute(_select(reach, by)):
        found[row.label] = found.get(row.label, Sum(label=row.label)) + _to_sum(row)
    return sorted(found.values(), key=lambda one: one.input_tokens + one.output_tokens, reverse=True)


def total_of(sums: list[Sum]) -> Sum:
    """All together."""
    return sum(sums, Sum(label=None))


def name_of_person(tx: Tx, author_key: str) -> str:
    """What somebody was called when they last spoke; their key where nothing is kept of that."""
    newest = select(messages.c.author_name).where(messages.c.author_key == author_key).order_by(messages.c.id.desc())
    return tx.execute(newest.limit(1)).scalar() or author_key


def name_of_place(tx: Tx, place_key: str) -> str:
    """What a place is called; its key where it has no name."""
    named = select(func.max(sessions.c.place_name)).where(sessions.c.place_key == place_key)
    return tx.execute(named).scalar() or place_key


def _select(reach: Reach, by: By) -> Select[Any]:
    column = _COLUMNS[by]
    is_unpriced = _here.cost.is_(None) & _here.output_tokens.is_not(None)
    is_estimated = (_here.cost > 0) & _here.input_tokens.is_(None)
    asked = select(
        column.label("label"),
        _here.currency,
        func.count().label("calls"),
        func.sum(tokens_read).label("input_tokens"),
        func.sum(func.coalesce(_here.cached_tokens, 0)).label("cached_tokens"),
        func.sum(func.coalesce(_here.output_tokens, 0)).label("output_tokens"),
        func.sum(func.coalesce(_here.cost, 0)).label("cost"),
        func.sum(func.iif(is_unpriced, 1, 0)).label("unpriced"),
        func.sum(func.iif(is_estimated, 1, 0)).label("estimated"),
    )
    where = model_calls.outerjoin(sessions, sessions.c.id == _here.session_id)
    asked = asked.select_from(where.outerjoin(conversations, conversations.c.id == _here.conversation_id))
    asked = asked.where(_here.at >= reach.since, _here.outcome != HELD_BACK).group_by(column, _here.currency)
    if reach.author_key is not None:
        asked = asked.where(_here.author_key == reach.author_key)
    if reach.place_key is not None:
        asked = asked.where(sessions.c.place_key == reach.place_key)
    if reach.persona_id is not None:
        asked = asked.where(_persona == reach.persona_id)
    return asked


def _to_sum(row: Row[Any]) -> Sum:
    return Sum(
        label=row.label,
        calls=row.calls,
        input_tokens=row.input_tokens,
        cached_tokens=row.cached_tokens,
        output_tokens=row.output_tokens,
        money={row.currency: row.cost} if row.currency is not None else {},
        unpriced=row.unpriced,
        estimated=row.estimated,
    )
