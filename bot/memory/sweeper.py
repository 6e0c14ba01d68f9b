"""Folds what was said in a session into memory once it has gone quiet, while the provider's cache still lives.

Knows no clock: it is called every half minute. What failed waits by the pauses of its compactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, groupby
from operator import attrgetter

import structlog

from bot.memory.compaction import Result
from bot.memory.gist import next_rewrite
from bot.memory.keeper import Keeper
from bot.memory.pauses import paused_until
from bot.memory.snapshot import EVERYTHING, MOST_KEPT_RATIO, cut_of, size_of
from bot.memory.summariser import Subject
from bot.memory.triggers import LEAST_GAIN_TOKENS
from bot.overrides import Resolver, SessionSettings
from bot.store.compactions import Reason
from bot.store.database import Database, Tx
from bot.store.gists import read_lost_gist, with_stale_gists
from bot.store.idle import QuietSession, overridden_numbers, put_off, quiet_sessions
from bot.store.sessions import SessionRow, load_overrides
from bot.store.waiting import open_end
from bot.store.window import read_sizes

log = structlog.get_logger(__name__)

IDLE_KEY = "summary__idle_seconds"
SWEEP_EVERY = timedelta(seconds=30)
"""A session is swept at most this much later than it asks for; ours to choose."""
SWEEP_GRACE = timedelta(minutes=5)
"""How late a sweep may still run after the process was asleep or blocked."""
SESSIONS_PER_SWEEP = 100
"""How many sessions are looked at in one go: about 30 ms of the database's time."""
AT_ONCE = 2
"""How many sessions are folded side by side; answers must not wait for sweeps."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What becomes of a quiet session: its conversations are folded, their memory is mended, or it waits from another
    moment on (`None` = till someone speaks).
    """

    quiet: QuietSession
    folds: tuple[Subject, ...] = ()
    mends: tuple[Subject, ...] = ()
    """Whose gists are to be written anew."""
    sweep_from: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Need:
    """What a conversation needs, and from when on: a fold, or else another gist."""

    subject: Subject
    since: datetime
    is_mend: bool = False


@dataclass(frozen=True, kw_only=True)
class Sweeper:
    """`sweep` is the whole job. `platforms` are those that there are, since each may have settings of its own;
    `subject_of` tells of a session's conversation, given with whose it is, by what rules it is folded.
    """

    db: Database
    keeper: Keeper
    resolver: Resolver
    platforms: Collection[str]
    answer_within: timedelta
    subject_of: Callable[[SessionRow, str, int, SessionSettings], Subject]

    async def sweep(self, now: datetime) -> int:
        """Fold the conversations of sessions that have been quiet for as long as they ask for, where there is enough to
        fold, those that have waited longest first; returns how many were tried. A session where one was is looked at
        once more the next time, and then left alone; so nothing is forgotten if the process ends in between.
        """
        verdicts = await self.db.read(self.look, now)
        for mend in chain.from_iterable(verdict.mends for verdict in verdicts):
            await asyncio.wait([self.keeper.consolidate(mend, Reason.IDLE)])
        if left := [verdict for verdict in verdicts if not (verdict.folds or verdict.mends)]:
            await self.db.run(leave_alone, left)
        worth = [subject for verdict in verdicts for subject in verdict.folds]
        if worth:
            log.info("memory.swept", sessions=len(verdicts), folded=len(worth))
            await self._fold(worth)
        return len(worth)

    def look(self, tx: Tx, now: datetime) -> list[Verdict]:
        """Decide on those that may be due, those that have waited longest first."""
        shortest = self._shortest_idle(tx)
        if shortest is None:
            return []
        waiting = quiet_sessions(tx, before=now - shortest, limit=SESSIONS_PER_SWEEP)
        shaken = with_stale_gists(tx, [number for quiet in waiting for number in quiet.conversations.values()])
        return [self._decide(tx, quiet, shortest, now, shaken) for quiet in waiting]

    def _shortest_idle(self, tx: Tx) -> timedelta | None:
        """The shortest time that any session may ask for; `None` where the sweep is off everywhere."""
        configured = {self.resolver.resolve(name, ()).values.summary.idle_seconds for name in self.platforms}
        asked = [seconds for seconds in configured | overridden_numbers(tx, IDLE_KEY) if seconds > 0]
        return timedelta(seconds=min(asked)) if asked else None

    def _decide(
        self, tx: Tx, quiet: QuietSession, shortest: timedelta, now: datetime, shaken: Collection[int]
    ) -> Verdict:
        channel = quiet.session.channel
        stored = load_overrides(tx, channel)
        settings = self.resolver.resolve(channel.platform, stored)
        idle = timedelta(seconds=settings.values.summary.idle_seconds)
        if not idle:
            return Verdict(quiet=quiet)
        if (again_at := quiet.last_human_at + idle) > now:
            return Verdict(quiet=quiet, sweep_from=again_at - shortest)
        subjects = [
            self.subject_of(quiet.session, whose, story, self.resolver.resolve(channel.platform, stored, speaker=whose))
            for whose, story in quiet.conversations.items()
        ]
        needs = [need for subject in subjects if (need := self._need(tx, subject, now, shaken)) is not None]
        later = [need.since for need in needs if need.since > now]
        return Verdict(
            quiet=quiet,
            folds=tuple(need.subject for need in needs if need.since <= now and not need.is_mend),
            mends=tuple(need.subject for need in needs if need.since <= now and need.is_mend),
            sweep_from=min(later) - shortest if later else None,
        )

    def _need(self, tx: Tx, subject: Subject, now: datetime, shaken: Collection[int]) -> _Need | None:
        if _is_worth_a_call(tx, subject, now - self.answer_within):
            return _Need(subject=subject, since=paused_until(tx, subject.conversation_id) or now)
        is_shaken = subject.conversation_id in shaken
        lost = read_lost_gist(tx, subject.session.id, subject.conversation_id) if is_shaken else None
        return _Need(subject=subject, since=next_rewrite(lost.attempts) or now, is_mend=True) if lost else None

    async def _fold(self, subjects: Sequence[Subject]) -> None:
        running: set[asyncio.Task[Result]] = set()
        for subject in subjects:
            running.add(self.keeper.fold(subject, Reason.IDLE, up_to=EVERYTHING))
            if len(running) >= AT_ONCE:
                _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        if running:
            await asyncio.wait(running)


def _is_worth_a_call(tx: Tx, subject: Subject, waiting_since: datetime) -> bool:
    """Whether `LEAST_GAIN_TOKENS` stand beyond what is kept. Reads no more than it takes to know that."""
    summary, session_id = subject.settings.summary, subject.session.id
    room = int(subject.window * MOST_KEPT_RATIO) + LEAST_GAIN_TOKENS
    sizes = read_sizes(tx, session_id, subject.conversation_id, room=room)
    if size_of(sizes) < LEAST_GAIN_TOKENS:
        return False
    units = [tuple(unit) for _, unit in groupby(sizes, key=attrgetter("position"))]
    cut = cut_of(units, summary, subject.window, before=open_end(tx, session_id, waiting_since))
    return sum(map(size_of, units[:cut])) >= LEAST_GAIN_TOKENS


def leave_alone(tx: Tx, verdicts: Sequence[Verdict]) -> None:
    """Let those that were not worth a fold wait for their next time."""
    for verdict in verdicts:
        put_off(tx, verdict.quiet, verdict.sweep_from)
