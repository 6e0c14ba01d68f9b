"""Wraps what extensions bring, so that no fault of theirs takes anything else down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.chat import Outbound, ValueQuery
from bot.commands.command import Call, Command, Desk
from bot.errors import UserError
from bot.guard import ExtensionFailed, Faults, Guard
from bot.hooks import Hooks
from bot.memory.items import Delta
from bot.prompt.sections import Hold, Section
from bot.tools import Tool
from bot.tools.tool import ToolError
from bot.turn import Turn

COMMAND_SECONDS = 60.0
"""How long a command of an extension may take: as long as an answer waits for a compaction."""


def guarded_tool(owner: str, tool: Tool, faults: Faults) -> Tool:
    """A tool whose faults the model hears as those of any other."""
    guard = Guard(
        extension=owner,
        what=f"tool {tool.spec.name}",
        run=tool.run,
        seconds=tool.seconds or 0,
        faults=faults,
        expects=(str,),
        may_raise=(ToolError,),
    )

    async def run(turn: Turn, arguments: Mapping[str, Any]) -> str:
        try:
            return await guard.call(turn, arguments) or ""
        except ExtensionFailed as error:
            raise ToolError("The tool failed. Go on without it.") from error

    return replace(tool, run=run, seconds=None)  # the guard counts them


def guarded_section(owner: str, section: Section, seconds: float, budget: int, faults: Faults) -> Section:
    """A section that is absent where it fails, within `seconds` and `budget` tokens."""
    what = f"section {section.name}"
    guard = Guard(extension=owner, what=what, run=section.build, seconds=seconds, faults=faults, expects=(str,))
    limit = budget if section.budget is None else min(section.budget, budget)
    return replace(section, build=guard.try_call, hold=Hold.INJECTED, budget=limit, is_timed=False)


def guarded_command(owner: str, command: Command, faults: Faults) -> Command:
    """A command whose faults its caller hears as one of ours."""
    guard = Guard(
        extension=owner,
        what=f"command {command.spec.name}",
        run=command.run,
        seconds=COMMAND_SECONDS,
        faults=faults,
        expects=(Outbound,),
        may_raise=(UserError,),
    )

    async def run(call: Call, desk: Desk) -> Outbound | None:
        try:
            answer: Outbound | None = await guard.call(call, desk)
        except ExtensionFailed as error:
            raise UserError("error-internal") from error
        return answer

    if (suggest := command.suggest) is None:
        return replace(command, run=run)
    offers = Guard(
        extension=owner,
        what=f"completion of {command.spec.name}",
        run=suggest,
        seconds=COMMAND_SECONDS,
        faults=faults,
        expects=(tuple, list),
    )

    async def offer(desk: Desk, query: ValueQuery) -> Sequence[str]:
        return await offers.try_call(desk, query) or ()

    return replace(command, run=run, suggest=offer)


def stand_in(owner: str, hooks: Hooks, faults: Faults) -> Guard:
    """What summarises in place of the summary model."""
    assert hooks.summarise is not None
    return Guard(
        extension=owner,
        what="summarise",
        run=hooks.summarise,
        seconds=hooks.seconds,
        faults=faults,
        expects=(Delta,),
    )
