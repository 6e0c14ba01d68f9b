"""`familiar doctor`: looks at settings, database, cards, model servers and platforms, and says what to do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack

from bot.app.named import checked_settings
from bot.app.platforms import configured_adapters
from bot.chat import CommandMenu, Finding, Severity, ValueQuery
from bot.cli.cards import known_personas
from bot.cli.embedded import local_model_for
from bot.cli.inert import plain
from bot.cli.servers import model_findings
from bot.cli.storage import storage_findings
from bot.cli.tool_servers import tool_server_findings
from bot.env import SettingsError, near_misses, repeated_names, secrets_of, without_effect
from bot.errors import OperatorError
from bot.llm.configured import names_remote_model
from bot.settings import Settings
from bot.store.database import Database
from bot.store.lock import holder_of
from bot.tasks import Tasks
from bot.telemetry import SecretMask, setup_logging

_MARKS = {Severity.OK: "[green]ok[/]     ", Severity.WARNING: "[yellow]warning[/]", Severity.FAULT: "[red]fault[/]  "}


def doctor() -> None:
    """Check everything by real calls; exit code 1 when something is broken."""
    from bot.cli.extended import extension_findings  # the whole bot is behind it

    settings = _demand_settings()
    setup_logging(form="text", level="error", secrets=secrets_of(settings))
    report = _Report(secrets_of(settings))
    report.tell(_ok("settings", f"read and understood; the time zone is {settings.timezone}"))
    for problem in [*near_misses(os.environ), *repeated_names(), *without_effect(settings)]:
        report.tell(_setting(problem, Severity.WARNING))
    for finding in (*storage_findings(settings), *card_findings(), *extension_findings(settings)):
        report.tell(finding)
    with ExitStack() as stack:
        local = None
        try:
            local = stack.enter_context(local_model_for(settings, is_check=True))
        except OperatorError as error:
            report.tell(Finding(severity=Severity.FAULT, subject="embedded model", message=str(error)))
        if local is not None or names_remote_model(settings):
            asyncio.run(report.follow(model_findings(settings, local)))
    asyncio.run(report.follow(tool_server_findings(settings)))
    asyncio.run(report.follow(platform_findings(settings)))
    raise SystemExit(report.exit_code)


def _demand_settings() -> Settings:
    """The settings; where they cannot be used, each problem is a finding and nothing else is looked at."""
    try:
        return checked_settings()
    except SettingsError as error:
        report = _Report(())
        for problem in error.problems:
            report.tell(_setting(problem, Severity.FAULT))
        for problem in [*near_misses(os.environ), *repeated_names()]:
            report.tell(_setting(problem, Severity.WARNING))
        report.tell(_setting(f"the rest is looked at once these are mended ({error.read})", Severity.WARNING))
        raise SystemExit(report.exit_code) from None


def _setting(problem: str, severity: Severity) -> Finding:
    return Finding(severity=severity, subject="settings", message=problem)


class _Report:
    """Prints findings as they come, without secrets, and remembers whether one was a fault."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self.exit_code = 0
        self._mask = SecretMask(secrets)
        from rich.console import Console  # 6 MB, which `familiar run` has no use for

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


def card_findings() -> Sequence[Finding]:
    """What is wrong with the cards."""
    library = known_personas()
    return library.findings or [_ok("personas", f"cards that can be used: {len(library.whole.personas)}")]


async def platform_findings(settings: Settings) -> AsyncIterator[Finding]:
    """Every platform that has a token; nothing is registered there and nothing is stored here."""
    from bot.cli.extended import brings_platform

    tasks, db, is_served = Tasks(), Database(IN_MEMORY), holder_of(settings.sqlite_url) is not None
    adapters = configured_adapters(settings, db, tasks, NO_COMMANDS)
    if not adapters and brings_platform(settings):
        yield _ok("platforms", "no token is set, so only what extensions bring is served")
    elif not adapters:
        yield Finding(
            severity=Severity.WARNING,
            subject="platforms",
            message="no token is set, so only the terminal chat works",
            remedy="Set DISCORD__TOKEN or TELEGRAM__TOKEN in .env; README.md tells how to get them",
        )
    try:
        for adapter in adapters.values():
            for finding in await adapter.check(is_served=is_served):
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
