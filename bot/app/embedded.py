"""Where the embedded model only stands by, what loads it is put before the servers; it is imported only then."""

from __future__ import annotations

from bot.llm.client import OpenAIModel
from bot.llm.configured import LocalModel
from bot.llm.model import Model


def standing_by(servers: OpenAIModel, local: LocalModel | None) -> Model:
    """The servers, with the embedded model among them."""
    if local is None or local.start is None:
        return servers
    from bot.llm.on_demand import OnDemand

    return OnDemand(servers, servers, local.start)
