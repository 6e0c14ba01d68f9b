"""Which models can be named here: the configured servers, what they say they serve, and the default.

Knows no SDK: how a server is asked for its models comes by constructor.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from bot.errors import UserError
from bot.llm.model import ModelError
from bot.spelling import near_names

log = structlog.get_logger(__name__)

LISTING_SECONDS = 300.0
"""How long a server's list of models is believed."""

SILENCE_SECONDS = 30.0
"""How long a server that could not be asked is left alone: completion asks at every key, and a try may take 10 s."""

ListModels = Callable[[str], Awaitable[Sequence[str]]]
"""`list_models(provider)`: the names that a server offers.

Raises:
    ModelError: it cannot be asked.
"""


class ModelDirectory:
    """Names of models as `provider/model`, and what a typed name means."""

    def __init__(
        self,
        providers: Sequence[str],
        default: str,
        list_models: ListModels,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.providers = tuple(providers)
        self.default = default
        self._list_models = list_models
        self._clock = clock
        self._listed: dict[str, tuple[float, tuple[str, ...] | None]] = {}
        self._asking = {provider: asyncio.Lock() for provider in self.providers}  # who waits shares the answer

    def effective(self, configured: str) -> str:
        """The full name of a configured model: empty is the default, a bare name takes the default's provider."""
        if not configured:
            return self.default
        if configured.startswith(("/", ".", "~")):
            return f"local/{configured}"
        if "/" in configured and configured.partition("/")[0] in self.providers:
            return configured
        return f"{self.default.partition('/')[0]}/{configured}"

    def is_gone(self, full_name: str) -> bool:
        """Whether a model that was once chosen by its full name belongs to a server that is no longer configured."""
        return bool(full_name) and full_name.partition("/")[0] not in self.providers

    async def all_models(self) -> list[str]:
        """Every model that the configured servers offer now, by provider; servers that do not answer are left out."""
        listings = await asyncio.gather(*(self._models_of(provider) for provider in self.providers))
        names = [
            f"{provider}/{name}"
            for provider, listing in zip(self.providers, listings, strict=True)
            for name in listing or ()
        ]
        return names if self.default in names else [self.default, *names]

    async def search(self, keyword: str) -> list[str]:
        """Models whose name has every word of the keyword."""
        words = keyword.lower().split()
        return [name for name in await self.all_models() if all(word in name.lower() for word in words)]

    async def resolve(self, typed: str, current: str) -> str:
        """The full name that somebody means; a bare one takes the current model's provider, when that has it.

        Raises:
            UserError: no configured server has such a model; names near matches.
        """
        provider, _, _name = typed.partition("/")
        full = typed if provider in self.providers and "/" in typed else f"{current.partition('/')[0]}/{typed}"
        owner, _, name = full.partition("/")
        if owner not in self.providers:
            raise UserError("model-provider-unknown", provider=owner, providers=", ".join(self.providers))
        listing = await self._models_of(owner)
        if listing is None or name in listing or full == self.default:
            return full  # a server that does not list its models is believed
        by_name: dict[str, list[str]] = {}
        for candidate in await self.all_models():
            by_name.setdefault(candidate.partition("/")[2], []).append(candidate)
        if len(elsewhere := by_name.get(typed, [])) == 1:
            return elsewhere[0]
        near = [full for close in near_names(name, by_name) for full in by_name[close]]
        if not near:
            raise UserError("model-unlike", model=typed)
        raise UserError("model-unknown", model=typed, near=", ".join(near[:3]))

    async def _models_of(self, provider: str) -> tuple[str, ...] | None:
        async with self._asking[provider]:
            return await self._ask(provider)

    async def _ask(self, provider: str) -> tuple[str, ...] | None:
        if provider in self._listed:
            told_at, told = self._listed[provider]
            if self._clock() - told_at < (LISTING_SECONDS if told else SILENCE_SECONDS):
                return told
        listing: tuple[str, ...] | None
        try:
            listing = tuple(await self._list_models(provider)) or None  # who lists none is believed as well
        except ModelError as error:
            log.info("models.not_listed", provider=provider, error=str(error))
            listing = None
        self._listed[provider] = (self._clock(), listing)
        return listing
