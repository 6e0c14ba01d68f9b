"""The names of settings as they are written in the environment, and names that come near one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.settings import Settings


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a nested table as (`a__b`, value) pairs."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}__")
        else:
            yield f"{prefix}{name}", value


def known_names() -> list[str]:
    """Every setting's name as written in the environment."""
    return [name for name, _ in leaves(Settings)]


def near_misses(environment: Iterable[str]) -> list[str]:
    """One sentence for each variable whose name is none of a setting and so much like one that it must be meant. The
    environment holds names of other programs, too, so that this is no reason to refuse the start.
    """
    heads = sorted({name.partition("__")[0] for name in known_names()})
    found = []
    for name in sorted(environment):
        head, mark, rest = name.upper().partition("__")
        near = difflib.get_close_matches(head, heads, n=1, cutoff=_MEANT)
        if near and head not in heads:
            found.append(f"{name} is no setting; did you mean {near[0]}{mark}{rest}?")
    return found


_MEANT = 0.85
"""Likeness from which a name is taken for a mistyped setting: one letter in seven, as in DATA_DIRS."""


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every setting with its full name."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from leaves(kind, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}", field
