"""Pictures for a model that takes none: the turn goes on with the words, and people hear of it once."""

from __future__ import annotations

from bot.chat import Attachment, AttachmentKind
from bot.testing import FakeAdapter
from tests.conftest import MakeApp
from tests.talking import DM, GROUP, open_chat

CAT = Attachment(kind=AttachmentKind.IMAGE, name="cat.png", media_type="image/png", data=b"\x89PNG")
NOTE = Attachment(kind=AttachmentKind.OTHER, name="note.ogg", note="voice message, 12 s")
BLIND = (
    "**test/scripted** cannot see pictures; all it learns of them is that they are there. "
    "/model shows whether another one can be had."
)


async def test_L23_a_picture_for_a_model_without_eyes_is_told_once_and_the_turn_goes_on(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    assert await chat.say("what is this?", attachments=(NOTE,)) == ["ok"]
    assert await chat.say("what is this?", attachments=(CAT,)) == [BLIND, "ok"]
    assert "what is this?" in chat.last_prompt[-1][1]
    assert "[image cat.png]" in chat.last_prompt[-1][1]
    assert await chat.say("and this?", attachments=(CAT,)) == ["ok"]
    assert "cannot see" not in str(chat.model.requests)
    await chat.app.close()
    chat = await open_chat(make_app, adapter=FakeAdapter(), persona="none")
    assert await chat.say("and after a restart?", attachments=(CAT,), channel=DM) == ["ok"]
    assert await chat.say("/model use test/other") != []
    told = await chat.say("and this one?", attachments=(CAT,))
    assert told == [BLIND.replace("scripted", "other"), "ok"]


async def test_L23_nobody_is_told_of_pictures_that_were_only_overheard_or_can_be_seen(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none", models={"test/scripted": {"vision": True}})
    assert await chat.say("what is this?", attachments=(CAT,)) == ["ok"]
    assert len(chat.model.requests[-1].messages[-1].images) == 1
    await chat.app.close()
    chat = await open_chat(make_app, adapter=FakeAdapter(), persona="none")
    assert await chat.say("look at this, all of you", attachments=(CAT,), channel=GROUP, mentions_me=False) == []
