"""Follow-ups come back: which a persona is reminded of, and when the bot speaks first about one (`PROACTIVE`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import structlog

from bot.chat import ChannelRef
from bot.memory.items import Item, Memory
from bot.overrides import Resolver
from bot.settings import PlaceSettings
from bot.store.database import Database, Tx
from bot.store.due import DueFollowUp, due_follow_ups, mark_raised
from bot.store.people import wants_privacy
from bot.store.sessions import load_overrides

log = structlog.get_logger(__name__)

REMIND_FOR = timedelta(days=14)
"""How long after its day a persona is still reminded; later it merely stands among what is open. Ours to choose."""
MOST_REMINDED = 3
"""Of so many follow-ups at once, those whose days came last."""

RAISE_EVERY = timedelta(minutes=5)
RAISE_GRACE = timedelta(minutes=5)
SPOKEN_WITHIN = timedelta(days=14)
"""Where nobody has spoken for longer, coming up by itself would be awkward; ours to choose, as the next two."""
QUIET_FOR = timedelta(minutes=10)
"""While people talk, the persona is only reminded."""
NIGHT_BEGINS, NIGHT_ENDS = time(22), time(8)
"""In the session's time zone; nobody is spoken to in between."""


def due_items(memory: Memory, today: date) -> tuple[Item, ...]:
    """The open follow-ups whose day has come not too long ago, the oldest first."""
    due = [(item.new.day, item.id, item) for item in memory.items if item.is_open and item.new.day is not None]
    due = [entry for entry in due if today - REMIND_FOR <= entry[0] <= today]
    return tuple(item for _, _, item in sorted(due, key=lambda entry: entry[:2])[-MOST_REMINDED:])


@dataclass(frozen=True, kw_only=True)
class Raiser:
    """`raise_due` is the whole job. `may_speak` tells whether the bot may speak in a channel, and is free to; `speak`
    lets the persona speak about a follow-up.
    """

    db: Database
    resolver: Resolver
    may_speak: Callable[[DueFollowUp], bool]
    speak: Callable[[DueFollowUp], None]

    async def raise_due(self, now: datetime) -> int:
        """Speak about what is due, one follow-up for each session and day; returns how many."""
        wanted = await self.db.read(self.look, now)
        chosen = {due.session.id: due for due in reversed(wanted) if self.may_speak(due)}
        raised = 0
        for due in chosen.values():
            if await self.db.run(mark_raised, due, now):
                log.info("memory.raised", session=due.session.channel.session_key, item=due.item_id)
                self.speak(due)
                raised += 1
        return raised

    def look(self, tx: Tx, now: datetime) -> list[DueFollowUp]:
        """What could be raised now, by day."""
        somewhere = (now - timedelta(days=1)).date() - REMIND_FOR, (now + timedelta(days=1)).date()
        active, quiet = now - SPOKEN_WITHIN, now - QUIET_FOR
        due = due_follow_ups(tx, since=somewhere[0], until=somewhere[1], active_since=active, quiet_since=quiet)
        wanted = [one for one in due if _is_wanted(one, self._settings(tx, one.session.channel), now)]
        return [one for one in wanted if one.person_key is None or not wants_privacy(tx, one.person_key)]

    def _settings(self, tx: Tx, channel: ChannelRef) -> PlaceSettings:
        return self.resolver.resolve(channel.platform, load_overrides(tx, channel)).values


def _is_wanted(due: DueFollowUp, settings: PlaceSettings, now: datetime) -> bool:
    """Whether its day has come where it is to be raised, nobody sleeps there, and today nothing was raised yet."""
    zone = ZoneInfo(settings.timezone)
    here = now.astimezone(zone)
    is_first = due.spoke_first_at is None or due.spoke_first_at.astimezone(zone).date() < here.date()
    is_day = NIGHT_ENDS <= here.time() < NIGHT_BEGINS
    is_due = here.date() - REMIND_FOR <= due.day <= here.date()
    return settings.proactive and is_first and is_day and is_due
