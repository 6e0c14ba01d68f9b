"""Whether the lists of people and places name them the way the platforms number them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.settings import PLATFORMS, Settings


def access_problems(settings: Settings) -> Iterator[str]:
    """One sentence for each list with an entry that could never fit anybody."""
    lists = [(f"ACCESS__{name.upper()}", entries) for name, entries in settings.access if name != "tool_groups"]
    lists += [(f"QUOTA__{name.upper()}", entries) for name, entries in settings.quota]
    for name, entries in lists:
        if isinstance(entries, tuple) and (problems := [*_entry_problems(entries)]):
            how = "Write platform:id, several with commas between or as a JSON list"
            yield f"{name} {'; '.join(problems)}. {how}"


def _entry_problems(entries: tuple[str, ...]) -> Iterator[str]:
    for number, entry in enumerate(entries, 1):
        platform, colon, identity = entry.partition(":")
        if PLATFORM_NUMBER.fullmatch(entry):
            yield f"entry {entry} needs its platform: discord:{entry} or telegram:{entry}"
        elif not colon or platform not in PLATFORMS:
            yield f"entry {number} must begin with {_KNOWN}"
        elif not identity or (platform != "terminal" and not PLATFORM_NUMBER.fullmatch(identity)):
            yield f"entry {number} needs a number after {platform}: because names change hands"


PLATFORM_NUMBER = re.compile(r"-?\d{1,20}")
"""How Discord and Telegram number people, roles, channels and places; only groups of Telegram have a minus (X03)."""

_KNOWN = " or ".join(f"{platform}:" for platform in PLATFORMS)
