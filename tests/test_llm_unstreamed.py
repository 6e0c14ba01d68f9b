"""What comes where a stream was wanted: a whole answer, a web page, an error that is called a success."""

from __future__ import annotations

from typing import Any

import pytest

from bot.llm.model import Finish, ModelError, ModelRefused, ModelUnreachable
from tests.emulators.openai import DONE, Plain, Raw, Refuse, chunk, said
from tests.emulators.openai.harness import asks, bench
from tests.emulators.openai.script import event

WRONG_PLAN = '{"error": {"message": "wrong plan", "code": 403}}'


async def test_a_whole_answer_where_a_stream_was_wanted_counts_as_it_is_and_teaches_nothing() -> None:
    whole = {"choices": [{"index": 0, "message": {"content": "<think>x</think>Hi"}, "finish_reason": "stop"}]}
    async with bench() as it:
        it.openai.queue(Plain(body=whole))
        _, completion = await it.ask(asks())
        assert (completion.text, completion.reasoning, completion.finish) == ("Hi", "x", Finish.STOP)
        assert (await it.ask(asks()))[1].text == "Hello!"
    assert ["stream" in request.body for request in it.openai.requests] == [True, True]
    assert it.saved == []


@pytest.mark.parametrize("kind", ["application/json", "text/html"])
async def test_a_stream_under_another_name_is_read_all_the_same(kind: str) -> None:
    steps: list[Any] = [*said("Hi", " there"), chunk({}, finish="stop"), DONE]
    body = b"".join(step.data if isinstance(step, Raw) else event(step) for step in steps)
    async with bench(Refuse(status=200, body=body.decode(), headers={"Content-Type": kind})) as it:
        _, completion = await it.ask(asks())
    assert (completion.text, completion.finish, len(it.openai.requests)) == ("Hi there", Finish.STOP, 1)


async def test_a_web_page_instead_of_an_answer_points_to_the_address() -> None:
    page = Refuse(status=200, body="<html>Welcome!</html>", headers={"Content-Type": "text/html; charset=utf-8"})
    async with bench(page) as it:
        with pytest.raises(
            ModelUnreachable, match=r"a web page came .* without its /v1\. Check PROVIDERS__TEST__BASE_URL"
        ):
            await it.ask(asks())


@pytest.mark.parametrize("status", [200, 400])
async def test_an_answer_that_is_not_compressed_as_it_says_is_a_model_error(status: int) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    async with bench(Refuse(status=status, body='{"error": "no"}', headers=headers)) as it:
        with pytest.raises(ModelError, match="cannot be read"):
            await it.ask(asks())


async def test_an_error_with_status_200_and_no_stream_is_told() -> None:
    async with bench(Plain(body={"error": {"message": "wrong plan", "code": 403}})) as it:
        with pytest.raises(ModelRefused, match="wrong plan"):
            await it.ask(asks())


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain"])
async def test_whole_answers_and_errors_that_pass_for_streams_are_read(kind: str) -> None:
    whole = '{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}'
    async with bench() as it:
        it.openai.queue(
            *(Refuse(status=200, body=body, headers={"Content-Type": kind}) for body in (whole, WRONG_PLAN))
        )
        assert (await it.ask(asks()))[1].text == "Hi"
        with pytest.raises(ModelRefused, match="wrong plan"):
            await it.ask(asks())
