"""Counts calls of models that are no answers, such as transcripts and speech: in the ledger, and against the limits.

Knows neither what they are for nor how they are made.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from bot.accounting import side_record
from bot.llm.model import INTERRUPTED, Completion, Finish, ModelError, ModelRequest, Usage
from bot.llm.tariffs import Tariff
from bot.store import ledger
from bot.store.database import Database
from bot.turn import Turn

if TYPE_CHECKING:
    from bot.quota.purse import Purse


@dataclass(slots=True)
class SideCall:
    """A call under way, and what it uses: what was expected, until its server tells better."""

    usage: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class SideCalls:
    """`tariff_of` tells what a model costs, `None` = nobody knows; without a `purse` there is no limit."""

    db: Database
    tariff_of: Callable[[str], Tariff | None]
    purse: Purse | None
    now: Callable[[], datetime]

    @asynccontextmanager
    async def counted(self, turn: Turn, purpose: str, model: str, expected: Usage) -> AsyncGenerator[SideCall, None]:
        """What a call runs in. No limit is told of here: it binds the answer as well, which tells of it.

        Raises:
            OverBudget: a limit has no room for it.
        """
        done: Completion | str = INTERRUPTED
        began, call = time.monotonic(), SideCall(expected)
        try:
            async with AsyncExitStack() as stack:
                bill = replace(turn.bill, input_tokens=expected.input_tokens, is_awaited=False)
                request = ModelRequest(model=model, messages=(), max_output_tokens=0, bill=bill)
                spending = await stack.enter_async_context(self.purse.spend(request)) if self.purse else None
                yield call
                tariff = self.tariff_of(model)
                usage = tariff.charged(call.usage) if tariff is not None else call.usage
                done = Completion(text="", finish=Finish.STOP, usage=usage, total_ms=_ms_since(began))
                if spending is not None:
                    spending.see(done)
        except ModelError as error:
            done = error.kind
            raise
        finally:
            record = side_record(turn, purpose, model, done, total_ms=_ms_since(began))
            self.db.post(ledger.record_call, record, self.now())


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
