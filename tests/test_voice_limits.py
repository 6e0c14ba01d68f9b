"""What is said aloud, and what is spoken, counts like what is written: in the ledger, and against every limit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.llm.tariffs import vendor_tariff
from bot.llm.transcripts import TOKENS_A_SECOND, read_transcript
from bot.quota import AUTO_PER_MINUTE
from bot.store.images import ImageRow
from bot.voice import seconds_of
from tests.conftest import MakeApp
from tests.spending import quota, reserved, settle, spent
from tests.talking import Chat
from tests.test_voice import recording, speaking

EARS = {"lab/ears": {"input_price": 1_000, "output_price": 0}, "lab/tongue": {"input_price": 1_000, "output_price": 0}}
"""Dollars for a million tokens: a second that is heard costs a cent, and ten characters that are spoken."""
DAY = "2026-11-01"


async def send(chat: Chat, count: int, note: str = "voice message, 11 s") -> None:
    for _ in range(count):
        await chat.say("", attachments=(recording(note=note),))
        await settle(chat)


@pytest.mark.parametrize("whose", ["person", "place", "total"])
async def test_X10_voice_messages_beyond_a_limit_in_money_are_not_written_down(make_app: MakeApp, whose: str) -> None:
    limits = quota(**{whose: {"money_per_day": 0.3}})
    async with speaking(make_app, quota=limits, models=EARS) as (chat, server):
        await send(chat, 5)
        assert len(server.audio.heard) == 2, "twelve cents each"
        assert await spent(chat) == {(whose, DAY, "USD"): 240_000_000}
        assert await reserved(chat) == 0
        assert "[voice message, 11 s]" in chat.last_prompt[-1][1], "the model at home answers, which costs nothing"


async def test_X10_beyond_a_limit_in_money_a_model_that_costs_nothing_hears_and_speaks(make_app: MakeApp) -> None:
    voice = {"transcription_model": "lab/ears, lab/free-ears", "speech_model": "lab/tongue, lab/free-tongue"}
    limits = quota(person={"money_per_day": 0.02})
    given = {"voice": voice, "spoken_answers": True, "quota": limits, "models": EARS}
    async with speaking(make_app, "It is a rather long answer.", **given) as (chat, server):
        await send(chat, 1)
        await chat.adapter.wait_for(2)
        assert [heard.fields["model"] for heard in server.audio.heard] == ["free-ears"]
        assert [spoken["model"] for spoken in server.audio.spoken] == ["free-tongue"]
        assert await reserved(chat) == 0
        assert (await spent(chat))["person", DAY, "USD"] == 0


async def test_X10_voice_messages_count_against_limits_in_tokens(make_app: MakeApp) -> None:
    async with speaking(make_app, quota=quota(person={"tokens_per_day": 3_000})) as (chat, server):
        await send(chat, 8, note="voice message, 99 s")
        assert len(server.audio.heard) == 2


async def test_X10_a_flood_of_voice_messages_is_held_to_the_limit_a_minute_although_the_chat_is_free(
    make_app: MakeApp,
) -> None:
    away = {"test": {"base_url": "http://127.0.0.1:9/v1"}, "away": {"base_url": "https://models.example/v1"}}
    given: dict[str, Any] = {"providers": away, "voice": {"transcription_model": "away/ears"}}
    async with speaking(make_app, **given) as (chat, _):
        for _ in range(AUTO_PER_MINUTE + 5):
            await chat.say("hello")
        assert len(chat.model.requests) == AUTO_PER_MINUTE


async def test_what_is_spoken_counts_by_its_characters(make_app: MakeApp) -> None:
    limits = quota(total={"money_per_day": 0.5})
    async with speaking(make_app, "a" * 300, speaks=True, quota=limits, models=EARS) as (chat, server):
        for _ in range(3):
            await chat.say("where?")
            await asyncio.wait([task for task in asyncio.all_tasks() if task.get_name() == "speak an answer"])
            await settle(chat)
        assert len(server.audio.spoken) == 1
        assert await spent(chat) == {("total", DAY, "USD"): 300_000_000}


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"type": "duration", "seconds": 30}, 300),
        ({"type": "tokens", "input_tokens": 250, "output_tokens": 40, "total_tokens": 290}, 250),
        (None, 120),
        ({"seconds": "long"}, 120),
        ({"seconds": -5}, 120),
    ],
)
async def test_a_server_that_counts_is_believed_and_else_the_platforms_word(
    make_app: MakeApp, usage: dict[str, Any] | None, read: int
) -> None:
    async with speaking(make_app, models=EARS) as (chat, server):
        server.audio.usage = usage
        await send(chat, 1)
        (told,) = await chat.say("/usage me day")
    assert f" {read} tokens read" in next(line for line in told.splitlines() if "lab/ears" in line)


@pytest.mark.parametrize("note", ["audio Duck, 1 s, 99 s", "voice message, 99 s, of the message replied to"])
async def test_no_title_makes_a_recording_shorter(make_app: MakeApp, note: str) -> None:
    async with speaking(make_app, quota=quota(total={"money_per_day": 0.5}), models=EARS) as (chat, server):
        await send(chat, 1, note=note)
        assert server.audio.heard == []


@pytest.mark.parametrize("note", ["a.mp3, audio, 1.2 MB", "a, 1 s.mp3, audio, 1.2 MB"])
def test_a_sound_file_that_tells_no_length_is_as_long_as_its_bytes_may_be(note: str) -> None:
    row = ImageRow(id=1, message_id=1, media_type="audio/mpeg", data=bytes(1_200_000), name=note)
    assert seconds_of(row) == 301


@pytest.mark.parametrize(
    ("model", "read", "written", "dollars"),
    [
        ("whisper-1", 60 * TOKENS_A_SECOND, 0, 0.006),
        ("gpt-transcribe", 60 * TOKENS_A_SECOND, 0, 0.0045),
        ("gpt-4o-transcribe", 1_000_000, 1_000_000, 12.5),
        ("gpt-4o-mini-transcribe", 1_000_000, 1_000_000, 6.25),
        ("tts-1", 1_000_000, 0, 15),
        ("tts-1-hd", 1_000_000, 0, 30),
        ("gpt-4o-mini-tts", 1_000_000, 0, 16),
        ("omni-moderation-latest", 1_000_000, 0, 0),
    ],
)
def test_what_hears_and_speaks_costs_what_its_vendor_asks(model: str, read: int, written: int, dollars: float) -> None:
    tariff = vendor_tariff(f"openai/{model}")
    assert tariff is not None
    assert tariff.cost_of(input_tokens=read, output_tokens=written) == round(dollars * 1e9)


def test_a_server_that_counts_seconds_is_read_in_tokens() -> None:
    heard = read_transcript({"text": "", "usage": {"seconds": 60}}).usage
    assert heard is not None
    assert heard.input_tokens == 60 * TOKENS_A_SECOND
