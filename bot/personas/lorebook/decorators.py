"""The decorators of Character Card V3: lines such as `@@depth 4` at the top of an entry's content. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from bot.personas.lorebook.choices import LoreRole, Slot
from bot.personas.lorebook.fields import MAX_KEYS, as_number

MAX_DECORATORS = 100
"""Lines that are looked at, fallbacks included; ours to choose. The specification asks for chains of five."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decorators:
    """What the decorators of an entry ask for; the words are the specification's."""

    activate: bool = False
    dont_activate: bool = False
    activate_only_after: int | None = None
    activate_only_every: int | None = None
    keep_activate_after_match: bool = False
    dont_activate_after_match: bool = False
    is_greeting: int | None = None
    scan_depth: int | None = None
    additional_keys: tuple[str, ...] = ()
    exclude_keys: tuple[str, ...] = ()
    depth: int | None = None
    reverse_depth: int | None = None
    role: LoreRole | None = None
    position: Slot | None = None
    ignore_on_max_context: bool = False
    disable_ui_prompt: str = ""


PLAIN = Decorators()


def split_content(content: str) -> tuple[Decorators, str]:
    """The decorators at the top of a content, and the rest without the line ends between. A fallback (`@@@`) counts
    where all above it in its chain were unknown, invalid or said before.
    """
    if not content.lstrip().startswith("@@"):
        return PLAIN, content.strip("\n")
    lines = content.split("\n")
    end = next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("@@")), len(lines))
    found: dict[str, object] = {}
    for name, value in _chosen(lines[:end][:MAX_DECORATORS], found):
        found[name] = value
    return replace(PLAIN, **found), "\n".join(lines[end:]).strip("\n")  # type: ignore[arg-type]  # read by name


def _chosen(lines: list[str], found: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Of each chain the first that can be used."""
    is_settled = True
    for line in filter(None, map(str.strip, lines)):
        is_fallback = line.startswith("@@@")
        if is_fallback and is_settled:
            continue
        name, _, said = line.lstrip("@").partition(" ")
        read = DECORATORS.get(name)
        value = read(said.strip()) if read and name not in found else None
        is_settled = value is not None
        if value is not None:
            yield name, value


def _flag(said: str) -> bool | None:
    """A decorator that takes no value. Some writers put one all the same."""
    return True if said.lower() in ("", "true") else None


def _number(said: str) -> int | None:
    return as_number(said)


def _count(said: str) -> int | None:
    number = as_number(said)
    return number if number is not None and number >= 0 else None


def _positive(said: str) -> int | None:
    number = as_number(said)
    return number if number is not None and number > 0 else None


def _keys(said: str) -> tuple[str, ...] | None:
    return tuple(filter(None, map(str.strip, said.split(","))))[:MAX_KEYS] or None


def _role(said: str) -> LoreRole | None:
    return LoreRole(said) if said in tuple(LoreRole) else None


def _position(said: str) -> Slot | None:
    return POSITIONS.get(said)


def _prompt(said: str) -> str | None:
    return said if said in ("system_prompt", "post_history_instructions") else None


POSITIONS: Mapping[str, Slot] = {
    "before_desc": Slot.BEFORE_CHAR,
    "after_desc": Slot.AFTER_CHAR,
    "personality": Slot.PERSONALITY,
    "scenario": Slot.SCENARIO,
}

DECORATORS: Mapping[str, Callable[[str], object | None]] = {
    # Those that are not here count as unknown: instruct_depth, reverse_instruct_depth and instruct_scan_depth are for
    # text that is no chat, and is_user_icon for user icons, which no chat platform lets us know.
    "activate": _flag,
    "dont_activate": _flag,
    "activate_only_after": _count,
    "activate_only_every": _positive,
    "keep_activate_after_match": _flag,
    "dont_activate_after_match": _flag,
    "is_greeting": _count,
    "scan_depth": _count,
    "additional_keys": _keys,
    "exclude_keys": _keys,
    "depth": _number,
    "reverse_depth": _number,
    "role": _role,
    "position": _position,
    "ignore_on_max_context": _flag,
    "disable_ui_prompt": _prompt,
}
