"""What Telegram's refusals mean: the four words of pacing, those with a way around, and those that pass by waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

import structlog
from telegram.error import BadRequest, Conflict, InvalidToken, NetworkError, RetryAfter, TelegramError, TimedOut

from adapters.pacing import Refused, Uncertain, Unreachable, Wait
from adapters.telegram.options import BackOff
from adapters.telegram.request import NotDelivered

T = TypeVar("T")
log = structlog.get_logger(__name__)


def seconds_of(error: RetryAfter) -> float:
    """How long to wait: the library gives a number or, when PTB_TIMEDELTA is set, a timedelta (T22)."""
    wait = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def translated(error: TelegramError, *, repeatable: bool) -> Wait | Unreachable | Uncertain | Refused:
    """The fault in the words of pacing; `BadRequest` and `TimedOut` are both kinds of `NetworkError` (T21).

    `repeatable` says that carrying the call out twice is the same as once, so that nothing about it is uncertain.
    """
    if isinstance(error, RetryAfter):
        return Wait(seconds_of(error))
    if isinstance(error, NotDelivered):
        return Unreachable(str(error))
    if isinstance(error, TimedOut):
        return Unreachable(str(error)) if repeatable else Uncertain(str(error))
    return Refused(str(error))


def is_unchanged(error: BadRequest) -> bool:
    """An edit that would show what is shown already (T06)."""
    return "not modified" in error.message.lower()


def is_thread_gone(error: BadRequest) -> bool:
    """A topic that was deleted, or General under its number (T08)."""
    return "thread not found" in error.message.lower()


def is_reply_gone(error: BadRequest) -> bool:
    """The message to answer was deleted; the server has had several spellings."""
    message = error.message.lower()
    return "repl" in message and "not found" in message


def is_unparsable(error: BadRequest) -> bool:
    """Entities that the server does not take (T01, T21)."""
    return "entit" in error.message.lower()


def is_picture(error: BaseException | None) -> bool:
    """A message under a picture, which cannot become a text alone."""
    return isinstance(error, BadRequest) and "no text in the message to edit" in error.message.lower()


def is_about_drafts(error: BaseException | None) -> bool:
    """A draft to a chat or for a bot that may not have any, or a server that is older than Bot API 9.3."""
    return isinstance(error, InvalidToken) or (isinstance(error, BadRequest) and "draft" in error.message.lower())


async def insist(
    ask: Callable[[], Awaitable[T]], *, back_off: BackOff, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> T:
    """Ask until there is an answer. Network faults, conflicts and floods are waited out and told once (T13).

    Raises:
        TelegramError: a refusal that waiting does not change.
    """
    waits, told = back_off.waits(), False
    while True:
        try:
            answer = await ask()
        except BadRequest:
            raise
        except (NetworkError, Conflict, RetryAfter) as error:
            if not told:
                log.warning("telegram.trouble", problem=str(error), remedy=_remedy(error))
            told = True
            asked_for = seconds_of(error) if isinstance(error, RetryAfter) else 0.0
            await sleep(max(next(waits), asked_for))
        else:
            if told:
                log.info("telegram.trouble_over")
            return answer


def _remedy(error: TelegramError) -> str:
    if isinstance(error, Conflict):
        return "another program uses this token: stop it, or give this one a token of its own; trying again until then"
    return "trying again until the server answers"
