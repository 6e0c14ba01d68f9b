"""An adapter in front of the server, with people around and a recording `deliver`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from telegram import Message

from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.inbound import to_inbound
from adapters.telegram.options import BackOff, FileLimits, TelegramOptions, Timeouts
from adapters.telegram.reading import Me
from bot.chat import Adapter, ChannelRef, CommandMenu, CommandSpec, Inbound, ValueQuery, Visibility
from bot.tasks import Tasks
from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.world import Chat, Json

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
"""Enough of an image to be taken for one."""
ME = Me(id=4242, username="FamiliarBot")
"""The emulator's bot as it knows itself."""
QUICK = TelegramOptions(
    album_quiet=timedelta(milliseconds=150),
    poll_timeout=timedelta(seconds=5),
    back_off=BackOff(first=timedelta(milliseconds=1), longest=timedelta(milliseconds=8)),
    timeouts=Timeouts(connect=1, read=1),
    files=FileLimits(image_bytes=1000, text_bytes=100, timeout=timedelta(seconds=0.5)),
)


PATHS = (
    ("persona", "list"),
    ("persona", "use"),
    ("session", "show"),
    ("session", "set"),
    ("memory", "fact", "add"),
    ("reset",),
)


def make_menu(*paths: tuple[str, ...], locales: tuple[str, ...] = ("en", "zh")) -> CommandMenu:
    """A menu whose texts name themselves."""

    async def complete(_: ValueQuery) -> Sequence[str]:
        return ()

    return CommandMenu(
        specs=tuple(CommandSpec(path=path) for path in paths),
        translate=lambda message_id, locale: f"{message_id} in {locale}",
        locales=locales,
        complete=complete,
    )


@dataclass
class Ears:
    """A recording `deliver`."""

    inbounds: list[Inbound] = field(default_factory=list)
    hold: dict[str, asyncio.Event] = field(default_factory=dict)
    """Texts whose delivery waits for an event."""
    refused: set[str] = field(default_factory=set)
    """Texts whose delivery fails, which a pipeline never does."""

    def __post_init__(self) -> None:
        self._heard = asyncio.Event()
        self._begun: dict[str, asyncio.Event] = {}

    async def __call__(self, inbound: Inbound) -> None:
        self._begun.setdefault(inbound.text, asyncio.Event()).set()
        if gate := self.hold.get(inbound.text):
            await gate.wait()
        if inbound.text in self.refused:
            raise RuntimeError(inbound.text)
        self.inbounds.append(inbound)
        self._heard.set()

    async def begin(self, text: str) -> None:
        """Wait until the delivery of a text has begun."""
        async with asyncio.timeout(5):
            await self._begun.setdefault(text, asyncio.Event()).wait()

    async def hear(self, count: int) -> list[Inbound]:
        """The first `count` inbounds."""
        async with asyncio.timeout(5):
            while len(self.inbounds) < count:
                self._heard.clear()
                await self._heard.wait()
        return self.inbounds[:count]

    @property
    def texts(self) -> list[str]:
        return [inbound.text for inbound in self.inbounds]


@dataclass
class Stage:
    """A server, people on it, and adapters to start."""

    telegram: TelegramEmulator
    tasks: Tasks = field(default_factory=Tasks)

    def __post_init__(self) -> None:
        self.alice, self.bob = self.telegram.user("Alice"), self.telegram.user("Bob")
        self.private = self.telegram.private(self.alice)
        self.group = self.telegram.group("Garden", self.alice, self.bob, is_forum=True)

    def adapter(self, **fields: Any) -> TelegramAdapter:
        """An adapter that is not started."""
        return TelegramAdapter(
            **{
                "token": self.telegram.token,
                "menu": make_menu(*PATHS),
                "spawn": self.tasks.spawn,
                "base_url": self.telegram.base_url,
                "base_file_url": self.telegram.base_file_url,
                "options": QUICK,
                **fields,
            }
        )

    @asynccontextmanager
    async def running(self, **fields: Any) -> AsyncIterator[tuple[Adapter, Ears]]:
        """An adapter that polls (or listens), and what it hears."""
        adapter, ears = self.adapter(**fields), Ears()
        run = asyncio.ensure_future(adapter.run(ears))
        try:
            await self.telegram.wait_for(lambda: self.telegram.polling or self.telegram.updates.webhook or run.done())
            yield adapter, ears
        finally:
            await adapter.close()
            await run
            await self.tasks.close()


def channel(chat: Chat, **fields: Any) -> ChannelRef:
    visibility = Visibility.DM if chat.kind == "private" else Visibility.PRIVATE
    return ChannelRef(platform="telegram", place=str(chat.id), visibility=visibility, **fields)


def parsed(*messages: Json) -> list[Message]:
    """Messages as the library reads them."""
    return [Message.de_json(message, None) for message in messages]


def heard(*messages: Json) -> Inbound:
    """What the messages are to the core."""
    inbound = to_inbound(parsed(*messages), ME)
    assert inbound is not None
    return inbound
