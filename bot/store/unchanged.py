"""Whether what was read some time ago would be read the same now. Compares what may change, and leaves the rest aside:
it takes longer to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from sqlalchemy import bindparam, false, select

from bot.memory.items import Memory
from bot.store.database import Tx
from bot.store.memories import read_memory
from bot.store.quotes import current_quotes
from bot.store.tables import messages
from bot.store.window import UNBOUNDED, WindowRow, in_window

_SAID = (
    "id", "position", "kind", "conversation_id", "persona_id", "author_key", "author_name", "text", "addressed",
    "tokens", "tool_call_id", "tool_name", "is_private", "reply_to", "quote",
)  # fmt: skip
"""All that is known of a message but its time and the calls of tools, which are kept as they were."""
_REMEMBERED = (
    "id", "tokens", "stale", "new.kind", "new.text", "new.subject", "new.subject_name", "new.category", "new.day",
    "new.people", "new.state", "new.pinned",
)  # fmt: skip
"""All that is known of an item but its sources and times, which come and go with it."""
_said_of, _remembered_of = attrgetter(*_SAID), attrgetter(*_REMEMBERED)
_NOW = select(*(messages.c[name] for name in _SAID)).where(
    in_window(false()), messages.c.position <= bindparam("up_to")
)


def is_window_unchanged(
    tx: Tx, session_id: int, conversation_id: int, rows: Sequence[WindowRow], *, up_to: int
) -> bool:
    """Whether these rows are all that stands between a conversation's watermark and a position, as they were."""
    found = tx.execute(
        _NOW, {"session_id": session_id, "conversation_id": conversation_id, **UNBOUNDED, "up_to": up_to}
    ).all()
    quoting = [(row.reply_to, row.quote) for row in found if row.reply_to and row.quote]
    quotes = iter(current_quotes(tx, session_id, quoting))
    now = {(*row[:-1], next(quotes) if row.reply_to and row.quote else row.quote) for row in found}
    return now == {*map(_said_of, rows)}


def is_memory_unchanged(tx: Tx, conversation_id: int, memory: Memory) -> bool:
    """Whether a conversation remembers what it did."""
    now = read_memory(tx, conversation_id, with_sources=False)
    return now.gist == memory.gist and [*map(_remembered_of, now.items)] == [*map(_remembered_of, memory.items)]
