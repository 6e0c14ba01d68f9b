"""Answers as plain text on a pipe or file, one after the other, and lines from one."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import threading
from collections.abc import Iterator
from typing import TextIO

from adapters.console.plain import sure_part, to_plain
from bot.chat import Outbound


class Paper:
    """A `Surface` that only ever appends. What it writes is plain text, fit for another program."""

    def __init__(self, stdin: TextIO, stdout: TextIO) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._reader: threading.Thread | None = None
        self._written: dict[object, str] = {}
        self._unfinished: object = None  # whose text ends the paper without a line break

    async def read_line(self) -> str | None:
        """The next line of the input; `None` at its end."""
        if self._reader is None:
            loop = asyncio.get_running_loop()
            self._reader = threading.Thread(target=self._read, args=(loop,), name="console input", daemon=True)
            self._reader.start()
        return await self._lines.get()

    def begin(self, reply: object) -> None:
        """Nothing to show."""

    async def grow(self, reply: object, text: str) -> None:
        """Append what is new and sure to stay."""
        text, written = to_plain(sure_part(text)), self._written.get(reply, "")
        if text.startswith(written):
            self._append(reply, text[len(written) :])
            self._written[reply] = text

    async def show(self, reply: object, outbound: Outbound) -> None:
        """Append the rest, or the whole text on a new line when it differs from what stands there."""
        text, written = to_plain(outbound.text), self._written.pop(reply, "")
        if not text.startswith(written.rstrip()):
            self._end_line()
            written = ""
        self._append(reply, text[len(written) :])
        self._end_line()
        for button in (button for row in outbound.buttons for button in row):
            self._append(reply, f"  /{button.command}  {button.label}\n")
        self._unfinished = None

    async def tell(self, text: str) -> None:
        """Append it."""
        self._end_line()
        self._stdout.write(f"{text}\n")
        self._stdout.flush()

    def forget_lines(self) -> None:
        """None is kept."""

    def drop(self, reply: object) -> None:
        """End its line."""
        self._written.pop(reply, None)
        if self._unfinished is reply:
            self._end_line()

    def end(self) -> None:
        """Give up the lines that were not taken yet."""
        while not self._lines.empty():
            self._lines.get_nowait()
        self._lines.put_nowait(None)

    def _append(self, reply: object, text: str) -> None:
        if self._unfinished is not reply:
            self._end_line()
        if text:
            self._stdout.write(text)
            self._stdout.flush()
            self._unfinished = None if text.endswith("\n") else reply

    def _end_line(self) -> None:
        if self._unfinished is not None:
            self._stdout.write("\n")
            self._stdout.flush()
            self._unfinished = None

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read lines in a thread, as no event loop can wait for a file. The raw descriptor holds no lock at exit."""
        with contextlib.suppress(RuntimeError):  # the loop has ended before the input
            for line in _lines_of(self._stdin.fileno()):
                loop.call_soon_threadsafe(self._lines.put_nowait, line)
            loop.call_soon_threadsafe(self._lines.put_nowait, None)


def _lines_of(descriptor: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    rest = ""
    with contextlib.suppress(OSError):  # the input was taken away, which ends it
        while chunk := os.read(descriptor, 65_536):
            *lines, rest = (rest + decoder.decode(chunk)).split("\n")
            yield from lines
    if rest:
        yield rest
