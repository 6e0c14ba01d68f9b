"""What the model calls of a turn were, as the ledger keeps them."""

from __future__ import annotations

from collections.abc import Iterator

from bot.agent import Answer
from bot.llm.model import Completion
from bot.prompt.usage import PromptUsage
from bot.store.ledger import CallRecord
from bot.turn import Turn


def call_records(turn: Turn, answer: Answer, failure: str | None) -> Iterator[CallRecord]:
    """One record for each call that ended, and one for the `failure` of the last, with what each request filled."""
    for done, usage in zip(answer.completions, answer.usages, strict=True):
        yield _record(turn, done.finish.value, done, usage)
    if failure is not None:
        yield _record(turn, failure, None, answer.pending)


def _record(turn: Turn, outcome: str, done: Completion | None, usage: PromptUsage | None) -> CallRecord:
    return CallRecord(
        purpose="chat",
        model=turn.model,
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
