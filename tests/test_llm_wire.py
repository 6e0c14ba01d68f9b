"""Requests are shaped to the API and to what a model cannot take."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from bot.llm.lessons import quirk_for
from bot.llm.model import Image, ModelMessage, ModelRequest, ToolCall
from bot.llm.quirks import HABITS, Quirk
from bot.llm.refusals import read_refusal
from bot.llm.wire import IMAGE_NOTE, OPENING_NOTE, SILENCE, chat_body
from tests.emulators.openai.harness import CALL, EVERYTHING, assistant, system, tool, user


def body_of(request: ModelRequest = EVERYTHING, *quirks: Quirk) -> dict[str, Any]:
    return chat_body(request, "scripted", frozenset(quirks), output_limit=100, replay_field="reasoning_content")


NOT_HERE = (*HABITS, Quirk.ONE_IMAGE, Quirk.NO_BARE_TOOL_ROUNDS, Quirk.NO_LENGTHS)
"""What no server states, and what has a test of its own below."""


@pytest.mark.parametrize("quirk", [quirk for quirk in Quirk if quirk not in NOT_HERE])
def test_each_quirk_takes_away_what_it_is_about(quirk: Quirk) -> None:
    """Otherwise the same refusal would teach it again and again."""
    needed = {Quirk.NO_JSON_OBJECT: (Quirk.NO_JSON_SCHEMA,)}.get(quirk, ())
    before = body_of(EVERYTHING, *needed)
    assert body_of(EVERYTHING, *needed, quirk) != before


@pytest.mark.parametrize(
    "words",
    [
        "At most 1 image(s) may be provided in one request.",
        "You may send at most 2 images.",
        "Too many images provided.",
        "Multiple images are not supported.",
        "This model takes only one image.",
    ],
)
def test_L23_a_server_that_takes_one_image_gets_the_newest_and_is_told_of_the_others(words: str) -> None:
    one, two, three = (Image(media_type="image/png", data=name.encode()) for name in "abc")
    said = (replace(user("Look"), images=(one,)), assistant("Nice"), replace(user("And?"), images=(two, three)))
    request = ModelRequest(model="m", messages=(*said, user("So?")), max_output_tokens=9)
    refusal = read_refusal(400, {"error": {"message": words}})
    assert quirk_for(refusal, body_of(request)) is Quirk.ONE_IMAGE
    body = body_of(request, Quirk.ONE_IMAGE)
    assert quirk_for(refusal, body) is not Quirk.ONE_IMAGE
    first, _, second, _ = (message["content"] for message in body["messages"])
    assert first == f"Look\n{IMAGE_NOTE}"
    assert second[0] == {"type": "text", "text": f"And?\n{IMAGE_NOTE}"}
    assert [part["image_url"]["url"][-4:] for part in second[1:]] == ["Yw=="]


def test_L13_a_server_whose_schemas_have_no_lengths_gets_the_rest_of_the_schema() -> None:
    text = {"type": "string", "minLength": 1, "maxLength": 9}
    schema = {"type": "object", "properties": {"a": text, "b": {"type": "array", "items": text, "maxItems": 2}}}
    request = ModelRequest(model="m", messages=(user("Hi"),), max_output_tokens=9, json_schema=schema)
    words = "Invalid schema for response_format 'answer': In context=('properties', 'a'), 'maxLength' is not permitted."
    refusal = read_refusal(400, {"error": {"message": words}})
    assert quirk_for(refusal, body_of(request)) is Quirk.NO_LENGTHS
    body = body_of(request, Quirk.NO_LENGTHS)
    sent = body["response_format"]["json_schema"]["schema"]
    plain = {"type": "string"}
    assert sent["properties"] == {"a": plain, "b": {"type": "array", "items": plain, "maxItems": 2}}
    assert quirk_for(refusal, body) is Quirk.NO_JSON_SCHEMA


def test_L17_only_names_that_the_api_takes_are_sent() -> None:
    names = ["Alice", "a.b", "José 🎸", "x" * 70, "", "x" * 64]
    body = body_of(ModelRequest(model="m", messages=tuple(user("Hi", name) for name in names), max_output_tokens=9))
    assert [message.get("name") for message in body["messages"]] == ["Alice", None, None, None, None, "x" * 64]


def test_L25_only_known_keys_are_sent() -> None:
    known = {"role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content"}
    assert {key for message in body_of()["messages"] for key in message} <= known


def test_parameters_cannot_replace_what_the_request_says() -> None:
    odd = {"model": "other", "messages": [], "stream": False, "max_tokens": 1, "seed": 7}
    request = ModelRequest(model="m", messages=(user("Hi"),), max_output_tokens=9, parameters=odd)
    body = body_of(request)
    assert (body["model"], body["stream"], body["max_tokens"], body["seed"]) == ("scripted", True, 100, 7)
    assert len(body["messages"]) == 1


def shaped(quirk: Quirk, *messages: ModelMessage) -> list[tuple[str, str]]:
    body = body_of(ModelRequest(model="m", messages=messages, max_output_tokens=9), quirk)
    return [(message["role"], message["content"]) for message in body["messages"]]


def test_L07_a_greeting_before_the_first_user_keeps_its_place() -> None:
    assert shaped(Quirk.NO_SYSTEM, system("S"), assistant("Hello"), user("Hi"), system("note")) == [
        ("user", "S"), ("assistant", "Hello"), ("user", "Hi"), ("user", "note")
    ]  # fmt: skip
    assert shaped(Quirk.NO_SYSTEM, user("Hi")) == [("user", "Hi")]


def test_L06_strict_templates_get_a_user_first_and_one_system_message() -> None:
    assert shaped(
        Quirk.ALTERNATING, system("S"), system("T"), assistant("Hello"), assistant("again"), user("Hi"), system("note")
    ) == [("system", "S\n\nT"), ("user", OPENING_NOTE), ("assistant", "Hello\n\nagain"), ("user", "Hi\n\nnote")]


def test_L06_names_are_not_doubled_when_the_text_has_them() -> None:
    assert shaped(Quirk.ALTERNATING, user("Alice: Hi", "Alice"), user("Hi", "Bob"), user("Hm")) == [
        ("user", "Alice: Hi\n\nBob: Hi\n\nHm")
    ]


def test_tool_rounds_become_notes_where_there_are_no_tools() -> None:
    assert shaped(Quirk.NO_TOOLS, user("time?"), assistant("Wait.", CALL), tool("noon", "c1"), assistant("", CALL)) == [
        ("user", "time?"), ("assistant", "Wait."), ("user", "[result of clock: noon]")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        "Function call is missing a thought_signature in functionCall parts.",
    ],
)
def test_L27_only_tool_rounds_without_their_reasoning_become_text(words: str) -> None:
    old = (user("time?"), assistant("Wait.", CALL), tool("noon", "c1"), assistant("It is noon."))
    now = (user("and now?"), assistant("", CALL, reasoning="look"), tool("one", "c1"), assistant("", CALL))
    request = ModelRequest(model="m", messages=(*old, *now, tool("two", "c1")), max_output_tokens=9)
    refusal = read_refusal(400, {"error": {"message": words}})
    assert quirk_for(refusal, body_of(request)) is Quirk.NO_BARE_TOOL_ROUNDS
    body = body_of(request, Quirk.NO_BARE_TOOL_ROUNDS)
    assert quirk_for(refusal, body) is None
    assert [(message["role"], message["content"]) for message in body["messages"]] == [
        ("user", "time?"), ("assistant", "Wait."), ("user", "[result of clock: noon]"), ("assistant", "It is noon."),
        ("user", "and now?"), ("assistant", None), ("tool", "one"), ("user", "[result of clock: two]"),
    ]  # fmt: skip
    assert [message["reasoning_content"] for message in body["messages"] if "tool_calls" in message] == ["look"]


def test_L19_reasoning_of_the_turn_goes_back_although_a_note_about_the_schema_stands_behind_it() -> None:
    body = body_of(EVERYTHING, Quirk.NO_JSON_SCHEMA)
    assert body["messages"][-1]["role"] == "user"
    assert body["messages"][3]["reasoning_content"] == "hm"


@pytest.mark.parametrize(
    ("came", "sent"),
    [('{"a": 1}', '{"a": 1}'), ("", "{}"), ("null", "{}"), ('{"city": "Paris",', "{}"), ("[1]", "{}"), ("Paris", "{}")],
)
def test_L10_arguments_go_back_as_a_json_object_whatever_came(came: str, sent: str) -> None:
    messages = (user("weather?"), assistant("", replace(CALL, arguments=came)), tool("no", "c1"))
    body = body_of(ModelRequest(model="m", messages=messages, max_output_tokens=9))
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == sent


def test_a_call_and_its_result_keep_one_id_whatever_form_the_server_wants() -> None:
    calls = (
        ToolCall(id="call_1f", name="clock", arguments="{}"),
        ToolCall(id="abcdEF123", name="clock", arguments="{}"),
    )
    said = (user("Hi"), assistant("", *calls), *(tool("noon", call.id) for call in calls))
    request = ModelRequest(model="m", messages=said, max_output_tokens=9)
    _, asked, first, second = body_of(request, Quirk.PLAIN_CALL_IDS)["messages"]
    sent = [call["id"] for call in asked["tool_calls"]]
    assert sent == [first["tool_call_id"], second["tool_call_id"]]
    assert (sent[1], re.fullmatch("[a-zA-Z0-9]{9}", sent[0]) is not None) == ("abcdEF123", True)


def test_L06_somebody_answers_the_results_of_tools_before_the_next_question() -> None:
    said = (user("Hi"), assistant("", CALL), tool("noon", "c1"), user("Well?"))
    request = ModelRequest(model="m", messages=said, max_output_tokens=9)
    assert [one["role"] for one in body_of(request)["messages"]] == ["user", "assistant", "tool", "user"]
    mended = body_of(request, Quirk.ALTERNATING)["messages"]
    assert [one["role"] for one in mended] == ["user", "assistant", "tool", "assistant", "user"]
    assert mended[3]["content"] == SILENCE


def test_L19_what_a_server_put_beside_a_call_goes_back_beside_it() -> None:
    signed = replace(CALL, extra='{"google": {"thought_signature": "c2ln"}}')
    request = ModelRequest(
        model="m", messages=(user("Hi"), assistant("", signed), tool("noon", "c1")), max_output_tokens=9
    )
    (call,) = body_of(request)["messages"][1]["tool_calls"]
    assert call["extra_content"] == {"google": {"thought_signature": "c2ln"}}


def test_L19_what_one_model_thought_goes_to_no_other() -> None:
    signed = replace(CALL, extra='{"google": {"thought_signature": "c2ln"}}', by="gemini/pro")
    thought = replace(assistant("", signed), reasoning="It wants the time.")
    talk = (user("Hi"), thought, tool("noon", "c1"))

    def sent_to(model: str) -> dict[str, Any]:
        request = ModelRequest(model=model, messages=talk, max_output_tokens=9)
        body = chat_body(request, "m", frozenset(), output_limit=9, replay_field="reasoning_content")
        message: dict[str, Any] = body["messages"][1]
        return message

    own, others = sent_to("gemini/pro"), sent_to("deepseek/chat")
    assert (own["reasoning_content"], "extra_content" in own["tool_calls"][0]) == ("It wants the time.", True)
    assert ("reasoning_content" in others, "extra_content" in others["tool_calls"][0]) == (False, False)
    assert others["tool_calls"][0]["id"] == own["tool_calls"][0]["id"]
