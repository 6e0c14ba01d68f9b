"""Methods that send, change and remove messages."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from tests.emulators.telegram import rules
from tests.emulators.telegram.errors import bad_request
from tests.emulators.telegram.params import Params
from tests.emulators.telegram.world import Chat, Draft, Json

if TYPE_CHECKING:
    from tests.emulators.telegram.server import TelegramEmulator

ACTIONS = frozenset({"typing", "upload_photo", "upload_document", "record_voice", "upload_voice", "choose_sticker"})
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current "
    "content and reply markup of the message"
)
MAX_DELETED_AT_ONCE = 100
"""Messages per deleteMessages call (Bot API)."""


def send_message(server: TelegramEmulator, params: Params) -> Json:
    chat = server.chat_for(params.integer("chat_id"))
    fields = {**rules.message_text(params), **_common(params, chat)}
    rules.link_preview(params, chat)
    rules.keep_pace(chat, server.pace, server.clock())
    return server.post(chat, server.bot.as_json(), **fields)


def send_message_draft(server: TelegramEmulator, params: Params) -> bool:
    chat = server.chat_for(params.integer("chat_id"))
    if chat.kind != "private":
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    draft_id = params.integer("draft_id")
    if not draft_id:
        raise bad_request("TEXTDRAFT_ID_INVALID")
    text, _ = rules.checked_text(params, name="text", entities="entities", limit=rules.MAX_TEXT)
    thread = rules.thread(params, chat).get("message_thread_id")
    rules.keep_pace(chat, server.draft_pace, server.clock())
    chat.drafts.append(Draft(draft_id=draft_id, text=text, thread=thread))
    return True


def send_document(server: TelegramEmulator, params: Params) -> Json:
    return _send_file(server, params, "document")


def send_photo(server: TelegramEmulator, params: Params) -> Json:
    return _send_file(server, params, "photo")


def send_voice(server: TelegramEmulator, params: Params) -> Json:
    return _send_file(server, params, "voice")


def send_media_group(server: TelegramEmulator, params: Params) -> list[Json]:
    chat = server.chat_for(params.integer("chat_id"))
    media: list[Json] = params.json("media") or []
    if not 2 <= len(media) <= 10:
        raise bad_request("wrong number of items in media group")
    common = _common(params, chat)
    rules.keep_pace(chat, server.pace, server.clock())
    group_id = str(secrets.randbits(50))
    sent = []
    for item in media:
        one = Params({**item, item["type"]: item["media"]}, params.files)
        fields = {**_file(server, one, item["type"]), **rules.caption(one), **common, "media_group_id": group_id}
        sent.append(server.post(chat, server.bot.as_json(), **fields))
        params.file(item["media"].removeprefix("attach://"))
    return sent


def edit_message_text(server: TelegramEmulator, params: Params) -> Json:
    chat, message = _own_message(server, params)
    new = {**rules.message_text(params), **rules.keyboard(params)}
    rules.link_preview(params, chat)
    if {key: message[key] for key in ("text", "entities", "reply_markup") if key in message} == new:
        raise bad_request(NOT_MODIFIED)
    if "text" not in message:
        raise bad_request("there is no text in the message to edit")
    rules.keep_pace(chat, server.pace, server.clock())
    for key in ("entities", "reply_markup"):
        message.pop(key, None)
    message |= {**new, "edit_date": int(server.clock())}
    return message


def edit_message_media(server: TelegramEmulator, params: Params) -> Json:
    """A text may become a picture, and a picture another one; whether that is the same is not looked at."""
    chat, message = _own_message(server, params)
    media: Json = params.json("media") or {}
    if media.get("type") != "photo":
        raise bad_request("type of file mismatch")
    one = Params({**media, "photo": media["media"]}, params.files)
    new = {**_file(server, one, "photo"), **rules.caption(one), **rules.keyboard(params)}
    params.file(media["media"].removeprefix("attach://"))
    rules.keep_pace(chat, server.pace, server.clock())
    for key in ("text", "entities", "caption", "caption_entities", "reply_markup"):
        message.pop(key, None)
    message |= {**new, "edit_date": int(server.clock())}
    return message


def edit_message_reply_markup(server: TelegramEmulator, params: Params) -> Json:
    _, message = _own_message(server, params)
    new = rules.keyboard(params)
    if message.get("reply_markup") == new.get("reply_markup"):
        raise bad_request(NOT_MODIFIED)
    message.pop("reply_markup", None)
    message |= new
    return message


def delete_message(server: TelegramEmulator, params: Params) -> bool:
    chat = server.chat_for(params.integer("chat_id"))
    if chat.messages.pop(params.integer("message_id") or 0, None) is None:
        raise bad_request("message to delete not found")
    return True


def delete_messages(server: TelegramEmulator, params: Params) -> bool:
    """Those that are gone already are skipped."""
    chat = server.chat_for(params.integer("chat_id"))
    ids: list[int] = params.json("message_ids") or []
    if not 1 <= len(ids) <= MAX_DELETED_AT_ONCE:
        raise bad_request("message identifiers are not specified")
    for message_id in ids:
        chat.messages.pop(message_id, None)
    return True


def send_chat_action(server: TelegramEmulator, params: Params) -> bool:
    chat = server.chat_for(params.integer("chat_id"))
    action = params.text("action")
    if action not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    chat.actions.append({"action": action, **rules.thread(params, chat)})
    return True


def _common(params: Params, chat: Chat) -> Json:
    return {**rules.thread(params, chat), **rules.reply(params, chat), **rules.keyboard(params)}


def _own_message(server: TelegramEmulator, params: Params) -> tuple[Chat, Json]:
    chat = server.chat_for(params.integer("chat_id"))
    message = chat.messages.get(params.integer("message_id") or 0)
    if message is None:
        raise bad_request("message to edit not found")
    if message["from"]["id"] != server.bot.id:
        raise bad_request("message can't be edited")
    return chat, message


def _send_file(server: TelegramEmulator, params: Params, kind: str) -> Json:
    chat = server.chat_for(params.integer("chat_id"))
    fields = {**_file(server, params, kind), **rules.caption(params), **_common(params, chat)}
    rules.keep_pace(chat, server.pace, server.clock())
    return server.post(chat, server.bot.as_json(), **fields)


def _file(server: TelegramEmulator, params: Params, kind: str) -> Json:
    upload = params.file(kind)
    if upload is None:
        raise bad_request(f"there is no {kind} in the request")
    if not upload.data:
        raise bad_request("file must be non-empty")
    stored: dict[str, Any] = {
        "file_id": server.file(upload.data, upload.name),
        "file_unique_id": secrets.token_hex(6),
        "file_size": len(upload.data),
    }
    if kind == "photo":
        return {"photo": [{**stored, "width": 90, "height": 90}]}
    if kind == "voice":
        return {"voice": {**stored, "duration": 1, "mime_type": "audio/mpeg"}}
    return {kind: {**stored, "file_name": upload.name}}
