"""The persona's first words: said once per conversation, and kept as a reply that the history holds.

Used at the first contact in a private chat, by /start, and after /reset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.chat import Adapter, ChannelRef, Outbound
from bot.overrides import Resolver
from bot.personas.library import Persona
from bot.personas.macros import Moment, expand
from bot.store import replies
from bot.store.conversations import mark_greeted
from bot.store.database import Database, Tx
from bot.store.replies import NewReply, Settled
from bot.store.sessions import SessionRow, load_overrides


def greeting_of(persona: Persona | None, user: str, *, now: datetime, in_group: bool = False) -> str:
    """What the persona says first, its macros expanded for the person who meets it; "" when it says nothing. Where
    several people meet it, the card's first greeting for groups comes first. `now` is in the time zone of the place.
    """
    if persona is None:
        return ""
    for_groups = persona.card.group_only_greetings[:1] if in_group else ()
    text = (*for_groups, persona.card.first_message)[0]
    return expand(text, char=persona.name, user=user, moment=Moment(now=now), language=persona.language).strip()


def local_time(tx: Tx, resolver: Resolver, channel: ChannelRef, now: datetime) -> datetime:
    """The time where somebody is greeted."""
    settings = resolver.resolve(channel.platform, load_overrides(tx, channel))
    return now.astimezone(ZoneInfo(settings.values.timezone))


@dataclass(frozen=True, kw_only=True)
class Greeter:
    """Says greetings."""

    db: Database
    resolver: Resolver
    adapters: Mapping[str, Adapter]
    now: Callable[[], datetime]
    count: Callable[[str], int]

    async def greet(
        self,
        session: SessionRow,
        conversation_id: int,
        persona: Persona | None,
        *,
        user: str,
        position: int,
        handle: object | None = None,
    ) -> bool:
        """Greet, unless this conversation has been greeted before or the card has no greeting; tells whether it did."""
        now = await self.db.read(local_time, self.resolver, session.channel, self.now())
        text = greeting_of(persona, user, now=now, in_group=not session.channel.is_dm)
        if persona is None or not text:
            return False
        new = NewReply(
            session=session,
            conversation_id=conversation_id,
            persona_id=persona.id,
            persona_name=persona.name,
            position=position,
            burst=(),
        )
        reply_id = await self.db.run(_begin_once, new, self.now())
        if reply_id is None:
            return False
        stream = await self.adapters[session.channel.platform].open_reply(session.channel, handle=handle)
        parts = await stream.finish(Outbound(text=text))
        await self.db.run(
            replies.settle_reply, reply_id, Settled(text=text, tokens=self.count(text), parts=parts), self.now()
        )
        return True


def _begin_once(tx: Tx, new: NewReply, now: datetime) -> int | None:
    """Note that the conversation is greeted together with the greeting's row: a crash leaves both or neither."""
    return replies.begin_reply(tx, new, now) if mark_greeted(tx, new.conversation_id) else None
