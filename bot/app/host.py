"""What extensions may ask of the bot (`bot.hooks.Host`), and the marks that their faults leave for the doctor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bot.accounting import Estimator, post_whole
from bot.hooks import Metadata
from bot.llm.client import OpenAIModel
from bot.llm.model import INTERRUPTED, Bill, Model, ModelMessage, ModelRequest, Purpose, Usage
from bot.llm.whole import WholeAnswer
from bot.memory.keeper import Keeper, subject_of
from bot.memory.snapshot import EVERYTHING
from bot.opening import TurnOpener
from bot.store import metadata
from bot.store.compactions import Outcome, Reason
from bot.store.database import Database, Tx
from bot.store.ledger import CallRecord
from bot.store.people import wants_privacy
from bot.store.sessions import SessionRow
from bot.turn import Asker

if TYPE_CHECKING:
    from bot.quota.purse import Purse

MOST_CHARS = 65_536
"""Of one value, as JSON; ours to choose. What is larger belongs into a file of the extension's own."""

FAULT = "extension-fault "
"""Before an extension's name, where its newest fault is remembered."""

NOBODY = Asker(key="", name="")


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """What there is to be asked once the bot is put together."""

    model: Model
    servers: OpenAIModel
    default_model: str
    opener: TurnOpener
    keeper: Keeper
    estimate: Estimator
    purse: Purse | None


class AppHost:
    """Extensions are made before the rest: what they ask for is there from `connect` on."""

    def __init__(self, db: Database, *, now: Callable[[], datetime], count: Callable[[str], int]) -> None:
        self._db, self._now, self.count = db, now, count
        self._services: Services | None = None

    def connect(self, services: Services) -> None:
        """Everything is there now."""
        self._services = services

    @property
    def _connected(self) -> Services:
        if self._services is None:
            raise RuntimeError("extend(host) may keep the host; the bot can be asked once it runs")
        return self._services

    def metadata(self, namespace: str, session: SessionRow) -> Metadata:
        """A store of an extension's own in a session."""
        return _Store(self._db, namespace, session.id, self._now)

    async def compact(self, session: SessionRow, *, focus: str = "") -> bool:
        """Fold old messages into memory, or wait for whoever does already; whether any were."""
        turn = await self._connected.opener.preview(session.id, NOBODY)
        if turn is None:
            return False
        folding = self._connected.keeper.fold(subject_of(turn), Reason.MANUAL, up_to=EVERYTHING, focus=focus)
        await asyncio.wait({folding})  # whoever is cancelled meanwhile does not take it along
        return not (folding.cancelled() or folding.exception()) and folding.result().outcome is Outcome.DONE

    async def ask(
        self, session: SessionRow, messages: Sequence[ModelMessage], *, model: str | None = None, max_tokens: int = 1024
    ) -> str:
        """What a model says; the call is in the ledger under the purpose "extension"."""
        services = self._connected
        name = model or services.default_model
        bill = Bill(place_key=session.channel.place_key, purpose=Purpose.EXTENSION)
        request = ModelRequest(model=name, messages=tuple(messages), max_output_tokens=max_tokens, bill=bill)
        call = WholeAnswer(request)
        try:
            return await call.ask(services.model)
        finally:
            post_whole(self._db, call, _blank(session, Purpose.EXTENSION, name), services.estimate, self._now())

    async def moderate(
        self, session: SessionRow, texts: Sequence[str], *, model: str, seconds: float = 5.0
    ) -> Sequence[bool]:
        """Which of some texts a moderation endpoint flags; the call is in the ledger under the purpose "moderation"."""
        from bot.side_calls import SideCalls  # most bots have nobody judge

        services, blank = self._connected, _blank(session, Purpose.MODERATION, model)
        calls = SideCalls(db=self._db, estimate=services.estimate, purse=services.purse, now=self._now)
        bill = Bill(place_key=session.channel.place_key, purpose=Purpose.MODERATION)
        read = await asyncio.to_thread(lambda: sum(map(self.count, texts)))
        async with calls.counted(bill, blank, Usage(input_tokens=read), is_counted=False):
            return await services.servers.moderate(model, texts, seconds=seconds)


def _blank(session: SessionRow, purpose: Purpose, model: str) -> CallRecord:
    return CallRecord(
        purpose=purpose,
        model=model,
        outcome=INTERRUPTED,
        session_id=session.id,
        conversation_id=session.conversation_id,
    )


@dataclass(frozen=True, slots=True)
class _Store:
    db: Database
    namespace: str
    session_id: int
    now: Callable[[], datetime]

    async def read(self) -> Mapping[str, Any]:
        return await self.db.read(metadata.read_values, self.session_id, self.namespace)

    async def put(self, name: str, value: Any, *, about: str | None = None) -> bool:
        text = _as_json(value)
        return await self.db.run(self._put, name, text, about)

    def _put(self, tx: Tx, name: str, text: str, about: str | None) -> bool:
        if about is not None and wants_privacy(tx, about):
            return False
        metadata.put_value(tx, self.session_id, self.namespace, name, text, about=about, now=self.now())
        return True

    async def drop(self, name: str) -> bool:
        return await self.db.run(metadata.drop_value, self.session_id, self.namespace, name)


def _as_json(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"the value is no JSON: {error}") from error
    if len(text) > MOST_CHARS:
        raise ValueError(f"the value has {len(text)} characters as JSON, {MOST_CHARS} at most")
    return text
