"""Writes `.env.example`, made from `Settings`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bot.env.names import leaves
from bot.settings import KNOWN_SERVERS, McpSettings, ProviderSettings, Settings

_OPENING = """\
# Familiar reads its settings from the environment and from a file named .env beside this one.
# Every line below shows a default; take the # away to change it. Keys marked (place) can also be changed in chat
# with /session set. Made from bot/settings: a test keeps the two equal.
# ${NAME} stands for a variable of the environment; a $ without a brace is a $, and ${:-$}{NAME} gives ${NAME} itself.
#
# The three lines that most people need:
#   DISCORD__TOKEN=...            TELEGRAM__TOKEN=...
#   PROVIDERS__OPENAI__API_KEY=...    with    MODEL=openai/gpt-5-mini
"""

WIDTH = 120
"""Columns of the file."""

_FREE_FORM = {
    "PROVIDERS__OLLAMA__BASE_URL": (f"PROVIDERS__OLLAMA__BASE_URL={KNOWN_SERVERS['ollama']}",),
    "MCP__FILES__COMMAND": ("MCP__FILES__COMMAND=npx",),
    "PROFILES": ("PROFILES__TELEGRAM__LANGUAGE=zh",),
    "MODELS": ('MODELS={"openai/gpt-5-mini": {"context_window": 64000}}',),
}

_TABLES: dict[str, tuple[str, type[BaseModel]]] = {
    "PROVIDERS": ("PROVIDERS__OLLAMA__", ProviderSettings),
    "MCP": ("MCP__FILES__", McpSettings),
}
"""Tables whose entries have names of the operator's choice, each with an example of one and its fields."""


def env_example() -> str:
    """The text of `.env.example`, made from `Settings`."""
    lines = [_OPENING]
    group = ""
    for name, field in leaves(Settings):
        head = name.partition("__")[0] if "__" in name else ""
        if head != group:
            lines.append("")
            group = head
        lines += _example(name, field)
    return "\n".join(lines) + "\n"


def _example(name: str, field: FieldInfo) -> Iterator[str]:
    note = " ".join(filter(None, (field.description, "(place)" if field.json_schema_extra else "")))
    yield from textwrap.wrap(note, WIDTH, initial_indent="# ", subsequent_indent="# ")
    if table := _TABLES.get(name):
        prefix, entry = table
        for part, its_field in leaves(entry, prefix):
            yield from _example(part, its_field)
        return
    yield from (f"#{line}" for line in _FREE_FORM.get(name, (f"{name}={_shown(field.default)}",)))


def _shown(value: object) -> str:
    if value is None or value is PydanticUndefined or isinstance(value, SecretStr) or value in ((), {}):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if hasattr(value, "total_seconds"):
        return str(int(value.total_seconds()))
    return str(value)
