"""The Discord adapter's connection: starting, stopping, being refused, and coming back."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator

import discord
import pytest
import yarl
from simcord.builders import UserHandle
from structlog.testing import capture_logs

from bot.chat import Inbound
from bot.errors import AdapterError
from bot.tasks import Tasks
from tests.emulators.discord import DiscordEmulator
from tests.emulators.discord.harness import Hosted, hosted, make_adapter


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
    gc.collect()  # what others left is not ours
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


async def test_D11_a_missing_privileged_intent_costs_one_login_at_the_gateway_and_nothing_else() -> None:
    approved = discord.Intents.all()
    approved.message_content = False
    async with DiscordEmulator(approved=approved) as emulator, hosted(emulator):
        await emulator.requests.first(lambda request: request.method == "PUT" and request.path.endswith("/commands"))
        logins = emulator.requests.matching(lambda request: request.is_for("GET", "/users/@me"))
        assert len(logins) == 1
        assert not emulator.gateway.started.entries[-1].intents.message_content


@pytest.mark.parametrize(
    ("code", "problem"), [(4004, "token was refused"), (4011, "demands shards"), (4013, "does not know our intents")]
)
async def test_a_gateway_that_refuses_us_for_good_ends_the_run_in_words(
    emulator: DiscordEmulator, code: int, problem: str
) -> None:
    adapter = make_adapter(emulator, Tasks())
    running = asyncio.ensure_future(adapter.run(nothing))
    await emulator.connected()
    await emulator.gateway.close(code)
    with pytest.raises(AdapterError, match=problem):
        await running
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
