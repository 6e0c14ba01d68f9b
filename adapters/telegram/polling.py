"""Fetches updates by long poll. Each poll confirms what the one before it brought."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from telegram.error import TelegramError

from adapters.telegram.faults import insist
from adapters.telegram.options import BackOff
from adapters.telegram.request import TelegramRequest

ALLOWED_UPDATES = ["message", "edited_message", "callback_query"]
READ_MARGIN_S = 10.0
"""How much longer than the poll itself we wait for its answer."""
CONFIRM_S = 3.0
"""How long the confirmation may take when we stop."""


class Poller:
    """Hands raw updates to `take`, which must not raise: one that it cannot read is confirmed like the others."""

    def __init__(
        self,
        request: TelegramRequest,
        take: Callable[[dict[str, Any]], None],
        *,
        timeout: timedelta,
        back_off: BackOff,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._request, self._take = request, take
        self._timeout_s, self._back_off, self._sleep = int(timeout.total_seconds()), back_off, sleep
        self._offset = 0

    async def run(self) -> None:
        """Poll until cancelled.

        Raises:
            TelegramError: the server refuses for good (a revoked token).
        """
        while True:
            updates = await insist(self._poll, back_off=self._back_off, sleep=self._sleep)
            for update in updates:
                self._offset = max(self._offset, update["update_id"] + 1)
                self._take(update)

    async def confirm(self) -> None:
        """Tell the server what was taken, so that the next start does not get it again."""
        if self._offset:
            with contextlib.suppress(TelegramError):
                parameters = {"offset": self._offset, "limit": 1, "timeout": 0}
                await self._request.call("getUpdates", parameters, read_timeout=CONFIRM_S)

    async def _poll(self) -> list[dict[str, Any]]:
        updates: list[dict[str, Any]] = await self._request.call(
            "getUpdates",
            {"offset": self._offset, "timeout": self._timeout_s, "allowed_updates": ALLOWED_UPDATES},
            read_timeout=self._timeout_s + READ_MARGIN_S,
        )
        return updates
