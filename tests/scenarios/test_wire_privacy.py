"""First contacts and privacy on the wire: what a group is told once, and that nothing is kept of whoever asks."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.emulators.openai.script import Say
from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.world import User
from tests.scenarios.bot_process import running_bot
from tests.scenarios.discord_lab import discord_lab
from tests.scenarios.telegram_lab import telegram_lab

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-privacy")]

SECRET = "sesame-of-bob"


def is_kept(folder: Path) -> bool:
    """Whether the secret is anywhere in the database."""
    with closing(sqlite3.connect(folder / "data" / "familiar.db")) as connection:
        return any(SECRET in line for line in connection.iterdump())


async def _is_forgotten(telegram: TelegramEmulator, who: User) -> None:
    """Somebody tells the bot something in private, and has it forgotten by the button."""
    chat = telegram.private(who)
    telegram.say(who, chat, "/privacy off")
    telegram.say(who, chat, f"my dog is called {SECRET}")
    await telegram.wait_for(lambda: "Hello!" in telegram.bot_texts(chat))
    telegram.say(who, chat, "/privacy forget-me")
    await telegram.wait_for(lambda: telegram.bot_texts(chat)[-1].startswith("This goes"))
    telegram.press(who, telegram.bot_messages(chat)[-1], "Forget me")
    await telegram.wait_for(lambda: any("You are forgotten" in text for text in telegram.bot_texts(chat)))


@pytest.mark.parametrize("hears_all", [False, True])
async def test_T18_a_telegram_group_is_told_once_what_the_bot_is_and_whoever_asks_is_not_remembered(
    tmp_path: Path, migrated_database: Path, hears_all: bool
) -> None:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        telegram = lab.telegram
        telegram.privacy = not hears_all
        bob = telegram.user("Bob")
        group = telegram.group("New", bob)
        settings = {**lab.settings, "PERSONA": "bryony", "LOG_LEVEL": "debug", "DEBUG_LOGGING": "on"}
        async with running_bot(lab.folder, settings) as bot:
            await lab.polled()
            telegram.say(bob, group, "@FamiliarBot hello")
            await telegram.wait_for(lambda: len(telegram.bot_texts(group)) == 2)
            (told,) = [text for text in telegram.bot_texts(group) if "/privacy on" in text]
            assert "Bryony" in told
            assert ("The rest I only listen to." in told) is hears_all
            assert ("Here only commands, replies to me and messages that mention me reach me" in told) is not hears_all
            assert "/privacy" not in str(lab.model.last.messages)
            telegram.say(bob, group, "/privacy on")
            await telegram.wait_for(lambda: telegram.bot_texts(group)[-1].startswith("Privacy is on for you"))
            if hears_all:
                telegram.say(bob, group, f"only between us: {SECRET}")
            telegram.say(bob, group, f"@FamiliarBot {SECRET}")
            await telegram.wait_for(lambda: len(telegram.bot_texts(group)) == 4)
            telegram.say(bob, group, "/retry")
            await telegram.wait_for(lambda: telegram.bot_texts(group)[-1].startswith("That was said in privacy"))
            assert SECRET in lab.model.last.last_user
            assert await bot.stop() == 0
        assert not is_kept(lab.folder)
        assert SECRET not in bot.output
        async with running_bot(lab.folder, settings) as bot:
            await lab.polled()
            telegram.say(bob, group, "@FamiliarBot what did I say?")
            request = await lab.model.request(3)
            assert SECRET not in str(request.messages)
            await _is_forgotten(telegram, bob)
            assert await bot.stop() == 0
        assert not any(SECRET.encode() in path.read_bytes() for path in (lab.folder / "data").rglob("*.db*"))
        assert sum("/privacy on" in text for text in telegram.bot_texts(group)) == 1


async def test_a_discord_server_is_told_once_what_the_bot_is_and_whoever_asks_is_not_remembered(
    tmp_path: Path, migrated_database: Path
) -> None:
    async with discord_lab(tmp_path / "lab", migrated_database, is_known=False) as lab:
        first, second = lab.spot("general"), lab.spot("other")
        async with lab.running(PERSONA="bryony", LOG_LEVEL="debug", DEBUG_LOGGING="on") as bot:
            await first.ask(lab.bob, "hello")
            told = await first.says(lambda text: "`/privacy on`" in text)
            assert "Mention me, reply to me or call me by name" in told["content"]
            await first.says("answer to: Bob: hello")
            await second.ask(lab.bob, "hello there")
            await second.says("answer to: Bob: hello there")
            answer = await first.slash(lab.bob, "privacy on")
            assert lab.told(answer).startswith("Privacy is **on** for you")
            assert lab.is_private(answer)
            spoken = await lab.bob.send(first.channel, f"only between us: {SECRET}")
            lab.model.script = Say(text="I see")
            await first.ask(lab.bob, f"and {SECRET}")
            await first.says("I see")
            assert SECRET in lab.model.last.last_user
            await lab.alice.send(first.channel, f"{lab.discord.mention} what is that?", reply_to=spoken)
            request = await lab.model.request(4)
            assert SECRET not in str(request.messages)
            question = await first.slash(lab.bob, "privacy forget-me")
            assert lab.told(question).startswith("This goes, wherever it is on this platform:")
            assert lab.is_private(question)
            done = await first.click(lab.bob, question.response, "Forget me")
            assert lab.told(done).startswith("You are forgotten: ")
            assert lab.is_private(done)
            assert await bot.stop() == 0
        assert not is_kept(lab.folder)
        assert not any(b"hello there" in path.read_bytes() for path in (lab.folder / "data").rglob("*.db*"))
        assert SECRET not in bot.output
        assert sum("`/privacy on`" in text for spot in (first, second) for text in spot.posts) == 1
