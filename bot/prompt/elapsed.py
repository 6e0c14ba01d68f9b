"""Tells the model that time has passed since the last message, in the language of the talk. Pure, and never stored."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bot.prompt.language import is_chinese
from bot.turn import Turn

LEAST_GAP = timedelta(hours=6)
"""What is shorter belongs to one talk; ours to choose."""
WEEKS_FROM_DAYS, MONTHS_FROM_DAYS = 14, 60
"""From how many days on the gap is told in weeks, and in months."""
NEWEST, CHARS_LOOKED_AT = 4, 500
"""How many of the newest messages tell when and in which language it was talked, and by how much of their text."""

_NUMBERS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ENGLISH = {"hour": "{n} hours later", "day": "{n} days later", "week": "{n} weeks later", "month": "{n} months later"}
_CHINESE = {"hour": "{n}小时后", "day": "{n}天后", "week": "{n}周后", "month": "{n}个月后"}
_WEEKDAYS = "一二三四五六日"


def write_gap(turn: Turn) -> str | None:
    """A note such as `[Two days later: Tuesday, 2026-11-03, 09:15]` where more than a few hours lie between what is
    answered and what was said before it. Days are those of the session's time zone.
    """
    asked = next((row for row in turn.history if turn.burst and row.id >= turn.burst[0]), None)
    if asked is None:
        return None
    before = [row for row in turn.history if row.position < asked.position]
    newest = before[-NEWEST:]
    # Platforms and we have clocks of our own, so the newest message need not be the last one.
    last = max((row.sent_at for row in newest), default=asked.sent_at)
    if asked.sent_at - last < LEAST_GAP:
        return None
    zone = ZoneInfo(turn.settings.values.timezone)
    last, now = last.astimezone(zone), asked.sent_at.astimezone(zone)
    words = "".join(row.text[:CHARS_LOOKED_AT] for row in (*newest, asked))
    return _in_chinese(last, now) if is_chinese(words) else _in_english(last, now)


def _in_english(last: datetime, now: datetime) -> str:
    unit, number = _gap(last, now)
    word = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    text = "the next day" if (unit, number) == ("day", 1) else _ENGLISH[unit].format(n=word)
    return f"[{text[0].upper()}{text[1:]}: {now:%A, %Y-%m-%d, %H:%M}]"


def _in_chinese(last: datetime, now: datetime) -> str:
    unit, number = _gap(last, now)
    text = "第二天" if (unit, number) == ("day", 1) else _CHINESE[unit].format(n="两" if number == 2 else number)
    return f"[{text}：{now:%Y-%m-%d} 星期{_WEEKDAYS[now.weekday()]} {now:%H:%M}]"


def _gap(last: datetime, now: datetime) -> tuple[str, int]:
    days = (now.date() - last.date()).days
    if not days:
        return "hour", int((now - last) / timedelta(hours=1))
    if days < WEEKS_FROM_DAYS:
        return "day", days
    return ("week", days // 7) if days < MONTHS_FROM_DAYS else ("month", days // 30)
