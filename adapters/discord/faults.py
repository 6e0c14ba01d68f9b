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

NO_ROOM = frozenset({30007, 30058})
"""How Discord refuses another webhook: the channel, or the server, has as many as it may have."""
REMEDIES = {
    50001: "Let the bot see the channel: View Channel.",
    50013: "Give the bot its permissions there: Send Messages, in threads Send Messages in Threads, for files Attach "
    "Files, for personas of their own name Manage Webhooks.",
    50083: "Open the archived thread again, or let the bot manage threads.",
    160005: "Unlock the thread, or let the bot manage threads.",
    50007: "Nothing: this person takes no direct messages from the bot.",
    30007: "Delete a webhook of the channel: it has the 15 that are allowed.",
    30058: "Delete a webhook of the server: it has the 1,000 that are allowed.",
}
"""What the people who run a server can do about a refusal, by Discord's code."""


class Expired(Refused):
    """The interaction's token has run out."""


class Gone(Refused):
    """The message or channel does not exist."""


class Denied(Refused):
    """The settings of a server or channel do not allow it."""

    def __init__(self, said: str, code: int) -> None:
        self.code, self.remedy = code, REMEDIES[code]
        super().__init__(said)


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
    if error.code in REMEDIES:
        return Denied(said, error.code)
    if error.status == 404:
        return Gone(said)
    return (BadReference if error.code in BAD_REFERENCE else Refused)(said)


def was_repeated(error: BaseException | None) -> bool:
    """Whether the library has repeated the request already, for as long as makes sense."""
    return isinstance(error, discord.DiscordServerError) and error.status in (500, 502, 504, 524)
