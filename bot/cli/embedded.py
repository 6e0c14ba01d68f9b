"""Decides whether the embedded model must serve, gets it there, and says honestly what it is good for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bot.llm.configured import LocalModel, names_remote_model
from bot.settings import Settings


@contextmanager
def local_model_for(settings: Settings, *, quiet: bool = False) -> Iterator[LocalModel | None]:
    """Serve the embedded model for the length of the block; `None` when a configured server does the work."""
    if names_remote_model(settings):
        yield None
        return
    raise NotImplementedError
