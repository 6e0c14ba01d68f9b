"""People on Discord bring lore to a running bot, on the wire: what is mentioned reaches the model."""

from __future__ import annotations

import json

import pytest

from bot.personas.formats import read_file, write_png
from tests.emulators.openai.script import Say
from tests.lore import entry
from tests.scenarios.discord_lab import DiscordLab, Spot

pytestmark = [
    pytest.mark.wire,
    pytest.mark.xdist_group("wire-discord-commands"),
    pytest.mark.asyncio(loop_scope="module"),
]


def card() -> bytes:
    book = {"entries": [entry("lantern", content="The lantern never goes out.")]}
    said = {"name": "Noor", "description": "Noor keeps a light.", "character_book": book}
    return write_png(read_file(json.dumps(said).encode()).card, None)


async def test_lore_of_a_card_and_of_a_place_fires_and_is_told_by_a_test(lab: DiscordLab, spot: Spot) -> None:
    await spot.slash(lab.alice, "persona import", file=("noor.png", card()))
    await spot.slash(lab.alice, "persona import", yes=True)
    await spot.slash(lab.alice, "persona use", persona="Noor")
    book = json.dumps({"entries": [entry("wyrm", content="The wyrm sleeps under the hill.")]}).encode()
    read = await spot.slash(lab.alice, "lore import", file=("hill.json", book))
    assert lab.told(read) == "Read 1 entry (This place)."
    lab.model.script = Say(text="It does.")
    await spot.ask(lab.bob, "does the wyrm fear the lantern?")
    await spot.says(lambda text: "It does." in text)
    asked = lab.model.last.last_user
    assert "The lantern never goes out." in asked
    assert "The wyrm sleeps under the hill." in asked
    told = await spot.slash(lab.alice, "lore test", text="a wyrm")
    assert "1 entry would join in" in lab.told(told)
    assert lab.is_private(told)
