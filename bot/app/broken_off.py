"""Tells people after a restart that an answer broke off of which they saw a part: it is not given again (S16)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat import Outbound
from bot.store.parts import add_parts
from bot.store.replies import BrokenOff
from bot.store.sessions import load_overrides

if TYPE_CHECKING:
    from bot.app.running import Core


async def tell_broken_off(broken: BrokenOff, core: Core) -> None:
    """Say so in answer to what was seen of it; with that it goes, whatever becomes of the answer."""
    channel = broken.channel
    settings = core.resolver.resolve(channel.platform, await core.db.read(load_overrides, channel))
    language = settings.values.language
    told = core.catalogue.text("answer-broken-off", broken.asker_locale if language == "auto" else language)
    stream = await core.platforms[channel.platform].open_reply(channel, reply_to=broken.newest.message_id)
    told_in = await stream.finish(Outbound(text=told))
    parts = [replace(part, ordinal=part.ordinal + broken.newest.ordinal + 1) for part in told_in]
    await core.db.run(add_parts, broken.reply_id, parts)
