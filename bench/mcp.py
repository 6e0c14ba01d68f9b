"""What tools of servers cost: a turn with 50 of them on beside one with none, a call, and the memory of a connection.

Both bots are in this process, with a model that answers at once and the same short history; times of turns are CPU
times, since the machine may be shared.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from typing import Any

import psutil

from bench.pipeline import write_result
from bot.app import App, build_app
from bot.prompt.tokens import TokenCounter
from bot.settings import Settings
from bot.store import schema
from bot.testing import FakeAdapter, ScriptedModel, make_inbound, make_turn
from tests.mcp_servers.journal import journal, plain

TOOLS = 50
WINDOW = 16_000
"""Has room for all of them."""
TURNS = 300
CALLS = 200
PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where it stands, from the root of what may be read."},
        "lines": {"type": "integer", "minimum": 1, "description": "How many lines are wanted."},
        "encoding": {"type": "string", "enum": ["utf-8", "latin-1"]},
    },
    "required": ["path"],
}


async def main() -> None:
    """Measure and write the result file."""
    tools = [
        {"name": f"read_{number}", "description": "Reads a file.", "inputSchema": PARAMETERS} for number in range(TOOLS)
    ]
    server = plain(tools=tools)
    with tempfile.TemporaryDirectory() as folder, journal() as told:
        before = _resident_mb()
        without = await _started(f"sqlite:///{folder}/without.db", {})
        plainly = _resident_mb()
        having = await _started(f"sqlite:///{folder}/having.db", {"mcp": {"lab": server}, "tool_groups": ("lab",)})
        await told.until("mcp.connected")
        connected = _resident_mb()
        times: dict[str, list[float]] = {"without": [], "with": []}
        for _ in range(TURNS):
            times["without"].append(await _turn(without))
            times["with"].append(await _turn(having))
        call_ms = await _call_ms(having)
        await without.close()
        await having.close()
    middle = {name: round(statistics.median(took[20:]), 2) for name, took in times.items()}
    figures: dict[str, Any] = {
        "tools": TOOLS,
        "turn_cpu_ms": middle,
        "added_ms": round(middle["with"] - middle["without"], 2),
        "call_ms": call_ms,
        "first_bot_mb": round(plainly - before, 1),
        "second_bot_connected_mb": round(connected - plainly, 1),
    }
    for name, value in figures.items():
        print(f"mcp, {name}: {value}")
    write_result("mcp", figures)


async def _started(url: str, given: dict[str, Any]) -> App:
    schema.upgrade(url)
    server = {"base_url": "http://127.0.0.1:9/v1", "context_window": WINDOW}
    served: dict[str, Any] = {"model": "test/scripted", "providers": {"test": server}, "persona": "none"}
    settings = Settings(database_url=url, burst_ms=0, history_limit=20, **{**served, **given})
    adapter = FakeAdapter()
    app = build_app(settings, model=ScriptedModel(), adapters={adapter.platform: adapter}, counter=TokenCounter())
    await app.start()
    return app


async def _turn(app: App) -> float:
    began = time.process_time()
    await app.pipeline.deliver(make_inbound("hello"))
    await app.dispatcher.idle()
    return (time.process_time() - began) * 1e3


async def _call_ms(app: App) -> float:
    """The middle of what one call takes, from the agent's view, by the clock."""
    assert app.servers is not None
    tool, took = app.servers.tools()[0], []
    for _ in range(CALLS):
        began = time.perf_counter()
        await tool.run(make_turn(), {"path": "x"})
        took.append((time.perf_counter() - began) * 1e3)
    return round(statistics.median(took), 2)


def _resident_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6
