"""What is kept of an inbound, and what is to become of it: decided and stored in one transaction.

From there on a message survives a crash. Answers nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from bot.cast import Cast, read_cast
from bot.chat import AttachmentKind, ChannelRef, Inbound, InboundKind
from bot.commands.command import Desk
from bot.heard import heard_text
from bot.introduction import Introducer, Introduction
from bot.judging import Case, Judge, Verdict
from bot.news import News, NewsDesk
from bot.overrides import SessionSettings
from bot.personas.shelf import persona_id_for
from bot.reposts import RecentReposts
from bot.store import cast as calling
from bot.store import conversations, messages, sessions
from bot.store.database import Tx
from bot.store.messages import Known, NewMessage
from bot.store.people import wants_privacy
from bot.store.quotes import without_private_files
from bot.store.reposts import Original
from bot.store.sessions import SessionRow
from bot.store.tables import MessageKind
from bot.store.tombstones import erased_until, welcome_back


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """An inbound that was heard for the first time, and what is in force where it was."""

    session: SessionRow
    conversation_id: int
    persona_id: str
    settings: SessionSettings
    verdict: Verdict
    message_id: int
    author_key: str
    """Who is answered: of a message that was posted again (D08), whoever wrote it."""
    is_repost: bool
    introduction: Introduction | None
    """What this first contact makes the bot tell here."""
    news: tuple[News, ...]
    """What is to be told before the answer."""


@dataclass(frozen=True, kw_only=True)
class Recorder:
    """Made by `bot.app`; its methods that take a transaction are given to `Database.run`."""

    desk: Desk
    judge: Judge
    introducer: Introducer
    news: NewsDesk
    reposts: RecentReposts
    overheard_chars: int
    """How much is kept of what is said to nobody of ours."""
    count: Callable[[str], int]

    def open_conversation(self, tx: Tx, channel: ChannelRef, now: datetime) -> tuple[SessionRow, int, str, int]:
        """The session of a channel, its conversation and persona, and the position of what comes next."""
        session = sessions.open_session(tx, channel, now)
        settings = self.desk.resolver.resolve(channel.platform, sessions.load_overrides(tx, channel))
        cast = self._cast(channel, settings)
        conversation_id = _listen(tx, session, cast, settings, now)
        return session, conversation_id, cast.main_id, conversations.next_position(tx)

    def _cast(self, channel: ChannelRef, settings: SessionSettings) -> Cast:
        shelf = self.desk.library.at(channel.place_key)
        return read_cast(shelf, settings.values, persona_id_for(shelf, settings.values.persona))

    async def count_ahead(self, inbound: Inbound) -> dict[str, int]:
        """Tokens of a long text, such as a file: counted while the database waits, it would hold up everybody."""
        text = heard_text(inbound)
        return {text: await asyncio.to_thread(self.count, text)} if len(text) > self.overheard_chars else {}

    def hear(self, tx: Tx, inbound: Inbound, counted: Mapping[str, int], now: datetime) -> Heard | None:
        """Record the inbound and decide what becomes of it, in one transaction; `counted` are tokens of long texts."""
        session = sessions.open_session(tx, inbound.channel, now)
        known = messages.find(tx, session, inbound.message_id)
        is_private = wants_privacy(tx, inbound.author.key)
        if is_private:
            self.reposts.note_private(inbound)
        if known is not None:  # delivered again (D13, T19), it must not count against anybody's limit
            if inbound.kind is InboundKind.EDIT:
                self._edit(tx, session, inbound, known, counted, is_private=is_private)
            return None
        if _is_from_before(tx, inbound):
            return None
        inbound = without_private_files(tx, session.id, inbound)
        case = self._open_case(tx, session, inbound, is_private=is_private)
        settings, main_id = case.settings, case.cast.main_id
        conversation_id = _listen(tx, session, case.cast, settings, now)
        original = self.reposts.find_original(tx, session, inbound)
        verdict = self._judge(tx, case, original)
        introduction = None
        if verdict.is_contact and not inbound.author.is_bot:
            user = inbound.author.name
            introduction = self.introducer.begin(tx, session, conversation_id, main_id, user=user)
        new = self._new_message(case, verdict, counted, is_overheard=original is None and not verdict.addressed)
        if original is None:
            message_id = messages.record(tx, session, inbound, new, now)
            calling.call(tx, message_id, verdict.callees)
        else:
            message_id = self.reposts.record(tx, session, inbound, original, new, now)
            verdict = replace(verdict, callees=calling.waited_for(tx, message_id))
        if inbound.kind is InboundKind.EDIT:
            return None
        return Heard(
            session=session,
            conversation_id=conversation_id,
            persona_id=main_id,
            settings=settings,
            verdict=verdict,
            message_id=message_id,
            author_key=original.author_key if original else inbound.author.key,
            introduction=introduction,
            is_repost=original is not None,
            news=self.news.take(tx, session, settings, has_picture=_has_picture(inbound)) if verdict.addressed else (),
        )

    def _open_case(self, tx: Tx, session: SessionRow, inbound: Inbound, *, is_private: bool) -> Case:
        settings = self.desk.resolver.resolve(session.channel.platform, sessions.load_overrides(tx, session.channel))
        cast = self._cast(inbound.channel, settings)
        return Case(
            inbound=inbound,
            settings=settings,
            cast=cast,
            spoken_to=_spoken_to(tx, session, inbound) if cast.is_several else None,
            is_private=is_private,
        )

    def _judge(self, tx: Tx, case: Case, original: Original | None) -> Verdict:
        if original is not None:
            return Verdict(addressed=original.is_waiting)
        if case.inbound.kind is not InboundKind.EDIT:
            return self.judge.judge(tx, case)
        is_command = self.judge.command_line(replace(case.inbound, kind=InboundKind.MESSAGE)) is not None
        return Verdict(kind=MessageKind.COMMAND if is_command else MessageKind.SAID)  # T12, D31: it is not answered

    def _new_message(
        self, case: Case, verdict: Verdict, counted: Mapping[str, int], *, is_overheard: bool
    ) -> NewMessage:
        text = heard_text(case.inbound, overheard_chars=self.overheard_chars if is_overheard else None)
        return NewMessage(
            kind=verdict.kind,
            text=text,
            addressed=verdict.addressed,
            tokens=(counted.get(text) or self.count(text)) if verdict.kind is MessageKind.SAID else 0,
            is_private=case.is_private,
        )

    def _edit(
        self,
        tx: Tx,
        session: SessionRow,
        inbound: Inbound,
        known: Known,
        counted: Mapping[str, int],
        *,
        is_private: bool,
    ) -> None:
        files = known.files if inbound.attachments else ""
        text = heard_text(inbound, overheard_chars=None if known.addressed else self.overheard_chars, files=files)
        tokens = counted.get(text) or self.count(text)
        messages.edit(tx, session, inbound, known, text=text, tokens=tokens, is_private=is_private)

    def delete(self, tx: Tx, inbound: Inbound) -> None:
        """Take a deleted message out of every later prompt; its answer, once begun, still comes (D05)."""
        if (session := sessions.find_session(tx, inbound.channel)) is None:
            return
        known = messages.find(tx, session, inbound.message_id)
        if known is None and erased_until(tx, inbound.author.key) is not None:
            return  # it is gone already, and who wrote it is not to be known again
        if known is None or not self.reposts.is_replaced(tx, session, known, inbound):
            messages.delete(tx, session, inbound, known)


def _listen(tx: Tx, session: SessionRow, cast: Cast, settings: SessionSettings, now: datetime) -> int:
    """Let the cast's conversations listen, and no other; returns the main persona's."""
    switch = settings.values.persona_switch
    conversation_id = conversations.ensure_conversation(tx, session, cast.main_id, now, switch)
    conversations.listen_together(tx, session, cast.ids, now, switch)
    return conversation_id


def _spoken_to(tx: Tx, session: SessionRow, inbound: Inbound) -> str | None:
    is_to_us = inbound.reply_to is not None and inbound.reply_to.is_mine
    return calling.speaker_of(tx, session.id, inbound.reply_to.message_id) if inbound.reply_to and is_to_us else None


def _is_from_before(tx: Tx, inbound: Inbound) -> bool:
    """Whether it was said before its author was forgotten, and comes late or once more. Of an edit nobody knows what
    it is an edit of: what was said since is known by its id.
    """
    until = erased_until(tx, inbound.author.key)
    if until is None:
        return False
    if inbound.kind is InboundKind.EDIT or inbound.sent_at <= until:
        return True
    welcome_back(tx, inbound.author.key, inbound.channel.place_key)
    return False


def _has_picture(inbound: Inbound) -> bool:
    return any(attachment.kind is AttachmentKind.IMAGE for attachment in inbound.attachments)
