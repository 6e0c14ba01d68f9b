"""What of the web personas may read."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from bot.settings.kinds import Group, Seconds


class WebSettings(Group):
    """Reading web pages: off unless the operator allows it, and then only where the group of tools `web` is on."""

    fetch: bool = Field(False, description="whether there is a tool that reads public web pages; its group is web")
    max_bytes: int = Field(2_000_000, ge=1_000, le=50_000_000, description="of a page; the rest is not read")
    timeout: Seconds = Field(timedelta(seconds=20), description="seconds that reading a page may take")
