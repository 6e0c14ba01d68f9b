"""When something is to happen: by the clock on a wall of some time zone, or so long from now. Pure.

What people mean is the time on the wall. Where the clock is put forward over it, the moment is an hour later; where it
is put back and shows it twice, the first of the two counts. So everything happens exactly once (S08).
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo


class Repeat(StrEnum):
    """How often something comes again."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """A time on the wall, without a zone, and when that is."""

    wall: datetime
    at: datetime


FURTHEST = timedelta(days=5 * 366)
"""How far ahead something can be; ours to choose."""

MOST_CHARS = 100
"""Of a text that means a time; ours to choose."""

HOW = (
    'Write "in 20 minutes" or "in 3 days", a time such as "18:30" or "tomorrow 08:00", or a date and time such as '
    '"2026-11-02 08:00".'
)

_UNITS = {
    "s": "seconds", "sec": "seconds", "secs": "seconds", "second": "seconds", "seconds": "seconds",
    "m": "minutes", "min": "minutes", "mins": "minutes", "minute": "minutes", "minutes": "minutes",
    "h": "hours", "hr": "hours", "hrs": "hours", "hour": "hours", "hours": "hours",
    "d": "days", "day": "days", "days": "days", "w": "weeks", "week": "weeks", "weeks": "weeks",
}  # fmt: skip
_PIECE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]++)(?:\s*(?:,|and)\s*|\s*)")
"""A word is taken whole or not at all: where it might also end before an "and", trying both takes for ever."""
_SPAN = re.compile(rf"(?:in\s+|\+\s*)?((?:{_PIECE.pattern})+)")
_CLOCK = re.compile(r"(?:(today|tomorrow)[\s,]+)?(?:at\s+)?([01]?\d|2[0-3])[:.]([0-5]\d)")


def moment_of(text: str, now: datetime, zone: ZoneInfo) -> Moment:
    """The moment that a text means.

    Raises:
        ValueError: it is not understood, or in the past, or too far ahead; the sentence says which.
    """
    if len(text) > MOST_CHARS:
        raise ValueError(f"That is too long for a time. {HOW}")
    try:
        moment = _meant(text, now, zone)
    except OverflowError as error:  # no clock shows it
        raise ValueError(f"{text!r} is too far away.") from error
    if moment.at <= now:
        raise ValueError(f"{moment.wall:%Y-%m-%d %H:%M} is over: it is {now.astimezone(zone):%Y-%m-%d %H:%M} now.")
    if moment.at > now + FURTHEST:
        raise ValueError(f"{moment.wall:%Y-%m-%d} is too far ahead.")
    return moment


def _meant(text: str, now: datetime, zone: ZoneInfo) -> Moment:
    given = " ".join(text.lower().split())
    if span := _SPAN.fullmatch(given):
        return _after_span(span[1], now, zone)
    if clock := _CLOCK.fullmatch(given):
        return _next_clock(clock, now, zone)
    return _by_date(text.strip(), zone)


def on_wall(wall: datetime, zone: ZoneInfo) -> Moment:
    """The moment at which a clock shows a time."""
    return Moment(wall=wall, at=wall.replace(tzinfo=zone, fold=0).astimezone(UTC))


def following(wall: datetime, zone: ZoneInfo, repeat: Repeat, after: datetime) -> Moment:
    """When something that began at a time on the wall comes next after a moment. What was missed meanwhile is not made
    up for.
    """
    passed = max(0, (after.astimezone(zone).replace(tzinfo=None) - wall).days)
    number = max(1, passed // _DAYS[repeat] - 1)
    while (moment := on_wall(_shifted(wall, repeat, number), zone)).at <= after:
        number += 1
    return moment


_DAYS = {Repeat.DAILY: 1, Repeat.WEEKLY: 7, Repeat.MONTHLY: 31, Repeat.YEARLY: 366}


def _shifted(wall: datetime, repeat: Repeat, number: int) -> datetime:
    if repeat in (Repeat.DAILY, Repeat.WEEKLY):
        return wall + number * timedelta(days=_DAYS[repeat])
    months = wall.month - 1 + number * (1 if repeat is Repeat.MONTHLY else 12)
    year, month = wall.year + months // 12, months % 12 + 1
    return wall.replace(year=year, month=month, day=min(wall.day, monthrange(year, month)[1]))


def _after_span(span: str, now: datetime, zone: ZoneInfo) -> Moment:
    """Days keep the time on the wall, hours are so long as they are."""
    days = hours = timedelta()
    for amount, word in _PIECE.findall(span):
        unit = _UNITS.get(word)
        if unit is None:
            raise ValueError(f"{word!r} is no unit of time. {HOW}")
        if unit in ("days", "weeks"):
            days += timedelta(**{unit: float(amount)})
        else:
            hours += timedelta(**{unit: float(amount)})
    if days + hours > FURTHEST:
        raise ValueError("That is too far ahead.")
    here = on_wall(now.astimezone(zone).replace(tzinfo=None) + days, zone) if days else Moment(wall=now, at=now)
    at = here.at + hours
    return Moment(wall=at.astimezone(zone).replace(tzinfo=None, fold=0), at=at)


def _next_clock(clock: re.Match[str], now: datetime, zone: ZoneInfo) -> Moment:
    today = now.astimezone(zone).date()
    at_time = time(int(clock[2]), int(clock[3]))
    moment = on_wall(datetime.combine(today, at_time), zone)
    if clock[1] == "tomorrow" or (clock[1] is None and moment.at <= now):
        return on_wall(datetime.combine(today + timedelta(days=1), at_time), zone)
    return moment


def _by_date(text: str, zone: ZoneInfo) -> Moment:
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not understood. {HOW}") from error
    if given.tzinfo is not None:
        given = given.astimezone(zone)
        return Moment(wall=given.replace(tzinfo=None, fold=0), at=given.astimezone(UTC))
    if len(text) <= len("2026-11-02"):
        raise ValueError(f"{text!r} says no time of day. {HOW}")
    return on_wall(given, zone)
