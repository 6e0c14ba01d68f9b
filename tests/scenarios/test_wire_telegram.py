"""A stranger's conversation on Telegram, on the wire: the bot is its own process, started by its real command line."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.emulators.openai.script import Say
from tests.scenarios.bot_process import running_bot
from tests.scenarios.telegram_lab import TelegramLab, halting, telegram_lab

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-telegram")]


@pytest.fixture
async def lab(tmp_path: Path, migrated_database: Path) -> AsyncIterator[TelegramLab]:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        yield lab


async def test_a_strangers_conversation_survives_a_restart(lab: TelegramLab) -> None:
    alice, bob, group = lab.people()
    telegram, gate = lab.telegram, asyncio.Event()
    lab.model.script = lambda request: Say(text=f"answer to: {request.last_user}")
    lab.model.queue(halting("Nice name", ", Tom.", gate))
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        telegram.say(bob, group, "the cat is called Tom")
        telegram.say(bob, group, "@FamiliarBot do you like it?")
        await telegram.wait_for_text(group, "Nice name")
        gate.set()
        await telegram.wait_for_text(group, "Nice name, Tom.")
        telegram.say(bob, group, "/persona use bryony")
        await telegram.wait_for(lambda: len(telegram.bot_texts(group)) == 2)
        telegram.say(alice, group, "/persona@familiarbot use bryony")
        await telegram.wait_for(lambda: len(telegram.bot_texts(group)) == 4)
        telegram.say(bob, group, "@FamiliarBot my dog is Rex")
        await telegram.wait_for_text(group, "answer to: Bob: my dog is Rex")
        assert await bot.stop() == 0
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        telegram.say(bob, group, "@FamiliarBot what is its name?")
        await telegram.wait_for_text(group, "answer to: Bob: what is its name?")
        assert await bot.stop() == 0
    _, refused, switched, greeting, *_ = telegram.bot_texts(group)
    assert (refused, switched) == (
        "Only people who manage this chat can change that.",
        "From now on Bryony speaks here.",
    )
    assert "You are Bryony." in lab.model.last.system
    assert [message["content"] for message in lab.model.last.messages[1:]] == [
        greeting,
        "Bob: my dog is Rex",
        "answer to: Bob: my dog is Rex",
        "Bob: what is its name?",
    ]
    assert "AAH-sentinel" not in bot.output
    assert "key-sentinel" not in bot.output


async def test_history_is_there_after_a_restart(lab: TelegramLab) -> None:
    alice, _, _ = lab.people()
    chat = lab.telegram.private(alice)
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        lab.telegram.say(alice, chat, "my dog is Rex")
        await lab.telegram.wait_for_text(chat, "Hello!")
        assert await bot.stop() == 0
    async with running_bot(lab.folder, lab.settings):
        await lab.polled()
        lab.telegram.say(alice, chat, "what is its name?")
        request = await lab.model.request(2)
    assert [message["content"] for message in request.messages[1:]] == ["my dog is Rex", "Hello!", "what is its name?"]


async def test_commands_are_typed_in_chinese_too_though_the_menu_takes_latin_letters_only(lab: TelegramLab) -> None:
    alice, _, _ = lab.people()
    chat = lab.telegram.private(alice)
    async with running_bot(lab.folder, lab.settings):
        await lab.polled()
        lab.telegram.say(alice, chat, "/角色 使用 东坡")  # which Telegram marks as no command
        switched = (
            "From now on 东坡 speaks here.\n"
            "Its card is in another language than what I say myself: /session set language zh lets me follow."
        )
        await lab.telegram.wait_for_text(chat, switched)
        await lab.telegram.wait_for(lambda: ('{"type": "all_private_chats"}', "zh") in lab.telegram.commands)
    menu = lab.telegram.commands['{"type": "all_private_chats"}', "zh"]
    assert {"command": "persona_use", "description": "换一个角色在这里说话"} in menu
    assert lab.model.requests == []


async def test_files_reach_the_model_wherever_the_bot_answers(lab: TelegramLab) -> None:
    _, bob, group = lab.people()
    eve = lab.telegram.user("Eve")
    group.members[eve.id] = eve
    roses = lab.telegram.document(b"water the roses", "roses.txt", "text/plain")
    called = {**lab.settings, "PERSONA": "bryony", "ACCESS__DENY_USERS": f"telegram:{eve.id}"}
    async with running_bot(lab.folder, called) as bot:
        await lab.polled()
        lab.telegram.say(eve, group, caption="Bryony, this", **roses)
        lab.telegram.say(bob, group, caption="nobody reads this", **roses)
        lab.telegram.say(bob, group, caption="Bryony, read this", **roses)
        await lab.telegram.wait_for_text(group, "Hello!")
        assert await bot.stop() == 0
    assert "water the roses" in lab.model.last.last_user
    assert len(lab.telegram.calls_of("getFile")) == 1
    async with running_bot(lab.folder, {**lab.settings, "PROFILES__TELEGRAM__ACTIVATION": "always"}):
        await lab.polled()
        lab.telegram.say(bob, group, caption="everybody reads this", **roses)
        await lab.telegram.wait_for(lambda: len(lab.telegram.bot_texts(group)) == 2)
    assert lab.model.last.last_user.count("water the roses") == 1


async def test_a_slow_answer_streams_and_a_fast_one_is_one_request(lab: TelegramLab) -> None:
    _, bob, group = lab.people()
    gate = asyncio.Event()
    async with running_bot(lab.folder, lab.settings):
        await lab.polled()
        lab.telegram.say(bob, group, "@FamiliarBot quick")
        await lab.telegram.wait_for_text(group, "Hello!")
        calls = [call.method for call in lab.telegram.calls_of("sendMessage", "editMessageText", "sendChatAction")]
        assert calls == ["sendMessage"]
        lab.model.queue(halting("The first half", " and the rest.", gate))
        lab.telegram.say(bob, group, "@FamiliarBot slow")
        await lab.telegram.wait_for_text(group, "The first half")
        gate.set()
        await lab.telegram.wait_for_text(group, "The first half and the rest.")
        assert len(lab.telegram.bot_texts(group)) == 2


async def test_S13_sigterm_closes_open_answers_and_ends_cleanly(lab: TelegramLab) -> None:
    alice, bob, group = lab.people()
    never = asyncio.Event()
    lab.model.script = lambda request: halting("It begins", " and never ends", never)
    async with running_bot(lab.folder, {**lab.settings, "STOP_GRACE": "1"}) as process:
        await lab.polled()
        lab.telegram.say(bob, group, "@FamiliarBot go")
        private = lab.telegram.private(alice)
        lab.telegram.say(alice, private, "go")
        await lab.telegram.wait_for_text(group, "It begins")
        await lab.telegram.wait_for(lambda: private.drafts)
        process.signal(signal.SIGTERM)
        assert await process.ended(10) == 0
    assert lab.telegram.bot_texts(group) == ["It begins …"]
    assert lab.telegram.bot_texts(private) == ["It begins …"]


async def test_S16_after_a_crash_between_sending_and_saving_nothing_is_sent_twice(lab: TelegramLab) -> None:
    alice, _, _ = lab.people()
    chat = lab.telegram.private(alice)
    never = asyncio.Event()
    lab.model.queue(halting("Half", " rest", never))
    async with running_bot(lab.folder, lab.settings) as process:
        await lab.polled()
        lab.telegram.say(alice, chat, "hello")
        await lab.telegram.wait_for(lambda: chat.drafts)
        await process.kill()
    async with running_bot(lab.folder, lab.settings) as process:
        await lab.polled()
        lab.telegram.say(alice, chat, "again")
        await lab.telegram.wait_for_text(chat, "Hello!")
        assert await process.stop() == 0
    assert len(lab.model.requests) == 2
    assert [message["content"] for message in lab.model.last.messages[1:]][-1] == "again"


async def test_T19_a_message_unanswered_at_a_crash_is_answered_once_after_the_restart(lab: TelegramLab) -> None:
    alice, _, _ = lab.people()
    chat = lab.telegram.private(alice)
    lab.model.queue(Say(text="never said", gate=asyncio.Event()))
    async with running_bot(lab.folder, lab.settings) as process:
        await lab.polled()
        lab.telegram.say(alice, chat, "hello")
        await lab.model.request(1)
        await process.kill()
    async with running_bot(lab.folder, lab.settings) as process:
        await lab.telegram.wait_for_text(chat, "Hello!", timeout_s=30)
        assert await process.stop() == 0
    assert lab.telegram.bot_texts(chat) == ["Hello!"]


async def test_T19_a_message_that_was_not_stored_at_a_crash_is_answered_after_the_restart(lab: TelegramLab) -> None:
    alice, _, _ = lab.people()
    chat = lab.telegram.private(alice)
    slow = lab.telegram.fail("getFile", delay_s=60)
    async with running_bot(lab.folder, lab.settings) as process:
        await lab.polled()
        lab.telegram.say(alice, chat, **lab.telegram.document(b"water the roses", "notes.txt", "text/plain"))
        await lab.telegram.wait_for(lambda: slow.times == 0)
        await process.kill()
    async with running_bot(lab.folder, lab.settings) as process:
        await lab.telegram.wait_for_text(chat, "Hello!", timeout_s=30)
        assert await process.stop() == 0
    assert "water the roses" in lab.model.last.last_user
    assert lab.telegram.bot_texts(chat) == ["Hello!"]


async def test_T19_an_update_that_comes_again_after_a_restart_is_answered_once(lab: TelegramLab) -> None:
    alice, _, _ = lab.people()
    chat = lab.telegram.private(alice)
    async with running_bot(lab.folder, lab.settings) as process:
        await lab.polled()
        lab.telegram.say(alice, chat, "hello")
        (update,) = lab.telegram.updates.pending
        await lab.telegram.wait_for_text(chat, "Hello!")
        await lab.telegram.wait_for(lambda: not lab.telegram.updates.pending)
        await process.kill()
    lab.telegram.updates.pending.append(update)
    async with running_bot(lab.folder, lab.settings) as process:
        await lab.polled()
        lab.telegram.say(alice, chat, "and now?")
        await lab.telegram.wait_for(lambda: len(lab.telegram.bot_texts(chat)) == 2)
        assert await process.stop() == 0
    assert [request.last_user for request in lab.model.requests] == ["hello", "and now?"]
    assert lab.telegram.updates.pending == []


async def test_T18_the_privacy_mode_is_told_at_the_start(lab: TelegramLab) -> None:
    lab.telegram.privacy = True
    async with running_bot(lab.folder, lab.settings) as process:
        await lab.polled()
        assert "privacy" in process.output.lower()


async def test_S18_sigint_during_the_start_ends_without_a_traceback(lab: TelegramLab) -> None:
    lab.telegram.fail("getMe", delay_s=5.0)
    async with running_bot(lab.folder, lab.settings) as process:
        await process.logs("app.opened")
        process.signal(signal.SIGINT)
        await process.ended(10)
    assert process.events("app.ready") == []
    assert "Traceback" not in process.output
    assert "Unclosed" not in process.output
