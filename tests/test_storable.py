"""What no database takes is taken out at the border, wherever in an inbound it stands."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bot.chat import Attachment, AttachmentKind, Author, CommandCall, InboundKind, Quote
from bot.storable import storable_inbound
from bot.testing import make_inbound
from tests.conftest import MakeApp
from tests.talking import DM, GROUP, open_chat

BAD = "a\0b\ud83dc"
FILE = Attachment(kind=AttachmentKind.TEXT, name=BAD, text=BAD, note=BAD, media_type=BAD)
WHOLE: dict[str, Any] = {
    "author": Author(platform="fake", id="alice", name=BAD),
    "channel": dataclasses.replace(GROUP, place_name=BAD, channel_name=BAD),
    "reply_to": Quote(message_id="1", author_name=BAD, text=BAD),
    "attachments": (FILE,),
    "command": CommandCall(path=("help",), options={"x": BAD}),
}


def test_every_text_of_an_inbound_is_mended() -> None:
    inbound = dataclasses.replace(make_inbound(BAD, **WHOLE), filled={"x": BAD})
    assert "\\x00" in repr(inbound)
    mended = repr(storable_inbound(inbound))
    mended.encode()
    assert "\\x00" not in mended
    assert "\\ud83d" not in mended
    assert mended.count("ab\ufffdc") == repr(inbound).count("a\\x00b\\ud83dc") == 12


def test_what_is_sound_is_the_same_inbound() -> None:
    inbound = make_inbound("fine 👍 好", attachments=(Attachment(kind=AttachmentKind.OTHER, name="x"),))
    assert storable_inbound(inbound) is inbound


@pytest.mark.parametrize("kind", [InboundKind.MESSAGE, InboundKind.EDIT])
async def test_a_message_with_what_no_database_takes_is_stored_and_answered(
    make_app: MakeApp, kind: InboundKind
) -> None:
    chat = await open_chat(make_app, persona="none")
    author = Author(platform="fake", id="alice", name="Al\ud83dice\0")
    await chat.say("first", author=author, message_id="7")
    await chat.say(BAD, author=author, message_id="7" if kind is InboundKind.EDIT else "8", kind=kind)
    assert await chat.say("and?", author=author, channel=DM) == ["ok"]
    assert "ab\ufffdc" in str(chat.last_prompt)
