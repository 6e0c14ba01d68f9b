"""Keeps connected to servers of tools, and has their tools as ours. One that crashes or hangs costs its tools, never a
start or a turn (K03).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import structlog

from bot.llm.model import ToolSpec
from bot.settings import McpSettings
from bot.tasks import Tasks
from bot.tools.mcp.health import ServerHealth
from bot.tools.mcp.names import offered_names
from bot.tools.mcp.schema import fit_schema
from bot.tools.tool import PROGRESS, Tool, ToolError
from bot.turn import Turn

if TYPE_CHECKING:
    from mcp.types import Tool as Listed

    from bot.tools.mcp.connection import Connection

log = structlog.get_logger(__name__)

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
"""Between attempts to connect, doubled each time: a server that is started again is back soon, one that is gone costs
little. Ours to choose.
"""

STEADY_SECONDS = 60.0
"""Who was connected for so long is tried again at once, as nothing tells that it would fail. Ours to choose."""

MOST_TOOLS = 100
"""Of one server; OpenAI takes 128 in one request (API reference, tools)."""

MOST_DESCRIBED = 1024
"""Characters of a tool's description, which OpenAI refuses to take more of."""

SPARE_SECONDS = 5.0
"""Our own limit comes after the connection's, which can say more; ours to choose."""

MASK = "***"

CLUES = 3
"""Lines of what a server said last; ours to choose."""


class McpServer:
    """`run` keeps its connection until it is cancelled."""

    def __init__(
        self, name: str, settings: McpSettings, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self.name, self._settings, self._pause = name, settings, pause
        self._connection: Connection | None = None
        self._problem = ""  # nothing was tried yet
        self._clues: deque[str] = deque(maxlen=CLUES)
        self.tools: tuple[Tool, ...] = ()

    @property
    def health(self) -> ServerHealth:
        """How it is doing."""
        return ServerHealth(
            name=self.name,
            group=self._group,
            is_connected=self._connection is not None,
            tools=tuple(tool.spec.name for tool in self.tools),
            problem="" if self._connection is not None else self._problem,
        )

    @property
    def _group(self) -> str:
        return self._settings.group or self.name

    async def run(self) -> None:
        """Connect, again and again; its tools stay while it connects once more, and go when that fails."""
        now, pause = asyncio.get_running_loop().time, FIRST_PAUSE_SECONDS
        while True:
            began = now()
            was_connected = await self.connect_once()
            if not was_connected:
                self.tools = ()
            if was_connected and now() - began >= STEADY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
                continue
            await self._pause(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def connect_once(self, *, until: Callable[[], Awaitable[None]] | None = None) -> bool:
        """Connect and stay so until that is lost, or until something else is over; returns whether it was connected.
        What went wrong is in `health`.
        """
        self._clues.clear()
        was_connected = False
        try:
            sdk = await asyncio.to_thread(import_module, "bot.tools.mcp.connection")
            async with sdk.connect(self.name, self._settings, self._clues) as connection:
                await self._take(connection)
                was_connected = True
                await (until() if until is not None else self._follow(connection))
        except Exception as error:
            me = asyncio.current_task()
            if me is not None and me.cancelling():  # some fault below us took the place of our cancellation
                raise asyncio.CancelledError from error
            # What it wrote once it was at work may tell what people said.
            self._problem = self._masked(_told(error, () if was_connected else self._clues))
            log.warning("mcp.lost" if was_connected else "mcp.failed", server=self.name, problem=self._problem)
        finally:
            self._connection = None
        return was_connected

    def _masked(self, told: str) -> str:
        """What may be told of a fault: libraries and programs repeat what they were given (X01)."""
        for secret in sorted(self._settings.secrets, key=len, reverse=True):
            told = told.replace(secret, MASK).replace(repr(secret)[1:-1], MASK)
        return told

    async def _follow(self, connection: Connection) -> None:
        while True:
            await connection.wait_for_change()
            await self._take(connection)

    async def _take(self, connection: Connection) -> None:
        listed = await connection.list_tools()
        if len(listed) > MOST_TOOLS:
            log.warning("mcp.too_many_tools", server=self.name, tools=len(listed), most=MOST_TOOLS)
        taken = {tool.name: tool for tool in listed[:MOST_TOOLS]}
        names = offered_names(self.name, taken)
        self.tools = tuple(self._as_ours(tool, names) for tool in taken.values())
        self._connection = connection
        log.info("mcp.connected", server=self.name, tools=len(self.tools))

    def _as_ours(self, listed: Listed, names: Mapping[str, str]) -> Tool:
        return Tool(
            spec=ToolSpec(
                name=names[listed.name],
                description=(listed.description or listed.title or listed.name)[:MOST_DESCRIBED],
                parameters=fit_schema(listed.input_schema),
            ),
            run=partial(self._call, listed.name),
            group=self._group,
            progress=PROGRESS,
            asks=self._asks(listed),
            seconds=self._settings.timeout.total_seconds() + SPARE_SECONDS,
        )

    def _asks(self, listed: Listed) -> bool:
        """Most servers mark nothing, although by the protocol what is not marked may destroy; asking each time is the
        operator's to choose.
        """
        if self._settings.asks != "marked":
            return self._settings.asks == "always"
        says = listed.annotations
        return says is not None and says.destructive_hint is True

    async def _call(self, tool: str, _turn: Turn, arguments: Mapping[str, Any]) -> str:
        """Raises `ToolError`."""
        if self._connection is None:
            raise ToolError(f"{self.name} is not connected now. Go on without it.")
        return await self._connection.call(tool, arguments)


def _told(error: BaseException, clues: Sequence[str]) -> str:
    """What went wrong, for the operator: the first fault of a group, and what the server said last."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case FileNotFoundError():
            said = f"there is no program {error.filename!r}" if error.filename else str(error)
        case TimeoutError():
            said = "it does not answer"
        case PermissionError():
            said = f"its program may not be run: {error.filename or error.strerror}"
        case OSError():
            said = error.strerror or str(error)
        case ValueError():
            said = "it says what is not of the protocol"
        case _:
            said = _PLAINLY.get(str(error), str(error)) or "the connection has ended"
    return ": ".join(filter(None, (" ".join(said.split()), " · ".join(clues))))


_PLAINLY = {
    "Connection closed": "it has ended",
    "All connection attempts failed": "nothing answers at its address",
    "Method not found": "it speaks no MCP",  # not even how a connection begins
}
"""What libraries say in words of their own."""


class McpServers:
    """All that are configured."""

    def __init__(self, settings: Mapping[str, McpSettings]) -> None:
        self.servers = tuple(McpServer(name, one) for name, one in settings.items())

    def tools(self) -> Sequence[Tool]:
        """Those of all servers, as they are now."""
        return [tool for server in self.servers for tool in server.tools]

    def start(self, tasks: Tasks) -> None:
        """Connect in the background."""
        for server in self.servers:
            tasks.spawn(f"mcp {server.name}", server.run())

    def health(self) -> Sequence[ServerHealth]:
        """How each is doing."""
        return [server.health for server in self.servers]
