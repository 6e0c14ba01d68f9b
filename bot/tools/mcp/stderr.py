"""What the program of a server writes to its error output, which tells why it ended. Knows no protocol."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TextIO

import structlog

log = structlog.get_logger(__name__)

MOST_CHARS = 300
"""Of one line; ours to choose."""


def _leads_there(line: str) -> bool:
    """Whether a line tells by what way a fault came about: frames of Python and Node are set in, the fault is not."""
    return line.startswith((" ", "\t", "Traceback (most recent call last)"))


class _Lines(asyncio.Protocol):
    def __init__(self, server: str, newest: deque[str]) -> None:
        self._server, self._newest, self._begun = server, newest, b""

    def data_received(self, data: bytes) -> None:
        *whole, self._begun = (self._begun + data).split(b"\n")
        self._begun = self._begun[-MOST_CHARS:]
        for line in whole:
            said = line.decode(errors="replace")
            if text := said.strip()[:MOST_CHARS]:
                if not _leads_there(said):
                    self._newest.append(text)
                log.debug("mcp.wrote", server=self._server, line=text)


@asynccontextmanager
async def error_output(server: str, newest: deque[str]) -> AsyncIterator[TextIO]:
    """A file for the program to write to; its newest lines are added as they come."""
    lines = _Lines(server, newest)
    read, write = os.pipe()
    with os.fdopen(write, "w") as file:
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: lines, os.fdopen(read, "rb", buffering=0))
        try:
            yield file
        finally:
            pipe.close()
