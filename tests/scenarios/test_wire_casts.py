"""Several personas in one place, on the wire: each with its own face in Discord, under its own name in Telegram."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.personas.formats import read_file, write_png
from bot.personas.formats.png import plain_picture
from tests.emulators.discord import Request
from tests.emulators.openai.script import Request as ModelRequest
from tests.emulators.openai.script import Say
from tests.emulators.telegram.world import Chat
from tests.scenarios.bot_process import running_bot
from tests.scenarios.discord_lab import DiscordLab, Spot, discord_lab, echo, halting
from tests.scenarios.telegram_lab import TelegramLab, telegram_lab
from tests.scenarios.test_wire_telegram_memory import read, told

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-casts")]


def card(name: str, color: tuple[int, int, int]) -> bytes:
    said = {"name": name, "description": f"{name} keeps a lighthouse.", "first_mes": f"{name} lights a lamp."}
    return write_png(read_file(json.dumps(said).encode()).card, plain_picture(color, side=300))


@pytest.fixture
async def discord(tmp_path: Path, migrated_database: Path) -> AsyncIterator[DiscordLab]:
    async with discord_lab(tmp_path, migrated_database) as lab, lab.running() as bot:
        yield lab
        assert await bot.stop() == 0
        assert "Traceback" not in bot.output


@pytest.fixture
async def telegram(tmp_path: Path, migrated_database: Path) -> AsyncIterator[TelegramLab]:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        lab.model.script = echo
        yield lab


async def bring(lab: DiscordLab, spot: Spot, name: str, color: tuple[int, int, int]) -> None:
    await spot.ask(lab.alice, "/persona import --yes", attachments=[(f"{name}.png", card(name, color))])
    await spot.says(lambda text: f"**{name}** can speak now" in text)
    added = await spot.slash(lab.alice, "cast add", persona=name)
    assert lab.told(added) == f"{name} speaks here as well now, when called by name or replied to."
    await spot.says(f"{name} lights a lamp.")


def faces(spot: Spot) -> list[tuple[str, str]]:
    return [(message.author.display_name, message.content) for message in spot.messages if message.webhook_id]


def worn(lab: DiscordLab) -> list[Request]:
    """The requests that sent a message with a face."""
    return lab.discord.requests.matching(lambda r: r.is_for("POST", "/webhooks/*/*") and "username" in (r.body or {}))


def numbered() -> Callable[[ModelRequest], Say]:
    """Answers that call nobody."""
    numbers = itertools.count(1)
    return lambda _: Say(text=f"answer {next(numbers)}")


async def test_two_personas_with_their_own_faces_answer_in_one_discord_channel(discord: DiscordLab) -> None:
    lab, spot = discord, discord.spot("tavern")
    await bring(lab, spot, "Mira", (200, 0, 0))
    await bring(lab, spot, "Rex", (0, 0, 200))
    lab.model.script = numbered()
    await lab.bob.send(spot.channel, "Mira, who are you?")
    await spot.says("answer 1")
    assert "Mira keeps a lighthouse." in lab.model.last.system
    assert "- Rex: Rex keeps a lighthouse." in lab.model.last.system
    await lab.bob.send(spot.channel, "Rex and Mira, both!")
    await spot.says("answer 3")
    said = {message.content: message for message in spot.messages}
    for number, asked in ((4, "answer 2"), (5, "answer 1")):
        await lab.bob.send(spot.channel, "go on", reply_to=said[asked])
        await spot.says(f"answer {number}")
    sent = [(request.body["username"], request.body["content"]) for request in worn(lab)]
    names = ("Mira", "Rex", "Mira", "Rex", "Mira")
    greetings = [(name, f"{name} lights a lamp.") for name in ("Mira", "Rex")]
    assert sent == greetings + [(name, f"answer {number}") for number, name in enumerate(names, start=1)]
    sent_with = [(request.body["username"], request.body["avatar_url"]) for request in worn(lab)]
    pictures = {(name, address.partition("/emojis/")[2]) for name, address in sent_with}
    known = lab.discord.world.emojis.pictures
    assert sorted(name for name, _ in pictures) == ["Mira", "Rex"]
    assert {picture for _, picture in pictures} == {f"{emoji}.png" for emoji in known}


def thread_of(lab: DiscordLab, spot: Spot) -> Spot:
    return Spot(lab, lab.discord.world.start_thread(spot.channel, "aside", lab.bob))


def forum_post(lab: DiscordLab, _spot: Spot) -> Spot:
    forum = lab.guild.create_forum_channel("help")
    post, _ = lab.discord.world.start_forum_post(forum, "How?", lab.bob, "How does it work?")
    return Spot(lab, post)


@pytest.mark.parametrize("begin", [thread_of, forum_post])
async def test_D18_a_face_grows_is_retried_and_taken_back_in_a_thread_and_a_forum_post(
    discord: DiscordLab, begin: Callable[[DiscordLab, Spot], Spot]
) -> None:
    lab, spot = discord, discord.spot("tavern")
    await bring(lab, spot, "Mira", (200, 0, 0))
    thread = begin(lab, spot)
    if begin is forum_post:  # what was added to a channel is not there
        added = await thread.slash(lab.alice, "cast add", persona="Mira")
        assert lab.told(added) == "Mira speaks here as well now, when called by name or replied to."
        await thread.says("Mira lights a lamp.")
    before = faces(thread)
    gate = asyncio.Event()
    lab.model.queue(halting(gate, "It began ", "long ago."))
    await lab.bob.send(thread.channel, "Mira, a story")
    await thread.says(lambda text: text.startswith("It began"))
    gate.set()
    await thread.says("It began long ago.")
    lab.model.queue(Say(text="Another one."))
    await thread.ask(lab.bob, "/retry")
    await thread.says("Another one.")
    await lab.discord.requests.first(lambda _: faces(thread) == [*before, ("Mira", "Another one.")])
    await thread.ask(lab.bob, "/undo")
    await thread.says("Taken back: what Mira said no longer counts.")
    await lab.discord.requests.first(lambda _: faces(thread) == before)
    (emoji,) = lab.discord.world.emojis.pictures
    assert all(request.body["avatar_url"].endswith(f"/emojis/{emoji}.png") for request in worn(lab))


async def test_in_telegram_the_name_of_whoever_speaks_stands_above_where_several_do(telegram: TelegramLab) -> None:
    alice, bob, group = telegram.people()
    async with running_bot(telegram.folder, telegram.settings) as bot:
        await telegram.polled()
        await told(telegram, alice, group, "/persona use bryony")
        await has_said(telegram, group, "lost property")  # it greets
        telegram.model.script = numbered()
        assert read(await told(telegram, bob, group, "@FamiliarBot hello")) == "answer 1"
        added = read(await told(telegram, alice, group, "/cast add thrupp"))
        assert added == "Thrupp speaks here as well now, when called by name or replied to."
        await has_said(telegram, group, "Thrupp\n")
        first = await told(telegram, bob, group, "@FamiliarBot and you, Thrupp?")
        second = await told(telegram, bob, group, "@FamiliarBot and the other one?")
        assert [read(first), read(second)] == ["Thrupp\nanswer 2", "Bryony\nanswer 3"]
        assert first["entities"][0] == {"type": "bold", "offset": 0, "length": 6}
        for message, said in ((first, "Thrupp\nanswer 4"), (second, "Bryony\nanswer 5")):
            telegram.telegram.say(bob, group, "go on", reply_to=message)
            await has_said(telegram, group, said)
        assert "[replying to Bryony: answer 3]" in telegram.model.last.last_user
        assert await bot.stop() == 0


async def has_said(lab: TelegramLab, group: Chat, text: str) -> None:
    """Wait until the bot has said something in the group that holds the text."""
    await lab.telegram.wait_for(lambda: [said for said in lab.telegram.bot_texts(group) if text in said])
