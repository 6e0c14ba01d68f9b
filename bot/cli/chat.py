"""`familiar chat`: the same pipeline as on the platforms, with this terminal as the one adapter."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from bot.app.named import checked_settings
from bot.cli.embedded import local_model_for
from bot.cli.in_vain import settings_in_vain
from bot.cli.inert import inert
from bot.cli.signals import stop_signals
from bot.env import secrets_of
from bot.errors import OperatorError
from bot.llm.configured import LocalModel
from bot.settings import Settings
from bot.store.database import OWNERS_FILE, OWNERS_FOLDER
from bot.store.lock import held_alone
from bot.telemetry import Troubles, setup_logging

LOG_FILE = "chat.log"
"""In the data folder; log lines would break up the conversation on the screen."""


class DataFolderUnusable(OperatorError):
    """Nothing can be written where the data belongs."""

    def __init__(self, folder: Path, error: OSError) -> None:
        self.folder = folder
        super().__init__(
            f"The data folder {folder} cannot be written to: {error.strerror}. Set DATA_DIR to another one"
        )


def chat() -> None:
    """Talk to a persona in this terminal."""
    raise SystemExit(chat_with(checked_settings()))


def chat_with(settings: Settings) -> int:
    """Open the terminal chat; returns the exit code."""
    with held_alone(settings.sqlite_url), _log_file(settings.data_dir) as log_file:
        level = "debug" if settings.debug_logging else settings.log_level
        secrets, troubles = secrets_of(settings), Troubles()
        setup_logging(form=settings.log_format, level=level, secrets=secrets, stream=log_file, troubles=troubles)
        with local_model_for(settings) as local:
            return asyncio.run(_chat(settings, local, troubles))


@contextmanager
def _log_file(folder: Path) -> Iterator[TextIO]:
    try:
        folder.mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
        (folder / LOG_FILE).touch(mode=OWNERS_FILE)
        file = (folder / LOG_FILE).open("a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise DataFolderUnusable(folder, error) from error
    try:
        yield file
    finally:
        with suppress(OSError):  # a full disk does not take the rest
            file.close()


async def _chat(settings: Settings, local: LocalModel | None, troubles: Troubles) -> int:
    from bot.app import build_app
    from bot.app.platforms import terminal_adapter

    def why() -> str:
        newest = troubles.take()
        return f"{newest} (more in {settings.data_dir / LOG_FILE})" if newest else ""

    app = build_app(settings, local=local, adapters={})
    for problem in settings_in_vain(settings, app.core.added.tools):
        print(inert(problem), file=sys.stderr)
    terminal = terminal_adapter(settings, app.core.tasks, app.menu, why)
    app.core.platforms[terminal.platform] = terminal
    app.core.recollections.add(lambda traces: terminal.forget_lines() if traces.key == terminal.author.key else None)

    async def begin() -> None:
        await app.pipeline.welcome(terminal.channel, terminal.author)
        if local is not None and local.start is None:
            # The model reads the persona while the person reads the greeting.
            app.core.tasks.spawn("warm the model", app.warm(terminal.channel, terminal.author))

    stop = asyncio.Event()
    with stop_signals(stop):
        return await app.run(stop, begin=begin)
