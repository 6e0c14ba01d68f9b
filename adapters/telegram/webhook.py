"""Takes updates that Telegram pushes to an address of ours. Knows nothing of what is in them."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from adapters.telegram.options import WebhookOptions

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name
MAX_BODY = 1024 * 1024
"""Bytes; real updates have a few thousand."""
DELIVER_S = 45.0
"""How long an update may take to be delivered, files included; Telegram itself gives up after a minute."""
CLOSE_S = 1.0
"""How long updates that are under way keep the server open when we stop."""


class WebhookServer:
    """A server with one route. Answers once the update is delivered: what is answered never comes again (T19).

    Until then Telegram sends nothing more of that chat. So each part of an album is answered at once, or the others
    would not come: an album under way can be lost by a crash.
    """

    def __init__(self, options: WebhookOptions, take: Callable[[dict[str, Any]], asyncio.Future[None]]) -> None:
        self._options, self._take = options, take
        self._under_way: dict[object, asyncio.Future[None]] = {}
        self.secret_token = options.secret_token or secrets.token_urlsafe(32)
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the address is taken or not ours.
        """
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_post(self._options.path or urlsplit(self._options.url).path or "/", self._receive)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLOSE_S)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._options.listen, self._options.port).start()

    async def stop(self) -> None:
        """Stop listening; Telegram keeps what comes meanwhile."""
        runner, self._runner = self._runner, None
        if runner:
            await runner.cleanup()

    async def _receive(self, request: web.Request) -> web.Response:
        given = request.headers.get(SECRET_HEADER, "")
        if not hmac.compare_digest(given.encode(), self.secret_token.encode()):
            return web.Response(status=403)
        try:
            update = json.loads(await request.read())
        except ValueError:
            return web.Response(status=400)
        if not isinstance(update, dict):
            return web.Response(status=400)
        is_delivered = await self._deliver(update)
        return web.Response(status=200 if is_delivered else 503)

    async def _deliver(self, update: dict[str, Any]) -> bool:
        """Whether the update was delivered in time; one that is pushed again meanwhile is not taken twice."""
        key = update.get("update_id")
        handled = self._under_way.get(key) or self._take(update)
        if _is_part_of_album(update):
            return True
        self._under_way[key] = handled
        await asyncio.wait([handled], timeout=DELIVER_S)
        if handled.done():
            self._under_way.pop(key, None)
        return handled.done() and not handled.cancelled()


def _is_part_of_album(update: dict[str, Any]) -> bool:
    message = update.get("message")
    return isinstance(message, dict) and "media_group_id" in message
