"""/session: what is in force and why, changing it for here, a channel or a place, and inheriting it again."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from bot.chat import ChannelRef, Visibility
from bot.commands.keys import find_key
from bot.errors import UserError
from bot.settings import place_keys
from bot.store.tables import overrides, sessions
from bot.testing import FakeAdapter, make_channel
from tests.conftest import MakeApp
from tests.emulators.openai import OpenAIEmulator
from tests.talking import ALICE, BOB, DM, GROUP, Chat, open_chat

THREAD = make_channel(thread="t1")
OTHER_CHANNEL = make_channel("kitchen")


async def stored(chat: Chat) -> dict[tuple[str, str], str]:
    """Every override as (scope key, name) -> JSON."""
    rows = await chat.app.core.db.read(lambda tx: tx.execute(select(overrides)).all())
    return {(row.scope_key, row.name): row.value for row in rows}


async def test_show_tells_model_persona_and_thinking_with_their_sources(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    shown = await chat.ask("/session")
    assert "Model: **test/scripted** (default)" in shown
    assert "Persona: **Bryony** (default)" in shown
    assert "Thinking: **off** (default)" in shown
    assert "Changed" not in shown


async def test_show_gives_every_changed_key_with_its_whole_chain_strongest_first(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, profiles={"fake": {"activation": "always", "burst_ms": 100}}, burst_ms=7)
    chat.adapter.managers.add("alice")
    for line in (
        "/session set activation random --for place",
        "/session set activation keyword --for channel",
        "/session set activation mention",
        "/session set system_prompt Be brief.",
    ):
        await chat.ask(line, channel=THREAD)
    lines = (await chat.ask("/session", channel=THREAD)).splitlines()
    assert (
        "- `activation`: mention (this session) › keyword (the channel of this thread) › random (the whole place) "
        "› always (this platform) › mention (default)"
    ) in lines
    assert "- `burst_ms`: 100 (this platform) › 7 (default)" in lines
    assert "- `system_prompt`: Be brief. (this session) › empty (default)" in lines


async def test_an_empty_default_goes_by_the_name_of_what_is_used_then(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/session set -m test/other -p thrupp")
    lines = (await chat.ask("/session")).splitlines()
    assert "- `persona`: Thrupp (this session) › Bryony (default)" in lines
    assert "- `model`: test/other (this session) › test/scripted (default)" in lines


async def test_flags_combine_and_outlive_a_restart(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    told = await chat.ask('/session set -m test/other -p thrupp -t on -n "late night"')
    for line in ("`model` = test/other", "`persona` = Thrupp", "`thinking` = on", "name = late night"):
        assert line in told
    await chat.app.close()
    chat = await open_chat(make_app)
    shown = await chat.ask("/session")
    assert "Session **late night**" in shown
    assert "Persona: **Thrupp** (this session)" in shown
    await chat.say("hello")
    request = chat.model.requests[-1]
    assert (request.model, request.thinking) == ("test/other", True)
    assert "Barnaby Thrupp" in request.messages[0].text


@pytest.mark.parametrize(
    "line", ["timezone=Asia/Tokyo", "timezone = Asia/Tokyo", "timezone= Asia/Tokyo", "-T yes timezone Asia/Tokyo"]
)
async def test_a_key_and_its_value_may_stand_as_people_write_them_elsewhere(make_app: MakeApp, line: str) -> None:
    chat = await open_chat(make_app)
    assert "`timezone` = Asia/Tokyo" in await chat.ask(f"/session set {line}")


async def test_choosing_a_persona_by_set_switches_at_once(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("only for nobody's ears")
    await chat.ask("/session set -p familiar")
    await chat.say("hello")
    assert "nobody's ears" not in str(chat.model.requests[-1])
    await chat.ask("/session reset")
    await chat.say("back again")
    assert chat.last_prompt[0] == ("user", "only for nobody's ears")


@pytest.mark.parametrize(
    "line",
    [
        "-m test/nonsense -p thrupp -t on -n night",
        "-m elsewhere/gpt -t on",
        "-p nobody-at-all -t on -n night",
        "timezone Mars/Base -t on -n night",
        "no_such_key 1 -t on",
        "summary.hard_ratio 2 -t on",
        "-t sometimes -n night",
        "context_tokens 1000 -t on -n night",
        "timezone -t on",
    ],
)
async def test_one_wrong_value_refuses_the_whole_command(make_app: MakeApp, line: str) -> None:
    async with OpenAIEmulator(models=["scripted", "other"]) as server:
        chat = await open_chat(make_app, providers={"test": {"base_url": server.base_url}})
        assert await chat.ask(f"/session set {line}")
        label = await chat.app.core.db.read(lambda tx: tx.execute(select(sessions.c.label)).scalar())
        assert (await stored(chat), label) == ({}, "")


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("-m test/scriptd", "test/scripted"),
        ("-m othr", "test/other"),
        ("-m nowhere/x", "none like it"),
        ("-p brionny", "Bryony"),
        ("-p nobody", "none like it"),
        ("tz UTC", "There are: model, persona"),
        ("--persna luna", "Did you mean --persona?"),
        ("timezne UTC", "timezone"),
        ("idle_seconds 5", "summary__idle_seconds"),
        ("timezone Europe/Berln", "Europe/Berlin"),
        ("activation sometimes", "mention, always, keyword, random"),
        ("notices maybe", "on, off"),
        ("language klingon", "auto, en"),
        ("burst_ms soon", "between 0 and 86,400,000"),
        ("burst_ms -1", "between 0 and 86,400,000"),
        ("cast_cascade 11", "a whole number between 0 and 10"),
        ("context_tokens 10", "Raise context_tokens to 1,800 or more"),
        ("summary.keep_recent 0", "between 1 and 1,000,000,000"),
        ("summary.idle_seconds 999999999999", "between 0 and 1,000,000,000"),
        ("summary.trigger.value nan", "at least 0"),
        ("summary.trigger.value inf", "at least 0"),
        ("activation_probability 1.5", "between 0 and 1"),
        ("timezone", "/session set timezone VALUE"),
        ("activation", "`activation` can be mention, always, keyword, random"),
        ("-n night --for place", "--for"),
        ("", "/session set -p"),
    ],
)
async def test_a_refusal_says_what_would_do(make_app: MakeApp, line: str, near: str) -> None:
    async with OpenAIEmulator(models=["scripted", "other"]) as server:
        chat = await open_chat(make_app, providers={"test": {"base_url": server.base_url}})
        assert near in await chat.ask(f"/session set {line}")
        assert await stored(chat) == {}


@pytest.mark.parametrize("zone", ["GMT+25", "US/Nowhere", "", "../UTC", "/etc/localtime", "东八区"])
async def test_S15_an_unknown_time_zone_is_refused_with_the_remedy_and_never_taken_for_utc(
    make_app: MakeApp, zone: str
) -> None:
    chat = await open_chat(make_app, timezone="Asia/Tokyo")
    (told,) = await chat.choose("session set", key="timezone", value=zone)
    assert "IANA" in told or "needs" in told or "VALUE" in told
    assert await stored(chat) == {}


@pytest.mark.parametrize("zone", ["US/Eastern", "Europe/Kyiv", "UTC", "Asia/Shanghai", "shanghai", "asia/shanghai"])
async def test_S15_known_time_zones_are_taken_everywhere_also_by_their_city(make_app: MakeApp, zone: str) -> None:
    chat, meant = await open_chat(make_app), "Asia/Shanghai" if zone[-1] == "i" else zone
    assert f"`timezone` = {meant}" in await chat.ask(f"/session set timezone {zone}")


@pytest.mark.parametrize(
    "spelling",
    [
        "summary__idle_seconds",
        "summary.idle_seconds",
        "summary_idle_seconds",
        "SUMMARY__IDLE_SECONDS",
        "Summary.Idle-Seconds",
    ],
)
def test_a_key_has_one_meaning_in_every_spelling(spelling: str) -> None:
    assert find_key(spelling).name == "summary__idle_seconds"


@pytest.mark.parametrize("key", ["DATA_DIR", "quota.person.tokens_per_day", "DISCORD__TOKEN"])
def test_a_setting_of_the_operator_is_told_to_be_one(key: str) -> None:
    with pytest.raises(UserError, match="session-key-operators"):
        find_key(key)


def test_no_two_keys_share_a_spelling() -> None:
    assert [find_key(name).name for name in place_keys()] == [*place_keys()]


SAMPLES = {
    "model": "test/other",
    "fallbacks": "test/other, test/third",
    "persona": "Familiar",
    "system_prompt": "Be kind, and brief.",
    "language": "en",
    "context_tokens": "8000",
    "max_output_tokens": "500",
    "tool_groups": "web",
    "cast": "familiar",
    "activation_keywords": "tea, 茶",
    "activation_probability": "0.25",
    "timezone": "Asia/Shanghai",
    "summary__hard_ratio": "0.8",
    "summary__trigger__value": "0.5",
}


@pytest.mark.parametrize("name", place_keys())
async def test_every_key_can_be_set_shown_and_inherited_again(make_app: MakeApp, name: str) -> None:
    key = place_keys()[name]
    value = SAMPLES.get(name) or (key.choices[-1] if key.choices else "7")
    chat = await open_chat(make_app, web={"fetch": True}, access={"tool_groups": ["web"]})
    assert f"`{name}` = {value}" in await chat.ask(f"/session set {name} {value}")
    await chat.ask("/session set language en")
    assert f"- `{name}`: " in await chat.ask("/session")
    await chat.ask(f"/session reset {name}")
    assert f"- `{name}`: " not in await chat.ask("/session") or name == "language"


async def test_a_new_language_is_told_in_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert (await chat.ask("/session set language zh")).startswith("已为本会话设置")
    assert (await chat.ask("/session set language English")).startswith("Set for this session")


async def test_a_trigger_type_must_go_with_its_value_wherever_each_comes_from(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert "does not go with" in await chat.ask("/session set summary.trigger.type tokens")
    await chat.ask("/session set summary.trigger.value 8000 --for place")
    await chat.ask("/session set summary.trigger.type tokens")
    assert "does not go with" in await chat.ask("/session set summary.trigger.type token_ratio")
    assert "does not go with" in await chat.ask("/session set summary.trigger.value 0.5")
    assert "does not go with" in await chat.ask("/session set summary.trigger.value 7.5")
    assert {name: value for (_, name), value in (await stored(chat)).items()} == {
        "summary__trigger__value": "8000.0",
        "summary__trigger__type": '"tokens"',
    }


async def test_what_a_session_has_for_itself_does_not_decide_what_its_place_may_have(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/session set summary.trigger.value 8000")
    assert "does not go with" in await chat.ask("/session set summary.trigger.type tokens --for place")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, "context_tokens 1500"),
        ({}, "max_output_tokens 15000"),
        ({"models": {"test/small": {"context_window": 1200}}}, "-m test/small"),
    ],
)
async def test_too_little_room_for_a_prompt_is_refused_with_the_sum(
    make_app: MakeApp, settings: dict[str, Any], line: str
) -> None:
    chat = await open_chat(make_app, **settings)
    told = await chat.ask(f"/session set {line}")
    assert "too little room" in told
    assert "1,024 are needed" in told
    assert await stored(chat) == {}


async def test_a_change_reaches_here_the_channel_or_the_whole_place(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"]))
    await chat.ask("/session set timezone Asia/Tokyo", channel=THREAD)
    await chat.ask("/session set language zh --for channel", channel=THREAD)
    await chat.ask("/session set notices off --for place", channel=THREAD)
    await chat.ask("/session set proactive on --for channel", channel=GROUP)
    assert set(await stored(chat)) == {
        (THREAD.session_key, "timezone"),
        (GROUP.session_key, "language"),
        (GROUP.session_key, "proactive"),
        ("fake:1", "notices"),
    }
    inside = await chat.ask("/session", channel=THREAD, author=BOB)
    parent = await chat.ask("/session", channel=GROUP, author=BOB)
    beside = await chat.ask("/session", channel=OTHER_CHANNEL, author=BOB)
    assert all(f"`{key}`" in inside for key in ("timezone", "language", "notices", "proactive"))
    assert "`timezone`" not in parent
    assert "`notices`" in beside
    assert "`language`" not in beside


async def test_D17_a_thread_has_its_channels_persona_until_it_gets_its_own(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"]))
    await chat.say("/persona use thrupp", channel=GROUP)
    await chat.say("hello", channel=THREAD)
    assert "Barnaby Thrupp" in chat.model.requests[-1].messages[0].text
    await chat.say("/persona use familiar", channel=THREAD)
    await chat.say("hello", channel=THREAD)
    assert "You are Familiar" in chat.model.requests[-1].messages[0].text
    await chat.say("hello", channel=GROUP)
    assert "Barnaby Thrupp" in chat.model.requests[-1].messages[0].text


async def test_a_change_that_does_not_count_here_says_so(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/session set timezone Asia/Tokyo")
    told = await chat.ask("/session set timezone Europe/Paris --for place")
    assert "`timezone` has another value here all the same: this session counts first." in told


async def test_a_value_set_again_replaces_the_old_one(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/session set timezone Asia/Tokyo")
    await chat.ask("/session set timezone Europe/Paris")
    assert await stored(chat) == {(DM.session_key, "timezone"): '"Europe/Paris"'}


async def test_a_session_without_a_label_goes_by_its_channels_name(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    named = ChannelRef(platform="fake", place="1", channel="c", visibility=Visibility.PUBLIC, channel_name="tea *room*")
    assert r"Session **tea \*room\***" in await chat.ask("/session", channel=named)
    assert "This session" in await chat.ask("/session")


async def test_a_long_value_is_shown_in_part(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask(f"/session set system_prompt {'rule ' * 400}")
    assert len(await chat.ask("/session")) < 500


async def test_values_of_the_menu_and_of_text_mean_the_same(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    told, _ = await chat.choose("session set", persona="Thrupp", thinking="on", name="night", key="burst.ms", value="5")
    assert "`burst_ms` = 5" in told
    assert "Session **night**" in await chat.ask("/session", author=ALICE)
    await chat.choose("session reset", model="False", thinking="True")
    assert {name for _, name in await stored(chat)} == {"persona", "burst_ms"}


async def test_X03_who_manages_one_channel_does_not_decide_for_the_whole_place(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(channel_managers=["alice"]))
    refused = await chat.ask("/session set notices off --for place", channel=GROUP)
    assert await stored(chat) == {}
    await chat.ask("/session set notices off", channel=GROUP)
    assert set(await stored(chat)) == {(GROUP.session_key, "notices")}
    assert refused == await chat.ask("/session reset notices --for place", channel=GROUP)
