"""Calls a function of an extension so that whatever it does, everybody else goes on: it may raise, hang, or lie."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any

import structlog
from pydantic import TypeAdapter, ValidationError

from bot.errors import FamiliarError

log = structlog.get_logger(__name__)

MOST_LATE = 3
"""After so many time-outs in a row a function is not called any more: each kept people waiting."""


class ExtensionFailed(FamiliarError):
    """A function of an extension gave no answer that can be used. The operator has been told why."""

    def __init__(self, extension: str, what: str) -> None:
        self.extension, self.what = extension, what
        super().__init__(f"{what} of the extension {extension} failed")


class WrongAnswer(Exception):
    """A function answered with something of another type than was agreed."""


class Faults:
    """Tells each fault once. `keep(extension, fault)` is for the doctor, who sees another process."""

    def __init__(self, keep: Callable[[str, str], None] = lambda _extension, _fault: None) -> None:
        self._keep = keep
        self._told: set[tuple[str, str]] = set()

    def note(self, extension: str, what: str, error: BaseException) -> None:
        """Take a fault of a function; the first one of each is told."""
        if (extension, what) not in self._told:
            self._told.add((extension, what))
            log.error("extension.failed", extension=extension, what=what, error=repr(error), exc_info=error)
            self._keep(extension, f"{what}: {type(error).__name__}")


@dataclass(kw_only=True, slots=True, eq=False)
class Guard:
    """One function of an extension. `expects` are the types that it may answer with, besides `None`."""

    extension: str
    what: str
    run: Callable[..., Awaitable[Any]]
    seconds: float
    """0 = no limit."""
    faults: Faults = field(default_factory=Faults)
    expects: tuple[type, ...] = ()
    may_raise: tuple[type[Exception], ...] = ()
    """What goes on to whoever asked: it is an answer, too."""
    late: int = 0
    """Time-outs in a row."""

    async def call(self, *given: Any) -> Any:
        """Its answer.

        Raises:
            ExtensionFailed: it has none.
        """
        if self.late >= MOST_LATE:
            raise ExtensionFailed(self.extension, self.what)
        try:
            async with asyncio.timeout(self.seconds or None):
                answer = await self.run(*given)
            self.late = 0
            return sound(answer, self.expects)
        except self.may_raise:
            raise
        except asyncio.CancelledError as error:
            # Cancelled is either whoever called, or only something that the function waited for.
            caller = asyncio.current_task()
            if caller is None or caller.cancelling():
                raise
            self.faults.note(self.extension, self.what, error)
        except TimeoutError as error:
            self.late += 1
            self.faults.note(self.extension, self.what, error)
            if self.late == MOST_LATE:
                log.error("extension.given_up", extension=self.extension, what=self.what, times=MOST_LATE)
        except Exception as error:
            self.faults.note(self.extension, self.what, error)
        raise ExtensionFailed(self.extension, self.what)

    async def try_call(self, *given: Any) -> Any:
        """Its answer; `None` as well where it failed."""
        try:
            return await self.call(*given)
        except ExtensionFailed:
            return None


def sound(answer: Any, expects: tuple[type, ...]) -> Any:
    """An answer whose every field has its type.

    Raises:
        WrongAnswer: one has another; the sentence says which, and not what was in it.
    """
    if answer is None:
        return None
    kind: Any = next((one for one in expects if isinstance(answer, one)), None)
    if kind is None:
        wanted = " or ".join([*(one.__name__ for one in expects), "None"])
        raise WrongAnswer(f"it returned {type(answer).__name__} in place of {wanted}")
    if not is_dataclass(answer):
        return answer
    try:
        return _reader(kind).validate_python(_plain(answer))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise WrongAnswer(f"{kind.__name__}.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


@cache
def _reader(kind: type[object]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _plain(value: Any) -> Any:
    """A value with its dataclasses as tables, which are checked; objects of their types are taken as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        return {given.name: _plain(getattr(value, given.name)) for given in fields(value) if given.init}
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value
