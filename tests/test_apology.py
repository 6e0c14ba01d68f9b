"""A persona's own words where the model gives no answer."""

from __future__ import annotations

import pytest

from bot.llm.model import ModelRefused
from bot.testing import ScriptedModel
from bot.testing.model import Reply
from tests.conftest import MakeApp
from tests.talking import open_chat
from tests.test_commands_personas import bring, plain

BROKEN = Reply(text="", error=ModelRefused("test/scripted", "it is broken."))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("*{{char}} looks at {{user}}, lost for words.*", "*Mira looks at Alice, lost for words.*"),
        ("  ", None),
        ("x" * 501, None),
        (["no", "text"], None),
    ],
)
async def test_a_card_may_word_what_is_said_when_the_model_fails(
    make_app: MakeApp, said: object, told: str | None
) -> None:
    chat = await open_chat(make_app, model=ScriptedModel([BROKEN, BROKEN, "ok"]))
    generic = (await chat.say("hello"))[-1]
    await chat.ask(f"/persona use {await bring(chat, plain('Mira', extensions={'familiar': {'error_text': said}}))}")
    assert await chat.say("hello") == [told or generic]
    assert chat.last_reply.failed
    await chat.say("hello again")
    assert "lost for words" not in str(chat.model.requests[-1])
