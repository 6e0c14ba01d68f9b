"""Overrides: which value wins, where it comes from, and what a thread takes from its channel."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat import ChannelRef, Visibility
from bot.overrides import Resolver, Source, StoredOverride
from bot.settings import PlaceSettings, Settings
from bot.store import sessions
from bot.store.database import Database
from bot.store.tables import Scope
from bot.testing import NOW, make_channel

DEFAULTS = Settings(persona="default")


def row(scope: Source, name: str, value: Any) -> StoredOverride:
    return StoredOverride(scope=scope, name=name, value=json.dumps(value))


def resolver(**profiles: dict[str, Any]) -> Resolver:
    return Resolver(DEFAULTS, profiles)


@pytest.mark.parametrize(
    ("given_at", "value", "source"),
    [
        ((), "default", Source.DEFAULT),
        (("profile",), "of profile", Source.PROFILE),
        (("profile", "place"), "of place", Source.PLACE),
        (("profile", "place", "parent"), "of parent", Source.PARENT),
        (("profile", "place", "parent", "session"), "of session", Source.SESSION),
        (("session", "profile"), "of session", Source.SESSION),
        (("parent", "profile"), "of parent", Source.PARENT),
    ],
)
def test_session_wins_over_parent_over_place_over_profile_over_default(
    given_at: tuple[str, ...], value: str, source: Source
) -> None:
    profiles = {"discord": {"persona": "of profile"}} if "profile" in given_at else {}
    stored = [row(Source(scope), "persona", f"of {scope}") for scope in reversed(given_at) if scope != "profile"]
    settings = resolver(**profiles).resolve("discord", stored)
    assert (settings.values.persona, settings.source("persona")) == (value, source)


def test_the_whole_chain_is_told_strongest_first() -> None:
    stored = [row(Source.PLACE, "persona", "b"), row(Source.SESSION, "persona", "a")]
    settings = resolver(discord={"persona": "c"}).resolve("discord", stored)
    assert settings.chain["persona"] == ((Source.SESSION, "a"), (Source.PLACE, "b"), (Source.PROFILE, "c"))
    assert "model" not in settings.chain


def test_a_profile_counts_for_its_platform_alone() -> None:
    laid = resolver(telegram={"language": "zh", "summary": {"keep_recent": 5}})
    telegram, discord = laid.resolve("telegram", ()), laid.resolve("discord", ())
    assert (telegram.values.language, telegram.values.summary.keep_recent) == ("zh", 5)
    assert telegram.source("summary__keep_recent") is Source.PROFILE
    assert (discord.values.language, discord.values.summary.keep_recent) == ("auto", 20)


def test_keys_of_one_group_are_changed_one_by_one() -> None:
    stored = [row(Source.SESSION, "summary__keep_recent", 3), row(Source.PLACE, "summary__trigger__type", "off")]
    values = resolver().resolve("discord", stored).values
    assert (values.summary.keep_recent, values.summary.trigger.type) == (3, "off")
    assert values.summary.idle_seconds == DEFAULTS.summary.idle_seconds
    assert DEFAULTS.summary.keep_recent == 20


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("burst_ms", '"soon"'),
        ("burst_ms", "-1"),
        ("burst_ms", "{broken"),
        ("burst_ms", "null"),
        ("timezone", '"GMT+25"'),
        ("timezone", "5"),
        ("a_key_of_an_older_version", "1"),
    ],
)
def test_a_stored_value_that_cannot_be_read_any_more_is_passed_over(name: str, value: str) -> None:
    stored = [StoredOverride(scope=Source.SESSION, name=name, value=value), row(Source.PLACE, "burst_ms", 7)]
    settings = resolver().resolve("discord", stored)
    assert settings.values.burst_ms == 7
    assert [*settings.chain] == ["burst_ms"]
    assert settings.source("burst_ms") is Source.PLACE


def test_a_key_has_its_configured_value_where_nobody_changed_it() -> None:
    assert resolver().default("persona") == "default"
    assert resolver().default("summary__trigger__type") == "auto"


KEYS = {"persona": st.text(max_size=5), "burst_ms": st.integers(0, 9), "summary__keep_recent": st.integers(1, 9)}
ROWS = st.sampled_from(sorted(KEYS)).flatmap(
    lambda name: st.builds(
        row, st.sampled_from([Source.SESSION, Source.PARENT, Source.PLACE]), st.just(name), KEYS[name]
    )
)


@settings(deadline=None)
@given(st.lists(ROWS, unique_by=lambda stored: (stored.scope, stored.name)))
def test_every_effective_value_is_the_first_of_its_chain(stored: list[StoredOverride]) -> None:
    settings = resolver().resolve("discord", stored)
    for name in KEYS:
        value: Any = settings.values
        for part in name.split("__"):
            value = getattr(value, part)
        links = settings.chain.get(name, ((Source.DEFAULT, value),))
        assert (settings.source(name), value) == links[0]
        assert [*links] == sorted(links, key=lambda link: [*Source].index(link[0]))


async def test_D17_a_thread_takes_what_its_channel_changed_and_a_channel_nothing_of_its_threads(db: Database) -> None:
    channel, thread = make_channel("10"), make_channel("10", thread="99")
    await change(db, Scope.SESSION, channel.session_key, persona="of the channel", burst_ms=1)
    await change(db, Scope.SESSION, thread.session_key, burst_ms=2)
    await change(db, Scope.PLACE, channel.place_key, persona="of the place", language="zh")
    in_thread, in_channel = await effective(db, thread), await effective(db, channel)
    assert (in_thread.persona, in_thread.burst_ms, in_thread.language) == ("of the channel", 2, "zh")
    assert (in_channel.persona, in_channel.burst_ms, in_channel.language) == ("of the channel", 1, "zh")


async def test_a_private_chat_keeps_what_it_changed_apart_from_what_its_place_changed(db: Database) -> None:
    dm = make_channel(dm=True)  # its session and its place have the same key
    await change(db, Scope.PLACE, dm.place_key, persona="of the place")
    assert (await effective(db, dm)).persona == "of the place"
    await change(db, Scope.SESSION, dm.session_key, persona="of the session")
    assert (await effective(db, dm)).persona == "of the session"
    await db.run(sessions.unset_override, Scope.SESSION, dm.session_key, "persona")
    assert (await effective(db, dm)).persona == "of the place"


async def test_a_topic_takes_what_its_chat_changed(db: Database) -> None:
    chat = ChannelRef(platform="telegram", place="-100", visibility=Visibility.PRIVATE)
    topic = ChannelRef(platform="telegram", place="-100", thread="5", visibility=Visibility.PRIVATE)
    await change(db, Scope.SESSION, chat.session_key, persona="of the chat")
    assert (await effective(db, topic)).persona == "of the chat"


async def change(db: Database, scope: Scope, key: str, **values: Any) -> None:
    for name, value in values.items():
        await db.run(sessions.set_override, scope, key, name, json.dumps(value), set_by="fake:alice", now=NOW)


async def effective(db: Database, channel: ChannelRef) -> PlaceSettings:
    stored = await db.read(sessions.load_overrides, channel)
    return resolver().resolve(channel.platform, stored).values
