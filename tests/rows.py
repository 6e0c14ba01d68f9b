"""Who may import whom, and where each third-party library is at home."""

from __future__ import annotations

ROWS: tuple[tuple[str, ...], ...] = (
    # A module imports from its own row and the rows above. A package stands for all its modules that no row names.
    ("bot.proxies", "bot.sparing"),
    ("bot", "bot.chat", "bot.errors", "bot.settings", "bot.env", "bot.telemetry", "bot.locale", "bot.tasks"),
    ("bot.spelling", "bot.sentences", "bot.exported"),
    ("bot.personas", "bot.overrides", "bot.locks", "bot.llm", "bot.heard", "bot.storable", "bot.model_in_force"),
    ("bot.cut",),
    ("bot.prompt.tokens", "bot.prompt.o200k", "bot.prompt.usage"),
    ("bot.memory.items", "bot.memory.delta"),
    ("bot.store",),
    ("bot.personas.library", "bot.memory.recall", "bot.memory.audience", "bot.turn", "bot.hooks"),
    ("bot.guard", "bot.hook_calls", "bot.outgoing"),
    ("bot.personas.imported", "bot.portraits", "bot.interviews"),
    (
        "bot.gate",
        "bot.cast",
        "bot.faces",
        "bot.quota",
        "bot.metering",
        "bot.reposts",
        "bot.prompt",
        "bot.lore",
        "bot.greeting",
    ),
    ("bot.apology", "bot.tools", "bot.tool_calls"),
    (
        "bot.agent",
        "bot.memory",
        "bot.accounting",
        "bot.side_calls",
        "bot.vision",
        "bot.voice",
        "bot.settling",
        "bot.running_rounds",
    ),
    ("bot.dispatch", "bot.scheduler", "bot.opening", "bot.news", "bot.warming", "bot.gauge", "bot.approvals"),
    ("bot.commands",),
    ("bot.pipeline", "bot.recording", "bot.judging", "bot.introduction", "bot.asking"),
    (
        "bot.runner",
        "bot.senses",
        "bot.spoken",
        "bot.progress",
        "bot.token_lessons",
        "bot.screening",
        "bot.cascade",
        "bot.reminding",
    ),
    ("bot.extensions", "bot.guarded", "bot.moderation", "bot.app", "bot.cli", "bot.web", "bot.__main__"),
    ("bot.testing",),
)

HOMES: dict[str, tuple[str, ...]] = {
    # Each third-party library is imported by these modules and packages, and by nobody else.
    "PIL": ("bot.personas.formats",),
    "aiohttp": ("adapters", "bot.llm.connection", "bot.llm.discovery", "bot.llm.transport", "bot.tools.web"),
    "alembic": ("bot.store", "migrations"),
    "apscheduler": ("bot.scheduler",),
    "discord": ("adapters.discord",),
    "dotenv": ("bot.env.file",),
    "httpx2": ("bot.llm.transport", "bot.tools.mcp.connection"),
    "markdown_it": ("adapters.markup",),
    "anyio": ("bot.tools.mcp",),  # what the SDK of its neighbour is made of
    "mcp": ("bot.tools.mcp",),
    "openai": ("bot.llm.connection",),
    "platformdirs": ("bot.llm",),
    "polib": ("bot.locale",),
    "prompt_toolkit": ("adapters.console",),
    "pydantic_settings": ("bot.settings", "bot.env"),
    # Graphemes, the vocabulary's own pattern, and patterns of strangers that must not take long.
    "regex": ("adapters.split", "bot.prompt.o200k", "bot.personas.lorebook.patterns"),
    "rich": ("bot.cli", "adapters.console"),
    "sqlalchemy": ("bot.store", "migrations"),
    "selectolax": ("bot.tools.web_text",),
    "sqlmodel": ("bot.store", "migrations"),
    "telegram": ("adapters.telegram",),
    "tiktoken": ("bot.prompt.tokens",),
    "typer": ("bot.cli",),
    "xllamacpp": ("bot.llm",),
    "yarl": ("adapters",),  # the URL type of aiohttp
    "yaml": ("bot.personas.formats.yaml",),
}
