"""`familiar doctor`: looks at settings, database, cards, model servers and platforms, and says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from rich.console import Console
from rich.markup import escape

from bot.app import App, build_app
from bot.chat import Finding, Severity
from bot.cli.embedded import local_model_for
from bot.env import load_settings, secrets_of
from bot.llm.directory import ModelDirectory
from bot.llm.model import Completion, Model, ModelError, ModelMessage, ModelRequest, Role
from bot.settings import Settings
from bot.store import schema
from bot.store.database import DatabaseUnusable
from bot.store.schema import SchemaState
from bot.telemetry import SecretMask, setup_logging

_MARKS = {Severity.OK: "[green]ok[/]     ", Severity.WARNING: "[yellow]warning[/]", Severity.FAULT: "[red]fault[/]  "}


def doctor() -> None:
    """Check everything by real calls; exit code 1 when something is broken."""
    settings = load_settings()
    setup_logging(form="text", level="error", secrets=secrets_of(settings))
    raise SystemExit(asyncio.run(_examine(settings)))


async def _examine(settings: Settings) -> int:
    console, mask = Console(highlight=False), SecretMask(secrets_of(settings))
    worst = 0
    async for finding in _findings(settings):
        console.print(f"{_MARKS[finding.severity]}  {escape(mask.clean(f'{finding.subject}: {finding.message}'))}")
        if finding.remedy:
            console.print(f"         → {escape(mask.clean(finding.remedy))}")
        worst |= finding.severity is Severity.FAULT
    return worst


async def _findings(settings: Settings) -> AsyncIterator[Finding]:
    yield Finding(severity=Severity.OK, subject="settings", message="read and understood")
    yield await asyncio.to_thread(database_finding, settings)
    with local_model_for(settings, quiet=True) as local:
        app = build_app(settings, local=local)
        try:
            async for finding in _app_findings(app):
                yield finding
        finally:
            await app.close()


async def _app_findings(app: App) -> AsyncIterator[Finding]:
    library = app.core.library
    for finding in library.findings or (_ok("personas", f"{len(library.personas)} cards can be used"),):
        yield finding
    for provider in app.models.directory.providers:
        yield await provider_finding(app.models.directory, provider)
    yield await model_finding(app.models.model, app.models.directory.default)
    if not app.core.platforms:
        yield Finding(
            severity=Severity.WARNING,
            subject="platforms",
            message="no token is set, so only the terminal chat works",
            remedy="Set DISCORD__TOKEN or TELEGRAM__TOKEN in .env; README.md tells how to get them",
        )
    for adapter in app.core.platforms.values():
        for finding in await adapter.check():
            yield finding


def database_finding(settings: Settings) -> Finding:
    """Whether the database can be opened, is ours and is up to date."""
    try:
        state = schema.check(settings.sqlite_url)
    except DatabaseUnusable as error:
        return Finding(severity=Severity.FAULT, subject="database", message=str(error))
    if state is SchemaState.CURRENT:
        return _ok("database", "up to date")
    if state is SchemaState.FOREIGN:
        remedy = "Update Familiar, or restore a backup"
        return Finding(severity=Severity.FAULT, subject="database", message="made by a newer version", remedy=remedy)
    return Finding(
        severity=Severity.WARNING,
        subject="database",
        message=f"its tables are {state}",
        remedy="Run: familiar db upgrade",
    )


async def provider_finding(directory: ModelDirectory, provider: str) -> Finding:
    """Whether a model server answers and lets us in."""
    try:
        models = await directory.ask(provider)
    except ModelError as error:
        name = f"PROVIDERS__{provider.upper()}__"
        remedy = error.remedy or f"Check {name}BASE_URL and {name}API_KEY, and that the server runs"
        return Finding(severity=Severity.FAULT, subject=f"provider {provider}", message=error.problem, remedy=remedy)
    return _ok(f"provider {provider}", f"answers and offers {len(models)} models")


async def model_finding(model: Model, name: str) -> Finding:
    """Whether the default model answers a real question."""
    question = ModelMessage(role=Role.USER, text="Say hello.")
    try:
        async for event in model.stream(ModelRequest(model=name, messages=(question,), max_output_tokens=64)):
            if isinstance(event, Completion) and not event.text.strip():
                return Finding(
                    severity=Severity.WARNING, subject=f"model {name}", message=f"answered nothing ({event.finish})"
                )
    except ModelError as error:
        remedy = error.remedy or "Check MODEL in .env"
        return Finding(severity=Severity.FAULT, subject=f"model {name}", message=error.problem, remedy=remedy)
    return _ok(f"model {name}", "answers")


def _ok(subject: str, message: str) -> Finding:
    return Finding(severity=Severity.OK, subject=subject, message=message)
