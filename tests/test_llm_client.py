"""The model client against a scripted server over real sockets: answers, tools, faults, retries, cancellation."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from contextlib import aclosing
from typing import Any

import pytest
from pydantic import SecretStr

from bot.llm.catalogue import ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.endpoints import Provider
from bot.llm.model import (
    Completion,
    ContextTooLong,
    Finish,
    Image,
    ModelError,
    ModelMessage,
    ModelRefused,
    ModelUnreachable,
    Role,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from bot.llm.quirks import Quirks
from tests.emulators.openai import (
    DONE,
    Call,
    OpenAIEmulator,
    Pause,
    Refuse,
    Reply,
    Reset,
    Say,
    Stall,
    Stream,
    Wait,
    When,
    chunk,
    errors,
    said,
)
from tests.emulators.openai.harness import SECRET, asks, bench

CLOCK = ToolSpec(name="clock", description="tells the time", parameters={"type": "object", "properties": {}})


# The ordinary course


async def test_an_answer_streams_and_ends_in_one_completion() -> None:
    async with bench(Say(text=["Hel", "lo ", "you!"])) as it:
        deltas, completion = await it.ask(asks("Hi there"))
    assert deltas == ["Hel", "lo ", "you!"]
    assert (completion.text, completion.finish, completion.replaces_deltas) == ("Hello you!", Finish.STOP, False)
    assert completion.usage == Usage(input_tokens=5, output_tokens=2)
    sent = it.openai.last
    assert sent.headers["Authorization"] == f"Bearer {SECRET}"
    assert sent.body == {
        "model": "scripted",
        "messages": [{"role": "system", "content": "You are Luna."}, {"role": "user", "content": "Hi there"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
    }


@pytest.mark.parametrize("write_bytes", [1, 7])
async def test_events_cut_anywhere_on_the_wire_are_put_together(write_bytes: int) -> None:
    async with bench(Say(text="Grüße, 世界! 🎸"), write_bytes=write_bytes) as it:
        _, completion = await it.ask(asks())
    assert completion.text == "Grüße, 世界! 🎸"


async def test_text_is_yielded_while_the_server_still_writes() -> None:
    gate = asyncio.Event()
    async with bench(Stream([*said("first"), Wait(gate), *said(" second"), chunk({}, finish="stop"), DONE])) as it:
        events = it.model.stream(asks())
        assert await anext(events) == TextDelta(text="first")
        gate.set()
        assert await anext(events) == TextDelta(text=" second")
        assert isinstance(await anext(events), Completion)


async def test_times_are_measured_with_the_clock_that_was_given() -> None:
    ticks = iter((10.0, 10.25, 11.5))
    async with OpenAIEmulator() as openai:
        provider = Provider(name="test", base_url=openai.base_url)
        model = OpenAIModel({"test": provider}, Quirks(), ModelCatalogue(), clock=lambda: next(ticks))
        *_, completion = [event async for event in model.stream(asks())]
        await model.close()
    assert isinstance(completion, Completion)
    assert (completion.first_token_ms, completion.total_ms) == (250, 1500)


async def test_one_connection_serves_one_message_after_the_other() -> None:
    async with bench() as it:
        for _ in range(5):
            await it.ask(asks())
    assert it.openai.connections == 1


async def test_calls_run_beside_each_other() -> None:
    gate = asyncio.Event()
    script = [When(last_user="slow", reply=Say(text="slow", gate=gate)), When(reply=Say(text="fast"))]
    async with bench(script) as it:
        slow = asyncio.ensure_future(it.ask(asks("slow one")))
        await it.openai.request(1)
        assert (await it.ask(asks("quick one")))[1].text == "fast"
        gate.set()
        assert (await slow)[1].text == "slow"


@pytest.mark.parametrize("name", ["scripted", "nowhere/model", "test/", ""])
async def test_a_model_of_no_configured_provider_is_refused_in_words(name: str) -> None:
    async with bench() as it:
        with pytest.raises(ModelRefused, match=r"no such provider.*Configured: test"):
            await it.ask(asks(model=name))
    assert it.openai.requests == []


async def test_a_model_name_may_contain_slashes() -> None:
    async with bench() as it:
        await it.ask(asks(model="test/owner/model:7b"))
    assert it.openai.last.model == "owner/model:7b"


async def test_a_tool_call_comes_in_pieces_and_its_round_is_replayed() -> None:
    calls = [Call(name="clock", arguments='{"zone": "Asia/Tokyo"}', id="a"), Call(name="clock", id="b")]
    script = [When(tool_result="noon", reply=Say(text="It is noon.")), When(reply=Say(text="Wait.", calls=calls))]
    async with bench(script) as it:
        request = asks("What time is it?", tools=(CLOCK,))
        _, first = await it.ask(request)
        assert (first.text, first.finish) == ("Wait.", Finish.TOOL_CALLS)
        assert first.tool_calls == (
            ToolCall(id="a", name="clock", arguments='{"zone": "Asia/Tokyo"}'),
            ToolCall(id="b", name="clock", arguments="{}"),
        )
        played = (
            *request.messages,
            ModelMessage(role=Role.ASSISTANT, text=first.text, tool_calls=first.tool_calls),
            *(ModelMessage(role=Role.TOOL, text="noon", tool_call_id=id_, name="clock") for id_ in "ab"),
        )
        _, second = await it.ask(asks(messages=played, tools=(CLOCK,)))
    assert second.text == "It is noon."
    assert it.openai.last.body["tools"][0]["function"]["name"] == "clock"
    assert it.openai.last.messages[2:] == [
        {
            "role": "assistant",
            "content": "Wait.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "clock", "arguments": '{"zone": "Asia/Tokyo"}'}},
                {"id": "b", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "content": "noon", "name": "clock", "tool_call_id": "a"},
        {"role": "tool", "content": "noon", "name": "clock", "tool_call_id": "b"},
    ]


async def test_a_json_schema_is_asked_for() -> None:
    async with bench(Say(text='{"mood": "fine"}')) as it:
        _, completion = await it.ask(asks(json_schema={"type": "object"}))
    assert json.loads(completion.text) == {"mood": "fine"}
    assert it.openai.last.body["response_format"]["json_schema"]["schema"] == {"type": "object"}


async def test_images_travel_as_bytes() -> None:
    data = b"\x89PNG"
    picture = Image(media_type="image/png", data=data)
    async with bench() as it:
        await it.ask(asks(messages=(ModelMessage(role=Role.USER, text="What is it?", images=(picture,)),)))
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    assert it.openai.last.messages[0]["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]


async def test_the_models_of_a_provider_are_listed() -> None:
    async with bench(api_key=SECRET) as it:
        it.openai.models = ["one", "two"]
        assert await it.model.list_models("test") == ("one", "two")
        it.openai.api_key = "another"
        with pytest.raises(ModelRefused, match="PROVIDERS__TEST__API_KEY"):
            await it.model.list_models("test")


# Faults and retries


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
async def test_passing_faults_are_tried_again_twice_with_growing_waits(status: int) -> None:
    async with bench(Say(text="Hi")) as it:
        it.openai.queue(errors.server_error(status, "busy"), errors.server_error(status, "busy"))
        assert (await it.ask(asks()))[1].text == "Hi"
        assert it.waits == [0.5, 1.0]
        it.openai.script = errors.server_error(status, "busy")
        with pytest.raises(ModelUnreachable, match="busy"):
            await it.ask(asks())
    assert len(it.openai.requests) == 6


async def test_a_reset_connection_is_tried_again() -> None:
    async with bench(Say(text="Hi")) as it:
        it.openai.queue(Reset())
        assert (await it.ask(asks()))[1].text == "Hi"


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with bench() as it:
        gone = it.openai.base_url
    model = OpenAIModel(
        {"test": Provider(name="test", base_url=gone)}, Quirks(), ModelCatalogue(), sleep=lambda _: asyncio.sleep(0)
    )
    with pytest.raises(ModelUnreachable, match="no connection to http://127"):
        [event async for event in model.stream(asks())]
    await model.close()


async def test_something_else_than_a_web_server_is_a_model_error() -> None:
    async def gibber(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(gibber, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        provider = Provider(name="test", base_url=f"http://127.0.0.1:{port}/v1")
        model = OpenAIModel({"test": provider}, Quirks(), ModelCatalogue(), sleep=lambda _: asyncio.sleep(0))
        with pytest.raises(ModelError):
            [event async for event in model.stream(asks())]
        await model.close()


@pytest.mark.parametrize(("retry_after", "waits"), [(3, [3.0]), (None, [0.5]), (0, [0.0])])
async def test_a_rate_limit_is_waited_for_as_long_as_it_says(retry_after: float | None, waits: list[float]) -> None:
    async with bench(Say(text="Hi")) as it:
        it.openai.queue(errors.rate_limited(retry_after))
        assert (await it.ask(asks()))[1].text == "Hi"
    assert it.waits == waits


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (errors.rate_limited(3600), ModelUnreachable),
        (errors.openai_error(429, "You exceeded your current quota.", code="insufficient_quota"), ModelRefused),
        (errors.unauthorized(), ModelRefused),
        (errors.not_found("scripted"), ModelRefused),
        (errors.openai_error(402, "Insufficient credits"), ModelRefused),
        (errors.openai_error(400, "messages: the moon is in the wrong phase"), ModelRefused),
        (Refuse(status=418, body="<html>teapot</html>"), ModelRefused),
        (errors.context_too_long(4096, 5000), ContextTooLong),
    ],
)
async def test_what_does_not_pass_is_not_tried_again(reply: Reply, kind: type[ModelError]) -> None:
    async with bench(reply) as it:
        with pytest.raises(kind):
            await it.ask(asks())
    assert (len(it.openai.requests), it.waits) == (1, [])


async def test_a_prompt_that_does_not_fit_says_by_how_much() -> None:
    async with bench(errors.context_too_long(4096, 5000)) as it:
        with pytest.raises(ContextTooLong) as caught:
            await it.ask(asks())
    assert (caught.value.limit, caught.value.given) == (4096, 5000)


async def test_keys_never_get_into_errors() -> None:
    async with bench(errors.unauthorized(SECRET)) as it:
        with pytest.raises(ModelRefused) as caught:
            await it.ask(asks())
    assert SECRET not in str(caught.value)
    assert "PROVIDERS__TEST__API_KEY" in str(caught.value)
    provider = Provider(name="test", base_url="http://x", api_key=SecretStr(SECRET), headers={"X-Key": SECRET})
    assert SECRET not in repr(provider)


@pytest.mark.parametrize("steps", [[Stall()], [chunk({"role": "assistant", "content": ""}), Stall()]])
async def test_a_first_token_that_does_not_come_is_given_up(steps: list[Any]) -> None:
    async with bench(Stream(steps), first_token_timeout=0.05) as it:
        with pytest.raises(ModelUnreachable, match="no answer in time"):
            await it.ask(asks())
        await asyncio.wait_for(it.openai.last.ended.wait(), 5)
        assert it.openai.last.was_cancelled
    assert len(it.openai.requests) == 1


async def test_a_stream_that_falls_silent_is_given_up() -> None:
    async with bench(Stream([*said("Hi"), Stall()]), first_token_timeout=0.05) as it:
        events = it.model.stream(asks())
        assert await anext(events) == TextDelta(text="Hi")
        with pytest.raises(ModelUnreachable):
            await anext(events)


async def test_an_answer_that_never_ends_is_given_up() -> None:
    drip: Any = itertools.chain.from_iterable(itertools.repeat((chunk({"reasoning": "hm"}), Pause(0.01))))
    async with bench(Stream(drip), first_token_timeout=0.1, total_timeout=0.3) as it:
        with pytest.raises(ModelUnreachable, match="no answer in time"):
            await it.ask(asks())


async def test_closing_the_iterator_cancels_the_call_on_the_wire() -> None:
    async with bench(Stream([*said("Hi"), Stall()])) as it:
        async with aclosing(it.model.stream(asks())) as events:
            assert await anext(events) == TextDelta(text="Hi")
        await asyncio.wait_for(it.openai.last.ended.wait(), 5)
        assert it.openai.last.was_cancelled


@pytest.mark.parametrize("reply", [Say(gate=asyncio.Event()), Stream([Stall()])])
async def test_cancelling_the_task_cancels_the_call_on_the_wire(reply: Reply) -> None:
    async with bench(reply) as it:
        task = asyncio.ensure_future(it.ask(asks()))
        request = await it.openai.request(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(request.ended.wait(), 5)
        assert request.was_cancelled


async def test_a_closed_client_can_be_used_again() -> None:
    async with bench() as it:
        await it.ask(asks())
        await it.model.close()
        assert (await it.ask(asks()))[1].text == "Hello!"
