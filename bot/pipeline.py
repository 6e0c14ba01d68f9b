"""The life of one inbound, read top to bottom: admitted, heard, and then a command, a turn, or nothing more.

`deliver` never raises. From `Recorder.hear` on a message survives a crash; what answers it runs in `bot.runner`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import structlog

from bot.chat import (
    Adapter,
    Author,
    ChannelRef,
    CommandSpec,
    Inbound,
    InboundKind,
    Outbound,
    ReplyStream,
)
from bot.commands.command import Call, Desk
from bot.commands.members import as_meant
from bot.commands.persona_interview import ANSWER
from bot.dispatch import Dispatcher, TurnRequest
from bot.errors import UserError
from bot.gate import AccessPolicy
from bot.hook_calls import HookCalls
from bot.hooks import Origin
from bot.introduction import Introducer
from bot.judging import CommandLine, Judge, options_of
from bot.news import News
from bot.quota import Admission, Rate
from bot.recording import Heard, Recorder
from bot.storable import storable_inbound
from bot.store.database import Database, DiskFull
from bot.store.moving import migrate_place

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Everything that a message meets on its way in; made by `bot.app`."""

    db: Database
    desk: Desk
    dispatcher: Dispatcher
    adapters: Mapping[str, Adapter]
    policy: AccessPolicy
    judge: Judge
    recorder: Recorder
    introducer: Introducer
    hooks: HookCalls
    refusals: Rate
    """Counts refusals, so that a stranger hears one per minute and not one per message."""
    now: Callable[[], datetime]

    async def deliver(self, inbound: Inbound) -> None:
        """Take one inbound. Returns when it is stored and a command is answered; a turn goes on in the background."""
        try:
            await self._deliver(inbound)
        except DiskFull as error:
            log.error("pipeline.disk_full", session=inbound.channel.session_key, problem=str(error))
            await self._apologise(inbound, error, "model-disk-full")
        except Exception as error:
            log.error("pipeline.failed", kind=inbound.kind.value, session=inbound.channel.session_key, exc_info=error)
            await self._apologise(inbound, error, "error-internal")

    async def _apologise(self, inbound: Inbound, error: Exception, message_id: str) -> None:
        await self.hooks.on_error(Origin.INBOUND, inbound.channel, error)
        if _asks(inbound) or self.judge.command_line(inbound) is not None:
            await self._tell(inbound, self.desk.catalogue.text(message_id, inbound.author.locale))

    async def welcome(self, channel: ChannelRef, author: Author) -> None:
        """Let the persona greet somebody who has said nothing yet (the terminal)."""
        session, conversation_id, persona_id, position = await self.db.run(
            self.recorder.open_conversation, channel, self.now()
        )
        persona = self.desk.library.get(persona_id)
        await self.desk.greeter.greet(session, conversation_id, persona, user=author.name, position=position)

    async def _deliver(self, inbound: Inbound) -> None:
        if inbound.kind is InboundKind.MIGRATION:
            await self._migrate(inbound)
            return
        wanted = await self.hooks.on_inbound(inbound)
        await (self._let_go(inbound) if wanted is None else self._receive(storable_inbound(wanted)))

    async def _receive(self, inbound: Inbound) -> None:
        if inbound.kind is InboundKind.DELETE:  # from anybody: platforms do not say who deleted something
            await self.db.run(self.recorder.delete, inbound)
            self.desk.keeper.forget(inbound.channel.session_key)
            return
        if not self.policy.admits(inbound.author, inbound.channel):
            await self._refuse(inbound)
            return
        heard = await self.db.run(self.recorder.hear, inbound, await self.recorder.count_ahead(inbound), self.now())
        if heard is None:  # a duplicate or an edit
            self._forget_edited(inbound)
            return
        if heard.introduction is not None:
            handle = inbound.reply_handle if heard.verdict.is_start else None
            self.introducer.post(heard.introduction, heard.settings, self._locale(heard, inbound), handle)
            if heard.verdict.is_start:
                return  # it is answered by that
        if heard.verdict.notice is not None:
            await self._tell(inbound, self._text(heard, inbound, heard.verdict.notice, **heard.verdict.facts))
        if heard.verdict.command is not None:
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
            moved = await self.db.run(migrate_place, inbound.channel, inbound.migrated_to)
            await self.desk.imported.refresh()
            log.info("place.migrated", old=inbound.channel.place_key, new=inbound.migrated_to.place_key, moved=moved)

    async def _let_go(self, inbound: Inbound) -> None:
        """Take back the sign that an answer to a command is coming (D10)."""
        if inbound.reply_handle is not None:
            await (await self._begin(inbound)).discard()

    async def _refuse(self, inbound: Inbound) -> None:
        """Tell somebody who asked for something, once a minute, that it is not for them; nothing is kept (X02)."""
        if not _asks(inbound):
            return
        log.info("access.refused", author=inbound.author.key, session=inbound.channel.session_key)
        interactive = inbound.reply_handle is not None  # a deferred command must be answered each time
        if self.refusals.admit(inbound.author.key) is Admission.ADMITTED or interactive:
            await self._tell(inbound, self.desk.catalogue.text("access-refused", inbound.author.locale))

    async def _tell_news(self, heard: Heard, news: News, inbound: Inbound) -> None:
        now = news.now or self._text(heard, inbound, "persona-none")
        await self._say(inbound, Outbound(text=self._text(heard, inbound, news.notice, chosen=news.chosen, now=now)))

    async def _run_command(self, heard: Heard, line: CommandLine, inbound: Inbound) -> None:
        """Run a command under the caller's rights and answer it; what the caller did wrong is the answer, too."""
        spec = line.command.spec
        await self._end_questions(heard, spec, inbound)
        await self.dispatcher.settled(heard.session.id)
        try:
            options = options_of(line, self.desk.names)
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
            answer = await line.command.run(await as_meant(call, spec, self.desk), self.desk)
        except UserError as error:
            await self._tell(inbound, self._text(heard, inbound, error.message_id, **error.facts))
            return
        if answer is not None:
            await self._say(inbound, answer)

    async def _end_questions(self, heard: Heard, spec: CommandSpec, inbound: Inbound) -> None:
        """Whoever uses another command is asked nothing more: their next message answers no question."""
        asked = (heard.session.channel.session_key, inbound.author.key)
        if spec.path == ANSWER or (interview := self.desk.interviews.find(*asked)) is None:
            return
        self.desk.interviews.end(*asked)
        if interview.given:
            await self._tell(inbound, self._text(heard, inbound, "persona-answer-dropped"))

    def _request_turn(self, heard: Heard, inbound: Inbound) -> None:
        request = TurnRequest(
            session_id=heard.session.id,
            author_key=heard.author_key,
            message_id=heard.message_id,
            reply_to=inbound.message_id,
            reply_handle=inbound.reply_handle,
            locale=inbound.author.locale,
            author_is_bot=inbound.author.is_bot and heard.author_key == inbound.author.key,
            channel=inbound.channel,
            is_exempt=self.desk.quota.is_exempt(inbound.author),
        )
        for persona_id in heard.verdict.callees or (None,):
            called = replace(request, persona_id=persona_id)
            self.dispatcher.request_turn(called, burst_ms=heard.settings.values.burst_ms)

    def _locale(self, heard: Heard, inbound: Inbound) -> str:
        chosen = heard.settings.values.language
        return self.desk.catalogue.negotiate(inbound.author.locale if chosen == "auto" else chosen)

    def _text(self, heard: Heard, inbound: Inbound, message_id: str, **facts: str | int) -> str:
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


def _asks(inbound: Inbound) -> bool:
    """Whether a person evidently wants something from us, so that silence would be taken for a fault."""
    if inbound.author.is_bot:
        return False
    is_said_to_us = inbound.kind is InboundKind.MESSAGE and (inbound.channel.is_dm or inbound.mentions_me)
    return is_said_to_us or inbound.kind in (InboundKind.COMMAND, InboundKind.BUTTON)
