"""The terminal as a platform, and a real pipe for programs."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.console import ConsoleAdapter
from bot.chat import (
    Button,
    Inbound,
    InboundKind,
    Outbound,
    PartState,
    Speaker,
)
from bot.locale import locale_of_terminal
from bot.tasks import Tasks
from tests.console_core import MENU, Persona


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    tasks = Tasks()
    yield tasks
    await tasks.close()


class Pipe:
    """A program's end of our input, and what we wrote."""

    def __init__(self, tasks: Tasks) -> None:
        reading, self._writing = os.pipe()
        self.stdin = os.fdopen(reading, encoding="utf-8")
        self.stdout = io.StringIO()
        self.reason = ""
        self.console = ConsoleAdapter(
            MENU, history=None, spawn=tasks.spawn, stdin=self.stdin, stdout=self.stdout, why=lambda: self.reason
        )
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


@pytest.mark.parametrize("line", ["/exit", " /quit ", "/exit now", "/QUIT please", "／退出"])
async def test_the_words_that_leave_a_terminal_elsewhere_leave_it_here(pipe: Pipe, line: str) -> None:
    pipe.write(f"hello\n{line}\nnot read\n")  # and the input stays open
    pipe.persona.reaction = pipe.persona.answer
    await asyncio.wait_for(pipe.console.run(pipe.persona.deliver), 10)
    assert pipe.written == "You said: hello\n"


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


async def test_a_path_behind_a_command_that_takes_a_file_brings_the_file(pipe: Pipe, tmp_path: Path) -> None:
    (tmp_path / "my luna.json").write_bytes(b"{}")
    pipe.write(f'/persona import "{tmp_path}/my luna.json"\n')
    pipe.close()
    pipe.persona.reaction = pipe.persona.answer
    await pipe.console.run(pipe.persona.deliver)
    (inbound,) = pipe.persona.heard
    assert inbound.text == "/persona import"
    (file,) = inbound.attachments
    assert file.fetch is not None
    assert (file.name, await file.fetch(9)) == ("my luna.json", b"{}")


async def test_the_next_piped_line_waits_for_a_growing_answer(pipe: Pipe, tasks: Tasks) -> None:
    pipe.write("one\ntwo\n")
    running = tasks.spawn("run", pipe.console.run(pipe.persona.deliver))
    reply = await pipe.persona.replies.get()
    await reply.update("Once ")
    assert pipe.written == "Once"
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


async def test_who_speaks_is_shown_where_several_do(pipe: Pipe) -> None:
    async def say(reply_text: str, grown: str = "", *, several: bool) -> None:
        speaker = Speaker(persona_id="thrupp", name="Thrupp", is_one_of_several=several)
        reply = await pipe.console.open_reply(pipe.console.channel, speaker=speaker)
        await reply.update(grown)
        await reply.finish(Outbound(text=reply_text))

    await say("I say so.", "I say", several=True)
    await say("At once.", several=True)
    await say("", several=True)
    await say("Alone.", several=False)
    assert pipe.written == "Thrupp:\nI say so.\nThrupp:\nAt once.\nAlone.\n"


async def test_an_answer_of_one_of_several_that_fails_keeps_its_name_once(pipe: Pipe) -> None:
    speaker = Speaker(persona_id="thrupp", name="Thrupp", is_one_of_several=True)
    reply = await pipe.console.open_reply(pipe.console.channel, speaker=speaker)
    await reply.update("I say")
    await reply.fail(Outbound(text="That failed."))
    assert pipe.written == "Thrupp:\nI say\nThat failed.\n"


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


async def test_what_the_model_says_commands_no_terminal(pipe: Pipe) -> None:
    reply = await pipe.console.open_reply(pipe.console.channel)
    await reply.update("a\x1b[2J\x9b2J")
    await reply.finish(Outbound(text="a\x1b[2J\x9b2J\r\n\tb\x07\x7f"))
    blank = await pipe.console.open_reply(pipe.console.channel)
    assert await blank.finish(Outbound(text="\x1b\x07")) == ()
    assert pipe.written == "a[2J2J\nb\n"


async def test_why_an_answer_failed_is_told_to_the_one_who_can_mend_it(pipe: Pipe) -> None:
    reply = await pipe.console.open_reply(pipe.console.channel)
    await reply.update("Once upon")
    pipe.reason = "the server refused the key.\x1b Check it."
    await reply.fail(Outbound(text="It failed."))
    assert pipe.written == "Once upon\nIt failed.\nthe server refused the key. Check it.\n"


async def test_a_reader_who_has_left_ends_the_chat(tasks: Tasks) -> None:
    reading, writing = os.pipe()
    gone, broken = os.pipe()
    os.close(gone)
    os.write(writing, b"one\ntwo\n")  # and the input stays open
    with os.fdopen(reading) as stdin, os.fdopen(broken, "w", closefd=False) as stdout:
        console = ConsoleAdapter(MENU, history=None, spawn=tasks.spawn, stdin=stdin, stdout=stdout)
        persona = Persona(console, tasks)
        persona.reaction = persona.answer
        await asyncio.wait_for(console.run(persona.deliver), 10)
        assert [inbound.text for inbound in persona.heard] == ["one"]
        os.dup2(writing, broken)  # so that closing writes what is left somewhere
    os.close(broken)
    os.close(writing)


async def test_a_notice_does_not_break_into_a_line(pipe: Pipe) -> None:
    growing = await pipe.console.open_reply(pipe.console.channel)
    notice = await pipe.console.open_reply(pipe.console.channel)
    await growing.update("Once ")
    await notice.finish(Outbound(text="A notice."))
    await growing.finish(Outbound(text="Once upon a time."))
    assert pipe.written == "Once\nA notice.\n upon a time.\n"


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


@pytest.mark.parametrize(
    ("environment", "locale"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh-CN"),
        ({"LANG": "de_DE@euro", "LC_ALL": "fr_FR"}, "fr-FR"),
        ({"LANG": "C.UTF-8"}, None),
        ({}, None),
    ],
)
def test_the_language_is_that_of_the_terminal(environment: dict[str, str], locale: str | None) -> None:
    assert locale_of_terminal(environment) == locale


async def test_the_person_at_the_keyboard_may_do_everything_and_nothing_is_amiss(tasks: Tasks) -> None:
    console = ConsoleAdapter(
        MENU, history=None, spawn=tasks.spawn, stdin=io.StringIO(), stdout=io.StringIO(), locale="zh-CN"
    )
    assert (console.platform, console.author.locale) == ("terminal", "zh-CN")
    assert await console.may_manage(console.channel, console.author.id)
    assert [finding.severity.value for finding in await console.check()] == ["ok"]
    await console.delete(console.channel, ["1"])
