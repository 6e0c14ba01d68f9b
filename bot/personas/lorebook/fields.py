"""The forgiving readers of an entry's fields: each takes whatever a file holds, repairs it, and tells what it did.

Knows no entry: which field is read how stands in `entry`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, ValidationInfo

from bot.personas.fields import warn
from bot.personas.lorebook.choices import (
    DEFAULT_DEPTH,
    NUMBERED_LOGICS,
    NUMBERED_ROLES,
    NUMBERED_SLOTS,
    Logic,
    LoreRole,
    Slot,
)

MAX_NUMBER = 1_000_000
"""No order, depth, delay or weight is larger; ours to choose."""

MAX_KEYS = 500
"""Keys of one list of an entry; ours to choose."""

_PATTERN_OR_COMMA = re.compile(r"(/(?:\\.|[^/\\\n])+/[a-z]*)(?=\s*(?:[,，]|$))|[,，]")
_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")
_NUMBER = re.compile(r"-?[0-9]{1,9}(\.[0-9]{0,9})?")
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "": False}

_Choice = TypeVar("_Choice", bound=str)


def as_number(value: object) -> int | None:
    """What a value says as a whole number, within what a lorebook may say; `None` where it is no number."""
    match value:
        case bool():
            return None
        case int():
            return max(-MAX_NUMBER, min(MAX_NUMBER, value))
        case float() if -MAX_NUMBER <= value <= MAX_NUMBER:
            return round(value)
        case str() if _NUMBER.fullmatch(value.strip()):
            return as_number(float(value))
    return None


def _to_flag(value: object, info: ValidationInfo) -> bool:
    match value:
        case bool():
            return value
        case int() | float() if value in (0, 1):
            return bool(value)
        case str() if value.strip().lower() in _FLAGS:
            return _FLAGS[value.strip().lower()]
    warn(info, "card-flag-other")
    return False


def _to_maybe_flag(value: object, info: ValidationInfo) -> bool | None:
    return None if value is None or value == "" else _to_flag(value, info)


def _to_maybe_number(value: object, info: ValidationInfo) -> int | None:
    number = as_number(value)
    if number is None and value not in ("", None):
        warn(info, "card-number-other")
    return number


def _to_number(value: object, info: ValidationInfo) -> int:
    return _to_maybe_number(value, info) or 0


def _to_maybe_count(value: object, info: ValidationInfo) -> int | None:
    number = _to_maybe_number(value, info)
    return None if number is None else max(0, number)


def _to_count(value: object, info: ValidationInfo) -> int:
    return _to_maybe_count(value, info) or 0


def _to_depth(value: object, info: ValidationInfo) -> int:
    depth = _to_maybe_count(value, info)
    return DEFAULT_DEPTH if depth is None else depth


def _to_percent(value: object, info: ValidationInfo) -> int:
    percent = _to_maybe_count(value, info)
    return 100 if percent is None else min(100, percent)


def _to_level(value: object, info: ValidationInfo) -> int:
    """For how many rounds of recursion an entry waits: a number, or just that it does."""
    number = as_number(value)
    return int(_to_flag(value, info)) if number is None else max(0, number)


def _to_keys(value: object, info: ValidationInfo) -> tuple[str, ...]:
    """A list of keys; a text is one with commas between them, outside of patterns."""
    match value:
        case str():
            parts: Sequence[object] = [part for part in _PATTERN_OR_COMMA.split(value) if part]
        case list() | tuple():
            parts = value
        case None:
            return ()
        case _:
            warn(info, "card-list-other", kind=type(value).__name__)
            return ()
    keys = dict.fromkeys(_key(part) for part in parts if isinstance(part, str | int | float))
    keys.pop("", None)
    if len(keys) > MAX_KEYS:
        warn(info, "card-list-long", count=len(keys), most=MAX_KEYS)
    return tuple(keys)[:MAX_KEYS]


def _key(part: str | float) -> str:
    return _NOT_STORABLE.sub("", str(part)).strip()


def _chosen(value: object, choices: Sequence[_Choice], default: _Choice, info: ValidationInfo) -> _Choice:
    """A choice by SillyTavern's number or by its own word; anything else is the default."""
    if isinstance(value, str) and (word := value.strip().lower()) in choices:
        return choices[choices.index(word)]
    number = as_number(value)
    if number is not None and 0 <= number < len(choices):
        return choices[number]
    if value not in ("", None):
        warn(info, "card-choice-other", default=default)
    return default


def _to_logic(value: object, info: ValidationInfo) -> Logic:
    return _chosen(value, NUMBERED_LOGICS, Logic.AND_ANY, info)


def _to_slot(value: object, info: ValidationInfo) -> Slot:
    return _chosen(value, NUMBERED_SLOTS, Slot.AFTER_CHAR, info)


def _to_role(value: object, info: ValidationInfo) -> LoreRole:
    return _chosen(value, NUMBERED_ROLES, LoreRole.SYSTEM, info)


Flag = Annotated[bool, BeforeValidator(_to_flag)]
MaybeFlag = Annotated[bool | None, BeforeValidator(_to_maybe_flag)]
Number = Annotated[int, BeforeValidator(_to_number)]
MaybeNumber = Annotated[int | None, BeforeValidator(_to_maybe_number)]
Count = Annotated[int, BeforeValidator(_to_count)]
MaybeCount = Annotated[int | None, BeforeValidator(_to_maybe_count)]
Depth = Annotated[int, BeforeValidator(_to_depth)]
Percent = Annotated[int, BeforeValidator(_to_percent)]
Level = Annotated[int, BeforeValidator(_to_level)]
Keys = Annotated[tuple[str, ...], BeforeValidator(_to_keys)]
LogicChoice = Annotated[Logic, BeforeValidator(_to_logic)]
SlotChoice = Annotated[Slot, BeforeValidator(_to_slot)]
RoleChoice = Annotated[LoreRole, BeforeValidator(_to_role)]
