"""/history: what was said here since the beginning, also what has moved into memory, page by page."""

from __future__ import annotations

from bot.chat import CommandSpec, Outbound
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.members import OF
from bot.commands.pages import PAGE, page_of, paged_text
from bot.store.archive import Folded, HistoryRow, count_history, read_history

LINE_CHARS = 160
"""Of one message; a page is to be read at a glance."""


async def show_history(call: Call, desk: Desk) -> Outbound:
    """`/history [-p page] [-o persona]`: the newest messages; higher pages are older."""
    count = await desk.db.read(count_history, call.session.id, call.conversation_id)
    if not count:
        return desk.say("history-none", call)
    page = page_of(range(count), call)
    said = await desk.db.read(
        read_history, call.session.id, call.conversation_id, newer=page.entries[0], limit=len(page.entries)
    )
    lines = [_line(row, call) for row in said.rows]
    for place, folded in reversed(said.folded):
        lines.insert(place, _separator(folded, call, desk))
    heading = desk.text("history-heading", call.locale, count=count)
    return paged_text(heading, "\n".join(lines), page, "history", call, desk)


def _line(row: HistoryRow, call: Call) -> str:
    text = " ".join(row.text.split())
    cut = text if len(text) <= LINE_CHARS else text[:LINE_CHARS].rstrip() + "…"
    return f"- {call.local(row.sent_at):%Y-%m-%d %H:%M} **{inert(row.author_name)}**: {inert(cut)}"


def _separator(folded: Folded, call: Call, desk: Desk) -> str:
    """Where the messages before it moved into memory."""
    at = f"{call.local(folded.at):%Y-%m-%d %H:%M}"
    reason = desk.text(f"history-reason-{folded.reason.value}", call.locale)
    return f"\n— {desk.text('history-folded', call.locale, count=folded.messages, at=at, reason=reason)} —\n"


HISTORY_COMMANDS = (
    Command(
        spec=CommandSpec(path=("history",), options=(PAGE, OF), ephemeral=True, example="history -p 3"),
        run=show_history,
    ),
)
