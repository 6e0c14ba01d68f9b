"""How long nobody has said anything is told at the tail, in the language and the time zone of the talk."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.overrides import SessionSettings
from bot.prompt.build import PromptBuilder
from bot.prompt.sections import SECTIONS
from bot.settings import PlaceSettings
from bot.store.tables import MessageKind
from bot.testing import NOW, ScriptedModel, make_row, make_turn
from tests.conftest import MakeApp
from tests.talking import open_chat

SUNDAY = datetime(2026, 11, 1, 21, 30, tzinfo=UTC)


async def last_words(gap: timedelta, *, zone: str = "UTC", text: str = "and now?", **changes: Any) -> str:
    """The last message of a request so long after the one before."""
    before, asked = make_row("see you", sent_at=SUNDAY), make_row(text, sent_at=SUNDAY + gap)
    chosen = SessionSettings(values=PlaceSettings(timezone=zone), chain={})
    turn = make_turn(before, asked, settings=chosen, **changes)
    prompt = await PromptBuilder(sections=SECTIONS, count=len, section_timeout_ms=0).build(turn, factor=1)
    return prompt.messages[-1].text


@pytest.mark.parametrize(
    ("gap", "zone", "note"),
    [
        (timedelta(hours=5, minutes=59), "UTC", ""),
        (timedelta(minutes=-5), "UTC", ""),
        (timedelta(hours=6), "UTC", "[The next day: Monday, 2026-11-02, 03:30]"),
        (timedelta(hours=6), "America/New_York", "[Six hours later: Sunday, 2026-11-01, 22:30]"),
        (timedelta(hours=6), "Asia/Tokyo", "[Six hours later: Monday, 2026-11-02, 12:30]"),
        (timedelta(days=2), "UTC", "[Two days later: Tuesday, 2026-11-03, 21:30]"),
        (timedelta(days=1, hours=6), "UTC", "[Two days later: Tuesday, 2026-11-03, 03:30]"),
        (timedelta(days=13), "UTC", "[13 days later: Saturday, 2026-11-14, 21:30]"),
        (timedelta(days=20), "UTC", "[Two weeks later: Saturday, 2026-11-21, 21:30]"),
        (timedelta(days=400), "UTC", "[13 months later: Monday, 2027-12-06, 21:30]"),
    ],
)
async def test_S15_a_gap_is_told_in_days_of_the_sessions_time_zone(gap: timedelta, zone: str, note: str) -> None:
    assert await last_words(gap, zone=zone) == "\n\n".join(filter(None, ("and now?", note)))


@pytest.mark.parametrize(
    ("gap", "note"),
    [
        (timedelta(days=2), "[两天后：2026-11-03 星期二 21:30]"),
        (timedelta(days=1), "[第二天：2026-11-02 星期一 21:30]"),
        (timedelta(days=30), "[4周后：2026-12-01 星期二 21:30]"),
    ],
)
async def test_a_gap_is_told_in_the_language_of_the_talk(gap: timedelta, note: str) -> None:
    assert await last_words(gap, text="现在怎么样？你还记得我吗？") == f"现在怎么样？你还记得我吗？\n\n{note}"


async def test_nothing_is_told_before_a_first_message_and_where_nobody_asked() -> None:
    builder = PromptBuilder(sections=SECTIONS, count=len, section_timeout_ms=0)
    first = await builder.build(make_turn(make_row("hello")), factor=1)
    assert first.messages[-1].text == "hello"
    said = make_row("tell", sent_at=SUNDAY)
    reply = make_row("once", kind=MessageKind.REPLY, conversation_id=1, position=said.position, sent_at=NOW)
    going_on = await builder.build(make_turn(said, reply, burst=(), continues=True, position=said.position), factor=1)
    assert "later" not in going_on.messages[-1].text


async def test_the_note_stands_behind_what_was_said_and_is_gone_from_the_next_request(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(), persona="none")
    await chat.say("see you", sent_at=NOW)
    await chat.say("back again", sent_at=NOW + timedelta(days=2))
    await chat.say("and again", sent_at=NOW + timedelta(days=2, minutes=1))
    second, third = chat.model.requests[1:]
    assert second.messages[-1].text == "back again\n\n[Two days later: Tuesday, 2026-11-03, 12:00]"
    assert [message.text for message in third.messages[-3:]] == ["back again", "ok", "and again"]
