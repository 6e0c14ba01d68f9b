"""Tells people what they asked to be reminded of, once, when the time has come. Knows no platform."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import structlog

from bot.chat import Adapter, Mention, Outbound, PartState, SentPart
from bot.commands.command import Desk
from bot.personas.shelf import persona_id_for
from bot.store import reminders, replies, sessions
from bot.store.conversations import ensure_conversation, next_position
from bot.store.database import Tx
from bot.store.reminders import Reminder
from bot.store.replies import NewReply, Settled
from bot.tools.moments import Repeat, following

log = structlog.get_logger(__name__)

REMIND_EVERY = timedelta(seconds=10)
"""How late a reminder may be; ours to choose."""
REMIND_GRACE = timedelta(days=1)
"""The clock may stand still for as long; what is due is told afterwards."""
LATE = timedelta(minutes=5)
"""From then on people are told when it was due."""
AGAIN_AFTER, MOST_TRIES = timedelta(minutes=5), 6
"""One that reached nobody is told again after that long, then after twice as long, and so on: for about five hours."""


@dataclass(frozen=True, kw_only=True)
class Reminding:
    """`tell_due` is the whole job."""

    desk: Desk
    adapters: Mapping[str, Adapter]
    bot_name: str

    async def tell_due(self, now: datetime) -> tuple[asyncio.Task[None], ...]:
        """Begin to tell what is due, each in a task of its own: one platform that keeps us waiting delays no other.
        Returns those tasks.
        """
        due = await self.desk.db.read(reminders.due_reminders, now)
        wanted = [one for one in due if one.session.channel.platform in self.adapters]
        claimed = [one for one in wanted if await self.desk.db.run(reminders.claim, one, _next(one, now))]
        spawn = self.desk.tasks.spawn
        return tuple(spawn(f"reminder {one.id}", self._tell(one, now)) for one in claimed)

    async def _tell(self, reminder: Reminder, now: datetime) -> None:
        channel = reminder.session.channel
        policy = self.desk.policy
        if not (policy.admits_channel(channel) and policy.admits_unasked(reminder.author_key)):
            log.info("reminder.refused", number=reminder.id, session=channel.session_key)
            await self.desk.db.run(reminders.drop_told, reminder.id)
            return
        text = self._text(reminder, now)
        reply_id = await self.desk.db.run(self._begin, reminder, now)
        reply_to = None if channel.is_dm else reminder.reply_to
        stream = await self.adapters[channel.platform].open_reply(channel, reply_to=reply_to)
        mention = None if channel.is_dm else Mention(user_key=reminder.author_key, name=reminder.author_name)
        parts = await stream.finish(Outbound(text=text, mention=mention))
        await self.desk.db.run(self._settle, reminder, reply_id, text, parts, now)

    def _text(self, reminder: Reminder, now: datetime) -> str:
        locale = reminder.author_locale
        if now - reminder.due_at < LATE:
            return self.desk.text("reminder-due", locale, text=reminder.text)
        was = f"{reminder.due_at.astimezone(ZoneInfo(reminder.zone)):%Y-%m-%d %H:%M}"
        return self.desk.text("reminder-late", locale, text=reminder.text, was=was)

    def _begin(self, tx: Tx, reminder: Reminder, now: datetime) -> int:
        """It is the persona's word, which whoever answers it refers to."""
        session = sessions.session_by_id(tx, reminder.session.id)
        channel = session.channel
        settings = self.desk.resolver.resolve(channel.platform, sessions.load_overrides(tx, channel)).values
        persona_id = persona_id_for(self.desk.library.at(channel.place_key), settings.persona)
        persona = self.desk.library.get(persona_id)
        new = NewReply(
            session=session,
            conversation_id=ensure_conversation(tx, session, persona_id, now, settings.persona_switch),
            persona_id=persona_id,
            persona_name=persona.name if persona else self.bot_name,
            position=next_position(tx),
            burst=(),
        )
        return replies.begin_reply(tx, new, now)

    def _settle(
        self, tx: Tx, reminder: Reminder, reply_id: int, text: str, parts: tuple[SentPart, ...], now: datetime
    ) -> None:
        if any(part.state is not PartState.FAILED for part in parts):
            tokens = self.desk.count(text)
            replies.settle_reply(tx, reply_id, Settled(text=text, tokens=tokens, parts=parts), now)
            reminders.drop_told(tx, reminder.id)
            return
        replies.take_back(tx, reply_id)
        if reminder.tries < MOST_TRIES:
            reminders.put_off(tx, reminder.id, now + AGAIN_AFTER * 2**reminder.tries)
        else:
            log.warning("reminder.given_up", number=reminder.id, session=reminder.session.channel.session_key)
            reminders.drop_told(tx, reminder.id)


def _next(reminder: Reminder, now: datetime) -> datetime | None:
    if reminder.repeat is None:
        return None
    return following(reminder.wall_time, ZoneInfo(reminder.zone), Repeat(reminder.repeat), now).at
