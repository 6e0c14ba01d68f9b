"""Finds the days that words such as "tomorrow", "on Friday" or "3月12日" mean, in English and Chinese. Pure.

A model need not work them out: code knows the calendar. What it cannot tell is whether "Friday" is past or to come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

LONGEST_SPAN_DAYS = 3_660
"""How far "in N days" may reach; beyond that it is no date that anybody notes."""

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NEAR = {
    **{"the day before yesterday": -2, "yesterday": -1, "last night": -1},
    **{"today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0},
    **{"tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2},
    **{"大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "今天": 0, "今晚": 0, "今早": 0},
    **{"明天": 1, "明晚": 1, "明早": 1, "后天": 2, "大后天": 3},
}
_DIGITS = "一二三四五六日"
_COUNTS = {
    **{word: count for count, word in enumerate(("a", "two", "three", "four", "five", "six", "seven"), 1)},
    **{word: count for count, word in enumerate("一二三四五六七八九十", 1)},
    "两": 2,
}
_MONTH = "|".join(_MONTHS)
_DAY_OF_MONTH = r"([0-3]?\d)(?:st|nd|rd|th)?"
_WORDS = re.compile(
    rf"(?P<iso>\b\d{{4}}-\d\d-\d\d\b)"
    rf"|(?P<near>\b(?:{'|'.join(sorted((word for word in _NEAR if word.isascii()), key=len, reverse=True))})\b"
    rf"|{'|'.join(sorted((word for word in _NEAR if not word.isascii()), key=len, reverse=True))})"
    rf"|\b(?P<step>last|next|this)?\s*(?P<weekday>{'|'.join(_WEEKDAYS)})\b"
    rf"|\bin (?P<ahead>\d{{1,4}}|{'|'.join(word for word in _COUNTS if word.isascii())}) (?P<unit>day|week)s?\b"
    rf"|\b(?P<back>\d{{1,4}}|{'|'.join(word for word in _COUNTS if word.isascii())}) (?P<unit_back>day|week)s? ago\b"
    rf"|\b(?P<month>{_MONTH})\s+{_DAY_OF_MONTH}\b(?!:)|\b{_DAY_OF_MONTH}\s+(?:of\s+)?(?P<month_behind>{_MONTH})\b"
    r"|(?P<step_zh>上|下|这|本)?个?(?:星期|周|礼拜)(?P<weekday_zh>[一二三四五六日天])"
    r"|(?P<days_zh>\d{1,4}|[一二两三四五六七八九十])\s?(?P<unit_zh>天|周|个星期)(?P<way_zh>[之以]?[后前])"
    r"|(?P<month_zh>\d{1,2})\s?月\s?(?P<day_zh>\d{1,2})\s?[日号]",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DayWord:
    """A word in a text that names a day: where it stands, which day it was if it is past, and will be if not."""

    start: int
    end: int
    past: date
    coming: date

    @property
    def is_sure(self) -> bool:
        """Whether the word alone tells the day."""
        return self.past == self.coming


def find_days(text: str, said_on: date) -> Iterator[DayWord]:
    """Every word of a text that names a day, in order. A day that no calendar has is none."""
    for found in _WORDS.finditer(text):
        for group, read in _READERS.items():
            if found[group] is not None:
                try:
                    past, coming = read(found, said_on)
                except (ValueError, OverflowError):
                    break
                yield DayWord(start=found.start(), end=found.end(), past=past, coming=coming)
                break


def spell_days(text: str, said_on: date, *, is_past: bool | None = None) -> str:
    """A text with the dates of its days behind them; `is_past` tells what a bare "Friday" means, `None` leaves it."""
    spelled, at = "", 0
    for word in find_days(text, said_on):
        day = word.past if word.is_sure or is_past else word.coming
        is_told = word.is_sure or is_past is not None
        spelled += text[at : word.end] + (f" ({day.isoformat()})" if is_told and day.isoformat() not in text else "")
        at = word.end
    return spelled + text[at:]


Days = tuple[date, date]


def _near(found: re.Match[str], said_on: date) -> Days:
    return _sure(said_on + timedelta(days=_NEAR[found["near"].casefold()]))


def _weekday(found: re.Match[str], said_on: date) -> Days:
    number = _WEEKDAYS.index(found["weekday"].casefold())
    match (found["step"] or "").casefold():
        case "last":
            return _sure(_before(said_on, number))
        case "next":
            return _sure(_of_week(said_on, number, 1))
        case _:
            return _before(said_on, number), _after(said_on, number)


def _weekday_zh(found: re.Match[str], said_on: date) -> Days:
    number = _DIGITS.index(found["weekday_zh"].replace("天", "日"))
    match found["step_zh"]:
        case "上":
            return _sure(_of_week(said_on, number, -1))
        case "下":
            return _sure(_of_week(said_on, number, 1))
        case "这" | "本":
            return _sure(_of_week(said_on, number, 0))
        case _:
            return _before(said_on, number), _after(said_on, number)


def _ahead(found: re.Match[str], said_on: date) -> Days:
    return _sure(said_on + _span(found["ahead"], found["unit"]))


def _back(found: re.Match[str], said_on: date) -> Days:
    return _sure(said_on - _span(found["back"], found["unit_back"]))


def _days_zh(found: re.Match[str], said_on: date) -> Days:
    span = _span(found["days_zh"], "day" if found["unit_zh"] == "天" else "week")
    return _sure(said_on + span if found["way_zh"].endswith("后") else said_on - span)


def _month(found: re.Match[str], said_on: date) -> Days:
    name = found["month"] or found["month_behind"]
    day = next(int(number) for number in found.groups() if number and re.fullmatch(r"[0-3]?\d", number))
    return _nearest(_MONTHS.index(name.casefold()) + 1, day, said_on)


def _month_zh(found: re.Match[str], said_on: date) -> Days:
    return _nearest(int(found["month_zh"]), int(found["day_zh"]), said_on)


def _nearest(month: int, day: int, said_on: date) -> Days:
    """The day of that name which is nearest: in a chat of December, "5 January" is to come."""
    years = (said_on.year - 1, said_on.year, said_on.year + 1)
    return _sure(min((date(year, month, day) for year in years), key=lambda one: abs(one - said_on)))


def _span(count: str, unit: str) -> timedelta:
    days = (_COUNTS.get(count.casefold()) or int(count)) * (7 if unit.casefold() == "week" else 1)
    if days > LONGEST_SPAN_DAYS:
        raise ValueError(days)
    return timedelta(days=days)


def _before(said_on: date, weekday: int) -> date:
    return said_on - timedelta(days=(said_on.weekday() - weekday - 1) % 7 + 1)


def _after(said_on: date, weekday: int) -> date:
    return said_on + timedelta(days=(weekday - said_on.weekday() - 1) % 7 + 1)


def _of_week(said_on: date, weekday: int, weeks: int) -> date:
    return said_on - timedelta(days=said_on.weekday()) + timedelta(days=weekday, weeks=weeks)


def _sure(day: date) -> Days:
    return day, day


def _iso(found: re.Match[str], _said_on: date) -> Days:
    return _sure(date.fromisoformat(found["iso"]))


_READERS: dict[str, Callable[[re.Match[str], date], Days]] = {
    "iso": _iso,
    "near": _near,
    "weekday": _weekday,
    "ahead": _ahead,
    "back": _back,
    "month": _month,
    "month_behind": _month,
    "weekday_zh": _weekday_zh,
    "days_zh": _days_zh,
    "month_zh": _month_zh,
}
