"""The whole configuration, put together."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from bot.settings.access import AccessSettings, BotsSettings
from bot.settings.kinds import LocalPath, NameList, Seconds
from bot.settings.mcp import McpSettings
from bot.settings.models import ModelSettings, ProviderSettings
from bot.settings.place import PlaceSettings
from bot.settings.platforms import DiscordSettings, TelegramSettings
from bot.settings.quota import QuotaSettings
from bot.settings.voice import VoiceSettings
from bot.settings.web import WebSettings


class Settings(PlaceSettings):
    """The whole configuration. Made by `load_settings`, which reports all problems at once."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    discord: DiscordSettings = DiscordSettings()
    telegram: TelegramSettings = TelegramSettings()
    providers: dict[str, ProviderSettings] = Field(
        {}, description="model servers, each under a NAME of your choice, as PROVIDERS__NAME__...; for example:"
    )
    models: dict[str, ModelSettings] = Field(
        {},
        description="JSON by provider/model, over what is known of its family: context_window, max_output_tokens, "
        "vision, thinking, tools",
    )
    mcp: dict[str, McpSettings] = Field(
        {}, description="servers of tools (MCP), each under a NAME of your choice, as MCP__NAME__...; for example:"
    )
    profiles: dict[str, dict[str, Any]] = Field(
        {}, description="per-place keys for a platform: PROFILES__DISCORD__PERSONA=..."
    )
    database_url: str = Field("", description="empty = SQLite file familiar.db in DATA_DIR")
    data_dir: LocalPath = Path("data")
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    debug_logging: bool = Field(False, description="token counts and decisions, without message text")
    vision_model: NameList = Field(
        (),
        description="provider/model that tells what is in pictures to models that cannot see, and others, in this "
        "order, while its server does not answer; empty = none",
    )
    reserve_ratio: float = Field(0.05, ge=0, lt=1, description="safety margin of the window")
    trim_threshold_ratio: float = Field(1.0, gt=0, le=1, description="part of the window that a prompt may fill")
    memory_token_budget: int = Field(
        4096, ge=0, description="tokens of lore, recall, extensions; less where room is short"
    )
    section_timeout_ms: int = Field(10_000, ge=0, description="one section's build; 0 = no limit")
    max_tool_steps: int = Field(30, ge=1, description="tool rounds per turn")
    tool_result_max_ratio: float = Field(0.15, gt=0, le=1, description="part of the window for one result of a tool")
    answer_within: Seconds = Field(timedelta(minutes=15), description="seconds; older messages stay unanswered")
    on_adapter_failure: Literal["degrade", "exit"] = Field(
        "degrade",
        description="when a platform refuses us for good or breaks: degrade = go on with the others, and end with exit "
        "code 1 when none is left; exit = stop all and end with exit code 1",
    )
    stop_grace: Seconds = Field(timedelta(seconds=7), description="seconds that running answers get at a stop")
    extensions: NameList = Field(
        (), description="Python modules with TOOLS, SECTIONS, HOOKS, COMMANDS, beside those that packages register"
    )
    overheard_chars: int = Field(
        2000, ge=100, description="characters kept of one message that was not addressed to the bot"
    )
    access: AccessSettings = AccessSettings()
    web: WebSettings = WebSettings()
    voice: VoiceSettings = VoiceSettings()
    quota: QuotaSettings = QuotaSettings()
    bots: BotsSettings = BotsSettings()

    @property
    def sqlite_url(self) -> str:
        """The database address with its default filled in."""
        return self.database_url or f"sqlite:///{self.data_dir / 'familiar.db'}"

    @property
    def typed_lines(self) -> Path:
        """What was typed in the terminal."""
        return self.data_dir / "chat.history"

    @property
    def exports(self) -> Path:
        """The folder of files that somebody at the terminal asked for."""
        return self.data_dir / "exports"
