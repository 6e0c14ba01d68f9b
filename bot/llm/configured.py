"""From settings to models: which servers there are, what their models can do, which one is the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from bot.llm.catalogue import LimitsOverride, ModelCatalogue
from bot.llm.endpoints import Provider
from bot.llm.model_files import MODEL_FILES
from bot.llm.prices import Prices
from bot.llm.quirks import Kind, kind_of
from bot.llm.tariffs import Stated, Tariffs
from bot.settings import KNOWN_SERVERS, ModelSettings, ProviderSettings, Settings, place_keys

LOCAL = "local"
"""Provider name of the embedded model."""

FALLBACK_AFTER_SECONDS = 25.0
"""How long a hosted server may be silent before another model answers; ours to choose. Most begin within five."""

PRICES = {"cached_price", "input_price", "output_price", "currency"}
"""What is stated of a model besides what it can do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalModel:
    """The embedded model once it serves: where, under which name, and how much it can read."""

    name: str
    base_url: str
    api_key: str
    context_window: int
    parameters: Mapping[str, Any]
    """What every request to it carries in its body: sampling that suits it."""
    headers: Mapping[str, str]
    """And in its head."""
    start: Callable[[], LocalModel] | None = None
    """Loads it and tells where it serves then; blocks for some seconds the first time, and raises an `OperatorError`
    where it cannot. `None` = it serves already.
    """


def configured_providers(settings: Settings, local: LocalModel | None) -> dict[str, Provider]:
    """Every server by name; the embedded one, when it runs, is just another."""
    providers = {
        name: Provider(
            name=name,
            base_url=_address(given, name),
            kind=Kind(given.kind) if given.kind else kind_of(name, _address(given, name)),
            api_version=given.api_version or "",
            api_key=given.api_key or SecretStr(""),
            first_token_timeout=given.first_token_timeout.total_seconds(),
            total_timeout=given.total_timeout.total_seconds(),
        )
        for name, given in settings.providers.items()
    }
    providers = {name: _with_patience(provider, settings.providers[name]) for name, provider in providers.items()}
    if local is not None:
        providers[LOCAL] = local_provider(local)
    return providers


def _with_patience(provider: Provider, given: ProviderSettings) -> Provider:
    """How long its silence is borne where another model can answer. At home as long as where none can: the first
    request lets a server load its model, which takes a minute or two, and giving up ends the loading
    (ollama/ollama#8006), so that it would never come to answer.
    """
    if given.fallback_after is not None:
        return replace(provider, fallback_after=given.fallback_after.total_seconds())
    return provider if runs_on_this_machine(provider) else replace(provider, fallback_after=FALLBACK_AFTER_SECONDS)


def local_provider(local: LocalModel) -> Provider:
    """The embedded model as a server."""
    return Provider(
        name=LOCAL,
        base_url=local.base_url,
        api_key=SecretStr(local.api_key),
        parameters=local.parameters,
        headers=local.headers,
    )


def _address(given: ProviderSettings, name: str) -> str:
    address = given.base_url or KNOWN_SERVERS[name]
    if given.api_version and not address.rstrip("/").endswith("/openai"):
        return address.rstrip("/") + "/openai"  # as the portal shows it, without
    return address


def model_catalogue(settings: Settings, local: LocalModel | None) -> ModelCatalogue:
    """What models can do: the families' table under what the operator states for a server, then for a model."""
    stated = {
        name: LimitsOverride(
            context_window=given.context_window,
            max_output_tokens=given.max_output_tokens,
            vision=given.vision,
            tools=given.tools,
        )
        for name, given in settings.providers.items()
    }
    if local is not None:
        # The small models write calls that no parser recognises: offering tools only confuses them.
        stated[LOCAL] = LimitsOverride(
            context_window=local.context_window, tools=False, vision=False, source="embedded"
        )
    stated |= {name: LimitsOverride(**given.model_dump(exclude=PRICES)) for name, given in settings.models.items()}
    return ModelCatalogue(stated)


def model_prices(settings: Settings, providers: Mapping[str, Provider]) -> Prices:
    """What cached tokens cost: by what the operator states for a model, then for a server, else as is known."""
    given: dict[str, ProviderSettings | ModelSettings] = {**settings.providers, **settings.models}
    return Prices(
        stated={name: one.cached_price for name, one in given.items() if one.cached_price is not None},
        at_home={name for name, provider in providers.items() if runs_on_this_machine(provider)},
    )


def model_tariffs(settings: Settings, providers: Mapping[str, Provider]) -> Tariffs:
    """What tokens cost in money, likewise."""
    given: dict[str, ProviderSettings | ModelSettings] = {**settings.providers, **settings.models}
    return Tariffs(
        stated={
            name: Stated(input=one.input_price, output=one.output_price, cached=one.cached_price, currency=one.currency)
            for name, one in given.items()
        },
        at_home={name for name, provider in providers.items() if runs_on_this_machine(provider)},
    )


def default_model(settings: Settings, local: LocalModel | None) -> str:
    """The model for sessions that chose none; a bare name belongs to the only provider there is."""
    if local is not None and not names_remote_model(settings):
        return f"{LOCAL}/{local.name}"
    if "/" not in settings.model and len(settings.providers) == 1:
        return f"{next(iter(settings.providers))}/{settings.model}"
    return settings.model


def is_small(model: str) -> bool:
    """Whether a model is one of those that install by themselves: they choose well and fill in forms badly."""
    provider, _, name = model.partition("/")
    return provider == LOCAL and name in MODEL_FILES


def names_remote_model(settings: Settings) -> bool:
    """Whether MODEL names a configured server's model, so that the embedded one need not start."""
    owner, slash, _ = settings.model.partition("/")
    return owner in settings.providers if slash else bool(settings.model and settings.providers)


def named_fallbacks(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each fallback behind the name of the setting that has it."""
    yield from (("FALLBACKS", model) for model in settings.fallbacks)
    for platform, values in settings.profiles.items():
        given = place_keys()["fallbacks"].parse(values.get("fallbacks", ()))
        yield from ((f"PROFILES__{platform}__FALLBACKS".upper(), model) for model in given)


def embedded_fallback(settings: Settings) -> str:
    """Which model file answers while the servers do not, by its name: the first that is named; "" = none."""
    if not names_remote_model(settings) or LOCAL in settings.providers:
        return ""
    names = (model.removeprefix(f"{LOCAL}/") for _, model in named_fallbacks(settings) if model.startswith(f"{LOCAL}/"))
    return next((name for name in names if name in MODEL_FILES), "")


def runs_on_this_machine(provider: Provider) -> bool:
    """Whether a server is reached by loopback or a private address, and so most likely costs no money."""
    host = urlsplit(provider.base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host  # a name inside a container network
