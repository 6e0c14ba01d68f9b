"""Limits and checks on what a bot sends: text, captions, threads, replies, keyboards, pace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tests.emulators.telegram.entities import check_entities, find_entities, utf16_length
from tests.emulators.telegram.errors import ApiError, bad_request
from tests.emulators.telegram.params import Params
from tests.emulators.telegram.world import Chat, Json

MAX_TEXT = 4096
"""UTF-16 units of a message text after entities parsing (Bot API, sendMessage)."""
MAX_CAPTION = 1024
"""UTF-16 units of a caption (Bot API, sendPhoto)."""
MAX_CALLBACK_DATA = 64
"""Bytes (Bot API, InlineKeyboardButton)."""
GENERAL_TOPIC = 1
"""Thread id of a forum's General topic; sends that name it are refused (T08)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """At most `messages` sends and edits per chat within `seconds`."""

    messages: int
    seconds: float


def checked_text(params: Params, *, name: str, entities: str, limit: int) -> tuple[str, list[Json]]:
    """The text as the server stores it, and its entities."""
    if params.text("parse_mode"):
        raise bad_request("unsupported parse_mode: this server takes entities")
    text = params.text(name)
    given = params.json(entities)
    checked = check_entities(text, given) if given else []
    text = text.rstrip()
    if utf16_length(text) > limit:
        raise bad_request("message is too long" if limit == MAX_TEXT else "message caption is too long")
    if not given:
        return text, find_entities(text)
    return text, [clipped for entity in checked if (clipped := _clip(entity, utf16_length(text)))]


def _clip(entity: Json, end: int) -> Json | None:
    length = min(entity["length"], end - entity["offset"])
    return {**entity, "length": length} if length > 0 else None


def message_text(params: Params) -> Json:
    """`text` and `entities` of a message; refuses a blank one."""
    text, entities = checked_text(params, name="text", entities="entities", limit=MAX_TEXT)
    if not text.strip():
        raise bad_request("message text is empty")
    return {"text": text, **({"entities": entities} if entities else {})}


def caption(params: Params) -> Json:
    """`caption` and `caption_entities` of a message with a file, if any."""
    text, entities = checked_text(params, name="caption", entities="caption_entities", limit=MAX_CAPTION)
    return {**({"caption": text} if text else {}), **({"caption_entities": entities} if entities else {})}


def thread(params: Params, chat: Chat) -> Json:
    """The thread a message is sent to."""
    wanted = params.integer("message_thread_id")
    if wanted is None:
        return {}
    if wanted == GENERAL_TOPIC or wanted not in chat.topics:
        raise bad_request("message thread not found")
    return {"message_thread_id": wanted, "is_topic_message": True}


def reply(params: Params, chat: Chat) -> Json:
    """The message that is replied to."""
    wanted = params.json("reply_parameters")
    if not wanted:
        return {}
    target = chat.messages.get(int(wanted["message_id"]))
    if target is None:
        if wanted.get("allow_sending_without_reply"):
            return {}
        raise bad_request("message to be replied not found")
    return {"reply_to_message": {key: value for key, value in target.items() if key != "reply_to_message"}}


def keyboard(params: Params) -> Json:
    """An inline keyboard, or the wish for a reply, which the server keeps out of the message; other markup is refused
    because we never send it.
    """
    markup = params.json("reply_markup")
    if not markup or markup.get("force_reply"):
        return {}
    for row in markup["inline_keyboard"]:
        for button in row:
            if not button.get("text") or not button.get("callback_data"):
                raise bad_request("can't parse inline keyboard button")
            if len(button["callback_data"].encode()) > MAX_CALLBACK_DATA:
                raise bad_request("BUTTON_DATA_INVALID")
    return {"reply_markup": markup} if markup["inline_keyboard"] else {}


def link_preview(params: Params, chat: Chat) -> None:
    """Remember whether the preview was switched off; the server keeps it out of the message."""
    options: Any = params.json("link_preview_options")
    chat.previews.append(not (options or {}).get("is_disabled", False))


def keep_pace(chat: Chat, pace: Pace | None, now: float) -> None:
    """Refuse with 429 what comes faster than `pace`."""
    if pace is None:
        return
    chat.sent_at[:] = [moment for moment in chat.sent_at if now - moment < pace.seconds]
    if len(chat.sent_at) >= pace.messages:
        wait = max(1, math.ceil(pace.seconds - (now - chat.sent_at[0])))
        raise ApiError(429, f"Too Many Requests: retry after {wait}", retry_after=wait)
    chat.sent_at.append(now)
