"""Days are told by the calendar, not by a model."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory.days import find_days, spell_days

TUESDAY = date(2026, 3, 10)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("I will send it tomorrow", ["2026-03-11"]),
        ("The day after tomorrow, not today", ["2026-03-12", "2026-03-10"]),
        ("it was yesterday, or last night", ["2026-03-09", "2026-03-09"]),
        ("the week before: last Friday; then next Friday", ["2026-03-06", "2026-03-20"]),
        ("in three days and 2 weeks ago", ["2026-03-13", "2026-02-24"]),
        ("on 5 January, January 5th, the 12th of June", ["2026-01-05", "2026-01-05", "2026-06-12"]),
        ("exactly 2026-12-24.", ["2026-12-24"]),
        ("明天我去，后天回来，大后天休息", ["2026-03-11", "2026-03-12", "2026-03-13"]),
        ("昨天和前天", ["2026-03-09", "2026-03-08"]),
        ("上周五、这周五、下周五、下个星期天", ["2026-03-06", "2026-03-13", "2026-03-20", "2026-03-22"]),
        ("三天后，两周前，10天以后", ["2026-03-13", "2026-02-24", "2026-03-20"]),
        ("生日是3月12日，不是11月1号", ["2026-03-12", "2025-11-01"]),
        ("nothing of a day: Mondays, sundae, 30 February, 2月31日, 2026-13-01, in 9999 weeks", []),
    ],
)
def test_words_for_days_mean_days_of_the_calendar(text: str, days: list[str]) -> None:
    found = [*find_days(text, TUESDAY)]
    assert [word.coming.isoformat() for word in found] == days
    assert all(word.is_sure for word in found)


@pytest.mark.parametrize(
    ("text", "past", "coming"),
    [
        ("see you on Friday", "2026-03-06", "2026-03-13"),
        ("this Tuesday", "2026-03-03", "2026-03-17"),
        ("周三见", "2026-03-04", "2026-03-11"),
        ("星期天见", "2026-03-08", "2026-03-15"),
    ],
)
def test_a_bare_weekday_is_past_or_to_come(text: str, past: str, coming: str) -> None:
    (word,) = find_days(text, TUESDAY)
    assert (word.past.isoformat(), word.coming.isoformat(), word.is_sure) == (past, coming, False)


def test_a_text_is_told_its_dates_once_and_a_bare_weekday_only_by_who_knows() -> None:
    assert spell_days("Tomorrow or Friday?", TUESDAY) == "Tomorrow (2026-03-11) or Friday?"
    assert spell_days("Tomorrow or Friday?", TUESDAY, is_past=False) == "Tomorrow (2026-03-11) or Friday (2026-03-13)?"
    assert spell_days("on Friday", TUESDAY, is_past=True) == "on Friday (2026-03-06)"
    assert spell_days("明天见", TUESDAY) == "明天 (2026-03-11)见"
    assert spell_days("tomorrow, 2026-03-11", TUESDAY) == "tomorrow, 2026-03-11"


@given(st.text() | st.from_regex(r"(next |in )?(friday|9 days|3月4日|\d{4}-\d\d-\d\d)"), st.dates())
def test_no_text_on_no_day_is_a_fault(text: str, day: date) -> None:
    spelled = spell_days(text, day, is_past=True)
    assert len(spelled) >= len(text)
