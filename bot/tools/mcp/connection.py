"""One connection to a server of tools, by the official SDK, over the pipes of a program or over HTTP.

Importing it takes a second and 29 MB, so that only who connects does so. Knows no model and no turn.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client._transport import TransportStreams
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT, Tool, ToolListChangedNotification

from bot.settings import McpSettings
from bot.tools.mcp.results import shortened, text_of
from bot.tools.mcp.stderr import error_output
from bot.tools.tool import ToolError

logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it would tell what servers say; what matters we tell ourselves

MOST_PAGES = 20
"""Of a list of tools: a server that never ends it must not keep us; ours to choose."""

LISTEN_AGAIN_SECONDS = 5.0
"""From a server's goodbye to asking it once more to tell of changes; ours to choose."""

CONNECT_SECONDS = 30.0
"""Until an address takes a connection, and until what we send is taken (the SDK's own limits)."""

SILENCE_SECONDS = 300.0
"""A stream that is silent for so long is opened anew (the SDK's own limit)."""

MOST_ERROR_CHARS = 2000
"""Of what a server says of a failure; ours to choose."""


class Lost(Exception):
    """The connection has ended."""


class Connection:
    """A server that has answered."""

    def __init__(self, name: str, timeout: float, clues: deque[str]) -> None:
        self._name, self._timeout, self._clues = name, timeout, clues
        self._news = asyncio.Event()
        self._has_ended = self._was_refused = False
        self._client: Client | None = None

    def begin(self, client: Client) -> None:
        """Speak through a client that is connected; how that came about tells nothing of what fails later."""
        self._client, self._was_refused = client, False
        self._clues.clear()

    def refuse(self, status: int) -> None:
        """The address has refused a request."""
        self._was_refused = True
        self._clues.append(f"HTTP {status}")

    def change(self) -> None:
        """The server has other tools now."""
        self._news.set()

    def end(self) -> None:
        """Nothing more will come."""
        self._has_ended = True
        self._news.set()

    async def wait_for_change(self) -> None:
        """Until the server has other tools.

        Raises:
            Lost: there is no connection any more.
        """
        await self._news.wait()
        self._news.clear()
        if self._has_ended:
            raise Lost

    async def list_tools(self) -> Sequence[Tool]:
        """All that the server has now."""
        assert self._client is not None
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            found += page.tools
            if (cursor := page.next_cursor) is None:
                break
        return found

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What a tool says, by the server's own name for it. Whoever stops waiting cancels the call there, too.

        Raises:
            ToolError: the tool or the server failed, in words for the model.
        """
        assert self._client is not None
        try:
            result = await self._client.call_tool(tool, dict(arguments))
        except MCPError as error:
            raise ToolError(self._failure(error)) from error
        except (httpx2.HTTPError, RuntimeError, ValueError, OSError) as error:
            self.end()
            raise ToolError(f"the answer of {self._name} could not be read. Go on without it.") from error
        text = text_of(result)
        if result.is_error:
            raise ToolError(shortened(text, MOST_ERROR_CHARS) or "the tool failed and did not say why.")
        return text

    def _failure(self, error: MCPError) -> str:
        if error.code == REQUEST_TIMEOUT:
            return f"{self._name} did not answer within {self._timeout:g} seconds. Go on without it."
        if error.code == CONNECTION_CLOSED or self._was_refused:
            self.end()
            return f"{self._name} is not connected now. Go on without it."
        return shortened(error.message, MOST_ERROR_CHARS)

    async def listen(self) -> None:
        """Ask to hear of changes, as it takes since protocol 2026-07-28; older servers tell of them unasked."""
        assert self._client is not None
        while True:
            try:
                async with self._client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self.change()
            except SubscriptionLost:
                self.end()
                return
            except (ListenNotSupportedError, MCPError, TimeoutError):
                return  # it tells of changes unasked, or never
            await asyncio.sleep(LISTEN_AGAIN_SECONDS)
            self.change()  # what was changed meanwhile


@asynccontextmanager
async def connect(name: str, settings: McpSettings, clues: deque[str]) -> AsyncIterator[Connection]:
    """Start a server's program, or reach its address, and agree on a protocol; both ends with the context. `clues` are
    filled with what tells why that may have failed: what the program wrote, how the address refused.

    Raises:
        Exception: it failed, or the connection was lost later; the SDK names nothing, and groups some.
    """
    timeout = settings.timeout.total_seconds()
    connection = Connection(name, timeout, clues)

    is_program = settings.command is not None
    opened = _opened_program(name, settings, clues) if is_program else _opened_address(settings, connection)
    limit = anyio.fail_after(2 * timeout)  # once for each of the SDK's two ways to begin
    with limit as until:
        async with opened as (read, write), _client(connection, read, write, timeout) as client:
            until.deadline = math.inf
            connection.begin(client)
            async with anyio.create_task_group() as group:
                group.start_soon(connection.listen)
                yield connection
                group.cancel_scope.cancel()


def _client(connection: Connection, read: Any, write: Any, timeout: float) -> Client:
    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            connection.change()

    observed = _as_transport(_Observed(read, connection.end), write)
    return Client(observed, read_timeout_seconds=timeout, message_handler=hear, cache=None)


@asynccontextmanager
async def _opened_program(name: str, settings: McpSettings, clues: deque[str]) -> AsyncIterator[TransportStreams]:
    assert settings.command is not None
    program = StdioServerParameters(command=settings.command, args=list(settings.args), env=settings.environment)
    async with error_output(name, clues) as errors, stdio_client(program, errors) as streams:
        yield streams


@asynccontextmanager
async def _opened_address(settings: McpSettings, connection: Connection) -> AsyncIterator[TransportStreams]:
    assert settings.url is not None

    async def note(response: httpx2.Response) -> None:
        if response.request.method == "POST" and (response.status_code in _REFUSALS or response.is_server_error):
            connection.refuse(response.status_code)

    times = httpx2.Timeout(CONNECT_SECONDS, read=SILENCE_SECONDS)
    hooks = {"response": [note]}
    async with (
        httpx2.AsyncClient(headers=settings.sent_headers, timeout=times, event_hooks=hooks) as sender,
        streamable_http_client(settings.url, http_client=sender) as streams,
    ):
        yield streams


_REFUSALS = (401, 403, 404)
"""Of requests that a server took before: it has forgotten us, or lets us in no longer."""


@asynccontextmanager
async def _as_transport(*streams: Any) -> AsyncIterator[Any]:
    yield streams


class _Observed:
    """A stream of the SDK that tells when nothing more will come: its session would keep that to itself."""

    def __init__(self, stream: Any, end: Callable[[], None]) -> None:
        self._stream, self._end = stream, end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Observed:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        ended: bool | None = await self._stream.__aexit__(*error)
        return ended

    def __aiter__(self) -> _Observed:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except Exception:
            self._end()
            raise
