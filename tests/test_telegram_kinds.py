"""Every kind of Telegram message and update that the library knows: described, or passed over, but never a fault."""

from __future__ import annotations

import collections.abc
import inspect
import sys
import types
import typing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import telegram
from telegram import (
    Chat,
    ExternalReplyInfo,
    Message,
    MessageOriginHiddenUser,
    TelegramObject,
    Update,
    User,
)
from telegram.constants import MessageType

from adapters.telegram.inbound import to_inbound
from bot.sparing import Later
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.stage import ME, Stage

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")

NOW = datetime(2026, 11, 29, tzinfo=UTC)
GROUP = Chat(-100, Chat.SUPERGROUP, title="Garden")
ALICE = User(7, "Alice", is_bot=False)

DESCRIBED = {
    "caption": "word",
    "checklist": "[checklist: word – word]",
    "contact": "[contact: word, word]",
    "dice": "[dice word shows 1]",
    "forward_origin": "[forwarded from somebody]",
    "game": "[game: word]",
    "giveaway": "[giveaway]",
    "invoice": "[invoice: word]",
    "location": "[location: 1.00000, 1.00000]",
    "paid_media": "[paid media]",
    "poll": "[poll: word – word]",
    "sticker": "[sticker]",
    "story": "[story]",
    "text": "word",
    "venue": "[place: word, word]",
}
FILES = {
    "animation": "animation",
    "audio": "audio, 1 s",
    "document": "file file, 0 B",
    "live_photo": "live photo, 1 s",
    "photo": "photo, 1×1",
    "video": "video, 1 s",
    "video_note": "video message, 1 s",
    "voice": "voice message, 1 s",
}


REQUIRED_LATELY = {
    # What the constructors ask for although their signatures do not say so.
    "PollAnswer": ("option_persistent_ids",),
    "PollOption": ("persistent_id",),
    "Poll": ("allows_revoting", "members_only"),
}


def made(kind: Any) -> Any:
    """The smallest value of a type that the library uses."""
    if isinstance(kind, Later):
        return made(kind.load())
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return made(next(option for option in typing.get_args(kind) if option is not type(None)))
    if typing.get_origin(kind) in (collections.abc.Sequence, list, tuple):
        return (made(typing.get_args(kind)[0]),)
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)[0]
    plain = {bool: True, int: 1, float: 1.0, str: "word", datetime: NOW, timedelta: timedelta(seconds=1)}
    return plain[kind] if kind in plain else kind(**required(kind))


def required(kind: type[TelegramObject]) -> dict[str, Any]:
    """What the constructor of an object needs."""
    hints, lately = hints_of(kind), REQUIRED_LATELY.get(kind.__name__, ())
    parameters = [it for it in inspect.signature(kind).parameters.values() if it.kind is not it.VAR_KEYWORD]
    return {it.name: made(hints[it.name]) for it in parameters if it.default is it.empty or it.name in lately}


def hints_of(kind: type[TelegramObject]) -> dict[str, Any]:
    """Types of the constructor's parameters, of which the library imports some for type checkers alone."""
    return typing.get_type_hints(kind.__init__, vars(telegram) | vars(sys.modules[kind.__module__]))


FIELDS = sorted(set(hints_of(Message)) - {"return", "message_id", "date", "chat", "from_user", "api_kwargs"})


def message_with(field: str) -> Message:
    return Message(5, NOW, GROUP, from_user=ALICE, **{field: made(hints_of(Message)[field])})


def test_the_table_is_of_kinds_that_the_library_knows() -> None:
    assert {kind.value for kind in MessageType} <= set(FIELDS)
    assert DESCRIBED.keys() | FILES.keys() <= set(FIELDS)


@pytest.mark.parametrize("field", FIELDS)
def test_T10_a_message_with_any_field_is_described_or_passed_over(field: str) -> None:
    inbound = to_inbound([message_with(field)], ME)
    assert (inbound.text if inbound else "") == DESCRIBED.get(field, "")
    notes = [file.note for file in inbound.attachments] if inbound else []
    assert notes == ([FILES[field]] if field in FILES else [])


@pytest.mark.parametrize("field", sorted((DESCRIBED.keys() | FILES.keys()) & set(ExternalReplyInfo.__slots__)))
def test_a_quoted_message_of_another_chat_is_described(field: str) -> None:
    origin = MessageOriginHiddenUser(NOW, "Zoe")
    elsewhere = ExternalReplyInfo(origin, **{field: made(hints_of(Message)[field])})
    inbound = to_inbound([Message(5, NOW, GROUP, from_user=ALICE, text="?", external_reply=elsewhere)], ME)
    assert inbound is not None
    assert inbound.reply_to is not None
    assert inbound.reply_to.text == DESCRIBED.get(field, f"[{FILES.get(field)}]")


async def test_T10_updates_of_every_kind_are_passed_over_and_confirmed() -> None:
    kinds = [kind for kind in hints_of(Update) if kind not in {"update_id", "api_kwargs", "return"}]
    passed_over = [kind for kind in kinds if kind not in {"message", "edited_message", "callback_query"}]
    async with TelegramEmulator() as telegram:
        stage = Stage(telegram)
        async with stage.running() as (_, ears):
            for kind in passed_over:
                telegram.updates.inject({kind: made(hints_of(Update)[kind]).to_dict()})
            telegram.updates.inject({"of_tomorrow": {"id": 1}})
            telegram.say(stage.alice, stage.private, "hi")
            await ears.hear(1)
            await telegram.wait_for(lambda: not telegram.updates.pending)
        assert ears.texts == ["hi"]
        assert len(passed_over) > 15
