"""Fetches updates by long poll. Each poll confirms what has been delivered, so that a crash loses nothing (T19)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

from telegram.error import TelegramError

from adapters.telegram.faults import insist
from adapters.telegram.options import BackOff
from adapters.telegram.request import TelegramRequest

ALLOWED_UPDATES = ["message", "edited_message", "callback_query"]
READ_MARGIN_S = 10.0
"""How much longer than the poll itself we wait for its answer."""
CONFIRM_S = 1.0
"""How long the confirmation may take when we stop."""
UNDER_WAY = BackOff(first=timedelta(milliseconds=50), longest=timedelta(seconds=0.5))
"""Pauses between polls while something is being delivered, which each poll brings again at once."""


class Poller:
    """Hands raw updates to `take`, which must not raise: one that it cannot read is confirmed like the others."""

    def __init__(
        self,
        request: TelegramRequest,
        take: Callable[[dict[str, Any]], asyncio.Future[None]],
        *,
        timeout: timedelta,
        back_off: BackOff,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._request, self._take = request, take
        self._timeout_s, self._back_off, self._sleep = int(timeout.total_seconds()), back_off, sleep
        self._taken: dict[int, asyncio.Future[None]] = {}  # what the newest poll brought
        self._next = 0

    async def run(self) -> None:
        """Poll until cancelled.

        Raises:
            TelegramError: the server refuses for good (a revoked token).
        """
        pauses = UNDER_WAY.waits()
        while True:
            updates = await insist(self._poll, back_off=self._back_off, sleep=self._sleep)
            if self._take_new(updates):
                pauses = UNDER_WAY.waits()
            if under_way := [handled for handled in self._taken.values() if not handled.done()]:
                await asyncio.wait(under_way, timeout=next(pauses))

    async def confirm(self) -> None:
        """Tell the server what was delivered, so that the next start does not get it again."""
        if offset := self._offset:
            with contextlib.suppress(TelegramError, TimeoutError):
                async with asyncio.timeout(CONFIRM_S):
                    parameters = {"offset": offset, "limit": 1, "timeout": 0}
                    await self._request.call("getUpdates", parameters, read_timeout=CONFIRM_S)

    def _take_new(self, updates: Sequence[dict[str, Any]]) -> bool:
        """Take what no earlier poll has brought; whether there was any."""
        known, self._taken = self._taken, {}
        for update in updates:
            update_id = update["update_id"]
            self._taken[update_id] = known[update_id] if update_id in known else self._take(update)
            self._next = update_id + 1
        return not self._taken.keys() <= known.keys()

    @property
    def _offset(self) -> int:
        """The lowest update that is not delivered; everything below is confirmed."""
        missing = (key for key, handled in self._taken.items() if handled.cancelled() or not handled.done())
        return min(missing, default=self._next)

    async def _poll(self) -> list[dict[str, Any]]:
        updates: list[dict[str, Any]] = await self._request.call(
            "getUpdates",
            {"offset": self._offset, "timeout": self._timeout_s, "allowed_updates": ALLOWED_UPDATES},
            read_timeout=self._timeout_s + READ_MARGIN_S,
        )
        return updates
