"""What Discord demands of the names of commands: the pattern, lower case, and siblings that differ in every locale."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discord.app_commands.commands import validate_name
from simcord.backend.errors import invalid_form_body


def demand_names(siblings: Iterable[dict[str, Any]]) -> None:
    """simcord takes any name; Discord refuses the whole overwrite for a single one.

    Raises:
        BackendError: one is malformed, or two go by the same.
    """
    nodes = [*siblings]
    locales = {locale for node in nodes for locale in node.get("name_localizations") or {}}
    for locale in ("", *sorted(locales)):
        names = [(node.get("name_localizations") or {}).get(locale, node["name"]) for node in nodes]
        for name in names:
            try:
                validate_name(name)
            except ValueError as error:
                raise _refusal("STRING_TYPE_REGEX", str(error)) from error
        if len({*names}) < len(names):
            raise _refusal("APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
    for node in nodes:
        demand_names(node.get("options") or ())


def _refusal(code: str, message: str) -> Exception:
    return invalid_form_body(errors={"name_localizations": {"_errors": [{"code": code, "message": message}]}})
