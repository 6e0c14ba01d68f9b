"""The model servers, and what the operator states about models."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field, SecretStr

from bot.settings.kinds import Currency, Group, Seconds

KNOWN_SERVERS = {
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
}
"""Where a provider of that name is found when its BASE_URL is not set (each vendor's documentation)."""


ServerKind = Literal[
    "openai", "azure", "openrouter", "deepseek", "gemini", "mistral", "ollama", "lmstudio", "vllm", "llamacpp"
]
"""Of which servers something is known beforehand (`bot.llm.quirks`)."""


class ProviderSettings(Group):
    """One OpenAI-compatible server, by a name of your choice."""

    api_key: SecretStr | None = Field(None, description="empty = the server wants none")
    base_url: str | None = Field(
        None,
        description="empty = the well-known address of openai, openrouter, deepseek, gemini, groq, mistral, ollama, "
        "lmstudio; needed for any other name",
    )
    kind: ServerKind | None = Field(
        None,
        description="openai, azure, openrouter, deepseek, gemini, mistral, ollama, lmstudio, vllm or llamacpp; empty = "
        "by its address, or at home by its name",
    )
    api_version: str | None = Field(
        None,
        description="of Azure, as 2024-10-21; its models are then the names of your deployments; empty where BASE_URL "
        "ends in /openai/v1",
    )
    context_window: int | None = Field(
        None, ge=1024, description="tokens, of all models of this server; empty = as known of the model's family"
    )
    max_output_tokens: int | None = Field(None, ge=16, description="most tokens of one answer its models write")
    vision: bool | None = Field(None, description="on = its models take images; empty = as known of the model's family")
    tools: bool | None = Field(None, description="on = its models call tools; empty = as known of the family")
    cached_price: float | None = Field(
        None, ge=0, le=1, description="of a cached input token, part of an uncached one's; empty = as its vendor asks"
    )
    input_price: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="of a million tokens; empty = as its vendor asks, 0 at home"
    )
    output_price: float | None = Field(None, ge=0, allow_inf_nan=False, description="likewise, of what it writes")
    currency: Currency | None = Field(None, description="of these prices, as CNY; empty = USD")
    at_once: int = Field(
        0, ge=0, description="answers that it writes at once, more wait and places take turns; 0 = as many as are asked"
    )
    first_token_timeout: Seconds = Field(timedelta(seconds=120), description="seconds until an answer must begin")
    fallback_after: Seconds | None = Field(
        None,
        description="likewise, where another model can answer and this one does not reason first; empty = 25, at home "
        "as FIRST_TOKEN_TIMEOUT",
    )
    total_timeout: Seconds = Field(timedelta(seconds=600), description="seconds until it must have ended")


class ModelSettings(Group):
    """What the operator states about one model, over what is known of its family."""

    context_window: int | None = Field(None, ge=1024)
    max_output_tokens: int | None = Field(None, ge=16)
    vision: bool | None = None
    thinking: bool | None = None
    tools: bool | None = None
    cached_price: float | None = Field(None, ge=0, le=1)
    input_price: float | None = Field(None, ge=0, allow_inf_nan=False)
    output_price: float | None = Field(None, ge=0, allow_inf_nan=False)
    currency: Currency | None = None
