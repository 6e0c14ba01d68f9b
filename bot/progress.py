"""A turn while it is answered: what the agent has of it so far, and what people have read. Decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from bot.accounting import Estimate, call_records
from bot.agent import Answer
from bot.chat import SentPart
from bot.dispatch import TurnControl, TurnRequest
from bot.quota import Admission, OverBudget, Ruling
from bot.store.ledger import CallRecord
from bot.store.tables import MessageKind
from bot.turn import Turn

PutInWords = Callable[[Turn, TurnRequest], Awaitable[Turn]]
"""`put_in_words(turn, request)`: the turn with what its model cannot take in words (`bot.senses`)."""

SpeakAfter = Callable[[Turn, int, str, Sequence[SentPart]], None]
"""`speak_after(turn, reply_id, text, parts)`: says an answer aloud that is shown in these parts (`bot.spoken`)."""


@dataclass(slots=True)
class Progress:
    """A turn being answered: its reins, what the agent has so far, and the reply's row once something is shown."""

    turn: Turn
    request: TurnRequest
    control: TurnControl
    estimate: Estimate
    answer: Answer = field(default_factory=Answer)
    kind: MessageKind = MessageKind.REPLY
    begun: asyncio.Task[int] | None = None
    is_retry: bool = False
    is_held: bool = False
    """Whether nobody may read the answer yet: hooks are to have it first."""
    following: tuple[TurnRequest, ...] = ()
    """Turns of other personas that the answer calls."""
    held_back: tuple[Ruling, ...] = ()
    """What people have not heard yet of limits because of which another model was asked; known once `take_calls` was.
    """
    was_folded: bool = False
    """Whether old messages were to move into memory before the answer."""

    @property
    def is_begun(self) -> bool:
        """Whether the reply has its row, or will have it at once; a fault of the database may pass."""
        begun = self.begun
        return begun is not None and not (begun.done() and (begun.cancelled() or begun.exception()))

    @property
    def said(self) -> str:
        """What people have read of the answer, or may read now."""
        return "" if self.is_held else self.answer.text

    def take_calls(self) -> list[CallRecord]:
        """What the ledger keeps of the calls, once: whoever is cancelled while storing them has stored them."""
        records = list(call_records(self.turn, self.answer, self.estimate))
        faults = (attempt.fault for call in self.answer.calls for attempt in call.attempts)
        rulings = (fault.ruling for fault in faults if isinstance(fault, OverBudget))
        self.held_back += tuple(ruling for ruling in rulings if ruling.admission is Admission.NOTICE)
        self.answer.calls = []
        return records

    async def reply_id(self) -> int | None:
        """The reply's row; `None` while nothing has been shown."""
        return await self.begun if self.begun and self.is_begun else None
