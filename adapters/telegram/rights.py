"""Who may change things for a whole chat, by Telegram's own rights. Knows nothing of commands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import structlog
from telegram import ChatMember
from telegram.error import TelegramError

from adapters.pacing import Wait
from adapters.telegram.outbox import Outbox
from adapters.telegram.people import STAND_INS
from bot.chat import ChannelRef

log = structlog.get_logger(__name__)

ADMINISTRATORS = frozenset({ChatMember.OWNER, ChatMember.ADMINISTRATOR})
REMEMBERED = 1_000
"""How many answers are kept in mind, the latest."""


class Rights:
    """Asks the server for somebody's status in a chat, and believes the answer for a while."""

    def __init__(self, outbox: Outbox, *, ttl: timedelta, clock: Callable[[], float]) -> None:
        self._outbox, self._ttl_s, self._clock = outbox, ttl.total_seconds(), clock
        self._known: dict[tuple[str, str], tuple[bool, float]] = {}

    async def may_manage(self, channel: ChannelRef, user_id: str) -> bool:
        """Whether this identity is an administrator of the chat; `False` too where the server does not tell us.

        Whoever speaks in the chat's own name is one, anonymously; the accounts that stand in for chats are not (T11).
        """
        if channel.is_dm or user_id == channel.place:
            return True
        if user_id in STAND_INS or not user_id.isdecimal():
            return False
        key = (channel.place, user_id)
        answer, until = self._known.get(key, (False, 0.0))
        if self._clock() < until:
            return answer
        return await self._ask(key)

    async def _ask(self, key: tuple[str, str]) -> bool:
        place, user_id = key
        try:
            member = await self._outbox.ask(
                int(place), lambda chat_id: self._outbox.bot.get_chat_member(chat_id, int(user_id))
            )
        except (TelegramError, Wait) as error:
            log.warning("telegram.rights_unknown", chat=place, error=str(error))
            return False
        answer = member.status in ADMINISTRATORS
        self._known.pop(key, None)
        self._known[key] = (answer, self._clock() + self._ttl_s)
        if len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        return answer
