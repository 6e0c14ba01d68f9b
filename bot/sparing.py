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
from itertools import accumulate
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
    """Within the block modules whose names begin so are not loaded by being imported: what is imported from them loads
    them where it is used for the first time, and may stand in annotations without being used.
    """
    late = _Late(beginnings)
    sys.meta_path.insert(0, late)
    try:
        yield
    finally:
        sys.meta_path.remove(late)
        late.end()


class _Late(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Puts an empty module in the place of each one that is put off."""

    def __init__(self, beginnings: tuple[str, ...]) -> None:
        self._beginnings = beginnings
        self._empty: set[str] = set()
        self._wanted: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in self._wanted or not name.startswith(self._beginnings):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        self._empty.add(module.__name__)
        module.__dict__["__getattr__"] = partial(Later, self, module.__name__)

    def load(self, name: str) -> ModuleType:
        """The module itself, which is put off no longer."""
        packages = list(accumulate(name.split("."), "{}.{}".format))
        self._make_room(self._empty.intersection(packages))
        self._wanted.update(packages)
        return import_module(name)

    def end(self) -> None:
        """From now on whoever imports these modules gets them."""
        self._make_room(set(self._empty))

    def _make_room(self, names: set[str]) -> None:
        self._empty -= names
        for name in names:
            del sys.modules[name]


class Later:
    """A name of a module that was put off: it becomes what it names where that is called, asked or inherited from."""

    def __init__(self, late: _Late, module: str, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)  # what the import system looks for in every module
        self._late, self._module, self._name = late, module, name

    def load(self) -> Any:
        """What it names."""
        return getattr(self._late.load(self._module), self._name)

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
