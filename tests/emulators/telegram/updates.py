"""The queue of updates and its two ways out: long poll with one poller at a time, and the webhook."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.emulators.telegram.errors import ApiError

DEFAULT_UPDATES = frozenset(
    {
        "message",
        "edited_message",
        "channel_post",
        "edited_channel_post",
        "callback_query",
        "inline_query",
        "my_chat_member",
        "poll",
        "poll_answer",
        "business_message",
    }
)
"""What a bot gets that never named `allowed_updates` (reactions and chat members are off)."""
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
POLLING_WITH_WEBHOOK = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)
SECOND_POLLER = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


class Signal:
    """Wakes everybody who waits for a change."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        """Something changed."""
        self._event.set()
        self._event = asyncio.Event()

    def changed(self) -> asyncio.Event:
        """Set at the next change after this call."""
        return self._event


@dataclass(kw_only=True, slots=True)
class Webhook:
    """Where updates are pushed, and how that went."""

    url: str
    secret: str
    statuses: list[int] = field(default_factory=list)
    last_error: str = ""


class UpdateQueue:
    """Updates wait here until they are confirmed by an offset or by the webhook's 2xx."""

    def __init__(self, *, retry_s: float = 0.05) -> None:
        self.pending: list[dict[str, Any]] = []
        self.allowed = set(DEFAULT_UPDATES)
        self.webhook: Webhook | None = None
        self.signal = Signal()
        self.waiting = 0
        """Long polls that wait for an update right now."""
        self._ids = itertools.count(100_001)
        self._polls = 0
        self._retry_s = retry_s
        self._pusher: asyncio.Task[None] | None = None

    def push(self, kind: str, payload: dict[str, Any]) -> dict[str, Any] | None:
        """Queue an update if the bot wants its kind."""
        if kind not in self.allowed:
            return None
        update = {"update_id": next(self._ids), kind: copy.deepcopy(payload)}
        self.pending.append(update)
        self.signal.notify()
        return update

    def inject(self, update: dict[str, Any]) -> None:
        """Queue an update as it is, wanted or not; it gets its id here."""
        self.pending.append({"update_id": next(self._ids), **update})
        self.signal.notify()

    async def poll(self, *, offset: int, limit: int, timeout_s: float) -> list[dict[str, Any]]:
        """`getUpdates`: confirms below `offset`, wakes early, gives way to a later poller."""
        if self.webhook:
            raise ApiError(409, POLLING_WITH_WEBHOOK)
        if offset > 0:
            self.pending = [update for update in self.pending if update["update_id"] >= offset]
        elif offset < 0:
            self.pending = self.pending[offset:]
        self._polls += 1
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._wait_for_update(self._polls)
        return self.pending[:limit]

    async def _wait_for_update(self, mine: int) -> None:
        self.waiting += 1
        self.signal.notify()
        try:
            while not self.pending:
                await self.signal.changed().wait()
                if mine != self._polls:
                    raise ApiError(409, SECOND_POLLER)
        finally:
            self.waiting -= 1

    def start_webhook(self, webhook: Webhook) -> None:
        """Push everything to `webhook` from now on."""
        self.webhook = webhook
        self._polls += 1
        self.signal.notify()
        if self._pusher is None:
            self._pusher = asyncio.create_task(self._push_all())

    async def close(self) -> None:
        """Let pollers go and stop pushing."""
        self._polls += 1
        self.signal.notify()
        if self._pusher:
            self._pusher.cancel()
            await asyncio.wait([self._pusher])

    async def _push_all(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                changed = self.signal.changed()
                if not (self.webhook and self.pending):
                    await changed.wait()
                elif not await self._pushed(session, self.webhook, self.pending[0]):
                    await asyncio.sleep(self._retry_s)

    async def _pushed(self, session: aiohttp.ClientSession, webhook: Webhook, update: dict[str, Any]) -> bool:
        headers = {SECRET_HEADER: webhook.secret} if webhook.secret else {}
        try:
            async with session.post(webhook.url, json=update, headers=headers) as answer:
                webhook.statuses.append(answer.status)
                accepted = 200 <= answer.status < 300
                webhook.last_error = "" if accepted else f"Wrong response from the webhook: {answer.status}"
        except aiohttp.ClientError:
            accepted, webhook.last_error = False, "Connection refused"
        if accepted and update in self.pending:
            self.pending.remove(update)
        self.signal.notify()
        return accepted
