"""The persona's first words: said once per conversation, and never lost by a fault on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.greeting import active_greeting, greetings_of
from bot.personas.card import PersonaCard
from bot.store import conversations, sessions
from bot.store.database import Tx
from bot.store.sessions import SessionRow
from bot.testing import NOW, FakeAdapter
from tests.conftest import MakeApp
from tests.lore import entry
from tests.talking import DM, open_chat
from tests.test_commands_personas import bring, plain
from tests.test_introduction import first_contact, spot
from tests.test_lore import open_with


async def test_a_greeting_that_could_not_be_stored_is_said_the_next_time_and_then_no_more(make_app: MakeApp) -> None:
    adapter = FakeAdapter()
    app = await make_app(adapter=adapter)
    persona = app.core.library.default
    assert persona is not None

    def open_conversation(tx: Tx) -> tuple[SessionRow, int]:
        session = sessions.open_session(tx, DM, NOW)
        return session, conversations.ensure_conversation(tx, session, persona.id, NOW)

    session, conversation_id = await app.core.db.run(open_conversation)

    async def greet(position: int) -> bool:
        return await app.desk.greeter.greet(session, conversation_id, persona, user="Alice", position=position)

    with pytest.raises(OverflowError):
        await greet(2**63)  # more than the database can hold: its transaction breaks
    assert adapter.texts == []
    assert [await greet(0), await greet(0)] == [True, False]
    assert len(adapter.texts) == 1


CARD = PersonaCard.model_validate(
    {
        "name": "Mira",
        "first_message": "First, {{user}}.",
        "alternate_greetings": ["Second.", "Third."],
        "group_only_greetings": ["Hello all."],
    }
)


@pytest.mark.parametrize(
    ("in_group", "numbers"),
    [(False, [0, 1, 2]), (True, [3, 0, 1, 2])],
)
def test_greetings_have_the_numbers_of_the_specification_and_those_of_groups_come_first_there(
    in_group: bool, numbers: list[int]
) -> None:
    assert [greeting.number for greeting in greetings_of(CARD, in_group=in_group)] == numbers


@pytest.mark.parametrize(
    ("card", "chosen", "in_group", "number"),
    [
        (CARD, None, False, 0),
        (CARD, None, True, 3),
        (CARD, 2, True, 2),
        (CARD, 3, False, 0),
        (CARD, 99, False, 0),
        (CARD.model_copy(update={"first_message": ""}), None, False, None),
        (CARD.model_copy(update={"first_message": ""}), 1, False, 1),
    ],
)
def test_one_greeting_is_active(card: PersonaCard, chosen: int | None, in_group: bool, number: int | None) -> None:
    active = active_greeting(card, chosen, in_group=in_group)
    assert (active.number if active else None) == number


async def test_another_greeting_takes_the_place_of_the_said_one_until_somebody_speaks(
    make_app: MakeApp, tmp_path: Path
) -> None:
    lore = [entry("wyrm", content=f"@@is_greeting {number}\nLore of {number}.") for number in range(3)]
    card = {name: value for name, value in CARD.model_dump(exclude_defaults=True).items() if name != "extensions"}
    chat = await open_with(make_app, tmp_path, *lore, card=card)
    (said,) = await chat.say("/start")
    assert said == "First, Alice."
    greeter, db = chat.app.desk.greeter, chat.app.core.db
    session = await db.run(sessions.open_session, DM, NOW)
    conversation_id = session.conversation_id
    assert conversation_id is not None
    assert await greeter.choose_greeting(session, conversation_id, 2)
    persona = chat.app.core.library.get("mira")
    assert await greeter.greet(session, conversation_id, persona, user="Alice", position=0)
    assert not await greeter.greet(session, conversation_id, persona, user="Alice", position=0)
    assert len(chat.adapter.deleted) == 1
    await chat.say("wyrm")
    assert chat.last_prompt[0] == ("assistant", "Third.")
    assert "Lore of 2." in chat.last_prompt[-1][1]
    assert str(chat.last_prompt).count("Lore of") == 1
    assert not await greeter.choose_greeting(session, conversation_id, 1)
    await chat.say("/reset")
    assert chat.adapter.texts[-1].startswith("First")


async def test_what_a_card_comments_to_people_is_shown_to_them_and_no_prompt_holds_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    card = plain("Mira", first_mes="{{comment: (a storm is coming)}} Come in, {{user}}!{{// a note}}")
    await chat.say(f"/persona use {await bring(chat, card)}")
    assert chat.last_reply.text == "(a storm is coming) Come in, Alice!"
    assert "(a storm is coming) Come in" in await chat.ask("/persona greeting")
    await chat.say("hello")
    assert chat.last_prompt[0] == ("assistant", "Come in, Alice!")


async def test_a_group_is_introduced_to_with_the_comments_of_the_greeting(make_app: MakeApp, tmp_path: Path) -> None:
    chat = await open_with(make_app, tmp_path, card={"first_mes": "{{comment: (a storm)}} Come in!"})
    assert (await first_contact(chat)).startswith("(a storm) Come in!\n")
    await chat.say("hello again", channel=spot())
    assert chat.last_prompt[0] == ("assistant", "Come in!")


async def test_whom_set_or_reset_lets_speak_greets_once_as_after_use(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="thrupp")
    greetings = {
        "/session set -p bryony -t on": ["Lost property"],
        "/session set persona thrupp": ["*ding* Good evening"],
        "/session set persona bryony": [],
        "/session reset": [],
        "/session set -t off": [],
    }
    for line, greeting in greetings.items():
        told, *more = await chat.say(line)
        assert "`" in told, line
        assert [text[: len(first)] for text, first in zip(more, greeting, strict=True)] == greeting, line
