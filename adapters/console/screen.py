"""A prompt at the foot of the terminal, growing answers above it, finished ones in the scroll-back.

Knows no command: it is told what completes a line and what interrupts an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import in_terminal
from prompt_toolkit.application.current import set_app
from prompt_toolkit.completion import Completer
from prompt_toolkit.formatted_text import ANSI, FormattedText
from prompt_toolkit.history import FileHistory, History
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import create_output
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from adapters.markup.dialect import parse
from bot.chat import Outbound

PROMPT = "› "
HINT = "/help   Ctrl+C ■   Ctrl+D ⏏"
HINT_AT_END = "Ctrl+C ⏏"
"""After one Ctrl+C that left nothing to stop or to clear."""
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_SECONDS = 0.1
"""Between two pictures of a growing answer; more would cost time and please nobody."""
STILL_SECONDS = 1.0
"""Without anything new for so long an answer shows that it is still being made."""
ROWS_KEPT = 7
"""Rows of the terminal that a growing answer leaves to the prompt and its menu."""


@dataclass(slots=True)
class _Growing:
    """An answer being made, when it last grew (by the loop's clock), and its last picture with what made it."""

    grown_at: float
    text: str = ""
    picture: str = ""
    made_of: tuple[str, int] = ("", 0)


class Screen:
    """A `Surface` for people."""

    def __init__(
        self,
        completer: Completer,
        *,
        history: Path | None,
        stdin: TextIO,
        stdout: TextIO,
        spawn: Callable[[str, Coroutine[Any, Any, None]], asyncio.Task[None]],
        interrupt: Callable[[], None],
    ) -> None:
        self._spawn, self._interrupt = spawn, interrupt
        self._growing: dict[object, _Growing] = {}
        self._spinning: asyncio.Task[None] | None = None
        self._frame = 0
        self._ends_next = False
        self._history = _Lines(history)
        self._console = Console(file=stdout, highlight=False)
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            placeholder=self._placeholder,
            completer=completer,
            history=self._history,
            key_bindings=self._bindings(),
            erase_when_done=True,
            input=create_input(stdin),
            output=create_output(stdout),
        )
        self._session.app.min_redraw_interval = FRAME_SECONDS

    async def read_line(self) -> str | None:
        """Let somebody type a line; `None` for Ctrl+D, and when the terminal has gone."""
        try:
            line = await self._session.prompt_async(handle_sigint=False)
        except (EOFError, OSError):
            return None
        self._ends_next = False
        if line.strip():
            self._console.print(Text(PROMPT + line, style="bold cyan"))
        return line

    def forget_lines(self) -> None:
        """Keep none of the lines that were typed, neither here nor in the file."""
        self._history.forget()
        typing = self._session.default_buffer
        typing.reset(typing.document)

    def begin(self, reply: object) -> None:
        """Turn the wheel whenever nothing arrives."""
        self._growing[reply] = _Growing(grown_at=self._now())
        if self._spinning is None or self._spinning.done():
            self._spinning = self._spawn("console spinner", self._spin())

    async def grow(self, reply: object, text: str) -> None:
        """Show the end of the text above the prompt."""
        if growing := self._growing.get(reply):
            growing.text, growing.grown_at = text, self._now()
            self._session.app.invalidate()

    async def show(self, reply: object, outbound: Outbound) -> None:
        """Print the text as Markdown, and the commands of its buttons."""
        self._growing.pop(reply, None)
        async with self._above_prompt():
            self._console.print(_to_markdown(outbound.text, hyperlinks=True))
            for button in (button for row in outbound.buttons for button in row):
                self._console.print(Text.assemble("  ", (f"/{button.command}", "cyan"), f"  {button.label}"))
            self._console.print()

    async def tell(self, text: str) -> None:
        """Print it, set apart from what a persona says."""
        async with self._above_prompt():
            self._console.print(Text(text, style="dim"))
            self._console.print()

    def drop(self, reply: object) -> None:
        """Take it from above the prompt."""
        if self._growing.pop(reply, None):
            self._session.app.invalidate()

    def end(self) -> None:
        """Leave the prompt as Ctrl+D does."""
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit(exception=EOFError())

    async def _spin(self) -> None:
        while self._growing:
            if any(map(self._is_still, self._growing.values())):
                self._frame += 1
                self._session.app.invalidate()
            await asyncio.sleep(FRAME_SECONDS)

    def _is_still(self, growing: _Growing) -> bool:
        return not growing.text or self._now() - growing.grown_at >= STILL_SECONDS

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    @asynccontextmanager
    async def _above_prompt(self) -> AsyncIterator[None]:
        """Put the prompt aside while something is printed."""
        with set_app(self._session.app):
            async with in_terminal():
                yield

    def _placeholder(self) -> FormattedText:
        return FormattedText([("fg:ansibrightblack", HINT_AT_END if self._ends_next else HINT)])

    def _message(self) -> ANSI:
        """The prompt, below what is growing."""
        pictures = [self._picture(growing) for growing in self._growing.values()]
        return ANSI("".join(f"{picture}\n\n" for picture in pictures) + f"\x1b[1;36m{PROMPT}\x1b[0m")

    def _picture(self, growing: _Growing) -> str:
        wheel = SPINNER[self._frame % len(SPINNER)] if self._is_still(growing) else ""
        if not growing.text:
            return wheel
        made_of = (growing.text, self._console.width)
        if growing.made_of != made_of:
            with self._console.capture() as capture:
                self._console.print(_to_markdown(growing.text, hyperlinks=False))
            lines = capture.get().strip("\n").split("\n")
            growing.made_of = made_of
            growing.picture = "\n".join(lines[-max(self._console.height - ROWS_KEPT, 1) :])
        return f"{growing.picture}\n{wheel}" if wheel else growing.picture

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("c-c")
        def _stop_or_clear_or_end(event: KeyPressEvent) -> None:
            if self._ends_next and not event.current_buffer.text:
                self.end()
            elif self._growing:
                self._interrupt()
            else:
                event.current_buffer.reset()
            self._ends_next = True

        @bindings.add("escape", "enter")
        def _begin_line(event: KeyPressEvent) -> None:
            """Alt+Enter, which terminals send as these two keys."""
            event.current_buffer.insert_text("\n")

        return bindings


class _Lines(History):
    """The lines that were typed, also in earlier chats where there is a file. Forgets what a full disk or a file of
    somebody else does not take; the chat goes on.
    """

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._file = FileHistory(path) if path is not None else None
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """The lines of earlier chats, newest first."""
        try:
            return [*self._file.load_history_strings()] if self._file is not None else []
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Keep a line for later chats."""
        if self._file is None or self._path is None:
            return
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)  # else others could read what was said
            self._file.store_string(string)

    def forget(self) -> None:
        """Keep none of them."""
        self._loaded_strings.clear()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)


def _to_markdown(text: str, *, hyperlinks: bool) -> Markdown:
    """A text as rich shows it, read the way the other platforms read it and with its own line breaks."""
    shown = Markdown("", hyperlinks=hyperlinks, code_theme="ansi_dark")
    shown.parsed = parse(text)
    for token in shown.parsed:
        token.children = [child for child in token.children or () if not child.type.startswith("spoiler_")]
        for child in token.children:
            if child.type == "softbreak":
                child.type = "hardbreak"
    return shown
