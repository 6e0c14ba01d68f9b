"""Rate limits of webhooks and interactions, which the library would sit out however long they are, with everything that
goes the same way behind them. Those of other requests it raises by itself.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import aiohttp
import discord

LONGEST_SECONDS = 5.0
"""Shorter waits are left to the library, which tries five times: together they stay below `faults.REQUEST_SECONDS`."""


def limits_told() -> aiohttp.TraceConfig:
    """Looks at every answer, and raises `discord.RateLimited` for one that asks a webhook to wait for longer."""
    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(_demand_short_wait)
    return trace


async def _demand_short_wait(
    _session: aiohttp.ClientSession, _context: SimpleNamespace, answered: aiohttp.TraceRequestEndParams
) -> None:
    if answered.response.status != 429 or "/webhooks/" not in answered.url.path:
        return
    seconds = _retry_after(await answered.response.read())
    if seconds > LONGEST_SECONDS:
        raise discord.RateLimited(seconds)


def _retry_after(body: bytes) -> float:
    """Seconds as the answer names them; 0 where it is a proxy's page, of which the library makes a fault."""
    try:
        return float(json.loads(body)["retry_after"])
    except (ValueError, TypeError, KeyError):
        return 0.0
