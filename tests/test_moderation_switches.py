"""Who switches moderation, what people are told of it, and what stops the start."""

from __future__ import annotations

from typing import Any

import pytest

from bot.app.moderation import moderation_problems
from bot.env import SettingsError
from bot.settings import Settings
from bot.testing import FakeAdapter, make_author
from tests.conftest import MakeApp
from tests.talking import BOB, GROUP, open_chat

INPUT = "That was refused by the rules of moderation here, so nothing answers it."
NOT_YOURS = "Only people who manage this chat can change that."
ADMIN = make_author("Ada")


async def test_those_who_manage_a_place_switch_it_and_status_tells(make_app: MakeApp) -> None:
    adapter = FakeAdapter(managers=["ada"], channel_managers=["bob"])
    chat = await open_chat(make_app, adapter=adapter, moderation={"words": ("gore",)})
    line = "judged before a model reads it: on. Answers are judged before they are shown: off."
    assert line not in "".join(await chat.say("/status", channel=GROUP))
    assert NOT_YOURS in await chat.say("/session set moderation__input on", channel=GROUP)
    await chat.say("/session set moderation__input on --for place", author=ADMIN, channel=GROUP)
    for command in ("/status", "/session"):
        assert line in "".join(await chat.say(command, channel=GROUP))
    assert (await chat.say("gore", channel=GROUP))[-1] == INPUT
    refused = await chat.say("/session set moderation__input off", author=BOB, channel=GROUP)
    assert refused == [NOT_YOURS], "who manages one channel does not switch off what counts for all"
    await chat.say("/session set moderation__input off", author=ADMIN, channel=GROUP)
    assert (await chat.say("gore", channel=GROUP))[-1] == "ok"


@pytest.mark.parametrize(
    "settings",
    [
        {"moderation": {"input": True, "words": ("gore",)}},
        {"profiles": {"fake": {"moderation": {"input": True}}}, "moderation": {"words": ("gore",)}},
    ],
)
async def test_what_the_operator_switched_on_nobody_else_switches_off(
    make_app: MakeApp, settings: dict[str, Any]
) -> None:
    chat = await open_chat(make_app, access={"admins": [ADMIN.key]}, **settings)
    for command in ("/session set moderation__input off", "/session set moderation__input off --for place"):
        assert "Only whoever runs me" in (await chat.say(command))[0]
    assert (await chat.say("gore"))[-1] == INPUT
    await chat.say("/session set moderation__input off", author=ADMIN)
    assert (await chat.say("gore"))[-1] == "ok"


async def test_who_switched_it_on_for_themselves_may_switch_it_off(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, moderation={"words": ("gore",)})
    for value, answer in (("on", INPUT), ("off", "ok")):
        await chat.say(f"/session set moderation__input {value}")
        assert (await chat.say("gore"))[-1] == answer


async def test_nobody_switches_it_on_where_nothing_says_what_to_refuse(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert "`MODERATION__WORDS`" in (await chat.say("/session set moderation__output on"))[0]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"moderation": {"input": True}}, "MODERATION__INPUT"),
        ({"profiles": {"discord": {"moderation": {"output": "on"}}}}, "PROFILES__DISCORD__MODERATION__OUTPUT"),
        ({"moderation": {"model": "omni"}}, "MODERATION__MODEL"),
        ({"moderation": {"model": "gone/omni"}}, "MODERATION__MODEL"),
        ({"moderation": {"words_file": "/no/such/file"}}, "MODERATION__WORDS_FILE"),
    ],
)
def test_what_cannot_work_is_told_before_the_start(given: dict[str, Any], names: str) -> None:
    settings = Settings(providers={"lab": {"base_url": "http://127.0.0.1:9/v1"}}, **given)
    (problem,) = moderation_problems(settings)
    assert problem.startswith(f"{names} ")


async def test_a_list_that_cannot_be_read_stops_the_start(make_app: MakeApp) -> None:
    with pytest.raises(SettingsError, match="MODERATION__WORDS_FILE"):
        await make_app(moderation={"words_file": "/no/such/file"})
