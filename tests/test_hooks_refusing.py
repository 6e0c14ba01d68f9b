"""Hooks that keep words from the model or from people, as a stranger's extension uses them in a running bot."""

from __future__ import annotations

from typing import Any

import pytest

from bot.hooks import Folding, Refusal, Withheld
from bot.testing import FakeAdapter, ScriptedModel
from bot.turn import Turn
from tests.folding import GIST
from tests.talking import BOB, GROUP, Chat
from tests.test_hooks import OpenHooked, open_hooked

__all__ = ["open_hooked"]


async def test_what_a_hook_withholds_no_prompt_has_and_the_answer_comes_without_it(open_hooked: OpenHooked) -> None:
    async def withhold(turn: Turn) -> Withheld | None:
        spam = tuple(row.id for row in turn.history if "spam" in row.text)
        return Withheld(messages=spam, reason="No spam.") if spam else None

    chat = await open_hooked(before_turn=withhold, persona="none")
    await chat.say("spam!", author=BOB, channel=GROUP, mentions_me=False)
    assert await chat.say("hello", channel=GROUP) == ["ok"]
    assert await chat.say("more spam", channel=GROUP) == ["No spam."]
    await chat.say("again", channel=GROUP)
    assert [text for _, text in chat.last_prompt if "spam" in text] == []
    assert len(chat.model.requests) == 2


async def test_a_hook_refuses_a_turn_for_now_and_retry_answers_it_later(open_hooked: OpenHooked) -> None:
    reasons = ["Not before six."]

    async def refuse(_turn: Turn) -> Refusal | None:
        return Refusal(reason=reasons.pop()) if reasons else None

    chat = await open_hooked(before_turn=refuse, persona="none")
    assert await chat.say("hello") == ["Not before six."]
    assert await chat.say("/retry") == ["ok"]
    assert chat.last_prompt == [("user", "hello")]


async def test_a_hook_refuses_an_answer_which_is_neither_shown_nor_kept(open_hooked: OpenHooked) -> None:
    async def refuse(_turn: Turn, text: str) -> Refusal | None:
        return Refusal(reason="Ask for something else.") if "secret" in text else None

    chat = await open_hooked(before_reply=refuse, model=ScriptedModel(["the secret", "fine"]), persona="none")
    assert await chat.say("tell me") == ["Ask for something else."]
    await chat.say("hello")
    assert chat.last_prompt == [("user", "tell me"), ("user", "hello")]


@pytest.mark.parametrize("wants", [True, False, "a fault"])
async def test_an_answer_grows_where_the_hook_that_would_change_it_does_not_want_it(
    open_hooked: OpenHooked, wants: bool | str
) -> None:
    async def shout(_turn: Turn, text: str) -> str:
        return text.upper()

    async def want(_turn: Turn) -> Any:
        return wants

    adapter = FakeAdapter(streams=True)
    chat = await open_hooked(before_reply=shout, wants_reply=want, adapter=adapter, persona="none")
    assert await chat.say("hello") == ["OK" if wants else "ok"]
    assert bool(chat.last_reply.shown) is not bool(wants)


def summed_up() -> dict[str, Any]:
    """What lets Alice have everything but the newest message folded."""
    summary, model = {"keep_recent": 1, "keep_tokens": 0}, ScriptedModel(summaries=[GIST])
    return {"summary": summary, "persona": "none", "model": model, "adapter": FakeAdapter(managers=["alice"])}


async def overheard(chat: Chat) -> list[str]:
    """Bob speaks to others, then everything is folded; the texts that the summary model read."""
    for text in ("so much spam", *(f"number {number}" for number in range(6))):
        await chat.say(text, author=BOB, channel=GROUP, mentions_me=False)
    await chat.say("hello", channel=GROUP)
    await chat.say("/compact", channel=GROUP)
    await chat.settled()
    return [message.text for request in chat.model.summaries for message in request.messages]


async def test_what_a_hook_withholds_from_notes_is_not_noted_and_the_rest_is(open_hooked: OpenHooked) -> None:
    async def withhold(folding: Folding) -> Withheld:
        return Withheld(messages=tuple(row.id for row in folding.rows if "spam" in row.text))

    chat = await open_hooked(before_folding=withhold, **summed_up())
    read = "\n".join(await overheard(chat))
    assert "number 1" in read
    assert "spam" not in read


async def test_where_a_hook_refuses_it_nothing_is_folded(open_hooked: OpenHooked) -> None:
    async def refuse(_folding: Folding) -> Refusal:
        return Refusal(reason="not now")

    chat = await open_hooked(before_folding=refuse, **summed_up())
    assert await overheard(chat) == []
