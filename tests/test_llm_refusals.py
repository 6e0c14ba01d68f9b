"""What servers refuse is understood in their own words, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from bot.llm.lessons import quirk_for
from bot.llm.model import ModelRequest
from bot.llm.quirks import Quirk
from bot.llm.refusals import error_for, read_refusal, redact
from bot.llm.wire import chat_body
from tests.emulators.openai import Refuse, errors
from tests.emulators.openai.harness import EVERYTHING


def body_of(request: ModelRequest = EVERYTHING, *quirks: Quirk) -> dict[str, Any]:
    return chat_body(request, "scripted", frozenset(quirks), output_limit=100, replay_field="reasoning_content")


# Refusals in the words of the servers


def said(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


JINJA_ALTERNATE = (
    "\n------------\nWhile executing CallExpression at line 47, column 32 in source:\n... Error: Jinja Exception: "
    "After the optional system message, conversation roles must alternate user and assistant roles."
)


@pytest.mark.parametrize(
    ("status", "body", "quirk"),
    [
        (400, errors.unsupported_parameter("max_tokens", "max_completion_tokens").body, Quirk.MAX_COMPLETION_TOKENS),
        (400, errors.unsupported_value("temperature", 0.8).body, Quirk.NO_SAMPLING),
        (400, said("`temperature` and `top_p` cannot both be specified for this model."), Quirk.NO_SAMPLING),
        (400, said("temperature: Extra inputs are not permitted"), Quirk.NO_SAMPLING),
        (422, errors.extra_forbidden("top_p").body, Quirk.NO_SAMPLING),
        (422, errors.extra_forbidden("top_k").body, Quirk.NO_EXTRAS),
        (400, said("Unrecognized request argument supplied: top_k"), Quirk.NO_EXTRAS),
        (400, errors.unsupported_parameter("stop").body, Quirk.NO_STOP),
        (400, said("stop sequences are not supported for reasoning models"), Quirk.NO_STOP),
        (400, said("unsupported: 'stop' when reasoning"), Quirk.NO_STOP),
        (422, errors.extra_forbidden("stream_options").body, Quirk.NO_STREAM_OPTIONS),
        (400, [said('Invalid JSON payload received. Unknown name "stream_options": Cannot find field.', code=400)],
         Quirk.NO_STREAM_OPTIONS),
        (400, said("Your organization must be verified to stream this model.", param="stream"),
         Quirk.NO_STREAM),
        (400, said("registry.ollama.ai/library/gemma3:4b does not support tools", type="api_error"), Quirk.NO_TOOLS),
        (500, said("tools param requires --jinja flag", code=500), Quirk.NO_TOOLS),
        (400, said('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
         Quirk.NO_TOOLS),
        (404, said("No endpoints found that support tool use."), Quirk.NO_TOOLS),
        (400, said('"llama3" does not support thinking'), Quirk.NO_THINKING),
        (400, errors.unsupported_parameter("reasoning_effort").body, Quirk.NO_THINKING),
        (404, said("No endpoints found that support image input"), Quirk.NO_IMAGES),
        (500, said("image input is not supported - hint: you may need to provide the mmproj"), Quirk.NO_IMAGES),
        (400, said("Failed: messages[2]: unknown variant `image_url`, expected `text`"), Quirk.NO_IMAGES),
        (400, said("messages[2].content must be a string"), Quirk.NO_IMAGES),
        (400, said("scripted is not a multimodal model"), Quirk.NO_IMAGES),
        (422, errors.extra_forbidden("messages", 1, "user", "name").body, Quirk.NO_NAME),
        (400, said("'messages.1' : for 'role:user' the following must be satisfied[property 'name' is unsupported]"),
         Quirk.NO_NAME),
        (422, errors.extra_forbidden("messages", 3, "assistant", "reasoning_content").body, Quirk.NO_REASONING_REPLAY),
        (400, said("This response_format type is unavailable now"), Quirk.NO_JSON_SCHEMA),
        (422, errors.extra_forbidden("response_format").body, Quirk.NO_JSON_SCHEMA),
        (500, said(JINJA_ALTERNATE, code=500), Quirk.ALTERNATING),
        (400, said("Conversation roles must alternate user/assistant/user/assistant/..."), Quirk.ALTERNATING),
        (400, said("r1 does not support successive user or assistant messages. You should interleave them."),
         Quirk.ALTERNATING),
        (400, {"object": "error", "message": "Unexpected role 'user' after role 'user'", "code": "3230"},
         Quirk.ALTERNATING),
        (400, {"object": "error", "code": "3280",
               "message": "Tool call id was c1 but must be a-z, A-Z, 0-9, with a length of 9."}, Quirk.PLAIN_CALL_IDS),
        (400, said('messages: roles must alternate, but found multiple "user" roles in a row'), Quirk.ALTERNATING),
        (400, {"object": "error", "message": "System role not supported", "code": 400}, Quirk.NO_SYSTEM),
        (400, said("Only user and assistant roles are supported!"), Quirk.NO_SYSTEM),
        (400, said("Unsupported value: 'messages[0].role' does not support 'system'."), Quirk.NO_SYSTEM),
        (400, said("Developer instruction is not enabled for models/gemma-3-4b-it"), Quirk.NO_SYSTEM),
        (400, {"detail": '{"message": "System role not supported"}'}, Quirk.NO_SYSTEM),
        (400, said("This model does not support the 'system' role."), Quirk.NO_SYSTEM),
        (400, said("Gemma doesn't support a system prompt"), Quirk.NO_SYSTEM),
        (400, said("'system' role is unsupported"), Quirk.NO_SYSTEM),
        (422, said("Invalid 'messages[0].role': system"), Quirk.NO_SYSTEM),
        (400, said("Invalid value: 'system'. Supported values are: 'user' and 'assistant'."), Quirk.NO_SYSTEM),
    ],
)  # fmt: skip
def test_refusals_are_understood_in_the_words_of_the_servers(status: int, body: Any, quirk: Quirk) -> None:
    assert quirk_for(read_refusal(status, body), body_of()) is quirk


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, said("The moon is in the wrong phase")),
        (400, said("Please do not stop now, the tools have no name; think about it")),
        (400, said("max_tokens must be at least 1, got -186.")),
        (400, said("The reasoning_content in the thinking mode must be passed back to the API.")),
        (401, said("Unsupported parameter: 'temperature'")),
        (429, said("temperature is not supported")),
        (503, said("System role not supported")),
        (400, None),
        (400, ""),
        (400, "<html>Bad Request</html>"),
        (400, [[[[[[[[said("temperature is not supported")]]]]]]]]),
    ],
)
def test_other_refusals_teach_nothing(status: int, body: Any) -> None:
    assert quirk_for(read_refusal(status, body), body_of()) is None


def test_what_people_wrote_is_not_read_from_an_error_body() -> None:
    fault = {"loc": ["body", "messages"], "msg": "Field required", "input": "temperature is not supported"}
    refusal = read_refusal(422, {"detail": [fault]})
    assert "temperature" not in refusal.text
    assert quirk_for(refusal, body_of()) is None


# Context


@pytest.mark.parametrize(
    ("body", "limit", "given"),
    [
        (errors.context_too_long(4096, 5000).body, 4096, 5000),
        (said("the request exceeds the available context size. try increasing the context size",
              type="exceed_context_size_error", n_prompt_tokens=1407, n_ctx=256), 256, 1407),
        (said("This model's maximum context length is 8192 tokens. However, your messages resulted in 8400 tokens.",
              code="context_length_exceeded"), 8192, 8400),
        (said("This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in "
              "the messages, 10000 in the completion)."), 16384, 122946),
        (said("This model's maximum context length is 2048 tokens. However, your request has 8 input tokens plus 2045 "
              "'max_tokens'.", param="input_tokens, max_tokens"), 2048, 8),
        (said("This endpoint's maximum context length is 128000 tokens. However, you requested about 130000 tokens"),
         128000, 130000),
        (said("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens."),
         272000, 300000),
        (said("Your input exceeds the context window of this model."), None, None),
        (said("prompt is too long: 210000 tokens > 200000 maximum"), 200000, 210000),
        (said("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"), 200000, 190000),
        ([said("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).")],
         1048575, 1196265),
        ({"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with "
          "32768 maximum context length"}, 32768, 40000),
        (said("This model's maximum prompt length is 131072 but the request contains 537812 tokens."), 131072, 537812),
        (said("Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)"), 8192, 9000),
        (said("prompt token count of 128835 exceeds the limit of 128000"), 128000, 128835),
        ({"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292."},
         4081, 4292),
        ({"message": "Please reduce the length of the messages or completion. Current length is 9000 while limit is "
          "8192"}, 8192, 9000),
        ({"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` "
          "tokens and 100 `max_new_tokens`"}, 4096, 5000),
        ({"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with "
          "context length of only 4096 tokens"}, 4096, 5000),
        (said("The input (5000 tokens) is longer than the model's context length (4096 tokens)."), 4096, 5000),
        (said("The decoder prompt (length 5000) is longer than the maximum model length of 4096."), 4096, 5000),
        (said("Prompt length 5000 is greater than max_seq_len 4096"), 4096, 5000),
        (said("Prompt exceeds max length", code="1261"), None, None),
        (said("Range of input length should be [1, 30720]"), 30720, None),
        (said("Requested tokens (516) exceed context window of 512"), 512, 516),
    ],
)  # fmt: skip
def test_M17_prompts_that_do_not_fit_are_recognised_with_their_counts(
    body: Any, limit: int | None, given: int | None
) -> None:
    assert read_refusal(400, body).overflow == (limit, given)


@pytest.mark.parametrize("body", [said("Rate limit reached: 8192 tokens per minute"), said("bad"), None])
def test_other_refusals_are_no_overflow(body: Any) -> None:
    assert read_refusal(400, body).overflow is None
    assert read_refusal(429, said("prompt is too long")).overflow is None


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdef1234567890.",
        "key AIzaSyA1234567890abcdefghijk is wrong",
        "got Authorization: Bearer abc.def.ghi",
        "mysecret is wrong",
    ],
)
def test_secrets_are_taken_out_of_messages(text: str) -> None:
    clean = redact(text, "mysecret")
    assert "***" in clean
    assert not any(secret in clean for secret in ("abcdef", "AIza", "def.ghi", "mysecret"))


def test_long_messages_are_cut_to_one_line() -> None:
    assert len(redact("a\nb " * 1000)) == 300
    assert "\n" not in redact("a\nb")


def test_refusals_in_odd_shapes_are_read() -> None:
    nested = Refuse(status=400, body={"error": {"metadata": {"raw": '{"error": {"message": "inner words"}}'}}})
    assert read_refusal(nested.status, nested.body).message == "inner words"
    assert read_refusal(None, {"message": "died", "code": 502}).status == 502
    assert read_refusal(500, "Internal Server Error").is_wordless
    assert read_refusal(500, None).is_wordless
    assert not read_refusal(500, "out of memory").is_wordless


def test_what_is_to_be_done_begins_a_sentence_of_its_own() -> None:
    busy = error_for(read_refusal(503, {"error": {"message": "I am busy."}}), "mine/x")
    assert str(busy) == "mine/x: I am busy. Trying later may help."
    wordless = error_for(read_refusal(503, None), "mine/x")
    assert str(wordless) == "mine/x: HTTP 503 without a word. Trying later may help."
