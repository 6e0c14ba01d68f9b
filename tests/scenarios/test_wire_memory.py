"""Memory on the wire: what was told long ago is in the prompt as notes of the right person, also after a restart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.llm.model import ModelMessage, ModelRequest, Role
from tests.emulators.openai.script import Reply, Request, Say, text_of
from tests.folding import SAID, ideal
from tests.scenarios.bot_process import BotProcess, running_bot
from tests.scenarios.discord_lab import discord_lab
from tests.scenarios.telegram_lab import telegram_lab

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-memory")]

SETTINGS = {
    "SUMMARY__KEEP_RECENT": "2",
    "SUMMARY__KEEP_TOKENS": "0",
    "SUMMARY__TRIGGER__TYPE": "messages_to_refine",
    "SUMMARY__TRIGGER__VALUE": "8",
    "NOTICES": "off",
}
Tell = Callable[[str, str], Awaitable[Any]]
"""`tell(name, text)`: somebody asks, and is answered."""


class Notetaker:
    """Answers, and takes notes; its first notes are prose, and have to be asked for again."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def __call__(self, request: Request) -> Reply:
        if not request.system.startswith("You keep the notes of a chat"):
            return Say(text=f"answer to: {request.last_user}")
        self.noted.append(text_of(request.messages[1]))
        if len(self.noted) == 1:
            return Say(text="They talked, I think.")
        messages = tuple(ModelMessage(role=Role(one["role"]), text=text_of(one)) for one in request.messages)
        return Say(text=ideal(ModelRequest(model="", messages=messages, max_output_tokens=1)))


async def tell_much(tell: Tell, bot: BotProcess) -> None:
    """Two people tell something of themselves, and then much else, until it is folded."""
    await tell("Alice", SAID["en"]["pet"].format("Rex"))
    await tell("Bob", SAID["zh"]["place"].format("Oslo"))
    for number in range(4):
        await tell("Alice", f"small talk {number}")
    await bot.logs("memory.compacted")


def is_known(request: Request) -> bool:
    """Whether both are in a request as notes, each under their name, and no longer word for word."""
    said = " ".join(text_of(message) for message in request.messages if message["role"] != "system")
    about_both = "## About Alice\n- Alice pet=Rex\n\n## About Bob\n- Bob place=Oslo" in request.system
    return about_both and "Rex" not in said and "Oslo" not in said


async def test_M08_what_was_told_in_a_discord_channel_is_known_after_a_restart(
    tmp_path: Path, migrated_database: Path
) -> None:
    async with discord_lab(tmp_path / "lab", migrated_database) as lab:
        lab.model.script = notetaker = Notetaker()
        spot = lab.spot("memory")
        people = {"Alice": lab.alice, "Bob": lab.bob}

        async def tell(name: str, text: str) -> None:
            await spot.ask(people[name], text)
            await spot.says(f"answer to: {name}: {text}")

        async with lab.running(**SETTINGS) as bot:
            await tell_much(tell, bot)
            assert await bot.stop() == 0
        async with lab.running(**SETTINGS) as bot:
            await tell("Bob", "what is her pet called?")
            assert is_known(lab.model.last), lab.model.last.messages
            assert await bot.stop() == 0
        assert len(notetaker.noted) == 2
        assert f"Alice (discord:{lab.alice.id}): my pet is called Rex" in notetaker.noted[0]


async def test_M08_what_was_told_in_a_telegram_group_is_known_after_a_restart(
    tmp_path: Path, migrated_database: Path
) -> None:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        lab.model.script = notetaker = Notetaker()
        alice, bob, group = lab.people()
        people = {"Alice": alice, "Bob": bob}

        async def tell(name: str, text: str) -> None:
            lab.telegram.say(people[name], group, f"@FamiliarBot {text}")
            await lab.telegram.wait_for_text(group, f"answer to: {name}: {text}")

        settings = {**lab.settings, **SETTINGS, "BURST_MS": "0"}
        async with running_bot(lab.folder, settings) as bot:
            await lab.polled()
            await tell_much(tell, bot)
            assert await bot.stop() == 0
        async with running_bot(lab.folder, settings) as bot:
            await lab.polled()
            await tell("Bob", "what is her pet called?")
            assert is_known(lab.model.last), lab.model.last.messages
            assert await bot.stop() == 0
        assert len(notetaker.noted) == 2
        assert f"Alice (telegram:{alice.id}): my pet is called Rex" in notetaker.noted[0]


async def talk_small(tell: Tell, bot: BotProcess, first: int, times: int) -> None:
    """Small talk until it is folded that often."""
    for number in range(first, first + 4):
        await tell("Alice", f"small talk {number}")
    await bot.logs("memory.compacted", times=times)


async def test_D31_what_is_deleted_or_edited_on_discord_long_after_it_was_folded_is_so_in_the_notes(
    tmp_path: Path, migrated_database: Path
) -> None:
    async with discord_lab(tmp_path / "lab", migrated_database) as lab:
        lab.model.script = Notetaker()
        spot = lab.spot("memory")
        people = {"Alice": lab.alice, "Bob": lab.bob}

        async def tell(name: str, text: str) -> Any:
            sent = await spot.ask(people[name], text)
            await spot.says(f"answer to: {name}: {text}")
            return sent

        async with lab.running(**SETTINGS) as bot:
            pet = await tell("Alice", SAID["en"]["pet"].format("Rex"))
            place = await tell("Bob", SAID["zh"]["place"].format("Oslo"))
            await talk_small(tell, bot, 0, 1)
            await tell("Bob", "what do you know?")
            assert all(value in lab.model.last.system for value in ("pet=Rex", "place=Oslo", "They talk."))
            await lab.alice.delete(pet)
            await lab.bob.edit(place, f"{lab.discord.mention} {SAID['zh']['place'].format('Bergen')}")
            await tell("Bob", "and now?")
            assert "Rex" not in str(lab.model.last.messages)
            assert "They talk." not in lab.model.last.system, "it may tell of what is gone"
            await talk_small(tell, bot, 4, 2)
            assert await bot.stop() == 0
        async with lab.running(**SETTINGS) as bot:
            await tell("Bob", "and at last?")
            assert "place=Bergen" in lab.model.last.system
            assert "They talk." in lab.model.last.system
            assert not any(value in str(lab.model.last.messages) for value in ("Rex", "Oslo"))
            assert await bot.stop() == 0


async def test_D31_what_is_edited_on_telegram_long_after_it_was_folded_is_so_in_the_notes(
    tmp_path: Path, migrated_database: Path
) -> None:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        lab.model.script = Notetaker()
        alice, bob, group = lab.people()
        people = {"Alice": alice, "Bob": bob}

        async def tell(name: str, text: str) -> Any:
            sent = lab.telegram.say(people[name], group, f"@FamiliarBot {text}")
            await lab.telegram.wait_for_text(group, f"answer to: {name}: {text}")
            return sent

        async with running_bot(lab.folder, {**lab.settings, **SETTINGS, "BURST_MS": "0"}) as bot:
            await lab.polled()
            place = await tell("Bob", SAID["zh"]["place"].format("Oslo"))
            await tell("Alice", SAID["en"]["pet"].format("Rex"))
            await talk_small(tell, bot, 0, 1)
            lab.telegram.edit(place, f"@FamiliarBot {SAID['zh']['place'].format('Bergen')}")
            await tell("Bob", "and now?")
            await talk_small(tell, bot, 4, 2)
            await tell("Bob", "and at last?")
            assert "place=Bergen" in lab.model.last.system
            assert "pet=Rex" in lab.model.last.system
            assert "Oslo" not in str(lab.model.last.messages)
            assert await bot.stop() == 0
