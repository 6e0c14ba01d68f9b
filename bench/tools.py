"""What the tool loop costs: a step of it without the tool itself, and looking something up in a long archive.

A model that answers at once calls a tool that does nothing, twenty times in a turn; CPU time of the process, since the
machine may be shared.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import insert

from bench.pipeline import write_result
from bot.app import App, build_app
from bot.llm.model import ModelRequest, Role, ToolCall, ToolSpec
from bot.prompt.tokens import TokenCounter
from bot.settings import Settings
from bot.store import schema
from bot.store.database import Tx
from bot.store.search import search_history
from bot.store.tables import messages
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel, make_inbound
from bot.tools import Tool
from bot.turn import Turn

STEPS = 20
TURNS = 40
ARCHIVE = 100_000
CALL = Reply(text="", tool_calls=(ToolCall(id="c1", name="nothing", arguments="{}"),))


async def main() -> None:
    """Measure and write the result file."""
    with tempfile.TemporaryDirectory() as folder:
        app = await _started(f"sqlite:///{folder}/tools.db")
        plain = [await _turn(app, "hello") for _ in range(TURNS)]
        stepping = [await _turn(app, "STEP") for _ in range(TURNS)]
        await app.core.db.run(_fill)
        search_ms = [await _search(app, words) for words in (["needle"], ["word", "needle", "nowhere"], ["иголка"])]
        await app.close()
    step_ms = (statistics.median(stepping[5:]) - statistics.median(plain[5:])) / STEPS
    figures: dict[str, Any] = {
        "steps": STEPS,
        "turn_cpu_ms": round(statistics.median(plain[5:]), 2),
        "step_cpu_ms": round(step_ms, 2),
        "archive_messages": ARCHIVE,
        "search_ms": {
            name: round(took, 1) for name, took in zip(("one word", "three", "cyrillic"), search_ms, strict=True)
        },
    }
    for name, value in figures.items():
        print(f"tools, {name}: {value}")
    write_result("tools", figures)


async def _nothing(_turn: Turn, _arguments: Mapping[str, Any]) -> str:
    return "done"


def _script(request: ModelRequest) -> Reply | str:
    """Calls the tool until it has been called often enough since somebody spoke."""
    said = [at for at, message in enumerate(request.messages) if message.role is Role.USER]
    since = request.messages[said[-1] :]
    results = sum(message.role is Role.TOOL for message in since)
    return CALL if "STEP" in since[0].text and results < STEPS else "ok"


async def _started(url: str) -> App:
    schema.upgrade(url)
    providers = {"test": {"base_url": "http://127.0.0.1:9/v1"}}
    given: dict[str, Any] = {"model": "test/scripted", "providers": providers, "persona": "none", "history_limit": 20}
    settings = Settings(database_url=url, burst_ms=0, **given)
    spec = ToolSpec(name="nothing", description="Does nothing.", parameters={"type": "object", "properties": {}})
    adapter = FakeAdapter()
    app = build_app(
        settings,
        model=ScriptedModel(_script),
        adapters={adapter.platform: adapter},
        counter=TokenCounter(),
        tools=[Tool(spec=spec, run=_nothing)],
    )
    await app.start()
    return app


async def _turn(app: App, text: str) -> float:
    """CPU time in ms from hearing a message to having stored the answer."""
    began = time.process_time()
    await app.pipeline.deliver(make_inbound(text))
    await app.dispatcher.idle()
    took = (time.process_time() - began) * 1e3
    await app.keeper.idle()
    return took


def _fill(tx: Tx) -> None:
    rows = [
        {
            "session_id": 1, "position": 1_000_000 + number, "place_key": "fake:dm-room", "visibility": "dm",
            "author_key": "fake:alice", "author_name": "Alice", "kind": "said", "standing": "live", "addressed": False,
            "text": f"some words that somebody has said, number {number}" + (" needle" if number % 9_999 == 0 else ""),
            "quote": "", "cut": False, "tokens": 10, "sent_at": NOW + timedelta(seconds=number),
        }
        for number in range(ARCHIVE)
    ]  # fmt: skip
    tx.execute(insert(messages), rows)


async def _search(app: App, words: list[str]) -> float:
    began = time.perf_counter()
    await app.core.db.read(_look, words)
    return (time.perf_counter() - began) * 1e3


def _look(tx: Tx, words: list[str]) -> int:
    return len(search_history(tx, 1, 1, words, limit=10))
