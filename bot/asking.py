"""Finds the form that a command or a button opens, before anything is heard of it. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bot.chat import AskForm, ChannelRef, Form, Inbound, Outbound, ReplyStream
from bot.commands.command import Call, Desk
from bot.errors import UserError
from bot.judging import find_command, options_of
from bot.overrides import SessionSettings
from bot.personas.shelf import persona_id_for
from bot.store.database import Tx
from bot.store.sessions import SessionRow, find_session, load_overrides

_Found = tuple[SessionRow | None, SessionSettings]


def make_ask_form(desk: Desk, now: Callable[[], datetime]) -> AskForm:
    """What adapters ask. `None` also where the command will be refused: it says so itself, once it is run."""

    def look_up(tx: Tx, channel: ChannelRef) -> _Found:
        settings = desk.resolver.resolve(channel.platform, load_overrides(tx, channel))
        return find_session(tx, channel), settings

    async def ask_form(inbound: Inbound) -> Form | None:
        line = find_command(inbound, desk)
        if line is None or line.command.form is None or not desk.policy.admits(inbound.author, inbound.channel):
            return None
        session, settings = await desk.db.read(look_up, inbound.channel)
        if session is None:  # nobody has spoken there, and a form is no reason to note that somebody did
            session = SessionRow(id=0, channel=inbound.channel, conversation_id=None)
        await desk.imported.refresh()
        try:
            call = Call(
                inbound=inbound,
                session=session,
                conversation_id=session.conversation_id or 0,
                persona_id=persona_id_for(desk.library.at(inbound.channel.place_key), settings.values.persona),
                message_id=0,
                settings=settings,
                options=options_of(line, desk.names),
                locale=desk.catalogue.negotiate(
                    inbound.author.locale if settings.values.language == "auto" else settings.values.language
                ),
                now=now(),
                answer=_say_nothing,
                begin=_begin_nothing,
            )
            return await line.command.form(call, desk) if await desk.may_run(line.command.spec, call) else None
        except UserError:
            return None

    return ask_form


async def _say_nothing(_answer: Outbound) -> None:
    raise AssertionError("a form is the answer")


async def _begin_nothing() -> ReplyStream:
    raise AssertionError("a form is the answer")
