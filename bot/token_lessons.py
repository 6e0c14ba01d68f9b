"""What a turn teaches about how a model's server counts tokens, and how much less a refused prompt may fill."""

from __future__ import annotations

import structlog

from bot.llm.catalogue import was_prompt_cut
from bot.llm.model import ContextTooLong
from bot.progress import Progress
from bot.prompt.tokens import ModelTokens

log = structlog.get_logger(__name__)

RETRY_BUDGET_RATIO = 0.7
"""How much of the budget the one retry takes after the server found the prompt too long (M17)."""


def learn_from_answer(tokens: ModelTokens, progress: Progress) -> None:
    """Correct the model's token factor by what its server counted."""
    first, model = progress.answer.calls[0], progress.turn.model
    if first.completion is None or first.completion.usage is None or progress.turn.images or progress.is_retry:
        return
    if first.completion.model not in ("", model):
        return
    estimated, counted = first.usage.used - first.usage.max_tokens, first.completion.usage.input_tokens
    if was_prompt_cut(estimated_tokens=estimated, input_tokens=counted):
        log.warning(
            "model.prompt_truncated",
            model=model,
            estimated=estimated,
            counted=counted,
            remedy="raise the server's context length, or set the provider's CONTEXT_WINDOW to it",
        )
        return
    tokens.learn(model, first.counted, counted)


def learn_from_refusal(tokens: ModelTokens, progress: Progress, error: ContextTooLong) -> bool:
    """Correct the model's token factor where its server found the prompt too long and said how long it is; whether it
    did.
    """
    turn = progress.turn
    is_plain = not turn.images and not progress.answer.exchanges
    if not error.given or not is_plain or error.model != turn.model:
        return False
    tokens.learn(turn.model, progress.answer.calls[-1].counted, error.given)
    return True


def smaller_budget(progress: Progress, error: ContextTooLong) -> int:
    """What the prompt of the one retry may fill, tool rounds included: less than was too much."""
    turn, refused = progress.turn, progress.answer.calls[-1].usage
    filled = refused.used - refused.max_tokens
    room = min(turn.budget, filled, turn.budget if error.limit is None else error.limit - turn.reserve)
    return int(room * RETRY_BUDGET_RATIO)
