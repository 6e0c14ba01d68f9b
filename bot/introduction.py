"""What a group is told at its first contact, once: the persona's greeting, what the bot is, how not to be remembered.

The greeting is a reply of the conversation. What follows it is said by the bot for itself, and no prompt reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.chat import Adapter, Outbound, SentPart
from bot.commands.command import Desk
from bot.commands.help import tell_address
from bot.greeting import greeting_of, local_time
from bot.overrides import SessionSettings
from bot.personas.library import Persona
from bot.personas.macros import Where
from bot.store import introductions, replies
from bot.store.conversations import mark_greeted, next_position
from bot.store.database import Tx
from bot.store.parts import worst_state
from bot.store.replies import NewReply, Settled
from bot.store.sessions import SessionRow
from bot.store.tables import ReplyState
from bot.tasks import Tasks


@dataclass(frozen=True, kw_only=True, slots=True)
class Introduction:
    """One that is to be posted: where, and who greets."""

    session: SessionRow
    conversation_id: int
    persona: Persona | None
    greeting: str
    """As prompts hold it."""
    shown: str
    """As people read it."""
    reply_id: int | None
    """The greeting's row; `None` where nobody greets."""


@dataclass(frozen=True, kw_only=True)
class Introducer:
    """Introduces the bot. Nothing waits for it."""

    desk: Desk
    adapters: Mapping[str, Adapter]
    tasks: Tasks
    count: Callable[[str], int]
    now: Callable[[], datetime]

    def begin(
        self, tx: Tx, session: SessionRow, conversation_id: int, persona_id: str, *, user: str
    ) -> Introduction | None:
        """Whether a place is to be told: note that it is, with the greeting's row, where what causes it is recorded. A
        crash leaves both or neither, and what is noted is never told again.
        """
        now = self.now()
        if session.channel.is_dm or not introductions.introduce_once(tx, session.channel.place_key, now):
            return None
        persona = self.desk.library.get(persona_id)
        there = local_time(tx, self.desk.resolver, session.channel, now)
        greeting, shown = (
            greeting_of(persona, user, now=there, in_group=True, where=where) for where in (Where.TAIL, Where.SHOWN)
        )
        reply_id = None
        if persona is not None and greeting and mark_greeted(tx, conversation_id):
            new = NewReply(
                session=session,
                conversation_id=conversation_id,
                persona_id=persona.id,
                persona_name=persona.name,
                position=next_position(tx) - 1,
                burst=(),
            )
            reply_id = replies.begin_reply(tx, new, now)
            introductions.put_greeting(tx, reply_id, greeting, self.count(greeting), now)
        return Introduction(
            session=session,
            conversation_id=conversation_id,
            persona=persona,
            greeting=greeting,
            shown=shown,
            reply_id=reply_id,
        )

    def post(
        self, introduction: Introduction, settings: SessionSettings, locale: str, handle: object | None = None
    ) -> None:
        """Post it in the background, as one message; in answer to /start where there is a `handle`."""
        self.tasks.spawn("introduction", self._post(introduction, settings, locale, handle))

    async def _post(
        self, introduction: Introduction, settings: SessionSettings, locale: str, handle: object | None
    ) -> None:
        greeting = introduction.shown if introduction.reply_id is not None else ""
        lines = await self._lines(introduction, settings, locale)
        channel = introduction.session.channel
        stream = await self.adapters[channel.platform].open_reply(channel, handle=handle)
        parts = await stream.finish(Outbound(text=f"{greeting}\n\n{lines}".strip()))
        await self.desk.db.run(self._settle, introduction, parts)

    async def _lines(self, introduction: Introduction, settings: SessionSettings, locale: str) -> str:
        desk, channel, persona = self.desk, introduction.session.channel, introduction.persona
        hears_all = await desk.platforms.hears_everything(channel)
        who = (
            desk.text("introduction-bot", locale, persona=persona.name)
            if persona
            else desk.text("introduction-bot-nobody", locale)
        )
        lines = (
            await tell_address(desk, channel, settings, locale, is_named=persona is not None),
            desk.text("introduction-persona", locale),
            desk.text("introduction-memory" if hears_all else "introduction-memory-unheard", locale),
            desk.text("introduction-help", locale),
        )
        return "\n".join((who, *(f"- {line}" for line in lines)))

    def _settle(self, tx: Tx, introduction: Introduction, parts: tuple[SentPart, ...]) -> None:
        if introduction.reply_id is not None:
            text = introduction.greeting
            settled = Settled(text=text, tokens=self.count(text), parts=parts)
            replies.settle_reply(tx, introduction.reply_id, settled, self.now())
        if worst_state(parts) is ReplyState.FAILED:
            place_key = introduction.session.channel.place_key
            introductions.take_back_introduction(tx, place_key, introduction.conversation_id)
