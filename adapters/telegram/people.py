"""Who wrote something: identities that rights may depend on, and names fit to stand in a prompt. Pure functions."""

from __future__ import annotations

from telegram import (
    Chat,
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    User,
)

from adapters.incoming import inert
from bot.chat import Author

PLATFORM = "telegram"
STAND_INS = frozenset({"777000", "1087968824", "136817688"})
"""Accounts that stand in for channels and anonymous administrators: Telegram, GroupAnonymousBot, Channel_Bot (T11)."""


def author_of(message: Message) -> Author:
    """The person, or the chat that spoke through a stand-in: an anonymous administrator, a channel (T11)."""
    if message.sender_chat:
        return Author(platform=PLATFORM, id=str(message.sender_chat.id), name=chat_name(message.sender_chat))
    if message.from_user:
        return author_for(message.from_user)
    return Author(platform=PLATFORM, id=str(message.chat.id), name=chat_name(message.chat))


def author_for(user: User) -> Author:
    """A person or bot by account."""
    return Author(
        platform=PLATFORM,
        id=str(user.id),
        name=user_name(user),
        is_bot=user.is_bot,
        locale=user.language_code,
    )


def user_name(user: User) -> str:
    """First name, else username, else id (T20)."""
    return inert(user.first_name) or inert(user.username or "") or str(user.id)


def chat_name(chat: Chat) -> str:
    """Title, else username, else id."""
    return inert(chat.title or "") or inert(chat.username or chat.first_name or "") or str(chat.id)


def origin_key(origin: MessageOrigin) -> str | None:
    """Their `Author.key`; nobody is told whose it was when they hide that."""
    match origin:
        case MessageOriginUser():
            return author_for(origin.sender_user).key
        case MessageOriginChat():
            return f"{PLATFORM}:{origin.sender_chat.id}"
        case MessageOriginChannel():
            return f"{PLATFORM}:{origin.chat.id}"
        case _:
            return None


def origin_name(origin: MessageOrigin) -> str:
    """Who wrote a forwarded or quoted message first."""
    match origin:
        case MessageOriginUser():
            return user_name(origin.sender_user)
        case MessageOriginHiddenUser():
            return inert(origin.sender_user_name) or "somebody"
        case MessageOriginChat():
            return chat_name(origin.sender_chat)
        case MessageOriginChannel():
            return chat_name(origin.chat)
        case _:
            return "somebody"
