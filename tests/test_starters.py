"""What a thread was opened about stands first in every prompt there, whatever has left the window since."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat import InboundKind
from bot.opening import STARTER_TOKENS
from bot.testing import FakeAdapter, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.folding import GIST, SMALL, rows_of, system_text, talk
from tests.talking import ALICE, Chat, open_chat

BOB = make_author("Bob")
THREAD = make_channel("plans", thread="77")
STARTER = ("user", "Bob: Please plan a picnic for 6")
UNFOLDED: dict[str, Any] = {**SMALL, "summary": {"trigger": {"type": "off"}, "hard_ratio": 1.0, "idle_seconds": 0}}


async def open_thread(chat: Chat, text: str = "Please plan a picnic for 6", **more: Any) -> list[str]:
    """What an adapter tells before the first words that it hears in a thread."""
    return await chat.say(text, author=BOB, channel=THREAD, message_id="77", is_starter=True, mentions_me=False, **more)


@pytest.mark.parametrize("activation", ["mention", "always"])
async def test_D16_a_starter_stands_before_the_first_question_and_is_answered_by_nobody(
    make_app: MakeApp, activation: str
) -> None:
    chat = await open_chat(make_app, activation=activation)
    assert await open_thread(chat) == await open_thread(chat) == []
    await chat.say("make this happen", channel=THREAD)
    assert len(chat.model.requests) == 1
    assert chat.last_prompt == [STARTER, ("user", "Alice: make this happen")]


@pytest.mark.parametrize("settings", [UNFOLDED, {"history_limit": 6}], ids=["small window", "few messages"])
async def test_D16_a_starter_stands_first_where_the_messages_after_it_have_no_room(
    make_app: MakeApp, settings: dict[str, Any]
) -> None:
    chat = await open_chat(make_app, **settings)
    await open_thread(chat)
    await talk(chat, 60, channel=THREAD)
    assert chat.last_prompt[0] == STARTER
    assert "number 0 " not in str(chat.last_prompt)
    assert chat.last_prompt.count(STARTER) == 1


async def test_D16_a_starter_stays_word_for_word_when_everything_around_it_became_memory(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST] * 20), **SMALL)
    await open_thread(chat)
    await talk(chat, 40, channel=THREAD)
    assert await rows_of(chat)
    assert "They talked about numbers." in system_text(chat.model.requests[-1])
    assert chat.last_prompt[0] == STARTER
    assert chat.last_prompt.count(STARTER) == 1
    await chat.app.close()
    again = await open_chat(make_app, **SMALL)
    await again.say("what was this about?", channel=THREAD)
    assert again.last_prompt[0] == STARTER


async def test_D16_a_starter_that_is_heard_late_stands_first_all_the_same(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.say("hello", channel=THREAD)
    await open_thread(chat)
    await chat.say("make this happen", channel=THREAD)
    assert chat.last_prompt == [
        STARTER,
        ("user", "Alice: hello"),
        ("assistant", "ok"),
        ("user", "Alice: make this happen"),
    ]


async def test_D16_another_persona_knows_what_the_thread_is_about(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=[ALICE.id]))
    await open_thread(chat)
    await chat.say("make this happen", channel=THREAD)
    await chat.say("/persona use bryony", channel=THREAD)
    await chat.say("/reset", channel=THREAD)
    await chat.say("and you?", channel=THREAD)
    assert chat.last_prompt[0] == STARTER
    assert "make this happen" not in str(chat.last_prompt)


async def test_D16_a_question_that_opens_a_thread_is_answered_and_stays_its_starter(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **UNFOLDED)
    question = "How does it work? " + "word " * 1_000
    assert len(await chat.say(question, channel=THREAD, message_id="77")) == 1
    assert chat.last_prompt == [("user", f"Alice: {question}")]
    await talk(chat, 60, channel=THREAD)
    shortened = chat.last_prompt[0][1]
    assert shortened.startswith("Alice: How does it work? word")
    assert "characters left out]" in shortened
    assert len(shortened.split()) < STARTER_TOKENS


async def test_D16_D31_a_starter_is_edited_and_deleted_like_any_message(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, history_limit=2)
    await open_thread(chat)
    await talk(chat, 3, channel=THREAD)
    assert chat.last_prompt[0] == STARTER
    await open_thread(chat, "Please plan a picnic for 7", kind=InboundKind.EDIT)
    await chat.say("for how many?", channel=THREAD)
    assert chat.last_prompt[0] == ("user", "Bob: Please plan a picnic for 7")
    delete = make_inbound("", kind=InboundKind.DELETE, channel=THREAD, message_id="77", author=ALICE)
    await chat.app.pipeline.deliver(delete)
    await chat.say("and now?", channel=THREAD)
    assert "picnic" not in str(chat.last_prompt)


async def test_D16_a_starter_of_somebody_in_privacy_is_not_kept(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.say("/privacy on", author=BOB, channel=THREAD)
    await open_thread(chat)
    await chat.say("make this happen", channel=THREAD)
    assert chat.last_prompt == [("user", "Alice: make this happen")]
