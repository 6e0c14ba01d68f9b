"""Writes `.env.example`, made from `Settings`."""

from __future__ import annotations

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from bot.env.names import leaves
from bot.settings import Settings

_OPENING = """\
# Familiar reads its settings from the environment and from a file named .env beside this one.
# Every line below shows a default; take the # away to change it. Keys marked (place) can also be changed in chat
# with /session set. Made from bot/settings: a test keeps the two equal.
#
# The three lines that most people need:
#   DISCORD__TOKEN=...            TELEGRAM__TOKEN=...
#   PROVIDERS__OPENAI__API_KEY=...    with    MODEL=openai/gpt-5-mini
"""

_FREE_FORM = {
    "PROVIDERS": ("PROVIDERS__OPENAI__API_KEY=", "PROVIDERS__OLLAMA__BASE_URL=http://127.0.0.1:11434/v1"),
    "PROFILES": ("PROFILES__TELEGRAM__LANGUAGE=zh",),
    "MODELS": ('MODELS={"openai/gpt-5-mini": {"context_window": 64000}}',),
}


def env_example() -> str:
    """The text of `.env.example`, made from `Settings`."""
    lines = [_OPENING]
    group = ""
    for name, field in leaves(Settings):
        head = name.partition("__")[0] if "__" in name else ""
        if head != group:
            lines.append("")
            group = head
        note = " ".join(filter(None, (field.description, "(place)" if field.json_schema_extra else "")))
        if note:
            lines.append(f"# {note}")
        lines.extend(f"#{line}" for line in _FREE_FORM.get(name, (f"{name}={_shown(field.default)}",)))
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    if value is None or value is PydanticUndefined or isinstance(value, SecretStr) or value in ((), {}):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if hasattr(value, "total_seconds"):
        return str(int(value.total_seconds()))
    return str(value)
