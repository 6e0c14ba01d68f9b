"""What somebody is asked for by a form, on platforms that have forms; elsewhere a command asks in its own way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.chat.messages import Inbound

MAX_FIELDS = 5
MAX_VALUE = 4_000
"""Discord's limits: fields of a form, and characters of a value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FormField:
    """One thing to write or to change. Its `key`, of at most 100 characters, means something to the core alone."""

    key: str
    label: str
    value: str = ""
    is_long: bool = False
    """Whether it may have several lines."""
    is_required: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """One to MAX_FIELDS fields. What was filled in comes as a BUTTON inbound with `command` as its text, a text command
    without its slash of at most 64 bytes, and the values under `filled`.
    """

    title: str
    fields: tuple[FormField, ...]
    command: str


AskForm = Callable[[Inbound], Awaitable[Form | None]]
"""`ask_form(inbound)`: the form that a command or a button opens; `None` where it is to be run at once instead."""


async def no_form(_inbound: Inbound) -> Form | None:
    """Of a menu whose commands open none."""
    return None
