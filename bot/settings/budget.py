"""How many tokens of a window a prompt may fill, by the settings."""

from __future__ import annotations

from bisect import bisect_left

from bot.settings.whole import Settings

MIN_BUDGET_TOKENS = 1024
"""Below this much room for a prompt the start refuses the settings (SETTINGS.md, `RESERVE_RATIO`)."""


def output_reserve(window: int, configured: int | None) -> int:
    """Tokens kept free for the answer: `MAX_OUTPUT_TOKENS`, by default min(1024, window/8)."""
    return configured if configured is not None else min(1024, window // 8)


LEAST_MEMORY_TOKENS = 512
"""Room for memory in the smallest window (`SUMMARY__TOKEN_RATIO`)."""


def memory_cap(window: int, token_ratio: float) -> int:
    """Tokens that the memory may fill: max(512, window x SUMMARY__TOKEN_RATIO)."""
    return max(LEAST_MEMORY_TOKENS, int(window * token_ratio))


def prompt_budget(settings: Settings, window: int, reserve: int) -> int:
    """Tokens that a prompt may fill: window x TRIM_THRESHOLD_RATIO - reserve - max(512, window x RESERVE_RATIO)."""
    return int(window * settings.trim_threshold_ratio) - reserve - max(512, int(window * settings.reserve_ratio))


def least_window(settings: Settings, most: int | None) -> int | None:
    """The smallest window, in hundreds, that leaves a prompt MIN_BUDGET_TOKENS as all larger ones do, where `most` is
    kept free for an answer; `None` where none does.
    """
    hundreds, enough = range(100, 10_000_000, 100), MIN_BUDGET_TOKENS + 2  # a larger one may be rounded down by two
    found = bisect_left(
        hundreds, enough, key=lambda window: prompt_budget(settings, window, output_reserve(window, most))
    )
    return hundreds[found] if found < len(hundreds) else None
