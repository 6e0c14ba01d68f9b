"""A summary asked for behind a conversation's last request, so that the provider's cache is used."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from bot.chat import InboundKind
from bot.llm.model import ModelRequest, Role
from bot.memory.reuse import MOST_FAILURES, LastRequest
from bot.memory.snapshot import Snapshot, take_snapshot
from bot.memory.summariser import Subject
from bot.settings import PlaceSettings, Summary
from bot.store.database import Tx
from bot.store.sessions import find_session
from bot.testing import NOW, Reply, ScriptedModel, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import DM, Chat, open_chat

CACHED: dict[str, Any] = {
    "providers": {"test": {"base_url": "http://127.0.0.1:9/v1", "context_window": 16_384, "cached_price": 0.1}},
    "model_name": "test/gpt-4o",
}
LISTED = re.compile(r"^(\d+) ([A-Z]\d*) (.*)$", re.MULTILINE)
RANGE = re.compile(r"^1 to (\d+); (.*)$", re.MULTILINE)


def is_summary(request: ModelRequest) -> bool:
    return any("<lines>" in message.text for message in request.messages[-3:])


def lines_of(request: ModelRequest) -> list[tuple[int, str, str]]:
    found = LISTED.findall(request.messages[-1].text)
    return [(int(number), letter, words) for number, letter, words in found]


def remembers_bob(request: ModelRequest) -> str:
    found = [number for number, _, words in lines_of(request) if words.startswith("I am Bob")]
    text = {"who": "fake:alice", "category": "name", "text": "Her name is Bob", "lines": found}
    return json.dumps({"facts": [text] if found else [], "gist": "They got to know each other."})


def answers(summary: Callable[[ModelRequest], str]) -> ScriptedModel:
    own = json.dumps({"gist": "They talked, as a prompt of its own says."})
    return ScriptedModel(lambda request: summary(request) if is_summary(request) else "ok", summaries=[own])


async def fold(chat: Chat, turns: int = 14) -> ModelRequest | None:
    """Talk, then take notes; what was asked for the summary behind the last request, if it was."""
    for number in range(turns):
        await chat.say(f"number {number} of many " + "word " * 60)
    before = len(chat.model.requests)
    await chat.say("/compact")
    return chat.model.requests[before] if len(chat.model.requests) > before else None


async def test_a_summary_is_asked_for_behind_the_request_that_the_provider_has_cached(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=answers(remembers_bob), **CACHED)
    await chat.say("I am Bob")
    asked = await fold(chat)
    assert asked is not None
    before = chat.model.requests[chat.model.requests.index(asked) - 1]
    assert asked.messages[: len(before.messages)] == before.messages
    assert (asked.model, asked.tools, asked.thinking) == (before.model, before.tools, before.thinking)
    assert [message.role for message in asked.messages[-2:]] == [Role.ASSISTANT, Role.USER]
    assert asked.json_schema is None
    assert asked.parameters == {"tool_choice": "none"}
    assert "no longer" in asked.messages[-1].text
    await chat.say("what is my name?")
    system = chat.model.requests[-1].messages[0].text
    assert "Her name is Bob" in system
    assert "They got to know each other." in system
    assert not chat.model.summaries


async def test_the_numbers_of_the_index_go_through_the_messages_and_those_of_people_tell_how_they_begin(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, model=answers(remembers_bob), **CACHED)
    asked = await fold(chat)
    assert asked is not None
    said = [message for message in asked.messages[:-1] if message.role is not Role.SYSTEM]
    listed = {number: words for number, _, words in lines_of(asked)}
    (last, people) = RANGE.findall(asked.messages[-1].text)[0]
    assert people == "A = Alice (fake:alice)"
    assert int(last) > 5
    for number, message in enumerate(said[: int(last)], 1):
        assert (number in listed) == (message.role is Role.USER)
        assert message.text.startswith(listed.get(number, ""))


@pytest.mark.parametrize(
    "settings",
    [
        {"providers": {"test": {"base_url": "http://127.0.0.1:9/v1", "context_window": 16_384, "cached_price": 0.26}}},
        {"providers": {"test": {"base_url": "http://127.0.0.1:9/v1", "context_window": 16_384}}},
        {"summary": {"reuse_prefix": "off"}},
        {"summary": {"model_mode": "custom", "model": "test/other"}},
    ],
    ids=["a dear cache", "no bill", "off", "another model"],
)
async def test_where_that_spares_nothing_a_summary_has_its_own_prompt(
    make_app: MakeApp, settings: dict[str, Any]
) -> None:
    chat = await open_chat(make_app, model=answers(remembers_bob), **{**CACHED, **settings})
    assert await fold(chat) is None
    assert len(chat.model.summaries) == 1


async def test_what_was_edited_since_is_not_read_from_the_cached_request(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=answers(remembers_bob), **CACHED)
    await chat.say("I am Bob", message_id="bob")
    for number in range(14):
        await chat.say(f"number {number} " + "word " * 60)
    await chat.say("I am Rob", message_id="bob", kind=InboundKind.EDIT)
    assert await fold(chat, turns=0) is None
    assert "I am Rob" in chat.model.summaries[0].messages[-1].text


@pytest.mark.parametrize("bad", ["I would rather go on playing.", '{"gist": "They'])
async def test_a_reply_there_that_cannot_be_used_is_asked_for_in_a_prompt_of_its_own(
    make_app: MakeApp, bad: str
) -> None:
    chat = await open_chat(make_app, model=answers(lambda _request: bad), **CACHED)
    for tried in range(MOST_FAILURES):
        assert await fold(chat) is not None
        assert len(chat.model.summaries) == tried + 1
    assert await fold(chat) is None, "the model is not asked there again"
    assert len(chat.model.summaries) == MOST_FAILURES + 1
    await chat.say("and now?")
    assert "as a prompt of its own says" in chat.model.requests[-1].messages[0].text


def is_kept(words: str) -> bool:
    """Whether this process keeps a request with these words, to ask behind it."""
    gc.collect()
    return any(words in str(found.messages) for found in gc.get_objects() if isinstance(found, LastRequest))


async def delete(chat: Chat, message_id: str) -> None:
    await chat.app.pipeline.deliver(make_inbound(channel=DM, kind=InboundKind.DELETE, message_id=message_id))


ERASURES: dict[str, Callable[[Chat], Awaitable[object]]] = {
    "delete": lambda chat: delete(chat, "secret"),
    "edit": lambda chat: chat.say("nothing", message_id="secret", kind=InboundKind.EDIT),
    "clear": lambda chat: chat.say("/memory clear history -y"),
}


@pytest.mark.parametrize("how", ERASURES)
async def test_M06_what_is_erased_is_in_no_request_that_is_kept_in_this_process(make_app: MakeApp, how: str) -> None:
    chat, elsewhere = await open_chat(make_app, **CACHED), make_channel(thread="elsewhere")
    secret, other = f"secret{uuid4().hex}", f"other{uuid4().hex}"
    await chat.say(other, channel=elsewhere)
    await chat.say(secret, message_id="secret")
    await chat.say("and so on")
    assert (is_kept(secret), is_kept(other)) == (True, True)
    await ERASURES[how](chat)
    assert (is_kept(secret), is_kept(other)) == (False, True)


async def test_M06_what_is_deleted_while_its_answer_is_made_is_kept_in_no_request(make_app: MakeApp) -> None:
    gate, secret = asyncio.Event(), f"secret{uuid4().hex}"
    chat = await open_chat(make_app, model=ScriptedModel([Reply(text="ok", hold=gate), "ok", "ok"]), **CACHED)
    await chat.ask(secret, message_id="secret")
    await chat.model.wait_for(1)
    await delete(chat, "secret")
    gate.set()
    await chat.settled()
    assert not is_kept(secret)
    more = f"more{uuid4().hex}"
    await chat.say(more)
    assert is_kept(more)


async def test_what_is_asked_in_privacy_is_kept_in_no_request(make_app: MakeApp) -> None:
    chat, secret = await open_chat(make_app, **CACHED), f"secret{uuid4().hex}"
    await chat.say("/privacy on")
    await chat.say(secret)
    assert secret in str(chat.model.requests[-1])
    chat.model.requests.clear()
    assert not is_kept(secret)


async def test_what_a_turn_has_read_is_not_read_again_and_makes_the_same_snapshot(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=answers(remembers_bob), **CACHED)
    await chat.say("I am Bob", message_id="bob")
    for number in range(14):
        await chat.say(f"number {number} of many")
    app = chat.app
    session = await app.core.db.read(find_session, DM)
    assert session is not None
    assert session.conversation_id is not None
    conversation_id, reuse = session.conversation_id, app.keeper._compactor.reuse
    seen = reuse.seen(conversation_id)
    assert seen is not None
    assert len(seen.rows) >= 2 * 14

    subject = Subject(
        session=session,
        conversation_id=conversation_id,
        persona_name="Mira",
        settings=PlaceSettings(summary=Summary(keep_tokens=0)),
        model="test/scripted",
        window=16_384,
    )

    def both(tx: Tx, *, up_to: int = 2**62) -> tuple[Snapshot | None, Snapshot | None]:
        anew = take_snapshot(tx, subject, up_to=up_to, waiting_since=NOW)
        return take_snapshot(tx, subject, up_to=up_to, waiting_since=NOW, seen=seen), anew

    for up_to in (2**62, seen.rows[3].position):
        quick, anew = await app.core.db.read(partial(both, up_to=up_to))
        assert quick == anew
    await chat.say("I am Rob", message_id="bob", kind=InboundKind.EDIT)
    quick, anew = await app.core.db.read(both)
    assert anew is not None
    assert quick == anew
    assert "I am Rob" in [row.text for row in anew.read]
    assert reuse.seen(conversation_id) is None
