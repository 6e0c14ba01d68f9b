"""Moderation in a running bot: what is refused, what is kept of it, and who switches it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.chat import InboundKind, Quote
from bot.llm.model import ToolCall
from bot.moderation import read_words
from bot.settings import Moderation
from bot.store.ledger_tables import model_calls
from bot.store.tables import messages
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author
from tests.conftest import MakeApp
from tests.emulators.openai.emulator import OpenAIEmulator
from tests.emulators.openai.script import Refuse
from tests.talking import BOB, GROUP, Chat, open_chat
from tests.test_running_rounds import Counting, tell_at_once

INPUT = "That was refused by the rules of moderation here, so nothing answers it."
OUTPUT = "The answer was refused by the rules of moderation here, so it is not shown. `/retry` asks for another one."
UNJUDGED = "Moderation cannot be reached, and nothing is answered here without it. Try again later."

Open = Callable[..., Awaitable[Chat]]


@pytest.fixture
async def endpoint() -> AsyncIterator[OpenAIEmulator]:
    """A server that flags what has the word "gore" in it."""
    async with OpenAIEmulator() as server:
        server.judge = lambda text: "gore" in text
        yield server


@pytest.fixture
def open_judged(make_app: MakeApp, endpoint: OpenAIEmulator) -> Open:
    """`await open_judged(input=True, ...)`: a chat with a bot that asks the endpoint; `more` are other settings."""

    async def open_it(more: dict[str, Any] | None = None, **moderation: Any) -> Chat:
        providers = {"test": {"base_url": "http://127.0.0.1:9/v1"}, "lab": {"base_url": endpoint.base_url}}
        given = {"model": "lab/omni", **moderation}
        return await open_chat(make_app, providers=providers, moderation=given, **(more or {}))

    return open_it


async def calls(chat: Chat) -> list[tuple[str, str]]:
    """Purpose and outcome of each moderation call in the ledger, once all are there."""
    await chat.app.core.db.run(lambda _tx: None)
    columns = select(model_calls.c.purpose, model_calls.c.outcome).where(model_calls.c.purpose == "moderation")
    return await chat.app.core.db.read(lambda tx: [tuple(row) for row in tx.execute(columns)])


# What people say


async def test_a_refused_question_costs_no_chat_call_and_is_told_and_no_prompt_has_it(
    open_judged: Open, endpoint: OpenAIEmulator
) -> None:
    chat = await open_judged(input=True)
    assert (await chat.say("gore please"))[-1] == INPUT
    assert chat.model.requests == []
    await chat.say("how are you?")
    assert chat.last_prompt[-1] == ("user", "how are you?")
    assert not any("gore" in text for _, text in chat.last_prompt)
    assert endpoint.judged == [["gore please"], ["how are you?"]], "each once, the refused one never again"
    assert await calls(chat) == [("moderation", "stop")] * 2
    assert "gore" not in "".join(await chat.say("/history"))


async def test_the_notice_is_in_the_language_of_the_place(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, moderation={"input": True, "words": ("gore",)}, language="zh")
    assert (await chat.say("gore"))[-1] == "这条消息未通过这里的审核，因此不作回答。"


async def test_nobody_is_told_what_another_bot_was_refused(make_app: MakeApp) -> None:
    chat = await open_chat(
        make_app, moderation={"input": True, "words": ("gore",)}, bots={"answer": True}, persona="none"
    )
    assert await chat.say("gore", author=make_author("Robo", is_bot=True), channel=GROUP) == []
    assert chat.model.requests == []


async def test_nothing_is_left_to_retry_of_a_refused_question_and_undo_takes_the_notice_away(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, moderation={"input": True, "words": ("gore",)})
    await chat.say("gore")
    assert "nothing" in (await chat.say("/retry"))[0].lower()
    status = await chat.ask("/status")
    assert "so nothing answers it" in status
    assert "/retry" not in status
    await chat.say("/undo")
    await chat.say("hello")
    assert chat.last_prompt[-1] == ("user", "hello")


async def test_what_is_only_overheard_is_judged_when_an_answer_would_read_it(
    open_judged: Open, endpoint: OpenAIEmulator
) -> None:
    chat = await open_judged(input=True)
    await chat.say("so much gore", author=BOB, channel=GROUP, mentions_me=False)
    await chat.say("lovely weather", author=BOB, channel=GROUP, mentions_me=False)
    assert endpoint.judged == []
    assert (await chat.say("what did Bob say?", channel=GROUP))[-1] == "ok"
    assert [text for _, text in chat.last_prompt if "weather" in text]
    assert not [text for _, text in chat.last_prompt if "gore" in text]
    assert len(endpoint.judged) == 1


async def test_what_is_edited_is_judged_anew(open_judged: Open, endpoint: OpenAIEmulator) -> None:
    chat = await open_judged(input=True)
    await chat.say("flowers", message_id="7")
    await chat.say("gore", message_id="7", kind=InboundKind.EDIT)
    assert (await chat.say("and now?"))[-1] == "ok"
    assert [text for _, text in chat.last_prompt if "gore" in text or "flowers" in text] == []
    assert endpoint.judged == [["flowers"], ["gore", "and now?"]]


async def test_what_a_question_quotes_is_judged_with_it(open_judged: Open) -> None:
    chat = await open_judged(input=True)
    quote = Quote(message_id="unheard", author_name="Bob", text="so much gore", author_key=BOB.key)
    assert (await chat.say("what do you say?", channel=GROUP, reply_to=quote))[-1] == INPUT


async def test_one_fragment_that_is_refused_keeps_all_of_a_burst_from_an_answer(make_app: MakeApp) -> None:
    hold = asyncio.Event()
    model = ScriptedModel([Reply(text="never", hold=hold), "fine"])
    chat = await open_chat(make_app, model=model, moderation={"input": True, "words": ("gore",)}, burst_ms=60_000)
    first = asyncio.ensure_future(chat.say("listen:"))
    await model.wait_for(1)
    assert (await chat.say("gore"))[-1] == INPUT
    await first
    assert len(model.requests) == 1
    await chat.say("/retry")
    assert chat.last_prompt[-1] == ("user", "listen:")


async def test_the_words_of_somebody_private_are_forgotten_also_where_they_are_refused(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, moderation={"input": True, "words": ("gore",)})
    await chat.say("/privacy on")
    assert (await chat.say("my gore"))[-1] == INPUT
    texts = await chat.app.core.db.read(lambda tx: [*tx.execute(select(messages.c.text)).scalars()])
    assert not [text for text in texts if "gore" in text]


async def test_after_a_restart_a_window_is_judged_once_more(
    make_app: MakeApp, open_judged: Open, endpoint: OpenAIEmulator
) -> None:
    chat = await open_judged(input=True)
    await chat.say("one")
    await chat.app.close()
    chat = await open_judged(input=True)
    await chat.say("two")
    await chat.say("three")
    assert endpoint.judged == [["one"], ["one", "two"], ["three"]]


# What is answered


async def test_a_refused_answer_is_neither_shown_nor_kept(open_judged: Open) -> None:
    adapter, model = FakeAdapter(streams=True), ScriptedModel(["there was gore", "fine"])
    chat = await open_judged({"adapter": adapter, "model": model, "persona": "none"}, output=True)
    assert await chat.say("tell me") == [OUTPUT]
    assert not any("gore" in shown for reply in adapter.replies for shown in reply.shown)
    await chat.say("/retry")
    assert chat.last_prompt == [("user", "tell me")]
    assert adapter.texts[-1] == "fine"
    await chat.say("more")
    assert chat.last_prompt == [("user", "tell me"), ("assistant", "fine"), ("user", "more")]


async def test_an_answer_grows_only_where_it_is_not_judged(open_judged: Open, endpoint: OpenAIEmulator) -> None:
    adapter, model = FakeAdapter(streams=True, managers=["alice"]), ScriptedModel(["one two three"])
    chat = await open_judged({"adapter": adapter, "model": model, "persona": "none"}, output=False)
    await chat.say("/session set moderation__output on", channel=GROUP)
    await chat.say("hello", channel=GROUP)
    assert (chat.last_reply.shown, chat.last_reply.text) == ([], "one two three")
    assert endpoint.judged == [["one two three"]], "once, and whole"
    await chat.say("hello")
    assert len(chat.last_reply.shown) > 1
    assert len(endpoint.judged) == 1


COUNT = ToolCall(id="1", name="count", arguments='{"what": "leaves"}')


async def test_an_answer_with_tools_between_is_judged_once_and_people_read_meanwhile_what_they_do(
    open_judged: Open, endpoint: OpenAIEmulator
) -> None:
    counting = Counting(progress="progress-tool", hold=asyncio.Event())
    model = ScriptedModel([Reply(text="Let me see.", tool_calls=(COUNT,)), "All done."])
    adapter = FakeAdapter(streams=True)
    given = {"model": model, "adapter": adapter, "tools": (counting.tool,), "persona": "none"}
    chat = await open_judged(given, output=True)
    tell_at_once(chat)
    saying = asyncio.ensure_future(chat.say("count them"))
    await adapter.wait_shown()
    assert chat.last_reply.shown == ["*using `count` …*"]
    assert counting.hold is not None
    counting.hold.set()
    assert await saying == ["Let me see.\n\nAll done."]
    assert endpoint.judged == [["leaves"], ["Let me see.\n\nAll done."]]


async def test_a_stop_while_a_tool_runs_shows_nothing_that_is_not_judged(open_judged: Open) -> None:
    counting = Counting(progress="progress-tool", hold=asyncio.Event())
    model = ScriptedModel([Reply(text="So much gore.", tool_calls=(COUNT,)), "never"])
    adapter = FakeAdapter(streams=True)
    given = {"model": model, "adapter": adapter, "tools": (counting.tool,), "persona": "none"}
    chat = await open_judged(given, output=True)
    tell_at_once(chat)
    saying = asyncio.ensure_future(chat.say("count them"))
    await adapter.wait_shown()
    await counting.began.wait()
    await chat.ask("/stop")
    await saying
    assert counting.was_cancelled
    assert not any("gore" in text for reply in adapter.replies for text in (*reply.shown, reply.text))


async def test_what_a_model_writes_into_a_tool_is_judged_and_of_a_refused_answer_no_round_is_kept(
    open_judged: Open,
) -> None:
    call = ToolCall(id="1", name="roll_dice", arguments='{"dice": "1d6", "why": ["gore"]}')
    model = ScriptedModel([Reply(text="", tool_calls=(call,)), "gore!", "fine"])
    chat = await open_judged({"model": model, "persona": "none"}, output=True)
    assert await chat.say("roll") == [OUTPUT]
    assert model.requests[1].messages[-1].text.startswith("Error: these words are not allowed here.")
    await chat.say("again")
    assert chat.last_prompt == [("user", "roll"), ("user", "again")]


async def test_stop_shows_nothing_that_is_not_judged(open_judged: Open, endpoint: OpenAIEmulator) -> None:
    asked, model = asyncio.Event(), ScriptedModel(["some gore"])

    async def never(_text: str) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return False

    endpoint.judge = never
    chat = await open_judged({"model": model, "persona": "none"}, output=True, timeout=60)
    saying = asyncio.ensure_future(chat.say("go"))
    await asyncio.wait_for(asked.wait(), 10)
    await chat.ask("/stop")
    await saying
    assert not any("gore" in text for text in chat.adapter.texts)
    endpoint.judge = lambda _text: False
    await chat.say("hello")
    assert not [text for role, text in chat.last_prompt if role == "assistant"]


# Where the endpoint fails


async def hang(_text: str) -> bool:
    await asyncio.Event().wait()
    return False


FAILURES = [Refuse(status=500, body="no"), Refuse(status=404), hang]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("on", ["input", "output"])
async def test_open_lets_pass_what_could_not_be_judged(
    open_judged: Open, endpoint: OpenAIEmulator, failure: Any, on: str
) -> None:
    endpoint.judge = failure
    chat = await open_judged(**{on: True}, timeout=0.05)
    assert (await chat.say("hello"))[-1] == "ok"
    assert [purpose for purpose, outcome in await calls(chat) if outcome != "stop"] == ["moderation"]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("on", ["input", "output"])
async def test_closed_refuses_what_could_not_be_judged_until_it_can_be(
    open_judged: Open, endpoint: OpenAIEmulator, failure: Any, on: str
) -> None:
    endpoint.judge = failure
    chat = await open_judged(**{on: True}, timeout=0.05, on_failure="closed")
    assert (await chat.say("hello"))[-1] == UNJUDGED
    assert len(chat.model.requests) == (on == "output")
    endpoint.judge = lambda _text: False
    assert (await chat.say("/retry"))[-1] == "ok"
    assert chat.last_prompt[-1] == ("user", "hello")


async def test_a_long_history_is_judged_in_bounded_requests_and_no_further_after_a_fault(
    open_judged: Open, endpoint: OpenAIEmulator
) -> None:
    endpoint.judge = Refuse(status=500)
    chat = await open_judged(input=True)
    for number in range(40):
        await chat.say(f"line {number}", author=BOB, channel=GROUP, mentions_me=False)
    assert (await chat.say("well?", channel=GROUP))[-1] == "ok"
    assert [len(texts) for texts in endpoint.judged] == [32]
    endpoint.judge = lambda text: text == "line 39"
    assert (await chat.say("and?", channel=GROUP))[-1] == "ok"
    assert [len(texts) for texts in endpoint.judged] == [32, 32, 10]
    assert not [text for _, text in chat.last_prompt if "line 39" in text]


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("such Gore!", True),
        ("ＧＯＲＥ", True),
        ("go\u200bre", True),
        ("gorey details", False),
        ("a bad  \n phrase", True),
        ("a badphrase", False),
        ("a bad phrase, yes", True),
        ("今天的血腥场面", True),
        ("harmless", False),
    ],
)
async def test_words_are_found_as_words_however_they_are_written(
    make_app: MakeApp, tmp_path: Path, text: str, is_refused: bool
) -> None:
    (tmp_path / "words.txt").write_text("\ufeff# what nobody wants\nbad phrase\n\n血腥  # 中文\n", encoding="utf-8")
    given = {"input": True, "words": ("Gore",), "words_file": tmp_path / "words.txt"}
    chat = await open_chat(make_app, moderation=given)
    assert (INPUT in await chat.say(text)) is is_refused


def test_a_list_of_words_is_read_once_each(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("one\nOne # again\n two \n", encoding="utf-8")
    assert read_words(Moderation(words=("three",), words_file=tmp_path / "words.txt")) == ("three", "one", "two")


async def test_what_the_words_refuse_is_not_sent_to_the_endpoint(open_judged: Open, endpoint: OpenAIEmulator) -> None:
    chat = await open_judged(input=True, words=("secret",))
    assert (await chat.say("my secret"))[-1] == INPUT
    assert endpoint.judged == []
