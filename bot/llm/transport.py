"""Carries the SDK's requests over aiohttp: one session and one TLS context for the life of an endpoint.

Knows no model and no message. The SDK has such a transport, too, which loads a second HTTP stack for nothing but the
TLS context.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import httpx2

from bot.proxies import proxy_for

Response = httpx2.Response
"""What the SDK gives back unread where it is asked to."""

Undecodable = httpx2.DecodingError
"""An answer is not compressed as its headers say."""


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Requests to one endpoint, through the proxy that the environment names for it. Faults are those of aiohttp."""

    def __init__(self, address: str, *, connect_seconds: float, idle_seconds: float) -> None:
        """`idle_seconds` is how long a connection is kept for the next request."""
        self._proxy = proxy_for(address)
        self._connect_seconds, self._idle_seconds = connect_seconds, idle_seconds
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer as soon as its headers are there."""
        if self._session is None:
            self._session = self._open_session()
        answer = await self._session.request(
            request.method,
            str(request.url),
            headers=request.headers.multi_items(),
            data=await request.aread(),
            allow_redirects=False,  # the SDK's client follows them
            proxy=self._proxy,
        )
        return httpx2.Response(answer.status, headers=answer.raw_headers, stream=_Body(answer))

    async def aclose(self) -> None:
        """Release all connections."""
        session, self._session = self._session, None
        if session:
            await session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=self._idle_seconds),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # the SDK's client does it
        )


async def leave_out_bearer(request: httpx2.Request) -> None:
    """Take away the header that the SDK always puts the key into."""
    request.headers.pop("Authorization", None)


class _Body(httpx2.AsyncByteStream):
    """What follows the headers, as it arrives."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.content.iter_any():
            yield chunk

    async def aclose(self) -> None:
        self._answer.release()  # the connection is kept if all was read, and else closed
