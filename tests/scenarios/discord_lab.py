"""A Discord, a model server and people between them, and the bot as a process of its own that serves them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import discord
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, GuildHandle, UserHandle
from simcord.results import InteractionResult, ResponseMessage

from tests.conftest import know_the_bot
from tests.emulators.discord import DiscordEmulator, Request
from tests.emulators.openai.emulator import OpenAIEmulator
from tests.emulators.openai.script import Request as ModelRequest
from tests.emulators.openai.script import Say, Stream, Wait, chunk, text_of
from tests.scenarios.bot_process import BotProcess, running_bot

KEY = "key-sentinel-0123456789"
"""Of the model server; it must appear nowhere."""


def echo(request: ModelRequest) -> Say:
    """What the model says unless a test scripts something else."""
    return Say(text=f"answer to: {request.last_user}")


def halting(gate: asyncio.Event, first: str, second: str = "") -> Stream:
    """An answer that stops in its middle until the gate opens."""
    end = chunk({}, finish="stop")
    return Stream(steps=(chunk({"content": first}), Wait(gate), chunk({"content": second}), end))


@dataclass
class DiscordLab:
    """The world that the bot serves: Alice may manage its channels, Bob may not, Carol is denied by the settings."""

    discord: DiscordEmulator
    model: OpenAIEmulator
    folder: Path
    guild: GuildHandle
    alice: MemberActor
    bob: MemberActor
    carol: MemberActor

    @property
    def settings(self) -> dict[str, str]:
        """What joins the bot to both servers."""
        return {
            "DISCORD__TOKEN": self.discord.token,
            "DISCORD__API_BASE": self.discord.rest_base,
            "DISCORD__GATEWAY_URL": self.discord.gateway_url,
            "PROVIDERS__LAB__BASE_URL": self.model.base_url,
            "PROVIDERS__LAB__API_KEY": KEY,
            "PROVIDERS__LAB__VISION": "on",
            "MODEL": "lab/scripted",
            "PERSONA": "none",
            "BURST_MS": "0",
            "ACCESS__DENY_USERS": f"discord:{self.carol.id}",
        }

    @asynccontextmanager
    async def running(self, **settings: str) -> AsyncIterator[BotProcess]:
        """The bot, connected, with its slash commands registered."""
        sessions = len(self.discord.gateway.started)
        async with running_bot(self.folder, {**self.settings, **settings}) as bot:
            await bot.until(self.discord.connected(sessions=sessions + 1, within=30))
            yield bot

    def spot(self, name: str) -> Spot:
        """A new channel."""
        return Spot(self, self.guild.create_text_channel(name))

    def heard(self) -> list[str]:
        """The history that the model was last asked with."""
        return [text_of(message) for message in self.model.last.messages if message["role"] != "system"]

    def told(self, result: InteractionResult) -> str:
        """The newest answer to a command or button."""
        return _answers(result)[-1].content

    def is_private(self, result: InteractionResult) -> bool:
        """Whether the newest answer to a command or button is for the caller alone."""
        return _answers(result)[-1].ephemeral

    async def registered(self) -> None:
        """Wait until the slash commands can be used."""
        path = "/applications/*/commands"
        await self.discord.requests.first(lambda request: request.is_for("PUT", path) and request.status == 200)


@dataclass
class Spot:
    """One channel, thread or private chat, and what the bot does there."""

    lab: DiscordLab
    channel: ChannelHandle

    def __post_init__(self) -> None:
        self._begin = self.lab.discord.requests.mark()

    @property
    def posts(self) -> list[str]:
        """What the bot's messages here say now, oldest first, those for one person alone left out."""
        return [message.content for message in self.messages if not message.flags.ephemeral]

    @property
    def messages(self) -> list[discord.Message]:
        """The bot's messages here."""
        return [message for message in self.channel.history() if self.lab.discord.is_bot(message.author.id)]

    @property
    def requests(self) -> list[Request]:
        """The bot's requests that write, edit or delete here."""
        path = f"/channels/{self.channel.id}/messages*"
        methods = ("POST", "PATCH", "DELETE")
        found = self.lab.discord.requests.matching(
            lambda request: any(request.is_for(method, path) for method in methods), after=self._begin
        )
        return sorted(found, key=lambda request: request.at)

    async def ask(self, author: MemberActor, text: str, **more: Any) -> discord.Message:
        """Somebody mentions the bot."""
        return await author.send(self.channel, f"{self.lab.discord.mention} {text}".strip(), **more)

    async def says(self, text: str | Callable[[str], bool], *, within: float = 20.0) -> dict[str, Any]:
        """Wait until a message of the bot here reads so."""
        matches = text if callable(text) else lambda content: content == text
        return await self.lab.discord.bot_message(
            lambda data: data["channel_id"] == str(self.channel.id) and matches(data["content"]), within=within
        )

    async def slash(self, author: MemberActor, name: str, **options: Any) -> InteractionResult:
        """Somebody uses a slash command and has its answer."""
        await self.lab.registered()
        result = await author.slash(self.channel, name, **options)
        await self.lab.discord.requests.first(lambda _: _is_complete(result))
        return result

    async def click(self, author: MemberActor, message: Any, label: str) -> InteractionResult:
        """Somebody presses a button and has its answer."""
        requests, mark = self.lab.discord.requests, self.lab.discord.requests.mark()
        result = await author.click(message, label=label)
        await requests.first(lambda request: request.path.startswith("/webhooks/"), after=mark)
        return result

    def put_button(self, message: Mapping[str, Any], label: str, command: str) -> None:
        """Let a message of the bot carry a button, as if a command had offered it to somebody with more rights."""
        stored = self.lab.discord.world.backend.get_message(self.channel.id, int(message["id"]))
        button = {"type": 2, "style": 2, "label": label, "custom_id": f"familiar:{command}"}
        stored.components = [{"type": 1, "components": [button]}]


def _answers(result: InteractionResult) -> list[ResponseMessage]:
    return [message for message in (result.response, *result.followups) if message]


def _is_complete(result: InteractionResult) -> bool:
    """Whether a command is answered: "…" stands while a public deferral is being withdrawn."""
    answers = _answers(result)
    return bool(answers) and all(message.content not in ("", "…") for message in answers)


@asynccontextmanager
async def discord_lab(
    folder: Path, database: Path, *, approved: discord.Intents | None = None, is_known: bool = True
) -> AsyncIterator[DiscordLab]:
    """Both servers and the people, who know the bot; `database` is an empty, migrated one, which saves each start its
    migration.
    """
    (folder / "data").mkdir(parents=True)
    shutil.copy(database, folder / "data" / "familiar.db")
    async with DiscordEmulator(approved=approved) as emulator, OpenAIEmulator(echo) as model:
        world = emulator.world
        guild = world.create_guild("Lab")
        if is_known:
            know_the_bot(folder / "data" / "familiar.db", f"discord:{guild.id}")
        managers = guild.create_role("Managers", permissions=discord.Permissions(manage_channels=True))

        def join(name: str, *roles: Any) -> MemberActor:
            user: UserHandle = world.create_user(name.lower(), global_name=name)
            return guild.add_member(user, roles=roles)

        yield DiscordLab(emulator, model, folder, guild, join("Alice", managers), join("Bob"), join("Carol"))
