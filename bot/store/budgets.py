"""What was spent of limits in a day or a month, and what calls under way may still spend. Knows no limit.

A counter begins with what the ledger has of its period, so that a limit which is set today counts since its first day.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, func, select
from sqlalchemy.dialects.sqlite import insert

from bot.store.database import Tx
from bot.store.ledger_tables import ADD_SPENT, budgets, model_calls, quota_notices, reservations, tokens_read
from bot.store.tables import sessions

TOKENS = "tokens"
"""The unit of counters that count no money; the others have the name of their currency."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counter:
    """Whose spending is counted, in which period, in which unit. `scope` is person, place, or total (with no key)."""

    scope: str
    key: str
    period: str
    unit: str
    since: datetime
    """When the period began."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """What a call may come to spend: tokens, and billionths of a currency."""

    author_key: str | None
    place_key: str
    tokens: int
    cost: int
    currency: str | None
    expires_at: datetime


_KEYS = (budgets.c.scope, budgets.c.scope_key, budgets.c.period)
_MINE = tuple(column == bindparam(column.name) for column in _KEYS)
_SPENT = select(budgets.c.spent).where(*_MINE, budgets.c.unit == bindparam("unit"))
_MONEY = select(budgets.c.unit, budgets.c.spent).where(*_MINE, budgets.c.unit != TOKENS)
_INSERT = insert(budgets)
_RESERVE = insert(reservations)
_EXPIRE = delete(reservations).where(reservations.c.expires_at <= bindparam("now"))
_RELEASE = (
    delete(reservations)
    .where(reservations.c.id == bindparam("reservation"), reservations.c.expires_at == bindparam("until"))
    .returning(reservations.c.author_key, reservations.c.place_key)
)
_HELD_COLUMNS = {"person": reservations.c.author_key, "place": reservations.c.place_key}


def _held(amount: ColumnElement[int], scope: str) -> Select[Any]:
    found: Select[Any] = select(func.coalesce(func.sum(amount), 0))
    return found.where(_HELD_COLUMNS[scope] == bindparam("key")) if scope in _HELD_COLUMNS else found


_HELD_TOKENS = {scope: _held(reservations.c.tokens, scope) for scope in ("person", "place", "total")}
_HELD_MONEY = {
    scope: _held(reservations.c.cost, scope).where(reservations.c.currency == bindparam("unit"))
    for scope in ("person", "place", "total")
}


def spent(tx: Tx, counter: Counter) -> int:
    """What was spent, in whole tokens or billionths of the counter's currency; changes nothing."""
    kept: int | None = tx.execute(_SPENT, {**_where(counter), "unit": counter.unit}).scalar()
    return kept if kept is not None else _in_ledger(tx, counter).get(counter.unit, 0)


def spent_money(tx: Tx, counter: Counter) -> dict[str, int]:
    """The same of every currency, whatever the counter's unit is."""
    kept = {row.unit: row.spent for row in tx.execute(_MONEY, _where(counter))}
    return _in_ledger(tx, counter, but=TOKENS) | kept


def open_counter(tx: Tx, counter: Counter) -> int:
    """What was spent; from now on it is counted. Counters of past months are dropped with the first of a new day."""
    kept: int | None = tx.execute(_SPENT, {**_where(counter), "unit": counter.unit}).scalar()
    if kept is not None:
        return kept
    amount = _in_ledger(tx, counter).get(counter.unit, 0)
    tx.execute(_INSERT, {**_where(counter), "unit": counter.unit, "spent": amount})
    past = counter.period[: len("2026-11")]
    tx.execute(delete(budgets).where(budgets.c.period < past))
    tx.execute(delete(quota_notices).where(quota_notices.c.period < past))
    return amount


def add(tx: Tx, counters: Iterable[tuple[Counter, int]]) -> None:
    """Count what was spent."""
    rows = [{**_where(counter), "unit": counter.unit, "spent": amount} for counter, amount in counters if amount]
    if rows:
        tx.execute(ADD_SPENT, rows)


def reserve(tx: Tx, reservation: Reservation) -> int:
    """Hold what a call may spend; returns the reservation's id."""
    values = {name: getattr(reservation, name) for name in reservation.__slots__}
    key = tx.execute(_RESERVE, values).inserted_primary_key
    assert key is not None
    return int(key[0])


def release(tx: Tx, reservation_id: int, expires_at: datetime) -> tuple[str | None, str]:
    """Hold it no longer; the person and the place that it is for by now, as far as they are not forgotten. One that has
    expired is nobody's, and another may have its id.
    """
    row = tx.execute(_RELEASE, {"reservation": reservation_id, "until": expires_at}).first()
    return (row.author_key, row.place_key) if row is not None else (None, "")


def drop_expired(tx: Tx, now: datetime) -> None:
    """Forget what calls held whose process has died."""
    tx.execute(_EXPIRE, {"now": now})


def held(tx: Tx, counter: Counter) -> int:
    """What calls under way may still spend, in the counter's unit."""
    if counter.unit == TOKENS:
        return int(tx.execute(_HELD_TOKENS[counter.scope], {"key": counter.key}).scalar_one())
    return int(tx.execute(_HELD_MONEY[counter.scope], {"key": counter.key, "unit": counter.unit}).scalar_one())


def tell_once(tx: Tx, listener: str, limit: str, period: str, kind: str) -> bool:
    """Whether somebody was not told of a limit in this period yet; from now on they are."""
    told = {"listener": listener, "limit": limit, "period": period, "kind": kind}
    return tx.execute(insert(quota_notices).on_conflict_do_nothing(), told).rowcount > 0


def _where(counter: Counter) -> dict[str, str]:
    return {"scope": counter.scope, "scope_key": counter.key, "period": counter.period}


def _in_ledger(tx: Tx, counter: Counter, *, but: str = "") -> dict[str, int]:
    """What the ledger has since the period began, by unit."""
    here = model_calls.c
    tokens = tokens_read + func.coalesce(here.output_tokens, 0)
    found = select(here.currency, func.sum(tokens), func.sum(func.coalesce(here.cost, 0))).group_by(here.currency)
    found = found.where(here.at >= counter.since)
    if counter.scope == "person":
        found = found.where(here.author_key == counter.key)
    elif counter.scope == "place":
        found = found.where(here.session_id.in_(select(sessions.c.id).where(sessions.c.place_key == counter.key)))
    rows = tx.execute(found).all()
    sums = {TOKENS: sum(row[1] for row in rows)} | {row[0]: row[2] for row in rows if row[0] is not None}
    return {unit: amount for unit, amount in sums.items() if unit != but}
