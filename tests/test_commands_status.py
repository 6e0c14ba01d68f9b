"""/status, and what neither commands nor their answers may ever reach: prompts, strangers, other channels."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from bot.chat import Quote
from bot.testing import Reply, ScriptedModel, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import BOB, GROUP, open_chat

PLAIN: dict[str, Any] = {"persona": "none"}


async def test_no_command_and_no_answer_to_one_reaches_a_prompt(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("hello")
    told = [text for line in ("/status", "/help", "/persona", "/session", "/nonsense") for text in await chat.say(line)]
    await chat.say("and now?")
    prompt = str(chat.model.requests[-1])
    assert len(told) == 5
    assert not any(text in prompt for text in told)
    assert chat.last_prompt == [("user", "hello"), ("assistant", "ok"), ("user", "and now?")]


async def test_a_commands_answer_reaches_no_prompt_as_a_quote_either_but_a_replys_words_do(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(["blue", "fine"]), **PLAIN)
    await chat.say("which colour?")
    for message_id, text in (("m1", "blue"), ("m3", "Nothing is being answered.")):
        quote = Quote(message_id=message_id, author_name="Me", text=text, is_mine=True)
        await chat.say("why?", reply_to=quote)
        await chat.ask("/status")
    assert "[replying to Familiar: blue]" in str(chat.last_prompt)
    assert "being answered" not in str(chat.last_prompt)


async def test_a_typed_command_needs_a_mention_where_the_platform_says_so(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    answered = []
    for needed, mentioned in ((True, False), (True, True), (False, False)):
        inbound = make_inbound("/status", channel=GROUP, mentions_me=mentioned)
        await chat.app.pipeline.deliver(replace(inbound, commands_need_mention=needed))
        answered.append(len(chat.adapter.replies))
    assert answered == [0, 1, 2]


async def test_status_tells_how_things_stand(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["one", Reply(text="two", hold=gate)])
    chat = await open_chat(make_app, model=model, persona="familiar")
    assert "No answer yet" in await chat.ask("/status")
    await chat.say("first", channel=GROUP)
    await chat.ask("second", channel=GROUP, mentions_me=True)
    await chat.model.wait_for(2)
    await chat.ask("third", author=BOB, channel=GROUP, mentions_me=True)
    told = await chat.ask("/status", channel=GROUP)
    assert "Familiar" in told
    assert "test/scripted" in told
    assert "waiting after that: 1" in told
    assert "The last answer arrived." in told
    assert "not in my notes yet: 4. Word for word in my next request: 4" in told
    gate.set()
    await chat.app.dispatcher.idle()


async def test_X13_status_and_help_tell_nothing_of_the_host_of_keys_or_of_other_channels(make_app: MakeApp) -> None:
    provider = {"base_url": "http://127.0.0.1:9/v1", "api_key": "sk-sentinel-key"}
    chat = await open_chat(make_app, providers={"test": provider}, **PLAIN)
    await chat.say("secret plans", channel=make_channel("board-room"))
    shown = [
        await chat.ask(line, channel=GROUP) for line in ("/status", "/help", "/session", "/model info", "/help session")
    ]
    host = chat.app.core.settings
    for secret in ("sk-sentinel-key", "127.0.0.1", "http", "board-room", "secret plans", host.database_url, "sqlite"):
        assert not any(secret in text for text in shown), secret
