"""What a model thinks is never shown as what it says, however it is marked and wherever the stream is cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.llm.catalogue import LimitsOverride
from bot.llm.model import (
    Finish,
    ModelMessage,
    Role,
    ToolCall,
    ToolSpec,
    Usage,
)
from bot.llm.quirks import HABIT_ANSWERS, Quirk, ThinkingStyle
from bot.llm.reasoning import ReasoningFilter
from tests.emulators.openai import Call, Reply, Request, Say, errors
from tests.emulators.openai.harness import asks, bench
from tests.piecewise import cut, shown

CLOCK = ToolSpec(name="clock", description="tells the time", parameters={"type": "object", "properties": {}})


def split_reasoning(text: str) -> tuple[str, str]:
    """Visible text and reasoning of an answer that comes in one piece."""
    whole = ReasoningFilter(hold=True)
    shown(whole, [text])
    return whole.text, whole.reasoning


BORDERS = st.lists(st.integers(0, 10_000), max_size=40)


def texts_of(*fragments: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(fragments) | st.text(max_size=4), max_size=14).map("".join)


# The filter


@pytest.mark.parametrize(
    ("text", "visible", "reasoning"),
    [
        ("Hello!", "Hello!", ""),
        ("<think>plan</think>Hello!", "Hello!", "plan"),
        ("<thinking>\nplan\n</thinking>\n\nHello!", "Hello!", "plan"),
        ("<THINK>plan</Think>Hello!", "Hello!", "plan"),
        ("[THINK]plan[/THINK]Hello!", "Hello!", "plan"),
        ("<think></think>\n\nHello!", "Hello!", ""),
        ("Hello <think>plan</think>there", "Hello there", "plan"),
        ("<think>a</think>Hi<think>b</think>!", "Hi!", "ab"),
        ("<think>never closed", "", "never closed"),
        ("Well</think>", "", "Well"),
        ("<think>a</think>Hi</think>", "Hi", "a"),
        ("1 < 2 and [so on] <thin", "1 < 2 and [so on] <thin", ""),
        ("Strip `<think>` with:\n```\nre.sub('</think>', '')\n```\nDone", None, ""),
        ("It`s fine\n<think>plan</think>Hi", "It`s fine\nHi", "plan"),
        ("", "", ""),
    ],
)
def test_reasoning_is_kept_apart_from_what_is_said(text: str, visible: str | None, reasoning: str) -> None:
    assert split_reasoning(text) == (text if visible is None else visible, reasoning)


def test_L03_text_before_a_lone_closing_tag_is_reasoning() -> None:
    assert split_reasoning("plan the reply…</think>Hello!") == ("Hello!", "plan the reply…")


def test_L03_a_model_known_to_think_first_shows_nothing_of_it() -> None:
    held = ReasoningFilter(hold=True)
    assert [held.feed("plan the "), held.feed("reply…</thi"), held.feed("nk>Hello"), held.feed("!")] == [
        "", "", "Hello", "!"
    ]  # fmt: skip
    assert held.unopened
    assert not held.retracted


def test_L03_an_unknown_model_is_caught_late_and_says_so() -> None:
    caught = ReasoningFilter()
    assert shown(caught, ["plan", "</think>", "Hello!"]) == ["plan", "", "Hello!", ""]
    assert caught.retracted
    assert (caught.text, caught.reasoning) == ("Hello!", "plan")


def test_L04_tags_cut_over_chunks_never_leak() -> None:
    assert shown(ReasoningFilter(), ["<thi", "nk>secret</th", "ink>", "Hi"]) == ["", "", "", "Hi", ""]


def test_a_server_that_splits_reasoning_off_ends_the_holding() -> None:
    held = ReasoningFilter(hold=True)
    held.feed("Hel")
    assert held.settle() + held.feed("lo") == "Hello"


THOUGHTS = texts_of("<think>", "</think>", "<thinking>", "</thinking>", "<", "</thi", "`", "```", "\n", " ", "hm", "[")


@given(THOUGHTS, BORDERS, st.booleans())
def test_reasoning_comes_out_the_same_for_every_chunking(text: str, borders: list[int], hold: bool) -> None:
    piecewise = ReasoningFilter(hold=hold)
    pieces = shown(piecewise, cut(text, borders))
    assert (piecewise.text, piecewise.reasoning) == split_reasoning(text)
    if not piecewise.retracted:
        assert "".join(pieces) == piecewise.text


@given(st.text(alphabet="abc <>/`\n", max_size=30))
def test_text_without_tags_is_shown_whole_and_at_once(text: str) -> None:
    assert split_reasoning(text) == (text.lstrip(), "")
    first = text.lstrip()[:1]
    if first and first not in "<`":
        assert ReasoningFilter().feed(first) == first


# Over real sockets


@pytest.mark.parametrize("field_name", ["reasoning_content", "reasoning"])
async def test_reasoning_that_the_server_splits_off_is_never_text(field_name: str) -> None:
    async with bench(Say(text="Hi", reasoning=["let me ", "think"], reasoning_field=field_name)) as it:
        deltas, completion = await it.ask(asks())
    assert (deltas, completion.text, completion.reasoning) == (["Hi"], "Hi", "let me think")


async def test_L03_a_closing_tag_alone_hides_what_came_before_and_is_learned_when_it_comes_thrice() -> None:
    answer = Say(text=["plan the ", "reply…</th", "ink>Hel", "lo!"])
    async with bench(answer) as it:
        for _ in range(HABIT_ANSWERS):
            assert it.saved == []
            deltas, completion = await it.ask(asks())
            assert (completion.text, completion.reasoning) == ("Hello!", "plan the reply…")
            assert completion.replaces_deltas
            assert "".join(deltas) != completion.text
        deltas, completion = await it.ask(asks())
        assert (deltas, completion.text, completion.replaces_deltas) == (["Hel", "lo!"], "Hello!", False)
    assert [learned.quirk for learned in it.saved] == [Quirk.THINKS_UNOPENED]


async def test_L03_odd_answers_between_ordinary_ones_do_not_make_a_model_one_that_is_held_back() -> None:
    async with bench() as it:
        for _ in range(HABIT_ANSWERS):
            it.openai.queue(*[Say(text="It ends with </think>, you know.")] * (HABIT_ANSWERS - 1), Say(text="Hi"))
            for _ in range(HABIT_ANSWERS):
                await it.ask(asks())
        assert it.quirks.known("test@127.0.0.1", "scripted") == frozenset()
    assert it.saved == []


async def test_L03_models_known_by_name_are_never_shown_thinking() -> None:
    async with bench(Say(text=["plan</think>", "Hi", "!"])) as it:
        deltas, completion = await it.ask(asks(model="test/deepseek-r1:7b"))
    assert (deltas, completion.text, completion.replaces_deltas) == (["Hi", "!"], "Hi!", False)


async def test_L04_think_tags_cut_over_chunks_never_show() -> None:
    async with bench(Say(text=["<thi", "nk>secret</th", "ink>", "Hi"])) as it:
        deltas, completion = await it.ask(asks())
    assert (deltas, completion.text, completion.reasoning) == (["Hi"], "Hi", "secret")


STARVED = Say(
    text="", finish="length", usage={"completion_tokens": 100, "completion_tokens_details": {"reasoning_tokens": 99}}
)


async def test_L18_reasoning_that_used_up_the_limit_gets_more_room_once_and_always_when_it_did_so_thrice() -> None:
    async with bench(Say(text="Here."), limits=LimitsOverride(context_window=32_768)) as it:
        for _ in range(HABIT_ANSWERS):
            assert it.saved == []
            it.openai.queue(STARVED)
            _, completion = await it.ask(asks())
            assert completion.text == "Here."
        assert [request.body["max_tokens"] for request in it.openai.requests] == [100, 8292] * HABIT_ANSWERS
        await it.ask(asks())
        assert it.openai.last.body["max_tokens"] == 8292
        assert len(it.openai.requests) == 2 * HABIT_ANSWERS + 1
    assert [learned.quirk for learned in it.saved] == [Quirk.NEEDS_ROOM]


async def test_L18_an_answer_that_needed_room_among_others_that_did_not_changes_nothing_for_good() -> None:
    async with bench(Say(text="Here."), limits=LimitsOverride(context_window=32_768)) as it:
        for _ in range(HABIT_ANSWERS):
            it.openai.queue(STARVED, Say(text="Here."), Say(text="There."))
            assert [(await it.ask(asks()))[1].text for _ in range(2)] == ["Here.", "There."]
        assert it.openai.last.body["max_tokens"] == 100
    assert it.saved == []


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


async def test_L18_room_that_does_not_fit_the_window_is_given_up() -> None:
    def counts_output(request: Request) -> Reply:
        return errors.context_too_long(8192, 9000) if request.body["max_tokens"] > 1000 else Say(text="Hi")

    async with bench(counts_output) as it:
        _, completion = await it.ask(asks(thinking=True))
    assert completion.text == "Hi"
    assert [request.body["max_tokens"] for request in it.openai.requests] == [2148, 100]


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
