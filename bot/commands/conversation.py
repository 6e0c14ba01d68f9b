"""The conversation's own commands: /reset, /retry, /undo, /continue, /stop, and /status.

What they do to the history is in `bot.store`; who may use them on whose answer is decided here.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.cast import read_cast
from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound
from bot.commands.command import Call, Command, Desk
from bot.commands.endpoints import endpoint_lines
from bot.commands.members import OF
from bot.commands.memory_state import count_line, count_messages, memory_lines
from bot.commands.moderation_rights import moderation_lines
from bot.commands.servers import server_lines
from bot.dispatch import Interruption, TurnRequest
from bot.errors import UserError
from bot.model_in_force import model_in_force
from bot.prompt.build import NoRoom
from bot.prompt.usage import PromptUsage
from bot.store import answers, closing, conversations, sessions
from bot.store.answers import LastReply
from bot.store.database import Tx
from bot.store.tables import MessageKind, ReplyState
from bot.turn import Asker


async def reset(call: Call, desk: Desk) -> None:
    """`/reset`: each persona's next conversation; the old one is kept, with what a running turn has shown."""
    conversation_id = await desk.db.run(_open_next, call, desk)
    was_answering = desk.dispatcher.is_answering(call.session.id)
    desk.dispatcher.interrupt(call.session.id, Interruption.RESET)
    desk.interviews.end_all(call.session.channel.session_key)
    await call.answer(desk.say("reset-done-stopped" if was_answering else "reset-done", call))
    persona = desk.library.get(call.persona_id)
    user = call.inbound.author.name
    await desk.greeter.greet(call.session, conversation_id, persona, user=user, position=call.message_id)


def _open_next(tx: Tx, call: Call, desk: Desk) -> int:
    session = sessions.session_by_id(tx, call.session.id)
    conversation_id = conversations.reset_conversation(tx, session, call.persona_id, call.now)
    cast = read_cast(desk.shelf(call), call.settings.values, call.persona_id)
    # A turn that waits is answered in the story that begins now, whosever it is.
    conversations.listen_together(tx, session, cast.ids, call.now, call.settings.values.persona_switch)
    return conversation_id


async def retry(call: Call, desk: Desk) -> None:
    """`/retry`: answer the newest burst again, in place of the old answer."""
    reply = await _demand_answer(call, desk, "nothing-to-retry")
    if not reply.burst:
        raise UserError("nothing-to-retry")
    if reply.is_private:
        raise UserError("answer-private")
    await desk.demand_quota(call)
    await desk.db.run(_take_back, reply, answers.supersede)
    await desk.platforms.delete(call.inbound.channel, reply.platform_message_ids)
    _request_turn(reply, reply.burst[-1], call, desk)


async def undo(call: Call, desk: Desk) -> Outbound:
    """`/undo`: the newest burst and its answer were never said."""
    reply = await _demand_answer(call, desk, "nothing-to-undo")
    await desk.db.run(_take_back, reply, answers.undo)
    await desk.platforms.delete(call.inbound.channel, reply.platform_message_ids)
    if reply.is_called:
        return desk.say("undo-done-of", call, persona=reply.persona_name)
    return desk.say("undo-done", call)


async def go_on(call: Call, desk: Desk) -> None:
    """`/continue`: more of the newest answer, without a new message."""
    reply = await _demand_answer(call, desk, "nothing-to-continue")
    if reply.is_private and not reply.text:
        raise UserError("answer-private")
    if reply.kind is not MessageKind.REPLY or reply.state is ReplyState.FAILED or not reply.text.strip():
        raise UserError("nothing-to-continue")
    await desk.demand_quota(call)
    _request_turn(reply, None, call, desk)


async def _demand_answer(call: Call, desk: Desk, if_none: str) -> LastReply:
    """The newest answer of whoever speaks here, if it is finished, not yet in memory, and the caller's to change."""
    if desk.dispatcher.is_running(call.session.id):
        raise UserError("answer-is-running")
    reply = await desk.db.read(answers.newest_reply, call.session.id)
    if reply is None:
        raise UserError(if_none)
    if reply.is_in_memory:
        raise UserError("answer-in-memory")
    await _demand_asker(reply.asker_key, call, desk)
    return reply


async def _demand_asker(asker_key: str | None, call: Call, desk: Desk) -> None:
    if call.inbound.author.key != asker_key and not await desk.may_manage(call):
        raise UserError("access-not-yours")


def _take_back(tx: Tx, reply: LastReply, how: Callable[[Tx, LastReply], None]) -> None:
    """Change an answer's standing, unless it is no longer the one that was asked about."""
    newest = answers.newest_reply(tx, reply.session_id)
    if newest != reply:
        raise UserError("answer-has-changed")
    how(tx, reply)


def _request_turn(reply: LastReply, message_id: int | None, call: Call, desk: Desk) -> None:
    """Let a turn answer in place of the command. It runs with the rights of whoever is answered, not of the caller."""
    author = call.inbound.author
    asker = reply.asker_key or author.key
    request = TurnRequest(
        session_id=call.session.id,
        author_key=asker,
        message_id=message_id,
        reply_to=reply.asker_platform_message_id,
        reply_handle=call.inbound.reply_handle,
        locale=author.locale if asker == author.key else None,
        persona_id=reply.persona_id if reply.is_called else None,
        channel=call.inbound.channel,
        is_exempt=asker == author.key and desk.quota.is_exempt(author),
    )
    desk.dispatcher.request_turn(request, burst_ms=0)


async def stop(call: Call, desk: Desk) -> Outbound:
    """`/stop [-a]`: end the running turn; what it has shown stays, marked as cut. With the flag, what else the caller
    waits for comes to nothing, too.
    """
    running = desk.dispatcher.running(call.session.id)
    if running is None:
        raise UserError("nothing-to-stop")
    await _demand_asker(running.author_key, call, desk)
    if not desk.dispatcher.interrupt(call.session.id, Interruption.STOP):
        raise UserError("nothing-to-stop")
    if ALL.name in call.options:
        dropped = desk.dispatcher.drop_waiting(call.session.id, call.inbound.author.key)
        waiting = [(request.message_id, request.persona_id) for request in dropped if request.message_id is not None]
        await desk.db.run(closing.close_waiting, call.session, waiting, call.now)
    persona = desk.library.get(running.persona_id) if running.persona_id else None
    return desk.say("stopped-of", call, persona=persona.name) if persona else desk.say("stopped", call)


async def status(call: Call, desk: Desk) -> Outbound:
    """`/status [-o persona]`: how things stand here; nothing of the host, of other places or of keys (X13)."""
    reply = await desk.db.read(answers.newest_reply, call.session.id)
    persona = desk.library.get(call.persona_id)
    is_running = desk.dispatcher.is_running(call.session.id)
    waiting = desk.dispatcher.waiting_count(call.session.id)
    lines = [
        desk.text("status-persona", call.locale, persona=persona.name)
        if persona
        else desk.text("status-nobody", call.locale),
        desk.text("status-model", call.locale, model=model_in_force(desk.models, call.settings).name),
        desk.text("status-running", call.locale, waiting=waiting)
        if is_running
        else desk.text("status-idle", call.locale),
        desk.text(f"status-answer-{_state_of(reply)}", call.locale),
        count_line(await count_messages(call, desk, await _usage(call, desk)), call, desk),
        *await memory_lines(call, desk),
        *endpoint_lines(call, desk),
        *moderation_lines(call, desk),
        *server_lines(call, desk),
    ]
    return Outbound(text="\n".join(f"- {line}" for line in lines))


async def _usage(call: Call, desk: Desk) -> PromptUsage | None:
    """What the next request would fill; `None` where there can be none."""
    author = call.inbound.author
    try:
        return await desk.gauge.snapshot(call.session.id, Asker(key=author.key, name=author.name), call.persona_id)
    except NoRoom:
        return None


def _state_of(reply: LastReply | None) -> str:
    if reply is None:
        return "none"
    state = reply.state if reply.kind is MessageKind.REPLY else ReplyState.FAILED
    if reply.is_cut and state is ReplyState.SENT:
        return "cut"
    return state.value if reply.burst or state is not ReplyState.FAILED else "gone"


ALL = OptionSpec(name="all", kind=OptionKind.SWITCH, flag="-a")

CONVERSATION_COMMANDS = (
    Command(spec=CommandSpec(path=("reset",), manages=True), run=reset),
    Command(spec=CommandSpec(path=("retry",)), run=retry),
    Command(spec=CommandSpec(path=("undo",)), run=undo),
    Command(spec=CommandSpec(path=("continue",)), run=go_on),
    Command(spec=CommandSpec(path=("stop",), options=(ALL,)), run=stop),
    Command(spec=CommandSpec(path=("status",), options=(OF,), ephemeral=True), run=status),
)
