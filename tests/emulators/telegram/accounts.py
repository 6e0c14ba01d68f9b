"""Methods about the bot itself, chats and their members, files, buttons, and how updates are fetched."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.emulators.telegram.errors import bad_request
from tests.emulators.telegram.params import Params
from tests.emulators.telegram.updates import DEFAULT_UPDATES, Webhook
from tests.emulators.telegram.world import Chat, Json, User

if TYPE_CHECKING:
    from tests.emulators.telegram.server import TelegramEmulator

MAX_DOWNLOAD = 20 << 20
"""Bytes that getFile offers (Bot API)."""
MAX_COMMANDS = 100
SCOPES = frozenset({"default", "all_private_chats", "all_group_chats", "all_chat_administrators", "chat"})
GIFTS = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")


def get_me(server: TelegramEmulator, _params: Params) -> Json:
    return {
        **server.bot.as_json(),
        "can_join_groups": True,
        "can_read_all_group_messages": not server.privacy,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": False,
    }


async def get_updates(server: TelegramEmulator, params: Params) -> list[Json]:
    _remember_allowed(server, params)
    return await server.updates.poll(
        offset=params.integer("offset") or 0,
        limit=params.integer("limit") or 100,
        timeout_s=params.integer("timeout") or 0,
    )


def set_webhook(server: TelegramEmulator, params: Params) -> bool:
    url = params.text("url")
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    secret = params.text("secret_token")
    if secret and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
        raise bad_request("secret token contains unallowed characters")
    _remember_allowed(server, params)
    _drop_pending(server, params)
    server.updates.start_webhook(Webhook(url=url, secret=secret))
    return True


def delete_webhook(server: TelegramEmulator, params: Params) -> bool:
    _drop_pending(server, params)
    server.updates.webhook = None
    return True


def get_webhook_info(server: TelegramEmulator, _params: Params) -> Json:
    webhook = server.updates.webhook
    info = {"has_custom_certificate": False, "pending_update_count": len(server.updates.pending)}
    if webhook is None:
        return {"url": "", **info}
    problem = {"last_error_date": int(server.clock()), "last_error_message": webhook.last_error}
    return {"url": webhook.url, **info, **(problem if webhook.last_error else {})}


def get_chat(server: TelegramEmulator, params: Params) -> Json:
    chat = server.chat_for(params.integer("chat_id"))
    gifts = dict.fromkeys(GIFTS, False)
    return {**chat.as_json(), "accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": gifts}


def get_chat_member(server: TelegramEmulator, params: Params) -> Json:
    chat = server.chat_for(params.integer("chat_id"))
    user = (
        server.bot if params.integer("user_id") == server.bot.id else chat.members.get(params.integer("user_id") or 0)
    )
    if user is None:
        raise bad_request("member not found")
    return _member(chat, user)


def get_chat_administrators(server: TelegramEmulator, params: Params) -> list[Json]:
    chat = server.chat_for(params.integer("chat_id"))
    return [_member(chat, user) for user in chat.members.values() if user.id in chat.administrators]


def get_file(server: TelegramEmulator, params: Params) -> Json:
    stored = server.files.get(params.text("file_id"))
    if stored is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    path, data = stored
    if len(data) > MAX_DOWNLOAD:
        raise bad_request("file is too big")
    return {"file_id": params.text("file_id"), "file_unique_id": "u", "file_size": len(data), "file_path": path}


def answer_callback_query(server: TelegramEmulator, params: Params) -> bool:
    query_id = params.text("callback_query_id")
    if server.queries.get(query_id, {}) is not None:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    server.queries[query_id] = {"text": params.text("text"), "show_alert": params.flag("show_alert")}
    return True


def set_my_commands(server: TelegramEmulator, params: Params) -> bool:
    commands: list[Json] = params.json("commands") or []
    if not 1 <= len(commands) <= MAX_COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not re.fullmatch(r"[a-z0-9_]{1,32}", command["command"]):
            raise bad_request("BOT_COMMAND_INVALID")
        if not 1 <= len(command["description"]) <= 256:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    server.commands[_menu_key(params)] = commands
    return True


def get_my_commands(server: TelegramEmulator, params: Params) -> list[Json]:
    return server.commands.get(_menu_key(params), [])


def delete_my_commands(server: TelegramEmulator, params: Params) -> bool:
    server.commands.pop(_menu_key(params), None)
    return True


def _menu_key(params: Params) -> tuple[str, str]:
    scope = params.json("scope") or {"type": "default"}
    language = params.text("language_code")
    if scope["type"] not in SCOPES:
        raise bad_request("can't parse BotCommandScope: unsupported type specified")
    if language and not re.fullmatch(r"[a-z]{2}", language):
        raise bad_request("LANGUAGE_CODE_INVALID")
    return json.dumps(scope, sort_keys=True), language


def _member(chat: Chat, user: User) -> Json:
    member = {"user": user.as_json()}
    if user.id not in chat.administrators:
        return {"status": "member", **member}
    return {"status": "creator", "is_anonymous": False, **member}


def _remember_allowed(server: TelegramEmulator, params: Params) -> None:
    allowed = params.json("allowed_updates")
    if allowed is not None:
        server.updates.allowed = set(allowed or DEFAULT_UPDATES)


def _drop_pending(server: TelegramEmulator, params: Params) -> None:
    if params.flag("drop_pending_updates"):
        server.updates.pending.clear()
