"""The examples of docs/extending.md, each loaded as it stands there and used in a running bot."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from bot.app import build_app
from bot.llm.model import Role, ToolCall
from bot.settings import Settings
from bot.testing import NOW, Reply, ScriptedModel
from tests.conftest import Extend, MakeApp
from tests.talking import Chat, open_chat

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
EXAMPLES = {
    code.split(".py\n")[0].removeprefix("# "): code
    for code in re.findall(r"^```python\n(.+?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
}


async def chat_with(make_app: MakeApp, extend: Extend, name: str, **more: Any) -> Chat:
    return await open_chat(make_app, extensions=[extend(name, EXAMPLES[name])], **more)


def test_every_example_is_run_here() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if f'"{name}"' not in tests] == []


async def test_a_tool_is_called_and_told_what_was_wrong(make_app: MakeApp, extend: Extend) -> None:
    calls = [ToolCall(id=str(times), name="toss_coin", arguments=f'{{"times": {times}}}') for times in (3, 99)]
    model = ScriptedModel([Reply(text="", tool_calls=tuple(calls)), "There you are."])
    chat = await chat_with(make_app, extend, "coin", model=model)
    assert (await chat.say("toss!"))[-1] == "There you are."
    results = [message.text for message in model.requests[-1].messages if message.role is Role.TOOL]
    assert re.fullmatch("((heads|tails)(, )?){3}", results[0])
    assert results[1] == "Error: times must be a whole number from 1 to 10."


async def test_a_section_stands_behind_what_was_said(make_app: MakeApp, extend: Extend) -> None:
    assert NOW.weekday() == 6
    chat = await chat_with(make_app, extend, "weekend")
    await chat.say("hello")
    assert chat.last_prompt[-1][1] == "hello\n\n[It is the weekend; nobody is in a hurry.]"


async def test_hooks_drop_refuse_sign_and_hide(make_app: MakeApp, extend: Extend) -> None:
    call = ToolCall(id="1", name="roll_dice", arguments="{}")
    model = ScriptedModel([Reply(text="", tool_calls=(call,)), "Ring 555-0199.", "Aye.", "Here be dragons."])
    chat = await chat_with(make_app, extend, "manners", model=model)
    assert await chat.say("BUY NOW!!!") == []
    assert model.requests == []
    assert (await chat.say("roll"))[-1] == "Ring [number].\n\n– Bryony"
    assert model.requests[-1].messages[-1].text == "Error: No dice before six."
    await chat.say("again")
    assert ("assistant", "Ring 555-0199.\n\n– Bryony") in chat.last_prompt
    assert await chat.say("My password: swordfish") == ["Keep your passwords to yourself."]
    assert await chat.say("What lies there?") == ["Nothing is said of dragons here."]
    assert not [text for _, text in chat.last_prompt if "swordfish" in text]


async def test_a_store_is_kept_exported_erased_and_heeds_privacy(make_app: MakeApp, extend: Extend) -> None:
    chat = await chat_with(make_app, extend, "karma")
    nothing = chat.app.core.catalogue.text("memory-empty", "en")
    for _ in range(2):
        await chat.say("Thanks!")
    await chat.say("hello")
    assert chat.last_prompt[-1][1].endswith("[Alice has said thanks 2 times.]")
    await chat.say("/memory export")
    assert chat.last_reply.outbound is not None
    assert chat.last_reply.outbound.file is not None
    assert "- karma, fake:alice: 2" in chat.last_reply.outbound.file.text
    await chat.say("/memory clear all -y")
    assert await chat.say("/memory export") == [nothing]
    await chat.say("/privacy on")
    await chat.say("Thank you.")
    assert await chat.say("/memory export") == [nothing]


async def test_a_command_is_used_and_explained_in_both_languages(make_app: MakeApp, extend: Extend) -> None:
    chat = await chat_with(make_app, extend, "cheer")
    assert await chat.say("/cheer Ann") == ["Hooray for Ann!"]
    assert "`/help cheer`" in (await chat.say("/cheer"))[0]
    (helped,) = await chat.say("/help cheer")
    assert "Cheer somebody up" in helped
    assert "`who` – Whom to cheer up" in helped
    await chat.say("/session set language zh")
    assert await chat.say("/加油 小明") == ["小明，加油！"]


async def test_a_summariser_takes_the_place_of_the_model(make_app: MakeApp, extend: Extend) -> None:
    model = ScriptedModel()
    chat = await chat_with(make_app, extend, "remember_only", model=model, summary={"keep_recent": 2})
    for text in ("Remember: I am allergic to nuts", "a", "b", "c", "d"):
        await chat.say(text)
    await chat.say("/compact")
    await chat.settled()
    assert model.summaries == []
    told = "\n".join(await chat.say("/memory"))
    assert "Alice: I am allergic to nuts" in told
    assert "messages were said." in told


async def test_a_running_summary_stands_in_for_old_messages(make_app: MakeApp, extend: Extend) -> None:
    def answer(request: Any) -> str:
        return "They talk about tides." if request.messages[0].text.startswith("Sum up") else "Aye."

    model = ScriptedModel(answer)
    more = {"context_tokens": 32_000, "summary": {"trigger": {"type": "off"}}, "tools": ()}
    chat = await chat_with(make_app, extend, "running_summary", model=model, **more)
    for number in range(18):
        await chat.say(f"{number}: " + "the tide is high " * 60)
    asked = [request for request in model.requests if request.messages[0].text.startswith("Sum up")]
    assert 1 <= len(asked) <= 3
    note = "[What was said before, in short: They talk about tides.]"
    assert chat.last_prompt[0] == ("user", note)
    assert 20 <= len(chat.last_prompt) - 1 < 36
    assert chat.last_prompt[-1][1].startswith("17: ")


async def test_an_adapter_talks_to_whoever_connects(
    extend: Extend, database_url: str, counter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES_PORT", "0")
    given: dict[str, Any] = {"providers": {"test": {"base_url": "http://127.0.0.1:9/v1"}}, "model": "test/scripted"}
    names = [extend("lines", EXAMPLES["lines"])]
    settings = Settings(database_url=database_url, extensions=names, **given)
    app = build_app(settings, model=ScriptedModel(["Aye."]), counter=counter)
    stop = asyncio.Event()
    running = asyncio.ensure_future(app.run(stop))
    adapter: Any = app.core.platforms["lines"]
    async with asyncio.timeout(10):
        await adapter.ready()
        reader, writer = await asyncio.open_connection("127.0.0.1", adapter.port)
        writer.write(b"hello\n")
        lines = [(await reader.readline()).decode() for _ in range(2)]
        writer.close()
        stop.set()
        assert await running == 0
    assert lines[-1] == "Aye.\n"
