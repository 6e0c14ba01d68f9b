"""What Discord demands and tells of webhooks and simcord leaves out. Knows no socket."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from simcord.backend import Backend
from simcord.backend.errors import BackendError, invalid_form_body
from simcord.enums import ChannelType

MOST_PER_CHANNEL = 15
FORBIDDEN_IN_NAMES = ("clyde", "discord")
THREADS = (ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD)


class Webhooks:
    """The rules for names, numbers and threads, and which webhooks belong to the bot's application."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._owned: set[int] = set()

    @contextlib.contextmanager
    def ruled(self, method: str, path: str, query: Mapping[str, str], body: Any) -> Iterator[None]:
        """Refuse what Discord refuses; a webhook that is used for a thread works there for this request."""
        parts = path.strip("/").split("/")
        if method == "POST" and len(parts) == 3 and parts[0] == "channels" and parts[2] == "webhooks":
            self._check_creation(int(parts[1]), body)
            yield
            self._owned |= {hook.id for hook in self._backend.webhooks.values() if self._is_ours(hook.creator_id)}
        elif parts[0] == "webhooks" and (hook := self._used(parts)) is not None:
            if method == "POST":
                _check_name((body or {}).get("username", "Webhook"))
            home, hook.channel_id = hook.channel_id, self._spot(hook.channel_id, query.get("thread_id"))
            try:
                yield
            finally:
                hook.channel_id = home
        else:
            yield

    def owns(self, author_id: int) -> bool:
        """Whether an author is a webhook of the bot's application."""
        return author_id in self._owned

    def with_owner(self, data: Any) -> Any:
        """A payload with the application named that owns a webhook or a webhook's message."""
        if isinstance(data, list):
            return [self.with_owner(item) for item in data]
        if not isinstance(data, dict):
            return data
        named = {key: self.with_owner(value) for key, value in data.items()}
        hook_id = data.get("webhook_id") or (data.get("id") if "token" in data and "channel_id" in data else None)
        if hook_id and int(hook_id) in self._owned:
            named["application_id"] = str(self._backend.application_id)
        return named

    def _is_ours(self, user_id: int) -> bool:
        return user_id == self._backend.bot_user.id

    def _used(self, parts: list[str]) -> Any:
        if len(parts) < 3 or parts[2] not in self._backend.webhook_tokens:
            return None
        return self._backend.webhooks.get(int(parts[1]))

    def _check_creation(self, channel_id: int, body: Any) -> None:
        _check_name(body["name"])
        present = [hook for hook in self._backend.webhooks.values() if hook.channel_id == channel_id]
        if len(present) >= MOST_PER_CHANNEL:
            raise BackendError(400, 30007, "Maximum number of webhooks reached (15)")

    def _spot(self, home: int, thread_id: str | None) -> int:
        if thread_id is None:
            if self._backend.get_channel(home).type == ChannelType.FORUM:
                raise BackendError(
                    400, 220001, "Webhooks posted to forum channels must have a thread_name or thread_id"
                )
            return home
        thread = self._backend.get_channel(int(thread_id))
        if thread.type not in THREADS or thread.parent_id != home:
            raise BackendError(404, 10003, "Unknown Channel")
        return thread.id


def _check_name(name: str) -> None:
    if not 1 <= len(name.strip()) <= 80:
        raise invalid_form_body(errors={"username": {"_errors": [{"code": "BASE_TYPE_BAD_LENGTH", "message": "1-80"}]}})
    if any(word in name.lower() for word in FORBIDDEN_IN_NAMES):
        message = "Username cannot contain this word"
        raise invalid_form_body(
            errors={"username": {"_errors": [{"code": "USERNAME_INVALID_CONTAINS", "message": message}]}}
        )
