"""What an endpoint cannot take is learned from one refusal, remembered, and can be forgotten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from bot.llm.model import ModelRefused
from bot.llm.quirks import HABIT_ANSWERS, LearnedQuirk, Quirk, Quirks
from bot.llm.wire import IMAGE_NOTE
from tests.emulators.openai import Chooser, Reply, Request, Say, errors
from tests.emulators.openai.harness import EVERYTHING, asks, bench


def refusing(refuses: Callable[[Request], bool], refusal: Reply) -> Chooser:
    return lambda request: refusal if refuses(request) else Say(text="Hi")


def has(*keys: str) -> Callable[[Request], bool]:
    return lambda request: any(key in request.body for key in keys)


def repeats(request: Request) -> bool:
    return any(one == other for one, other in pairwise(request.roles))


CASES: Mapping[str, tuple[Chooser, Quirk]] = {
    "L01": (
        refusing(has("max_tokens"), errors.unsupported_parameter("max_tokens", "max_completion_tokens")),
        Quirk.MAX_COMPLETION_TOKENS,
    ),
    "L02": (refusing(has("temperature", "top_p"), errors.unsupported_value("temperature", 0.8)), Quirk.NO_SAMPLING),
    "L06": (refusing(repeats, errors.server_error(500, {"message": "roles must alternate"})), Quirk.ALTERNATING),
    "L07": (refusing(lambda request: "system" in request.roles, errors.server_error(500)), Quirk.NO_SYSTEM),
    "L13": (
        refusing(lambda request: "json_schema" in str(request.body.get("response_format")),
                 errors.openai_error(400, "This response_format type is unavailable now")),
        Quirk.NO_JSON_SCHEMA,
    ),
    "L23": (
        refusing(lambda request: "image_url" in str(request.messages),
                 errors.openai_error(400, "image input is not supported")),
        Quirk.NO_IMAGES,
    ),
    "L26": (refusing(has("stop"), errors.unsupported_parameter("stop")), Quirk.NO_STOP),
}  # fmt: skip


async def learns(case: str) -> list[Request]:
    """Ask twice; the second call takes one request. A third model of the same server is asked as if new."""
    script, quirk = CASES[case]
    async with bench(script) as it:
        assert (await it.ask(EVERYTHING))[1].text == "Hi"
        first = list(it.openai.requests)
        await it.ask(EVERYTHING)
        assert len(it.openai.requests) == len(first) + 1
        endpoint = "test@127.0.0.1"
        assert it.quirks.known(endpoint, "scripted") == {quirk}
        # What a server never said counts until the process ends.
        is_stated = case != "L07"
        assert it.saved == [LearnedQuirk(endpoint=endpoint, model="scripted", quirk=quirk)] * is_stated
        assert it.quirks.known(endpoint, "other") == frozenset()
        return first


async def test_L01_the_newer_name_of_the_output_limit_is_learned() -> None:
    refused, passed = await learns("L01")
    assert (refused.body["max_tokens"], passed.body["max_completion_tokens"]) == (8192 // 4 + 100, 8192 // 4 + 100)
    assert "max_tokens" not in passed.body


async def test_L23_a_model_that_takes_no_image_makes_up_no_description_of_one() -> None:
    script, _ = CASES["L23"]
    async with bench(script) as it:
        with pytest.raises(ModelRefused, match="takes no images"):
            await it.ask(replace(EVERYTHING, needs_images=True))
        assert len(it.openai.requests) == 1


async def test_L02_sampling_is_dropped_and_nothing_else() -> None:
    _, passed = await learns("L02")
    assert "temperature" not in passed.body
    assert "top_p" not in passed.body
    assert passed.body["top_k"] == 40
    assert passed.body["stop"] == ["\nAlice:"]


async def test_L02_penalties_go_with_the_rest_and_other_models_still_get_all_of_it() -> None:
    sampling = {"temperature": 0.8, "top_p": 0.9, "presence_penalty": 0.1, "frequency_penalty": 0.2}

    def script(request: Request) -> Reply:
        is_refused = request.model == "thinker" and "temperature" in request.body
        return errors.unsupported_value("temperature", 0.8) if is_refused else Say(text="Hi")

    async with bench(script) as it:
        for model in ("thinker", "thinker", "other"):
            await it.ask(asks(model=f"test/{model}", parameters=sampling))
        sent = [{key for key in request.body if key in sampling} for request in it.openai.requests]
    assert sent == [{*sampling}, set(), set(), {*sampling}]


async def test_L06_neighbours_of_one_role_are_merged_with_their_names() -> None:
    _, passed = await learns("L06")
    assert passed.roles == ["system", "user", "assistant", "tool"]
    assert passed.messages[1]["content"][0]["text"] == "Alice: Hi\n\nBob: Look"


async def test_L07_without_a_system_role_its_text_stands_before_the_first_user_text() -> None:
    refused, again, passed = await learns("L07")
    assert refused.body == again.body
    assert passed.roles == ["user", "user", "assistant", "tool"]
    assert passed.messages[0]["content"] == "You are Luna.\n\nAlice: Hi"


async def test_L13_a_schema_that_is_refused_is_asked_for_in_words() -> None:
    _, passed = await learns("L13")
    assert passed.body["response_format"] == {"type": "json_object"}
    assert "JSON" in passed.last_user
    assert '"mood"' in passed.last_user


async def test_L23_without_images_the_turn_goes_on_and_says_that_there_was_one() -> None:
    _, passed = await learns("L23")
    assert passed.messages[2]["content"] == f"Look\n{IMAGE_NOTE}"


async def test_L26_stop_sequences_are_dropped() -> None:
    _, passed = await learns("L26")
    assert "stop" not in passed.body


async def test_several_quirks_are_learned_one_refusal_at_a_time() -> None:
    def strict(request: Request) -> Reply:
        for key in ("max_tokens", "temperature", "stop", "stream_options", "reasoning_effort"):
            if key in request.body:
                return errors.unsupported_parameter(key)
        return Say(text="Hi")

    async with bench(strict) as it:
        await it.ask(EVERYTHING)
        assert len(it.openai.requests) == 6
        await it.ask(EVERYTHING)
        assert len(it.openai.requests) == 7
    assert len(it.saved) == 5


async def test_a_server_that_refuses_everything_is_not_asked_for_ever() -> None:
    async with bench(lambda request: errors.unsupported_parameter(sorted(request.body)[-1])) as it:
        with pytest.raises(ModelRefused):
            await it.ask(EVERYTHING)
    assert len(it.openai.requests) <= 7


async def test_nothing_is_learned_from_a_change_that_did_not_help() -> None:
    refusal = errors.openai_error(400, "invalid max_tokens: the moon is in the wrong phase", param="max_tokens")
    async with bench(lambda _request: refusal) as it:
        with pytest.raises(ModelRefused, match="moon"):
            await it.ask(EVERYTHING)
    assert it.saved == []
    assert it.quirks.known("test@127.0.0.1", "scripted") == frozenset()


async def test_what_was_learned_before_a_restart_is_known_after_it() -> None:
    script, quirk = CASES["L01"]
    known = LearnedQuirk(endpoint="test@127.0.0.1", model="scripted", quirk=quirk)
    async with bench(script, known=(known,)) as it:
        await it.ask(EVERYTHING)
        assert (len(it.openai.requests), it.saved) == (1, [])


async def test_what_was_learned_can_be_forgotten_and_the_full_form_is_tried_again() -> None:
    script, quirk = CASES["L01"]
    home, dropped = "test@127.0.0.1", list[tuple[str, str]]()

    async def drop(endpoint: str, model: str) -> None:
        dropped.append((endpoint, model))

    before = [LearnedQuirk(endpoint=home, model=model, quirk=quirk) for model in ("scripted", "other")]
    async with bench(script, known=tuple(before), drop=drop) as it:
        await it.quirks.forget(home, "scripted")
        assert [it.quirks.known(home, model) for model in ("scripted", "other")] == [frozenset(), {quirk}]
        assert dropped == [(home, "scripted")]
        await it.ask(EVERYTHING)
        assert ["max_tokens" in request.body for request in it.openai.requests] == [True, False]
        assert it.saved == before[:1]


async def test_a_habit_that_was_forgotten_has_to_show_again_as_often() -> None:
    quirks = Quirks()
    for _ in range(HABIT_ANSWERS - 1):
        await quirks.note_habits("home", "a", {Quirk.NEEDS_ROOM})
    await quirks.forget("home", "a")
    for times in range(HABIT_ANSWERS):
        assert (times, quirks.learned("home", "a")) == (times, frozenset())
        await quirks.note_habits("home", "a", {Quirk.NEEDS_ROOM})
    assert quirks.learned("home", "a") == {Quirk.NEEDS_ROOM}


def test_what_a_models_name_says_is_known_but_not_learned() -> None:
    quirks = Quirks()
    assert quirks.known("home", "deepseek-r1:7b") == {Quirk.THINKS_UNOPENED, Quirk.NEEDS_ROOM}
    assert quirks.learned("home", "deepseek-r1:7b") == frozenset()


async def test_a_server_that_stumbles_twice_is_not_taken_for_one_without_a_system_role_for_good() -> None:
    async with bench() as it:
        it.openai.queue(errors.server_error(500), errors.server_error(500))
        assert (await it.ask(EVERYTHING))[1].text == "Hello!"
    assert it.saved == []
