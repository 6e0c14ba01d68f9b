"""Lets hooks keep what people said from being noted. Knows nothing of how notes are taken."""

from __future__ import annotations

from datetime import datetime

import structlog

from bot.hook_calls import HookCalls
from bot.hooks import Folding, Refusal, Withheld
from bot.memory.summariser import Subject
from bot.store.database import Database
from bot.store.tables import MessageKind
from bot.store.withholding import read_answered, withhold

log = structlog.get_logger(__name__)


async def may_fold(hooks: HookCalls, db: Database, subject: Subject, now: datetime) -> bool:
    """Withhold what hooks want withheld of a conversation; whether the rest of it may be folded now."""
    if not hooks.sees_folding:
        return True
    rows = await db.read(read_answered, subject.session.id, subject.conversation_id)
    folding = Folding(session=subject.session, settings=subject.settings, rows=tuple(rows))
    match await hooks.before_folding(folding):
        case Refusal(reason=reason):
            log.info("memory.folding_refused", session=subject.session.channel.session_key, reason=reason)
            return False
        case Withheld(messages=messages):
            said = {row.id for row in rows if row.kind is MessageKind.SAID}
            await db.run(withhold, subject.session, said & {*messages}, now)
    return True
