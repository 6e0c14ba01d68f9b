"""What `/session set` says of a value that does nothing as things stand, and of rules that would eat the window."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import MakeApp
from tests.talking import DM, GROUP, open_chat

LAB = {"lab": {"base_url": "http://127.0.0.1:9/v1"}}
MUTE = {"models": {"test/scripted": {"context_window": 9000, "thinking": False}}}


@pytest.mark.parametrize(
    ("line", "told", "settings"),
    [
        ("spoken_answers on", "`spoken_answers` has no effect yet: it needs `VOICE__SPEECH_MODEL`", {}),
        ("activation keyword", "`/session set activation_keywords WORDS` belongs to it", {}),
        ("activation_keywords tea", "`/session set activation keyword` belongs to it", {}),
        ("activation_probability 0.5", "`/session set activation random` belongs to it", {}),
        ("cast_cascade 3", "`/session set cast NAMES` belongs to it", {}),
        ("summary.trigger.value 30", "`/session set summary__trigger__type TYPE` belongs to it", {}),
        ("thinking on", "test/scripted, which does not reason", MUTE),
        ("context_tokens 32000", "reads 8,192 tokens at once (assumed, as nothing is known of it)", {}),
    ],
)
async def test_a_value_that_does_nothing_yet_is_told_with_what_it_waits_for(
    make_app: MakeApp, line: str, told: str, settings: dict[str, Any]
) -> None:
    chat = await open_chat(make_app, **settings)
    chat.adapter.managers.add("alice")
    answer = await chat.ask(f"/session set {line}", channel=GROUP)
    assert "Set for this session" in answer
    assert told in answer


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("spoken_answers on", {"providers": LAB, "voice": {"speech_model": "lab/tts"}}),
        ("spoken_answers off", {}),
        ("activation keyword", {"activation_keywords": ("tea",)}),
        ("activation_keywords tea", {"activation": "keyword"}),
        ("activation always", {}),
        ("cast_cascade 3", {"cast": ("thrupp",)}),
        ("thinking on", {}),
        ("thinking off", MUTE),
        ("timezone Europe/Berlin", {}),
        ("context_tokens 8000", {}),
    ],
)
async def test_nothing_is_told_of_a_value_that_does_something(
    make_app: MakeApp, line: str, settings: dict[str, Any]
) -> None:
    chat = await open_chat(make_app, **settings)
    chat.adapter.managers.add("alice")
    answer = await chat.ask(f"/session set {line}", channel=GROUP)
    assert "Set for this session" in answer
    assert "no effect" not in answer


async def test_when_to_speak_means_nothing_in_private_or_where_little_is_heard(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    chat.adapter.managers.add("alice")
    assert "in a private chat I answer everything" in await chat.ask("/session set activation always", channel=DM)
    chat.adapter.hears_all = False
    assert "messages that mention me reach me" in await chat.ask("/session set activation always", channel=GROUP)


async def test_rules_that_take_more_than_a_quarter_of_the_window_are_refused_with_the_sum(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, context_tokens=8000)
    await chat.ask(f"/session set system_prompt {'rule ' * 1400}")
    assert "system_prompt" in await chat.ask("/session")
    told = await chat.ask(f"/session set system_prompt {'rule ' * 1600} tea")
    assert "at most 2,000 are allowed: a quarter of the 8,000 tokens that test/scripted" in told
    assert "tea" not in await chat.ask("/session")
