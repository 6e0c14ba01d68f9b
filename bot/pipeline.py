"""The life of one inbound, read top to bottom: admitted, heard, and then a command, a turn, or nothing more.

`deliver` never raises. From `_hear` on a message survives a crash; what answers it runs in `bot.runner`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import structlog

from bot.chat import (
    Adapter,
    AttachmentKind,
    Author,
    ChannelRef,
    CommandSpec,
    Inbound,
    InboundKind,
    Outbound,
    ReplyStream,
)
from bot.commands.command import Call, Desk
from bot.commands.parse import Parsed, check_options, read_options
from bot.dispatch import Dispatcher, TurnRequest
from bot.errors import UserError
from bot.gate import AccessPolicy
from bot.heard import heard_text
from bot.hook_calls import HookCalls
from bot.hooks import Place
from bot.introduction import Introducer, Introduction
from bot.judging import CommandLine, Judge, Verdict
from bot.news import News, NewsDesk
from bot.opening import persona_id_for
from bot.overrides import SessionSettings
from bot.quota import Admission, Quota
from bot.reposts import RecentReposts
from bot.store import conversations, messages, sessions
from bot.store.database import Database, Tx
from bot.store.messages import Known, NewMessage
from bot.store.people import wants_privacy
from bot.store.quotes import without_private_files
from bot.store.reposts import Original
from bot.store.sessions import SessionRow
from bot.store.tables import MessageKind

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Heard:
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
class Pipeline:
    """Everything that a message meets on its way in; made by `bot.app`."""

    db: Database
    desk: Desk
    dispatcher: Dispatcher
    adapters: Mapping[str, Adapter]
    policy: AccessPolicy
    judge: Judge
    introducer: Introducer
    news: NewsDesk
    reposts: RecentReposts
    hooks: HookCalls
    refusals: Quota
    """Counts refusals, so that a stranger hears one per minute and not one per message."""
    overheard_chars: int
    count: Callable[[str], int]
    now: Callable[[], datetime]

    async def deliver(self, inbound: Inbound) -> None:
        """Take one inbound. Returns when it is stored and a command is answered; a turn goes on in the background."""
        try:
            await self._deliver(inbound)
        except Exception as error:
            log.error("pipeline.failed", kind=inbound.kind.value, session=inbound.channel.session_key, exc_info=error)
            await self.hooks.on_error(Place.INBOUND, inbound.channel, error)
            if _asks(inbound) or self.judge.command_line(inbound) is not None:
                await self._tell(inbound, self.desk.catalogue.text("error-internal", inbound.author.locale))

    async def welcome(self, channel: ChannelRef, author: Author) -> None:
        """Let the persona greet somebody who has said nothing yet (the terminal)."""
        session, conversation_id, persona_id, position = await self.db.run(self._open_conversation, channel, self.now())
        persona = self.desk.library.get(persona_id)
        await self.desk.greeter.greet(session, conversation_id, persona, user=author.name, position=position)

    def _open_conversation(self, tx: Tx, channel: ChannelRef, now: datetime) -> tuple[SessionRow, int, str, int]:
        session = sessions.open_session(tx, channel, now)
        settings = self.desk.resolver.resolve(channel.platform, sessions.load_overrides(tx, channel))
        persona_id = persona_id_for(self.desk.library.at(channel.place_key), settings.values.persona)
        conversation_id = conversations.ensure_conversation(
            tx, session, persona_id, now, settings.values.persona_switch
        )
        return session, conversation_id, persona_id, conversations.next_position(tx)

    async def _deliver(self, inbound: Inbound) -> None:
        if inbound.kind is InboundKind.MIGRATION:
            await self._migrate(inbound)
            return
        wanted = await self.hooks.on_inbound(inbound)
        await (self._let_go(inbound) if wanted is None else self._receive(wanted))

    async def _receive(self, inbound: Inbound) -> None:
        if inbound.kind is InboundKind.DELETE:  # from anybody: platforms do not say who deleted something
            await self.db.run(self._delete, inbound)
            self.desk.keeper.forget(inbound.channel.session_key)
            return
        if not self.policy.admits(inbound.author, inbound.channel):
            await self._refuse(inbound)
            return
        heard = await self.db.run(self._hear, inbound, await self._count_ahead(inbound), self.now())
        if heard is None:  # a duplicate or an edit
            self._forget_edited(inbound)
            return
        if heard.introduction is not None:
            handle = inbound.reply_handle if heard.verdict.is_start else None
            self.introducer.post(heard.introduction, heard.settings, self._locale(heard, inbound), handle)
            if heard.verdict.is_start:
                return  # it is answered by that
        if heard.verdict.notice is not None:
            await self._tell(inbound, self._text(heard, inbound, heard.verdict.notice, near=heard.verdict.near))
        elif heard.verdict.command is not None:
            await self._run_command(heard, heard.verdict.command, inbound)
        elif heard.verdict.addressed:
            for news in heard.news:
                await self._tell_news(heard, news, inbound)
            if heard.is_repost:
                self.dispatcher.withdraw(heard.session.id, heard.message_id)
            self._request_turn(heard, inbound)

    def _forget_edited(self, inbound: Inbound) -> None:
        if inbound.kind is InboundKind.EDIT:
            self.desk.keeper.forget(inbound.channel.session_key)

    async def _migrate(self, inbound: Inbound) -> None:
        if inbound.migrated_to is not None:
            moved = await self.db.run(sessions.migrate_place, inbound.channel, inbound.migrated_to)
            await self.desk.imported.refresh()
            log.info("place.migrated", old=inbound.channel.place_key, new=inbound.migrated_to.place_key, moved=moved)

    async def _let_go(self, inbound: Inbound) -> None:
        """Take back the sign that an answer to a command is coming (D10)."""
        if inbound.reply_handle is not None:
            await (await self._begin(inbound)).discard()

    def _delete(self, tx: Tx, inbound: Inbound) -> None:
        """Take a deleted message out of every later prompt; its answer, once begun, still comes (D05)."""
        if (session := sessions.find_session(tx, inbound.channel)) is None:
            return
        known = messages.find(tx, session, inbound.message_id)
        if known is None or not self.reposts.is_replaced(tx, session, known, inbound):
            messages.delete(tx, session, inbound, known)

    async def _refuse(self, inbound: Inbound) -> None:
        """Tell somebody who asked for something, once a minute, that it is not for them; nothing is kept (X02)."""
        if not _asks(inbound):
            return
        log.info("access.refused", author=inbound.author.key, session=inbound.channel.session_key)
        interactive = inbound.reply_handle is not None  # a deferred command must be answered each time
        if self.refusals.admit(inbound.author.key) is Admission.ADMITTED or interactive:
            await self._tell(inbound, self.desk.catalogue.text("access-refused", inbound.author.locale))

    async def _count_ahead(self, inbound: Inbound) -> dict[str, int]:
        """Tokens of a long text, such as a file: counted while the database waits, it would hold up everybody."""
        text = heard_text(inbound)
        return {text: await asyncio.to_thread(self.count, text)} if len(text) > self.overheard_chars else {}

    def _hear(self, tx: Tx, inbound: Inbound, counted: Mapping[str, int], now: datetime) -> _Heard | None:
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
        inbound = without_private_files(tx, session.id, inbound)
        settings = self.desk.resolver.resolve(session.channel.platform, sessions.load_overrides(tx, session.channel))
        persona_id = persona_id_for(self.desk.library.at(inbound.channel.place_key), settings.values.persona)
        conversation_id = conversations.ensure_conversation(
            tx, session, persona_id, now, settings.values.persona_switch
        )
        original = self.reposts.find_original(tx, session, inbound)
        verdict = self._judge(inbound, original, settings, is_private=is_private)
        introduction = None
        if verdict.is_contact and not inbound.author.is_bot:
            user = inbound.author.name
            introduction = self.introducer.begin(tx, session, conversation_id, persona_id, user=user)
        is_overheard = original is None and not verdict.addressed
        new = self._new_message(inbound, verdict, counted, is_overheard=is_overheard, is_private=is_private)
        if original is None:
            message_id = messages.record(tx, session, inbound, new, now)
        else:
            message_id = self.reposts.record(tx, session, inbound, original, new, now)
        if inbound.kind is InboundKind.EDIT:
            return None
        return _Heard(
            session=session,
            conversation_id=conversation_id,
            persona_id=persona_id,
            settings=settings,
            verdict=verdict,
            message_id=message_id,
            author_key=original.author_key if original else inbound.author.key,
            introduction=introduction,
            is_repost=original is not None,
            news=self.news.take(tx, session, settings, has_picture=_has_picture(inbound)) if verdict.addressed else (),
        )

    def _judge(
        self, inbound: Inbound, original: Original | None, settings: SessionSettings, *, is_private: bool
    ) -> Verdict:
        if original is not None:
            return Verdict(addressed=original.is_waiting)
        if inbound.kind is not InboundKind.EDIT:
            return self.judge.judge(inbound, settings, is_private=is_private)
        is_command = self.judge.command_line(replace(inbound, kind=InboundKind.MESSAGE)) is not None
        return Verdict(kind=MessageKind.COMMAND if is_command else MessageKind.SAID)  # T12, D31: it is not answered

    async def _tell_news(self, heard: _Heard, news: News, inbound: Inbound) -> None:
        now = news.now or self._text(heard, inbound, "persona-none")
        await self._say(inbound, Outbound(text=self._text(heard, inbound, news.notice, chosen=news.chosen, now=now)))

    def _new_message(
        self, inbound: Inbound, verdict: Verdict, counted: Mapping[str, int], *, is_overheard: bool, is_private: bool
    ) -> NewMessage:
        text = heard_text(inbound, overheard_chars=self.overheard_chars if is_overheard else None)
        return NewMessage(
            kind=verdict.kind,
            text=text,
            addressed=verdict.addressed,
            tokens=(counted.get(text) or self.count(text)) if verdict.kind is MessageKind.SAID else 0,
            is_private=is_private,
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

    async def _run_command(self, heard: _Heard, line: CommandLine, inbound: Inbound) -> None:
        """Run a command under the caller's rights and answer it; what the caller did wrong is the answer, too."""
        spec = line.command.spec
        await self.dispatcher.settled(heard.session.id)
        try:
            options = self._options(spec, line.options)
            call = Call(
                inbound=inbound,
                session=heard.session,
                conversation_id=heard.conversation_id,
                persona_id=heard.persona_id,
                message_id=heard.message_id,
                settings=heard.settings,
                options=options,
                locale=self._locale(heard, inbound),
                now=self.now(),
                answer=partial(self._say, inbound),
                begin=partial(self._begin, inbound),
            )
            await self.desk.imported.refresh()
            if not await self.desk.may_run(spec, call):
                raise UserError("command-needs-rights")
            answer = await line.command.run(call, self.desk)
        except UserError as error:
            await self._tell(inbound, self._text(heard, inbound, error.message_id, **error.facts))
            return
        if answer is not None:
            await self._say(inbound, answer)

    def _options(self, spec: CommandSpec, given: Parsed | Mapping[str, str]) -> dict[str, str]:
        names = self.desk.names
        return read_options(given, names) if isinstance(given, Parsed) else check_options(spec, given, names)

    def _request_turn(self, heard: _Heard, inbound: Inbound) -> None:
        request = TurnRequest(
            session_id=heard.session.id,
            author_key=heard.author_key,
            message_id=heard.message_id,
            reply_to=inbound.message_id,
            reply_handle=inbound.reply_handle,
            locale=inbound.author.locale,
            author_is_bot=inbound.author.is_bot and heard.author_key == inbound.author.key,
            channel=inbound.channel,
        )
        self.dispatcher.request_turn(request, burst_ms=heard.settings.values.burst_ms)

    def _locale(self, heard: _Heard, inbound: Inbound) -> str:
        chosen = heard.settings.values.language
        return self.desk.catalogue.negotiate(inbound.author.locale if chosen == "auto" else chosen)

    def _text(self, heard: _Heard, inbound: Inbound, message_id: str, **facts: str | int) -> str:
        return self.desk.text(message_id, self._locale(heard, inbound), **facts)

    async def _tell(self, inbound: Inbound, text: str) -> None:
        """Say something that concerns nobody but the author of the inbound."""
        await self._say(inbound, Outbound(text=text, private=True))

    async def _say(self, inbound: Inbound, answer: Outbound) -> None:
        """Send an answer that is no reply of the persona: it reaches no prompt."""
        await (await self._begin(inbound)).finish(answer)

    async def _begin(self, inbound: Inbound) -> ReplyStream:
        reply_to = inbound.message_id if inbound.kind is InboundKind.MESSAGE and not inbound.channel.is_dm else None
        return await self.adapters[inbound.channel.platform].open_reply(
            inbound.channel, reply_to=reply_to, handle=inbound.reply_handle
        )


def _has_picture(inbound: Inbound) -> bool:
    return any(attachment.kind is AttachmentKind.IMAGE for attachment in inbound.attachments)


def _asks(inbound: Inbound) -> bool:
    """Whether a person evidently wants something from us, so that silence would be taken for a fault."""
    if inbound.author.is_bot:
        return False
    is_said_to_us = inbound.kind is InboundKind.MESSAGE and (inbound.channel.is_dm or inbound.mentions_me)
    return is_said_to_us or inbound.kind in (InboundKind.COMMAND, InboundKind.BUTTON)
