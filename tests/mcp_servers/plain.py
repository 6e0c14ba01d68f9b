"""A server over stdin and stdout without the SDK, of protocol 2025-06-18, as odd as `PLAN` in its environment says."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

PLAN: dict[str, Any] = json.loads(os.environ.get("PLAN", "{}"))
EMPTY = {"type": "object", "properties": {}}


def tools() -> list[dict[str, Any]]:
    """Those of the plan, each a name or all that is told of it; where it names a file, those that stand there."""
    told = json.loads(Path(PLAN["file"]).read_text()) if "file" in PLAN else PLAN.get("tools", ["hello"])
    return [{"inputSchema": EMPTY, **({"name": one} if isinstance(one, str) else one)} for one in told]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}}
            return {"result": {**told, "serverInfo": {"name": "plain", "version": "1"}}}
        case "tools/list":
            return {"result": {"tools": tools()}}
        case "tools/call":
            return call(request["params"]["name"], request["params"].get("arguments"))
        case method:
            return {"error": {"code": -32601, "message": f"Method not found: {method}"}}


def call(name: str, arguments: object) -> dict[str, Any]:
    print(f"called {name}", file=sys.stderr, flush=True)
    match PLAN.get("calls", {}).get(name):
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(600)
        case "change":
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        case "babble":
            print("debug: this line is no message", flush=True)
        case "flood":
            text = {"type": "text", "text": "begin " + "word " * 450_000}
            return {"result": {"content": [text, {"type": "image", "data": "aGVsbG8h", "mimeType": "image/png"}]}}
        case dict() as planned:
            return planned
    told = json.dumps(arguments, ensure_ascii=False, sort_keys=True)
    return {"result": {"content": [{"type": "text", "text": f"{name} {told}"}]}}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    if "never" in PLAN:  # it is no server at all
        print(PLAN["never"], file=sys.stderr)
        sys.exit(3)
    if PLAN.get("is_silent"):
        time.sleep(600)
    if PLAN.get("is_stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            say({"jsonrpc": "2.0", "id": request["id"], **answer(request)})
    if PLAN.get("is_stubborn"):
        time.sleep(600)


main()
