"""How to reach the platforms."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from bot.settings.kinds import Group

TERMINAL = "terminal"
PLATFORMS = ("discord", "telegram", TERMINAL)
"""The words that keys of people and places begin with, and that profiles are for."""


class DiscordSettings(Group):
    """How to reach Discord; no token = the adapter is not started."""

    token: SecretStr | None = Field(None, description="bot token from the developer portal")
    api_base: str | None = Field(None, description="REST proxy instead of Discord's own")
    gateway_url: str | None = Field(None, description="gateway instead of Discord's own")
    faces: Literal["auto", "off"] = Field(
        "auto", description="auto = in servers, personas other than the default one speak under their own names"
    )


class WebhookSettings(Group):
    """Telegram pushes updates here instead of being polled."""

    url: str | None = Field(None, description="public https address, path included")
    listen: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8080, ge=0, le=65535)
    path: str | None = Field(None, description="path we listen on, when a proxy strips a prefix")
    secret_token: SecretStr | None = Field(None, description="empty = made at each start")


class TelegramSettings(Group):
    """How to reach Telegram; no token = the adapter is not started."""

    token: SecretStr | None = Field(None, description="bot token from BotFather")
    base_url: str | None = Field(None, description="self-hosted Bot API server, ends in /bot")
    base_file_url: str | None = Field(None, description="its file address, ends in /file/bot")
    webhook: WebhookSettings = WebhookSettings()
