"""`familiar run`: the main job. With tokens it serves Discord and Telegram; without any it opens the terminal chat."""

from __future__ import annotations

import asyncio
import sys

import structlog

from bot.app.named import checked_settings
from bot.cli.chat import chat_with
from bot.cli.embedded import local_model_for
from bot.cli.in_vain import settings_in_vain
from bot.cli.signals import stop_signals
from bot.cli.storage import LOCAL_DISK, shared_storage
from bot.cli.streams import may_bring_lines
from bot.cli.words import words_for
from bot.env import secrets_of
from bot.errors import OperatorError
from bot.llm.configured import LocalModel
from bot.settings import Settings
from bot.store.lock import held_alone
from bot.telemetry import setup_logging

log = structlog.get_logger(__name__)


def run() -> None:
    """Start Familiar: every platform that has a token, or a chat in this terminal when none has."""
    settings = checked_settings()
    if settings.discord.token is None and settings.telegram.token is None and not _brings_platform(settings):
        say = words_for(settings)
        if not may_bring_lines(sys.stdin.fileno()):
            raise OperatorError(say("start-nobody"))
        print(say("start-no-token"), flush=True)
        raise SystemExit(chat_with(settings))
    level = "debug" if settings.debug_logging else settings.log_level
    setup_logging(form=settings.log_format, level=level, secrets=secrets_of(settings))
    if storage := shared_storage(settings):
        log.warning("database.shared_file_system", problem=storage, remedy=LOCAL_DISK)
    with held_alone(settings.sqlite_url), local_model_for(settings) as local:
        raise SystemExit(asyncio.run(_serve(settings, local)))


def _brings_platform(settings: Settings) -> bool:
    from bot.cli.extended import brings_platform

    return brings_platform(settings)


async def _serve(settings: Settings, local: LocalModel | None) -> int:
    from bot.app import build_app

    stop = asyncio.Event()
    with stop_signals(stop):
        app = build_app(settings, local=local)
        for problem in settings_in_vain(settings, app.core.added.tools):
            log.warning("settings.in_vain", problem=problem)
        return await app.run(stop)
