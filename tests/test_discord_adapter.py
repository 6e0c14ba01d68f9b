"""The Discord adapter on the wire: connecting and reconnecting, hearing in order, files, commands, rights, doctor."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator
from dataclasses import replace

import discord
import pytest
import yarl
from simcord.builders import UserHandle
from structlog.testing import capture_logs

from adapters.discord.options import DiscordOptions
from bot.chat import AttachmentKind, Inbound, InboundKind, Severity, Visibility
from bot.errors import AdapterError
from bot.tasks import Tasks
from tests.emulators.discord import DiscordEmulator
from tests.emulators.discord.files import Misbehaviour
from tests.emulators.discord.harness import OPTIONS, Hosted, hosted, make_adapter

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100


@pytest.fixture
async def emulator() -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator() as emulator:
        yield emulator


@pytest.fixture
async def bot(emulator: DiscordEmulator) -> AsyncIterator[Hosted]:
    async with hosted(emulator) as bot:
        yield bot


@pytest.fixture
def alice(emulator: DiscordEmulator) -> UserHandle:
    return emulator.world.create_user("alice", global_name="Alice")


async def nothing(_: Inbound) -> None:
    """A pipeline that does not care."""


# Connecting


async def test_S18_closing_before_the_start_is_fine(emulator: DiscordEmulator) -> None:
    tasks = Tasks()
    adapter = make_adapter(emulator, tasks)
    await adapter.close()
    await adapter.run(nothing)
    assert len(emulator.requests) == 0


@pytest.mark.parametrize("stage", ["/users/@me", "/oauth2/applications/@me"])
async def test_S18_closing_during_the_start_leaves_no_traceback_and_nothing_open(
    emulator: DiscordEmulator, stage: str, caplog: pytest.LogCaptureFixture
) -> None:
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    tasks = Tasks()
    adapter = make_adapter(emulator, tasks)
    emulator.fault("GET", stage, status=200, delay=30)
    running = asyncio.ensure_future(adapter.run(nothing))
    await emulator.rest.arrived.first(lambda call: call == ("GET", stage))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        await adapter.close()
        await running
        await tasks.close()
        del adapter
        gc.collect()
    assert faults == []
    assert [str(warning.message) for warning in warned] == []
    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []


async def test_S18_cancelling_the_run_is_fine_at_any_time(emulator: DiscordEmulator) -> None:
    tasks = Tasks()
    adapter = make_adapter(emulator, tasks)
    running = asyncio.ensure_future(adapter.run(nothing))
    await emulator.connected()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert running.cancelled()
    await adapter.close()
    await tasks.close()


async def test_S12_a_refused_token_ends_the_run_in_words(emulator: DiscordEmulator) -> None:
    adapter = make_adapter(emulator, Tasks(), token="wrong.token.sentinel")
    with pytest.raises(AdapterError, match="token was refused") as refused:
        await adapter.run(nothing)
    assert "DISCORD__TOKEN" in refused.value.remedy
    assert "sentinel" not in str(refused.value)
    await adapter.close()


async def test_a_missing_privileged_intent_ends_the_run_in_words() -> None:
    approved = discord.Intents.all()
    approved.message_content = False
    async with DiscordEmulator(approved=approved) as emulator:
        adapter = make_adapter(emulator, Tasks())
        with pytest.raises(AdapterError, match="Message Content Intent") as refused:
            await adapter.run(nothing)
        assert "Privileged Gateway Intents" in refused.value.remedy
        await adapter.close()


async def test_a_server_that_is_not_there_yet_is_tried_again(alice: UserHandle, emulator: DiscordEmulator) -> None:
    port = emulator.port
    tasks = Tasks()
    bot = Hosted(make_adapter(emulator, tasks), tasks)
    await emulator.stop()
    tried = asyncio.Event()

    def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        tried.set()

    async with await asyncio.start_server(hang_up, "127.0.0.1", port), asyncio.timeout(5):
        running = asyncio.ensure_future(bot.adapter.run(bot.deliver))
        await tried.wait()
    await emulator.start(port)
    await emulator.connected()
    await alice.send_dm("hi")
    await bot.hears(text="hi")
    await bot.adapter.close()
    await running


async def test_a_first_gateway_connection_that_fails_is_tried_again(emulator: DiscordEmulator) -> None:
    tasks = Tasks()
    url = emulator.gateway_url
    adapter = make_adapter(emulator, tasks)
    adapter._addresses = (emulator.rest_base, "ws://127.0.0.1:9/gateway/")
    running = asyncio.ensure_future(adapter.run(nothing))
    await emulator.requests.first(lambda request: request.path == "/oauth2/applications/@me")
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url)
    await emulator.connected()
    await adapter.close()
    await running


async def test_an_event_that_cannot_be_parsed_costs_a_reconnect_and_no_more(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    emulator.inject("MESSAGE_CREATE", {"id": "1", "channel_id": "2", "author": {"id": str(alice.id)}})
    await emulator.connected(sessions=2)
    await alice.send_dm("still there?")
    heard = await bot.hears(text="still there?")
    await bot.reply(heard, "yes")
    await emulator.bot_message(lambda message: message["content"] == "yes")
    assert len(emulator.gateway.connections) == 1


async def test_a_cut_connection_is_resumed_and_what_was_missed_is_heard(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    emulator.cut()
    await alice.send_dm("while away")
    await bot.hears(text="while away")
    assert (len(emulator.gateway.started), len(emulator.gateway.resumed)) == (1, 1)


async def test_replies_go_out_while_the_gateway_is_down(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    await alice.send_dm("hi")
    heard = await bot.hears()
    await emulator.gateway.close(1011)
    await bot.reply(heard, "hello")
    await emulator.bot_message(lambda message: message["content"] == "hello")


async def test_X01_the_token_is_in_no_log_line(
    emulator: DiscordEmulator, alice: UserHandle, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with capture_logs() as logs:
        async with hosted(emulator) as bot:
            emulator.fault("POST", f"/channels/{alice.dm_channel.id}/messages", status=403)
            await alice.send_dm("hi")
            await bot.reply(await bot.hears(), "hello")
    assert logs
    assert emulator.token not in caplog.text + repr(logs)


async def test_we_ask_for_no_more_than_messages(emulator: DiscordEmulator, bot: Hosted) -> None:
    asked = emulator.gateway.started.entries[0].intents
    wanted = {"guilds", "guild_messages", "dm_messages", "message_content"}
    assert {name for name, is_on in asked if is_on} == wanted


# Hearing


async def test_D33_a_dm_is_heard_and_answered_without_a_guild(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    await alice.send_dm("hello")
    heard = await bot.hears()
    assert heard.channel.session_key == f"discord:{alice.dm_channel.id}"
    assert heard.channel.visibility is Visibility.DM
    assert (heard.author.name, heard.author.roles) == ("Alice", frozenset())
    await bot.reply(heard, "hi")
    assert (await emulator.bot_message())["channel_id"] == str(alice.dm_channel.id)


async def test_D11_without_the_content_intent_we_hear_dms_and_mentions_and_say_so_once(alice: UserHandle) -> None:
    approved = discord.Intents.all()
    approved.message_content = False
    async with DiscordEmulator(approved=approved) as emulator:
        guild = emulator.world.create_guild()
        channel = guild.create_text_channel("general")
        bob = guild.add_member(emulator.world.create_user("bob"))
        with capture_logs() as logs:
            async with hosted(emulator, options=replace(OPTIONS, message_content=False)) as bot:
                first = await bob.send(channel, "psst")
                await bob.send(channel, "nobody hears this")
                await bob.edit(first, "nor this")
                await bob.send(channel, f"{emulator.mention} but this")
                await bob.send_dm("and this")
                await bot.hears(text="and this")
        assert [inbound.text for inbound in bot.heard] == ["but this", "and this"]
        assert [entry["event"] for entry in logs].count("discord.message_content_missing") == 1


async def test_D31_edits_and_deletes_are_heard_though_no_message_is_kept(
    emulator: DiscordEmulator, bot: Hosted
) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("general")
    alice = guild.add_member(emulator.world.create_user("alice"))
    message = await alice.send(channel, "hi")
    await alice.edit(message, "hello")
    edit = await bot.hears(InboundKind.EDIT)
    assert (edit.message_id, edit.text) == (str(message.id), "hello")
    await alice.delete(message)
    delete = await bot.hears(InboundKind.DELETE)
    assert (delete.message_id, delete.channel) == (str(message.id), edit.channel)


async def test_D31_messages_deleted_in_bulk_are_each_heard(emulator: DiscordEmulator, bot: Hosted) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("general")
    emulator.inject(
        "MESSAGE_DELETE_BULK", {"ids": ["11", "12"], "channel_id": str(channel.id), "guild_id": str(guild.id)}
    )
    await bot.hears(InboundKind.DELETE, message_id="12")
    assert [inbound.message_id for inbound in bot.heard] == ["11", "12"]


async def test_D31_a_pin_or_a_preview_is_no_edit(emulator: DiscordEmulator, bot: Hosted) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("general")
    alice = guild.add_member(emulator.world.create_user("alice"))
    message = await alice.send(channel, "hi")
    update = next(event for event in emulator.events if event.name == "MESSAGE_CREATE").data | {"pinned": True}
    emulator.inject("MESSAGE_UPDATE", update)
    await alice.edit(message, "really edited")
    assert (await bot.hears(InboundKind.EDIT)).text == "really edited"


async def test_our_own_messages_and_edits_are_not_heard(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    await alice.send_dm("one")
    heard = await bot.hears()
    stream = await bot.adapter.open_reply(heard.channel)
    await stream.update("a first part")
    await bot.reply(heard, "an answer")
    await alice.send_dm("two")
    await bot.hears(text="two")
    assert [inbound.text for inbound in bot.heard] == ["one", "two"]
    await stream.discard()


async def test_D17_a_thread_that_was_archived_when_we_connected_keeps_its_parent(
    emulator: DiscordEmulator, bot: Hosted
) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("general")
    alice = guild.add_member(emulator.world.create_user("alice"))
    thread = emulator.world.start_thread(channel, "old", alice, announced=False)
    await alice.send(thread, "hi")
    heard = await bot.hears(text="hi")
    assert heard.channel.session_key == f"discord:{guild.id}:{channel.id}:{thread.id}"


async def test_D16_the_first_words_to_us_in_a_thread_quote_what_it_was_opened_about(
    emulator: DiscordEmulator, bot: Hosted
) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("general")
    alice = guild.add_member(emulator.world.create_user("alice"))
    starter = await alice.send(channel, "Please plan a picnic for 6")
    thread = emulator.world.start_thread(channel, "picnic", alice, starter=starter)
    await alice.send(thread, "just us so far")
    await alice.send(thread, f"{emulator.mention} make this happen")
    await alice.send(thread, f"{emulator.mention} please")
    await bot.hears(text="please")
    in_thread = [inbound for inbound in bot.heard if inbound.channel.thread]
    quotes = [inbound.reply_to and inbound.reply_to.text for inbound in in_thread]
    assert quotes == [None, "Please plan a picnic for 6", None]


async def test_D16_a_thread_without_a_starter_is_heard_all_the_same(emulator: DiscordEmulator, bot: Hosted) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("general")
    alice = guild.add_member(emulator.world.create_user("alice"))
    thread = emulator.world.start_thread(channel, "on its own", alice)
    await alice.send(thread, f"{emulator.mention} hi")
    assert (await bot.hears(text="hi")).reply_to is None


async def test_messages_of_one_channel_keep_their_order_and_others_do_not_wait(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    bob = emulator.world.create_user("bob")
    hold = asyncio.Event()

    async def wait_for_alice(inbound: Inbound) -> None:
        if inbound.text == "first":
            await hold.wait()

    bot.answer = wait_for_alice
    for text in ("first", "second", "third"):
        await alice.send_dm(text)
    await bob.send_dm("from elsewhere")
    await bot.hears(text="from elsewhere")
    assert [inbound.text for inbound in bot.heard] == ["first", "from elsewhere"]
    hold.set()
    await bot.hears(text="third")
    assert [inbound.text for inbound in bot.heard][2:] == ["second", "third"]


async def test_one_message_that_breaks_the_pipeline_does_not_silence_its_channel(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    async def break_once(inbound: Inbound) -> None:
        if inbound.text == "poison":
            raise RuntimeError("poison")

    bot.answer = break_once
    await alice.send_dm("poison")
    await alice.send_dm("after")
    await bot.hears(text="after")


async def test_after_stop_listening_nothing_is_taken_and_replies_can_end(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    await alice.send_dm("before")
    heard = await bot.hears()
    await bot.adapter.stop_listening()
    await alice.send_dm("after")
    (part,) = await bot.reply(heard, "done")
    assert part.message_id
    assert [inbound.text for inbound in bot.heard] == ["before"]


# Files


async def test_D20_only_real_images_become_images(emulator: DiscordEmulator, bot: Hosted, alice: UserHandle) -> None:
    files = [
        ("photo.png", PNG),
        ("Image_9_1.html", b"<p>hi</p>"),
        ("Image_9_2.markdown", b"# hi"),
        ("fake.png", b"not an image"),
        ("picture.webp", b"RIFF\0\0\0\0WEBPVP8 "),
        ("code.zig", "fn main() void {} // é".encode()),
        ("tool.exe", b"MZ\0\x01"),
        ("photo.raw", b"\x89\xab\xcd"),
    ]
    emulator.world.post(alice.dm_channel, alice, attachments=files)
    kinds = {file.name: file.kind for file in (await bot.hears()).attachments}
    assert kinds == {
        "photo.png": AttachmentKind.IMAGE,
        "Image_9_1.html": AttachmentKind.TEXT,
        "Image_9_2.markdown": AttachmentKind.TEXT,
        "fake.png": AttachmentKind.OTHER,
        "picture.webp": AttachmentKind.IMAGE,
        "code.zig": AttachmentKind.TEXT,
        "tool.exe": AttachmentKind.OTHER,
        "photo.raw": AttachmentKind.OTHER,
    }


async def test_an_image_is_given_as_bytes(emulator: DiscordEmulator, bot: Hosted, alice: UserHandle) -> None:
    emulator.world.post(alice.dm_channel, alice, "look", attachments=[("photo.png", PNG)])
    (image,) = (await bot.hears()).attachments
    assert (image.data, image.media_type, image.size) == (PNG, "image/png", len(PNG))


async def test_D30_a_long_text_file_is_read_up_to_the_cap_and_says_so(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    emulator.world.post(alice.dm_channel, alice, attachments=[("message.txt", ("é" * 53_939 + "x").encode())])
    (file,) = (await bot.hears()).attachments
    assert file.text == "é" * 32_768
    assert file.note == "first 65536 of 107879 bytes"


async def test_D09_files_of_a_forwarded_message_are_read_too(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("news")
    member = guild.add_member(alice)
    source = emulator.world.post(channel, member, "release is on Friday", attachments=[("plan.png", PNG)])
    await member.forward(source, alice.dm_channel)
    heard = await bot.hears(text="[forwarded message: release is on Friday]")
    assert [file.kind for file in heard.attachments] == [AttachmentKind.IMAGE]


async def test_files_are_fetched_only_for_messages_that_speak_to_us(emulator: DiscordEmulator, bot: Hosted) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("general")
    alice = guild.add_member(emulator.world.create_user("alice"))
    emulator.world.post(channel, alice, "to all", attachments=[("photo.png", PNG)])
    emulator.world.post(channel, alice, f"{emulator.mention} to you", attachments=[("photo.png", PNG)])
    await bot.hears(text="to you")
    assert [inbound.attachments[0].kind for inbound in bot.heard] == [AttachmentKind.OTHER, AttachmentKind.IMAGE]
    assert bot.heard.entries[0].attachments[0].note == "image, 108 B"


@pytest.mark.parametrize(
    ("how", "kind", "note"),
    [
        (Misbehaviour.ENDLESS, AttachmentKind.OTHER, "image, 108 B, too large to look at"),
        (Misbehaviour.STALLS, AttachmentKind.OTHER, "image, 108 B, could not be fetched"),
        (Misbehaviour.MISSING, AttachmentKind.OTHER, "image, 108 B, could not be fetched"),
    ],
)
async def test_X07_a_file_that_never_ends_or_never_comes_is_noted_within_its_limits(
    emulator: DiscordEmulator, alice: UserHandle, how: Misbehaviour, kind: AttachmentKind, note: str
) -> None:
    options = DiscordOptions(reconnect_seconds=0.02, image_bytes=1 << 20, download_seconds=0.3)
    emulator.files.misbehave("photo.png", how)
    async with hosted(emulator, options=options) as bot:
        emulator.world.post(alice.dm_channel, alice, "first", attachments=[("photo.png", PNG)])
        await alice.send_dm("second")
        await bot.hears(text="second")
    (file,) = bot.heard.entries[0].attachments
    assert (bot.heard.entries[0].text, file.kind, file.note) == ("first", kind, note)
    assert emulator.files.bytes_sent < 8 << 20


async def test_X07_the_files_of_one_message_share_one_allowance(emulator: DiscordEmulator, alice: UserHandle) -> None:
    options = DiscordOptions(reconnect_seconds=0.02, message_bytes=250)
    async with hosted(emulator, options=options) as bot:
        emulator.world.post(alice.dm_channel, alice, attachments=[(f"{n}.png", PNG) for n in range(4)])
        kinds = [file.kind for file in (await bot.hears()).attachments]
    assert kinds == [AttachmentKind.IMAGE] * 2 + [AttachmentKind.OTHER] * 2


# Commands


async def synced(emulator: DiscordEmulator) -> None:
    await emulator.requests.first(lambda r: r.method == "PUT" and r.path.endswith("/commands"))


async def test_D10_a_command_is_acknowledged_before_it_is_handed_on(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    acknowledged: list[bool] = []

    async def look(_: Inbound) -> None:
        acknowledged.append(result.acknowledged)

    bot.answer = look
    await synced(emulator)
    result = await alice.slash("persona use", name="Ada")
    heard = await bot.hears(InboundKind.COMMAND)
    assert heard.command
    assert (heard.command.path, heard.command.options) == (("persona", "use"), {"name": "Ada"})
    assert (heard.text, heard.author.locale) == ("/persona use name:Ada", "en-US")
    assert acknowledged == [True]
    assert not result.ephemeral


async def test_D10_a_command_that_came_too_late_goes_no_further(
    emulator: DiscordEmulator, bot: Hosted, alice: UserHandle
) -> None:
    await synced(emulator)
    emulator.fault("POST", "*/callback", status=404, body={"code": 10062, "message": "Unknown interaction"})
    with capture_logs() as logs:
        await alice.slash("retry")
        await alice.slash("status")
        heard = await bot.hears(InboundKind.COMMAND)
    assert heard.command
    assert heard.command.path == ("status",)
    assert [entry["code"] for entry in logs if entry["event"] == "discord.defer_refused"] == [10062]


async def test_a_command_in_a_thread_knows_the_thread_its_parent_and_the_roles(
    emulator: DiscordEmulator, bot: Hosted
) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("general")
    mods = guild.create_role("Mods")
    alice = guild.add_member(emulator.world.create_user("alice"), roles=[mods])
    thread = emulator.world.start_thread(channel, "side talk", alice)
    await synced(emulator)
    await alice.slash(thread, "retry")
    heard = await bot.hears(InboundKind.COMMAND)
    assert heard.channel.session_key == f"discord:{guild.id}:{channel.id}:{thread.id}"
    assert heard.channel.visibility is Visibility.PUBLIC
    assert heard.author.roles == {str(mods.id)}


async def test_completion_offers_what_fits(emulator: DiscordEmulator, bot: Hosted, alice: UserHandle) -> None:
    await synced(emulator)
    await alice.autocomplete("persona use", "name", "Ad")
    answer = await emulator.requests.first(lambda r: r.path.endswith("/callback"))
    names = [choice["name"] for choice in answer.body["data"]["choices"]]
    assert names == ["persona use name Ad", *(f"name {n}" for n in range(24))]


async def test_D15_commands_are_registered_once_and_guild_copies_are_cleared(emulator: DiscordEmulator) -> None:
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


async def test_D15_an_unchanged_menu_is_not_registered_again(emulator: DiscordEmulator, alice: UserHandle) -> None:
    kept: list[str] = []
    steps: asyncio.Queue[str] = asyncio.Queue()

    async def load() -> str | None:
        steps.put_nowait("loaded")
        return kept[-1] if kept else None

    async def save(value: str) -> None:
        kept.append(value)
        steps.put_nowait("saved")

    options = replace(OPTIONS, load_hash=load, save_hash=save)
    async with hosted(emulator, options=options):
        assert [await steps.get(), await steps.get()] == ["loaded", "saved"]
    async with hosted(emulator, options=options) as bot:
        assert await steps.get() == "loaded"
        await alice.send_dm("time passes")
        await bot.hears()
    assert len(kept) == 1
    assert len(emulator.rest.arrived.matching(lambda call: call[0] == "PUT")) == 1


# Rights


async def test_managers_are_known_by_the_channels_permissions(emulator: DiscordEmulator, bot: Hosted) -> None:
    guild = emulator.world.create_guild()
    channel = guild.create_text_channel("general")
    manage = guild.create_role("Mods", permissions=discord.Permissions(manage_channels=True))
    admin = guild.create_role("Admins", permissions=discord.Permissions(administrator=True))
    people = [
        guild.add_member(emulator.world.create_user("mod"), roles=[manage]),
        guild.add_member(emulator.world.create_user("admin"), roles=[admin]),
        guild.add_member(emulator.world.create_user("anybody")),
    ]
    await people[2].send(channel, "hi")
    ref = (await bot.hears()).channel
    assert [await bot.adapter.may_manage(ref, str(person.id)) for person in people] == [True, True, False]
    assert not await bot.adapter.may_manage(ref, "123456789012345678")
    asked = emulator.requests.matching(lambda r: r.is_for("GET", "/guilds/*/members/*"))
    assert str(people[2].id) not in {request.path.rsplit("/", 1)[-1] for request in asked}


async def test_in_a_dm_everybody_manages(bot: Hosted, alice: UserHandle) -> None:
    await alice.send_dm("hi")
    assert await bot.adapter.may_manage((await bot.hears()).channel, str(alice.id))


# Doctor


async def test_the_doctor_finds_a_healthy_bot_healthy(emulator: DiscordEmulator) -> None:
    findings = await make_adapter(emulator, Tasks()).check()
    assert [finding.severity for finding in findings] == [Severity.OK] * 4
    assert "scope=bot+applications.commands" in findings[0].message


async def test_the_doctor_names_a_refused_token(emulator: DiscordEmulator) -> None:
    (finding,) = await make_adapter(emulator, Tasks(), token="wrong.token.sentinel").check()
    assert finding.severity is Severity.FAULT
    assert "DISCORD__TOKEN" in finding.remedy
    assert "sentinel" not in repr(finding)


async def test_the_doctor_names_a_missing_intent_and_where_to_switch_it_on() -> None:
    approved = discord.Intents.all()
    approved.message_content = False
    async with DiscordEmulator(approved=approved) as emulator:
        findings = {finding.subject: finding for finding in await make_adapter(emulator, Tasks()).check()}
        finding = findings["discord: message content intent"]
        assert finding.severity is Severity.FAULT
        assert "Privileged Gateway Intents" in finding.remedy
        options = replace(OPTIONS, message_content=False)
        findings = {f.subject: f for f in await make_adapter(emulator, Tasks(), options=options).check()}
        assert findings["discord: message content intent"].severity is Severity.WARNING


async def test_the_doctor_names_an_endpoint_that_takes_the_commands_away(emulator: DiscordEmulator) -> None:
    emulator.rest.application["interactions_endpoint_url"] = "https://example.org/interactions"
    findings = {finding.subject: finding for finding in await make_adapter(emulator, Tasks()).check()}
    assert findings["discord: commands"].severity is Severity.FAULT


async def test_the_doctor_names_a_gateway_that_does_not_answer(emulator: DiscordEmulator) -> None:
    adapter = make_adapter(emulator, Tasks())
    adapter._addresses = (emulator.rest_base, "ws://127.0.0.1:9/gateway/")
    finding = (await adapter.check())[-1]
    assert (finding.severity, finding.subject) == (Severity.FAULT, "discord: gateway")
