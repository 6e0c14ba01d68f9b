"""What a card asks for, a model and tools: granted by a yes, and to nobody but the persona whose card it is."""

from __future__ import annotations

from bot.testing import make_channel
from tests.conftest import MakeApp
from tests.talking import open_chat
from tests.test_commands_personas import MIRA, bring, button, plain, upload


async def test_P24_what_a_card_asks_for_takes_effect_only_when_somebody_accepts_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, access={"tool_groups": ["web"]})
    persona = chat.app.core.library.get(await bring(chat))
    assert persona
    assert not persona.granted
    await chat.ask("/persona import", attachments=upload(MIRA))
    await chat.press(button(chat, 1))
    persona = chat.app.core.library.get(button(chat).removeprefix("persona use "))
    assert persona
    assert (persona.granted.model, persona.granted.tool_groups) == ("test/other", ("web",))
    told = await chat.ask(f"/persona info {persona.id}")
    assert "May use: test/other, web" in told
    assert "Imported for this place, version 1" in told


async def test_P24_in_a_cast_everybody_speaks_with_what_was_accepted_of_their_own_card(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, access={"tool_groups": "*"})
    await chat.ask("/persona import --yes --accept", attachments=upload(MIRA))
    await chat.press(button(chat))
    wishes = {"familiar": {"model": "test/third", "tool_groups": ["dice"]}}
    await bring(chat, plain("Vera", extensions=wishes))
    for persona in ("Vera", "Bryony"):
        await chat.ask(f"/cast add {persona}")
    for persona, expected in (("Mira", "test/other"), ("Vera", "test/scripted"), ("Bryony", "test/scripted")):
        await chat.say(f"{persona}, hello")
        assert chat.model.requests[-1].model == expected
    await chat.ask("/persona use Bryony")
    await chat.say("Mira, hello")
    assert chat.model.requests[-1].model == "test/other"


async def test_P24_an_accepted_model_answers_unless_people_chose_another_or_its_server_is_not_there(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, tool_groups="dice", access={"tool_groups": "*"})
    for accepted, expected in (("", "test/scripted"), ("--accept", "test/other")):
        await chat.ask(f"/persona import --yes {accepted}", attachments=upload(MIRA))
        await chat.press(button(chat))
        await chat.say("hello")
        assert chat.model.requests[-1].model == expected
    told = await chat.ask("/session")
    assert "test/other" in told
    assert "dice, web" in told
    await chat.ask("/model use test/third")
    await chat.say("hello")
    assert chat.model.requests[-1].model == "test/third"
    greedy = {**plain("Eve"), "extensions": {"familiar": {"model": "elsewhere/huge", "tool_groups": [{}, "x" * 999]}}}
    await chat.ask("/persona import --yes --accept", attachments=upload(greedy), channel=make_channel("x", dm=True))
    await chat.press(button(chat), channel=make_channel("x", dm=True))
    await chat.say("hello", channel=make_channel("x", dm=True))
    assert chat.model.requests[-1].model == "test/scripted"
