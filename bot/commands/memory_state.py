"""How the memory of a session stands: what is kept, the newest compaction, and what keeps one from happening."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.commands.command import Call, Desk
from bot.commands.compact import problem_text
from bot.commands.notes import Group, group_of
from bot.memory.items import Memory
from bot.memory.pauses import ATTEMPTS_LOOKED_AT, next_try
from bot.prompt.usage import PromptUsage
from bot.store.compactions import CompactionRow, Outcome, newest_compactions, refusals_of
from bot.store.database import Tx
from bot.store.memories import read_memory
from bot.store.window import count_window

LONGEST_REASON = 200
"""Characters of why a note was refused, which may quote a model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowCount:
    """How many messages are in no notes yet, and how many of them a request would hold."""

    count: int
    sent: int

    @property
    def left_out(self) -> int:
        """How many have no room in it."""
        return self.count - self.sent


async def count_messages(call: Call, desk: Desk, usage: PromptUsage | None) -> WindowCount:
    """The numbers that /status and /context tell alike; `usage` is what the next request would fill."""
    count = await desk.db.read(count_window, call.session.id, call.conversation_id)
    # What a thread was opened about is in a request even when it is in the notes already.
    return WindowCount(count=count, sent=min(usage.messages, count) if usage else 0)


def count_line(window: WindowCount, call: Call, desk: Desk) -> str:
    """These numbers in words."""
    return desk.text("status-messages", call.locale, count=window.count, sent=window.sent)


async def memory_lines(call: Call, desk: Desk) -> list[str]:
    """What /status tells of memory."""
    return [*_lines(await desk.db.read(_read, call.conversation_id), call, desk)]


@dataclass(frozen=True, kw_only=True, slots=True)
class _State:
    memory: Memory
    attempts: Sequence[CompactionRow]
    done: CompactionRow | None
    """The newest of them that folded messages."""
    refused: Sequence[str]
    """What of that one was not noted, and why."""


def _read(tx: Tx, conversation_id: int) -> _State:
    attempts = newest_compactions(tx, conversation_id, ATTEMPTS_LOOKED_AT)
    done = next((row for row in attempts if row.outcome in (Outcome.DONE, Outcome.SEALED) and row.messages), None)
    refused = refusals_of(tx, done.id) if done else ()
    return _State(memory=read_memory(tx, conversation_id), attempts=attempts, done=done, refused=refused)


def _lines(state: _State, call: Call, desk: Desk) -> Iterator[str]:
    yield _kept(state.memory, call, desk)
    done, attempts = state.done, state.attempts
    if done is not None:
        at = f"{call.local(done.began_at):%Y-%m-%d %H:%M}"
        reason = desk.text(f"history-reason-{done.reason.value}", call.locale)
        yield desk.text("status-folded", call.locale, count=done.messages, at=at, reason=reason)
    if state.refused:
        why = state.refused[0][:LONGEST_REASON]
        yield desk.text("status-refused", call.locale, count=len(state.refused), problem=why)
    again_at = next_try(attempts)
    if again_at is not None:
        problem = problem_text(next(row.problem for row in attempts if row.messages), call, desk)
        at = f"{call.local(again_at):%Y-%m-%d %H:%M}"
        yield desk.text("status-folding-failed", call.locale, problem=problem, at=at)
    if desk.keeper.is_running(call.conversation_id):
        yield desk.text("status-folding", call.locale)
    for name, due in desk.missed.items():
        yield desk.text("status-missed", call.locale, job=name, at=f"{call.local(due):%Y-%m-%d %H:%M}")


def _kept(memory: Memory, call: Call, desk: Desk) -> str:
    counts = Counter(group_of(item) for item in memory.items)
    kinds = [
        desk.text(f"status-memory-{group.value}", call.locale, count=counts[group]) for group in Group if counts[group]
    ]
    if not kinds and memory.gist:
        kinds = [desk.text("status-memory-gist", call.locale)]
    if not kinds:
        return desk.text("status-memory-none", call.locale)
    return desk.text("status-memory", call.locale, kinds=", ".join(kinds))
