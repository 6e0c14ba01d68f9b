"""From raw updates to delivered inbounds: in order within a chat, files fetched on the way, presses answered at once.

What an inbound looks like is `adapters.telegram.inbound`'s business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from telegram import CallbackQuery, Message, Update
from telegram.error import TelegramError

from adapters.telegram.files import Downloads
from adapters.telegram.inbound import migration, quoted_of, to_inbound, to_migration, to_press
from adapters.telegram.lanes import Lanes, Spawn
from adapters.telegram.outbox import Outbox
from adapters.telegram.reading import Me
from bot.chat import SLASHES, Deliver, Inbound, InboundKind, WantsFiles

log = structlog.get_logger(__name__)


class Hearing:
    """Takes what polling or the webhook brings."""

    def __init__(
        self,
        me: Me,
        deliver: Deliver,
        *,
        wants_files: WantsFiles,
        outbox: Outbox,
        downloads: Downloads,
        spawn: Spawn,
        album_quiet: timedelta,
    ) -> None:
        self._me, self._deliver, self._wants_files = me, deliver, wants_files
        self._outbox, self._downloads, self._spawn = outbox, downloads, spawn
        self._lanes = Lanes(self._hear, spawn=spawn, album_quiet=album_quiet)

    async def drain(self) -> None:
        """Wait until everything that was taken is delivered."""
        await self._lanes.drain()

    async def close(self) -> None:
        """Drop what is not delivered yet."""
        await self._lanes.close()

    def take(self, raw: dict[str, Any]) -> asyncio.Future[None]:
        """Put one update into its chat's lane. The future is done once it is delivered, so that it survives a crash of
        ours, and cancelled if it never will be. One that the library cannot read is passed over: it never will.
        """
        try:
            update = Update.de_json(raw, None)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            log.warning("telegram.update_unreadable", update=raw.get("update_id"), error=type(error).__name__)
        else:
            if update.message or update.edited_message or update.callback_query:
                return self._lanes.put(update)
        passed_over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        passed_over.set_result(None)
        return passed_over

    def on_moved(self, old_id: int, new_id: int) -> None:
        """A refused call told us of a migration, before its service messages did or without them (T23)."""
        inbound = migration(old_id, new_id, me=self._me, now=datetime.now(UTC))
        self._spawn("telegram.migration", self._hand_on(inbound))

    async def _hear(self, updates: Sequence[Update]) -> None:
        first = updates[0]
        if first.callback_query:
            inbound = await self._pressed(first.callback_query)
        elif first.edited_message:
            inbound = to_inbound([first.edited_message], self._me, kind=InboundKind.EDIT)
        else:
            inbound = await self._said([update.message for update in updates if update.message])
        if inbound:
            await self._hand_on(inbound)

    async def _hand_on(self, inbound: Inbound) -> None:
        await self._deliver(inbound)

    async def _pressed(self, query: CallbackQuery) -> Inbound | None:
        """The client shows a waiting sign until the press is answered; that we are late does no harm."""
        try:
            await self._outbox.bot.answer_callback_query(query.id)
        except TelegramError as error:
            log.info("telegram.press_not_answered", error=str(error))
        return to_press(query, now=datetime.now(UTC))

    async def _said(self, messages: Sequence[Message]) -> Inbound | None:
        if moved := to_migration(messages[0]):
            return moved if self._is_news(moved) else None
        inbound = to_inbound(messages, self._me)
        if inbound is None:
            return None
        if not await self._wants_files(inbound):
            is_command = inbound.text.startswith(SLASHES)
            return replace(inbound, attachments=self._downloads.offer(messages)) if is_command else inbound
        ours = inbound.reply_to is None or inbound.reply_to.is_mine  # what we said is known
        quoted = None if ours else quoted_of(messages[0])
        return replace(inbound, attachments=await self._downloads.fetch(messages, quoted))

    def _is_news(self, moved: Inbound) -> bool:
        """Both chats tell of a migration, in any order, and so may a refused call (T23)."""
        assert moved.migrated_to is not None
        return self._outbox.learn(int(moved.channel.place), int(moved.migrated_to.place))
