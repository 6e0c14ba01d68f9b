"""/me: what its caller tells of themselves, for everywhere on a platform: the time zone that they live in."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from bot.chat import CommandSpec, OptionSpec, Outbound, ValueQuery
from bot.commands.command import Call, Command, Desk
from bot.commands.zones import find_zone, zones
from bot.store.people import set_zone, zone_of

AUTO = "auto"
"""The zone of whichever chat it is."""


async def show_or_set_zone(call: Call, desk: Desk) -> Outbound:
    """`/me zone [zone]`."""
    typed, key = call.options.get("zone"), call.inbound.author.key
    if typed is None:
        zone = await desk.db.read(zone_of, key)
    else:
        zone = _zone(typed)
        await desk.db.run(set_zone, key, zone)
    shown = zone or call.settings.values.timezone
    facts = {"zone": shown, "time": f"{call.now.astimezone(ZoneInfo(shown)):%H:%M}"}
    return Outbound(text=desk.text("me-zone" if zone else "me-zone-none", call.locale, **facts), private=True)


def _zone(typed: str) -> str | None:
    return None if typed.strip().casefold() == AUTO else find_zone(typed)


async def _suggest(_desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Zones that begin with what is typed, then those that have it in them."""
    wanted = "_".join(query.typed.split()).casefold()
    having = [zone for zone in (AUTO, *zones()) if wanted in zone.casefold()]
    return sorted(having, key=lambda zone: not zone.casefold().startswith(wanted))


ZONE = OptionSpec(name="zone", completes=True, rest=True)

ME_COMMANDS = (
    Command(
        spec=CommandSpec(path=("me", "zone"), options=(ZONE,), ephemeral=True, example="me zone Europe/Berlin"),
        run=show_or_set_zone,
        suggest=_suggest,
    ),
)
