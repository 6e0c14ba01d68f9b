"""`familiar doctor`: looks at settings, database, cards, model servers and platforms, and says what to do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack

from rich.console import Console

from bot.app.personas import persona_problems
from bot.app.platforms import configured_adapters
from bot.chat import CommandMenu, Finding, Severity, ValueQuery
from bot.cli.embedded import local_model_for
from bot.cli.inert import plain
from bot.env import load_settings, near_misses, secrets_of, without_effect
from bot.errors import OperatorError
from bot.llm.client import OpenAIModel
from bot.llm.configured import LocalModel, configured_providers, default_model, model_catalogue
from bot.llm.model import Completion, Model, ModelError, ModelMessage, ModelRequest, ModelUnreachable, Role
from bot.llm.quirks import Quirks
from bot.personas.library import PersonaLibrary
from bot.settings import Settings
from bot.store import schema
from bot.store.database import Database, DatabaseUnusable
from bot.store.schema import SchemaState
from bot.tasks import Tasks
from bot.telemetry import SecretMask, setup_logging

_MARKS = {Severity.OK: "[green]ok[/]     ", Severity.WARNING: "[yellow]warning[/]", Severity.FAULT: "[red]fault[/]  "}


def doctor() -> None:
    """Check everything by real calls; exit code 1 when something is broken."""
    settings = load_settings()
    setup_logging(form="text", level="error", secrets=secrets_of(settings))
    report = _Report(secrets_of(settings))
    report.tell(_ok("settings", "read and understood"))
    for problem in [*near_misses(os.environ), *without_effect(settings)]:
        report.tell(Finding(severity=Severity.WARNING, subject="settings", message=problem))
    report.tell(database_finding(settings))
    for finding in persona_findings(settings):
        report.tell(finding)
    with ExitStack() as stack:
        try:
            local = stack.enter_context(local_model_for(settings, is_check=True))
        except OperatorError as error:
            report.tell(Finding(severity=Severity.FAULT, subject="embedded model", message=str(error)))
        else:
            asyncio.run(report.follow(model_findings(settings, local)))
    asyncio.run(report.follow(platform_findings(settings)))
    raise SystemExit(report.exit_code)


class _Report:
    """Prints findings as they come, without secrets, and remembers whether one was a fault."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self.exit_code = 0
        self._mask = SecretMask(secrets)
        self._console = Console(highlight=False, soft_wrap=True)  # a wrapped address could not be opened

    def tell(self, finding: Finding) -> None:
        """Print one finding."""
        text = plain(self._mask.clean(f"{finding.subject}: {finding.message}"))
        self._console.print(f"{_MARKS[finding.severity]}  {text}")
        if finding.remedy:
            self._console.print(f"         → {plain(self._mask.clean(finding.remedy))}")
        if finding.severity is Severity.FAULT:
            self.exit_code = 1

    async def follow(self, findings: AsyncIterator[Finding]) -> None:
        """Print findings as they are made."""
        async for finding in findings:
            self.tell(finding)


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


def persona_findings(settings: Settings) -> Sequence[Finding]:
    """What is wrong with the cards, and with their names in the settings."""
    library = PersonaLibrary()
    missing = [
        Finding(severity=Severity.FAULT, subject="personas", message=problem)
        for problem in persona_problems(settings, library)
    ]
    return [*library.findings, *missing] or [_ok("personas", f"{len(library.personas)} cards can be used")]


async def model_findings(settings: Settings, local: LocalModel | None) -> AsyncIterator[Finding]:
    """Every model server, and the default model by a real question. What it learns of them is kept nowhere."""
    providers = configured_providers(settings, local)
    model = OpenAIModel(providers, Quirks(), model_catalogue(settings, local))
    try:
        for provider in providers:
            yield await provider_finding(model, provider)
        yield await model_finding(model, default_model(settings, local))
    finally:
        await model.close()


async def provider_finding(client: OpenAIModel, provider: str) -> Finding:
    """Whether a model server answers and lets us in."""
    try:
        models = await client.list_models(provider)
    except ModelError as error:
        return _model_fault(f"provider {provider}", error, provider)
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
        return _model_fault(f"model {name}", error, name.partition("/")[0])
    return _ok(f"model {name}", "answers")


def _model_fault(subject: str, error: ModelError, provider: str) -> Finding:
    remedy = error.remedy or "Check MODEL in .env"
    if isinstance(error, ModelUnreachable):
        remedy = f"Check PROVIDERS__{provider.upper()}__BASE_URL, and that the server runs. {error.remedy}".strip()
    return Finding(severity=Severity.FAULT, subject=subject, message=error.problem, remedy=remedy)


async def platform_findings(settings: Settings) -> AsyncIterator[Finding]:
    """Every platform that has a token; nothing is registered there and nothing is stored here."""
    tasks, db = Tasks(), Database(IN_MEMORY)
    adapters = configured_adapters(settings, db, tasks, NO_COMMANDS)
    if not adapters:
        yield Finding(
            severity=Severity.WARNING,
            subject="platforms",
            message="no token is set, so only the terminal chat works",
            remedy="Set DISCORD__TOKEN or TELEGRAM__TOKEN in .env; README.md tells how to get them",
        )
    try:
        for adapter in adapters.values():
            for finding in await adapter.check():
                yield finding
    finally:
        await asyncio.gather(*(adapter.close() for adapter in adapters.values()))
        await tasks.close()
        await db.close()


async def _complete_nothing(_: ValueQuery) -> Sequence[str]:
    return ()


IN_MEMORY = "sqlite://"
NO_COMMANDS = CommandMenu(specs=(), translate=lambda name, _: name, locales=("en",), complete=_complete_nothing)


def _ok(subject: str, message: str) -> Finding:
    return Finding(severity=Severity.OK, subject=subject, message=message)
