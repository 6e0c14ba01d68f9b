"""Who may change things for a whole channel, by Discord's own permissions. Knows nothing of commands."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

import aiohttp
import discord
import structlog

from bot.chat import ChannelRef

log = structlog.get_logger(__name__)

REMEMBERED = 1_000
"""How many people's roles are kept in mind, the latest."""
FRESH_SECONDS = 60.0
"""How long the roles that came with somebody's last message are believed: changes are not announced to us."""


class Rights:
    """Remembers the roles that messages and interactions bring along, and asks Discord for others."""

    def __init__(self) -> None:
        self._members: OrderedDict[tuple[int, int], tuple[discord.Member, float]] = OrderedDict()

    def remember(self, author: discord.User | discord.Member) -> None:
        """Keep what an event tells about its author."""
        if isinstance(author, discord.Member):
            key = (author.guild.id, author.id)
            self._members[key] = (author, asyncio.get_running_loop().time())
            self._members.move_to_end(key)
            if len(self._members) > REMEMBERED:
                self._members.popitem(last=False)

    async def may_manage(self, client: discord.Client, channel: ChannelRef, user_id: int, *, whole_place: bool) -> bool:
        """Whether this member may manage the channel, or the guild's channels; `False` where Discord does not tell."""
        guild = client.get_guild(int(channel.place))
        spot = guild.get_channel(int(channel.channel)) if guild else None
        if guild is None or spot is None:
            return False
        try:
            member = self._fresh(guild.id, user_id) or await guild.fetch_member(user_id)
        except (discord.HTTPException, discord.RateLimited, aiohttp.ClientError, OSError) as error:
            log.warning("discord.rights_unknown", guild=guild.id, error=repr(error))
            return False
        self.remember(member)
        rights = member.guild_permissions if whole_place else spot.permissions_for(member)
        return rights.manage_channels

    def _fresh(self, guild_id: int, user_id: int) -> discord.Member | None:
        member, seen = self._members.get((guild_id, user_id), (None, 0.0))
        return member if asyncio.get_running_loop().time() - seen < FRESH_SECONDS else None
