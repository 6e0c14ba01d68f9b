"""Crashes of a bot on Telegram in the middle of an answer, on the wire: what people see of it, and how it is mended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.emulators.openai.script import Request, Say
from tests.emulators.telegram.world import Chat
from tests.scenarios.bot_process import running_bot
from tests.scenarios.telegram_lab import TelegramLab, never_ending, telegram_lab

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-telegram-restarts")]

HALF = " ".join(f"half{number}" for number in range(600))
"""Two messages."""
BROKEN_OFF = "This answer broke off when I stopped. /retry gives it another go, /undo takes it back."
"""What is told of it after the restart; it goes with it."""


@pytest.fixture
async def lab(tmp_path: Path, migrated_database: Path) -> AsyncIterator[TelegramLab]:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        yield lab


def echo(request: Request) -> Say:
    return Say(text=f"answer to: {request.last_user}")


async def crash_in_the_middle(lab: TelegramLab, chat: Chat, question: str) -> None:
    """Kill the bot when two messages of its answer are seen, and the second has been edited, which comes after that is
    noted.
    """
    gate, (_, bob) = asyncio.Event(), chat.members.values()
    lab.model.queue(never_ending(HALF, " and more", gate))
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        lab.telegram.say(bob, chat, question)
        await lab.telegram.wait_for(lambda: len(lab.telegram.bot_texts(chat)) == 2)
        gate.set()
        await lab.telegram.wait_for(lambda: lab.telegram.bot_texts(chat)[-1].endswith("and more"))
        await bot.kill()


async def test_S16_after_a_crash_retry_puts_one_full_answer_in_the_place_of_the_half(lab: TelegramLab) -> None:
    _, bob, group = lab.people()
    await crash_in_the_middle(lab, group, "@FamiliarBot hello")
    lab.model.script = echo
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        await lab.telegram.wait_for_text(group, BROKEN_OFF)
        lab.telegram.say(bob, group, "/status@FamiliarBot")
        told = await lab.telegram.wait_for(lambda: lab.telegram.bot_texts(group)[3:])
        assert "I don't know whether the last answer arrived. /retry sends another." in told[0]
        lab.telegram.say(bob, group, "/retry@FamiliarBot")
        await lab.telegram.wait_for_text(group, "answer to: Bob: hello")
        assert lab.telegram.bot_texts(group) == [*told, "answer to: Bob: hello"]
        assert await bot.stop() == 0


async def test_S16_after_a_crash_undo_takes_the_half_answer_away(lab: TelegramLab) -> None:
    _, bob, group = lab.people()
    await crash_in_the_middle(lab, group, "@FamiliarBot hello")
    lab.model.script = echo
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        await lab.telegram.wait_for_text(group, BROKEN_OFF)
        lab.telegram.say(bob, group, "/undo@FamiliarBot")
        await lab.telegram.wait_for_text(group, "Taken back: neither the message nor the answer counts any more.")
        assert len(lab.telegram.bot_texts(group)) == 1
        lab.telegram.say(bob, group, "@FamiliarBot and now?")
        await lab.telegram.wait_for_text(group, "answer to: Bob: and now?")
        assert await bot.stop() == 0
    assert [message["content"] for message in lab.model.last.messages[1:]] == ["Bob: and now?"]


async def test_S16_a_draft_that_a_crash_left_is_nothing_to_take_away(lab: TelegramLab) -> None:
    alice, _, _ = lab.people()
    chat = lab.telegram.private(alice)
    lab.model.queue(never_ending("Half", "", asyncio.Event()))
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        lab.telegram.say(alice, chat, "hello")
        await lab.telegram.wait_for(lambda: chat.drafts)
        await bot.kill()
    lab.model.script = echo
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        lab.telegram.say(alice, chat, "/retry")
        await lab.telegram.wait_for_text(chat, "answer to: hello")
        assert await bot.stop() == 0
    assert lab.telegram.bot_texts(chat) == ["answer to: hello"]
