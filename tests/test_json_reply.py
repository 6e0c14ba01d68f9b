"""JSON is found in what models say around it, and nothing is taken for it that is not whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.llm.json_reply import NoJson, read_json
from tests.emulators.openai import Reply, Request, Say, errors
from tests.emulators.openai.harness import SCHEMA, asks, bench

FACTS = {"facts": ["likes tea"]}
TEXTS = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"facts":["likes tea"]}\n```\nI found one fact.',
        '{"facts": ["likes tea"]}',
        'Here you are, {name}: { "facts":\n["likes tea"] } {"more": 1}',
        '\ufeff```\n{"facts": ["likes tea"]}```',
    ],
)
def test_L14_an_object_is_found_between_fences_and_sentences(text: str) -> None:
    assert read_json(text) == FACTS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I found nothing.",
        "{name}",
        '["likes tea"]',
        '{"facts": [{"text": "likes tea"}, ',
        '{"facts": [,]} {"facts": ["likes tea"]}',
        '{"a":' * 100_000,
    ],
)
def test_L14_what_is_cut_or_no_object_is_refused(text: str) -> None:
    with pytest.raises(NoJson):
        read_json(text)


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.text(alphabet=st.characters(exclude_characters="{")))
def test_L14_any_object_comes_back_whatever_is_said_around_it(value: dict[str, Any], said: str) -> None:
    assert read_json(f"{said}{json.dumps(value)}{said}") == value


def test_no_half_of_a_character_comes_out_of_a_reply() -> None:
    assert read_json('{"a": "x\\ud83d", "b": [{"\\ude00": "\\ud83d\\ude00"}]}') == {
        "a": "x\ufffd",
        "b": [{"\ufffd": "😀"}],
    }


async def test_L13_L14_a_server_that_knows_no_json_mode_is_asked_in_words_and_its_prose_is_read() -> None:
    def script(request: Request) -> Reply:
        form = request.body.get("response_format", {}).get("type")
        if form is not None:
            return errors.openai_error(422, f"response_format {form} is not supported")
        is_asked = "JSON" in request.last_user and '"mood"' in request.last_user
        return Say(text='Sure!\n```json\n{"mood": "calm"}\n```' if is_asked else "Hm?")

    async with bench(script) as it:
        for _ in range(2):
            _, completion = await it.ask(asks(json_schema=SCHEMA))
            assert read_json(completion.text) == {"mood": "calm"}
        forms = [request.body.get("response_format", {}).get("type") for request in it.openai.requests]
    assert forms == ["json_schema", "json_object", None, None]
