"""/session reset: what is inherited again, and what the answer says is not."""

from __future__ import annotations

import pytest

from bot.testing import FakeAdapter, make_author
from tests.conftest import MakeApp
from tests.talking import DM, open_chat
from tests.test_commands_session import THREAD, stored


async def test_reset_means_model_persona_and_thinking_but_neither_the_name_nor_other_keys(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    await chat.ask("/session set timezone Asia/Tokyo -m test/other -p thrupp -t on -n night")
    told = await chat.ask("/session reset")
    assert "`model` = test/scripted (default)" in told
    assert "`persona` = Bryony (default)" in told
    assert "`thinking` = off (default)" in told
    assert "Still set for this session: timezone. `/session reset KEY` inherits one again" in told
    assert set(await stored(chat)) == {(DM.session_key, "timezone")}
    assert "**night**" in await chat.ask("/session")


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("-m", {"persona", "thinking", "timezone"}),
        ("-p -t", {"model", "timezone"}),
        ("timezone", {"model", "persona", "thinking"}),
        ("-m TIMEZONE", {"persona", "thinking"}),
        ("name", {"model", "persona", "thinking", "timezone"}),
        ("timezone --for place", {"model", "persona", "thinking", "timezone"}),
    ],
)
async def test_reset_takes_back_what_is_named(make_app: MakeApp, line: str, left: set[str]) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/session set timezone Asia/Tokyo -m test/other -p thrupp -t on -n night")
    await chat.ask(f"/session reset {line}")
    assert {name for _, name in await stored(chat)} == left
    assert ("**night**" in await chat.ask("/session")) is (line != "name")


async def test_a_reset_that_would_leave_values_that_do_not_go_together_is_refused(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/session set summary.trigger.value 8000")
    await chat.ask("/session set summary.trigger.type tokens")
    assert "does not go with" in await chat.ask("/session reset summary.trigger.value")
    assert len(await stored(chat)) == 2


async def test_reset_all_means_every_key_and_the_name(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    await chat.ask("/session set timezone Asia/Tokyo -m test/other -t on -n night")
    await chat.ask("/session set notices off --for place")
    told = await chat.ask("/session reset ALL")
    for line in ("`model` = test/scripted", "`thinking` = off", "`timezone` = UTC (default)"):
        assert line in told
    assert "Still set" not in told
    assert "the name is gone" in told
    assert set(await stored(chat)) == {("fake:dm-room", "notices")}
    assert "This session" in await chat.ask("/session")
    assert "name" not in await chat.ask("/session reset all")


async def test_reset_all_for_the_whole_place_leaves_the_name_of_this_session(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/session set -n night")
    assert "name" not in await chat.ask("/session reset all --for place")
    assert "**night**" in await chat.ask("/session")


async def test_reset_all_where_nothing_is_set_says_what_holds(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    assert "`persona` = Bryony (default)" in await chat.ask("/session reset all")


@pytest.mark.parametrize(
    ("reach", "told"),
    [
        ("here", "Still set for this session: language. `/session reset KEY`"),
        ("channel", "Still set for the channel of this thread: language. `/session reset KEY --for channel`"),
        ("place", "Still set for the whole place: language. `/session reset KEY --for place`"),
    ],
)
async def test_a_reset_tells_what_is_still_set_there_and_nowhere_else(make_app: MakeApp, reach: str, told: str) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"]))
    for line in ("language en", "timezone UTC"):
        await chat.ask(f"/session set {line} --for {reach}", channel=THREAD)
    await chat.ask("/session set notices off --for " + ("place" if reach == "here" else "here"), channel=THREAD)
    assert told in await chat.ask(f"/session reset timezone --for {reach}", channel=THREAD)


async def test_a_reset_tells_chinese_readers_in_their_language(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    chinese = make_author("小明", locale="zh-CN")
    await chat.ask("/会话 设置 timezone Asia/Tokyo", author=chinese)
    assert "本会话仍有自己的值：timezone。" in await chat.ask("/会话 恢复", author=chinese)
