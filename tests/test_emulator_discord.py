"""The Discord emulator under an unmodified discord.py client."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest
from simcord.enums import MessageType

from tests.emulators.discord import DiscordEmulator, library_pointed_at


class Echo(discord.Client):
    """Answers with what it was told; a few words make it do more."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents.all(), guild_ready_timeout=0.1)
        self.resumed = asyncio.Event()

    async def before_identify_hook(self, *_: Any, **__: Any) -> None:
        """Skips the library's five seconds before a new IDENTIFY."""

    async def on_resumed(self) -> None:
        self.resumed.set()

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot:
            return
        if message.attachments:
            content = (await message.attachments[0].read()).decode()
            await message.channel.send(f"read {content}")
        elif message.content == "file":
            await message.channel.send("here", file=discord.File(io.BytesIO(b"data"), "out.txt"))
        else:
            answer = await message.reply(f"echo {message.content}")
            await answer.edit(content=f"{answer.content}!")

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if interaction.type is discord.InteractionType.autocomplete:
            await interaction.response.autocomplete([discord.app_commands.Choice(name="one", value="one")])
        else:
            await interaction.response.defer(ephemeral=True)
            await interaction.edit_original_response(content="done")


@pytest.fixture
async def emulator() -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator() as emulator:
        yield emulator


@contextlib.asynccontextmanager
async def connected(emulator: DiscordEmulator) -> AsyncIterator[Echo]:
    with library_pointed_at(emulator):
        async with Echo() as client:
            running = asyncio.create_task(client.start(emulator.token))
            await emulator.connected()
            yield client
            await client.close()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_message_is_answered_and_edited_over_the_wire(emulator: DiscordEmulator) -> None:
    guild = emulator.world.create_guild("Lab")
    channel = guild.create_text_channel("general")
    alice = guild.add_member(emulator.world.create_user("alice"))
    async with connected(emulator):
        await alice.send(channel, "hi")
        answer = await emulator.bot_message(lambda m: m["content"] == "echo hi!")
    assert answer["referenced_message"]["content"] == "hi"


async def test_files_travel_both_ways(emulator: DiscordEmulator) -> None:
    guild = emulator.world.create_guild("Lab")
    channel = guild.create_text_channel("general")
    alice = guild.add_member(emulator.world.create_user("alice"))
    async with connected(emulator):
        await alice.send(channel, attachments=[("a.txt", b"abc")])
        await emulator.bot_message(lambda m: m["content"] == "read abc")
        await alice.send(channel, "file")
        message = await emulator.bot_message(lambda m: m["content"] == "here")
    assert message["attachments"][0]["filename"] == "out.txt"


async def test_a_cut_connection_is_resumed_and_nothing_is_missed(emulator: DiscordEmulator) -> None:
    bob = emulator.world.create_user("bob")
    async with connected(emulator) as client:
        emulator.cut()
        await bob.send_dm("while away")
        await emulator.bot_message(lambda m: m["content"] == "echo while away!")
        assert client.resumed.is_set()
    assert len(emulator.gateway.started) == 1


async def test_op_7_resumes_and_op_9_starts_a_new_session(emulator: DiscordEmulator) -> None:
    bob = emulator.world.create_user("bob")
    async with connected(emulator) as client:
        emulator.ask_to_reconnect()
        async with asyncio.timeout(5):
            await client.resumed.wait()
        emulator.gateway.invalidate(resumable=False)
        await emulator.connected(sessions=2)
        await bob.send_dm("again")
        await emulator.bot_message(lambda m: m["content"] == "echo again!")


async def test_slash_commands_autocomplete_and_ephemeral_answers_work(emulator: DiscordEmulator) -> None:
    guild = emulator.world.create_guild("Lab")
    channel = guild.create_text_channel("general")
    alice = guild.add_member(emulator.world.create_user("alice"))
    option = {"type": 3, "name": "what", "description": "what", "autocomplete": True}
    async with connected(emulator) as client:
        command = {"name": "ask", "description": "ask", "options": [option]}
        await client.http.bulk_upsert_global_commands(client.application_id or 0, [command])
        result = await alice.slash(channel, "ask", what="x")
        await emulator.requests.first(lambda r: r.method == "PATCH" and r.path.endswith("/@original"))
        assert result.ephemeral
        assert result.response
        assert result.response.content == "done"
        await alice.autocomplete(channel, "ask", "what", "o")
        answer = await emulator.requests.first(lambda r: r.path.endswith("/callback") and r.body["type"] == 8)
    assert [choice["name"] for choice in answer.body["data"]["choices"]] == ["one"]


async def test_injected_faults_and_rate_limits_reach_the_client(emulator: DiscordEmulator) -> None:
    bob = emulator.world.create_user("bob")
    posts = f"/channels/{bob.dm_channel.id}/messages"
    emulator.fault("POST", posts, status=429)
    async with connected(emulator):
        await bob.send_dm("one")
        await emulator.bot_message(lambda m: m["content"] == "echo one!")
        emulator.rules.add_limit("POST", posts, count=1, seconds=0.3)
        await bob.send_dm("two")
        await bob.send_dm("three")
        await emulator.bot_message(lambda m: m["content"] == "echo three!")
    sends = [r for r in emulator.requests if r.is_for("POST", posts)]
    assert [r.status for r in sends] == [429, 200, 200, 200]
    assert sends[3].at - sends[2].at >= 0.25


async def test_a_lost_answer_is_made_good_by_the_enforced_nonce(emulator: DiscordEmulator) -> None:
    bob = emulator.world.create_user("bob")
    channel_id = bob.dm_channel.id
    async with connected(emulator) as client:
        emulator.fault("POST", f"/channels/{channel_id}/messages", drop=True, carried_out=True)
        channel = client.get_partial_messageable(channel_id)
        with contextlib.suppress(Exception):
            await channel.send("once", nonce=7)
        again = await channel.send("once", nonce=7)
    posted = [m for m in emulator.world.backend.messages[channel_id].values() if m.content == "once"]
    assert [m.id for m in posted] == [again.id]


async def test_replies_to_what_is_gone_or_a_system_message_are_refused(emulator: DiscordEmulator) -> None:
    guild = emulator.world.create_guild("Lab")
    channel = guild.create_text_channel("general")
    notice = emulator.world.backend.create_system_message(channel.id, MessageType.NEW_MEMBER, guild.owner.id)
    async with connected(emulator) as client:
        target = client.get_partial_messageable(channel.id, guild_id=guild.id)
        for message_id in (1, notice.id):
            with pytest.raises(discord.HTTPException) as refused:
                await target.send(
                    "hm", reference=discord.MessageReference(message_id=message_id, channel_id=channel.id)
                )
            assert refused.value.code == 50035


@pytest.mark.parametrize(
    "names", [("Undo", "撤回"), ("undo", "撤回！"), ("undo", "长" * 33), ("undo", "重试"), ("undo", "Zurück")]
)
async def test_names_of_commands_are_refused_as_discord_refuses_them(
    emulator: DiscordEmulator, names: tuple[str, str]
) -> None:
    def command(name: str, chinese: str) -> dict[str, Any]:
        return {"name": name, "description": "x", "name_localizations": {"zh-CN": chinese}}

    async with connected(emulator) as client:
        assert client.application_id
        await client.http.bulk_upsert_global_commands(
            client.application_id, [command("retry", "重试"), command("undo", "撤回")]
        )
        with pytest.raises(discord.HTTPException) as refused:
            await client.http.bulk_upsert_global_commands(
                client.application_id, [command("retry", "重试"), command(*names)]
            )
    assert refused.value.code == 50035


async def test_a_privileged_intent_that_is_switched_off_closes_the_connection() -> None:
    approved = discord.Intents.all()
    approved.message_content = False
    async with DiscordEmulator(approved=approved) as emulator:
        with library_pointed_at(emulator):
            async with Echo() as client:
                with pytest.raises(discord.PrivilegedIntentsRequired):
                    await client.start(emulator.token)


async def test_a_wrong_token_is_refused(emulator: DiscordEmulator) -> None:
    with library_pointed_at(emulator):
        async with Echo() as client:
            with pytest.raises(discord.LoginFailure):
                await client.start("wrong")
