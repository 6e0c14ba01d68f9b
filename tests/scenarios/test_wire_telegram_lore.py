"""People on Telegram bring lore to a running bot, on the wire: what is mentioned reaches the model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.emulators.openai.script import Say
from tests.lore import entry
from tests.scenarios.bot_process import running_bot
from tests.scenarios.telegram_lab import TelegramLab, telegram_lab
from tests.scenarios.test_wire_telegram_memory import read, told

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-telegram")]


@pytest.fixture
async def lab(tmp_path: Path, migrated_database: Path) -> AsyncIterator[TelegramLab]:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        lab.model.script = Say(text="It does.")
        yield lab


async def test_lore_of_a_card_and_of_a_place_fires_and_is_told_by_a_test(lab: TelegramLab) -> None:
    alice, bob, group = lab.people()
    telegram = lab.telegram
    card = {"name": "Noor", "description": "Noor keeps a light.", "character_book": {"entries": [LANTERN]}}
    book = {"entries": [entry("wyrm", content="The wyrm sleeps under the hill.")]}
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        for caption, data in (("/persona import --yes", card), ("/lore_import", book)):
            file = telegram.document(json.dumps(data).encode(), "noor.json", "application/json")
            telegram.say(alice, group, caption=caption, **file)
        await telegram.wait_for(
            lambda: [text for text in telegram.bot_texts(group) if "Read 1 entry (This place)." in text]
        )
        assert read(await told(lab, alice, group, "/persona use noor")) == "From now on Noor speaks here."
        telegram.say(bob, group, "@FamiliarBot does the wyrm fear the lantern?")
        await telegram.wait_for(lambda: [text for text in telegram.bot_texts(group) if "It does." in text])
        assert "The lantern never goes out." in lab.model.last.last_user
        assert "The wyrm sleeps under the hill." in lab.model.last.last_user
        assert "1 entry would join in" in read(await told(lab, alice, group, "/lore test a wyrm"))
        assert await bot.stop() == 0


LANTERN = entry("lantern", content="The lantern never goes out.")
