"""Keeps types of APIs that we never call out of the process while the SDK is imported: most of its modules, 8 MB.

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

UNUSED = tuple(
    f"openai.types.{family}"
    for family in ("responses", "eval", "grader", "image", "skill", "static_file", "upload", "vector_store", "video")
)
"""How the names of modules begin: the Responses API, and others beside chat completions, which every server has."""


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
        if not name.startswith(UNUSED):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__getattr__"] = _anything


def _anything(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Any
