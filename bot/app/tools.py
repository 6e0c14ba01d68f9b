"""Puts the tools together with what they need, and the agent that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.agent import Agent
from bot.app.mcp import build_servers
from bot.app.mood import mood_tool
from bot.app.running import Core, Models
from bot.app.senses import picture_tools
from bot.approvals import Approvals
from bot.prompt.build import PromptBuilder
from bot.tool_calls import ToolCalls
from bot.tools import TOOLS, Tool
from bot.tools.reminders import reminder_tools
from bot.tools.search import search_tool
from bot.tools.toolbox import Toolbox
from bot.tools.web import WebPages
from bot.turn import Turn

if TYPE_CHECKING:
    from bot.tools.mcp.health import ServerHealth
    from bot.tools.mcp.server import McpServers


@dataclass(frozen=True, kw_only=True, slots=True)
class Workshop:
    """The tools, who asks whether they may run, and the agent that runs them."""

    toolbox: Toolbox
    approvals: Approvals
    agent: Agent
    servers: McpServers | None
    """Those that bring more tools."""

    def health(self) -> Sequence[ServerHealth]:
        """How each of them is doing."""
        return self.servers.health() if self.servers is not None else ()


def build_tools(core: Core, models: Models) -> tuple[Tool, ...]:
    """Our own tools."""
    web = (WebPages(settings=core.settings.web).tool,) if core.settings.web.fetch else ()
    return (*TOOLS, *reminder_tools(core.db), search_tool(core.db), *picture_tools(core, models), *web)


def build_workshop(core: Core, models: Models, builder: PromptBuilder, tools: Sequence[Tool] | None) -> Workshop:
    """All of it, with what extensions bring among the tools; `tools` take the place of our own."""
    own = build_tools(core, models) if tools is None else tools

    def wording(turn: Turn, message_id: str, tool: str) -> str:
        language = turn.settings.values.language
        locale = turn.asker.locale if language == "auto" else language
        return core.catalogue.text(message_id, locale, tool=tool)

    toolbox = Toolbox((*own, mood_tool(core), *core.added.tools))
    servers = build_servers(core.settings)
    if servers is not None:
        toolbox.add(servers.tools, [one.group for one in servers.health()])
    approvals = Approvals(core.platforms, core.catalogue.text)
    agent = Agent(
        models.model,
        toolbox,
        builder=builder,
        max_steps=core.settings.max_tool_steps,
        hooks=core.hooks,
        calls=ToolCalls(hooks=core.hooks, wording=wording, ask=approvals.ask),
    )
    return Workshop(toolbox=toolbox, approvals=approvals, agent=agent, servers=servers)
