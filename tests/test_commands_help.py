"""How /help finds out what its caller may do."""

from __future__ import annotations

import pytest

from bot.chat import ChannelRef
from bot.commands import COMMANDS
from bot.commands.parse import OWN_ACTIONS
from bot.testing import FakeAdapter, make_author
from tests.conftest import MakeApp
from tests.talking import GROUP, open_chat


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
    assert "`/memory pin <item>` – " in told
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
