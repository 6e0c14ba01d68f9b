"""Our own Discord adapter on an emulator, in one process, with what it delivers written down."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from adapters.discord.adapter import DiscordAdapter
from adapters.discord.options import DiscordOptions
from bot.chat import Button, CommandMenu, CommandSpec, Inbound, InboundKind, OptionSpec, Outbound, SentPart
from bot.tasks import Tasks
from tests.emulators.discord.emulator import DiscordEmulator
from tests.emulators.discord.journal import Journal

SPECS = (
    CommandSpec(path=("status",), ephemeral=True),
    CommandSpec(path=("retry",)),
    CommandSpec(path=("persona", "use"), options=(OptionSpec(name="name", required=True, completes=True),)),
)


async def complete(_channel: object, _author: object, path: tuple[str, ...], option: str, typed: str) -> list[str]:
    """Completions that show what was asked."""
    return [f"{' '.join(path)} {option} {typed}", "x" * 101, *(f"name {n}" for n in range(40))]


MENU = CommandMenu(specs=SPECS, translate=lambda message_id, _: message_id, locales=("en", "zh"), complete=complete)
OPTIONS = DiscordOptions(reconnect_seconds=0.02)


@dataclass
class Hosted:
    """A running adapter; `answer` is called for each inbound after it was written down."""

    adapter: DiscordAdapter
    tasks: Tasks
    heard: Journal[Inbound] = field(default_factory=Journal)
    answer: Callable[[Inbound], Awaitable[object]] | None = None

    async def deliver(self, inbound: Inbound) -> None:
        """Stands in for the pipeline."""
        self.heard.add(inbound)
        if self.answer:
            await self.answer(inbound)

    async def hears(self, kind: InboundKind = InboundKind.MESSAGE, *, after: int = 0, **facts: Any) -> Inbound:
        """Wait for an inbound of this kind with these attributes."""

        def matches(inbound: Inbound) -> bool:
            return inbound.kind is kind and all(getattr(inbound, name) == value for name, value in facts.items())

        return await self.heard.first(matches, after=after)

    async def reply(
        self,
        inbound: Inbound,
        text: str,
        *,
        reply_to: str | None = None,
        buttons: tuple[tuple[Button, ...], ...] = (),
        max_parts: int = 5,
    ) -> tuple[SentPart, ...]:
        """Answer an inbound in one go: through its interaction if it has one, else as a reply to it."""
        handle = inbound.reply_handle
        reply_to = reply_to or (None if handle else inbound.message_id)
        stream = await self.adapter.open_reply(inbound.channel, reply_to=reply_to, handle=handle, max_parts=max_parts)
        return await stream.finish(Outbound(text=text, buttons=buttons))


def make_adapter(
    emulator: DiscordEmulator, tasks: Tasks, *, options: DiscordOptions = OPTIONS, token: str = ""
) -> DiscordAdapter:
    """An adapter pointed at the emulator."""
    return DiscordAdapter(
        token=token or emulator.token,
        menu=MENU,
        spawn=tasks.spawn,
        api_base=emulator.rest_base,
        gateway_url=emulator.gateway_url,
        options=options,
    )


@contextlib.asynccontextmanager
async def hosted(emulator: DiscordEmulator, *, options: DiscordOptions = OPTIONS) -> AsyncIterator[Hosted]:
    """An adapter that is connected; at the end it is stopped as the product stops it."""
    tasks = Tasks()
    bot = Hosted(make_adapter(emulator, tasks, options=options), tasks)
    sessions = len(emulator.gateway.started)
    running = asyncio.ensure_future(bot.adapter.run(bot.deliver))
    try:
        await emulator.connected(sessions=sessions + 1)
        yield bot
    finally:
        await bot.adapter.stop_listening()
        await bot.adapter.close()
        await running
        await tasks.close()
