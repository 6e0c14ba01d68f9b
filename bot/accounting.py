"""What the model calls of a turn were, as the ledger keeps them; what no server has counted is estimated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from bot.agent import Answer, Asked
from bot.llm.model import INTERRUPTED, Attempt, Completion, ModelRequest, Purpose, Usage
from bot.llm.tariffs import Tariff
from bot.llm.whole import WholeAnswer
from bot.prompt.usage import PromptUsage
from bot.store.database import Database, Tx
from bot.store.ledger import CallRecord, record_calls
from bot.turn import Turn

Estimate = Callable[[str, int, str], Usage]
"""`estimate(model, read, written)`: what a call uses that was sent so many tokens, and answered that text."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """Estimates by our own count of tokens, and by the tariff of a model where that is known."""

    tariff_of: Callable[[str], Tariff | None]
    count: Callable[[str], int]

    def __call__(self, model: str, read: int, written: str) -> Usage:
        """As `Estimate`."""
        return self.price(model, Usage(input_tokens=read, output_tokens=self.count(written)))

    def price(self, model: str, usage: Usage) -> Usage:
        """A usage with what it costs, as far as that is known."""
        tariff = self.tariff_of(model)
        return tariff.charged(usage) if tariff is not None else usage

    def size(self, request: ModelRequest) -> int:
        """What a request fills, in tokens."""
        counted = request.bill.input_tokens if request.bill is not None else 0
        return counted or sum(self.count(message.text) for message in request.messages)


def post_whole(db: Database, call: WholeAnswer, blank: CallRecord, estimate: Estimator, now: datetime) -> None:
    """Let the ledger have a call whose answer is read as a whole: `blank` says what for, and whose it is. Nobody waits
    for that.
    """

    def record(tx: Tx) -> None:
        record_calls(tx, whole_records(call, blank, estimate), now)

    db.post(record)


def whole_records(call: WholeAnswer, blank: CallRecord, estimate: Estimator) -> Iterator[CallRecord]:
    """One record for each request, also for those in vain and the one that was broken off."""
    for attempt in call.attempts:
        yield _filled(replace(blank, model=attempt.model or blank.model, outcome=attempt.outcome), attempt)
    record = replace(blank, model=call.model or blank.model, outcome=call.outcome)
    if _is_uncounted(call):
        read = estimate.size(call.request)
        usage = estimate(record.model, read, call.written)
        record = replace(record, usage=usage, is_estimated=True, estimated_tokens=read)
        yield _filled(record, call.completion, usage)
    else:
        yield _filled(record, call.completion)


def _filled(record: CallRecord, done: Attempt | Completion | None, estimated: Usage | None = None) -> CallRecord:
    if done is None:
        return record
    usage = estimated or done.usage
    return replace(record, usage=usage, first_token_ms=done.first_token_ms, total_ms=done.total_ms)


def call_records(turn: Turn, answer: Answer, estimate: Estimate) -> Iterator[CallRecord]:
    """One record for each request, also for those in vain and the one that was interrupted, with what it filled."""
    for call in answer.calls:
        for attempt in call.attempts:
            yield _record(turn, _purpose(turn, call), attempt.model, attempt.outcome, attempt, call.usage)
        record = _record(turn, _purpose(turn, call), call.model, call.outcome, call.completion, call.usage)
        if _is_uncounted(call):
            usage = estimate(record.model, record.estimated_tokens, call.written)
            record = replace(record, usage=usage, is_estimated=True)
        yield record


def _is_uncounted(call: Asked | WholeAnswer) -> bool:
    """Whether a call may have to be paid, and its server has not said for how much: it was broken off, or does not
    count.
    """
    if call.completion is None:
        return call.outcome == INTERRUPTED or bool(call.written)
    usage = call.completion.usage
    return usage is None or not (usage.input_tokens or usage.output_tokens)


def _purpose(turn: Turn, call: Asked) -> Purpose:
    """What a request of an answer is for: it goes on behind what tools said, or speaks first, or answers."""
    if call.rounds:
        return Purpose.TOOL
    return Purpose.CHAT if turn.raises is None else Purpose.PROACTIVE


def turn_record(turn: Turn, purpose: Purpose, model: str) -> CallRecord:
    """A call that a turn makes beside those of its answer, as long as nothing came of it."""
    return _record(turn, purpose, model, INTERRUPTED, None)


def _record(
    turn: Turn,
    purpose: str,
    model: str,
    outcome: str,
    done: Attempt | Completion | None,
    usage: PromptUsage | None = None,
) -> CallRecord:
    return CallRecord(
        purpose=purpose,
        model=model or turn.model,
        outcome=outcome,
        session_id=turn.session.id,
        conversation_id=turn.conversation_id,
        persona_id=turn.persona_id,
        author_key=turn.bill.author_key,
        usage=done.usage if done else None,
        prompt_usage=usage,
        estimated_tokens=usage.used - usage.max_tokens if usage else 0,
        first_token_ms=done.first_token_ms if done else 0,
        total_ms=done.total_ms if done else 0,
    )
