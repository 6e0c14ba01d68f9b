"""The terminal for people, on a real pseudo-terminal, and what its Tab key offers."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import struct
import termios
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TextIO

import pytest

from adapters.console import ConsoleAdapter
from bot.chat import (
    Button,
    Outbound,
)
from bot.tasks import Tasks
from tests.console_core import MENU, Persona


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    tasks = Tasks()
    yield tasks
    await tasks.close()


class Terminal:
    """A pseudo-terminal: types keys, and waits for what appears."""

    def __init__(self) -> None:
        self.outside, inside = os.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.stdin: TextIO = os.fdopen(inside, "r", encoding="utf-8", closefd=False)
        self.stdout: TextIO = os.fdopen(inside, "w", encoding="utf-8", closefd=True)
        self._seen = ""
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(self.outside, self._read)

    def _read(self) -> None:
        data = os.read(self.outside, 65_536)
        if b"\x1b[6n" in data:  # where is the cursor?
            os.write(self.outside, b"\x1b[1;1R")
        self._seen += data.decode(errors="replace")
        self._news.set()

    @property
    def written(self) -> str:
        """Everything that was written to it, as it was."""
        return self._seen

    @property
    def seen(self) -> str:
        """Everything that appeared, without colours and cursor movements."""
        return re.sub(r"\x1b\][^\x1b\x07]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*[A-Za-z]", "", self._seen)

    def type(self, keys: str) -> None:
        os.write(self.outside, keys.encode())

    async def shows(self, text: str, *, after: int = 0) -> None:
        async with asyncio.timeout(20):
            while text not in self.seen[after:]:
                self._news.clear()
                await self._news.wait()

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self.outside)
        self.stdout.close()
        os.close(self.outside)


@pytest.fixture
async def terminal(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = Terminal()
    yield terminal
    terminal.close()


@pytest.fixture
async def at_prompt(terminal: Terminal, tasks: Tasks, tmp_path: Path) -> AsyncIterator[Persona]:
    console = ConsoleAdapter(
        MENU, history=tmp_path / "new" / "history", spawn=tasks.spawn, stdin=terminal.stdin, stdout=terminal.stdout
    )
    persona = Persona(console, tasks)
    running = tasks.spawn("run", console.run(persona.deliver))
    await terminal.shows("›")
    yield persona
    await console.close()
    await asyncio.wait_for(running, 10)


async def test_an_answer_grows_above_the_prompt_and_ends_as_markdown(terminal: Terminal, at_prompt: Persona) -> None:
    terminal.type("hi there\r")
    reply = await at_prompt.replies.get()
    await terminal.shows("› hi there")
    await terminal.shows("⠙")
    await reply.update("Once **upon")
    await terminal.shows("Once **upon")
    await reply.finish(Outbound(text="Once **upon** a <b>time</b>:\none ||two||\n- three"))
    await terminal.shows("Once upon a <b>time</b>:")
    await terminal.shows("one two")
    await terminal.shows("• three")
    assert at_prompt.heard[0].text == "hi there"


async def test_escape_and_enter_begin_a_new_line_of_the_same_message(terminal: Terminal, at_prompt: Persona) -> None:
    terminal.type("one\x1b\rtwo\r")
    await (await at_prompt.replies.get()).finish(Outbound(text="Read."))
    assert at_prompt.heard[0].text == "one\ntwo"


async def test_an_answer_that_stands_still_shows_that_it_is_still_being_made(
    terminal: Terminal, at_prompt: Persona
) -> None:
    terminal.type("hi there\r")
    reply = await at_prompt.replies.get()
    await reply.update("Once upon")
    await terminal.shows("Once upon")
    quiet = len(terminal.seen)
    await terminal.shows("⠹", after=quiet)
    await terminal.shows("⠧", after=quiet)
    await reply.finish(Outbound(text="Once upon a time."))
    await terminal.shows("Once upon a time.")


async def test_a_history_that_cannot_be_written_is_forgotten(terminal: Terminal, tasks: Tasks, tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    console = ConsoleAdapter(
        MENU, history=tmp_path / "history", spawn=tasks.spawn, stdin=terminal.stdin, stdout=terminal.stdout
    )
    persona = Persona(console, tasks)
    running = tasks.spawn("run", console.run(persona.deliver))
    await terminal.shows("›")
    terminal.type("one\r")
    await (await persona.replies.get()).fail(Outbound(text="It failed."))
    await terminal.shows("It failed.")
    await console.close()
    await asyncio.wait_for(running, 10)


async def test_lines_that_are_forgotten_are_in_no_file_and_come_back_by_no_key(
    terminal: Terminal, tasks: Tasks, tmp_path: Path
) -> None:
    lines = tmp_path / "history"
    console = ConsoleAdapter(MENU, history=lines, spawn=tasks.spawn, stdin=terminal.stdin, stdout=terminal.stdout)
    persona = Persona(console, tasks)
    running = tasks.spawn("run", console.run(persona.deliver))
    await terminal.shows("›")
    terminal.type("my secret\r")
    reply = await persona.replies.get()
    assert "my secret" in lines.read_text()
    assert lines.stat().st_mode & 0o777 == 0o600
    console.forget_lines()
    assert not lines.exists()
    await reply.finish(Outbound(text="Gone."))
    await terminal.shows("Gone.")
    terminal.type("\x1b[A after\r")
    await persona.replies.get()
    await console.close()
    await asyncio.wait_for(running, 10)
    assert "my secret" not in lines.read_text()
    assert "after" in lines.read_text()


async def test_what_the_model_says_commands_no_terminal(terminal: Terminal, at_prompt: Persona) -> None:
    terminal.type("hi there\r")
    reply = await at_prompt.replies.get()
    await reply.update("growing \x1b]0;owned\x07")
    await terminal.shows("growing ]0;owned")
    await reply.finish(Outbound(text="done \x1b]0;owned\x07 &#27;]0;owned"))
    await terminal.shows("done ]0;owned")
    assert "\x1b]0;owned" not in terminal.written


async def test_the_person_can_type_on_while_an_answer_grows(terminal: Terminal, at_prompt: Persona) -> None:
    terminal.type("one\r")
    first = await at_prompt.replies.get()
    await first.update("First answer")
    terminal.type("two\r")
    second = await at_prompt.replies.get()
    await second.finish(Outbound(text="Second answer."))
    await terminal.shows("Second answer.")
    await first.finish(Outbound(text="First answer, at last."))
    await terminal.shows("First answer, at last.")
    assert [inbound.text for inbound in at_prompt.heard] == ["one", "two"]


async def test_control_c_stops_the_running_answer_by_command(terminal: Terminal, at_prompt: Persona) -> None:
    terminal.type("hello\r")
    reply = await at_prompt.replies.get()
    await reply.update("Once upon")
    await terminal.shows("Once upon")
    terminal.type("\x03")
    stop = await at_prompt.replies.get()
    assert [inbound.text for inbound in at_prompt.heard] == ["hello", "/stop --all"]
    await reply.finish(Outbound(text="Once upon …"))
    await stop.discard()


async def test_control_c_without_an_answer_clears_the_line(terminal: Terminal, at_prompt: Persona) -> None:
    terminal.type("nonsense\x03")
    terminal.type("hello\r")
    await at_prompt.replies.get()
    assert [inbound.text for inbound in at_prompt.heard] == ["hello"]


async def test_a_second_control_c_ends_the_chat(terminal: Terminal, tasks: Tasks) -> None:
    console = ConsoleAdapter(MENU, history=None, spawn=tasks.spawn, stdin=terminal.stdin, stdout=terminal.stdout)
    persona = Persona(console, tasks)
    running = tasks.spawn("run", console.run(persona.deliver))
    await terminal.shows("›")
    terminal.type("hello\r")
    reply = await persona.replies.get()
    await reply.update("Once upon")
    await terminal.shows("Once upon")
    terminal.type("\x03")
    await (await persona.replies.get()).finish(Outbound(text="Stopped."))
    await reply.finish(Outbound(text="Once upon …"))
    await terminal.shows("Stopped.")
    terminal.type("\x03")
    await asyncio.wait_for(running, 10)


async def test_a_line_between_two_control_cs_keeps_the_chat_open(terminal: Terminal, at_prompt: Persona) -> None:
    terminal.type("one\x03two\r")
    await (await at_prompt.replies.get()).finish(Outbound(text="Two."))
    await terminal.shows("Two.")
    terminal.type("three\x03four\r")
    await (await at_prompt.replies.get()).finish(Outbound(text="Four."))
    await terminal.shows("Four.")
    assert [inbound.text for inbound in at_prompt.heard] == ["two", "four"]


async def test_control_d_ends_the_chat(terminal: Terminal, tasks: Tasks) -> None:
    console = ConsoleAdapter(MENU, history=None, spawn=tasks.spawn, stdin=terminal.stdin, stdout=terminal.stdout)
    running = tasks.spawn("run", console.run(Persona(console, tasks).deliver))
    await terminal.shows("›")
    terminal.type("\x04")
    await asyncio.wait_for(running, 10)


async def test_history_outlives_the_chat(terminal: Terminal, at_prompt: Persona, tmp_path: Path) -> None:
    terminal.type("remember me\r")
    await (await at_prompt.replies.get()).finish(Outbound(text="Yes."))
    await terminal.shows("Yes.")
    assert "remember me" in (tmp_path / "new" / "history").read_text()
    terminal.type("\x1b[A\r")
    await at_prompt.replies.get()
    assert [inbound.text for inbound in at_prompt.heard] == ["remember me", "remember me"]


async def test_tab_completes_a_command(terminal: Terminal, at_prompt: Persona) -> None:
    terminal.type("/sto")
    await terminal.shows("<command-stop>")
    terminal.type("\t\r")
    await at_prompt.replies.get()
    assert [inbound.text for inbound in at_prompt.heard] == ["/stop"]


async def test_a_greeting_before_the_first_prompt_is_shown(terminal: Terminal, tasks: Tasks) -> None:
    console = ConsoleAdapter(MENU, history=None, spawn=tasks.spawn, stdin=terminal.stdin, stdout=terminal.stdout)
    reply = await console.open_reply(console.channel)
    await reply.finish(Outbound(text="*waves* Hello!", buttons=((Button(label="Help", command="help"),),)))
    await terminal.shows("waves Hello!")
    await terminal.shows("/help  Help")
