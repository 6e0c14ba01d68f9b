"""People on Discord bring cards to a running bot and take them along, on the wire: by menu, message and reply."""

from __future__ import annotations

import json

import pytest

from bot.personas.formats import read_file, write_png
from tests.emulators.discord.files import Misbehaviour
from tests.scenarios.discord_lab import DiscordLab, Spot

pytestmark = [
    pytest.mark.wire,
    pytest.mark.xdist_group("wire-discord-commands"),
    pytest.mark.asyncio(loop_scope="module"),
]


def card(name: str) -> bytes:
    said = {"name": name, "description": f"{name} keeps a lighthouse.", "first_mes": "The lamp is lit."}
    return write_png(read_file(json.dumps(said).encode()).card, None)


async def test_a_card_from_the_menu_is_shown_confirmed_used_and_exported_as_it_came(
    lab: DiscordLab, spot: Spot
) -> None:
    refused = await spot.slash(lab.bob, "persona import", file=("mira.png", card("Mira")))
    assert lab.told(refused) == "Only people who manage this chat can change that."
    shown = await spot.slash(lab.alice, "persona import", file=("mira.png", card("Mira")))
    assert lab.told(shown).startswith("**Mira**, as I read it from mira.png (PNG):")
    assert lab.is_private(shown)
    (question,) = [answer for answer in (shown.response, *shown.followups) if answer and answer.content]
    kept = await spot.click(lab.alice, question.message, "Yes")
    assert "**Mira** can speak now" in lab.told(kept)
    await spot.slash(lab.alice, "persona use", persona="Mira")
    await spot.ask(lab.bob, "who are you?")
    await spot.says(lambda text: "who are you?" in text)
    assert "Mira keeps a lighthouse." in lab.model.last.system
    sent = await spot.slash(lab.alice, "persona export", format="png")
    (file,) = [file for answer in (sent.response, *sent.followups) if answer for file in answer.attachments]
    data = lab.discord.world.backend.cdn.get(file.url) or b""
    assert (file.filename, read_file(data).card.name) == ("Mira.png", "Mira")


async def test_a_card_is_attached_to_a_message_or_to_the_one_replied_to(lab: DiscordLab, spot: Spot) -> None:
    await spot.ask(lab.alice, "/persona import", attachments=[("vera.png", card("Vera"))])
    await spot.says(lambda text: text.startswith("**Vera**, as I read it from vera.png"))
    posted = await lab.bob.send(spot.channel, "look what I made", attachments=[("ivo.png", card("Ivo"))])
    await spot.ask(lab.alice, "／persona import --yes", reply_to=posted)
    await spot.says(lambda text: "**Ivo** can speak now" in text)


async def test_X07_a_file_that_never_ends_is_given_up_at_the_limit(lab: DiscordLab, spot: Spot) -> None:
    lab.discord.files.misbehave("endless.png", Misbehaviour.ENDLESS)
    await spot.ask(lab.alice, "/persona import", attachments=[("endless.png", card("Endless"))])
    await spot.says(lambda text: text.startswith("That file is too large"))
    lab.discord.files.misbehave("gone.png", Misbehaviour.MISSING)
    await spot.ask(lab.alice, "/persona import", attachments=[("gone.png", card("Gone"))])
    await spot.says("I couldn't get that file. Please send it again.")
