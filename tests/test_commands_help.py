"""How /help finds out what its caller may do."""

from __future__ import annotations

import pytest

from bot.chat import ChannelRef
from bot.testing import FakeAdapter
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
