"""Commands about one of a cast: what `--of` names, what it is for, and what completion offers for it."""

from __future__ import annotations

from typing import Any

import pytest

from bot.testing import ScriptedModel
from tests.conftest import Extend, MakeApp
from tests.lore import entry
from tests.talking import GROUP, Chat, open_chat
from tests.test_cast import by_name
from tests.test_commands_personas import answered, bring, plain


async def open_cast(make_app: MakeApp, **settings: Any) -> Chat:
    given: dict[str, Any] = {"cast": ("thrupp: moss",), "access": {"admins": ["fake:alice"]}, **settings}
    return await open_chat(make_app, model=ScriptedModel(by_name), **given)


async def tell(chat: Chat, line: str) -> str:
    return await chat.ask(line, channel=GROUP, mentions_me=True)


async def test_each_of_a_cast_has_a_memory_of_its_own_that_can_be_seen_and_changed(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await tell(chat, "/memory add fact Alice likes tea")
    await tell(chat, "/memory add fact Alice likes moss --of Thrupp")
    mine, theirs = await tell(chat, "/memory"), await tell(chat, "/memory --of moss")
    assert ("tea" in mine, "moss" in mine) == (True, False)
    assert ("tea" in theirs, "moss" in theirs) == (False, True)
    assert mine.endswith("That is Bryony's. With `-o NAME` you see another one's: Thrupp.")
    assert theirs.endswith("That is Thrupp's. With `-o NAME` you see another one's: Bryony.")
    (offered,) = await chat.offers("memory forget", "item", "", channel=GROUP, of="thrupp")
    assert "moss" in offered
    await tell(chat, f"/memory forget {offered.split()[0]} -o thrupp")
    assert "moss" not in await tell(chat, "/memory -o thrupp")
    assert "tea" in await tell(chat, "/memory")


async def test_what_is_open_and_what_a_request_holds_is_told_of_each(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await tell(chat, "/memory add follow-up Alice brings a lamp -o Thrupp")
    assert "lamp" in await tell(chat, "/follow-ups -o Thrupp")
    assert "lamp" not in await tell(chat, "/follow-ups")
    await chat.say("Thrupp?", channel=GROUP, mentions_me=False)
    sizes = [await tell(chat, line) for line in ("/context", "/context -o Thrupp", "/status", "/status -o Thrupp")]
    assert sizes[0] != sizes[1]
    assert "Bryony" in sizes[2]
    assert "Thrupp" in sizes[3]
    assert "this is thrupp" in await tell(chat, "/history -o Thrupp")


async def test_lore_is_tried_with_the_card_of_whoever_is_meant(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    book = {"entries": [entry("wyrm", content="The wyrm sleeps.", name="Wyrm")]}
    await chat.ask(f"/cast add {await bring(chat, plain('Mira', character_book=book), channel=GROUP)}", channel=GROUP)
    assert "**Wyrm**" in await tell(chat, "/lore test the wyrm -o Mira")
    assert "**Wyrm**" not in await tell(chat, "/lore test the wyrm")
    assert "wyrm" in await tell(chat, "/lore list -o Mira")


async def test_pages_lead_on_with_the_same_persona(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    for number in range(9):
        await tell(chat, f"/memory add event Boat {number} came -o thrupp")
    await tell(chat, "/memory events -o thrupp")
    (turn,) = [button.command for row in answered(chat).buttons for button in row]
    assert turn == 'memory list -o thrupp -p 2 "events"'
    (told,) = await chat.press(turn, channel=GROUP)
    assert "Boat 8" in told
    await tell(chat, "/memory clear -o thrupp")
    (clear, *_) = [button.command for row in answered(chat).buttons for button in row]
    assert clear == "memory clear events -o thrupp"
    await chat.press(clear, channel=GROUP)
    (sure,) = [button.command for row in answered(chat).buttons for button in row]
    await chat.press(sure, channel=GROUP)
    assert "Boat" not in await tell(chat, "/memory -o thrupp")


async def test_whoever_does_not_speak_here_cannot_be_meant(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    assert await tell(chat, "/memory -o familiar") == "familiar does not speak here. Those who do: Bryony, Thrupp."
    await chat.ask(f"/cast add {await bring(chat, plain('Old Rex'), channel=GROUP)}", channel=GROUP)
    told = await tell(chat, "/memory -o Old Rex")
    assert told == 'Old does not speak here. Those who do: Bryony, Thrupp, "Old Rex".'
    assert "That is Old Rex's." in await tell(chat, '/memory -o "Old Rex" facts')
    alone = await open_chat(make_app)
    assert await alone.ask("/memory -o thrupp") == "thrupp does not speak here. Those who do: Bryony."
    assert "-o" not in await alone.ask("/memory")


async def test_completion_offers_those_who_speak_here(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    for path in ("memory list", "context", "follow-ups done", "lore test"):
        assert await chat.offers(path, "of", "", channel=GROUP) == ["Bryony", "Thrupp"]
    assert await chat.offers("context", "of", "THR", channel=GROUP) == ["Thrupp"]


@pytest.mark.parametrize("line", ["/context -o thrupp", "/memory -o thrupp"])
async def test_where_all_share_one_memory_it_is_that_of_all(make_app: MakeApp, line: str) -> None:
    chat = await open_cast(make_app, persona_switch="shared")
    await tell(chat, "/memory add fact Alice likes tea")
    told = await tell(chat, line)
    assert "That is" not in told
    assert "tea" in await tell(chat, "/memory -o thrupp")


PRAISER = """
from bot.chat import CommandSpec, OptionSpec, Outbound
from bot.commands.command import Command

async def praise(call, desk):
    return Outbound(text=f"{call.persona_id} in praise of {call.options['of']}")

async def suggest(desk, query):
    return ["the sea"]

OF = OptionSpec(name="of", completes=True)
COMMANDS = (Command(spec=CommandSpec(path=("praise",), options=(OF,)), run=praise, suggest=suggest),)
"""


async def test_a_command_of_others_may_mean_something_else_by_that_word(make_app: MakeApp, extend: Extend) -> None:
    chat = await open_cast(make_app, extensions=[extend("praiser", PRAISER)])
    assert await tell(chat, "/praise thrupp") == "bryony in praise of thrupp"
    assert await chat.offers("praise", "of", "", channel=GROUP) == ["the sea"]
