"""Familiar as its own process, started by its real command line, for scenarios on the wire."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
START_S = 30.0
"""How long a start may take on a busy machine."""
STOP_S = 15.0
LINE_BYTES = 1 << 20
"""The longest line of output; at debug level a record may hold a whole prompt."""


class BotProcess:
    """A running bot; its JSON log lines are kept."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[str] = []
        self._grown = asyncio.Event()
        self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.lines.append(line.decode().rstrip())
            self._grown.set()
        self._grown.set()

    @property
    def output(self) -> str:
        """Everything it has written so far."""
        return "\n".join(self.lines)

    def events(self, name: str) -> list[dict[str, Any]]:
        """The log records of one event."""
        records = [json.loads(line) for line in self.lines if line.startswith("{")]
        return [record for record in records if record.get("event") == name]

    async def logs(self, name: str, within: float = START_S, *, times: int = 1) -> dict[str, Any]:
        """Wait for a log record, until there are so many; returns the first one."""
        async with asyncio.timeout(within):
            while len(found := self.events(name)) < times:
                if self._reading.done():
                    raise AssertionError(f"the bot ended before that:\n{self.output}")
                self._grown.clear()
                await self._grown.wait()
        return found[0]

    async def until(self, work: Awaitable[T]) -> T:
        """The result of `work`, unless the bot ends before that."""
        working = asyncio.ensure_future(work)
        await asyncio.wait({working, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            working.cancel()
            raise AssertionError(f"the bot ended before that:\n{self.output}")
        return working.result()

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    async def ended(self, within: float = STOP_S) -> int:
        """Wait for its end and return the exit code."""
        code = await asyncio.wait_for(self._process.wait(), within)
        await self._reading
        return code

    async def stop(self) -> int:
        """SIGTERM, and its exit code."""
        self.signal(signal.SIGTERM)
        return await self.ended()

    async def kill(self) -> None:
        """SIGKILL: a crash."""
        self.signal(signal.SIGKILL)
        await self.ended()

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process.returncode is None


@asynccontextmanager
async def running_bot(
    folder: Path, settings: Mapping[str, str], *, arguments: tuple[str, ...] = ("run",), stdin: bytes | None = None
) -> AsyncIterator[BotProcess]:
    """Start `familiar run` (= `python -m bot run`) in a folder of its own; it is killed at the end if it still runs."""
    plain = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "SYSTEMROOT")}
    environment = {**plain, "PYTHONPATH": str(ROOT), "LOG_FORMAT": "json", "DATA_DIR": str(folder / "data"), **settings}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        *arguments,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=LINE_BYTES,
    )
    if stdin is not None:
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
    bot = BotProcess(process)
    try:
        yield bot
    finally:
        if bot.is_running:
            await bot.kill()
