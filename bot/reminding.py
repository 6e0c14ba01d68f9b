"""Tells people what they asked to be reminded of, once, when the time has come. Knows no platform."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import structlog

from bot.apology import MAX_CHARS
from bot.chat import Adapter, Mention, Outbound, PartState, SentPart, Speaker
from bot.commands.command import Desk, inert
from bot.greeting import expand_card_text
from bot.personas.library import Persona
from bot.personas.proposals import own_extension
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
NOT_SENT = (SentPart(ordinal=0, message_id=None, state=PartState.FAILED),)
WHAT = "{{reminder}}"
"""In a persona's own words: what somebody is reminded of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Begun:
    """A reminder that is being told: its reply, what that says, and whose face it has."""

    reply_id: int
    text: str
    speaker: Speaker | None


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
        begun: _Begun | None = None
        try:
            begun = await self.desk.db.run(self._begin, reminder, now)
            if begun is None:
                return
            parts = await self._send(reminder, begun)
        except Exception as error:
            log.error("reminder.broken", number=reminder.id, session=channel.session_key, exc_info=error)
            parts = NOT_SENT
        await self.desk.db.run(self._settle, reminder, begun, parts, now)

    async def _send(self, reminder: Reminder, begun: _Begun) -> tuple[SentPart, ...]:
        channel = reminder.session.channel
        reply_to = None if channel.is_dm else reminder.reply_to
        stream = await self.adapters[channel.platform].open_reply(channel, reply_to=reply_to, speaker=begun.speaker)
        mention = None if channel.is_dm else Mention(user_key=reminder.author_key, name=reminder.author_name)
        return await stream.finish(Outbound(text=begun.text, mention=mention))

    def _text(self, reminder: Reminder, persona: Persona | None, now: datetime) -> str:
        said = own_words(persona, reminder, now) or self.desk.text(
            "reminder-due", reminder.author_locale, text=reminder.text
        )
        if now - reminder.due_at < LATE:
            return said
        was = f"{reminder.due_at.astimezone(ZoneInfo(reminder.zone)):%Y-%m-%d %H:%M}"
        return f"{said}\n\n{self.desk.text('reminder-late', reminder.author_locale, was=was)}"

    def _begin(self, tx: Tx, reminder: Reminder, now: datetime) -> _Begun | None:
        """It is the persona's word, which whoever answers it refers to. `None` where it is gone meanwhile, as with
        somebody who is forgotten.
        """
        if not reminders.is_kept(tx, reminder.id):
            return None
        session = sessions.session_by_id(tx, reminder.session.id)
        channel = session.channel
        settings = self.desk.resolver.resolve(channel.platform, sessions.load_overrides(tx, channel)).values
        persona_id = persona_id_for(self.desk.library.at(channel.place_key), settings.persona)
        persona, faces = self.desk.library.get(persona_id), self.desk.greeter.faces
        new = NewReply(
            session=session,
            conversation_id=ensure_conversation(tx, session, persona_id, now, settings.persona_switch),
            persona_id=persona_id,
            persona_name=persona.name if persona else self.bot_name,
            position=next_position(tx),
            burst=(),
            told_key=reminder.author_key,
        )
        return _Begun(
            reply_id=replies.begin_reply(tx, new, now),
            text=self._text(reminder, persona, now),
            speaker=faces.speaker(persona, channel, faces.cast(channel, settings)),
        )

    def _settle(
        self, tx: Tx, reminder: Reminder, begun: _Begun | None, parts: tuple[SentPart, ...], now: datetime
    ) -> None:
        is_told = any(part.state is not PartState.FAILED for part in parts)
        if begun is not None and is_told:
            tokens = self.desk.count(begun.text)
            replies.settle_reply(tx, begun.reply_id, Settled(text=begun.text, tokens=tokens, parts=parts), now)
        elif begun is not None:
            replies.take_back(tx, begun.reply_id)
        if is_told or not parts:  # an extension that drops what is said has its reasons
            reminders.drop_told(tx, reminder.id)
        elif reminder.tries < MOST_TRIES:
            reminders.put_off(tx, reminder.id, now + AGAIN_AFTER * 2**reminder.tries)
        else:
            log.warning("reminder.given_up", number=reminder.id, session=reminder.session.channel.session_key)
            reminders.drop_told(tx, reminder.id)


def own_words(persona: Persona | None, reminder: Reminder, now: datetime) -> str:
    """What the persona says to remind somebody (`extensions.familiar.reminder_text`); "" where its card has nothing
    that tells what of.
    """
    said = own_extension(persona.card, "reminder_text") if persona else None
    if persona is None or not isinstance(said, str) or len(said) > MAX_CHARS or WHAT not in said:
        return ""
    local = now.astimezone(ZoneInfo(reminder.zone))
    pieces = (expand_card_text(persona, piece, reminder.author_name, now=local) for piece in said.split(WHAT))
    return inert(reminder.text).join(pieces).strip()


def _next(reminder: Reminder, now: datetime) -> datetime | None:
    if reminder.repeat is None:
        return None
    return following(reminder.wall_time, ZoneInfo(reminder.zone), Repeat(reminder.repeat), now).at
