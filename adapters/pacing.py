"""One growing answer, shown at a pace the platform bears and always ended in full, for adapters that edit messages.

Knows no platform: a `Transport` speaks to one, and reports faults in the four words below.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, repeat
from typing import Any, Generic, Protocol, TypeVar

import structlog

from bot.chat import BeforeSend, Outbound, PartShown, PartState, SentPart

P = TypeVar("P")
log = structlog.get_logger(__name__)

Spawn = Callable[[str, Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a named background task; the composition root has the one that does."""

QUIET = timedelta(milliseconds=300)
"""How long nothing is shown, so that a fast answer is one request."""
INTERVAL = timedelta(seconds=1)
"""Between two intermediate updates; both platforms bear about one a second in a chat (D24)."""
PATIENCE = timedelta(minutes=2)
"""The longest that a final text tries to reach a platform that says nothing."""
LONGEST_WAIT = timedelta(hours=1)
"""The longest that a final text waits where the platform says how long; Telegram's floods may last many minutes."""
TYPING_PERIOD = timedelta(seconds=4.5)
"""Telegram keeps the typing sign for five seconds, Discord for ten."""
BACK_OFF = (1.0, 2.0, 4.0, 8.0)
"""Seconds before a request that did not arrive is repeated, the last again and again. A named wait is 1 at least."""


class Wait(Exception):
    """The platform asks to wait (429); the request was not carried out."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"wait {seconds} s")


class Unreachable(Exception):
    """The request certainly did not arrive (refused connection, 502, 503); sending it again is safe."""


class Uncertain(Exception):
    """The request may have been carried out (a time-out after the body was written); never sent again (T14)."""


class Refused(Exception):
    """The platform will not do this, however often it is asked (forbidden, chat gone, message deleted)."""

    def __init__(self, *args: object, instead: Sequence[Any] = ()) -> None:
        self.instead = instead
        """Parts that carry the same in another way, where what was refused was to go for good: a text for a file."""
        super().__init__(*args)


class Transport(Protocol[P]):
    """One reply's way to one channel. Methods raise only `Wait`, `Unreachable`, `Uncertain` and `Refused`."""

    drafts: bool
    """Whether intermediate text is shown by `draft` instead of by sending and editing."""

    def render(self, outbound: Outbound, *, final: bool) -> list[P]:
        """The platform messages for a text, in order: each within the limits, none blank; [] for a blank text."""

    async def send(self, part: P, ordinal: int) -> str:
        """Send a new message and return its platform id. Only ordinal 0 carries the reply reference."""

    async def edit(self, message_id: str, part: P, ordinal: int) -> None:
        """Make an earlier message show `part`; a message that already shows it counts as success (T06)."""

    async def draft(self, part: P) -> None:
        """Show an intermediate text that the final `send` replaces."""

    async def delete(self, message_id: str) -> None:
        """Remove a message of this reply that the final text no longer needs."""

    async def typing(self) -> None:
        """Show the typing sign once (platforms keep it for 5 to 10 s)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shown(Generic[P]):
    """A message of this reply: its id, unless the platform never told, and what it shows, unless that is uncertain."""

    message_id: str | None
    part: P | None


class PacedReply(Generic[P]):
    """A `ReplyStream` over a transport.

    Nothing is shown within `quiet`; then the typing sign, or the text as it grows, at most once per `interval`. `Wait`
    stops every request of this reply. Faults of intermediate requests are swallowed; the final ones are repeated as far
    as that is safe, within `PATIENCE` and after the waits that the platform names. The clock counts seconds.
    """

    def __init__(
        self,
        transport: Transport[P],
        *,
        spawn: Spawn,
        before_send: BeforeSend | None = None,
        part_shown: PartShown | None = None,
        quiet: timedelta = QUIET,
        interval: timedelta = INTERVAL,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._transport, self._spawn = transport, spawn
        self._before_send, self._part_shown = before_send, part_shown
        self._interval = interval.total_seconds()
        self._clock, self._sleep = clock, sleep
        self._text = self._newest = ""  # of the answer, and with what is being done
        self._shown_text = ""
        self._shown: list[_Shown[P]] = []
        self._surplus: list[_Shown[P]] = []  # messages that others have replaced
        self._last_ordinal: int | None = None  # of the final text, which is settled once that is shown
        self._takes_updates = True
        self._is_announced = self._is_requesting = False
        self._may_be_seen = False  # so far every request to send was kept waiting or refused
        self._update_at = self._type_at = clock() + quiet.total_seconds()
        self._free_at = self._deadline = self._latest = clock()
        self._showing: asyncio.Task[None] | None = None
        self._typing: asyncio.Task[None] | None = spawn("typing sign", self._keep_typing())

    async def update(self, text: str, *, doing: str = "") -> None:
        """Show that much of the answer when the pace allows it."""
        self._text, self._newest = text, "\n\n".join(filter(None, (text, doing)))
        if self._takes_updates and not self._is_showing():
            self._showing = self._spawn("growing reply", self._show_updates())

    async def finish(self, outbound: Outbound) -> tuple[SentPart, ...]:
        """Bring the messages to the final text: edit what differs, send what is missing, delete what is too much."""
        await self._stop_showing()
        return await self._settle(self._transport.render(outbound, final=True))

    async def fail(self, outbound: Outbound) -> tuple[SentPart, ...]:
        """Close what was shown, if anything was, and send `outbound` after it as its own message."""
        await self._stop_showing()
        # What was announced counts as said, also when the request that was to show it has failed.
        said = self._transport.render(Outbound(text=self._text), final=True) if self._is_announced else []
        return await self._settle([*said, *self._transport.render(outbound, final=True)])

    async def discard(self) -> bool:
        """Stop at once; also while `before_send` still holds back the first request."""
        await self._stop_showing(at_once=True)
        return self._may_be_seen

    # --- While the text grows

    def _is_showing(self) -> bool:
        return self._showing is not None and not self._showing.done()

    async def _keep_typing(self) -> None:
        """Repeat the typing sign (D14). It rests while text grows, or Discord would show it beyond the end."""
        while True:
            await self._sleep_until(lambda: self._type_at)
            self._type_at = self._clock() + TYPING_PERIOD.total_seconds()
            if self._is_showing():
                continue
            try:
                await self._transport.typing()
            except Wait as wait:
                self._block(wait.seconds)
            except Refused:
                return
            except (Unreachable, Uncertain):
                pass

    async def _show_updates(self) -> None:
        """Show the newest text until there is no newer one; the only place of intermediate requests."""
        while self._shown_text != self._newest and self._takes_updates:
            await self._sleep_until(lambda: self._update_at)
            self._is_requesting = True
            await self._show(self._newest)
            self._is_requesting = False
            self._update_at = self._clock() + self._interval
            self._type_at = self._clock() + TYPING_PERIOD.total_seconds()

    async def _show(self, text: str) -> None:
        try:
            await self._show_parts(self._transport.render(Outbound(text=text), final=False))
            self._shown_text = text
        except Wait as wait:
            self._block(wait.seconds)
        except Unreachable:
            pass  # the next update tries again
        except Uncertain:
            self._takes_updates = all(shown.message_id for shown in self._shown)
        except Refused:
            self._takes_updates = False  # `finish` finds another way

    async def _show_parts(self, parts: Sequence[P]) -> None:
        if not parts:
            return
        await self._announce()
        if self._transport.drafts:
            await self._transport.draft(parts[-1])
            return
        for ordinal, part in enumerate(parts):
            if ordinal == len(self._shown):
                await self._send(part, ordinal)
            elif (message_id := self._shown[ordinal].message_id) and self._shown[ordinal].part != part:
                await self._edit(message_id, part, ordinal)

    async def _announce(self) -> None:
        if not self._is_announced and self._before_send:
            await self._before_send()
        self._is_announced = True

    async def _send(self, part: P, ordinal: int) -> None:
        before, self._may_be_seen = self._may_be_seen, True
        try:
            message_id = await self._transport.send(part, ordinal)
        except (Wait, Unreachable, Refused):
            self._may_be_seen = before
            raise
        except Uncertain:
            self._shown.append(_Shown(message_id=None, part=part))
            raise
        self._shown.append(_Shown(message_id=message_id, part=part))
        if self._part_shown and ordinal != self._last_ordinal:
            await self._part_shown(SentPart(ordinal=ordinal, message_id=message_id, state=PartState.SENT))

    async def _edit(self, message_id: str, part: P, ordinal: int) -> None:
        self._shown[ordinal] = _Shown(message_id=message_id, part=None)
        await self._transport.edit(message_id, part, ordinal)
        self._shown[ordinal] = _Shown(message_id=message_id, part=part)

    async def _sleep_until(self, moment: Callable[[], float]) -> None:
        while (rest := max(moment(), self._free_at) - self._clock()) > 0:
            await self._sleep(rest)

    def _block(self, seconds: float) -> None:
        """Make no request for that long (T07, T22)."""
        self._free_at = max(self._free_at, self._clock() + seconds)

    async def _stop_showing(self, *, at_once: bool = False) -> None:
        """End the background tasks, a request under way by itself: what became of a cancelled one is unknown."""
        self._takes_updates = False
        # Forgotten here: a cancelled task knows its last frames, which know this reply, and with it the whole turn.
        typing, self._typing = self._typing, None
        showing, self._showing = self._showing, None
        tasks = [task for task in (typing, showing) if task]
        if typing:
            typing.cancel()
        if showing and (at_once or not self._is_requesting):
            showing.cancel()
        if not tasks:
            return
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:  # leave no task behind
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            raise

    # --- The final text

    async def _settle(self, parts: Sequence[P]) -> tuple[SentPart, ...]:
        self._latest = self._clock() + LONGEST_WAIT.total_seconds()
        self._renew_patience()
        if parts:
            await self._announce()
        settled: list[SentPart] = []
        waiting = deque(parts)
        while waiting:
            part, ordinal = waiting.popleft(), len(settled)
            self._last_ordinal = ordinal + len(waiting)
            if settled and settled[-1].state is PartState.FAILED:  # a later part without it would make no sense
                settled.append(SentPart(ordinal=ordinal, message_id=None, state=PartState.FAILED))
                continue
            try:
                settled.append(await self._settle_part(part, ordinal))
            except Refused as refusal:
                waiting.extendleft(reversed(refusal.instead))
        if all(part.state is not PartState.FAILED for part in settled):
            for shown in [*self._surplus, *self._shown[len(settled) :]]:
                await self._delete(shown)
        return tuple(settled)

    async def _settle_part(self, part: P, ordinal: int) -> SentPart:
        shown = self._shown[ordinal] if ordinal < len(self._shown) else None
        if shown and shown.part == part:
            state = PartState.SENT if shown.message_id else PartState.UNCERTAIN
            return SentPart(ordinal=ordinal, message_id=shown.message_id, state=state)
        if shown and (message_id := shown.message_id):
            with contextlib.suppress(Refused):
                state = await self._insist(lambda: self._edit(message_id, part, ordinal))
                return SentPart(ordinal=ordinal, message_id=message_id, state=state)
        return await self._settle_anew(part, ordinal)

    async def _settle_anew(self, part: P, ordinal: int) -> SentPart:
        """Send a part as a new message. Those shown from there on come after it, so they have to be new as well.

        Raises:
            Refused: there is something to send instead.
        """
        self._surplus += self._shown[ordinal:]
        del self._shown[ordinal:]
        try:
            state = await self._insist(lambda: self._send(part, ordinal))
        except Refused as refusal:
            if refusal.instead:
                raise
            state = PartState.FAILED
        message_id = self._shown[ordinal].message_id if state is PartState.SENT else None
        return SentPart(ordinal=ordinal, message_id=message_id, state=state)

    async def _delete(self, shown: _Shown[P]) -> None:
        if message_id := shown.message_id:
            with contextlib.suppress(Refused):
                await self._insist(lambda: self._transport.delete(message_id))

    def _renew_patience(self) -> None:  # a platform that names a wait is there, and is obeyed
        self._deadline = min(max(self._free_at, self._clock()) + PATIENCE.total_seconds(), self._latest)

    async def _insist(self, request: Callable[[], Awaitable[None]]) -> PartState:
        """Make a request, again and again while that is safe and the patience lasts.

        Raises:
            Refused: the platform will never do it.
        """
        pauses = chain(BACK_OFF, repeat(BACK_OFF[-1]))
        while self._free_at <= self._deadline:
            await self._sleep_until(lambda: self._free_at)
            try:
                await request()
                return PartState.SENT
            except Uncertain:
                return PartState.UNCERTAIN
            except Wait as wait:
                self._block(max(wait.seconds, BACK_OFF[0]))
                self._renew_patience()
            except Unreachable:
                self._block(next(pauses))
        log.warning("reply.given_up", next_try_in_seconds=round(self._free_at - self._clock()))
        return PartState.FAILED
