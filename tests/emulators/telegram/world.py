"""Users, chats and messages in the words of the Bot API, and what users do in them.

Knows no HTTP: the server answers calls from it.
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.emulators.telegram.entities import find_entities
from tests.emulators.telegram.errors import ApiError, bad_request
from tests.emulators.telegram.updates import UpdateQueue

Json = dict[str, Any]
ANONYMOUS_ADMIN: Json = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
"""Stands in `from` of a message that an administrator sent in the name of the group."""
CHANNEL_FORWARDER: Json = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
"""Stands in `from` of a linked channel's post in its discussion group."""


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    """Somebody with an account."""

    id: int
    first_name: str
    username: str | None = None
    last_name: str | None = None
    language_code: str | None = "en"
    is_bot: bool = False

    def as_json(self) -> Json:
        """As `User` of the Bot API."""
        return _without_none(
            id=self.id,
            is_bot=self.is_bot,
            first_name=self.first_name,
            last_name=self.last_name,
            username=self.username,
            language_code=self.language_code,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """One state of a message that is being streamed to a private chat."""

    draft_id: int
    text: str
    thread: int | None


@dataclass(kw_only=True, eq=False)
class Chat:
    """A private chat, group, supergroup or channel, with all its messages as JSON."""

    id: int
    kind: str
    title: str = ""
    username: str | None = None
    first_name: str | None = None
    is_forum: bool = False
    members: dict[int, User] = field(default_factory=dict)
    administrators: set[int] = field(default_factory=set)
    topics: dict[int, str] = field(default_factory=dict)
    messages: dict[int, Json] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    actions: list[Json] = field(default_factory=list)
    previews: list[bool] = field(default_factory=list)
    sent_at: list[float] = field(default_factory=list)
    closed_to_bot: str = ""
    """Why the bot may not write here: "bot was blocked by the user"; empty = it may."""
    moved_to: int | None = None
    message_ids: itertools.count[int] = field(default_factory=lambda: itertools.count(2))
    """Message 1 created the chat; it is also the id of a forum's General topic."""

    def as_json(self) -> Json:
        """As `Chat` of the Bot API."""
        return _without_none(
            id=self.id,
            type=self.kind,
            title=self.title or None,
            username=self.username,
            first_name=self.first_name,
            is_forum=self.is_forum or None,
        )


class World:
    """Everything that exists on the other side of the Bot API, and the verbs of the people there."""

    def __init__(self, *, bot: User, privacy: bool, clock: Callable[[], float] = time.time) -> None:
        self.bot, self.privacy, self.clock = bot, privacy, clock
        self.chats: dict[int, Chat] = {}
        self.updates = UpdateQueue()
        self.files: dict[str, tuple[str, bytes]] = {}
        self.queries: dict[str, Json | None] = {}
        """Callback queries by id; the answer once the bot gave one."""
        self.commands: dict[tuple[str, str], list[Json]] = {}
        """Command menus by (scope as JSON, language code)."""
        self._user_ids = itertools.count(11)
        self._group_ids = itertools.count(1)

    # Who and where

    def user(self, first_name: str, *, id: int | None = None, **fields: Any) -> User:
        """A new person; the username is the first name in lower case unless given."""
        fields.setdefault("username", first_name.lower() or None)
        return User(id=next(self._user_ids) if id is None else id, first_name=first_name, **fields)

    def private(self, user: User) -> Chat:
        """The bot's private chat with `user`."""
        chat = self.chats.setdefault(
            user.id, Chat(id=user.id, kind="private", first_name=user.first_name, username=user.username)
        )
        chat.members[user.id] = user
        return chat

    def group(self, title: str, *members: User, id: int | None = None, **fields: Any) -> Chat:
        """A new group chat; a supergroup unless `kind` says otherwise."""
        kind = fields.setdefault("kind", "supergroup")
        number = next(self._group_ids)
        chat_id = id if id is not None else (-1_000_000_000_000 - number if kind == "supergroup" else -number)
        chat = self.chats[chat_id] = Chat(id=chat_id, title=title, **fields)
        chat.members.update({member.id: member for member in members})
        return chat

    def topic(self, chat: Chat, name: str) -> int:
        """A new forum topic; its id is that of the service message that opened it."""
        created = self.post(chat, self.bot.as_json(), forum_topic_created={"name": name, "icon_color": 7322096})
        number: int = created["message_id"]
        created |= {"message_thread_id": number, "is_topic_message": True}
        chat.topics[number] = name
        return number

    def file(self, data: bytes, name: str) -> str:
        """Store a file and return its id."""
        file_id = "AgAC" + secrets.token_urlsafe(24)
        self.files[file_id] = (f"documents/file_{len(self.files)}_{name}", data)
        return file_id

    def bot_messages(self, chat: Chat) -> list[Json]:
        """What the bot said in a chat and did not delete, oldest first, service messages left out."""
        return [
            message
            for message in chat.messages.values()
            if message.get("from", {}).get("id") == self.bot.id and "forum_topic_created" not in message
        ]

    def bot_texts(self, chat: Chat) -> list[str]:
        """Texts (or captions) of `bot_messages`."""
        return [message.get("text") or message.get("caption") or "" for message in self.bot_messages(chat)]

    # What people do

    def say(
        self,
        user: User,
        chat: Chat,
        text: str | None = None,
        *,
        topic: int | None = None,
        reply_to: Json | None = None,
        **fields: Any,
    ) -> Json:
        """A message from `user`. `fields` add to it or replace parts of it, as JSON of the Bot API."""
        if text is not None:
            fields = {"text": text, "entities": find_entities(text) or None, **fields}
        if "caption" in fields:
            fields = {"caption_entities": find_entities(fields["caption"]) or None, **fields}
        message = self.post(chat, user.as_json(), **{**_threading(chat, topic, reply_to), **fields})
        if self._is_visible(chat, message):
            self.updates.push("message", message)
        return message

    def edit(self, message: Json, text: str, **fields: Any) -> None:
        """The author changes a message."""
        message |= {"text": text, "entities": find_entities(text), "edit_date": int(self.clock()), **fields}
        self.updates.push("edited_message", message)

    def press(self, user: User, message: Json, label: str) -> str:
        """Press the button with that label; returns the id of the callback query."""
        rows = message.get("reply_markup", {}).get("inline_keyboard", [])
        data = next(button["callback_data"] for row in rows for button in row if button["text"] == label)
        query_id = str(secrets.randbits(62))
        self.queries[query_id] = None
        query = {"id": query_id, "from": user.as_json(), "chat_instance": "1", "data": data, "message": message}
        self.updates.push("callback_query", query)
        return query_id

    def photo(self, data: bytes, *, width: int = 90, height: int = 90) -> Json:
        """The fields of a message with a photo of one size."""
        size = {"file_id": self.file(data, "photo.jpg"), "file_unique_id": secrets.token_hex(6)}
        return {"photo": [{**size, "width": width, "height": height, "file_size": len(data)}]}

    def voice(self, data: bytes, seconds: int) -> Json:
        """The fields of a voice message."""
        file = {"file_id": self.file(data, "voice.oga"), "file_unique_id": secrets.token_hex(6)}
        return {"voice": {**file, "duration": seconds, "mime_type": "audio/ogg", "file_size": len(data)}}

    def document(self, data: bytes, name: str, mime_type: str, *, file_size: int | None = None) -> Json:
        """The fields of a message with a document; `file_size` may lie."""
        return {
            "document": {
                "file_id": self.file(data, name),
                "file_unique_id": secrets.token_hex(6),
                "file_name": name,
                "mime_type": mime_type,
                "file_size": len(data) if file_size is None else file_size,
            }
        }

    def album(self, user: User, chat: Chat, *photos: bytes, caption: str) -> list[Json]:
        """Several photos sent at once: one message each, the caption on the first only."""
        group_id = str(secrets.randbits(50))
        captions: list[Json] = [{"caption": caption}, *[{} for _ in photos[1:]]]
        return [
            self.say(user, chat, media_group_id=group_id, **self.photo(data), **fields)
            for data, fields in zip(photos, captions, strict=True)
        ]

    def migrate(self, chat: Chat, *, announce: tuple[str, ...] = ("old", "new")) -> Chat:
        """Turn a basic group into a supergroup; `announce` names the service messages that the bot gets, in order."""
        new = self.group(chat.title, *chat.members.values())
        new.administrators |= chat.administrators
        author = next(iter(chat.members.values())).as_json()
        chat.moved_to = new.id
        notices = {
            "old": lambda: self.post(chat, author, migrate_to_chat_id=new.id),
            "new": lambda: self.post(new, ANONYMOUS_ADMIN, migrate_from_chat_id=chat.id, sender_chat=new.as_json()),
        }
        for side in announce:
            self.updates.push("message", notices[side]())
        return new

    # What the server does

    def post(self, chat: Chat, author: Json, **fields: Any) -> Json:
        """Store a message and return it."""
        message = {
            "message_id": next(chat.message_ids),
            "date": int(self.clock()),
            "chat": chat.as_json(),
            "from": author,
            **_without_none(**fields),
        }
        chat.messages[message["message_id"]] = message
        self.updates.signal.notify()
        return message

    def chat_for(self, chat_id: int | None) -> Chat:
        """The chat that a call names, if the bot may write there."""
        chat = self.chats.get(chat_id) if chat_id is not None else None
        if chat is None:
            raise bad_request("chat not found")
        if chat.moved_to is not None:
            raise ApiError(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=chat.moved_to,
            )
        if chat.closed_to_bot:
            raise ApiError(403, f"Forbidden: {chat.closed_to_bot}")
        return chat

    def _is_visible(self, chat: Chat, message: Json) -> bool:
        """Privacy mode: in groups only commands, replies to the bot and mentions of it arrive (T18)."""
        if chat.kind == "private" or not self.privacy or self.bot.id in chat.administrators:
            return True
        replied = message.get("reply_to_message", {}).get("from", {}).get("id")
        text = (message.get("text") or message.get("caption") or "").lower()
        mine = f"@{self.bot.username}".lower()
        words = text.split()
        is_command = bool(words) and words[0].startswith("/") and ("@" not in words[0] or words[0].endswith(mine))
        return replied == self.bot.id or is_command or mine in text


def _threading(chat: Chat, topic: int | None, reply_to: Json | None) -> Json:
    """A message in a topic answers its opening message unless it answers another one; a reply outside of topics
    carries a thread id too, that of the first message replied to, but is no topic message.
    """
    if topic is not None:
        shown = reply_to or chat.messages[topic]
        return {"message_thread_id": topic, "is_topic_message": True, "reply_to_message": _shallow(shown)}
    if reply_to is None:
        return {}
    root = reply_to.get("message_thread_id", reply_to["message_id"])
    return {
        "reply_to_message": _shallow(reply_to),
        "message_thread_id": root if chat.kind == "supergroup" else None,
        "is_topic_message": reply_to.get("is_topic_message"),
    }


def _shallow(message: Json) -> Json:
    return {key: value for key, value in message.items() if key != "reply_to_message"}


def _without_none(**fields: Any) -> Json:
    return {key: value for key, value in fields.items() if value is not None}
