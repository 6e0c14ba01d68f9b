"""The limit per person: a sliding minute, one notice per window, nobody pays for anybody else."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.quota import AUTO_PER_MINUTE, WINDOW_SECONDS, Admission, Period, Rate
from bot.store import sessions
from bot.store.database import Tx
from bot.store.tables import Scope
from bot.testing import NOW
from tests.conftest import MakeApp
from tests.talking import DM, open_chat

ADMITTED, NOTICE, SILENT = Admission.ADMITTED, Admission.NOTICE, Admission.SILENT


class Clock:
    """A clock that a test sets, in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("per_minute", "seconds", "verdicts"),
    [
        (2, [0, 1, 2, 3], [ADMITTED, ADMITTED, NOTICE, SILENT]),
        (2, [0, 30, 59.9, 60, 60.1], [ADMITTED, ADMITTED, NOTICE, ADMITTED, SILENT]),
        (1, [0, 10, 60, 61, 71], [ADMITTED, NOTICE, ADMITTED, SILENT, NOTICE]),
        (1, [0, 10, 20, 69.9, 70], [ADMITTED, NOTICE, SILENT, ADMITTED, NOTICE]),
        (0, [0, 0, 0, 0], [ADMITTED] * 4),
    ],
)
def test_messages_beyond_the_limit_are_refused_with_one_notice_per_window(
    per_minute: int, seconds: list[float], verdicts: list[Admission]
) -> None:
    clock, given_at = Clock(), []
    quota = Rate(per_minute, clock)
    for second in seconds:
        clock.now = 1000 + second
        given_at.append(quota.admit("fake:alice"))
    assert given_at == verdicts


def test_X10_one_persons_flood_costs_nobody_else() -> None:
    quota = Rate(1, Clock())
    flood = [quota.admit("fake:mallory") for _ in range(200)]
    assert [flood.count(verdict) for verdict in (ADMITTED, NOTICE, SILENT)] == [1, 1, 198]
    assert quota.admit("fake:alice") is ADMITTED


@settings(deadline=None)
@given(st.integers(1, 4), st.lists(st.floats(0, 40), max_size=40))
def test_no_window_ever_holds_more_than_the_limit(per_minute: int, pauses: list[float]) -> None:
    admitted: list[float] = []
    told: list[float] = []
    clock = Clock()
    quota = Rate(per_minute, clock)
    for pause in pauses:
        clock.now += pause
        verdict = quota.admit("fake:alice")
        (admitted if verdict is ADMITTED else told if verdict is NOTICE else []).append(clock.now)
    assert all(
        later - earlier >= WINDOW_SECONDS for earlier, later in zip(admitted, admitted[per_minute:], strict=False)
    )
    assert all(later - earlier >= WINDOW_SECONDS for earlier, later in itertools.pairwise(told))


def test_strangers_who_never_come_back_are_forgotten() -> None:
    clock = Clock()
    quota = Rate(5, clock)
    for number in range(1000):
        clock.now += 1
        quota.admit(f"fake:{number}")
    assert len(vars(quota)["_times"]) <= 2 * WINDOW_SECONDS


PAID_BESIDE_LOCAL = {"test": {"base_url": "http://127.0.0.1:9/v1"}, "paid": {"base_url": "https://models.example/v1"}}


@pytest.mark.parametrize(
    ("model", "limit", "answered"),
    [("test/a", "auto", AUTO_PER_MINUTE + 5), ("paid/a", "auto", AUTO_PER_MINUTE), ("test/a", 3, 3), ("paid/a", 0, 25)],
)
async def test_X10_messages_count_by_the_model_that_answers_them_and_not_by_the_default(
    make_app: MakeApp, model: str, limit: int | str, answered: int
) -> None:
    quota = {"messages_per_minute": limit}
    chat = await open_chat(make_app, persona="none", providers=PAID_BESIDE_LOCAL, quota=quota)
    await chat.app.core.db.run(choose_model, model)
    for _ in range(AUTO_PER_MINUTE + 5):
        await chat.say("hello")
    assert len(chat.model.requests) == answered


def choose_model(tx: Tx, model: str) -> None:
    key = DM.session_key
    sessions.set_override(tx, Scope.SESSION, key, "model", json.dumps(model), set_by="fake:alice", now=NOW)


async def test_X10_a_command_that_costs_a_model_call_counts_by_its_model(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none", providers=PAID_BESIDE_LOCAL)
    await chat.app.core.db.run(choose_model, "paid/a")
    for _ in range(AUTO_PER_MINUTE):
        await chat.say("hello")
    assert await chat.say("/retry") == [chat.app.core.catalogue.text("quota-exceeded", "en")]


ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Pacific/Apia", "Africa/Cairo", "America/Santiago")


@settings(max_examples=60)
@given(st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1)), st.sampled_from(ZONES), st.sampled_from([*Period]))
def test_every_moment_is_in_one_day_and_one_month_by_the_clocks_of_its_zone(
    moment: datetime, zone: str, period: Period
) -> None:
    here = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    begin, end = period.begin(here), period.end(here)
    assert begin.astimezone(UTC) <= here.astimezone(UTC) < end.astimezone(UTC)
    assert period.name_at(begin) == period.name_at(here) < period.name_at(end)
    last = (end.astimezone(UTC) - timedelta(seconds=1)).astimezone(ZoneInfo(zone))
    assert period.name_at(last) == period.name_at(here)
