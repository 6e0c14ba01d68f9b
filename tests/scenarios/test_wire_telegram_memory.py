"""People on Telegram read and change what a running bot remembers, on the wire: typed, by buttons, and as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.emulators.openai.script import Reply, Request, Say
from tests.emulators.telegram.world import Chat, User
from tests.scenarios.bot_process import running_bot
from tests.scenarios.telegram_lab import TelegramLab, telegram_lab

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-telegram")]

FEW_KEPT = {"SUMMARY__KEEP_RECENT": "2", "SUMMARY__KEEP_TOKENS": "0", "SUMMARY__TRIGGER__TYPE": "off"}


def notetaker(request: Request) -> Reply:
    """Answers, and takes notes."""
    is_asked_for_notes = request.system.startswith("You keep the notes of a chat")
    return Say(text='{"gist": "They said hello."}' if is_asked_for_notes else f"answer to: {request.last_user}")


@pytest.fixture
async def lab(tmp_path: Path, migrated_database: Path) -> AsyncIterator[TelegramLab]:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        lab.model.script = notetaker
        yield lab


async def told(lab: TelegramLab, who: User, chat: Chat, text: str, ending: str = "") -> dict[str, Any]:
    """What the bot says to something typed: its next message, once that reads so."""
    before = len(lab.telegram.bot_messages(chat))

    def found() -> dict[str, Any] | None:
        message = next(iter(lab.telegram.bot_messages(chat)[before:]), None)
        return message if message and ending in read(message) else None

    lab.telegram.say(who, chat, text)
    return await lab.telegram.wait_for(found)


def read(message: dict[str, Any]) -> str:
    return str(message.get("text") or message.get("caption") or "")


async def test_people_see_change_clear_and_take_back_what_is_remembered(lab: TelegramLab) -> None:
    alice, bob, group = lab.people()
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        await told(lab, alice, group, "@FamiliarBot good morning")
        added = read(await told(lab, bob, group, "/memory add fact likes tea"))
        number = added.split()[3].rstrip(":")
        assert added == f"Written down as {number}: Bob: likes tea"
        await told(lab, bob, group, "@FamiliarBot what do I like?")
        assert "## About Bob\n- Bob: likes tea" in lab.model.last.system
        assert f"About Bob\n• {number} Bob: likes tea" in read(await told(lab, alice, group, "/memory"))
        assert "concerns somebody else" in read(await told(lab, bob, group, "/memory_add fact is tall -w Alice"))
        assert read(await told(lab, bob, group, f"/memory_pin {number}")).startswith("Pinned")
        assert read(await told(lab, bob, group, "/memory_export")) == "All I remember here: 1 item."
        file = await lab.telegram.wait_for(lambda: lab.telegram.bot_messages(group)[-1].get("document"))
        assert file["file_name"].endswith(".md")
        assert read(await told(lab, bob, group, f"/memory forget {number}")).startswith(f"Forgotten: {number}.")
        await told(lab, bob, group, "@FamiliarBot and now?")
        assert "likes tea" not in lab.model.last.system
        assert "1 item" in read(await told(lab, alice, group, "/memory undo"))
        await told(lab, bob, group, "@FamiliarBot and again?")
        assert "likes tea" in lab.model.last.system
        question = await told(lab, alice, group, "/memory clear facts")
        assert read(question).startswith("Shall I forget this? 1 fact about people.")
        lab.telegram.press(alice, question, "Yes, forget: facts")
        await lab.telegram.wait_for(lambda: [text for text in lab.telegram.bot_texts(group) if "Forgotten: 1" in text])
        assert read(await told(lab, bob, group, "/memory")).startswith("I have no notes")
        assert await bot.stop() == 0


async def test_people_fold_a_talk_by_hand_and_read_all_of_it_again(lab: TelegramLab) -> None:
    alice, _, _ = lab.people()
    chat = lab.telegram.private(alice)
    async with running_bot(lab.folder, {**lab.settings, **FEW_KEPT}) as bot:
        await lab.polled()
        for number in range(4):
            await told(lab, alice, chat, f"hello {number}", f"answer to: hello {number}")
        notice = await told(lab, alice, chat, "/compact who said hello", "notes now")
        first, last = read(notice).split("\n")
        assert first == "Taking notes of the older messages …"
        assert last.startswith("Done: 6 messages are notes now.")
        assert [text for text in lab.telegram.bot_texts(chat) if "notes" in text] == [read(notice)], "one notice"
        assert any("who said hello" in str(request.body) for request in lab.model.requests)
        await told(lab, alice, chat, "what did I say?", "answer to")
        assert "They said hello." in lab.model.last.system
        assert "hello 0" not in str(lab.model.last.messages)
        history = read(await told(lab, alice, chat, "/history"))
        assert history.startswith("What was said here: 10 messages.")
        above, below = history.split("6 messages above became notes (by hand)")
        assert ("hello 1" in above, "hello 3" in below) == (True, True)
        assert await bot.stop() == 0


async def test_follow_ups_are_kept_done_dropped_and_opened_again(lab: TelegramLab) -> None:
    alice, _, _ = lab.people()
    chat = lab.telegram.private(alice)
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        added = read(await told(lab, alice, chat, "/memory add follow-up bring the tent -d 2030-05-01"))
        number = added.split()[3].rstrip(":")
        listed = read(await told(lab, alice, chat, "/follow-ups"))
        assert f"{number} Alice: bring the tent (due 2030-05-01)" in listed
        done = read(await told(lab, alice, chat, f"/follow_ups_done {number}"))
        assert done.startswith("Done: bring the tent (now ")
        number = done.split("now ")[1].rstrip(")")
        await told(lab, alice, chat, "what is open?", "answer to")
        assert "bring the tent" not in lab.model.last.system
        opened = read(await told(lab, alice, chat, f"/follow-ups reopen {number}"))
        assert opened.startswith("Open again: bring the tent")
        number = opened.split("now ")[1].rstrip(")")
        assert read(await told(lab, alice, chat, f"/follow-ups drop {number}")).startswith("Dropped: bring the tent")
        assert await bot.stop() == 0
