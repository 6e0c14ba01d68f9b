"""People on Telegram bring cards to a running bot and take them along, on the wire: by a caption, and by a reply."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.personas.formats import read_file, write_charx
from tests.scenarios.bot_process import running_bot
from tests.scenarios.discord_lab import echo
from tests.scenarios.telegram_lab import TelegramLab, telegram_lab
from tests.scenarios.test_wire_telegram_memory import read, told

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-telegram")]


@pytest.fixture
async def lab(tmp_path: Path, migrated_database: Path) -> AsyncIterator[TelegramLab]:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        lab.model.script = echo
        yield lab


def card(name: str) -> bytes:
    said = {"name": name, "description": f"{name} keeps a lighthouse.", "first_mes": "The lamp is lit."}
    return write_charx(read_file(json.dumps(said).encode()).card, None, ())


async def test_a_card_is_sent_confirmed_by_its_button_used_and_exported(lab: TelegramLab) -> None:
    alice, bob, group = lab.people()
    telegram = lab.telegram
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        for person in (bob, alice):
            document = telegram.document(card("Mira"), "mira.charx", "application/octet-stream")
            telegram.say(person, group, caption="/persona import", **document)
        refusal, question = await telegram.wait_for(
            lambda: found if len(found := telegram.bot_messages(group)) == 2 else None
        )
        assert read(refusal).startswith("Only people who manage this chat")
        assert read(question).startswith("Mira, as I read it from mira.charx (CHARX):")
        telegram.press(alice, question, "Yes")
        kept = await telegram.wait_for(
            lambda: next((text for text in telegram.bot_texts(group) if "Mira can speak now" in text), None)
        )
        assert "as p_" in kept
        assert read(await told(lab, alice, group, "/persona use mira")) == "From now on Mira speaks here."
        telegram.say(bob, group, "@FamiliarBot who are you?")
        await telegram.wait_for(lambda: [text for text in telegram.bot_texts(group) if "who are you?" in text])
        assert "Mira keeps a lighthouse." in lab.model.last.system
        await told(lab, alice, group, "/persona_export charx")
        sent = await telegram.wait_for(lambda: telegram.bot_messages(group)[-1].get("document"))
        assert sent["file_name"] == "Mira.charx"
        assert read_file(telegram.files[sent["file_id"]][1]).card.name == "Mira"
        assert await bot.stop() == 0


async def test_a_reply_to_a_file_imports_it_and_a_photo_is_told_to_be_none(lab: TelegramLab) -> None:
    alice = lab.telegram.user("Alice")
    private = lab.telegram.private(alice)
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        posted = lab.telegram.say(alice, private, **lab.telegram.document(card("Ivo"), "ivo.charx", "application/zip"))
        await lab.telegram.wait_for(lambda: lab.telegram.bot_messages(private))
        lab.telegram.say(alice, private, "/persona import --yes", reply_to=posted)
        await lab.telegram.wait_for(
            lambda: [text for text in lab.telegram.bot_texts(private) if "Ivo can speak" in text]
        )
        lab.telegram.say(alice, private, caption="/persona import", **lab.telegram.photo(b"\xff\xd8\xff" + bytes(40)))
        await lab.telegram.wait_for(lambda: [text for text in lab.telegram.bot_texts(private) if "as a file" in text])
        assert await bot.stop() == 0
