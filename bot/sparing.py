"""Imports libraries without what is never used of them, which is most of some (docs/design/memory.md).

Knows no library by name.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import GenericAlias, ModuleType
from typing import Any, Union


@contextmanager
def barred(*names: str) -> Iterator[None]:
    """Within the block these modules are not to be had, as if they were not installed. Loaded ones stay."""
    new = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(new))  # type: ignore[arg-type]  # how Python marks what is not to be had
    try:
        yield
    finally:
        for name in new:
            del sys.modules[name]


@contextmanager
def put_off(*beginnings: str) -> Iterator[None]:
    """Within the block modules whose names begin so are not loaded. What is imported from them meanwhile loads them
    where it is used for the first time, after the block; in the block it may stand in annotations only.
    """
    late = _Late(beginnings)
    sys.meta_path.insert(0, late)
    try:
        yield
    finally:
        sys.meta_path.remove(late)
        late.make_room()


class _Late(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Puts an empty module in the place of each one that is put off."""

    def __init__(self, beginnings: tuple[str, ...]) -> None:
        self._beginnings = beginnings
        self._empty: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith(self._beginnings):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        self._empty.append(module.__name__)
        module.__dict__["__getattr__"] = partial(Later, module.__name__)

    def make_room(self) -> None:
        """From now on whoever imports these modules gets them."""
        for name in self._empty:
            del sys.modules[name]


class Later:
    """A name of a module that was put off: it becomes what it names where that is called, asked or inherited from."""

    def __init__(self, module: str, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)  # what the import system looks for in every module
        self._module, self._name = module, name

    def load(self) -> Any:
        """What it names."""
        return getattr(import_module(self._module), self._name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # what `typing` looks for in every annotation
        return getattr(self.load(), name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.load()(*args, **named)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.load())

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, self.load())

    def __mro_entries__(self, _bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.load(),)

    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007 - the other spelling ends here

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007

    def __getitem__(self, arguments: Any) -> Any:
        return GenericAlias(self, arguments)  # type: ignore[arg-type]  # it stands for one
