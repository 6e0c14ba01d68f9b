"""What others quote: it follows what becomes of the quoted message."""

from __future__ import annotations

import pytest

from bot.chat import InboundKind, Quote
from bot.testing import make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import BOB, GROUP, Chat, open_chat


def quoting(message_id: str, text: str, *, name: str = "Bob", is_mine: bool = False) -> Quote:
    return Quote(message_id=message_id, author_name=name, text=text, is_mine=is_mine)


async def change(chat: Chat, kind: InboundKind, message_id: str, text: str = "") -> None:
    inbound = make_inbound(text, channel=GROUP, author=BOB, kind=kind, message_id=message_id)
    await chat.app.pipeline.deliver(inbound)


@pytest.mark.parametrize("before_the_reply", [True, False])
async def test_D31_deleted_words_leave_the_quotes_of_others(make_app: MakeApp, before_the_reply: bool) -> None:
    chat = await open_chat(make_app, persona="none")
    quote = quoting("7", "my password is hunter2")
    await chat.say("my password is hunter2", author=BOB, channel=GROUP, message_id="7", mentions_me=False)
    if before_the_reply:
        await change(chat, InboundKind.DELETE, "7")
    await chat.say("do not say that", channel=GROUP, reply_to=quote)
    if not before_the_reply:
        assert "hunter2" in str(chat.last_prompt)
        await change(chat, InboundKind.DELETE, "7")
    await chat.say("what did Bob say?", channel=GROUP)
    assert "hunter2" not in str(chat.last_prompt)
    assert "do not say that" in str(chat.last_prompt)


async def test_D31_edited_words_are_quoted_as_they_are_now(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("my dog is Rex", author=BOB, channel=GROUP, message_id="7", mentions_me=False)
    await chat.say("nice", channel=GROUP, reply_to=quoting("7", "my dog is Rex"))
    await change(chat, InboundKind.EDIT, "7", "my dog is Max")
    await chat.say("and?", channel=GROUP)
    assert "Rex" not in str(chat.last_prompt)
    assert "[replying to Bob: my dog is Max]" in str(chat.last_prompt)


async def test_a_marked_part_and_what_was_never_heard_stay_as_they_were_delivered(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("one two three", author=BOB, channel=GROUP, message_id="7", mentions_me=False)
    await chat.say("this?", channel=GROUP, reply_to=quoting("7", "two"))
    await chat.say("and that?", channel=GROUP, reply_to=quoting("7", "three"))
    await chat.say("then?", channel=GROUP, reply_to=quoting("3", "from before we came"))
    prompt = str(chat.last_prompt)
    for quote in ("[replying to Bob: two]", "[replying to Bob: three]", "[replying to Bob: from before we came]"):
        assert quote in prompt


async def test_commands_and_their_answers_are_quoted_to_nobody(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("/status", author=BOB, channel=GROUP, message_id="7")
    await chat.say("what is this?", channel=GROUP, reply_to=quoting("7", "/status"))
    await chat.say("and that?", channel=GROUP, reply_to=quoting("8", "- Model: x", name="Familiar", is_mine=True))
    assert "replying to" not in str(chat.last_prompt)


async def test_our_own_words_are_quoted_until_they_are_undone(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("hello", channel=GROUP)
    own = quoting("m1", "ok", name="Familiar", is_mine=True)
    await chat.say("how so?", author=BOB, channel=GROUP, reply_to=own)
    assert "[replying to Familiar: ok]" in str(chat.last_prompt)
    for _ in range(2):
        await chat.say("/undo", author=BOB, channel=GROUP)
        await chat.say("/undo", channel=GROUP)
    await chat.say("again", channel=GROUP, reply_to=own)
    assert "replying to" not in str(chat.last_prompt)


async def test_the_same_id_in_another_channel_is_another_message(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("here", author=BOB, channel=GROUP, message_id="7", mentions_me=False)
    await chat.say("yes", channel=make_channel("other"), reply_to=quoting("7", "there"))
    await change(chat, InboundKind.DELETE, "7")
    await chat.say("well?", channel=make_channel("other"))
    assert "[replying to Bob: there]" in str(chat.last_prompt)
