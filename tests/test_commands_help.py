"""What /help tells, and how it finds out what its caller may do."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat import ChannelRef
from bot.commands import COMMANDS
from bot.commands.parse import OWN_ACTIONS
from bot.testing import FakeAdapter, make_author, make_channel
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, GROUP, open_chat


@pytest.mark.parametrize("rights", [[], ["alice"]])
async def test_help_asks_the_platform_once_for_the_callers_rights(make_app: MakeApp, rights: list[str]) -> None:
    class Counting(FakeAdapter):
        asked = 0

        async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
            self.asked += 1
            return await super().may_manage(channel, user_id, whole_place=whole_place)

    adapter = Counting(managers=rights)
    chat = await open_chat(make_app, adapter=adapter)
    (told,) = await chat.say("/help", channel=GROUP)
    assert adapter.asked == 1
    assert ("/session set" in told) is bool(rights)


async def test_a_large_group_has_one_line_in_the_overview_and_its_own_help(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    overview = await chat.ask("/help")
    assert "- `/memory` – What I remember here; also `add`, `edit`, `pin`, `unpin`, `forget`, `clear`" in overview
    assert len(overview) < 2_000
    told = await chat.ask("/help memory")
    assert "`/memory pin <item> [-o of]` – " in told
    assert "For example: `/memory pin 12`" in told


@pytest.mark.parametrize("locale", ["en", "zh"])
async def test_the_overview_names_every_command(make_app: MakeApp, locale: str) -> None:
    chat = await open_chat(make_app, persona="none")
    told = await chat.ask("/help", author=make_author(locale=locale))
    for path in (command.spec.path for command in COMMANDS):
        is_own = len(path) > 1 and path[-1] in OWN_ACTIONS  # `/persona` is `/persona list`
        whole = " ".join(path[:-1] if is_own else path)
        last = chat.app.desk.names.of_command(path, locale)[0]
        (head, *lines) = [line for line in told.splitlines() if line.startswith((f"- `/{path[0]}`", f"- `/{path[0]} "))]
        assert f"`/{whole}`" in "".join((head, *lines)) or f"`{last}`" in head, path


async def test_help_tells_what_this_is_how_to_address_it_and_what_it_can_do(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    told = await chat.ask("/help")
    assert "**Bryony**" in told
    assert "simply write to me" in told
    assert all(f"`/{name}`" in told for name in ("persona", "model", "session", "retry", "help"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "Mention me, reply to me or call me by name"),
        ({"activation": "always"}, "every message"),
        ({"activation": "keyword", "activation_keywords": ("tea", "茶")}, "tea, 茶"),
        ({"activation": "keyword"}, "Mention me, reply to me or call me by name"),
        ({"activation": "random"}, "call me by name; and now and then I join in"),
        ({"persona": "none"}, "Mention me or reply to me, and I answer"),
        ({"persona": "none", "activation": "keyword", "activation_keywords": ("tea",)}, "reply to me, or use one of"),
        ({"persona": "none", "activation": "random"}, "Mention me or reply to me; and now"),
    ],
)
async def test_help_tells_how_the_settings_here_let_one_be_heard(
    make_app: MakeApp, settings: dict[str, Any], told: str
) -> None:
    chat = await open_chat(make_app, **settings)
    assert told in await chat.ask("/help", channel=GROUP)


async def test_help_lists_only_what_the_caller_may_use(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"]))
    for_alice = await chat.ask("/help", author=ALICE, channel=GROUP)
    for_bob = await chat.ask("/help", author=BOB, channel=GROUP)
    assert "/session set" in for_alice
    assert "/session set" not in for_bob
    assert "/reset" not in for_bob
    assert "/retry" in for_bob


@pytest.mark.parametrize("typed", ["session set", "/session.set", "／session set", "session_set", "SESSION SET"])
async def test_help_explains_how_to_write_a_command(make_app: MakeApp, typed: str) -> None:
    chat = await open_chat(make_app)
    told = await chat.ask(f"/help {typed}")
    form = "/session set [key] [value] [-m model] [-p persona] [-t on|off] [-n name] [-f here|channel|place]"
    assert f"`{form}`" in told
    assert "- `-m` – The model, as provider/model" in told


async def test_help_says_how_several_words_stand_before_a_text(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert 'Before a text, `-w` takes one word. Put several in quotes: `-w "two words"`.' in await chat.ask(
        "/help memory add"
    )
    assert "Before a text" not in await chat.ask("/help cast add")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("cast add", "For whom: here, the channel of this thread, or the whole place"),
        ("lore add", "Whose lorebook: of the card, of the place, or your own"),
    ],
)
async def test_help_tells_of_each_commands_own_choices(make_app: MakeApp, command: str, told: str) -> None:
    chat = await open_chat(make_app)
    assert f"- `-f` – {told}" in (await chat.ask(f"/help {command}")).splitlines()


async def test_help_tells_of_each_lore_commands_own_text_and_file(make_app: MakeApp) -> None:
    told = (await (await open_chat(make_app)).ask("/help lore")).splitlines()
    assert "- `text` – What joins in when a key is mentioned" in told
    assert "- `text` – Words that somebody might say" in told
    assert "- `file` – The lorebook: a JSON file, or a card that has one" in told


async def test_help_on_a_group_explains_all_of_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    told = await chat.ask("/help model")
    assert [line.split("`")[1] for line in told.splitlines() if line.startswith("`")] == [
        "/model [keyword] [-p page]",
        "/model use <model>",
        "/model info [model]",
        "/model forget [model]",
    ]


async def test_help_on_an_unknown_command_names_near_ones(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert "retry" in await chat.ask("/help retyr")
    assert "Close to it: 帮助" in await chat.ask("/help 帮我")
    assert "/help shows those I know" in await chat.ask("/help xyz")


async def test_help_tells_the_keys_of_a_terminal_there_and_nowhere_else(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter("terminal"))
    there = make_channel(platform="terminal", dm=True)
    assert "Alt+Enter" in await chat.ask("/help", channel=there, author=make_author(platform="terminal"))
    assert "Alt+Enter" not in await (await open_chat(make_app)).ask("/help")
