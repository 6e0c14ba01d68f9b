"""One answer on its way to the terminal, whatever it is shown on."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from adapters.console.files import save_file
from bot.chat import BeforeSend, Outbound, OutFile, PartState, SentPart

CONTROLS = dict.fromkeys([code for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)])
"""Characters that command a terminal (C0 and C1 but tab and line break): a model's text may move no cursor."""


class Surface(Protocol):
    """Where lines come from and answers appear. A reply is known by its object, because several may grow at once."""

    async def read_line(self) -> str | None:
        """The next line that somebody typed; `None` when there will be none."""

    def begin(self, reply: object) -> None:
        """Show that an answer is being made."""

    async def grow(self, reply: object, text: str) -> None:
        """Show that much of it."""

    async def show(self, reply: object, outbound: Outbound) -> None:
        """Show the final text, in place of what has grown."""

    async def tell(self, text: str) -> None:
        """Show a text as it is, which is no Markdown."""

    def drop(self, reply: object) -> None:
        """Show no more of it."""

    def end(self) -> None:
        """Take no more lines."""

    def forget_lines(self) -> None:
        """Keep none of the lines that were typed."""


class Ticket:
    """What a line that was typed can be answered by: counts the replies to it."""

    def __init__(self) -> None:
        self._open = 0
        self._has_begun, self._is_over = asyncio.Event(), asyncio.Event()

    def begin(self) -> None:
        """A reply has begun."""
        self._open += 1
        self._has_begun.set()
        self._is_over.clear()

    def end(self) -> None:
        """A reply has ended."""
        self._open -= 1
        if not self._open:
            self._is_over.set()

    async def answered(self, grace_seconds: float) -> None:
        """Wait until every reply has ended, or return after a grace when none begins."""
        try:
            await asyncio.wait_for(self._has_begun.wait(), grace_seconds)
        except TimeoutError:
            return
        await self._is_over.wait()


class ConsoleReply:
    """A `ReplyStream`. A terminal bears any pace and refuses nothing, so it shows each update and always succeeds,
    unless it has gone: then no more lines are taken. The name of a `speaker` stands above what it says.
    """

    def __init__(
        self,
        surface: Surface,
        ticket: Ticket,
        before_send: BeforeSend | None,
        why: Callable[[], str],
        exports: Path | None = None,
        speaker: str = "",
    ) -> None:
        self._surface, self._ticket, self._before_send, self._why = surface, ticket, before_send, why
        self._exports = exports
        self._speaker = speaker
        self._text, self._is_seen = "", False
        ticket.begin()
        surface.begin(self)

    async def update(self, text: str, *, doing: str = "") -> None:
        """Show that much of the answer."""
        text, doing = self._named(text).translate(CONTROLS), doing.translate(CONTROLS)
        shown = "\n\n".join(filter(str.strip, (text, doing)))
        if shown:
            await self._announce()
            self._text, self._is_seen = text, True
            with self._unless_gone():
                await self._surface.grow(self, shown)

    async def finish(self, outbound: Outbound) -> tuple[SentPart, ...]:
        """Show the final text, and where its file is; nothing for a blank one (D12)."""
        outbound = replace(outbound, text=self._named(outbound.text))
        if not outbound.file:
            return await self._end(outbound)
        path = await self._save(outbound.file)
        parts = await self._end(replace(outbound, file=None))
        if told := f"→ {path}" if path else outbound.file.text.rstrip():
            with self._unless_gone():
                await self._surface.tell(told.translate(CONTROLS))
        return parts

    def _named(self, text: str) -> str:
        return f"{self._speaker}:\n{text}" if self._speaker and text.strip() else text

    async def _save(self, file: OutFile) -> Path | None:
        """Where a file has been put; `None` where none can be."""
        if self._exports is None:
            return None
        try:
            return await asyncio.to_thread(save_file, file, self._exports.absolute())
        except OSError:
            return None

    async def fail(self, outbound: Outbound) -> tuple[SentPart, ...]:
        """Keep what was shown, tell `outbound` below it, and why: whoever reads this can mend it."""
        parts = await self._end(Outbound(text=self._text), outbound)
        if why := self._why().translate(CONTROLS):
            with self._unless_gone():
                await self._surface.tell(why)
        return parts

    async def discard(self) -> bool:
        """End without showing anything more."""
        await self._end()
        return self._is_seen

    async def _end(self, *outbounds: Outbound) -> tuple[SentPart, ...]:
        harmless = [replace(outbound, text=outbound.text.translate(CONTROLS)) for outbound in outbounds]
        shown = [outbound for outbound in harmless if outbound.text.strip()]
        try:
            for outbound in shown:
                await self._announce()
                self._is_seen = True
                with self._unless_gone():
                    await self._surface.show(self, outbound)
        finally:
            with self._unless_gone():
                self._surface.drop(self)
            self._ticket.end()
        return tuple(
            SentPart(ordinal=ordinal, message_id=uuid.uuid4().hex, state=PartState.SENT)
            for ordinal in range(len(shown))
        )

    @contextmanager
    def _unless_gone(self) -> Iterator[None]:
        """A pipe whose reader has left (`| head -1`), or a terminal that was closed, ends the chat as Ctrl+D does."""
        try:
            yield
        except OSError:
            self._surface.end()

    async def _announce(self) -> None:
        before_send, self._before_send = self._before_send, None
        if before_send:
            await before_send()
