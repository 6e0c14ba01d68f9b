"""Which methods the server knows, by the name in the address (the Bot API compares it without regard to case)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from tests.emulators.telegram import accounts, messages
from tests.emulators.telegram.params import Params

if TYPE_CHECKING:
    from tests.emulators.telegram.server import TelegramEmulator

Method = Callable[["TelegramEmulator", Params], Any | Awaitable[Any]]

METHODS: Mapping[str, Method] = {
    function.__name__.replace("_", ""): function
    for function in (
        accounts.get_me,
        accounts.get_updates,
        accounts.set_webhook,
        accounts.delete_webhook,
        accounts.get_webhook_info,
        accounts.get_chat,
        accounts.get_chat_member,
        accounts.get_chat_administrators,
        accounts.get_file,
        accounts.answer_callback_query,
        accounts.set_my_commands,
        accounts.get_my_commands,
        accounts.delete_my_commands,
        messages.send_message,
        messages.send_message_draft,
        messages.send_document,
        messages.send_photo,
        messages.send_voice,
        messages.send_media_group,
        messages.edit_message_text,
        messages.edit_message_media,
        messages.edit_message_reply_markup,
        messages.delete_message,
        messages.delete_messages,
        messages.send_chat_action,
    )
}
