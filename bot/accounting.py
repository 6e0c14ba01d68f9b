"""What the model calls of a turn were, as the ledger keeps them."""

from __future__ import annotations

from collections.abc import Iterator

from bot.agent import Answer
from bot.llm.model import Attempt, Completion
from bot.prompt.usage import PromptUsage
from bot.store.ledger import CallRecord
from bot.turn import Turn


def call_records(turn: Turn, answer: Answer) -> Iterator[CallRecord]:
    """One record for each request, also for those in vain and the one that was interrupted, with what it filled."""
    for call in answer.calls:
        for attempt in call.attempts:
            yield _record(turn, attempt.model, attempt.outcome, attempt, call.usage)
        yield _record(turn, call.model, call.outcome, call.completion, call.usage)


def _record(turn: Turn, model: str, outcome: str, done: Attempt | Completion | None, usage: PromptUsage) -> CallRecord:
    return CallRecord(
        purpose="chat",
        model=model or turn.model,
        outcome=outcome,
        session_id=turn.session.id,
        conversation_id=turn.conversation_id,
        persona_id=turn.persona_id,
        author_key=turn.asker.key,
        usage=done.usage if done else None,
        prompt_usage=usage,
        estimated_tokens=usage.used - usage.max_tokens,
        first_token_ms=done.first_token_ms if done else 0,
        total_ms=done.total_ms if done else 0,
    )
