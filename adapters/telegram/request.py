"""Carries Bot API calls over one aiohttp session, for the life of the process.

The only place that knows the token: the library and its log see addresses without it, and it is cut out of every answer
and error on the way back (X01).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from telegram import Bot
from telegram.error import NetworkError, RetryAfter, TimedOut
from telegram.request import BaseRequest, RequestData

# The library builds its own calls from these; ours for updates needs the answer as plain JSON, which it does not offer.
from telegram.request._requestparameter import RequestParameter

from adapters.telegram.options import Timeouts
from bot.proxies import proxy_for

API_URL = "https://api.telegram.org/bot"
FILE_URL = "https://api.telegram.org/file/bot"
NO_TOKEN = "the-request-knows-it"  # noqa: S105 - what the library believes to be the token
API, FILES = "api:", "file:"
"""What stands in the library's addresses for `API_URL` + token and `FILE_URL` + token."""
CHUNK = 64 * 1024
"""Bytes read at once of a download."""
MAX_CONNECTIONS = 100
"""Enough that long poll, typing signs and sends of many chats never wait for each other."""


class NotDelivered(NetworkError):
    """The call was certainly not carried out: no connection, 502, 503. Sending it again is safe."""


class AnswerLost(TimedOut):
    """The call may or may not have been carried out: the answer never came or was none (T14, T24)."""


class TelegramRequest(BaseRequest):
    """The library's HTTP layer on aiohttp, whose session costs about half of httpx's CPU time per call."""

    def __init__(self, token: str, *, base_url: str | None, base_file_url: str | None, timeouts: Timeouts) -> None:
        self._addresses = {API: (base_url or API_URL) + token, FILES: (base_file_url or FILE_URL) + token}
        self._secret = token.partition(":")[2] or token
        self._timeouts = timeouts
        self._session: aiohttp.ClientSession | None = None

    def make_bot(self) -> Bot:
        """A `Bot` that talks through this request and does not know its token."""
        return Bot(
            NO_TOKEN,
            base_url=lambda _: API,
            base_file_url=lambda _: FILES,
            request=self,
            get_updates_request=self,
        )

    @property
    def read_timeout(self) -> float:
        """Seconds without a byte from the server after which an answer is given up."""
        return self._timeouts.read

    async def initialize(self) -> None:
        """Open the session; once is enough."""
        if self._session is None:
            # The session's own look at the environment costs two threads per call.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS),
                cookie_jar=aiohttp.DummyCookieJar(),
                proxy=proxy_for(self._addresses[API]),
            )

    async def shutdown(self) -> None:
        """Close the session; calls under way end with `NotDelivered` or `AnswerLost`."""
        session, self._session = self._session, None
        if session:
            await session.close()

    async def call(self, method: str, parameters: dict[str, Any], *, read_timeout: float) -> Any:
        """The result of a method as plain JSON.

        Raises:
            TelegramError: as every method of `Bot`.
        """
        data = RequestData([RequestParameter.from_input(name, value) for name, value in parameters.items()])
        return await self.post(f"{API}/{method}", data, read_timeout=read_timeout)

    async def do_request(  # type: ignore[override] # the library passes by name; other time-outs stay ours
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        **_timeouts: Any,
    ) -> tuple[int, bytes]:
        """One HTTP exchange. A status from 500 on, and anything that is no answer of the Bot API, is raised."""
        read = self._timeouts.read if read_timeout is BaseRequest.DEFAULT_NONE else read_timeout
        async with self._exchange(method, url, _body_of(request_data), read) as answer:
            status, body = answer.status, await answer.read()
        if status in {502, 503}:
            raise NotDelivered(f"the server answered {status}")
        if status >= 500 or (status < 300 and b'"result"' not in body):
            raise AnswerLost(f"the server answered {status} without a result")
        if not body.lstrip().startswith(b"{"):
            body = b"{}"  # a proxy's page
        if status == 429 and b"retry_after" not in body:
            raise RetryAfter(1)
        return status, body.replace(self._secret.encode(), b"***") if status >= 300 else body

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """As in the library, without writing the payload to the log."""
        try:
            parsed: dict[str, Any] = json.loads(payload)
        except ValueError:
            raise AnswerLost("the server's answer is no JSON") from None
        return parsed

    async def download(self, url: str, *, limit: int) -> bytes:
        """The first `limit` bytes of a file that `Bot.get_file` named; nothing beyond is read (X07).

        Raises:
            NetworkError: it could not be had.
        """
        if not url.startswith(FILES):
            raise NetworkError("the server keeps its files to itself")  # one that runs with --local
        data = bytearray()
        async with self._exchange("GET", url, {}, self._timeouts.read) as answer:
            if answer.status != 200:
                raise NetworkError(f"the file server answered {answer.status}")
            async for chunk in answer.content.iter_chunked(CHUNK):
                data += chunk
                if len(data) >= limit:
                    break
        return bytes(data[:limit])

    @asynccontextmanager
    async def _exchange(
        self, method: str, url: str, body: dict[str, Any], read_s: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            raise NotDelivered("the connection is closed")
        scheme, _, path = url.partition("/")
        address = f"{self._addresses[scheme]}/{path}"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeouts.connect, sock_read=read_s)
        # A redirect would carry the token elsewhere; a chained exception holds the address, and with it the token.
        try:
            async with self._session.request(method, address, timeout=timeout, allow_redirects=False, **body) as answer:
                yield answer
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            problem = f"{type(error).__name__}: {error}".replace(self._secret, "***")
            raise (NotDelivered if _was_never_sent(error) else AnswerLost)(problem) from None


def _was_never_sent(error: Exception) -> bool:
    """Whether aiohttp raised this before the request was written in full."""
    if isinstance(error.__cause__, aiohttp.ClientConnectionResetError):
        return True  # a kept connection that the server had closed
    return isinstance(
        error,
        aiohttp.ClientConnectorError
        | aiohttp.ConnectionTimeoutError
        | aiohttp.ClientHttpProxyError
        | aiohttp.InvalidURL,
    )


def _body_of(data: RequestData | None) -> dict[str, Any]:
    """JSON, which both sides read faster than a form, unless files are uploaded."""
    if data is None:
        return {}
    if not data.contains_files:
        return {"data": data.json_payload, "headers": {"Content-Type": "application/json"}}
    form = aiohttp.FormData(data.json_parameters)
    for name, (filename, content, media_type) in (data.multipart_data or {}).items():
        form.add_field(name, content, filename=filename, content_type=media_type)
    return {"data": form}
