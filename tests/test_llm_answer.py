"""Odd answers of odd servers, over real sockets, and what reading them costs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from bot.llm.answer import Answer
from bot.llm.model import (
    Finish,
    ModelError,
    ModelUnreachable,
    TextDelta,
    ToolSpec,
    Usage,
)
from tests.emulators.openai import (
    DONE,
    Cut,
    Plain,
    Raw,
    Refuse,
    Reply,
    Say,
    Stall,
    Stream,
    Wait,
    chunk,
    errors,
    said,
)
from tests.emulators.openai.harness import asks, bench

CLOCK = ToolSpec(name="clock", description="tells the time", parameters={"type": "object", "properties": {}})


def usage_chunk(**usage: Any) -> dict[str, Any]:
    return {"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage}


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


@pytest.mark.parametrize(
    ("told", "cost"),
    [(0.00095, 950_000), (0, 0), (1, 10**9), (-1, None), (10**30, None), ("0.1", None), (None, None)],
)
async def test_a_server_that_tells_what_it_charged_is_read(told: object, cost: int | None) -> None:
    ending = (chunk({}, finish="stop"), usage_chunk(prompt_tokens=3, cost=told), DONE)
    async with bench(Stream([*said("Hi"), *ending])) as it:
        _, completion = await it.ask(asks())
    assert completion.usage is not None
    assert (completion.usage.cost, completion.usage.currency) == (cost, None if cost is None else "USD")


@pytest.mark.parametrize(("told", "kept"), [(-5, 0), (10**30, 10**9), (7, 7), (7.0, 7), (float("nan"), 0)])
async def test_counts_that_cannot_be_true_fit_into_the_ledger_all_the_same(told: float, kept: int) -> None:
    async with bench(Stream([*said("Hi"), chunk({}, finish="stop"), usage_chunk(prompt_tokens=told), DONE])) as it:
        _, completion = await it.ask(asks())
    assert completion.usage is not None
    assert completion.usage.input_tokens == kept


async def test_a_server_that_counts_nothing_leaves_the_usage_open() -> None:
    async with bench(Say(text="Hi", usage=None)) as it:
        assert (await it.ask(asks()))[1].usage is None


@pytest.mark.parametrize(
    "reason",
    [
        "content_filter",
        "content_filter: PROHIBITED_CONTENT",
        "SAFETY",
        "PROHIBITED_CONTENT",
        "RECITATION",
        "Blocklist",
        "refusal",
    ],
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
        errors.openai_error(400, "Invalid prompt: flagged as potentially violating our usage policy."),
        errors.openai_error(400, "Content Exists Risk", code="invalid_request_error"),
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
        {"object": "error", "message": "upstream died", "type": "InternalServerError", "code": 500},
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
    steps: list[Any] = [*(chunk({"tool_calls": [delta]}) for delta in deltas), chunk({}, finish="stop"), DONE]
    async with bench(Stream(steps)) as it:
        _, completion = await it.ask(asks(tools=(CLOCK,)))
    assert [(call.name, call.arguments) for call in completion.tool_calls] == calls
    assert completion.finish is Finish.TOOL_CALLS
    assert len({call.id for call in completion.tool_calls if call.id}) == len(calls)


async def test_L19_what_stands_beside_a_call_is_kept_with_it() -> None:
    part = {"index": 0, "id": "a", "function": {"name": "clock", "arguments": "{}"}, "extra_content": {"sign": "x"}}
    async with bench(Stream([chunk({"tool_calls": [part]}), chunk({}, finish="stop"), DONE])) as it:
        _, completion = await it.ask(asks(tools=(CLOCK,)))
    assert [call.extra for call in completion.tool_calls] == ['{"sign": "x"}']


async def test_L11_calls_with_one_id_between_them_get_ids_of_their_own() -> None:
    same = [{"index": place, "id": "call_0", "function": {"name": "clock", "arguments": "{}"}} for place in (0, 1)]
    async with bench(Stream([chunk({"tool_calls": same}), chunk({}, finish="tool_calls"), DONE])) as it:
        _, completion = await it.ask(asks(tools=(CLOCK,)))
    first, second = completion.tool_calls
    assert (first.id, second.id == first.id) == ("call_0", False)


async def test_events_without_data_are_no_chunks() -> None:
    pulse = Raw(b"retry: 3000\n\nid: 7\n\n: still here\n\nevent: ping\n\n\n")
    async with bench(Stream([pulse, *said("Hi"), pulse, *said("!"), chunk({}, finish="stop"), DONE])) as it:
        assert (await it.ask(asks()))[1].text == "Hi!"
    assert len(it.openai.requests) == 1


async def test_content_in_typed_parts_is_read() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    steps: list[Any] = [chunk({"content": [thinking, {"type": "text", "text": "Hi"}]}), chunk({}, finish="stop"), DONE]
    async with bench(Stream(steps)) as it:
        _, completion = await it.ask(asks())
    assert (completion.text, completion.reasoning) == ("Hi", "hm")


async def test_a_whole_message_beside_the_last_piece_says_nothing_twice() -> None:
    last = {"choices": [{"index": 0, "delta": {}, "message": {"content": "Hi!"}, "finish_reason": "stop"}]}
    async with bench(Stream([*said("Hi", "!"), last, DONE])) as it:
        assert (await it.ask(asks()))[1].text == "Hi!"


async def test_an_answer_is_whole_when_its_server_forgets_to_end_the_stream() -> None:
    steps = [*said("Hi"), chunk({}, finish="stop"), usage_chunk(prompt_tokens=3), Stall()]
    async with bench(Stream(steps), first_token_timeout=0.05) as it:
        _, completion = await it.ask(asks())
    assert (completion.text, completion.finish, completion.usage) == ("Hi", Finish.STOP, Usage(input_tokens=3))


# Cost


def test_the_client_costs_no_more_memory_than_its_sdk() -> None:
    program = """
import asyncio, psutil, aiohttp, structlog, pydantic, openai, sys
before = psutil.Process().memory_info().rss
import bot.llm.client
print((psutil.Process().memory_info().rss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 4_096


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["a\ud83d", "\ude00b"], "a😀b"),
        (["\ud83d\ude00"], "😀"),
        (["a\ude00b"], "a�b"),
        (["a\ud83d", "b"], "a�b"),
        (["a\ud83d"], "a"),
    ],
)
def test_a_character_that_comes_in_halves_is_whole_again(pieces: list[str], text: str) -> None:
    answer = Answer()
    shown = "".join(answer.take(one) for one in (*said(*pieces), chunk({}, finish="stop"))) + answer.end()
    assert shown == answer.completion(first_token_ms=0, total_ms=0).text == text
