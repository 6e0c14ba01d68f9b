"""A server by the official SDK: `sdk.py stdio`, or `sdk.py http [PORT]`, which prints its port. Knows nothing of us."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections import defaultdict
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field
from starlette.types import ASGIApp, Receive, Scope, Send

server = MCPServer("lab")


class Place(BaseModel):
    """Where."""

    city: str
    country: str | None = None


@server.tool()
def weather(place: Place, days: Annotated[int, Field(ge=1, le=7)] = 1) -> str:
    """Tells the weather."""
    return f"sunny in {place.city} for {days} days"


@server.tool(name="calendar.read")
async def read_calendar(day: str) -> str:
    """Reads the calendar."""
    await asyncio.sleep(float(os.environ.get("CALENDAR_SECONDS", "0")))
    return f"nothing on {day}"


@server.tool()
def total(numbers: list[float]) -> dict[str, Any]:
    """Adds up."""
    return {"total": sum(numbers)}


both: dict[str, asyncio.Barrier] = defaultdict(lambda: asyncio.Barrier(2))
waiting: list[str] = []
changed = asyncio.Event()


@server.tool()
async def meet(name: str, place: str = "there") -> str:
    """Ends when it has been called twice at a time for a place."""
    await both[place].wait()
    return f"{name} was {place}"


@server.tool()
async def wait() -> str:
    """Never ends."""
    waiting.append("one")
    changed.set()
    try:
        await asyncio.Event().wait()
    finally:
        waiting.pop()
        changed.set()
    return "never"


@server.tool()
async def count_waiting(until: int) -> str:
    """Ends when so many calls wait."""
    while len(waiting) != until:
        changed.clear()
        await changed.wait()
    return str(until)


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("the database is on fire")


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def delete_everything() -> str:
    """Deletes everything."""
    return "deleted"


@server.tool()
def die() -> str:
    """Takes the server down."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@server.tool()
def tell_environment() -> str:
    """Tells the names of its environment."""
    return " ".join(sorted(os.environ))


@server.tool()
async def grow(context: Context) -> str:
    """Brings one more tool."""
    server.add_tool(lambda: "grown", name="grown", description="Was not there before.")
    await context.notify_tools_changed()
    return "grown"


def guarded(app: ASGIApp) -> ASGIApp:
    """Lets in only who knows the word, if there is one."""
    word = os.environ.get("WORD", "").encode()

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and word and (b"x-word", word) not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await app(scope, receive, send)

    return guard


def serve(port: int) -> None:
    """Over HTTP, until killed."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(guarded(server.streamable_http_app()), log_level="critical", timeout_graceful_shutdown=0)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    if sys.argv[1] == "http":
        serve(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    else:
        server.run("stdio")
