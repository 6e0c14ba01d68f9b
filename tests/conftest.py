"""What all tests share: a migrated database, an app with fakes at its borders, and no real settings from outside."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import structlog
from sqlalchemy import Engine, create_engine

from bot.app import App, build_app
from bot.chat import Adapter
from bot.env import known_names
from bot.llm.model import Model
from bot.personas.library import PersonaLibrary
from bot.prompt.tokens import TokenCounter
from bot.settings import Settings
from bot.store import schema
from bot.store.database import Database
from bot.telemetry import CHATTY_LOGGERS
from bot.testing import NOW, FakeAdapter, ScriptedModel, make_channel
from bot.tools import Tool

pytest.register_assert_rewrite("tests.conversations")

# A busy machine draws examples slowly; that says nothing about our code.
hypothesis.settings.register_profile("here", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("here")


def log_plainly() -> None:
    """Log as structlog does by itself, but with plain tracebacks: its coloured ones, with all that every frame holds,
    take seconds each.
    """
    structlog.reset_defaults()
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], renderer])


log_plainly()

MEMORY = Path("/dev/shm")
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))  # where no test waits for a disk to write

MakeApp = Callable[..., Awaitable[App]]
Extend = Callable[[str, str], str]


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays to the end: modules and some thousand collected tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A developer's own tokens and models must not reach a test."""
    heads = tuple(f"{name}__" for name in ("PROVIDERS", "PROFILES", "MCP")) + tuple(known_names())
    for name in os.environ:
        if name.startswith(heads):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    """What a test sets up to log is gone afterwards."""
    root, hook, raises = logging.getLogger(), sys.excepthook, logging.raiseExceptions
    levels = {logger: logger.level for logger in (root, *map(logging.getLogger, CHATTY_LOGGERS))}
    handlers = root.handlers[:]
    yield
    log_plainly()
    root.handlers[:], sys.excepthook, logging.raiseExceptions = handlers, hook, raises
    for logger, level in levels.items():
        logger.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def _statements_are_compiled_once() -> Iterator[None]:
    """SQLAlchemy compiles each statement once per engine, which is once per run of the bot. Here every test opens two
    engines, and compiling took a quarter of all its time.
    """
    first = create_engine("sqlite://", query_cache_size=2000)
    with first.connect():  # which makes its dialect complete
        pass
    first.dispose()

    def engine(*args: Any, **options: Any) -> Engine:
        made = create_engine(*args, **options)
        made.dialect, made._compiled_cache = first.dialect, first._compiled_cache
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bot.store.database.create_engine", engine)
        yield


@pytest.fixture(scope="session")
def migrated_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database at the newest revision, made by the real migrations once per worker."""
    path = tmp_path_factory.mktemp("database") / "familiar.db"
    schema.upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def known_database(migrated_database: Path) -> Path:
    """The same where the bot has introduced itself where `make_channel` is."""
    path = migrated_database.with_name("known.db")
    shutil.copy(migrated_database, path)
    know_the_bot(path, make_channel().place_key)
    return path


@pytest.fixture
def database_url(known_database: Path, tmp_path: Path) -> str:
    """A fresh copy of the migrated database. The bot has introduced itself where `make_channel` is."""
    path = tmp_path / "familiar.db"
    shutil.copy(known_database, path)
    return f"sqlite:///{path}"


def know_the_bot(database: Path, *place_keys: str) -> None:
    """Let the bot have introduced itself in some places, so that a test sees only what is said next."""
    with closing(sqlite3.connect(database)) as connection, connection:
        rows = [(key, NOW.replace(tzinfo=None).isoformat(" ")) for key in place_keys]
        connection.executemany("INSERT INTO introduction (place_key, said_at) VALUES (?, ?)", rows)


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """An open database."""
    database = Database(database_url)
    yield database
    await database.close()


@pytest.fixture
def extend(tmp_path: Path) -> Iterator[Extend]:
    """`extend(name, code)` writes a module into the working directory and returns its name, for EXTENSIONS."""
    before, written = sys.path[:], list[str]()

    def write(name: str, code: str) -> str:
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        written.append(name)
        return name

    yield write
    sys.path[:] = before
    sys.path_importer_cache.pop(str(tmp_path), None)
    for name in written:
        sys.modules.pop(name, None)


@pytest.fixture(scope="session")
def counter() -> TokenCounter:
    """One token counter for all tests of a worker: its vocabulary takes 0.2 s to read."""
    counter = TokenCounter()
    counter.load()
    return counter


@pytest.fixture(scope="session")
def shipped() -> PersonaLibrary:
    """The shipped personas, read once per worker."""
    return PersonaLibrary()


@pytest.fixture
async def make_app(database_url: str, counter: TokenCounter, shipped: PersonaLibrary) -> AsyncIterator[MakeApp]:
    """`await make_app(model=..., adapter=..., **settings)`: a started app on this test's database; call it again for
    a restart (close the first one before).
    """
    apps: list[App] = []

    async def make(
        *,
        model: Model | None = None,
        adapter: Adapter | None = None,
        library: PersonaLibrary | None = None,
        model_name: str = "test/scripted",
        tools: Sequence[Tool] | None = None,
        **given: Any,
    ) -> App:
        values: dict[str, Any] = {
            "database_url": database_url,
            "burst_ms": 0,
            "providers": {"test": {"base_url": "http://127.0.0.1:9/v1"}},
        }
        settings = Settings(**{**values, "model": model_name, **given})
        adapter = adapter or FakeAdapter()
        app = build_app(
            settings,
            model=model or ScriptedModel(),
            adapters={adapter.platform: adapter},
            library=library or copy(shipped),
            counter=counter,
            tools=tools,
            now=lambda: NOW,
        )
        apps.append(app)
        await app.start()
        return app

    yield make
    for app in apps:
        await app.close()
