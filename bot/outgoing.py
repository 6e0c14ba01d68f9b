"""Lets hooks see every message on its way out: an adapter like any other, in front of the one that sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack, cast

from bot.chat import Adapter, ChannelRef, Outbound, ReplyOptions, ReplyStream, SentPart
from bot.hook_calls import HookCalls


def seen_by(hooks: HookCalls, adapter: Adapter) -> Adapter:
    """An adapter whose every message goes through `on_outbound`; the adapter itself where nobody has that hook."""
    if not hooks.sees_outbound:
        return adapter
    return cast(Adapter, _SeenAdapter(hooks, adapter))  # all but `open_reply` is the adapter's own


@dataclass(frozen=True, slots=True)
class _SeenAdapter:
    hooks: HookCalls
    adapter: Adapter

    async def open_reply(self, channel: ChannelRef, **options: Unpack[ReplyOptions]) -> ReplyStream:
        return _SeenStream(self.hooks, channel, await self.adapter.open_reply(channel, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter, name)


@dataclass(frozen=True, slots=True)
class _SeenStream:
    """Shows a message once hooks have seen the whole of it."""

    hooks: HookCalls
    channel: ChannelRef
    stream: ReplyStream

    async def update(self, text: str, *, doing: str = "") -> None:
        """It could not be taken back."""

    async def finish(self, outbound: Outbound) -> tuple[SentPart, ...]:
        wanted = await self.hooks.on_outbound(self.channel, outbound)
        return await self.stream.finish(wanted) if wanted is not None else await self._let_go()

    async def fail(self, outbound: Outbound) -> tuple[SentPart, ...]:
        wanted = await self.hooks.on_outbound(self.channel, outbound)
        return await self.stream.fail(wanted) if wanted is not None else await self._let_go()

    async def discard(self) -> bool:
        return await self.stream.discard()

    async def _let_go(self) -> tuple[SentPart, ...]:
        await self.stream.discard()
        return ()
