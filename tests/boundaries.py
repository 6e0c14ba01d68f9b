"""Where any exception may be caught, and why nothing narrower will do."""

TASK_BOUNDARIES: dict[str, str] = {
    "adapters.discord.connection:Connection._supervise": "any fault in the library ends a connection; connect again",
    "adapters.discord.lanes:Lanes._run": "one bad event must not silence its channel",
    "bot.tool_calls:ToolCalls._result": "a tool may be anybody's code; the model hears that it failed",
    "bot.app.running:App._run_adapter": "a platform's crash is a failure of that platform, and decides the exit code",
    "bot.extensions:find_modules": "an extension may fail in any way while it is imported; the operator must hear it",
    "bot.extensions:_extension_of": "the same while it is asked what it brings",
    "bot.guard:Guard.call": "an extension may be anybody's code; everybody else goes on without it",
    "bot.memory.compaction:Compactor._carry_out": "a fault that is not on record would be paid for again at every turn",
    "bot.pipeline:Pipeline.deliver": "never raises: one message must not take the platform down",
    "bot.prompt.build:PromptBuilder._section": "a section may be anybody's code; the turn goes on without it",
    "bot.tools.mcp.server:McpServer.connect_once": "a server of tools may fail in any way; it is connected again",
    "bot.reminding:Reminding._tell": "whatever breaks, somebody waits to be reminded, and is so later",
    "bot.runner:TurnRunner.run": "a turn that cannot be opened is told to whoever asked",
    "bot.runner:TurnRunner._carry_out": "a turn that breaks is told, and is not tried again at every start",
}
