"""Tells people in a line that old messages have become notes, right after the turn that made it due; never at night."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.chat import Adapter, Outbound
from bot.locale import Catalogue
from bot.memory.compaction import Result
from bot.turn import Turn


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryNotices:
    """Says them where `NOTICES` is on. They are nobody's reply and reach no prompt."""

    adapters: Mapping[str, Adapter]
    catalogue: Catalogue

    async def tell_done(self, turn: Turn, result: Result) -> None:
        """One line for one compaction; none where a bot was answered, which might answer that (D07)."""
        if not turn.settings.values.notices or turn.asker.is_bot:
            return
        language = turn.settings.values.language
        locale = turn.asker.locale if language == "auto" else language
        channel = turn.session.channel
        stream = await self.adapters[channel.platform].open_reply(channel)
        await stream.finish(Outbound(text=self.catalogue.text("memory-notice", locale, count=result.messages)))
