"""Every setting, typed, with its default and unit; read from the environment and `.env`, nested with `__`.

Knows nothing of who uses a setting. `bot.overrides` lays what was changed for a place over `PlaceSettings`.
"""

from bot.settings.access import AccessSettings, BotsSettings
from bot.settings.budget import (
    LEAST_MEMORY_TOKENS,
    MIN_BUDGET_TOKENS,
    least_window,
    memory_cap,
    output_reserve,
    prompt_budget,
)
from bot.settings.mcp import McpSettings
from bot.settings.models import KNOWN_SERVERS, ModelSettings, ProviderSettings
from bot.settings.moderation import Moderation
from bot.settings.needs import needed_by
from bot.settings.place import Activation, PlaceKey, PlaceSettings, place_keys
from bot.settings.platforms import PLATFORMS, TERMINAL, DiscordSettings, TelegramSettings, WebhookSettings
from bot.settings.pruning import ContextPruning
from bot.settings.quota import Budget, QuotaSettings
from bot.settings.summary import Summary, Trigger
from bot.settings.voice import VoiceSettings
from bot.settings.whole import Settings

__all__ = [
    "KNOWN_SERVERS",
    "LEAST_MEMORY_TOKENS",
    "MIN_BUDGET_TOKENS",
    "PLATFORMS",
    "TERMINAL",
    "AccessSettings",
    "Activation",
    "BotsSettings",
    "Budget",
    "ContextPruning",
    "DiscordSettings",
    "McpSettings",
    "ModelSettings",
    "Moderation",
    "PlaceKey",
    "PlaceSettings",
    "ProviderSettings",
    "QuotaSettings",
    "Settings",
    "Summary",
    "TelegramSettings",
    "Trigger",
    "VoiceSettings",
    "WebhookSettings",
    "least_window",
    "memory_cap",
    "needed_by",
    "output_reserve",
    "place_keys",
    "prompt_budget",
]
