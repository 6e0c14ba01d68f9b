"""Lets the model remind people of something later, on a day or again and again; and tell or cancel what they wait for.

Telling them when the time has come is `bot.reminding`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from bot.llm.model import ToolSpec
from bot.store.database import Database, Tx
from bot.store.people import wants_privacy
from bot.store.reminders import (
    NewReminder,
    Reminder,
    add_reminder,
    asked_by,
    cancel_reminder,
    change_reminder,
    count_reminders,
    reminders_of,
)
from bot.tools.moments import Moment, Repeat, moment_of
from bot.tools.tool import Tool, ToolError
from bot.turn import Turn

MOST_REMINDERS = 50
"""That one person can wait for, everywhere together; ours to choose."""
MOST_CHARS = 500
"""Of what somebody is reminded of."""
MOST_DIGITS = 18
"""Of a number: SQLite takes no larger ones."""

REMIND_ME = ToolSpec(
    name="remind_me",
    description=(
        "Reminds the person you talk to of something at a later time, in this chat. With `number` it changes that "
        "reminder, and what you leave out stays as it is."
    ),
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what to be reminded of, in their words"},
            "when": {
                "type": "string",
                "description": "in 20 minutes, in 3 days, 18:30, tomorrow 08:00, or 2026-11-02 08:00 (their time)",
            },
            "repeat": {"type": "string", "enum": ["no", *Repeat]},
            "number": {"type": "integer"},
        },
        "additionalProperties": False,
    },
)
REMINDERS = ToolSpec(
    name="reminders",
    description="Lists the reminders that the person you talk to waits for, or cancels one of them.",
    parameters={
        "type": "object",
        "properties": {"cancel": {"type": "integer", "description": "number of the reminder to cancel"}},
        "additionalProperties": False,
    },
)


def reminder_tools(db: Database) -> tuple[Tool, ...]:
    """The tools, on a database."""
    desk = _Reminders(db)
    return Tool(spec=REMIND_ME, run=desk.remind), Tool(spec=REMINDERS, run=desk.tell)


def seen_in(session_id: int, *, is_dm: bool) -> int | None:
    """The session whose reminders can be told in it: in a group nobody hears what somebody waits for elsewhere."""
    return None if is_dm else session_id


@dataclass(frozen=True, slots=True)
class _Reminders:
    db: Database

    async def remind(self, turn: Turn, arguments: Mapping[str, Any]) -> str:
        """Keep a reminder, or change one.

        Raises:
            ToolError: it cannot be; the sentence says why.
        """
        if turn.asker.is_bot or not turn.burst:
            raise ToolError("Only people can be reminded, and only when they ask for it.")
        return await self.db.run(_keep, turn, arguments)

    async def tell(self, turn: Turn, arguments: Mapping[str, Any]) -> str:
        """What the person waits for, or that one of it is cancelled.

        Raises:
            ToolError: there is no such reminder.
        """
        if arguments.get("cancel") is not None:
            number = _as_number(arguments["cancel"])
            if not await self.db.run(cancel_reminder, turn.asker.key, number):
                raise ToolError(f"{turn.asker.name} has no reminder {number}.")
            return f"Reminder {number} is cancelled."
        seen = seen_in(turn.session.id, is_dm=not turn.is_group)
        waiting = await self.db.read(reminders_of, turn.asker.key, seen)
        return "\n".join(map(_line, waiting)) or f"{turn.asker.name} waits for no reminder here."


def _keep(tx: Tx, turn: Turn, arguments: Mapping[str, Any]) -> str:
    key = turn.asker.key
    if wants_privacy(tx, key):
        raise ToolError(
            "They have asked that nothing of what they say is kept, and a reminder would be. With /privacy off they "
            "can have one."
        )
    old = _old(tx, turn, arguments.get("number"))
    if old is None and count_reminders(tx, key) >= MOST_REMINDERS:
        raise ToolError(f"They wait for {MOST_REMINDERS} reminders already; cancel one first.")
    text = " ".join(str(arguments.get("text") or (old.text if old else "")).split())[:MOST_CHARS]
    if not text:
        raise ToolError("Say in `text` what they want to be reminded of.")
    zone = old.zone if old else turn.zone
    moment, repeat = _when(turn, arguments, old, zone), _repeat(arguments, old)
    new = NewReminder(
        author_key=key,
        author_name=turn.asker.name,
        author_locale=turn.asker.locale,
        reply_to=asked_by(tx, turn.burst[-1]),
        text=text,
        wall_time=moment.wall,
        zone=zone,
        repeat=repeat,
        due_at=moment.at,
    )
    if old is None:
        number = add_reminder(tx, turn.session.id, new, turn.now)
    else:
        number = old.id
        change_reminder(tx, number, turn.session.id, new)
    return f"Reminder {number} is set for {_told(moment.at, zone, repeat)}. Tell them when that is."


def _old(tx: Tx, turn: Turn, given: object) -> Reminder | None:
    """The reminder that is to be changed."""
    if given is None:
        return None
    number = _as_number(given)
    # What was asked for elsewhere stays there: changed here, it would be told to everybody here.
    seen = seen_in(turn.session.id, is_dm=not turn.is_group)
    found = [one for one in reminders_of(tx, turn.asker.key, seen) if one.id == number]
    if not found:
        raise ToolError(f"{turn.asker.name} has no reminder {number}.")
    return found[0]


def _when(turn: Turn, arguments: Mapping[str, Any], old: Reminder | None, zone: str) -> Moment:
    when = str(arguments.get("when") or "").strip()
    if not when and old is not None:
        return Moment(wall=old.wall_time, at=old.due_at)
    try:
        return moment_of(when, turn.now, ZoneInfo(zone))
    except ValueError as error:
        raise ToolError(str(error)) from error


def _repeat(arguments: Mapping[str, Any], old: Reminder | None) -> Repeat | None:
    given = arguments.get("repeat")
    if given is None:
        return Repeat(old.repeat) if old and old.repeat else None
    if str(given).lower() in ("no", "none", "never", ""):
        return None
    try:
        return Repeat(str(given).lower())
    except ValueError as error:
        raise ToolError(f"A reminder comes again {', '.join(Repeat)} or not at all.") from error


def _as_number(given: object) -> int:
    written = str(given).strip().lstrip("#")
    if not (written.isdecimal() and len(written) <= MOST_DIGITS):
        raise ToolError(f"{written[:MOST_DIGITS]!r} is no number of a reminder.")
    return int(written)


def _line(reminder: Reminder) -> str:
    repeat = Repeat(reminder.repeat) if reminder.repeat else None
    return f"{reminder.id}: {_told(reminder.due_at, reminder.zone, repeat)}: {reminder.text}"


def _told(at: datetime, zone: str, repeat: Repeat | None) -> str:
    again = f", {repeat.value} from then on" if repeat else ""
    return f"{at.astimezone(ZoneInfo(zone)):%A, %Y-%m-%d %H:%M} ({zone}){again}"
