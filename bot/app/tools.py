"""Puts the tools together with what they need, and the agent that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.agent import Agent
from bot.app.running import Core, Models
from bot.approvals import Approvals
from bot.prompt.build import PromptBuilder
from bot.tool_calls import ToolCalls
from bot.tools import TOOLS, Tool
from bot.tools.reminders import reminder_tools
from bot.tools.search import search_tool
from bot.tools.toolbox import Toolbox
from bot.turn import Turn


@dataclass(frozen=True, kw_only=True, slots=True)
class Workshop:
    """The tools, who asks whether they may run, and the agent that runs them."""

    toolbox: Toolbox
    approvals: Approvals
    agent: Agent


def build_tools(core: Core) -> tuple[Tool, ...]:
    """Our own tools."""
    return (*TOOLS, *reminder_tools(core.db), search_tool(core.db))


def build_workshop(core: Core, models: Models, builder: PromptBuilder, tools: Sequence[Tool]) -> Workshop:
    """All of it, with what extensions bring among the tools."""

    def wording(turn: Turn, message_id: str, tool: str) -> str:
        language = turn.settings.values.language
        locale = turn.asker.locale if language == "auto" else language
        return core.catalogue.text(message_id, locale, tool=tool)

    toolbox = Toolbox((*tools, *core.added.tools))
    approvals = Approvals(core.platforms, core.catalogue.text)
    agent = Agent(
        models.model,
        toolbox,
        builder=builder,
        max_steps=core.settings.max_tool_steps,
        hooks=core.hooks,
        calls=ToolCalls(hooks=core.hooks, wording=wording, ask=approvals.ask),
    )
    return Workshop(toolbox=toolbox, approvals=approvals, agent=agent)
