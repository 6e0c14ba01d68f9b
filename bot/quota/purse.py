"""Holds spending to the limits: reserves what a call may cost before it is made, and counts what it did cost after it.

Everything a model may be asked goes through `spend`, so that nobody overspends with many asking at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from typing import Literal

import structlog

from bot.llm.model import Attempt, Bill, Completion, ModelError, ModelEvent, ModelRequest, TextDelta
from bot.llm.tariffs import FREE, Tariff
from bot.quota.limits import Limit, Whose, told_amount, told_until
from bot.quota.purposes import RULES
from bot.quota.rate import Admission
from bot.quota.ruling import ADMITTED, OverBudget, Ruling
from bot.store import budgets
from bot.store.budgets import TOKENS, Counter, Reservation
from bot.store.database import Database, Tx

log = structlog.get_logger(__name__)

RESERVED_FOR = timedelta(minutes=30)
"""How long a reservation outlives a process that died in a call; longer than any call may take."""


@dataclass(slots=True)
class Spending:
    """A call that is reserved for, and what it has spent so far."""

    bill: Bill
    model: str
    moment: datetime
    input_tokens: int
    reservation: int | None = None
    tokens: int = 0
    cost: int = 0
    currency: str | None = None
    said: list[str] = field(default_factory=list)
    is_open: bool = True
    """Whether what came so far may have to be paid, although nobody has said how much that is."""

    def see(self, event: ModelEvent) -> None:
        """Count what an event tells."""
        if isinstance(event, TextDelta):
            self.said.append(event.text)
        elif isinstance(event, Attempt | Completion) and (usage := event.usage) is not None:
            if isinstance(event, Completion):
                self.is_open = not usage.input_tokens  # some servers count it as 0; then all is estimated
            if isinstance(event, Attempt) or not self.is_open:
                self.tokens += usage.input_tokens + usage.output_tokens
                self.cost += usage.cost or 0
                self.currency = usage.currency or self.currency


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How a limit stands: what was spent of it, in tokens or in a currency."""

    limit: Limit
    spent: int
    unit: str
    until: datetime


class Purse:
    """The limits by day and month, in a time zone. `tariff_of` tells what a model costs, `None` = nobody knows."""

    def __init__(
        self,
        *,
        db: Database,
        limits: Sequence[Limit],
        warn_at: float,
        zone: tzinfo,
        tariff_of: Callable[[str], Tariff | None],
        count: Callable[[str], int],
        now: Callable[[], datetime],
    ) -> None:
        self._db, self._limits, self._warn_at, self._zone = db, limits, warn_at, zone
        self._tariff_of, self._count, self._now = tariff_of, count, now

    def rule(self, tx: Tx, bill: Bill, model: str, *, fallbacks: Sequence[str] = (), warns: bool = True) -> Ruling:
        """Whether a question may lead to a call of a model at all, or of a fallback that costs nothing, before anything
        is made of it.
        """
        moment, warned = self._moment(), list[tuple[Limit, Counter, int]]()
        for limit, unit in self._binding(bill, model):
            counter = _counter(limit, unit, bill, moment)
            spent = budgets.spent(tx, counter) if unit else 0
            if not unit or spent >= limit.most:
                if self._has_stand_in(tx, limit, bill, fallbacks):
                    return ADMITTED  # whoever makes the request hears of it
                return self._refusal(tx, limit, counter, bill, model)
            if warns and bill.is_awaited and self._warn_at < 1 and spent >= limit.most * self._warn_at:
                warned.append((limit, counter, spent * 100 // limit.most))
        for limit, counter, percent in warned:
            if budgets.tell_once(tx, _listener(limit, bill), limit.name, counter.period, "soft"):
                facts = self._facts(limit, counter, model) | {"percent": percent}
                return Ruling(Admission.ADMITTED, f"quota-soft-{limit.whose}", facts)
        return ADMITTED

    def may_spend(self, tx: Tx, bill: Bill, models: Sequence[str], *, tokens: int) -> bool:
        """Whether every limit has room for so much to be written by the first of some models, or by another one that
        costs nothing; nobody is told.
        """
        free = (model for model in models[1:] if self._tariff_of(model) == FREE)
        return any(self._has_room(tx, bill, model, tokens) for model in (models[0], *free))

    def _has_room(self, tx: Tx, bill: Bill, model: str, tokens: int) -> bool:
        moment, tariff = self._moment(), self._tariff_of(model) or FREE
        cost = tariff.cost_of(input_tokens=0, output_tokens=tokens)
        return all(
            unit
            and _taken(tx, _counter(limit, unit, bill, moment)) + (cost if limit.is_money else tokens) <= limit.most
            for limit, unit in self._binding(bill, model)
        )

    @asynccontextmanager
    async def spend(self, request: ModelRequest) -> AsyncGenerator[Spending, None]:
        """Reserve for a call as long as it takes, and count what came of it. Nobody waits for the counting.

        Raises:
            OverBudget: a limit has no room for it.
        """
        bill = request.bill or Bill(place_key="")
        asked = bill.input_tokens or await asyncio.to_thread(self._size, request)
        spending = Spending(bill, request.model, self._moment(), asked)
        if refusal := await self._reserve_for(spending, request):
            raise refusal
        try:
            yield spending
        except ModelError:
            spending.is_open = bool(spending.said)
            raise
        finally:
            self._db.post(self._settle, spending)

    async def _reserve_for(self, spending: Spending, request: ModelRequest) -> OverBudget | None:
        """Hold what a call may cost, or tell why not. Whoever is cancelled meanwhile makes none."""
        try:
            return await self._db.run(self._reserve, spending, request)
        except asyncio.CancelledError:
            self._db.post(_let_go, spending)  # behind what may have been begun
            raise

    def standings(self, tx: Tx, bill: Bill, whose: Whose) -> list[Standing]:
        """How the limits of somebody stand."""
        moment, found = self._moment(), list[Standing]()
        for limit in self._limits:
            if limit.whose is not whose or not _binds(limit, bill):
                continue
            counter, until = _counter(limit, TOKENS, bill, moment), limit.period.end(moment)
            sums = budgets.spent_money(tx, counter) if limit.is_money else {TOKENS: budgets.spent(tx, counter)}
            sums = sums or {"": 0}  # no money was spent yet, in whichever currency
            found += [Standing(limit=limit, spent=sums[unit], unit=unit, until=until) for unit in sums]
        return found

    def _moment(self) -> datetime:
        return self._now().astimezone(self._zone)

    def _binding(self, bill: Bill, model: str) -> Iterator[tuple[Limit, str]]:
        """The limits that a call counts against, each with its unit; "" where the price of the model is unknown."""
        tariff = self._tariff_of(model)
        for limit in self._limits:
            if _binds(limit, bill) and not (limit.is_money and tariff == FREE):
                yield limit, TOKENS if not limit.is_money else (tariff.currency or "") if tariff else ""

    def _reserve(self, tx: Tx, spending: Spending, request: ModelRequest) -> OverBudget | None:
        bill, model, moment, asked = spending.bill, spending.model, spending.moment, spending.input_tokens
        most = request.max_output_tokens
        tariff = self._tariff_of(model) or FREE
        cost = tariff.cost_of(input_tokens=asked, output_tokens=most)
        budgets.drop_expired(tx, moment)
        if bill.is_exempt:
            self._open_all(tx, replace(bill, is_exempt=False), model, moment)
        for limit, unit in self._binding(bill, model):
            counter = _counter(limit, unit, bill, moment)
            wanted = cost if limit.is_money else asked + most
            has_room = unit and budgets.open_counter(tx, counter) + budgets.held(tx, counter) + wanted <= limit.most
            if not has_room and RULES[bill.purpose].may_refuse:
                stands_in = self._has_stand_in(tx, limit, bill, request.fallbacks)
                refusal = self._refusal(tx, limit, counter, bill, model, kind="instead" if stands_in else "hard")
                return OverBudget(model, refusal, may_stand_in=stands_in)
        if not RULES[bill.purpose].whose:
            return None
        reservation = Reservation(
            author_key=None if bill.is_exempt else bill.author_key,
            place_key="" if bill.is_exempt else bill.place_key,
            tokens=asked + most,
            cost=cost,
            currency=tariff.currency,
            expires_at=moment + RESERVED_FOR,
        )
        spending.reservation = budgets.reserve(tx, reservation)
        return None

    def _has_stand_in(self, tx: Tx, limit: Limit, bill: Bill, models: Sequence[str]) -> bool:
        """Whether one of some models costs nothing of a limit, and what else limits it is not used up."""
        if not limit.is_money:
            return False
        moment, free = self._moment(), [model for model in models if self._tariff_of(model) == FREE]
        return any(
            all(budgets.spent(tx, _counter(other, unit, bill, moment)) < other.most for other, unit in binding)
            for binding in (tuple(self._binding(bill, model)) for model in free)
        )

    def _open_all(self, tx: Tx, bill: Bill, model: str, moment: datetime) -> None:
        """Begin to count before somebody spends whose calls do not count: the ledger would not tell them apart."""
        for limit, unit in self._binding(bill, model):
            if unit:
                budgets.open_counter(tx, _counter(limit, unit, bill, moment))

    def _settle(self, tx: Tx, spending: Spending) -> None:
        if spending.is_open:
            self._estimate(spending)
        bill = _release(tx, spending)
        counted = list[tuple[Counter, int]]()
        for limit in self._limits:
            unit = spending.currency if limit.is_money else TOKENS
            if unit and _binds(limit, bill):
                counter = _counter(limit, unit, bill, spending.moment)
                counted.append((counter, spending.cost if limit.is_money else spending.tokens))
        budgets.add(tx, counted)

    def _estimate(self, spending: Spending) -> None:
        """Of a call that was broken off, or whose server does not count, by what was sent and what was written."""
        written = self._count("".join(spending.said))
        tariff = self._tariff_of(spending.model) or FREE
        spending.tokens += spending.input_tokens + written
        spending.cost += tariff.cost_of(input_tokens=spending.input_tokens, output_tokens=written)
        spending.currency = spending.currency or tariff.currency

    def _refusal(
        self,
        tx: Tx,
        limit: Limit,
        counter: Counter,
        bill: Bill,
        model: str,
        *,
        kind: Literal["hard", "instead"] = "hard",
    ) -> Ruling:
        """No, and whether those who wait are still to be told: a person hears of their own limits, a place of all
        others. "instead" is a no to one model where another one answers.
        """
        is_news = bill.is_awaited and budgets.tell_once(tx, _listener(limit, bill), limit.name, counter.period, kind)
        if is_news and limit.whose is Whose.TOTAL:
            log.warning("quota.total_reached", limit=limit.name, period=counter.period, most=limit.most, model=model)
        notice = f"quota-{kind}-{limit.whose}" if counter.unit else "quota-unpriced"
        admission = Admission.NOTICE if is_news else Admission.SILENT
        return Ruling(admission, notice, self._facts(limit, counter, model))

    def _facts(self, limit: Limit, counter: Counter, model: str) -> dict[str, str | int]:
        until = told_until(limit.period.end(self._moment()))
        if limit.is_money:
            return {"most": told_amount(limit.most), "unit": counter.unit, "until": until, "model": model}
        return {"most": limit.most, "unit": TOKENS, "until": until, "model": model}

    def _size(self, request: ModelRequest) -> int:
        return sum(self._count(message.text) for message in request.messages)


def _let_go(tx: Tx, spending: Spending) -> None:
    _release(tx, spending)


def _release(tx: Tx, spending: Spending) -> Bill:
    """Hold nothing any more; whom the call counts against by now: people may have been forgotten meanwhile, and places
    have got another key.
    """
    if spending.reservation is None:
        return spending.bill
    author_key, place_key = budgets.release(tx, spending.reservation, spending.moment + RESERVED_FOR)
    return replace(spending.bill, author_key=author_key, place_key=place_key)


def _taken(tx: Tx, counter: Counter) -> int:
    return budgets.spent(tx, counter) + budgets.held(tx, counter)


def _binds(limit: Limit, bill: Bill) -> bool:
    """Whether a limit counts for whoever is billed. Those who are exempt have only the whole to share."""
    if limit.whose not in RULES[bill.purpose].whose:
        return False
    match limit.whose:
        case Whose.PERSON:
            return bill.author_key is not None and not bill.is_exempt
        case Whose.PLACE:
            return bool(bill.place_key) and not bill.is_exempt
        case Whose.TOTAL:
            return True


def _key(limit: Limit, bill: Bill) -> str:
    return {Whose.PERSON: bill.author_key or "", Whose.PLACE: bill.place_key, Whose.TOTAL: ""}[limit.whose]


def _listener(limit: Limit, bill: Bill) -> str:
    return bill.author_key or "" if limit.whose is Whose.PERSON else bill.place_key


def _counter(limit: Limit, unit: str, bill: Bill, moment: datetime) -> Counter:
    return Counter(
        scope=limit.whose.value,
        key=_key(limit, bill),
        period=limit.period.name_at(moment),
        unit=unit,
        since=limit.period.begin(moment),
    )
