"""What Discord's refusals and the library's exceptions mean: the words of pacing, and three with a way around."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import aiohttp
import discord

from adapters.pacing import Refused, Uncertain, Unreachable, Wait

REQUEST_SECONDS = 60.0
"""For one request with everything that the library does about it: it repeats 500, 502 and 504 for up to 25 s."""

UNKNOWN_WEBHOOK, INVALID_WEBHOOK_TOKEN = 10015, 50027
"""How Discord says that an interaction's token has run out (after 15 minutes)."""
BAD_REFERENCE = frozenset({10008, 50035, 160002, 160007})
"""How Discord refuses a reply: its target is gone, cannot be replied to, or cannot be read (D05, D06)."""


class Expired(Refused):
    """The interaction's token has run out."""


class Gone(Refused):
    """The message or channel does not exist."""


class BadReference(Refused):
    """The message cannot be replied to."""


@contextlib.asynccontextmanager
async def faults_told(*, repeatable: bool) -> AsyncIterator[None]:
    """Turns the library's exceptions into the four words of `adapters.pacing`.

    `repeatable` says that carrying the request out twice is the same as once, so that nothing about it is uncertain.
    """
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            yield
    except discord.RateLimited as limit:
        raise Wait(limit.retry_after) from limit
    except discord.HTTPException as error:
        raise _fault(error, repeatable=repeatable) from error
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise Unreachable from error
    except (aiohttp.ClientError, OSError) as error:  # a time-out is an OSError
        raise (Unreachable if repeatable else Uncertain) from error


def _fault(error: discord.HTTPException, *, repeatable: bool) -> Exception:
    said = f"{error.status} (code {error.code})"
    if error.status == 429:
        return Wait(float(error.response.headers.get("Retry-After", "5")))
    if error.status == 503:
        return Unreachable(said)
    if error.status >= 500:
        return (Unreachable if repeatable else Uncertain)(said)
    if error.code in (UNKNOWN_WEBHOOK, INVALID_WEBHOOK_TOKEN):
        return Expired(said)
    if error.status == 404:
        return Gone(said)
    return (BadReference if error.code in BAD_REFERENCE else Refused)(said)


def was_repeated(error: BaseException | None) -> bool:
    """Whether the library has repeated the request already, for as long as makes sense."""
    return isinstance(error, discord.DiscordServerError) and error.status in (500, 502, 504, 524)
