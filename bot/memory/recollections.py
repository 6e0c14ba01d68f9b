"""What this process has in mind of what people said: caches and questions that must let go of somebody's words.

Knows none of them: whoever keeps such things says how they are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.store.traces import Traces

LetGo = Callable[[Traces], None]
"""Lets go of what somebody has said. The traces have no key where another process has erased them."""


class Recollections:
    """All who keep such things."""

    def __init__(self) -> None:
        self._all: list[LetGo] = []

    def add(self, let_go: LetGo) -> None:
        """Somebody keeps things; what serves only speed may let go of all of it."""
        self._all.append(let_go)

    def let_go(self, traces: Traces) -> None:
        """Forget somebody."""
        for let_go in self._all:
            let_go(traces)
