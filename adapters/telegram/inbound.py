"""Updates of the Bot API as inbounds. Pure functions: nothing is fetched, asked or remembered here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram import CallbackQuery, Chat, ExternalReplyInfo, Message, MessageOriginUser

from adapters.incoming import inert
from adapters.telegram.notes import Carrier, note_of, unfetched
from adapters.telegram.people import PLATFORM, author_for, author_of, chat_name, origin_key, origin_name
from adapters.telegram.reading import Me, Reading, read
from bot.chat import Author, ChannelRef, Inbound, InboundKind, Quote, Visibility

GENERAL_TOPIC = 1
"""Thread id of a forum's General topic, which must not be named when sending (T08)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pressed:
    """The message whose button was pressed: the answer is shown in its place."""

    message_id: int


def to_inbound(messages: Sequence[Message], me: Me, *, kind: InboundKind = InboundKind.MESSAGE) -> Inbound | None:
    """One message, or the messages of one album, as one inbound (T16).

    `None` for what says nothing to anybody: service messages, channel posts, commands for other bots, and messages that
    reach us through a business account or a channel's direct messages.
    """
    first = next((message for message in messages if message.caption), messages[0])  # an edit comes for that one
    if first.chat.type == Chat.CHANNEL or first.business_connection_id or first.chat.is_direct_messages:
        return None
    readings = [reading for message in messages if (reading := _reading_of(message, me))]
    if len(readings) < len(messages):
        return None
    text = "\n".join(reading.text for reading in readings if reading.text)
    is_edit = kind is InboundKind.EDIT  # which counts even if nothing is left of the text
    attachments = tuple(file for message in messages if (file := unfetched(message)))
    mentions_me = any(reading.mentions_me for reading in readings)
    if not (text or attachments or mentions_me or is_edit):
        return None
    return Inbound(
        kind=kind,
        channel=channel_of(first),
        message_id=str(first.message_id),
        author=author_of(first),
        sent_at=(first.edit_date or first.date) if is_edit else first.date,
        text=text,
        mentions_me=mentions_me,
        reply_to=quote_of(first, me),
        attachments=attachments,
    )


def to_press(query: CallbackQuery, *, now: datetime) -> Inbound | None:
    """A pressed button; `None` when it stands under no message of a chat. Telegram tells no time of a press."""
    message = query.message
    if message is None or not query.data:
        return None
    return Inbound(
        kind=InboundKind.BUTTON,
        channel=channel_of(message) if isinstance(message, Message) else _whole_chat(message.chat),
        message_id=query.id,
        author=author_for(query.from_user),
        sent_at=now,
        text=query.data,
        reply_handle=Pressed(message_id=message.message_id),
    )


def to_migration(message: Message) -> Inbound | None:
    """A group that became a supergroup, as either of its two service messages tells it (T09, T23)."""
    if not (message.migrate_to_chat_id or message.migrate_from_chat_id):
        return None
    here = _whole_chat(message.chat)
    return _migration(
        replace(here, place=str(message.migrate_from_chat_id or message.chat.id)),
        replace(here, place=str(message.migrate_to_chat_id or message.chat.id)),
        author=author_of(message),
        now=message.date,
    )


def migration(old_id: int, new_id: int, *, me: Me, now: datetime) -> Inbound:
    """The same as a refused call tells it, which names nothing but the ids."""
    old = ChannelRef(platform=PLATFORM, place=str(old_id), visibility=Visibility.PRIVATE)
    author = Author(platform=PLATFORM, id=str(me.id), name=me.username, is_bot=True)
    return _migration(old, replace(old, place=str(new_id)), author=author, now=now)


def _migration(old: ChannelRef, new: ChannelRef, *, author: Author, now: datetime) -> Inbound:
    return Inbound(
        kind=InboundKind.MIGRATION,
        channel=old,
        migrated_to=new,
        message_id=f"{old.place}>{new.place}",
        author=author,
        sent_at=now,
    )


def channel_of(message: Message) -> ChannelRef:
    """Where a message stands. Only a real topic is a thread: answers in an ordinary group carry a thread id too."""
    chat = _whole_chat(message.chat)
    topic = message.message_thread_id
    if not message.is_topic_message or topic in {None, GENERAL_TOPIC}:
        return chat
    opening = message.reply_to_message and message.reply_to_message.forum_topic_created
    return replace(chat, thread=str(topic), channel_name=inert(opening.name) if opening else "")


def _whole_chat(chat: Chat) -> ChannelRef:
    if chat.type == Chat.PRIVATE:
        visibility = Visibility.DM
    else:
        visibility = Visibility.PUBLIC if chat.username else Visibility.PRIVATE
    return ChannelRef(platform=PLATFORM, place=str(chat.id), visibility=visibility, place_name=chat_name(chat))


def quote_of(message: Message, me: Me) -> Quote | None:
    """What a message answers: the part that was marked, else all of it. A topic's opening message is no quote."""
    marked = message.quote.text if message.quote else ""
    match quoted_of(message):
        case Message() as replied:
            author = author_of(replied)
            return Quote(
                message_id=str(replied.message_id),
                author_name=author.name,
                text=marked or _described(replied, me),
                is_mine=replied.from_user is not None and replied.from_user.id == me.id,
                author_key=author.key,
            )
        case ExternalReplyInfo() as elsewhere:
            return _quote_from_elsewhere(elsewhere, marked, me, here=message.chat.id)
    return None


def quoted_of(message: Message) -> Carrier | None:
    """The message that a message answers, of which Telegram tells less when it stands in another chat or topic."""
    replied = message.reply_to_message
    if replied is None or (message.is_topic_message and replied.message_id == message.message_thread_id):
        return message.external_reply
    return replied


def _quote_from_elsewhere(quoted: ExternalReplyInfo, marked: str, me: Me, *, here: int) -> Quote:
    """Message ids count in one chat, so that of another chat would name some message of this one."""
    is_here = quoted.chat is not None and quoted.chat.id == here
    by_us = isinstance(quoted.origin, MessageOriginUser) and quoted.origin.sender_user.id == me.id
    return Quote(
        message_id=str(quoted.message_id or "") if is_here else "",
        author_name=origin_name(quoted.origin),
        text=marked or note_of(quoted) or _file_line(quoted),
        is_mine=is_here and by_us,
        author_key=origin_key(quoted.origin),
    )


def _described(message: Message, me: Me) -> str:
    reading = _reading_of(message, me)
    return "\n".join(part for part in (reading and reading.text, _file_line(message)) if part)


def _file_line(message: Carrier) -> str:
    file = unfetched(message)
    return f"[{file.note}]" if file else ""


def _reading_of(message: Message, me: Me) -> Reading | None:
    """Text or caption, with what is no file described, and with a forward labelled."""
    reading = read(message.text or message.caption or "", message.entities or message.caption_entities, me)
    if reading is None:
        return None
    origin = message.forward_origin
    label = f"[forwarded from {origin_name(origin)}]" if origin else ""
    parts = (label, reading.text, note_of(message))
    return replace(reading, text="\n".join(part for part in parts if part))
