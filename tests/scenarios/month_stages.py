"""Where a month is played: people of one platform, what they do there, and how to know that the bot has taken it.

Each verb returns as soon as what was done is delivered to the pipeline.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import discord
from simcord._clock import Clock as DiscordClock
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle

from bot.app import App
from bot.chat import Adapter, Inbound, InboundKind
from bot.testing import FakeAdapter, make_author, make_channel, make_inbound
from tests.emulators.discord import DiscordEmulator
from tests.emulators.discord.journal import Journal
from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.world import Chat, User
from tests.scenarios.month import MANAGER, PEOPLE, PERSONAS, Command

Now = Callable[[], datetime]
TAKEN_BACK = "never mind"
"""What people leave of a message that they cannot delete."""


class Stage(Protocol):
    """One platform as the player of a month needs it."""

    settings: Mapping[str, Any]
    """What joins the bot to it."""
    has_deletes: bool
    """Whether bots are told of them. Else people take an old message back by commands and edits."""

    def new_adapters(self) -> Mapping[str, Adapter] | None:
        """For the next start; `None` = those of the settings."""

    async def meet(self, app: App, delivered: Journal[Inbound]) -> None:
        """A bot was started: wait until it listens."""

    def key(self, who: str) -> str:
        """A person's stable key."""

    async def say(self, who: str, text: str, *, asks: bool) -> str:
        """Say something in the group, to the bot if it `asks`; returns the platform's id of it."""

    async def edit(self, who: str, message_id: str, text: str, *, asks: bool) -> None:
        """Change what was said."""

    async def delete(self, who: str, message_id: str, value: str, *, is_fresh: bool) -> None:
        """Take back what was said, whose `value` may stand in the notes."""

    async def command(self, command: Command) -> None:
        """Use a command and have its answer."""

    def texts(self) -> list[str]:
        """What the bot's messages in the group say now."""


# --- The fake


@dataclass
class FakeStage:
    """Delivers by itself."""

    now: Now
    settings: Mapping[str, Any] = field(default_factory=dict)
    has_deletes = True
    _ids: Iterator[int] = field(default_factory=itertools.count)
    _adapters: list[FakeAdapter] = field(default_factory=list)

    def new_adapters(self) -> Mapping[str, Adapter]:
        self._adapters.append(FakeAdapter(managers={MANAGER.lower()}))
        return {"fake": self._adapters[-1]}

    async def meet(self, app: App, delivered: Journal[Inbound]) -> None:
        self._app = app

    def key(self, who: str) -> str:
        return make_author(who).key

    async def say(self, who: str, text: str, *, asks: bool) -> str:
        message_id = f"said{next(self._ids)}"
        await self._deliver(who, text, message_id=message_id, mentions_me=asks)
        return message_id

    async def edit(self, who: str, message_id: str, text: str, *, asks: bool) -> None:
        await self._deliver(who, text, message_id=message_id, kind=InboundKind.EDIT)

    async def delete(self, who: str, message_id: str, value: str, *, is_fresh: bool) -> None:
        await self._deliver(who, "", message_id=message_id, kind=InboundKind.DELETE)

    async def command(self, command: Command) -> None:
        await self._deliver(command.who, _typed(command))

    def texts(self) -> list[str]:
        return [text for adapter in self._adapters for text in adapter.texts]

    async def _deliver(self, who: str, text: str, **facts: Any) -> None:
        inbound = make_inbound(text, author=make_author(who), channel=make_channel(), sent_at=self.now(), **facts)
        await self._app.pipeline.deliver(inbound)


@asynccontextmanager
async def fake_stage(now: Now) -> AsyncIterator[FakeStage]:
    """Nothing to open."""
    yield FakeStage(now)


# --- Discord


class _MonthClock(DiscordClock):
    """The time that Discord writes into the ids of messages."""

    def __init__(self, now: Now) -> None:
        super().__init__()
        self.read = now

    def now(self) -> datetime:
        return self.read()


@dataclass
class DiscordStage:
    """A channel of a guild; commands are slash commands."""

    discord: DiscordEmulator
    channel: ChannelHandle
    people: Mapping[str, MemberActor]
    clock: _MonthClock
    has_deletes = True
    _starts: int = 0

    @property
    def settings(self) -> Mapping[str, Any]:
        server = {"api_base": self.discord.rest_base, "gateway_url": self.discord.gateway_url}
        return {"discord": {"token": self.discord.token, **server}}

    def new_adapters(self) -> None:
        return None

    async def meet(self, app: App, delivered: Journal[Inbound]) -> None:
        self._delivered = delivered
        self._starts += 1
        await self.discord.connected(sessions=self._starts, within=30)
        await self.discord.requests.first(lambda request: request.is_for("PUT", "/applications/*/commands"), within=30)

    def key(self, who: str) -> str:
        return f"discord:{self.people[who].id}"

    async def say(self, who: str, text: str, *, asks: bool) -> str:
        message = await self.people[who].send(self.channel, self._written(text, asks))
        return await self._taken(str(message.id), InboundKind.MESSAGE)

    async def edit(self, who: str, message_id: str, text: str, *, asks: bool) -> None:
        mark = self._delivered.mark()
        await self.people[who].edit(self._message(message_id), self._written(text, asks))
        await self._taken(message_id, InboundKind.EDIT, mark)

    async def delete(self, who: str, message_id: str, value: str, *, is_fresh: bool) -> None:
        mark = self._delivered.mark()
        await self.people[who].delete(self._message(message_id))
        await self._taken(message_id, InboundKind.DELETE, mark)

    async def command(self, command: Command) -> None:
        mark = self._delivered.mark()
        options = {"persona": command.value} if command.value else {}
        with self._in_the_present():
            await self.people[command.who].slash(self.channel, command.path, **options)
            await self._delivered.first(lambda inbound: inbound.kind is InboundKind.COMMAND, after=mark, within=30)

    def texts(self) -> list[str]:
        history = self.channel.history()
        return [message.content for message in history if self.discord.is_bot(message.author.id)]

    @contextmanager
    def _in_the_present(self) -> Iterator[None]:
        """discord.py reads the age of an interaction off the real clock; after 15 minutes it has expired."""
        month, self.clock.read = self.clock.read, lambda: datetime.now(UTC)
        try:
            yield
        finally:
            self.clock.read = month

    def _written(self, text: str, asks: bool) -> str:
        return f"{self.discord.mention} {text}" if asks else text

    def _message(self, message_id: str) -> discord.Message:
        return self.discord.world.message(self.channel.id, int(message_id))

    async def _taken(self, message_id: str, kind: InboundKind, after: int = 0) -> str:
        return await _taken(self._delivered, message_id, kind, after)


@asynccontextmanager
async def discord_stage(now: Now) -> AsyncIterator[DiscordStage]:
    """A Discord on loopback ports."""
    async with DiscordEmulator() as emulator:
        world, clock = emulator.world, _MonthClock(now)
        world.backend.clock = clock
        guild = world.create_guild("Garden")
        managers = guild.create_role("Managers", permissions=discord.Permissions(manage_channels=True))
        people = {
            who: guild.add_member(
                world.create_user(f"person{number}", global_name=who), roles=[managers] if who == MANAGER else []
            )
            for number, who in enumerate(PEOPLE)
        }
        yield DiscordStage(emulator, guild.create_text_channel("garden"), people, clock)


# --- Telegram


@dataclass
class TelegramStage:
    """A group; commands are typed. Bots are told of no deletion: people take back their newest question by `/undo`;
    from an older message they edit the words out, and have each persona forget its note of it.
    """

    telegram: TelegramEmulator
    group: Chat
    people: Mapping[str, User]
    has_deletes = False
    forgotten: int = 0
    """How many notes were forgotten by command."""
    _persona: str = PERSONAS[0]

    @property
    def settings(self) -> Mapping[str, Any]:
        server = {"base_url": self.telegram.base_url, "base_file_url": self.telegram.base_file_url}
        return {"telegram": {"token": self.telegram.token, **server}}

    def new_adapters(self) -> None:
        return None

    async def meet(self, app: App, delivered: Journal[Inbound]) -> None:
        self._delivered = delivered
        await self.telegram.wait_for(lambda: self.telegram.polling, timeout_s=30)

    def key(self, who: str) -> str:
        return f"telegram:{self.people[who].id}"

    async def say(self, who: str, text: str, *, asks: bool) -> str:
        message = self.telegram.say(self.people[who], self.group, self._written(text, asks))
        return await self._taken(str(message["message_id"]), InboundKind.MESSAGE)

    async def edit(self, who: str, message_id: str, text: str, *, asks: bool) -> None:
        mark = self._delivered.mark()
        self.telegram.edit(self.group.messages[int(message_id)], self._written(text, asks))
        await self._taken(message_id, InboundKind.EDIT, mark)

    async def delete(self, who: str, message_id: str, value: str, *, is_fresh: bool) -> None:
        if is_fresh:
            await self.command(Command(who=who, path="undo"))
            return
        await self.edit(who, message_id, TAKEN_BACK, asks=False)
        here = self._persona
        for persona in (*PERSONAS, here):
            await self.command(Command(who=MANAGER, path="persona use", value=persona))
            await self._have_forgotten(value)

    async def _have_forgotten(self, value: str) -> None:
        listed = await self._told(Command(who=MANAGER, path="memory list", value=value))
        if note := re.search(rf"(\d+) [^\n]*={value}\b", listed):
            answer = await self._told(Command(who=MANAGER, path="memory forget", value=note[1]))
            assert answer.startswith(f"Forgotten: {note[1]}"), answer
            self.forgotten += 1

    async def command(self, command: Command) -> None:
        await self._told(command)
        if command.path == "persona use":
            self._persona = command.value

    def texts(self) -> list[str]:
        return self.telegram.bot_texts(self.group)

    async def _told(self, command: Command) -> str:
        """What the bot answers to a command: /reset, nothing."""
        asked = await self.say(command.who, _typed(command), asks=False)
        for message in self.telegram.bot_messages(self.group):
            if str(message.get("reply_to_message", {}).get("message_id")) == asked:
                return str(message["text"])
        return ""

    def _written(self, text: str, asks: bool) -> str:
        return f"@FamiliarBot {text}" if asks else text

    async def _taken(self, message_id: str, kind: InboundKind, after: int = 0) -> str:
        return await _taken(self._delivered, message_id, kind, after)


@asynccontextmanager
async def telegram_stage(now: Now) -> AsyncIterator[TelegramStage]:
    """A Telegram on a loopback port."""
    async with TelegramEmulator(clock=lambda: now().timestamp()) as emulator:
        people = {
            who: emulator.user(who, username=f"person{number}", language_code="zh" if who == "小明" else "en")
            for number, who in enumerate(PEOPLE)
        }
        group = emulator.group("Garden", *people.values())
        group.administrators.add(people[MANAGER].id)
        stage = TelegramStage(emulator, group, people)
        yield stage
        assert stage.forgotten, "no deletion met a note"


# --- All of them


def _typed(command: Command) -> str:
    return f"/{command.path} {command.value}".strip()


async def _taken(delivered: Journal[Inbound], message_id: str, kind: InboundKind, after: int) -> str:
    """Wait until something is delivered."""

    def is_it(inbound: Inbound) -> bool:
        return inbound.message_id == message_id and inbound.kind is kind

    await delivered.first(is_it, after=after, within=30)
    return message_id
