"""/compact: move old messages into memory now, and tell how it went in the same notice."""

from __future__ import annotations

import asyncio

from bot.chat import CommandSpec, OptionSpec, Outbound, ReplyStream
from bot.commands.command import Call, Command, Desk
from bot.commands.members import OF
from bot.errors import UserError
from bot.llm.model import ModelError
from bot.memory.compaction import Result
from bot.memory.keeper import subject_of
from bot.memory.snapshot import EVERYTHING
from bot.store.compactions import Outcome, Reason
from bot.store.window import count_window
from bot.turn import Asker


async def compact(call: Call, desk: Desk) -> None:
    """`/compact [focus] [-o persona]`: thresholds do not count; more messages than are kept anyway are needed. What is
    said meanwhile is not held up.
    """
    author = call.inbound.author
    asker = Asker(key=author.key, name=author.name)
    turn = await desk.gauge.opener.preview(call.session.id, asker, call.persona_id)
    count = await desk.db.read(count_window, call.session.id, call.conversation_id)
    kept = call.settings.values.summary.keep_recent
    if turn is None or count <= kept:
        raise UserError("compact-too-little", count=count, kept=kept)
    await desk.demand_quota(call)
    before = await _used(call, desk)
    notice = await call.begin()
    await notice.update(desk.text("compact-begun", call.locale))
    folding = desk.keeper.fold(subject_of(turn), Reason.MANUAL, up_to=EVERYTHING, focus=call.options.get("focus", ""))
    desk.tasks.spawn("tell compaction", _tell_end(folding, notice, before, call, desk))


async def _tell_end(folding: asyncio.Task[Result], notice: ReplyStream, before: int, call: Call, desk: Desk) -> None:
    await asyncio.wait({folding})
    begun = desk.text("compact-begun", call.locale)
    if folding.cancelled():
        told = desk.text("compact-stale", call.locale)
    else:
        told = await _ending(None if folding.exception() else folding.result(), before, call, desk)
    # It goes on from what was shown, for surfaces that take nothing back.
    await notice.finish(Outbound(text=f"{begun}\n{told}"))


async def _ending(result: Result | None, before: int, call: Call, desk: Desk) -> str:
    if result is None:
        return desk.text("error-internal", call.locale)
    match result.outcome:
        case None:
            return desk.text("compact-nothing", call.locale, count=call.settings.values.summary.keep_recent)
        case Outcome.DONE:
            after = await _used(call, desk)
            if not (before and after):
                return desk.text("compact-done-uncounted", call.locale, count=result.messages)
            return desk.text("compact-done", call.locale, count=result.messages, before=before, after=after)
        case Outcome.STALE:
            return desk.text("compact-stale", call.locale)
        case _:
            return desk.text("compact-failed", call.locale, problem=problem_text(result.problem, call, desk))


def problem_text(problem: str, call: Call, desk: Desk) -> str:
    """Why a compaction failed: a text of the catalogue where the model could not be asked, else what was wrong."""
    if problem.startswith("model-"):
        return desk.catalogue.text(problem, call.locale)
    return problem if problem.endswith((".", "。")) else f"{problem}."


async def _used(call: Call, desk: Desk) -> int:
    """Tokens that the next request would fill; 0 where that cannot be told."""
    author = call.inbound.author
    try:
        usage = await desk.gauge.snapshot(call.session.id, Asker(key=author.key, name=author.name), call.persona_id)
    except ModelError:
        return 0
    return usage.used if usage else 0


FOCUS = OptionSpec(name="focus", rest=True)

COMPACT_COMMANDS = (
    Command(
        spec=CommandSpec(path=("compact",), options=(FOCUS, OF), manages=True, example="compact the trip to Bergen"),
        run=compact,
    ),
)
