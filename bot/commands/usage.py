"""/usage: what models were asked, and what that cost: of the caller, here, of a persona, or everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.pages import PAGE, Page, page_of, paged
from bot.errors import UserError
from bot.quota import Period, told_amount
from bot.store.database import Tx
from bot.store.usage import By, Reach, Sum, name_of_person, name_of_place, sums_of, total_of


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    whose: str
    period: str
    by: By


async def show_usage(call: Call, desk: Desk) -> Outbound:
    """`/usage [whose] [period] [-b by] [-p page]`."""
    wanted = _wanted(call)
    await _demand_rights(wanted, call, desk)
    reach = _reach(wanted, call, desk)
    sums = await desk.db.read(sums_of, reach, wanted.by)
    if not sums:
        return desk.say("usage-none", call, period=desk.text(f"usage-{wanted.period}", call.locale))
    page = page_of(sums, call)
    labels = await desk.db.read(_labels, page, wanted.by, call, desk)
    lines = [f"{label}: {_figures(one, call, desk)}" for label, one in zip(labels, page.entries, strict=True)]
    total = total_of(sums)
    facts = _heading_facts(wanted, call, desk)
    pieces = [desk.text(f"usage-{wanted.whose}", call.locale, figures=_figures(total, call, desk), **facts)]
    if total.unpriced:
        pieces.append(desk.text("usage-unpriced", call.locale, count=total.unpriced))
    if total.estimated:
        pieces.append(desk.text("usage-estimated", call.locale, count=total.estimated))
    heading = "\n\n".join(pieces)
    if len(sums) == 1 and BY.name not in call.options:
        return Outbound(text=heading)
    return paged(heading, lines, page, f"usage {wanted.whose} {wanted.period} -b {wanted.by}", call, desk)


def money_words(money: Mapping[str, int]) -> str:
    """Sums in each currency, "1.23 USD + 4.56 CNY"; "" for nothing."""
    return " + ".join(f"{told_amount(nanos)} {currency}".rstrip() for currency, nanos in money.items())


def _wanted(call: Call) -> _Wanted:
    whose = call.options.get(WHOSE.name, "me")
    by = call.options.get(BY.name, BY_DEFAULT[whose])
    return _Wanted(whose=whose, period=call.options.get(PERIOD.name, "month"), by=cast(By, by))


async def _demand_rights(wanted: _Wanted, call: Call, desk: Desk) -> None:
    """What others have asked for is told to those alone who run the bot or manage the place."""
    if wanted.whose == "all" and not desk.policy.is_operator(call.inbound.author):
        raise UserError("usage-all-needs-rights")
    tells_of_others = wanted.by == "person" and wanted.whose in ("here", "persona")
    if tells_of_others and not await desk.may_manage(call, whole_place=True):
        raise UserError("command-needs-rights")


def _reach(wanted: _Wanted, call: Call, desk: Desk) -> Reach:
    place_key = call.inbound.channel.place_key
    since = _begin(wanted.period, call.now.astimezone(ZoneInfo(desk.settings.timezone)))
    match wanted.whose:
        case "me":
            return Reach(since=since, author_key=call.inbound.author.key)
        case "here":
            return Reach(since=since, place_key=place_key)
        case "persona":
            return Reach(since=since, place_key=place_key, persona_id=call.persona_id)
        case _:
            return Reach(since=since)


def _begin(period: str, moment: datetime) -> datetime:
    if period == "week":
        return Period.DAY.begin(moment - timedelta(days=moment.weekday()))
    return Period(period).begin(moment)


def _heading_facts(wanted: _Wanted, call: Call, desk: Desk) -> dict[str, str]:
    persona = desk.library.get(call.persona_id)
    return {
        "period": desk.text(f"usage-{wanted.period}", call.locale),
        "persona": persona.name if persona else call.persona_id,
    }


def _figures(one: Sum, call: Call, desk: Desk) -> str:
    cached = round(100 * one.cached_tokens / one.input_tokens) if one.input_tokens else 0
    facts = {"count": one.calls, "read": one.input_tokens, "cached": cached, "written": one.output_tokens}
    told = desk.text("usage-figures", call.locale, **facts)
    return ", ".join(filter(None, (told, money_words(one.money))))


def _labels(tx: Tx, page: Page[Sum], by: By, call: Call, desk: Desk) -> Sequence[str]:
    word = _words(tx, by, call, desk)
    none = desk.text("usage-nobody", call.locale)
    return [inert(word(one.label)) if one.label else none for one in page.entries]


def _words(tx: Tx, by: By, call: Call, desk: Desk) -> Callable[[str], str]:
    """What entries are called, by what they stand for."""
    match by:
        case "persona":
            return lambda key: persona.name if (persona := desk.library.get(key)) else key
        case "person":
            return lambda key: name_of_person(tx, key)
        case "place":
            return lambda key: name_of_place(tx, key)
        case "purpose":
            known = desk.catalogue.text
            return lambda key: text if (text := known(f"usage-for-{key}", call.locale)) != f"usage-for-{key}" else key
        case "model":
            return lambda key: key


BY_DEFAULT: Mapping[str, str] = {"me": "model", "here": "purpose", "persona": "purpose", "all": "place"}

WHOSE = OptionSpec(name="whose", kind=OptionKind.CHOICE, choices=tuple(BY_DEFAULT))
PERIOD = OptionSpec(name="period", kind=OptionKind.CHOICE, choices=("day", "week", "month"))
BY = OptionSpec(
    name="by", kind=OptionKind.CHOICE, flag="-b", choices=("purpose", "model", "persona", "person", "place")
)

USAGE_COMMANDS = (
    Command(
        spec=CommandSpec(path=("usage",), options=(WHOSE, PERIOD, BY, PAGE), ephemeral=True, example="usage me day"),
        run=show_usage,
    ),
)
