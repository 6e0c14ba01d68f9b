"""Which limits by day and month there are, and when days and months begin. Pure functions of settings and clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from bot.settings import QuotaSettings

NANOS = 1_000_000_000
"""Money is counted in billionths, so that a single token of the cheapest model is a whole number."""
LEAST_SHOWN = 0.01
"""Of a currency; what is less is shown with so many digits that it is not nothing."""


class Whose(StrEnum):
    """Who shares a limit."""

    PERSON = "person"
    PLACE = "place"
    TOTAL = "total"


class Period(StrEnum):
    """How long one lasts until it begins anew."""

    DAY = "day"
    MONTH = "month"

    def name_at(self, moment: datetime) -> str:
        """Which day or month a moment belongs to, in its own zone: `2026-11-30`, `2026-11`."""
        return f"{moment:%Y-%m-%d}" if self is Period.DAY else f"{moment:%Y-%m}"

    def begin(self, moment: datetime) -> datetime:
        """When it began, by the clocks of the moment's zone."""
        first = moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        return first if self is Period.DAY else first.replace(day=1)

    def end(self, moment: datetime) -> datetime:
        """When the next one begins."""
        return self.begin(self.begin(moment) + timedelta(days=1 if self is Period.DAY else 31))


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """At most so much in each period: tokens, or billionths of each currency that is paid in."""

    whose: Whose
    period: Period
    is_money: bool
    most: int

    @property
    def name(self) -> str:
        """What it is stored by."""
        return f"{self.whose} {'money' if self.is_money else 'tokens'}"


def limits_of(settings: QuotaSettings) -> tuple[Limit, ...]:
    """Those that are set."""
    return tuple(_limits(settings))


def _limits(settings: QuotaSettings) -> Iterator[Limit]:
    budgets = {Whose.PERSON: settings.person, Whose.PLACE: settings.place, Whose.TOTAL: settings.total}
    for whose, budget in budgets.items():
        for period, tokens, money in (
            (Period.DAY, budget.tokens_per_day, budget.money_per_day),
            (Period.MONTH, budget.tokens_per_month, budget.money_per_month),
        ):
            if tokens:
                yield Limit(whose=whose, period=period, is_money=False, most=tokens)
            if money:
                yield Limit(whose=whose, period=period, is_money=True, most=round(money * NANOS))


def told_amount(nanos: int) -> str:
    """Money as people read it."""
    amount = nanos / NANOS
    return f"{amount:,.2f}" if amount >= LEAST_SHOWN or not amount else f"{amount:.2g}"


def told_until(moment: datetime) -> str:
    """A moment as people read it, by the clocks of its zone."""
    return f"{moment:%Y-%m-%d %H:%M} {moment.tzinfo}"
