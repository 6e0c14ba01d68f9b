"""Counts calls of models that are no chat, such as transcripts, speech and verdicts: in the ledger, and against limits.

Knows neither what they are for nor how they are made.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from bot.accounting import Estimator, turn_record
from bot.llm.model import INTERRUPTED, Bill, Completion, Finish, ModelError, ModelRequest, Purpose, Usage
from bot.store import ledger
from bot.store.database import Database
from bot.store.ledger import CallRecord
from bot.turn import Turn

if TYPE_CHECKING:
    from bot.quota.purse import Purse


@dataclass(slots=True)
class SideCall:
    """A call under way, and what it uses: what was expected, until its server tells better."""

    usage: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class SideCalls:
    """Without a `purse` there is no limit."""

    db: Database
    estimate: Estimator
    purse: Purse | None
    now: Callable[[], datetime]

    def of_turn(
        self, turn: Turn, purpose: Purpose, model: str, expected: Usage, fallbacks: Sequence[str] = ()
    ) -> AbstractAsyncContextManager[SideCall]:
        """What a call runs in that a turn makes of a model, which `fallbacks` can stand in for. No limit is told of
        here: it binds the answer as well, which tells of it.

        Raises:
            OverBudget: a limit has no room for it.
        """
        bill, blank = replace(turn.bill, purpose=purpose), turn_record(turn, purpose, model)
        return self.counted(bill, blank, expected, fallbacks=fallbacks)

    @asynccontextmanager
    async def counted(
        self,
        bill: Bill,
        blank: CallRecord,
        expected: Usage,
        *,
        fallbacks: Sequence[str] = (),
        is_counted: bool = True,
    ) -> AsyncGenerator[SideCall, None]:
        """What a call runs in: whom it counts against, and how the ledger has it as long as nothing came of it. One
        that was broken off counts by what was expected, and so does any whose server never counts.

        Raises:
            OverBudget: a limit has no room for it.
        """
        outcome, usage, began, call = INTERRUPTED, None, time.monotonic(), SideCall(expected)
        try:
            async with AsyncExitStack() as stack:
                billed = replace(bill, input_tokens=expected.input_tokens, is_awaited=False)
                request = ModelRequest(
                    model=blank.model, messages=(), max_output_tokens=0, bill=billed, fallbacks=tuple(fallbacks)
                )
                spending = await stack.enter_async_context(self.purse.spend(request)) if self.purse else None
                usage = self.estimate.price(blank.model, expected)
                yield call
                outcome, usage = Finish.STOP.value, self.estimate.price(blank.model, call.usage)
                if spending is not None:
                    spending.see(Completion(text="", finish=Finish.STOP, usage=usage))
        except ModelError as error:
            outcome, usage = error.kind, None
            raise
        finally:
            is_estimated = usage is not None and (outcome == INTERRUPTED or not is_counted)
            record = replace(blank, outcome=outcome, usage=usage, total_ms=_ms_since(began))
            if is_estimated:
                record = replace(record, is_estimated=True, estimated_tokens=expected.input_tokens)
            self.db.post(ledger.record_call, record, self.now())


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
