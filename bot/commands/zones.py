"""Time zones as people name them."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from bot.errors import UserError
from bot.spelling import near_names


def find_zone(typed: str) -> str:
    """The IANA name that is meant, in any case and with spaces for underscores; a city alone will do where there is one
    of that name.

    Raises:
        UserError: there is none, or more than one (S15).
    """
    wanted = "_".join(typed.split()).casefold()
    found = next((zone for zone in zones() if wanted == zone.casefold()), None)
    cities = [zone for zone in zones() if zone.casefold().endswith(f"/{wanted}")]
    if found is None and len(cities) == 1:
        return cities[0]
    if found is None:
        near = near_names(typed, zones())
        raise UserError("session-value-zone", value=typed, near=", ".join(near) or "Europe/Berlin, Asia/Shanghai")
    return found


@cache
def zones() -> tuple[str, ...]:
    """Every time zone; looking through the files takes up to 20 ms, and they stay the same as long as we run."""
    return tuple(sorted(available_timezones()))
