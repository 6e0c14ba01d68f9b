"""All tools that there are: those that are always there, and those that come and go, as a server of theirs does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from bot.tools.tool import Tool

Supply = Callable[[], Sequence[Tool]]
"""The tools that somebody has at this moment."""


class Toolbox:
    """Tools by name; of two under one name the one that was added first counts."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._supplies: list[Supply] = [lambda: tools]
        self._lasting: set[str] = set()

    def add(self, supply: Supply, groups: Collection[str] = ()) -> None:
        """Ask for more tools whenever tools are asked for; `groups` are there also while no tool is in them."""
        self._supplies.append(supply)
        self._lasting.update(groups)

    def tools(self) -> tuple[Tool, ...]:
        """All of them, in the order in which they were added."""
        found: dict[str, Tool] = {}
        for supply in self._supplies:
            for tool in supply():
                found.setdefault(tool.spec.name, tool)
        return tuple(found.values())

    def on(self, groups: Collection[str]) -> tuple[Tool, ...]:
        """Those that are on where these groups are."""
        return tuple(tool for tool in self.tools() if tool.is_on(groups))

    def recalling(self) -> frozenset[str]:
        """The names of those whose results are what was said before."""
        return frozenset(tool.spec.name for tool in self.tools() if tool.recalls)

    def groups(self) -> tuple[str, ...]:
        """The groups that there are, by name."""
        return tuple(sorted(self._lasting | {tool.group for tool in self.tools() if tool.group is not None}))
