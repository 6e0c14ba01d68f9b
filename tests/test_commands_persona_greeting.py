"""/persona greeting: leafing through a persona's greetings, and beginning with another one."""

from __future__ import annotations

from bot.chat import Speaker
from bot.testing import FakeAdapter
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat
from tests.test_commands_personas import answered, bring, plain

CARD = plain(
    "Mira",
    first_mes="The lamp is lit.",
    alternate_greetings=["Fog, {{user}}.", "x" * 1_500],
    group_only_greetings=["All here?"],
)


def buttons(chat: Chat) -> list[str]:
    return [button.command for row in answered(chat).buttons for button in row]


async def meet_mira(make_app: MakeApp, card: object = CARD) -> Chat:
    chat = await open_chat(make_app)
    await chat.say(f"/persona use {await bring(chat, card)}")
    return chat


async def test_greetings_are_leafed_through_and_another_one_takes_the_place_of_the_first(make_app: MakeApp) -> None:
    chat = await meet_mira(make_app)
    said = chat.last_reply.text
    assert said == "The lamp is lit."
    assert await chat.ask("/persona greeting") == (
        "Greeting 1 of 3 of **Mira**, the one that begins here: ✅\n\nThe lamp is lit."
    )
    assert buttons(chat) == ["persona greeting -p 2"]
    (shown,) = await chat.press("persona greeting -p 2")
    assert shown == "Greeting 2 of 3 of **Mira**:\n\nFog, Alice."
    assert buttons(chat) == ["persona greeting -p 1", "persona greeting -p 3", "persona greeting 2"]
    told, greeting = await chat.press("persona greeting 2")
    assert told == "The conversation begins with greeting 2."
    assert greeting == "Fog, Alice."
    assert len(chat.adapter.deleted) == 1
    await chat.say("hello")
    assert chat.last_prompt[0] == ("assistant", "Fog, Alice.")
    assert "The lamp is lit." not in str(chat.last_prompt)


async def test_a_long_greeting_is_shown_in_part_and_said_as_a_whole(make_app: MakeApp) -> None:
    chat = await meet_mira(make_app)
    assert len(await chat.ask("/persona greeting -p 99")) < 1_300
    for number in (0, 4):
        told = await chat.ask(f"/persona greeting {number}")
        assert told == f"There is no greeting {number}. They are numbered from 1 to 3; `/persona greeting` shows them."
    assert (await chat.press("persona greeting 3"))[-1] == "x" * 1_500


async def test_once_somebody_has_spoken_the_greeting_stays_and_a_reset_is_offered(make_app: MakeApp) -> None:
    chat = await meet_mira(make_app)
    await chat.say("hello")
    await chat.ask("/persona greeting -p 2")
    assert buttons(chat) == ["persona greeting -p 1", "persona greeting -p 3"]
    assert "After `/reset` another one can begin" in await chat.ask("/persona greeting 2")
    await chat.press(*buttons(chat))
    assert (await chat.press("persona greeting 2"))[-1] == "Fog, Alice."


async def test_in_a_group_the_greetings_for_groups_come_first_and_only_its_managers_choose(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"]))
    persona_id = await bring(chat, CARD, channel=GROUP)
    await chat.say(f"/persona use {persona_id}", author=ALICE, channel=GROUP)
    assert chat.last_reply.text == "All here?"
    assert "Greeting 1 of 4" in await chat.ask("/persona greeting", author=ALICE, channel=GROUP)
    refused = await chat.ask("/persona greeting 2", author=BOB, channel=GROUP)
    assert "Greeting" not in refused
    assert "begins with" not in refused


async def test_a_card_without_a_greeting_says_so(make_app: MakeApp) -> None:
    chat = await meet_mira(make_app, plain("Mute"))
    assert await chat.ask("/persona greeting") == "Mute has no greeting."
    await chat.say("/persona use none")
    assert "No persona speaks here" in await chat.ask("/persona greeting")


async def test_a_greeting_has_the_face_of_its_persona_and_names_all_who_speak_there(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, cast=("thrupp",), adapter=FakeAdapter(managers=["alice"]))
    persona_id = await bring(chat, plain("Mira", first_mes="We are {{group}}."), channel=GROUP)
    await chat.say(f"/persona use {persona_id}", author=ALICE, channel=GROUP)
    assert chat.last_reply.text == "We are Mira, Bryony, Thrupp."
    assert chat.last_reply.speaker == Speaker(persona_id=persona_id, name="Mira", is_one_of_several=True)
    assert "We are Mira, Bryony, Thrupp." in await chat.ask("/persona greeting", author=ALICE, channel=GROUP)
