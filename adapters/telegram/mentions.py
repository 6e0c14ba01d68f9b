"""A message that calls somebody: their name before the text, as a mention that works for people without a user name."""

from __future__ import annotations

from collections.abc import Sequence

from telegram import MessageEntity, User

from adapters.split import utf16_length
from bot.chat import Mention


def calling(mention: Mention, text: str, entities: Sequence[MessageEntity]) -> tuple[str, tuple[MessageEntity, ...]]:
    """The text and its entities with the name before them. There must be room for it."""
    name = " ".join(mention.name.split()) or "?"
    user = User(int(mention.user_key.removeprefix("telegram:")), name, is_bot=False)
    call = MessageEntity(MessageEntity.TEXT_MENTION, 0, utf16_length(name), user=user)
    moved = MessageEntity.shift_entities(utf16_length(name) + 1, entities)
    return f"{name} {text}", (call, *moved)
