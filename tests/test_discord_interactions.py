"""Slash commands, completion and buttons on the wire, from the press to the last follow-up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat import Button, Inbound, InboundKind, Outbound, PartState, Visibility
from tests.conftest import MakeApp
from tests.emulators.discord import DiscordEmulator
from tests.emulators.discord.harness import MENU, OPTIONS, Scene, hosted, staged, states


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with staged() as scene:
        yield scene


async def test_D10_a_command_is_acknowledged_before_it_is_handed_on(scene: Scene) -> None:
    acknowledged: list[bool] = []

    async def look(_: Inbound) -> None:
        acknowledged.append(result.acknowledged)

    scene.bot.answer = look
    await scene.registered()
    result = await scene.bob.slash("persona use", name="Ada")
    heard = await scene.bot.hears(InboundKind.COMMAND)
    assert heard.command
    assert (heard.command.path, heard.command.options) == (("persona", "use"), {"name": "Ada"})
    assert (heard.text, heard.author.locale) == ("/persona use name:Ada", "en-US")
    assert acknowledged == [True]
    assert not result.ephemeral


async def test_D10_a_command_that_came_too_late_goes_no_further(scene: Scene) -> None:
    await scene.registered()
    scene.emulator.fault("POST", "*/callback", status=404, body={"code": 10062, "message": "Unknown interaction"})
    with capture_logs() as logs:
        await scene.bob.slash("retry")
        await scene.bob.slash("status")
        heard = await scene.bot.hears(InboundKind.COMMAND)
    assert heard.command
    assert heard.command.path == ("status",)
    assert [entry["code"] for entry in logs if entry["event"] == "discord.defer_refused"] == [10062]


async def test_a_command_in_a_thread_knows_the_thread_its_parent_and_the_roles(scene: Scene) -> None:
    mods = scene.guild.create_role("Mods")
    mod = scene.guild.add_member(scene.bob, roles=[mods])
    thread = scene.world.start_thread(scene.channel, "side talk", mod)
    await scene.registered()
    await mod.slash(thread, "retry")
    heard = await scene.bot.hears(InboundKind.COMMAND)
    assert heard.channel.session_key == f"discord:{scene.guild.id}:{scene.channel.id}:{thread.id}"
    assert heard.channel.visibility is Visibility.PUBLIC
    assert heard.author.roles == {str(mods.id)}


async def test_completion_offers_what_fits(scene: Scene) -> None:
    await scene.registered()
    await scene.bob.autocomplete("persona use", "name", "Ad")
    answer = await scene.emulator.requests.first(lambda r: r.path.endswith("/callback"))
    names = [choice["name"] for choice in answer.body["data"]["choices"]]
    assert names == ["persona use name Ad", *(f"name {n}" for n in range(24))]


async def test_the_products_own_commands_have_chinese_names_and_arrive_by_their_english_ones(make_app: MakeApp) -> None:
    app = await make_app()
    async with staged(menu=app.menu) as scene:
        await scene.registered()
        (put,) = scene.emulator.requests.matching(lambda r: r.method == "PUT" and r.path.endswith("/commands"))
        assert put.status == 200
        (persona,) = [command for command in put.body if command["name"] == "persona"]
        use = next(child for child in persona["options"] if child["name"] == "use")
        for node, name in ((persona, "角色"), (use, "使用"), (use["options"][0], "角色")):
            assert node["name_localizations"] == {"zh-CN": name, "zh-TW": name}
        await scene.bob.slash("persona use", persona="东坡")
        heard = await scene.bot.hears(InboundKind.COMMAND)
        assert heard.command
        assert (heard.command.path, heard.command.options) == (("persona", "use"), {"persona": "东坡"})


@pytest.mark.parametrize(
    ("key", "typed", "offered"),
    [
        ("activation", "", ["mention", "always", "keyword", "random"]),
        ("notices", "o", ["on", "off"]),
        ("timezone", "shang", ["Asia/Shanghai"]),
        ("language", "", ["auto", "en", "zh"]),
        ("persona", "bry", ["Bryony"]),
        ("burst_ms", "", ["0"]),
        ("no such key", "", []),
    ],
)
async def test_completion_of_a_value_knows_the_key_that_was_chosen_before(
    make_app: MakeApp, key: str, typed: str, offered: list[str]
) -> None:
    app = await make_app()
    async with staged(menu=app.menu) as scene:
        await scene.registered()
        await scene.bob.autocomplete("session set", "value", typed, key=key)
        answer = await scene.emulator.requests.first(lambda r: r.path.endswith("/callback"))
    assert [choice["value"] for choice in answer.body["data"]["choices"]] == offered


async def test_a_completion_that_takes_too_long_offers_nothing_in_time(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.discord.interactions.COMPLETE_SECONDS", 0.05)
    await scene.registered()
    await scene.bob.autocomplete("persona use", "name", "slow")
    answer = await scene.emulator.requests.first(lambda r: r.path.endswith("/callback"))
    assert answer.body["data"]["choices"] == []


async def test_D15_commands_are_registered_once_and_guild_copies_are_cleared() -> None:
    async with DiscordEmulator() as emulator:
        guild = emulator.world.create_guild()
        backend = emulator.world.backend
        backend.register_commands(guild.id, [{"name": "retry", "description": "left over"}])
        async with hosted(emulator):
            await emulator.requests.first(lambda r: r.method == "PUT" and f"/guilds/{guild.id}/" in r.path)
            emulator.gateway.invalidate(resumable=True)
            await emulator.gateway.resumed.first(lambda _: True)
    assert [name for name, _ in backend.commands[None]] == ["persona", "retry", "status"]
    assert backend.commands[guild.id] == {}
    assert len(emulator.requests.matching(lambda r: r.is_for("PUT", "/applications/*/commands"))) == 2


async def test_D15_an_unchanged_menu_is_not_registered_again() -> None:
    kept: list[str] = []
    steps: asyncio.Queue[str] = asyncio.Queue()

    async def load() -> str | None:
        steps.put_nowait("loaded")
        return kept[-1] if kept else None

    async def save(value: str) -> None:
        kept.append(value)
        steps.put_nowait("saved")

    options = replace(OPTIONS, load_hash=load, save_hash=save)
    async with DiscordEmulator() as emulator:
        async with hosted(emulator, options=options):
            assert [await steps.get(), await steps.get()] == ["loaded", "saved"]
        async with hosted(emulator, options=options) as bot:
            assert await steps.get() == "loaded"
            await emulator.world.create_user("alice").send_dm("time passes")
            await bot.hears()
    assert len(kept) == 1
    assert len(emulator.rest.arrived.matching(lambda call: call[0] == "PUT")) == 1


async def test_D15_a_menu_whose_names_changed_is_registered_again() -> None:
    kept: list[str] = []

    async def load() -> str | None:
        return kept[-1] if kept else None

    async def save(value: str) -> None:
        kept.append(value)
        saved.set()

    def translate(message_id: str, locale: str | None) -> str:
        return "重试" if (message_id, locale) == ("name-command-retry", "zh") else message_id

    options, saved = replace(OPTIONS, load_hash=load, save_hash=save), asyncio.Event()
    async with DiscordEmulator() as emulator:
        for menu in (MENU, replace(MENU, translate=translate)):
            saved.clear()
            async with hosted(emulator, options=options, menu=menu):
                await saved.wait()
    first, second = emulator.requests.matching(lambda r: r.method == "PUT")
    assert [node["name_localizations"] for node in first.body] == [{}, {}, {}]
    assert [node["name_localizations"].get("zh-TW") for node in second.body] == [None, "重试", None]
    assert kept[0] != kept[1]


async def test_a_command_is_answered_in_its_deferred_message_and_follow_ups(scene: Scene) -> None:
    inbound = await scene.commanded("retry")
    assert scene.result.deferred
    parts = await scene.bot.reply(inbound, "e" * 5000)
    assert scene.result.response
    texts = [scene.result.response.content, *(message.content for message in scene.result.followups)]
    assert "".join(texts) == "e" * 5000
    assert [part.message_id for part in parts] == [
        str(scene.result.response.id),
        *(str(message.id) for message in scene.result.followups),
    ]
    assert scene.sends() == []


async def test_an_ephemeral_command_is_answered_ephemerally_to_the_end(scene: Scene) -> None:
    await scene.bot.reply(await scene.commanded("status"), "f" * 5000)
    assert scene.result.response
    assert scene.result.response.ephemeral
    assert [message.ephemeral for message in scene.result.followups] == [True, True]


async def test_a_private_answer_to_a_public_command_is_for_its_caller_alone(scene: Scene) -> None:
    inbound = await scene.commanded("retry")
    stream = await scene.bot.adapter.open_reply(inbound.channel, handle=inbound.reply_handle)
    parts = await stream.finish(Outbound(text="g" * 3000, private=True))
    assert states(parts) == [PartState.SENT] * 2
    assert scene.result.response is None
    assert [message.ephemeral for message in scene.result.followups] == [True, True]
    assert scene.posted() == [message.content for message in scene.result.followups]


async def test_a_private_answer_to_a_button_leaves_its_message_as_it_was(scene: Scene) -> None:
    await scene.bot.reply(await scene.asked(), "page 1", buttons=((Button(label="Next", command="next"),),))
    message = await scene.emulator.bot_message()
    result = await scene.alice.click(scene.world.message(scene.channel.id, int(message["id"])), label="Next")
    pressed = await scene.bot.hears(InboundKind.BUTTON)
    stream = await scene.bot.adapter.open_reply(pressed.channel, handle=pressed.reply_handle)
    await stream.finish(Outbound(text="not for you", private=True))
    assert [(reply.content, reply.ephemeral) for reply in result.followups] == [("not for you", True)]
    assert scene.posted()[0] == "page 1"


async def test_a_streamed_command_is_edited_through_its_interaction(scene: Scene) -> None:
    inbound = await scene.commanded("status")
    stream = await scene.bot.adapter.open_reply(inbound.channel, handle=inbound.reply_handle)
    await stream.update("first words of it")
    await stream.finish(Outbound(text="first words of it, and the rest"))
    assert scene.result.response
    assert scene.result.response.content == "first words of it, and the rest"


async def test_after_its_15_minutes_a_command_is_answered_in_the_channel(scene: Scene) -> None:
    inbound = await scene.commanded("retry")
    scene.world.backend.advance_clock(16 * 60)
    assert states(await scene.bot.reply(inbound, "at last")) == [PartState.SENT]
    assert [request.body["content"] for request in scene.sends()] == ["at last"]


async def test_after_its_15_minutes_an_ephemeral_answer_is_not_shown_to_everybody(scene: Scene) -> None:
    inbound = await scene.commanded("status")
    scene.world.backend.advance_clock(16 * 60)
    assert states(await scene.bot.reply(inbound, "secret")) == [PartState.FAILED]
    assert scene.sends() == []


async def test_a_pressed_button_runs_its_command_and_the_answer_edits_its_message(scene: Scene) -> None:
    buttons = ((Button(label="Next", command="persona list -p 2"), Button(label="Close", command="close")),)
    (part,) = await scene.bot.reply(await scene.asked(), "page 1", buttons=buttons)
    message = await scene.emulator.bot_message()
    components = message["components"][0]["components"]
    assert [item["custom_id"] for item in components] == ["familiar:persona list -p 2", "familiar:close"]
    await scene.alice.click(scene.world.message(scene.channel.id, int(message["id"])), label="Next")
    pressed = await scene.bot.hears(InboundKind.BUTTON)
    assert pressed.text == "persona list -p 2"
    assert pressed.author.id == str(scene.alice.id)
    (edited,) = await scene.bot.reply(pressed, "page 2")
    assert edited.message_id == part.message_id
    assert scene.posted() == ["page 2"]
    assert scene.world.message(scene.channel.id, int(message["id"])).components == []


async def test_a_button_that_is_not_ours_is_left_alone(scene: Scene) -> None:
    ids = {"Other": "other", "Ours": "familiar:close"}
    buttons = [{"type": 2, "style": 1, "label": label, "custom_id": custom_id} for label, custom_id in ids.items()]
    rows = [{"type": 1, "components": buttons}]
    stored = scene.world.backend.create_message(scene.channel.id, scene.emulator.bot_id, "x", components=rows)
    message = scene.world.message(scene.channel.id, stored.id)
    other, ours = [await scene.alice.click(message, label=label) for label in ids]
    assert (await scene.bot.hears(InboundKind.BUTTON)).text == "close"
    assert (other.acknowledged, ours.acknowledged) == (False, True)


async def test_a_deferred_answer_needs_no_typing_sign(scene: Scene) -> None:
    await scene.transport(await scene.commanded("retry")).typing()
    assert not scene.emulator.requests.matching(lambda r: r.path.endswith("/typing"))


async def test_buttons_are_kept_nowhere_in_this_process(scene: Scene) -> None:
    buttons = ((Button(label="Next", command="next"),),)
    for inbound in (await scene.asked(), await scene.commanded("retry")):
        await scene.bot.reply(inbound, "page 1", buttons=buttons)
    store: Any = scene.bot.adapter._connection.client._connection._view_store
    assert not store._views
    assert not store._synced_message_views
