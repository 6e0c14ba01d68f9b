"""Puts the tools together with what they need, and the agent that runs them."""

from __future__ import annotations

from bot.agent import Agent
from bot.app.running import Core, Models
from bot.prompt.build import PromptBuilder
from bot.tool_calls import ToolCalls
from bot.tools.toolbox import Toolbox
from bot.turn import Turn


def build_agent(core: Core, models: Models, builder: PromptBuilder, toolbox: Toolbox) -> Agent:
    """The agent with all tools that there are."""

    def wording(turn: Turn, message_id: str, tool: str) -> str:
        language = turn.settings.values.language
        locale = turn.asker.locale if language == "auto" else language
        return core.catalogue.text(message_id, locale, tool=tool)

    return Agent(
        models.model,
        toolbox,
        builder=builder,
        max_steps=core.settings.max_tool_steps,
        hooks=core.hooks,
        calls=ToolCalls(hooks=core.hooks, wording=wording),
    )
