"""Keeps types of an API that we never call out of the process while the SDK is imported: half of its modules, 6 MB.

The SDK loads them for its own annotations only. Knows no client.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

UNUSED = "openai.types.responses"
"""The Responses API. We speak chat completions, which every server has."""


@contextmanager
def unused_types_left_out() -> Iterator[None]:
    """Within the block the unused modules are found blank: every name in them means anything."""
    blank = _Blank()
    sys.meta_path.insert(0, blank)
    try:
        yield
    finally:
        sys.meta_path.remove(blank)


class _Blank(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != UNUSED and not name.startswith(f"{UNUSED}."):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name == UNUSED)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__getattr__"] = _anything


def _anything(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Any
