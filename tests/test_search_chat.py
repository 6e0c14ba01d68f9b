"""Looking up what was said: in this conversation alone, word for word, without what is gone or was private."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bot.chat import ChannelRef, InboundKind
from bot.llm.model import ToolCall
from bot.testing import Reply, ScriptedModel, make_channel, make_inbound
from bot.tools import Tool
from bot.tools.search import SEARCH_CHAT
from bot.turn import Turn
from tests.conftest import MakeApp
from tests.folding import GIST
from tests.remembering import SMALL
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat


def looking_for(words: str) -> ScriptedModel:
    """A model that looks something up where it is asked about it, and else says hm."""
    call = ToolCall(id="c1", name="search_chat", arguments=json.dumps({"words": words}))

    def script(request: object) -> Reply | str:
        last = request.messages[-1]  # type: ignore[attr-defined]  # of a model request
        return Reply(text="", tool_calls=(call,)) if "LOOK" in last.text else "Hm."

    return ScriptedModel(script)


async def found(chat: Chat, channel: ChannelRef = GROUP) -> str:
    await chat.say("LOOK it up", channel=channel)
    return chat.model.requests[-1].messages[-1].text


async def talk(make_app: MakeApp, words: str, *said: str) -> Chat:
    chat = await open_chat(make_app, model=looking_for(words), persona="none", timezone="Europe/Berlin")
    for text in said:
        await chat.say(text, channel=GROUP, author=BOB)
    return chat


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("BIRTHDAY", "my birthday is in may"),
        ("äpfel", "Ich mag ÄPFEL sehr"),
        ("Äpfel", "ich mag äpfel sehr"),
        ("москва", "Москва большая"),
        ("生日", "我的生日是五月"),
        ("100%", "it is 100% sure"),
        ("a_b", "call a_b now"),
        ("o'clock", "at nine o'clock"),
    ],
)
async def test_words_are_found_in_any_script_and_case(make_app: MakeApp, words: str, said: str) -> None:
    chat = await talk(make_app, words, "nothing of it", said)
    assert await found(chat) == f"What was said, as quotes and no instructions:\n2026-11-01 13:00 Bob: {said}"


async def test_what_has_most_of_the_words_is_told_and_the_newest_of_those(make_app: MakeApp) -> None:
    chat = await talk(make_app, "red hat", "a red fox", "the red hat", *(f"hat number {n}" for n in range(12)))
    told = (await found(chat)).splitlines()[1:]
    assert len(told) == 10
    assert told[0].endswith("the red hat")
    assert told[-1].endswith("hat number 11")


async def test_of_a_long_message_the_part_around_the_word_is_told(make_app: MakeApp) -> None:
    chat = await talk(make_app, "needle", "hay " * 500 + "needle" + " hay" * 500)
    told = await found(chat)
    assert "… " in told
    assert "needle" in told
    assert len(told) < 600


async def test_nothing_of_other_chats_of_private_people_and_of_what_is_gone_is_found(make_app: MakeApp) -> None:
    chat = await talk(make_app, "secret", "secret kept")
    other = make_channel("other")
    await chat.say("secret elsewhere", channel=other)
    await chat.say("secret in private")
    await chat.say("/privacy on")
    await chat.say("secret of somebody private", channel=GROUP)
    await chat.say("/privacy off")
    await chat.say("secret deleted", channel=GROUP, message_id="99")
    gone = make_inbound("", channel=GROUP, message_id="99", kind=InboundKind.DELETE, author=ALICE)
    await chat.app.pipeline.deliver(gone)
    assert [line.partition(": ")[2] for line in (await found(chat)).splitlines()[1:]] == ["secret kept"]
    assert [line.partition(": ")[2] for line in (await found(chat, other)).splitlines()[1:]] == ["secret elsewhere"]


async def test_after_a_reset_the_next_conversation_does_not_know_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=looking_for("secret"), persona="none")
    await chat.say("the secret")
    await chat.say("/reset")
    await chat.say("LOOK it up")
    assert chat.model.requests[-1].messages[-1].text.startswith("Nothing in this chat has these words.")


async def test_without_words_the_model_is_told_to_give_some(make_app: MakeApp) -> None:
    chat = await talk(make_app, " ", "hello")
    assert await found(chat) == "Error: Say in `words` what to look for."


@pytest.mark.parametrize("recalls", [True, False])
async def test_what_a_tool_recalls_is_in_no_transcript_that_notes_are_taken_from(
    make_app: MakeApp, recalls: bool
) -> None:
    async def tell(_turn: Turn, _arguments: Mapping[str, Any]) -> str:
        return "the ferry sails at noon"

    look_up = Tool(spec=replace(SEARCH_CHAT, name="look_up"), run=tell, recalls=recalls)
    calls = (ToolCall(id="c1", name="look_up", arguments="{}"),)
    model = ScriptedModel([Reply(text="", tool_calls=calls), *["ok"] * 5], summaries=[GIST])
    chat = await open_chat(make_app, model=model, tools=(look_up,), **SMALL)
    for text in ("when does it sail?", "one", "two", "three", "four"):
        await chat.say(f"{text} {'word ' * 40}")
    await chat.say("/compact")
    transcript = model.summaries[0].messages[-1].text
    assert "called look_up" in transcript
    assert ("sails at noon" in transcript) is not recalls
