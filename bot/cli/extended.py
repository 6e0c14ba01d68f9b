"""What the doctor says about extensions: what each brings, and how it has failed since the last start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from bot.app.build import utc_now
from bot.app.host import FAULT, AppHost
from bot.app.tool_groups import tool_group_problems
from bot.chat import Finding, Severity
from bot.env import SettingsError
from bot.extensions import Extension, add_extensions, brought_hooks, find_modules
from bot.guard import Faults
from bot.settings import Settings
from bot.store import ledger, schema
from bot.store.database import Database, DatabaseUnusable
from bot.store.schema import SchemaState

IN_MEMORY = "sqlite://"


def brings_platform(settings: Settings) -> bool:
    """Whether an extension brings a chat platform.

    Raises:
        SettingsError: one cannot be imported.
    """
    return any(getattr(module, "ADAPTERS", None) for module in find_modules(settings.extensions).values())


def extension_findings(settings: Settings) -> Iterator[Finding]:
    """One for each extension; a fault for those that stop the start."""
    try:
        host = AppHost(Database(IN_MEMORY), now=utc_now, count=len)
        added = add_extensions(settings, find_modules(settings.extensions), host, Faults())
    except SettingsError as error:
        for problem in error.problems:
            yield Finding(severity=Severity.FAULT, subject="extensions", message=problem)
        return
    for problem in tool_group_problems(settings, added.tools):
        yield Finding(severity=Severity.WARNING, subject="settings", message=problem)
    faults = _remembered_faults(settings.sqlite_url)
    for name, extension in added.extensions:
        yield Finding(severity=Severity.OK, subject=f"extension {name}", message=_told(extension))
        if name in faults:
            yield Finding(
                severity=Severity.WARNING,
                subject=f"extension {name}",
                message=f"has failed since the last start ({faults[name]})",
                remedy="The log says more at extension.failed; mend it, or leave it out of EXTENSIONS",
            )


def _told(extension: Extension) -> str:
    brought = {
        "tools": [tool.spec.name for tool in extension.tools],
        "sections": [section.name for section in extension.sections],
        "hooks": brought_hooks(extension.hooks),
        "commands": [f"/{command.spec.name}" for command in extension.commands],
        "platforms": [*extension.adapters],
    }
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in brought.items() if names) or "brings nothing"


def _remembered_faults(url: str) -> dict[str, str]:
    async def read() -> dict[str, str]:
        db = Database(url)
        try:
            return await db.read(ledger.recall_all, FAULT)
        finally:
            await db.close()

    try:
        return asyncio.run(read()) if schema.check(url) is SchemaState.CURRENT else {}
    except DatabaseUnusable:
        return {}  # said where the database is looked at
