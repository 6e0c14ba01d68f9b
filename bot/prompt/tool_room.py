"""Which of many tools a request has room for. Each one's schema is sent with every request, at the cost of the talk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bot.llm.model import ToolSpec

MOST_OF_PROMPT = 0.5
"""What all of them may fill of a prompt; ours to choose. Servers with a hundred tools fill more than whole windows."""

MOST_TOOLS = 128
"""OpenAI takes no more in one request (API reference, tools)."""


def fit_tools(
    tools: Iterable[ToolSpec], budget: float, cost: Callable[[ToolSpec], int]
) -> tuple[tuple[ToolSpec, ...], int]:
    """Those for which there is room, and the tokens that they take; who comes first has it first."""
    kept: list[ToolSpec] = []
    used, most = 0, int(budget * MOST_OF_PROMPT)
    for tool in tools:
        if len(kept) < MOST_TOOLS and used + (tokens := cost(tool)) <= most:
            kept.append(tool)
            used += tokens
    return tuple(kept), used
