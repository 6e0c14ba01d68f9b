"""A menu and a core for the terminal adapter to talk to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from adapters.console import ConsoleAdapter
from bot.chat import (
    CommandMenu,
    CommandSpec,
    Inbound,
    OptionKind,
    OptionSpec,
    Outbound,
    ReplyStream,
    ValueQuery,
)
from bot.tasks import Tasks

SPECS = (
    CommandSpec(
        path=("persona", "list"), options=(OptionSpec(name="keyword", rest=True), OptionSpec(name="page", flag="-p"))
    ),
    CommandSpec(path=("persona", "use"), options=(OptionSpec(name="persona", rest=True, completes=True),)),
    CommandSpec(
        path=("session", "set"),
        options=(
            OptionSpec(name="key", completes=True),
            OptionSpec(name="value", completes=True),
            OptionSpec(name="persona", flag="-p", completes=True),
            OptionSpec(name="thinking", flag="-t", kind=OptionKind.CHOICE, choices=("on", "off")),
        ),
    ),
    CommandSpec(path=("session", "reset"), options=(OptionSpec(name="model", flag="-m", kind=OptionKind.SWITCH),)),
    CommandSpec(path=("persona", "import"), options=(OptionSpec(name="file", kind=OptionKind.FILE),)),
    CommandSpec(path=("stop",)),
)


async def complete(query: ValueQuery) -> list[str]:
    values = {"persona": ["luna", "old wizard"], "key": ["activation", "timezone"], "value": ["mention", "always"]}
    return [value for value in values[query.option] if value.startswith(query.typed)]


def translate(message_id: str, locale: str | None) -> str:
    """Texts that name themselves; the commands have no names but their own."""
    return message_id if message_id.startswith("name-") else f"<{message_id}>"


MENU = CommandMenu(specs=SPECS, translate=translate, locales=("en",), complete=complete)


class Persona:
    """Stands for the core: answers each line when the test lets it, in the background as a turn does."""

    def __init__(self, console: ConsoleAdapter, tasks: Tasks) -> None:
        self._console, self._tasks = console, tasks
        self.heard: list[Inbound] = []
        self.replies: asyncio.Queue[ReplyStream] = asyncio.Queue()
        self.reaction: Callable[[Inbound], Awaitable[None]] = self.open_reply

    async def deliver(self, inbound: Inbound) -> None:
        self.heard.append(inbound)
        self._tasks.spawn("turn", self.reaction(inbound))

    async def open_reply(self, inbound: Inbound) -> None:
        self.replies.put_nowait(await self._console.open_reply(inbound.channel, handle=inbound.reply_handle))

    async def answer(self, inbound: Inbound) -> None:
        reply = await self._console.open_reply(inbound.channel, handle=inbound.reply_handle)
        await asyncio.sleep(0)
        await reply.finish(Outbound(text=f"You said: {inbound.text}"))
