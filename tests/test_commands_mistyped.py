"""Commands that are none of ours: told to whoever meant us, kept out of prompts, wherever a right one would count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat import Quote
from bot.testing import make_author, make_inbound
from tests.conftest import MakeApp
from tests.talking import GROUP, open_chat

TO_US: dict[str, Any] = {"reply_to": Quote(message_id="1", author_name="Familiar", text="hi", is_mine=True)}


@pytest.mark.parametrize("needs_mention", [True, False], ids=["discord", "telegram"])
@pytest.mark.parametrize(
    ("more", "counts_where_no_mention_is_needed"),
    [({"mentions_me": True}, True), ({**TO_US, "mentions_me": False}, True), ({"mentions_me": False}, False)],
    ids=["mention", "reply", "to nobody"],
)
async def test_T17_a_mistyped_command_in_a_group_is_answered_where_a_right_one_would_mean_us(
    make_app: MakeApp, needs_mention: bool, more: dict[str, Any], counts_where_no_mention_is_needed: bool
) -> None:
    chat = await open_chat(make_app, persona="none")
    line = make_inbound("/persna use x", channel=GROUP, **more)
    await chat.app.pipeline.deliver(replace(line, commands_need_mention=needs_mention))
    await chat.settled()
    if more["mentions_me"] or (counts_where_no_mention_is_needed and not needs_mention):
        assert [text.splitlines()[0][:45] for text in chat.adapter.texts] == [
            "I don't know that command. Did you mean /pers"
        ]
        assert chat.model.requests == []
        await chat.say("hello", channel=GROUP)
        assert chat.last_prompt == [("user", "Alice: hello")]
    else:
        assert chat.adapter.texts == ["ok"] * ("reply_to" in more)  # what a reply says in Discord is no command


async def test_D07_a_mistyped_command_of_a_bot_is_not_answered(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    assert await chat.say("/persna use x", channel=GROUP, author=make_author("Robot", is_bot=True)) == []


@pytest.mark.parametrize("line", ["／帮助", "／help", "／帮助　persona　use", "/帮助　角色　使用"])
async def test_a_wide_slash_and_wide_spaces_make_a_command_as_narrow_ones_do(make_app: MakeApp, line: str) -> None:
    chat = await open_chat(make_app, persona="none")
    (answer,) = await chat.say(line, author=make_author(locale="zh"))
    assert "`/persona" in answer
    assert chat.model.requests == []


async def test_a_mistyped_command_behind_a_wide_slash_is_told(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    (answer,) = await chat.say("／persna use x")
    assert "/persona" in answer
    assert chat.model.requests == []


@pytest.mark.parametrize("line", ["/", "//", "／", "/ "])
async def test_slashes_alone_are_told_what_follows_them_and_reach_no_model(make_app: MakeApp, line: str) -> None:
    chat = await open_chat(make_app, persona="none")
    (answer,) = await chat.say(line)
    assert answer == "A command follows the slash, such as `/persona`. `/help` shows them all."
    assert await chat.say(line, channel=GROUP, mentions_me=False) == []
    await chat.say("hello")
    assert chat.last_prompt == [("user", "hello")]


@pytest.mark.parametrize(
    ("line", "told"),
    [("/new", "/reset?"), ("/clear", "/reset, /memory clear?"), ("/regenerate", "/retry?"), ("/settings", "/session?")],
)
async def test_what_other_bots_call_a_command_leads_to_ours(make_app: MakeApp, line: str, told: str) -> None:
    chat = await open_chat(make_app, persona="none")
    assert f"Did you mean {told}" in await chat.ask(line)


@pytest.mark.parametrize(
    ("line", "told"), [("/persona_use", "Personas (5)"), ("/persona use", "Personas (5)"), ("/角色 使用", "角色（5）")]
)
async def test_using_nothing_shows_what_there_is(make_app: MakeApp, line: str, told: str) -> None:
    chat = await open_chat(make_app, persona="none")
    locale = "en" if line.isascii() else "zh"
    assert (await chat.ask(line, author=make_author(locale=locale))).startswith(told)


async def test_me_alone_is_me_zone(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    for line in ("/me zone Europe/Berlin", "/me", "/我"):
        assert "Europe/Berlin" in await chat.ask(line)
    assert await chat.say("/me laughs", channel=GROUP, mentions_me=False) == []


async def test_two_slashes_before_a_word_are_text_for_the_persona(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    assert await chat.say("//help is what I typed") == ["ok"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/memory add", "`kind` is missing: fact, event, consensus, follow-up."),
        ("/session set --persna luna", "Did you mean --persona?"),
        (f"/session set -n {'x' * 101}", "at most 100 characters, and this one has 101"),
        (f"/session set name {'x' * 300}", "at most 100 characters, and this one has 300"),
        ('/session set name "abc', 'A quote opens in "abc and none closes it'),
        ("/session set -n “late night", "After -n a quote opens “late and none closes it"),
        ('/session set name say "hi', 'A quote opens in say "hi and none closes it'),
        ('/cast add Thrupp -w "moss', 'After -w a quote opens "moss and none closes it'),
    ],
)
async def test_what_is_refused_says_what_would_do_and_changes_nothing(make_app: MakeApp, line: str, told: str) -> None:
    chat = await open_chat(make_app, persona="none")
    assert told in await chat.ask(line)
    assert "abc" not in await chat.ask("/session")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("/session set name 'n roll", "'n roll"),
        ('/session set -n say "hi" twice', 'say "hi" twice'),
        ('/session set -n 12" disc', '12" disc'),
        ("/session set -n “a b”", "a b"),
    ],
)
async def test_an_apostrophe_or_a_quote_within_a_name_is_part_of_it(make_app: MakeApp, line: str, name: str) -> None:
    chat = await open_chat(make_app, persona="none")
    assert f"name = {name}" in await chat.ask(line)


async def test_a_flag_is_suggested_under_the_name_that_help_shows(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    (answer,) = await chat.say("/会话 设置 -人格 东坡", author=make_author(locale="zh"))
    assert "--角色" in answer
    assert "--人设" not in answer
