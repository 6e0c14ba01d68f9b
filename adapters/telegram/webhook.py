"""Takes updates that Telegram pushes to an address of ours. Knows nothing of what is in them."""

from __future__ import annotations

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


class WebhookServer:
    """A server with one route. Answers at once: updates are handled afterwards, in their chat's order."""

    def __init__(self, options: WebhookOptions, take: Callable[[dict[str, Any]], None]) -> None:
        self._options, self._take = options, take
        self.secret_token = options.secret_token or secrets.token_urlsafe(32)
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the address is taken or not ours.
        """
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_post(self._options.path or urlsplit(self._options.url).path or "/", self._receive)
        self._runner = web.AppRunner(app, access_log=None)
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
        self._take(update)
        return web.Response()
