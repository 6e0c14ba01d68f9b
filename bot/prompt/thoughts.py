"""Shortens what a model thought before it called tools, where a turn's own rounds have no room. Knows no server."""

from __future__ import annotations

from dataclasses import replace

from bot.prompt.draft import Draft

OLDER_CHARS, NEWEST_CHARS = 200, 400
"""What is left of a long thought; the newest leads to what comes next."""


def shorten_thoughts(draft: Draft) -> None:
    """2.5: long thoughts are cut to their beginning, the oldest first; none goes as a whole."""
    calls = [row.id for unit in draft.units for row in unit if draft.thoughts.get(row.id)]
    for call in calls:
        if draft.fits:
            break
        shorten_thought(draft, call, NEWEST_CHARS if call == calls[-1] else OLDER_CHARS)


def shorten_thought(draft: Draft, call: int, chars: int) -> None:
    """Send no more than so many characters of what was thought before a call, if that goes with the request."""
    row = next((row for unit in draft.units for row in unit if row.id == call), None)
    thought = draft.thoughts.get(call, "")
    if row is None or len(thought) <= chars:
        return
    count = draft.costs.count
    draft.thoughts[call], draft.thought_chars[call] = thought[:chars], chars
    draft.put({call: replace(row, tokens=row.tokens - count(thought) + count(thought[:chars]))})
