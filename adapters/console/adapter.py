"""The adapter: a session with one person, typed lines as inbounds, and the surface that fits the terminal."""

from __future__ import annotations

import asyncio
import getpass
import sys
import uuid
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO, Unpack

from adapters.console.files import attached
from adapters.console.paper import Paper
from adapters.console.reply import ConsoleReply, Surface, Ticket
from adapters.incoming import inert
from bot.chat import (
    SLASHES,
    Author,
    ChannelRef,
    CommandMenu,
    Deliver,
    Finding,
    Inbound,
    InboundKind,
    ReplyOptions,
    ReplyStream,
    Severity,
    Visibility,
)

Spawn = Callable[[str, Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a named background task; the composition root has the one that does."""

PLATFORM = "terminal"
LEAVING = ("exit", "quit", "退出")
"""What people type behind a slash to leave a terminal, whatever follows it; Ctrl+D does the same."""
REPLY_GRACE_SECONDS = 5.0
"""How long a line from a pipe waits for its answer to begin, which takes a turn a few reads of the store."""


class ConsoleAdapter:
    """The terminal: a prompt with history and completion, or a pipe, which is answered line by line. `why` tells in a
    line, once, what has gone wrong last; blank = nothing did, as where a limit or a rule refuses an answer. Files are
    put into the folder `exports`; without one their text is shown. What a command takes is named by its path. `locale`
    is the language of whoever sits there.
    """

    def __init__(
        self,
        menu: CommandMenu,
        *,
        history: Path | None,
        spawn: Spawn,
        exports: Path | None = None,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        why: Callable[[], str] = lambda: "",
        locale: str | None = None,
    ) -> None:
        stdin, stdout = stdin or sys.stdin, stdout or sys.stdout
        self._menu, self._spawn, self._why, self._exports = menu, spawn, why, exports
        self._deliver: Deliver | None = None
        self._is_interactive = stdin.isatty() and stdout.isatty()
        self._is_ending = False
        self.channel = ChannelRef(platform=PLATFORM, place="local", visibility=Visibility.DM)
        """The one session there is."""
        self.author = _person_at_keyboard(locale)
        """Whoever started the program."""
        if self._is_interactive:
            from adapters.console.completion import CommandCompleter
            from adapters.console.screen import Screen

            completer = CommandCompleter(menu, self.channel, self.author)
            self._surface: Surface = Screen(
                completer, history=history, stdin=stdin, stdout=stdout, spawn=spawn, interrupt=self._interrupt
            )
        else:
            self._surface = Paper(stdin, stdout)

    @property
    def platform(self) -> str:
        """The word that starts every key."""
        return PLATFORM

    async def run(self, deliver: Deliver) -> None:
        """Hand every line to `deliver` until the input ends. A pipe's next line waits for the answer to this one."""
        self._deliver = deliver
        while not self._is_ending and (line := await self._surface.read_line()) is not None:
            if not line.strip():
                continue
            if _leaves(line):
                return
            ticket = Ticket()
            self._why()  # what went wrong before this line is no reason for how its answer ends
            await deliver(self._to_inbound(line.strip(), ticket))
            if not self._is_interactive:
                await ticket.answered(REPLY_GRACE_SECONDS)

    async def ready(self) -> None:
        """A terminal needs no login."""

    def forget_lines(self) -> None:
        """Keep none of the lines that were typed, those of earlier chats included."""
        self._surface.forget_lines()

    async def stop_listening(self) -> None:
        """Take no more lines; answers under way can still be finished."""
        self._is_ending = True
        self._surface.end()

    async def close(self) -> None:
        """End the input."""
        await self.stop_listening()

    async def open_reply(self, channel: ChannelRef, **options: Unpack[ReplyOptions]) -> ReplyStream:
        """Begin an answer. There is no limit to its length, so `max_parts` has no meaning here."""
        handle, speaker = options.get("handle"), options.get("speaker")
        ticket = handle if isinstance(handle, Ticket) else Ticket()
        name = inert(speaker.name) if speaker and speaker.is_one_of_several else ""
        return ConsoleReply(self._surface, ticket, options.get("before_send"), self._why, self._exports, name)

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Nothing: what a terminal has shown stays."""

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        """Everything here belongs to the person at the keyboard."""
        return True

    async def hears_everything(self, channel: ChannelRef) -> bool:
        """Every line is for the bot."""
        return True

    def link(self, channel: ChannelRef, message_id: str) -> str | None:
        """What stands in a terminal has no address."""
        return None

    async def check(self, *, is_served: bool = False) -> Sequence[Finding]:
        """A terminal needs no login."""
        return (Finding(severity=Severity.OK, subject=PLATFORM, message="needs no set-up"),)

    def _to_inbound(self, line: str, ticket: Ticket) -> Inbound:
        text, files = attached(line, self._menu)
        return Inbound(
            kind=InboundKind.MESSAGE,
            channel=self.channel,
            message_id=uuid.uuid4().hex,
            author=self.author,
            sent_at=datetime.now(UTC),
            text=text,
            attachments=files,
            reply_handle=ticket,
        )

    def _interrupt(self) -> None:
        """Stop the answer that is being written and those that wait, by the command that does so everywhere."""
        if self._deliver:
            self._spawn("stop answer", self._stop_answer(self._deliver))

    async def _stop_answer(self, deliver: Deliver) -> None:
        await deliver(self._to_inbound("/stop --all", Ticket()))


def _leaves(line: str) -> bool:
    word, *_ = line.split()
    return word.startswith(SLASHES) and word[1:].casefold() in LEAVING


def _person_at_keyboard(locale: str | None) -> Author:
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        name = "user"
    return Author(platform=PLATFORM, id=name, name=name, locale=locale)
