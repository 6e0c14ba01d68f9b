"""When something is to happen: what people write, the clock on the wall, and the two nights on which it jumps."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.tools.moments import Repeat, following, moment_of, on_wall

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
"""13:00 in Berlin."""


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("in 20 minutes", "2026-11-01T12:20"),
        ("20m", "2026-11-01T12:20"),
        ("+90 min", "2026-11-01T13:30"),
        ("in 1 hour and 30 minutes", "2026-11-01T13:30"),
        ("1.5 hours", "2026-11-01T13:30"),
        ("45 seconds", "2026-11-01T12:00:45"),
        ("in 3 days", "2026-11-04T12:00"),
        ("2 weeks", "2026-11-15T12:00"),
        ("18:30", "2026-11-01T17:30"),
        ("at 18:30", "2026-11-01T17:30"),
        ("08:00", "2026-11-02T07:00"),
        ("tomorrow 08:00", "2026-11-02T07:00"),
        ("Tomorrow at 8:00", "2026-11-02T07:00"),
        ("today 23:59", "2026-11-01T22:59"),
        ("2026-12-24 18:00", "2026-12-24T17:00"),
        ("2026-12-24T18:00:00", "2026-12-24T17:00"),
        ("2026-12-24T18:00Z", "2026-12-24T18:00"),
        ("2026-12-24T18:00+09:00", "2026-12-24T09:00"),
    ],
)
def test_a_time_is_understood_as_the_wall_of_the_zone_shows_it(text: str, at: str) -> None:
    moment = moment_of(text, NOW, BERLIN)
    assert moment.at == datetime.fromisoformat(at).replace(tzinfo=UTC)
    assert moment.wall == moment.at.astimezone(BERLIN).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not understood"),
        ("soon", "not understood"),
        ("25:00", "not understood"),
        ("in 5 fortnights", "no unit"),
        ("today 08:00", "is over"),
        ("2026-10-31 08:00", "is over"),
        ("2026-12-24", "no time of day"),
        ("in 9999 weeks", "too far"),
        ("2099-01-01 00:00", "too far"),
        ("in 999999 days", "too far"),
        ("0 minutes", "is over"),
        ("9999-12-31T23:59:59-05:00", "too far"),
        ("0001-01-01T00:00", "too far"),
        ("999999w " * 200_000, "too long"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        moment_of(text, NOW, BERLIN)


def test_a_text_made_to_keep_us_does_not() -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match="not understood"):
        moment_of("1aand" * 19 + "!", NOW, BERLIN)
    assert time.process_time() - began < 0.2


def test_S08_a_time_that_the_wall_never_shows_comes_an_hour_later_and_one_shown_twice_comes_first() -> None:
    assert on_wall(datetime(2026, 3, 29, 2, 30), BERLIN).at == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert on_wall(datetime(2026, 10, 25, 2, 30), BERLIN).at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(("hour", "minute"), [(8, 0), (2, 30)])
def test_S08_what_comes_daily_comes_at_its_time_on_every_day_of_the_year_once(hour: int, minute: int) -> None:
    wall, at, days = datetime(2026, 1, 1, hour, minute), on_wall(datetime(2026, 1, 1, hour, minute), BERLIN).at, []
    for _ in range(364):
        days.append(at.astimezone(BERLIN).date())
        here = at.astimezone(BERLIN)
        is_gap = here.date().isoformat() == "2026-03-29" and hour == 2
        assert (here.hour, here.minute) == ((3, 30) if is_gap else (hour, minute))
        at = following(wall, BERLIN, Repeat.DAILY, at).at
    assert len({*days}) == 364
    assert days == sorted(days)


@pytest.mark.parametrize(
    ("repeat", "after", "expected"),
    [
        (Repeat.WEEKLY, "2026-01-31T12:00", "2026-02-07T07:00"),
        (Repeat.MONTHLY, "2026-01-31T12:00", "2026-02-28T07:00"),
        (Repeat.MONTHLY, "2026-02-28T12:00", "2026-03-31T06:00"),
        (Repeat.YEARLY, "2026-01-31T12:00", "2027-01-31T07:00"),
        (Repeat.DAILY, "2026-05-01T12:00", "2026-05-02T06:00"),
    ],
)
def test_what_was_missed_is_not_made_up_for(repeat: Repeat, after: str, expected: str) -> None:
    moment = following(datetime(2026, 1, 31, 8), BERLIN, repeat, datetime.fromisoformat(after).replace(tzinfo=UTC))
    assert moment.at == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@given(
    st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)),
    st.sampled_from([*Repeat]),
    st.timedeltas(timedelta(), timedelta(days=900)),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai", "UTC"]),
)
def test_the_next_time_is_always_later_and_never_skips_one(
    wall: datetime, repeat: Repeat, later: timedelta, name: str
) -> None:
    zone = ZoneInfo(name)
    after = on_wall(wall, zone).at + later
    moment = following(wall, zone, repeat, after)
    assert moment.at > after
    assert moment.at - after <= {Repeat.DAILY: 1, Repeat.WEEKLY: 7, Repeat.MONTHLY: 31, Repeat.YEARLY: 366}[
        repeat
    ] * timedelta(days=1) + timedelta(hours=2)
