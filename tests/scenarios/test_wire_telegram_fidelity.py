"""What Telegram really does, on the wire: long answers, topics, albums, floods, edits and taking back, in one run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adapters.split import utf16_length
from tests.emulators.openai.emulator import OpenAIEmulator
from tests.emulators.openai.script import Request, Say, Stream, Wait
from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.stage import PNG
from tests.emulators.telegram.world import Chat, Json, User
from tests.scenarios.bot_process import running_bot

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-telegram")]

FLOOD_S = 2
CODE = "\n".join(f"value_{number} = compute({number})  # 值 😀" for number in range(180))
ROWS = "\n".join(f"| row {number} | {number * number} |" for number in range(60))
PROSE = " ".join(f"Sentence {number} has **bold** words, snake_case and $a_{number} * b_1$." for number in range(60))
TABLE = f"| Name | Square |\n|:--|--:|\n{ROWS}"
LONG = f"# Everything\n\n{PROSE}\n\n```python\n{CODE}\n```\n\nThen this:\n\n{TABLE}\n\nThe end."


async def test_T05_T07_T12_T16_a_day_on_telegram_arrives_as_it_was_meant(tmp_path: Path) -> None:
    async with TelegramEmulator() as telegram, OpenAIEmulator() as model:
        settings = {
            "TELEGRAM__TOKEN": telegram.token,
            "TELEGRAM__BASE_URL": telegram.base_url,
            "TELEGRAM__BASE_FILE_URL": telegram.base_file_url,
            "PROVIDERS__LAB__BASE_URL": model.base_url,
            "PROVIDERS__LAB__API_KEY": "key",
            "MODEL": "lab/gpt-4o",
            "PERSONA": "none",
        }
        alice = telegram.user("Alice")
        forum = telegram.group("Lab", alice, is_forum=True)
        forum.administrators.add(alice.id)
        async with running_bot(tmp_path, settings) as bot:
            await bot.until(telegram.wait_for(lambda: telegram.polling, timeout_s=30))
            telegram.say(alice, forum, "@FamiliarBot hello")  # which also introduces the bot
            await telegram.wait_for_text(forum, "Hello!")
            await _a_long_answer_in_a_topic_survives_a_flood(telegram, model, forum)
            await _an_album_is_one_question(telegram, model, forum)
            await _an_edit_is_honoured(telegram, model, forum)
            await _what_is_taken_back_is_deleted(telegram, model, forum)
            assert await bot.stop() == 0
        assert "Traceback" not in bot.output


async def _a_long_answer_in_a_topic_survives_a_flood(
    telegram: TelegramEmulator, model: OpenAIEmulator, forum: Chat
) -> None:
    topic, gate = telegram.topic(forum, "Roses"), asyncio.Event()
    model.queue(Stream(steps=(_delta(LONG[:500]), Wait(gate), *map(_delta, _pieces(LONG[500:])), _delta("", "stop"))))
    question = telegram.say(*_alice_in(forum), "@FamiliarBot tell me everything", topic=topic)
    before = len(telegram.bot_messages(forum))
    await telegram.wait_for(lambda: len(telegram.bot_messages(forum)) > before)
    flood = {"retry_after": FLOOD_S}
    telegram.fail("editMessageText", 429, f"Too Many Requests: retry after {FLOOD_S}", parameters=flood)
    gate.set()
    await telegram.wait_for(lambda: any("The end." in text for text in telegram.bot_texts(forum)), timeout_s=20)
    messages = telegram.bot_messages(forum)[before:]
    _assert_it_is_the_whole_answer(messages)
    assert {message["message_thread_id"] for message in messages} == {topic}
    assert messages[0]["reply_to_message"]["message_id"] == question["message_id"]
    calls = telegram.calls_of("sendMessage", "editMessageText")
    (refused,) = [call for call in calls if call.status == 429]
    assert all(call.at <= refused.at or call.at >= refused.at + FLOOD_S - 0.1 for call in calls)


def _assert_it_is_the_whole_answer(messages: list[Json]) -> None:
    assert len(LONG) > 10_000
    assert 3 <= len(messages) <= 5
    assert max(utf16_length(message["text"]) for message in messages) <= 4096
    words = "".join("".join(message["text"].split()) for message in messages)
    table = f"Name|Square-------+-------{''.join(f'row{number}|{number * number}' for number in range(60))}"
    for piece in ("Everything", PROSE.replace("**", ""), CODE, table, "Theend."):
        assert "".join(piece.split()) in words
    pres = [entity for message in messages for entity in message.get("entities", ()) if entity["type"] == "pre"]
    assert {entity.get("language") for entity in pres} == {"python", None}
    covered = "".join(_covered(message, "pre") for message in messages)
    assert "".join(covered.split()) == "".join(CODE.split()) + table


def _covered(message: Json, kind: str) -> str:
    units = message["text"].encode("utf-16-le")
    return "".join(
        units[2 * it["offset"] : 2 * (it["offset"] + it["length"])].decode("utf-16-le")
        for it in message.get("entities", ())
        if it["type"] == kind
    )


async def _an_album_is_one_question(telegram: TelegramEmulator, model: OpenAIEmulator, forum: Chat) -> None:
    asked = len(model.requests)
    model.queue(Say(text="Four colours."))
    telegram.album(
        *_alice_in(forum), *(PNG + bytes([number]) for number in range(4)), caption="@FamiliarBot which colours?"
    )
    await telegram.wait_for_text(forum, "Four colours.", timeout_s=20)
    assert len(model.requests) == asked + 1
    content = model.last.messages[-1]["content"]
    assert [part["type"] for part in content].count("image_url") == 4
    assert "which colours?" in model.last.last_user


async def _an_edit_is_honoured(telegram: TelegramEmulator, model: OpenAIEmulator, forum: Chat) -> None:
    asked = len(model.requests)
    model.queue(Say(text="A fine name."), Say(text="It is Rex."))
    said = telegram.say(*_alice_in(forum), "@FamiliarBot my cat is Tom")
    await telegram.wait_for_text(forum, "A fine name.")
    telegram.edit(said, "@FamiliarBot my cat is Rex")
    telegram.say(*_alice_in(forum), "@FamiliarBot what is its name?")
    await telegram.wait_for_text(forum, "It is Rex.")
    prompt = _prompt(model.last)
    assert "my cat is Rex" in prompt
    assert "Tom" not in prompt
    assert len(model.requests) == asked + 2, "an edit corrects what was said and asks nothing anew"


async def _what_is_taken_back_is_deleted(telegram: TelegramEmulator, model: OpenAIEmulator, forum: Chat) -> None:
    telegram.say(*_alice_in(forum), "/undo@FamiliarBot")
    await telegram.wait_for(lambda: "It is Rex." not in telegram.bot_texts(forum))
    model.queue(Say(text="Gone."))
    telegram.say(*_alice_in(forum), "@FamiliarBot and now?")
    await telegram.wait_for_text(forum, "Gone.")
    assert "what is its name?" not in _prompt(model.last)


def _alice_in(forum: Chat) -> tuple[User, Chat]:
    return next(iter(forum.members.values())), forum


def _prompt(request: Request) -> str:
    return "\n".join(str(message["content"]) for message in request.messages)


def _pieces(text: str, size: int = 400) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _delta(text: str, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}
