"""The model client against a scripted server over real sockets: odd streams, faults, retries, cancellation, cost."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr

from bot.llm.answer import Answer
from bot.llm.catalogue import Catalogue, LimitsOverride
from bot.llm.client import OpenAIModel, Provider
from bot.llm.model import (
    Completion,
    ContextTooLong,
    Finish,
    Image,
    ModelError,
    ModelMessage,
    ModelRefused,
    ModelRequest,
    ModelUnreachable,
    Role,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from bot.llm.quirks import LearnedQuirk, Quirk, Quirks
from bot.llm.wire import ThinkingStyle
from tests.emulators.openai import (
    DONE,
    Call,
    Cut,
    OpenAIEmulator,
    Pause,
    Plain,
    Raw,
    Refuse,
    Reply,
    Reset,
    Say,
    Script,
    Stall,
    Stream,
    Wait,
    When,
    chunk,
    errors,
    said,
)

HELLO = Say(text="Hello!")
SECRET = "sk-very-secret-0123456789"
CLOCK = ToolSpec(name="clock", description="tells the time", parameters={"type": "object", "properties": {}})


@dataclass
class Bench:
    """A client on an emulator, with everything a test looks at."""

    openai: OpenAIEmulator
    model: OpenAIModel
    quirks: Quirks
    saved: list[LearnedQuirk] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    async def ask(self, request: ModelRequest) -> tuple[list[str], Completion]:
        """The deltas and the completion of one request."""
        *deltas, completion = [event async for event in self.model.stream(request)]
        assert isinstance(completion, Completion)
        return [delta.text for delta in deltas if isinstance(delta, TextDelta)], completion


@asynccontextmanager
async def bench(
    script: Script = HELLO,
    *,
    limits: LimitsOverride | None = None,
    known: tuple[LearnedQuirk, ...] = (),
    api_key: str | None = None,
    write_bytes: int | None = None,
    **provider: Any,
) -> AsyncIterator[Bench]:
    async with OpenAIEmulator(script, api_key=api_key, write_bytes=write_bytes) as openai:
        saved: list[LearnedQuirk] = []
        waits: list[float] = []

        async def save(learned: LearnedQuirk) -> None:
            saved.append(learned)

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        quirks = Quirks(load=lambda: known, save=save)
        server = Provider(name="test", base_url=openai.base_url, api_key=SecretStr(SECRET), **provider)
        catalogue = Catalogue({"test": limits} if limits else {})
        model = OpenAIModel({"test": server}, quirks, catalogue, sleep=sleep, jitter=lambda: 0.5)
        try:
            yield Bench(openai=openai, model=model, quirks=quirks, saved=saved, waits=waits)
        finally:
            await model.close()


def asks(text: str = "Hi", *, model: str = "test/scripted", **more: Any) -> ModelRequest:
    messages = more.pop("messages", None) or (
        ModelMessage(role=Role.SYSTEM, text="You are Luna."),
        ModelMessage(role=Role.USER, text=text),
    )
    return ModelRequest(model=model, messages=messages, **{"max_output_tokens": 100, **more})


def usage_chunk(**usage: Any) -> dict[str, Any]:
    return {"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage}


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
        model = OpenAIModel({"test": provider}, Quirks(), Catalogue(), clock=lambda: next(ticks))
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
        {"role": "tool", "content": "noon", "tool_call_id": "a"},
        {"role": "tool", "content": "noon", "tool_call_id": "b"},
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


# Reasoning


@pytest.mark.parametrize("field_name", ["reasoning_content", "reasoning"])
async def test_reasoning_that_the_server_splits_off_is_never_text(field_name: str) -> None:
    async with bench(Say(text="Hi", reasoning=["let me ", "think"], reasoning_field=field_name)) as it:
        deltas, completion = await it.ask(asks())
    assert (deltas, completion.text, completion.reasoning) == (["Hi"], "Hi", "let me think")


async def test_L03_a_closing_tag_alone_hides_what_came_before_and_is_learned() -> None:
    answer = Say(text=["plan the ", "reply…</th", "ink>Hel", "lo!"])
    async with bench(answer) as it:
        deltas, first = await it.ask(asks())
        assert (first.text, first.reasoning) == ("Hello!", "plan the reply…")
        assert first.replaces_deltas
        assert "".join(deltas) != first.text
        deltas, second = await it.ask(asks())
        assert (deltas, second.text, second.replaces_deltas) == (["Hel", "lo!"], "Hello!", False)
    assert [learned.quirk for learned in it.saved] == [Quirk.THINKS_UNOPENED]


async def test_L03_models_known_by_name_are_never_shown_thinking() -> None:
    async with bench(Say(text=["plan</think>", "Hi", "!"])) as it:
        deltas, completion = await it.ask(asks(model="test/deepseek-r1:7b"))
    assert (deltas, completion.text, completion.replaces_deltas) == (["Hi", "!"], "Hi!", False)


async def test_L04_think_tags_cut_over_chunks_never_show() -> None:
    async with bench(Say(text=["<thi", "nk>secret</th", "ink>", "Hi"])) as it:
        deltas, completion = await it.ask(asks())
    assert (deltas, completion.text, completion.reasoning) == (["Hi"], "Hi", "secret")


async def test_L18_reasoning_that_used_up_the_limit_gets_more_room_once() -> None:
    starved = Say(
        text="",
        finish="length",
        usage={"completion_tokens": 100, "completion_tokens_details": {"reasoning_tokens": 99}},
    )
    async with bench(Say(text="Here."), limits=LimitsOverride(context_window=32_768)) as it:
        it.openai.queue(starved)
        _, completion = await it.ask(asks())
        assert (completion.text, len(it.openai.requests)) == ("Here.", 2)
        assert [request.body["max_tokens"] for request in it.openai.requests] == [100, 8292]
        await it.ask(asks())
        assert (len(it.openai.requests), it.openai.last.body["max_tokens"]) == (3, 8292)
    assert [learned.quirk for learned in it.saved] == [Quirk.NEEDS_ROOM]


async def test_L18_an_answer_without_room_twice_is_reported_as_such() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 100, "completion_tokens_details": {"reasoning_tokens": 99}}
    async with bench(Say(text="", reasoning="hm", finish="length", usage=usage)) as it:
        deltas, completion = await it.ask(asks())
    assert (deltas, completion.text, completion.finish, len(it.openai.requests)) == ([], "", Finish.LENGTH, 2)
    assert completion.reasoning == "hm"
    assert completion.usage == Usage(input_tokens=9, output_tokens=100, reasoning_tokens=99)


async def test_L18_when_the_larger_attempt_fails_the_first_answer_stands() -> None:
    async with bench(errors.openai_error(400, "max_tokens is too large: 2148.", param="max_tokens")) as it:
        it.openai.queue(Say(text="", finish="length"))
        _, completion = await it.ask(asks())
    assert (completion.text, completion.finish) == ("", Finish.LENGTH)
    assert it.saved == []


async def test_L19_reasoning_goes_back_within_the_tool_round_only() -> None:
    async with bench(Say(calls=[Call(name="clock")], reasoning="I need the time")) as it:
        question = asks("time?", tools=(CLOCK,))
        _, first = await it.ask(question)
        called = ModelMessage(role=Role.ASSISTANT, text="", tool_calls=first.tool_calls, reasoning=first.reasoning)
        result = ModelMessage(role=Role.TOOL, text="noon", tool_call_id=first.tool_calls[0].id)
        await it.ask(asks(messages=(*question.messages, called, result), tools=(CLOCK,)))
        assert it.openai.last.messages[2]["reasoning_content"] == "I need the time"
        later = ModelMessage(role=Role.USER, text="thanks")
        await it.ask(asks(messages=(*question.messages, called, result, later), tools=(CLOCK,)))
        assert "reasoning_content" not in it.openai.last.messages[2]


async def test_L19_a_server_that_never_gave_reasoning_gets_none() -> None:
    called = ModelMessage(
        role=Role.ASSISTANT, text="", tool_calls=(ToolCall(id="a", name="clock", arguments=""),), reasoning="hm"
    )
    result = ModelMessage(role=Role.TOOL, text="noon", tool_call_id="a")
    async with bench() as it:
        await it.ask(asks(messages=(ModelMessage(role=Role.USER, text="time?"), called, result)))
    assert it.openai.last.messages[1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "clock", "arguments": "{}"}}],
    }


@pytest.mark.parametrize(
    ("style", "thinking", "sent"),
    [
        (None, False, {}),
        (None, True, {"reasoning_effort": "medium"}),
        (ThinkingStyle.EFFORT, False, {}),
        (ThinkingStyle.TEMPLATE, True, {"chat_template_kwargs": {"enable_thinking": True}}),
        (ThinkingStyle.TEMPLATE, False, {"chat_template_kwargs": {"enable_thinking": False}}),
        (ThinkingStyle.ENABLE, False, {"enable_thinking": False}),
        (ThinkingStyle.THINK, True, {"think": True}),
        (ThinkingStyle.TYPE, True, {"thinking": {"type": "enabled"}}),
        (ThinkingStyle.REASONING, False, {"reasoning": {"enabled": False}}),
    ],
)
async def test_thinking_is_switched_the_way_the_server_takes_it(
    style: ThinkingStyle | None, thinking: bool, sent: dict[str, Any]
) -> None:
    async with bench(thinking=style) as it:
        await it.ask(asks(thinking=thinking))
    usual = {"model", "messages", "stream", "stream_options", "max_tokens"}
    assert {key: value for key, value in it.openai.last.body.items() if key not in usual} == sent


# Odd streams


async def test_L08_empty_choices_first_and_last_are_no_fault() -> None:
    steps = [
        {"id": "", "choices": [], "prompt_filter_results": []},
        *said("Hi", "!"),
        chunk({}, finish="stop"),
        usage_chunk(prompt_tokens=11, completion_tokens=2, prompt_tokens_details={"cached_tokens": 8}),
        DONE,
    ]
    async with bench(Stream(steps)) as it:
        _, completion = await it.ask(asks())
    assert (completion.text, completion.finish) == ("Hi!", Finish.STOP)
    assert completion.usage == Usage(input_tokens=11, cached_tokens=8, output_tokens=2)


@pytest.mark.parametrize("where", ["choice", "x_groq", "every chunk"])
async def test_usage_is_found_wherever_servers_put_it(where: str) -> None:
    counts = {"prompt_tokens": 3, "completion_tokens": 1, "prompt_cache_hit_tokens": 2}
    ending = {
        "choice": [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": counts}]}],
        "x_groq": [chunk({}, finish="stop", x_groq={"usage": counts})],
        "every chunk": [chunk({"content": ""}, usage={"prompt_tokens": 3}), chunk({}, finish="stop", usage=counts)],
    }[where]
    async with bench(Stream([*said("Hi"), *ending, DONE])) as it:
        _, completion = await it.ask(asks())
    assert completion.usage == Usage(input_tokens=3, cached_tokens=2, output_tokens=1)


async def test_a_server_that_counts_nothing_leaves_the_usage_open() -> None:
    async with bench(Say(text="Hi", usage=None)) as it:
        assert (await it.ask(asks()))[1].usage is None


@pytest.mark.parametrize(
    "reason", ["content_filter", "SAFETY", "PROHIBITED_CONTENT", "RECITATION", "Blocklist", "refusal"]
)
async def test_L12_a_declined_answer_is_no_fault_and_not_tried_again(reason: str) -> None:
    async with bench(Stream([chunk(None, finish=reason), DONE])) as it:
        deltas, completion = await it.ask(asks())
    assert (deltas, completion.text, completion.finish, len(it.openai.requests)) == ([], "", Finish.FILTERED, 1)


@pytest.mark.parametrize(
    "reply",
    [
        errors.openai_error(
            400, "The response was filtered due to the prompt triggering Azure's content management policy."
        ),
        errors.openai_error(400, "Blocked", code="content_filter"),
        Refuse(status=400, body={"error": {"code": "data_inspection_failed", "message": "inappropriate content"}}),
        Stream([{"error": {"message": "flagged", "code": "content_policy_violation"}}]),
        Plain(body={"choices": [{"index": 0, "message": None, "finish_reason": "content_filter"}]}),
    ],
)
async def test_L12_a_declined_prompt_is_reported_the_same_way(reply: Reply) -> None:
    async with bench(reply) as it:
        _, completion = await it.ask(asks())
    assert (completion.text, completion.finish) == ("", Finish.FILTERED)
    assert len({json.dumps(request.body, sort_keys=True) for request in it.openai.requests}) == len(it.openai.requests)


async def test_a_refusal_in_words_of_the_provider_is_not_an_answer() -> None:
    async with bench(Stream([chunk({"refusal": "I cannot help with that."}), chunk({}, finish="stop"), DONE])) as it:
        _, completion = await it.ask(asks())
    assert (completion.text, completion.finish) == ("", Finish.FILTERED)


@pytest.mark.parametrize(
    "fault",
    [
        {"error": {"message": "upstream died", "code": 502}, "choices": [{"delta": {}, "finish_reason": "error"}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]},
        {"choices": [{"index": 0, "delta": {}, "error": {"message": "upstream died"}}]},
        Cut(),
        Raw(b'data: {"choices": [{"del\n\n'),
        Raw(b"data: 42\n\n"),
        Raw(b'data: {"choices": [7]}\n\n'),
        Raw(b"data: \xff\xfe\n\n"),
    ],
)
async def test_L21_a_fault_in_the_middle_fails_the_call_and_is_not_tried_again(fault: Any) -> None:
    gate = asyncio.Event()
    async with bench(Stream([*said("Half a "), Wait(gate), fault, *said("sentence"), DONE])) as it:
        events = it.model.stream(asks())
        assert await anext(events) == TextDelta(text="Half a ")
        gate.set()
        with pytest.raises(ModelError):
            await anext(events)
    assert len(it.openai.requests) == 1


async def test_L21_a_fault_before_any_text_is_tried_again() -> None:
    async with bench(Say(text="Hi")) as it:
        it.openai.queue(
            Stream([{"error": {"message": "overloaded", "code": 502}}]), Stream([chunk({"role": "assistant"}), Cut()])
        )
        _, completion = await it.ask(asks())
    assert (completion.text, it.waits) == ("Hi", [0.5, 1.0])


@pytest.mark.parametrize("broken", [b"data: {oops\n\n", b"data: \xff\n\n"])
async def test_a_chunk_that_cannot_be_read_is_a_model_error(broken: bytes) -> None:
    async with bench(Stream([Raw(broken), DONE])) as it:
        with pytest.raises(ModelError, match="cannot be read"):
            await it.ask(asks())
    assert len(it.openai.requests) == 1


async def test_L22_empty_finish_reasons_are_none_and_a_missing_one_is_flagged() -> None:
    pieces = [chunk({"content": piece}, finish="") for piece in ("Hi ", "you")]
    async with bench(Stream([*pieces, chunk({}, finish="stop"), DONE])) as it:
        assert (await it.ask(asks()))[1].finish is Finish.STOP
        it.openai.script = Stream([*pieces, DONE])
        _, completion = await it.ask(asks())
        assert (completion.text, completion.finish) == ("Hi you", Finish.INCOMPLETE)
        it.openai.script = Stream(pieces)
        assert (await it.ask(asks()))[1].finish is Finish.INCOMPLETE


async def test_a_stream_with_nothing_in_it_is_tried_again_and_then_a_fault() -> None:
    async with bench(Stream([DONE])) as it:
        with pytest.raises(ModelUnreachable, match="before the answer began"):
            await it.ask(asks())
    assert len(it.openai.requests) == 3


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        (
            [{"id": None, "function": {"name": "dice", "arguments": ""}}, {"function": {"arguments": '{"n"'}},
             {"function": {"arguments": ": 6}"}}],
            [("dice", '{"n": 6}')],
        ),
        (
            [{"id": "a", "function": {"name": "clock"}}, {"id": "b", "function": {"name": "dice", "arguments": "{}"}}],
            [("clock", ""), ("dice", "{}")],
        ),
        (
            [{"index": 0, "id": "a", "function": {"name": "clock", "arguments": "{}"}},
             {"index": 0, "id": "b", "function": {"name": "dice", "arguments": "{}"}}],
            [("clock", "{}"), ("dice", "{}")],
        ),
        (
            [{"index": 1, "id": "b", "function": {"name": "dice", "arguments": "{"}},
             {"index": 0, "id": "a", "function": {"name": "clock", "arguments": "{}"}},
             {"index": 1, "function": {"name": "dice", "arguments": "}"}}],
            [("dice", "{}"), ("clock", "{}")],
        ),
        ([{"function": {"name": "dice", "arguments": {"n": 6}}}], [("dice", '{"n": 6}')]),
        ([{"function": {"name": "clock"}}, {"function": {"name": "clock"}}], [("clock", ""), ("clock", "")]),
    ],
)  # fmt: skip
async def test_L11_tool_calls_without_index_or_id_are_put_together(
    deltas: list[dict[str, Any]], calls: list[tuple[str, str]]
) -> None:
    steps = [*(chunk({"tool_calls": [delta]}) for delta in deltas), chunk({}, finish="stop"), DONE]
    async with bench(Stream(steps)) as it:
        _, completion = await it.ask(asks(tools=(CLOCK,)))
    assert [(call.name, call.arguments) for call in completion.tool_calls] == calls
    assert completion.finish is Finish.TOOL_CALLS
    assert len({call.id for call in completion.tool_calls if call.id}) == len(calls)


async def test_content_in_typed_parts_is_read() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    steps = [chunk({"content": [thinking, {"type": "text", "text": "Hi"}]}), chunk({}, finish="stop"), DONE]
    async with bench(Stream(steps)) as it:
        _, completion = await it.ask(asks())
    assert (completion.text, completion.reasoning) == ("Hi", "hm")


async def test_a_server_that_does_not_stream_is_asked_for_whole_answers_from_then_on() -> None:
    whole = {"choices": [{"index": 0, "message": {"content": "<think>x</think>Hi"}, "finish_reason": "stop"}]}
    async with bench(Plain(body=whole)) as it:
        for _ in range(2):
            _, completion = await it.ask(asks())
            assert (completion.text, completion.reasoning) == ("Hi", "x")
    assert ["stream" in request.body for request in it.openai.requests] == [True, False, False]
    assert [learned.quirk for learned in it.saved] == [Quirk.NO_STREAM]


async def test_an_error_with_status_200_and_no_stream_is_told() -> None:
    async with bench(Plain(body={"error": {"message": "wrong plan", "code": 403}})) as it:
        with pytest.raises(ModelRefused, match="wrong plan"):
            await it.ask(asks())


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
        {"test": Provider(name="test", base_url=gone)}, Quirks(), Catalogue(), sleep=lambda _: asyncio.sleep(0)
    )
    with pytest.raises(ModelUnreachable, match="no connection to http://127"):
        await anext(model.stream(asks()))
    await model.close()


async def test_something_else_than_a_web_server_is_a_model_error() -> None:
    async def gibber(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(gibber, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        provider = Provider(name="test", base_url=f"http://127.0.0.1:{port}/v1")
        model = OpenAIModel({"test": provider}, Quirks(), Catalogue(), sleep=lambda _: asyncio.sleep(0))
        with pytest.raises(ModelError):
            await anext(model.stream(asks()))
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
    drip = itertools.chain.from_iterable(itertools.repeat((chunk({"reasoning": "hm"}), Pause(0.01))))
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


# Cost


def test_reading_a_streamed_answer_costs_next_to_nothing() -> None:
    """Twelve chunks in well under the millisecond that the SDK's typed chunks would take each half of."""
    chunks = [*said(*(f"word {number} and more, " for number in range(12))), chunk({}, finish="stop")]
    times = 300
    started = time.process_time()
    for _ in range(times):
        answer = Answer()
        text = "".join(answer.take(one) for one in chunks) + answer.end()
        assert answer.completion(first_token_ms=0, total_ms=0).text == text
    assert (time.process_time() - started) / times < 0.001


def test_the_client_costs_no_more_memory_than_its_sdk() -> None:
    program = """
import asyncio, psutil, aiohttp, structlog, pydantic, openai, sys
before = psutil.Process().memory_info().rss
import bot.llm.client
print((psutil.Process().memory_info().rss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 4_096
