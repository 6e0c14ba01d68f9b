"""What `familiar run` does not load: nearly all of its memory is code, which is saved only by not importing it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulators.openai import OpenAIEmulator, Say

RUNNING = """
import asyncio, sys
sys.argv = ["familiar", "run"]
import bot.cli.run
from bot.app import build_app
from bot.settings import Settings
from bot.llm.connection import Connection

async def main():
    model, database = {model!r}, {database!r}
    settings = Settings(
        database_url=database, model="test/it", providers={{"test": {{"base_url": model}}}},
        telegram={{"token": "1:a", "base_url": model}},
    )
    app = build_app(settings)
    await app.start()
    app.scheduler.start(app.jobs)
    connection = Connection(model, api_key="", headers={{}})
    stream = await connection.open_stream({{"model": "it", "messages": [], "stream": True}})
    said = "".join([chunk["choices"][0]["delta"].get("content") or "" async for chunk in stream if chunk["choices"]])
    await connection.close()
    assert said == "hello", said
    print('loaded:', *(name for name, module in sys.modules.items() if "__file__" in getattr(module, "__dict__", ())))
    await app.close()

asyncio.run(main())
"""
NEVER_LOADED = (
    # What only some need, loaded where they do.
    *("discord", "adapters.discord", "prompt_toolkit", "aiohttp.web", "mcp", "bot.tools.mcp", "xllamacpp", "PIL"),
    *("selectolax", "tiktoken", "alembic", "bot.personas.lorebook.scan"),
    # What libraries would load for what we do not use.
    *("rich", "pygments", "click", "cryptography", "httpx", "httpcore", "httpcore2", "h11", "anyio._backends"),
    *("openai.types", "openai.resources", "telegram.ext", "telegram._passport", "telegram._gifts"),
    *("telegram._payment.stars", "multiprocessing", "platformdirs"),
)


@pytest.fixture
async def loaded(database_url: str) -> set[str]:
    """The modules of a bot that runs in Telegram and has had one answer."""
    async with OpenAIEmulator(lambda _request: Say(text="hello")) as model:
        program = RUNNING.format(model=model.base_url, database=database_url)
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            env={"PYTHONPATH": str(Path(__file__).parents[1])},
        )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("\nloaded:")[2].split())


async def test_a_running_bot_loads_only_what_it_uses(loaded: set[str]) -> None:
    assert "telegram" in loaded
    assert [module for module in sorted(loaded) if any(_is_in(module, name) for name in NEVER_LOADED)] == []


def _is_in(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")
