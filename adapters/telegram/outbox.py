"""What all replies share on their way out: chats that asked us to wait, groups that moved, and logging of refusals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from telegram import Bot
from telegram.error import ChatMigrated, RetryAfter

from adapters.pacing import Wait
from adapters.telegram.faults import seconds_of

T = TypeVar("T")
log = structlog.get_logger(__name__)


class Outbox:
    """The one way to call a method for a chat."""

    def __init__(self, bot: Bot, *, moved: Callable[[int, int], None], clock: Callable[[], float]) -> None:
        self.bot = bot
        self.takes_drafts = True
        """Until the server refuses one: it may be older than Bot API 9.3."""
        self._moved, self._clock = moved, clock
        self._homes: dict[int, int] = {}
        self._quiet_until: dict[int, float] = {}
        self._refusing: set[int] = set()

    async def ask(self, chat_id: int, call: Callable[[int], Awaitable[T]]) -> T:
        """Make a call for a chat; one for a group that became a supergroup is repeated once to its new id (T09).

        Raises:
            Wait: the chat asked us to wait, now or earlier; then nothing was sent (T07).
            TelegramError: whatever else the library says.
        """
        chat_id = self._homes.get(chat_id, chat_id)
        self._stay_quiet(chat_id)
        try:
            return await call(chat_id)
        except ChatMigrated as migrated:
            new_id = migrated.new_chat_id
        except RetryAfter as flood:
            self._quiet_until[chat_id] = self._clock() + seconds_of(flood)
            raise Wait(seconds_of(flood)) from flood
        if self.learn(chat_id, new_id):
            self._moved(chat_id, new_id)
        return await call(new_id)

    def learn(self, old_id: int, new_id: int) -> bool:
        """Send to the new id from now on; whether that is news (T23)."""
        is_news = self._homes.get(old_id) != new_id
        self._homes[old_id] = new_id
        return is_news

    def refused(self, chat_id: int, reason: str) -> None:
        """Log that a chat takes nothing from us, once until it does again (T21)."""
        if chat_id not in self._refusing:
            self._refusing.add(chat_id)
            log.warning("telegram.chat_refuses", chat=chat_id, reason=reason)

    def accepted(self, chat_id: int) -> None:
        """A chat took something."""
        self._refusing.discard(chat_id)

    def _stay_quiet(self, chat_id: int) -> None:
        until = self._quiet_until.get(chat_id)
        if until is None:
            return
        if (left := until - self._clock()) > 0:
            raise Wait(left)
        del self._quiet_until[chat_id]
