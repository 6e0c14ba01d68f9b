"""What no answer has read under moderation is judged before it is noted."""

from __future__ import annotations

from typing import Any

import pytest

from bot.testing import FakeAdapter, ScriptedModel
from tests.emulators.openai.emulator import OpenAIEmulator
from tests.emulators.openai.script import Refuse
from tests.folding import GIST
from tests.talking import BOB, GROUP
from tests.test_moderation import Open, endpoint, open_judged

__all__ = ["endpoint", "open_judged"]


@pytest.mark.parametrize(
    ("failure", "on_failure", "noted"),
    [
        (None, "open", ["number"]),
        (None, "closed", ["number"]),
        (Refuse(status=500), "open", ["gore", "number"]),
        (Refuse(status=500), "closed", []),
    ],
)
async def test_what_was_said_before_moderation_was_switched_on_is_judged_before_it_is_noted(
    open_judged: Open, endpoint: OpenAIEmulator, failure: Any, on_failure: str, noted: list[str]
) -> None:
    model = ScriptedModel(summaries=[GIST])
    short = {"summary": {"keep_recent": 1, "keep_tokens": 0}, "persona": "none", "model": model}
    chat = await open_judged({**short, "adapter": FakeAdapter(managers=["alice"])}, on_failure=on_failure)
    for text in ("so much gore", *(f"number {number}" for number in range(6))):
        await chat.say(text, author=BOB, channel=GROUP, mentions_me=False)
    await chat.say("hello", channel=GROUP)
    await chat.say("/session set moderation__input on", channel=GROUP)
    endpoint.judge = failure or endpoint.judge
    await chat.say("/compact", channel=GROUP)
    read = "\n".join(message.text for request in model.summaries for message in request.messages)
    assert [word for word in ("gore", "number") if word in read] == noted
