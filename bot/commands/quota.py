"""/quota: what is left of the limits: the caller's own, and to whoever looks after them, those of place and whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bot.chat import CommandSpec, Outbound
from bot.commands.command import Call, Command, Desk
from bot.commands.usage import money_words
from bot.model_in_force import model_in_force
from bot.quota import Whose, told_until
from bot.store.database import Tx
from bot.store.people import zone_of

if TYPE_CHECKING:
    from bot.quota.purse import Standing


async def show_quota(call: Call, desk: Desk) -> Outbound:
    """`/quota`: everybody reads their own; the place's those who manage it, that of everything the operators."""
    author, shown = call.inbound.author, [Whose.PERSON]
    if await desk.may_manage(call, whole_place=True):
        shown.append(Whose.PLACE)
    if desk.policy.is_operator(author):
        shown.append(Whose.TOTAL)
    is_exempt = desk.quota.is_exempt(author)
    zone = await desk.db.read(zone_of, author.key)
    pieces = [_told(whose, await desk.db.read(_standings, call, desk, whose), zone, call, desk) for whose in shown]
    if is_exempt:
        pieces.insert(0, desk.text("quota-exempt", call.locale))
    told = "\n\n".join(filter(None, pieces))
    return Outbound(text=told or desk.text("quota-none", call.locale), private=True)


def _standings(tx: Tx, call: Call, desk: Desk, whose: Whose) -> Sequence[Standing]:
    if desk.quota.purse is None:
        return ()
    bill = desk.quota.bill(call.inbound.author, call.inbound.channel.place_key)
    return desk.quota.purse.standings(tx, bill, whose)


def _told(whose: Whose, standings: Sequence[Standing], zone: str | None, call: Call, desk: Desk) -> str:
    lines = [*_rates(whose, call, desk), *(_line(one, zone, call, desk) for one in standings)]
    if not lines:
        return ""
    return "\n".join((desk.text(f"quota-of-{whose}", call.locale), *(f"- {line}" for line in lines)))


def _rates(whose: Whose, call: Call, desk: Desk) -> Sequence[str]:
    """The limit per minute, where there is one that counts."""
    quota, author = desk.quota, call.inbound.author
    bill = quota.bill(author, call.inbound.channel.place_key)
    found = quota.left_now(whose, bill, model_in_force(desk.models, call.settings).name)
    if found is None:
        return ()
    left, most = found
    return [desk.text("quota-per-minute", call.locale, left=left, most=most)]


def _line(one: Standing, zone: str | None, call: Call, desk: Desk) -> str:
    """A limit; it begins anew by the operator's clock, which is told by the caller's own where that is known."""
    percent = one.spent * 100 // one.limit.most
    period = desk.text(f"quota-{one.limit.period}", call.locale)
    if one.limit.is_money:
        spent, most = money_words({one.unit: one.spent}), money_words({one.unit: one.limit.most})
    else:
        spent, most = f"{one.spent:,}", f"{one.limit.most:,} {one.unit}"
    until = told_until(one.until.astimezone(ZoneInfo(zone)) if zone else one.until)
    return desk.text("quota-line", call.locale, period=period, spent=spent, most=most, percent=percent, until=until)


QUOTA_COMMANDS = (Command(spec=CommandSpec(path=("quota",), ephemeral=True), run=show_quota),)
