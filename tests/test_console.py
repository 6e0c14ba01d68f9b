"""The terminal as a platform: a real pseudo-terminal for people, a real pipe for programs."""

from __future__ import annotations

import asyncio
import fcntl
import io
import os
import re
import struct
import termios
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TextIO

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from adapters.console import ConsoleAdapter
from adapters.console.completion import CommandCompleter
from bot.chat import (
    Author,
    Button,
    ChannelRef,
    CommandMenu,
    CommandSpec,
    Inbound,
    InboundKind,
    OptionKind,
    OptionSpec,
    Outbound,
    PartState,
    ReplyStream,
)
from bot.tasks import Tasks

SPECS = (
    CommandSpec(
        path=("persona", "list"), options=(OptionSpec(name="keyword", rest=True), OptionSpec(name="page", flag="-p"))
    ),
    CommandSpec(path=("persona", "use"), options=(OptionSpec(name="persona", rest=True, completes=True),)),
    CommandSpec(
        path=("session", "set"),
        options=(
            OptionSpec(name="key", completes=True),
            OptionSpec(name="value", completes=True),
            OptionSpec(name="persona", flag="-p", completes=True),
            OptionSpec(name="thinking", flag="-t", kind=OptionKind.CHOICE, choices=("on", "off")),
        ),
    ),
    CommandSpec(path=("session", "reset"), options=(OptionSpec(name="model", flag="-m", kind=OptionKind.SWITCH),)),
    CommandSpec(path=("stop",)),
)


async def complete(channel: ChannelRef, author: Author, path: tuple[str, ...], option: str, typed: str) -> list[str]:
    values = {"persona": ["luna", "old wizard"], "key": ["activation", "timezone"], "value": ["mention", "always"]}
    return [value for value in values[option] if value.startswith(typed)]


MENU = CommandMenu(
    specs=SPECS, translate=lambda message_id, locale: f"<{message_id}>", locales=("en",), complete=complete
)


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    tasks = Tasks()
    yield tasks
    await tasks.close()


class Persona:
    """Stands for the core: answers each line when the test lets it, in the background as a turn does."""

    def __init__(self, console: ConsoleAdapter, tasks: Tasks) -> None:
        self._console, self._tasks = console, tasks
        self.heard: list[Inbound] = []
        self.replies: asyncio.Queue[ReplyStream] = asyncio.Queue()
        self.reaction: Callable[[Inbound], Awaitable[None]] = self.open_reply

    async def deliver(self, inbound: Inbound) -> None:
        self.heard.append(inbound)
        self._tasks.spawn("turn", self.reaction(inbound))

    async def open_reply(self, inbound: Inbound) -> None:
        self.replies.put_nowait(await self._console.open_reply(inbound.channel, handle=inbound.reply_handle))

    async def answer(self, inbound: Inbound) -> None:
        reply = await self._console.open_reply(inbound.channel, handle=inbound.reply_handle)
        await asyncio.sleep(0)
        await reply.finish(Outbound(text=f"You said: {inbound.text}"))


# --- A pipe


class Pipe:
    """A program's end of our input, and what we wrote."""

    def __init__(self, tasks: Tasks) -> None:
        reading, self._writing = os.pipe()
        self.stdin = os.fdopen(reading, encoding="utf-8")
        self.stdout = io.StringIO()
        self.console = ConsoleAdapter(MENU, history=None, spawn=tasks.spawn, stdin=self.stdin, stdout=self.stdout)
        self.persona = Persona(self.console, tasks)

    def write(self, text: str) -> None:
        os.write(self._writing, text.encode())

    def close(self) -> None:
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1

    @property
    def written(self) -> str:
        return self.stdout.getvalue()


@pytest.fixture
async def pipe(tasks: Tasks) -> AsyncIterator[Pipe]:
    pipe = Pipe(tasks)
    yield pipe
    pipe.close()
    pipe.stdin.close()


async def test_every_piped_line_is_answered_before_the_next_is_taken_and_before_the_end(pipe: Pipe) -> None:
    pipe.write("hello\n\n  你好  \nlast, without a line break")
    pipe.close()
    pipe.persona.reaction = pipe.persona.answer
    await pipe.console.run(pipe.persona.deliver)
    assert pipe.written == "You said: hello\nYou said: 你好\nYou said: last, without a line break\n"


async def test_a_line_is_an_inbound_of_the_one_who_types(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe.write("hello\nhello\n")
    pipe.close()
    pipe.persona.reaction = pipe.persona.answer
    await pipe.console.run(pipe.persona.deliver)
    first, second = pipe.persona.heard
    assert first.kind is InboundKind.MESSAGE
    assert first.channel == pipe.console.channel
    assert first.channel.is_dm
    assert first.channel.session_key == "terminal:local"
    assert first.author == pipe.console.author
    assert first.author.platform == "terminal"
    assert first.message_id != second.message_id


async def test_the_next_piped_line_waits_for_a_growing_answer(pipe: Pipe, tasks: Tasks) -> None:
    pipe.write("one\ntwo\n")
    running = tasks.spawn("run", pipe.console.run(pipe.persona.deliver))
    reply = await pipe.persona.replies.get()
    await reply.update("Once ")
    assert pipe.written == "Once "
    await reply.update("Once upon a time")
    assert pipe.written == "Once upon a time"
    assert [inbound.text for inbound in pipe.persona.heard] == ["one"]
    parts = await reply.finish(Outbound(text="Once upon a time."))
    assert [part.state for part in parts] == [PartState.SENT]
    assert pipe.written == "Once upon a time.\n"
    await (await pipe.persona.replies.get()).finish(Outbound(text="Two"))
    pipe.close()
    await running
    assert pipe.written == "Once upon a time.\nTwo\n"


async def test_a_line_that_nobody_answers_does_not_hang(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ignore(inbound: Inbound) -> None:
        pass

    monkeypatch.setattr("adapters.console.adapter.REPLY_GRACE_SECONDS", 0.01)
    pipe.write("one\ntwo\n")
    pipe.close()
    pipe.persona.reaction = ignore
    await pipe.console.run(pipe.persona.deliver)
    assert [inbound.text for inbound in pipe.persona.heard] == ["one", "two"]


@pytest.mark.parametrize("ending", ["fail", "discard", "blank"])
async def test_every_end_of_a_reply_lets_the_next_line_in(pipe: Pipe, tasks: Tasks, ending: str) -> None:
    pipe.write("one\n")
    pipe.close()
    running = tasks.spawn("run", pipe.console.run(pipe.persona.deliver))
    reply = await pipe.persona.replies.get()
    if ending == "fail":
        await reply.update("Once upon")
        assert len(await reply.fail(Outbound(text="It failed."))) == 2
    elif ending == "discard":
        await reply.discard()
    else:
        assert await reply.finish(Outbound(text=" \n")) == ()
    await running
    assert pipe.written == ("Once upon\nIt failed.\n" if ending == "fail" else "")


async def test_a_final_text_that_differs_stands_below_what_was_shown(pipe: Pipe) -> None:
    reply = await pipe.console.open_reply(pipe.console.channel)
    await reply.update("Once upon")
    await reply.finish(Outbound(text="Something else"))
    assert pipe.written == "Once upon\nSomething else\n"


async def test_a_notice_does_not_break_into_a_line(pipe: Pipe) -> None:
    growing = await pipe.console.open_reply(pipe.console.channel)
    notice = await pipe.console.open_reply(pipe.console.channel)
    await growing.update("Once ")
    await notice.finish(Outbound(text="A notice."))
    await growing.finish(Outbound(text="Once upon a time."))
    assert pipe.written == "Once \nA notice.\nupon a time.\n"


async def test_buttons_are_the_commands_they_stand_for(pipe: Pipe) -> None:
    reply = await pipe.console.open_reply(pipe.console.channel)
    row = (Button(label="Next", command="persona list -p 2"), Button(label="Help", command="help"))
    await reply.finish(Outbound(text="Personas", buttons=(row,)))
    assert pipe.written == "Personas\n  /persona list -p 2  Next\n  /help  Help\n"


@pytest.mark.parametrize("moment", ["before", "while reading"])
async def test_S18_closing_ends_the_input_at_any_time(pipe: Pipe, tasks: Tasks, moment: str) -> None:
    if moment == "before":
        await pipe.console.close()
    running = tasks.spawn("run", pipe.console.run(pipe.persona.deliver))
    await asyncio.sleep(0)
    await pipe.console.close()
    await asyncio.wait_for(running, 10)
    assert pipe.persona.heard == []


async def test_S16_the_core_is_told_once_before_anything_is_written(pipe: Pipe) -> None:
    told: list[str] = []

    async def before_send() -> None:
        told.append(pipe.written)

    reply = await pipe.console.open_reply(pipe.console.channel, before_send=before_send)
    await reply.update(" ")
    assert told == []
    await reply.update("Once")
    await reply.update("Once upon")
    await reply.finish(Outbound(text="Once upon a time"))
    assert told == [""]


# --- A person


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
    def seen(self) -> str:
        """Everything that appeared, without colours and cursor movements."""
        return re.sub(r"\x1b\][^\x1b\x07]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*[A-Za-z]", "", self._seen)

    def type(self, keys: str) -> None:
        os.write(self.outside, keys.encode())

    async def shows(self, text: str) -> None:
        async with asyncio.timeout(20):
            while text not in self.seen:
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
    assert [inbound.text for inbound in at_prompt.heard] == ["hello", "/stop"]
    await reply.finish(Outbound(text="Once upon …"))
    await stop.discard()


async def test_control_c_without_an_answer_clears_the_line(terminal: Terminal, at_prompt: Persona) -> None:
    terminal.type("nonsense\x03")
    terminal.type("hello\r")
    await at_prompt.replies.get()
    assert [inbound.text for inbound in at_prompt.heard] == ["hello"]


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


# --- Completion


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("hello", []),
        ("/", ["persona", "session", "stop"]),
        ("/se", ["session"]),
        ("/session ", ["set", "reset"]),
        ("/Session Re", ["reset"]),
        ("/persona use ", ["luna", "old wizard"]),
        ("/persona use lu", ["luna"]),
        ("/session set ", ["activation", "timezone"]),
        ("/session set activation ", ["mention", "always"]),
        ("/session set activation mention ", []),
        ("/session set -", ["-p", "-t"]),
        ("/session set -t ", ["on", "off"]),
        ("/session set -t of", ["off"]),
        ("/session set -t on -", ["-p"]),
        ("/session set -p ", ["luna", '"old wizard"']),
        ("/session set -p luna tim", ["timezone"]),
        ("/session reset -m ", []),
        ("/unknown ", []),
    ],
)
async def test_completion_offers_what_can_come_next(line: str, offers: list[str]) -> None:
    channel = ChannelRef(platform="terminal", place="local")
    completer = CommandCompleter(MENU, channel, Author(platform="terminal", id="me", name="me"))
    found = [offer async for offer in completer.get_completions_async(Document(line), CompleteEvent())]
    assert [offer.text for offer in found] == offers
    for offer in found:
        typed = line[len(line) + offer.start_position :]
        assert offer.text.strip('"').startswith(typed.lower())


@pytest.mark.parametrize(
    ("environment", "locale"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh-CN"),
        ({"LANG": "de_DE@euro", "LC_ALL": "fr_FR"}, "fr-FR"),
        ({"LANG": "C.UTF-8"}, None),
        ({}, None),
    ],
)
async def test_the_language_is_that_of_the_terminal(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], locale: str | None
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    console = ConsoleAdapter(MENU, history=None, spawn=tasks.spawn, stdin=io.StringIO(), stdout=io.StringIO())
    assert console.author.locale == locale


async def test_the_person_at_the_keyboard_may_do_everything_and_nothing_is_amiss(tasks: Tasks) -> None:
    console = ConsoleAdapter(MENU, history=None, spawn=tasks.spawn, stdin=io.StringIO(), stdout=io.StringIO())
    assert console.platform == "terminal"
    assert await console.may_manage(console.channel, console.author.id)
    assert [finding.severity.value for finding in await console.check()] == ["ok"]
    await console.delete(console.channel, ["1"])
