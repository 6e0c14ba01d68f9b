"""Servers of tools that run in a test, what is logged of them, and waiting for it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

from bot.settings import McpSettings
from bot.tasks import Tasks
from bot.testing import make_turn
from bot.tools.mcp.server import McpServer
from bot.tools.tool import Tool

HERE = Path(__file__).parent
PATIENCE_SECONDS = 20.0
"""How long a server may take to start on a busy machine."""


class Journal:
    """A processor of structlog that keeps all records."""

    def __init__(self) -> None:
        self.records: list[EventDict] = []
        self._grown = asyncio.Event()

    def __call__(self, _logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        self.records.append({**event, "level": method})
        self._grown.set()
        raise structlog.DropEvent

    def of(self, name: str) -> list[EventDict]:
        """The records of one event."""
        return [record for record in self.records if record["event"] == name]

    async def until(self, name: str, times: int = 1) -> EventDict:
        """Wait until something is told so often; returns its last record."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while len(found := self.of(name)) < times:
                    self._grown.clear()
                    await self._grown.wait()
        except TimeoutError:
            raise AssertionError(f"{name} was not told {times} times: {self.records}") from None
        return found[times - 1]


@contextmanager
def journal() -> Iterator[Journal]:
    """All that is logged inside."""
    kept, before = Journal(), structlog.get_config()
    structlog.configure(processors=[kept], cache_logger_on_first_use=False)
    try:
        yield kept
    finally:
        structlog.configure(**before)


def plain(timeout: float = PATIENCE_SECONDS, group: str = "", **plan: Any) -> McpSettings:
    """The server of `plain.py`, as odd as the plan says."""
    return McpSettings(
        command=sys.executable,
        args=(str(HERE / "plain.py"),),
        env={"PLAN": json.dumps(plan)},  # type: ignore[dict-item]  # pydantic makes secrets of texts
        timeout=timedelta(seconds=timeout),
        group=group,
    )


def by_sdk(timeout: float = PATIENCE_SECONDS, **env: str) -> McpSettings:
    """The server of `sdk.py`, over its pipes."""
    return McpSettings(
        command=sys.executable,
        args=(str(HERE / "sdk.py"), "stdio"),
        env=env,  # type: ignore[arg-type]  # pydantic makes secrets of texts
        timeout=timedelta(seconds=timeout),
    )


class HttpServer:
    """The server of `sdk.py`, over HTTP."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process, self.port = process, port

    def settings(self, timeout: float = PATIENCE_SECONDS, **headers: str) -> McpSettings:
        """How to reach it."""
        return McpSettings(
            url=f"http://127.0.0.1:{self.port}/mcp",
            headers=headers,  # type: ignore[arg-type]  # pydantic makes secrets of texts
            timeout=timedelta(seconds=timeout),
        )

    async def kill(self) -> None:
        """End it at once."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def over_http(port: int = 0, **env: str) -> AsyncIterator[HttpServer]:
    """It runs inside."""
    words = [sys.executable, str(HERE / "sdk.py"), "http", str(port)]
    process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE, env=env)
    assert process.stdout is not None
    served = HttpServer(process, int(await asyncio.wait_for(process.stdout.readline(), PATIENCE_SECONDS)))
    try:
        yield served
    finally:
        await served.kill()


class Lab:
    """One server that is kept connected."""

    def __init__(self, server: McpServer, told: Journal) -> None:
        self.server, self.told = server, told
        self.pauses: list[float] = []
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    def tool(self, name: str) -> Tool:
        """A tool by the server's own name for it, as it is offered."""
        return next(tool for tool in self.server.tools if tool.spec.name == f"lab__{name}")

    async def call(self, name: str, **arguments: Any) -> str:
        """What it says."""
        return await self.tool(name).run(make_turn(), arguments)


@asynccontextmanager
async def kept_connected(settings: McpSettings, *, is_up: bool = True) -> AsyncIterator[Lab]:
    """A server named `lab`, connected unless it is not to be waited for; pauses are kept, and last until it goes on."""
    tasks = Tasks()
    with journal() as told:

        async def pause(seconds: float) -> None:
            lab.pauses.append(seconds)
            await lab.goes_on.wait()

        lab = Lab(McpServer("lab", settings, pause=pause), told)
        tasks.spawn("mcp lab", lab.server.run())
        try:
            if is_up:
                await told.until("mcp.connected")
            yield lab
        finally:
            await tasks.close()
