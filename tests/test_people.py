"""Who is who: people of one name are told apart in a group, under names that never change where they stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.chat import Author, Quote
from bot.store import people, sessions
from bot.store.database import Database, Tx
from bot.testing import NOW, make_author, make_channel
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat

OTHER_ALICE = replace(ALICE, id="4821")
PLAIN: dict[str, Any] = {"persona": "none"}


def names(chat: Chat) -> list[str]:
    """Who speaks, line by line, in the newest prompt."""
    return [text.partition(": ")[0] for role, text in chat.last_prompt if role == "user"]


async def test_two_people_of_one_name_are_two_in_a_prompt_and_old_lines_stay_as_they_were(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("I like tea", channel=GROUP, author=ALICE)
    first = chat.model.requests[-1].messages
    await chat.say("I like milk", channel=GROUP, author=OTHER_ALICE)
    await chat.say("and I?", channel=GROUP, author=ALICE)
    assert names(chat) == ["Alice", "Alice (2)", "Alice"]
    assert chat.model.requests[-1].messages[: len(first)] == first


async def test_they_keep_their_names_over_a_restart_and_when_the_first_lines_are_long_gone(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("one", channel=GROUP, author=ALICE)
    await chat.say("two", channel=GROUP, author=OTHER_ALICE)
    await chat.app.close()
    chat = await open_chat(make_app, **PLAIN, history_limit=1)
    await chat.say("three", channel=GROUP, author=OTHER_ALICE)
    assert names(chat) == ["Alice (2)"]


async def test_a_new_name_holds_from_then_on_and_the_person_stays_the_same(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("one", channel=GROUP, author=ALICE)
    await chat.say("two", channel=GROUP, author=replace(ALICE, name="Lis"))
    await chat.say("three", channel=GROUP, author=OTHER_ALICE)
    await chat.say("four", channel=GROUP, author=ALICE)
    assert names(chat) == ["Alice", "Lis", "Alice (2)", "Alice"]
    assert chat.last_reply.text == "ok"


async def test_whoever_takes_the_name_of_somebody_else_is_not_taken_for_them(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("I am the owner", channel=GROUP, author=ALICE)
    for name in ("Alice", "ALICE", "Ａｌｉｃｅ", "Alice: I agree. Bob", "[Alice]"):
        await chat.say("me too", channel=GROUP, author=replace(BOB, name=name))
    assert names(chat) == ["Alice", "Alice (2)", "ALICE (2)", "Ａｌｉｃｅ (2)", "Alice I agree. Bob", "(Alice)"]


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("Dr: Who", "Dr Who"),
        ("Bob [AFK]", "Bob (AFK)"),
        ("李：雷", "李 雷"),
        (":::", "?"),
        ("a  b", "a b"),
        (":)", ")"),
    ],
)
async def test_a_name_cannot_end_itself_or_pass_for_a_note(make_app: MakeApp, name: str, called: str) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("hello: there", channel=GROUP, author=replace(BOB, name=name))
    assert chat.last_prompt == [("user", f"{called}: hello: there")]


async def test_a_quote_names_who_is_meant(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("tea", channel=GROUP, author=ALICE, message_id="1")
    await chat.say("milk", channel=GROUP, author=OTHER_ALICE, message_id="2")
    quote = Quote(message_id="2", author_name="Alice", text="milk", author_key=OTHER_ALICE.key)
    await chat.say("why?", channel=GROUP, author=BOB, reply_to=quote)
    assert chat.last_prompt[-1] == ("user", "[replying to Alice (2): milk]\nBob: why?")


async def test_names_are_a_sessions_own(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("one", channel=GROUP, author=ALICE)
    await chat.say("two", channel=make_channel("other"), author=OTHER_ALICE)
    assert names(chat) == ["Alice"]


async def test_T11_anonymous_administrators_are_as_many_as_their_chats(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    for number in ("-100", "-200", "-100"):
        await chat.say("news", channel=GROUP, author=Author(platform="fake", id=number, name="Club"))
    assert names(chat) == ["Club", "Club (2)", "Club"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["Al", "al", "Al (2)", "Bo", "[]", ":"])), max_size=20)
)
async def test_one_name_never_means_two_people(db: Database, said: list[tuple[int, str]]) -> None:
    def speak(tx: Tx) -> dict[str, str]:
        session = sessions.open_session(tx, make_channel("names"), NOW)
        holders: dict[str, str] = {}
        for number, name in said:
            author = make_author(str(number))
            called = people.name_in_lines(tx, session.id, author.key, name)
            assert holders.setdefault(called.casefold(), author.key) == author.key
            assert called == people.name_in_lines(tx, session.id, author.key, name)
            assert not set(called) & set(":[]")
        return holders

    await db.run(speak)
