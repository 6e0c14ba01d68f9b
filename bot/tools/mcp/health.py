"""How a server of tools is doing, for those who tell people of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerHealth:
    """At one moment."""

    name: str
    group: str
    """In TOOL_GROUPS it turns the tools on."""
    is_connected: bool
    tools: tuple[str, ...]
    """Their names as models call them; while it connects once more, those that it had."""
    problem: str = ""
    """What went wrong last, in words for the operator, if it is not connected."""
