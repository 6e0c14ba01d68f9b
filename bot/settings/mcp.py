"""The servers that bring tools by the Model Context Protocol: how to start or reach each."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from bot.settings.kinds import Group, Seconds


def _json_list(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError('write it as a JSON list: ["-y", "some-package"]') from None


def _texts(value: object) -> object:
    """Numbers and the like are JSON, too, and were meant as they were written."""
    if not isinstance(value, dict):
        return value
    return {name: _as_written(one) for name, one in value.items()}


def _as_written(value: Any) -> Any:
    return value if isinstance(value, str | SecretStr) else json.dumps(value)


SECRET_CHARS = 8
"""From so many on a word may be a secret; `true` and `Bearer` are none."""

SecretTexts = Annotated[dict[str, SecretStr], BeforeValidator(_texts)]
"""Texts by name, none of which may be shown."""


class McpSettings(Group):
    """One server, by a name of your choice: a program of this machine, or an address."""

    command: str | None = Field(None, description="program to start, which speaks over stdin and stdout; or URL")
    args: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_json_list)] = Field(
        (), description='its arguments, a JSON list: ["-y", "some-package"]'
    )
    env: SecretTexts = Field(
        {}, description="its environment, ENV__NAME=value; of ours it gets PATH, HOME and the like alone"
    )
    url: str | None = Field(None, description="address of a server that speaks streamable HTTP, instead of COMMAND")
    headers: SecretTexts = Field({}, description="sent with each request, HEADERS__AUTHORIZATION=Bearer ...; _ means -")
    group: str = Field("", description="for TOOL_GROUPS, without which its tools are off; empty = its NAME")
    asks: Literal["marked", "always", "never"] = Field(
        "marked", description="which tools wait for a yes of who asked: marked = those that say they destroy something"
    )
    timeout: Seconds = Field(timedelta(seconds=30), gt=timedelta(0), description="seconds that one answer may take")

    @property
    def environment(self) -> dict[str, str]:
        """What the program is given, secrets included; the names of variables come to us in small letters."""
        return {name.upper(): value.get_secret_value() for name, value in self.env.items()}

    @property
    def sent_headers(self) -> dict[str, str]:
        """What each request is sent with, secrets included."""
        return {name.replace("_", "-"): value.get_secret_value() for name, value in self.headers.items()}

    @property
    def secrets(self) -> frozenset[str]:
        """The words of its variables and headers that are long enough to be secret, and each of these as a whole."""
        given = [value.get_secret_value() for value in (*self.env.values(), *self.headers.values())]
        words = {*given, *(word for value in given for word in value.split())}
        return frozenset(word for word in words if len(word) >= SECRET_CHARS)
