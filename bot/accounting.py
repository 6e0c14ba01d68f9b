"""What the model calls of a turn were, as the ledger keeps them; what no server has counted is estimated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from bot.agent import Answer, Asked
from bot.llm.model import INTERRUPTED, Attempt, Completion, Usage
from bot.llm.tariffs import Tariff
from bot.prompt.usage import PromptUsage
from bot.store.ledger import CallRecord
from bot.turn import Turn

Estimate = Callable[[str, int, str], Usage]
"""`estimate(model, read, written)`: what a call uses that was sent so many tokens, and answered that text."""


def estimator(tariff_of: Callable[[str], Tariff | None], count: Callable[[str], int]) -> Estimate:
    """Estimates by our own count of tokens, and by the tariff of a model where that is known."""

    def estimate(model: str, read: int, written: str) -> Usage:
        usage, tariff = Usage(input_tokens=read, output_tokens=count(written)), tariff_of(model)
        return tariff.charged(usage) if tariff is not None else usage

    return estimate


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


def _is_uncounted(call: Asked) -> bool:
    """Whether a call may have to be paid, and its server has not said for how much: it was broken off, or does not
    count.
    """
    if call.completion is None:
        return call.outcome == INTERRUPTED or bool(call.written)
    usage = call.completion.usage
    return usage is None or not (usage.input_tokens or usage.output_tokens)


def _purpose(turn: Turn, call: Asked) -> str:
    """What a request of an answer is for: it goes on behind what tools said, or speaks first, or answers."""
    if call.rounds:
        return "tool"
    return "chat" if turn.raises is None else "proactive"


def side_record(
    turn: Turn, purpose: str, model: str, done: Attempt | Completion | str, *, total_ms: int = 0
) -> CallRecord:
    """A call that a turn makes beside those of its answer: by what came of it, or by the word for how it ended."""
    if isinstance(done, str):
        return replace(_record(turn, purpose, model, done, None), total_ms=total_ms)
    outcome = done.outcome if isinstance(done, Attempt) else done.finish.value
    return _record(turn, purpose, done.model or model, outcome, done)


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
        author_key=turn.asker.key,
        usage=done.usage if done else None,
        prompt_usage=usage,
        estimated_tokens=usage.used - usage.max_tokens if usage else 0,
        first_token_ms=done.first_token_ms if done else 0,
        total_ms=done.total_ms if done else 0,
    )
